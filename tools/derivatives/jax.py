"""Compare values, first and second derivatives of the primitives that the JAX importer supports with JAX's own.

Derivatives are those of Σ cᵢ·yᵢ for the result y, weights c that differ, and of Σ vⱼ·gⱼ for its gradient g: by the
reference of an imported program that aotensor differentiates, and by JAX.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
from tools.derivatives.command import parsed
from tools.derivatives.jax_cases import Case, cases

import aotensor as aot
import aotensor.tensor as at
from aotensor.errors import AotensorError
from aotensor.importers.jax import COUNTERPARTS, from_jax
from aotensor.importers.lax.table import body_of, programs_in

PAGE: Final = Path(__file__).parents[2] / "docs" / "jax_derivatives.md"
ORDERS: Final = ("value", "first", "second")
CLOSE: Final = 1e-9
"""Relative difference, in float64, of results of different formulas."""

_INFINITE: Final = "open: at an infinite operand the limit is not known here"

REASONS: Final[dict[str, str]] = {
    "bessel_i0e": _INFINITE, "bessel_i1e": _INFINITE, "lgamma": _INFINITE, "pow, x to 0.5": _INFINITE,
    "pow, x to 2.5": _INFINITE, "igamma, 0.5": _INFINITE, "igammac, 0.5": _INFINITE,
}  # fmt: skip
"""Name of a case → why finite numbers differ."""


@dataclass(frozen=True)
class Row:
    """The result of a case, by order of the derivative. points: number of compared values. different: number that
    differ. undefined: number that are nan in JAX only. first: the first difference. refused: derivatives that one
    side does not have. primitives: those of the case
    """

    case: Case
    points: tuple[int, ...]
    different: tuple[int, ...]
    undefined: tuple[int, ...]
    first: str
    refused: str
    primitives: frozenset[str]

    @property
    def reason(self) -> str:
        return REASONS.get(self.case.name, "")

    @property
    def is_wrong(self) -> bool:
        return any(self.different) and not self.reason


def compared(case: Case) -> Row:
    """Evaluate one case by aotensor and by JAX."""
    shape = jax.eval_shape(case.function, *case.values).shape
    rng = np.random.default_rng(7)
    weights = rng.uniform(0.5, 1.5, size=shape)
    directions = [rng.uniform(0.5, 1.5, size=np.shape(case.values[k])) for k in case.moving]
    wanted, why = _theirs(case, weights, directions)
    found, refused = _ours(case, weights, directions)
    value = wanted[0][0]
    points, different, undefined, first = [], [], [], ""
    for order, theirs, ours in zip(ORDERS, wanted, found, strict=False):
        counts = [0, 0, 0]
        for a, b in zip(theirs, ours, strict=True):
            is_other = _other(case, np.asarray(a), np.asarray(b), value)
            counts[0] += np.size(a)
            counts[2] += int((is_other & np.isnan(a)).sum())
            is_other &= ~np.isnan(a)
            counts[1] += int(is_other.sum())
            if is_other.any() and not first:
                place = tuple(np.argwhere(is_other)[0])
                first = f"{order} {np.asarray(b)[place]:.6g}, JAX {np.asarray(a)[place]:.6g}{_at(case, place)}"
        points.append(counts[0])
        different.append(counts[1])
        undefined.append(counts[2])
    refusals = "; ".join(text for text in (why and f"JAX: {why}", refused) if text)
    program = jax.make_jaxpr(case.function)(*case.values)
    return Row(
        case, tuple(points), tuple(different), tuple(undefined), first, refusals, frozenset(_primitives(program))
    )


def _other(case: Case, wanted: Any, found: Any, value: Any) -> Any:
    """The numbers that differ, except where a scalar function is nan at an operand outside of its domain."""
    with np.errstate(all="ignore"):
        is_other = ~np.isclose(found, wanted, rtol=CLOSE, atol=1e-12, equal_nan=True)
    if not case.is_elementwise:
        return is_other
    is_given = ~np.any([np.isnan(x) for x in case.values], axis=0)
    return is_other & ~(np.isnan(value) & is_given)


def _at(case: Case, place: tuple[int, ...]) -> str:
    if not case.is_elementwise:
        return ""
    return f" at {', '.join(f'{np.asarray(x)[place]:.6g}' for x in case.values)}"


def _primitives(program: Any) -> Iterator[str]:
    for equation in body_of(program).eqns:
        yield equation.primitive.name
        for inner in programs_in(equation):
            yield from _primitives(inner)


def _theirs(case: Case, weights: Any, directions: Sequence[Any]) -> tuple[list[list[Any]], str]:
    def cost(*xs: Any) -> Any:
        return jnp.sum(case.function(*xs) * weights)

    def again(*xs: Any) -> Any:
        return sum(jnp.sum(g * v) for g, v in zip(jax.grad(cost, case.moving)(*xs), directions, strict=True))

    values = [jnp.asarray(x) for x in case.values]
    steps: list[Callable[[], Any]] = [
        lambda: [case.function(*values)],
        lambda: jax.grad(cost, case.moving)(*values),
        lambda: jax.grad(again, case.moving)(*values),
    ]
    found: list[list[Any]] = []
    for step in steps:
        try:
            found.append([np.asarray(x) for x in step()])
        except (NotImplementedError, TypeError, ValueError) as error:
            return found, str(error).partition("\n")[0][:120]
    return found, ""


def _ours(case: Case, weights: Any, directions: Sequence[Any]) -> tuple[list[list[Any]], str]:
    imported = from_jax(case.function, *case.values)
    known, (y,) = list(imported.arguments.values()), imported.results.values()
    moving = [known[k] for k in case.moving]

    def run(outputs: Sequence[Any]) -> list[Any]:
        with np.errstate(all="ignore"):
            found: list[Any] = aot.function(known, list(outputs), on_unused_input="ignore").reference(*case.values)
        return found

    def slopes(cost: Any) -> list[Any]:
        return list(aot.grad(cost, moving, disconnected_inputs="ignore"))

    found = [run([y])]
    try:
        first = slopes(at.sum(y * weights))
        found.append(run(first))
        pairs = zip(first, directions, strict=True)
        found.append(run(slopes(sum((at.sum(g * v) for g, v in pairs), at.constant(0.0)))))
    except AotensorError as error:
        return found, str(error).partition("\n")[0][:120]
    return found, ""


def page(rows: Sequence[Row]) -> str:
    """The table as a page."""
    lines = [
        "# Derivatives of programs imported from JAX",
        "",
        f"With JAX {jax.__version__}, by `python -m tools.derivatives jax --write`: values, first and second",
        "derivatives at ties, kinks, zeros, ends of domains and infinities, of programs that aotensor imports and",
        "differentiates (by the reference), compared with JAX. The table counts numbers that agree; if some differ,",
        "the last column has the reason and the first such number. Points outside of the domain, at which the value",
        "of a scalar function is nan, are not compared. If only JAX returns nan, its formula multiplies 0 by infinity",
        "or divides 0 by 0; aotensor's derivative is then the limit, or finite if there is none (equal eigenvalues).",
    ]
    for family in dict.fromkeys(row.case.family for row in rows):
        lines += ["", f"## {family}", "", "| | values | first | second | what differs |", f"|{'---|' * 5}"]
        lines += [_line(row) for row in rows if row.case.family == family]
    seen = _seen(rows)
    for title, names in (("occur in these", seen), ("occur in none", set(COUNTERPARTS) - seen)):
        lines += ["", f"Primitives that {title}: {', '.join(f'`{name}`' for name in sorted(names))}."]
    return "\n".join(lines) + "\n"


def _seen(rows: Sequence[Row]) -> set[str]:
    return {name for row in rows for name in row.primitives if name in COUNTERPARTS}


def _line(row: Row) -> str:
    counts = list(zip(row.points, row.different, row.undefined, strict=True))
    cells = [f"{n - a - b} of {n}" for n, a, b in counts] + [""] * (len(ORDERS) - len(counts))
    notes = [row.reason, row.first] if row.first else []
    notes += [f"{order}: {n} nan in JAX alone" for order, n in zip(ORDERS, row.undefined, strict=False) if n]
    shown = "; ".join(note for note in (*notes, row.refused) if note).replace("|", "\\|")
    return f"| {row.case.name} | {' | '.join(cells)} | {shown} |"


def main(arguments: Sequence[str]) -> None:
    """Compare all cases, or those whose name holds a word, and write the page."""
    options = parsed("jax", PAGE, __doc__, arguments)
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_disable_most_optimizations", True)  # XLA compiles for one call only
    rows = []
    for case in cases():
        if options.only in case.name:
            rows.append(row := compared(case))
            if any(row.different) or any(row.undefined) or row.refused:
                sys.stdout.write(_line(row) + "\n")
                sys.stdout.flush()
    sys.stdout.write(f"{sum(row.is_wrong for row in rows)} of {len(rows)} cases differ without a reason\n")
    if options.write:
        PAGE.write_text(page(rows), encoding="utf-8")
    sys.exit(any(row.is_wrong for row in rows))
