"""A compiled program against the oracle and the reference: values, derivatives of both modes, curvature."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
from tools.fuzz import values
from tools.fuzz.oracle import Array, Matrix
from tools.fuzz.program import WIDE, Built, Program, arguments, meanings, widened

STEPS: Final = WIDE(2.0) ** -26, WIDE(2.0) ** -21
"""Of differences in extended precision: 1e-11 by rounding. Rules keep a hundred times as far from kinks and ties.
The second decides whether the first says anything: rounding of large terms that cancel is a matter of the step."""

SECOND_STEPS: Final = WIDE(2.0) ** -10, WIDE(2.0) ** -18
"""Of second differences: about 1e-6 by the step, less by extrapolation, and 1e-13 by rounding; the other is near enough
to see kinks between them, at 1e-8 by rounding."""


@dataclass(frozen=True)
class Finding:
    """A detected fault. kind: crash, error, value, reference, lop, rop, hvp, …; detail: a description"""

    seed: int
    kind: str
    detail: str

    def report(self) -> str:
        """The finding as text; its seed reproduces the case."""
        return f"seed {self.seed}: {self.detail}"

    @property
    def signature(self) -> str:
        """A text that is equal for findings that probably have the same cause."""
        return f"{self.kind}: {self.detail.splitlines()[0][:100]}" if self.kind in ("error", "refused") else self.kind


@dataclass(frozen=True)
class Expected:
    """One sample of a program: its arguments, and the results of the oracle and of the reference.

    given: the inputs. wide: the same in extended precision. slots: the arguments after them. known, coarse: every value
    by the oracle, in extended precision and in the program's. reference: the results, in order.
    """

    given: Mapping[str, Any]
    wide: Mapping[str, Any]
    slots: Mapping[str, Any]
    known: Mapping[str, Any]
    coarse: Mapping[str, Any]
    reference: Sequence[Any]


def expected(program: Program, built: Built) -> list[Expected]:
    """Evaluate each sample of a program by the oracle and by the reference."""
    return [_expected_of(program, built, sample) for sample in range(program.samples)]


def _expected_of(program: Program, built: Built, sample: int) -> Expected:
    given = arguments(program, sample)
    wide = {name: widened(x) for name, x in given.items()}
    known = meanings(program, wide)
    slots = slots_of(program, built, given, known)
    if program.float_name == "float32":
        slots = {name: x.astype("float32") for name, x in slots.items()}
    with np.errstate(all="ignore"):
        reference = built.function.reference(*given.values(), *(slots[name] for name in built.slots))
        coarse = meanings(program, {name: widened(x, program.float_name) for name, x in given.items()})
    return Expected(given, wide, slots, known, coarse, reference)


def compare(
    program: Program,
    built: Built,
    call: Callable[..., Any],
    by_differences: bool = True,
    samples: Sequence[Expected] | None = None,
) -> list[Finding]:
    """Run every sample of a program by a compiled function, and return the differences.

    by_differences: compare derivatives with differences of values, too. Without, they are compared with the reference
    alone, whose derivatives are those of the same graph: to 1e-9 in float64. samples: those of `expected`, if known.
    """
    samples = expected(program, built) if samples is None else samples
    return [x for k, one in enumerate(samples) for x in _compare_sample(program, built, call, k, one, by_differences)]


def _compare_sample(
    program: Program, built: Built, call: Callable[..., Any], sample: int, one: Expected, by_differences: bool
) -> list[Finding]:
    found: list[Finding] = []
    try:
        results = call(*one.given.values(), *(one.slots[name] for name in built.slots))
    except Exception as error:
        return [Finding(program.seed, "error", f"{type(error).__name__}: {error} (sample {sample})")]
    with np.errstate(all="ignore"):
        check = _Check(program, one.wide, one.known, one.slots, 1e4 if by_differences else 1.0)
        for (want, name), mine, other in zip(built.kinds, results, one.reference, strict=True):
            where = f"{want} of {name}, sample {sample}"
            if want == "values":
                found += check.value(f"compiled {where}", one.known[name], one.coarse[name], mine)
                found += check.value(f"reference {where}", one.known[name], one.coarse[name], other)
                continue
            found += check.agreement(f"compiled and reference {where}", dense(mine), dense(other))
        if not by_differences:
            return found
        found += check.pullback({n: r for (w, n), r in zip(built.kinds, results, strict=True) if w == "lop"}, sample)
        found += check.pushforward({n: r for (w, n), r in zip(built.kinds, results, strict=True) if w == "rop"}, sample)
        found += check.curvature({n: r for (w, n), r in zip(built.kinds, results, strict=True) if w == "hvp"}, sample)
    return found


def slots_of(program: Program, built: Built, given: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """ȳ for every floating output and ẋ for every input that is differentiated."""
    found: dict[str, Any] = {}
    for place, name in enumerate(program.outputs):
        if not isinstance(known[name], Matrix) and known[name].dtype.kind == "f":
            found[f"ct_{name}"] = values.weights(1000 + place, np.zeros(known[name].shape))
    for place, name in enumerate(program.wrt):
        found[f"d_{name}"] = values.weights(2000 + place, given[name])
    return found


def dense(x: Any) -> Array:
    """A dense array of an array or a sparse matrix."""
    return np.asarray(x.toarray() if values.is_sparse(x) else x)


@dataclass(frozen=True)
class _Check:
    """The expected results for one sample, and the comparisons with them."""

    program: Program
    inputs: Mapping[str, Any]
    known: Mapping[str, Any]
    slots: Mapping[str, Any]
    slack: float
    """How much further derivatives may be apart than `rtol`."""

    @property
    def rtol(self) -> float:
        return 1e-3 if self.program.float_name == "float32" else 1e-9

    def _finding(self, kind: str, where: str, what: str) -> list[Finding]:
        return [Finding(self.program.seed, kind, f"{where}: {what}")]

    # --- values ----------------------------------------------------------------------------------------------------

    def value(self, where: str, exact: Any, coarse: Any, mine: Any) -> list[Finding]:
        """Compare a result with the oracle's in extended precision; its result in the program's precision bounds the
        effect of rounding.
        """
        kind = where.partition(" ")[0]
        wanted, rough = (x.dense if isinstance(x, Matrix) else x for x in (exact, coarse))
        got = dense(mine)
        if got.shape != wanted.shape:
            return self._finding(kind, where, f"shape {got.shape}, expected {wanted.shape}")
        if wanted.dtype.kind != "f":
            wrong = (got != wanted) & (rough == wanted)
            return self._finding(kind, where, _difference(got, wanted, wrong)) if wrong.any() else []
        size = np.abs(wanted).max(initial=0)
        allowed = self.rtol * (1 + size) + 100 * np.abs(rough.astype(WIDE) - wanted).max(initial=0)
        wrong = ~(np.abs(got - wanted) <= allowed)
        return self._finding(kind, where, _difference(got, wanted, wrong)) if wrong.any() else []

    def agreement(self, where: str, mine: Array, other: Array) -> list[Finding]:
        """Compare compiled with reference derivatives, element by element."""
        if mine.shape != other.shape or mine.dtype != other.dtype:
            return self._finding("lowering", where, f"{mine.dtype}{mine.shape} and {other.dtype}{other.shape}")
        allowed = self.slack * self.rtol * (1 + np.abs(other).max(initial=0))
        wrong = ~(np.abs(mine - other) <= allowed) & ~(np.isnan(mine) & np.isnan(other))
        return self._finding("lowering", where, _difference(mine, other, wrong)) if wrong.any() else []

    # --- derivatives -----------------------------------------------------------------------------------------------

    def _moved(self, amounts: Mapping[str, Any]) -> dict[str, Any]:
        moved = dict(self.inputs)
        for name, amount in amounts.items():
            x = self.inputs[name]
            if isinstance(x, Matrix):
                moved[name] = Matrix(x.dense + np.where(x.stored, dense(amount), 0), x.stored)
            else:
                moved[name] = x + amount
        return meanings(self.program, moved)

    def _cost(self, known: Mapping[str, Any]) -> Any:
        """⟨ȳ, y⟩"""
        total = WIDE(0)
        for name in self.program.outputs:
            if f"ct_{name}" in self.slots:
                total += np.sum(known[name] * self.slots[f"ct_{name}"])
        return total

    def _value_along(self, directions: Mapping[str, Any], name: str, h: Any) -> Any:
        return self._moved({x: h * d for x, d in directions.items()})[name]

    def _cost_along(self, directions: Mapping[str, Any], h: Any) -> Any:
        return self._cost(self._moved({x: h * d for x, d in directions.items()}))

    def _directions(self, seed: int) -> dict[str, Any]:
        return {x: dense(values.weights(seed + k, self.inputs_like(x))).astype(WIDE) for k, x in enumerate(self.wrt)}

    @property
    def wrt(self) -> tuple[str, ...]:
        return self.program.wrt

    def inputs_like(self, name: str) -> Array:
        return np.zeros(self.inputs[name].shape)

    def pullback(self, found: Mapping[str, Any], sample: int) -> list[Finding]:
        """Compare ⟨x̄, d⟩ with finite differences of ⟨ȳ, y⟩, per input."""
        wrong: list[Finding] = []
        for name, derivative in found.items():
            for seed in (10, 20):
                d = self._on_pattern(name, self._directions(seed)[name])
                mine = np.sum(dense(derivative) * d)
                size = np.sum(np.abs(dense(derivative) * d))
                exact = partial(_derivative, partial(self._cost_along, {name: d}))
                wrong += self._verdict("lop", f"lop of {name}, sample {sample}", mine, exact, size)
        return wrong

    def _on_pattern(self, name: str, d: Any) -> Any:
        x = self.inputs[name]
        return np.where(x.stored, d, 0) if isinstance(x, Matrix) else d

    def pushforward(self, found: Mapping[str, Any], sample: int) -> list[Finding]:
        """Compare J·ẋ with finite differences of y, element by element."""
        wrong: list[Finding] = []
        directions = {name: dense(self.slots[f"d_{name}"]).astype(WIDE) for name in self.wrt}
        for name, tangent in found.items():
            exact = partial(_derivative, partial(self._value_along, directions, name))
            wrong += self._verdict("rop", f"rop of {name}, sample {sample}", dense(tangent), exact)
        return wrong

    def curvature(self, found: Mapping[str, Any], sample: int) -> list[Finding]:
        """Compare ⟨H·ẋ, e⟩ with second differences of ⟨ȳ, y⟩."""
        wrong: list[Finding] = []
        if not found:
            return wrong
        along = {name: dense(self.slots[f"d_{name}"]).astype(WIDE) for name in self.wrt}
        other = {name: self._on_pattern(name, d) for name, d in self._directions(30).items()}
        mine = sum(np.sum(dense(h) * other[name]) for name, h in found.items())
        size = sum(np.sum(np.abs(dense(h) * other[name])) for name, h in found.items())

        def cost(s: Any, t: Any) -> Any:
            return self._cost(self._moved({name: s * along[name] + t * other[name] for name in self.wrt}))

        def second(h: Any) -> Any:
            return (cost(h, h) - cost(h, -h) - cost(-h, h) + cost(-h, -h)) / (4 * h * h)

        def extrapolated(h: Any) -> tuple[Any, Any]:
            fine, rough = second(h / 2), second(h)
            return (4 * fine - rough) / 3, abs(fine - rough)

        return self._verdict("hvp", f"hvp, sample {sample}", mine, extrapolated, size, SECOND_STEPS, 1e-6)

    def _verdict(
        self,
        kind: str,
        where: str,
        mine: Any,
        differences: Callable[[Any], tuple[Any, Any]],
        size: Any = None,
        steps: tuple[Any, Any] = STEPS,
        rtol: float = 1e-7,
    ) -> list[Finding]:
        """Compare a derivative with finite differences, if differences with another step confirm them.

        differences: from a step, the derivative and how far two steps differ;  size: of the terms that were added up
        Nothing follows where extents depend on values, or where the differences differ among themselves: a kink lies
        between the steps, or rounding of large terms is all there is.
        """
        try:
            exact, doubt = differences(steps[0])
            if np.shape(mine) != np.shape(exact):
                return self._finding(kind, where, f"{np.shape(mine)}, not {np.shape(exact)}")
            size = np.abs(exact).max(initial=0) + 1 if size is None else size if np.isfinite(size) else 0
            wrong = ~(np.abs(mine - exact) <= max(rtol, 10 * self.rtol) * (size + 1e-3) + 2 * doubt)
            if not np.any(wrong) or np.max(doubt, initial=0) > 1e-3 * (size + 1):
                return []
            other, _ = differences(steps[1])
        except (ValueError, IndexError):
            return []
        wrong &= ~(np.abs(other - exact) > 1e-2 * np.abs(mine - exact))
        return self._finding(kind, where, _difference(np.asarray(mine), exact, wrong)) if np.any(wrong) else []


def _derivative(f: Callable[[Any], Any], h: Any) -> tuple[Any, Any]:
    """f′(0) by an extrapolated central difference, and how far two steps differ.   Raises: ValueError for new shapes"""
    fine, rough = (f(h / 2) - f(-h / 2)) / h, (f(h) - f(-h)) / (2 * h)
    return (4 * fine - rough) / 3, np.abs(fine - rough)


def _difference(mine: Array, exact: Array, wrong: Array) -> str:
    """A text with some elements that differ."""
    wrong, exact = np.asarray(wrong), np.asarray(exact)
    places = np.argwhere(wrong)[:3]
    shown = [f"[{', '.join(map(str, p))}] {mine[tuple(p)]:.12g}, expected {exact[tuple(p)]:.12g}" for p in places]
    return f"{int(wrong.sum())} of {wrong.size} elements: " + "; ".join(shown)
