"""Compare values, first and second derivatives of all ops that the PyTensor importer supports with PyTensor's own.

Derivatives are those of Σ cᵢ·yᵢ for the result y of an op, weights c that differ, and of Σ vⱼ·gⱼ for its gradient g.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytensor
import pytensor.tensor as pt
from pytensor.compile.mode import Mode
from pytensor.graph.utils import MethodNotDefined
from tools.derivatives.command import parsed
from tools.derivatives.pytensor_cases import Case, cases
from tools.derivatives.pytensor_reasons import REASONS

import aotensor as aot
from aotensor.errors import AotensorError
from aotensor.importers.pytensor import from_pytensor

PAGE: Final = Path(__file__).parents[2] / "docs" / "pytensor_derivatives.md"
PLAIN: Final = Mode("py", None)
ORDERS: Final = ("value", "first", "second")
CLOSE: Final = 1e-9
"""Relative difference, in float64, of results of different formulas."""

_REFUSALS: Final = (AotensorError, MethodNotDefined, NotImplementedError, AttributeError, TypeError, ValueError)
"""What either side raises for a derivative that it does not have."""


@dataclass(frozen=True)
class Differences:
    """Differences in a case: their number, the number of values that are nan in PyTensor only, and the first
    difference.
    """

    count: int
    undefined: int
    first: str


@dataclass(frozen=True)
class Row:
    """The result of a case, by order of the derivative. points: number of compared values"""

    case: Case
    points: tuple[int, ...]
    different: tuple[Differences, ...]
    refused: tuple[str, ...]

    @property
    def reason(self) -> str:
        return REASONS.get(self.case.name, "")

    @property
    def is_wrong(self) -> bool:
        return any(found.count for found in self.different) and not self.reason


def compared(case: Case) -> Row:
    """One op, compiled here and evaluated by PyTensor without rewrites."""
    inputs = [pt.tensor(f"x{k}", dtype="float64", shape=value.shape) for k, value in enumerate(case.values)]
    y = case.build(*inputs)
    rng = np.random.default_rng(7)
    weights = rng.uniform(0.5, 1.5, size=_shape_of(inputs, y, case.values))
    directions = [rng.uniform(0.5, 1.5, size=value.shape) for value in case.values]
    theirs, why = _theirs(inputs, y, weights, directions, case.values)
    ours, refused = _ours(inputs, y, weights, directions, case.values)
    points, different = [], []
    for wanted, found in zip(theirs, ours, strict=True):
        pairs = [(a, b) for a, b in zip(wanted, found, strict=True) if a is not None and b is not None]
        points.append(sum(a.size for a, _ in pairs))
        different.append(_differences(case, pairs, theirs[0][0]))
    missing = [
        f"{order}: {refused or 'refused'}"
        for order, wanted, found in zip(ORDERS, theirs, ours, strict=True)
        if any(a is not None and b is None for a, b in zip(wanted, found, strict=True))
    ]
    return Row(case, tuple(points), tuple(different), (*missing, *([f"PyTensor: {why}"] if why else [])))


def _shape_of(inputs: Sequence[Any], y: Any, values: Sequence[Any]) -> tuple[int, ...]:
    return tuple(pytensor.function(inputs, y, mode=PLAIN, on_unused_input="ignore")(*values).shape)


Results = list[list[Any]]
"""By order: arrays, or None for what is not differentiable."""


def _theirs(
    inputs: Sequence[Any], y: Any, weights: Any, directions: Sequence[Any], values: Sequence[Any]
) -> tuple[Results, str]:
    options = {"disconnected_inputs": "ignore", "null_gradients": "return"}

    def slopes(cost: Any) -> list[Any]:
        return list(pytensor.grad(cost, inputs, **options))

    def run(terms: Sequence[Any]) -> list[Any]:
        real = [x for x in terms if x is not None and hasattr(x.type, "dtype")]
        found = iter(pytensor.function(inputs, real, mode=PLAIN, on_unused_input="ignore")(*values))
        return [next(found) if x is not None and hasattr(x.type, "dtype") else None for x in terms]

    return _by_order(y, slopes, run, lambda x: x is not None and hasattr(x.type, "dtype"), weights, directions)


def _ours(
    inputs: Sequence[Any], y: Any, weights: Any, directions: Sequence[Any], values: Sequence[Any]
) -> tuple[Results, str]:
    known, ours = from_pytensor(inputs, y)
    options = {"disconnected_inputs": "ignore", "null_gradients": "return"}

    def slopes(cost: Any) -> list[Any]:
        return list(aot.grad(cost, known, **options))

    def run(terms: Sequence[Any]) -> list[Any]:
        real = [x for x in terms if _is_real(x)]
        found = iter(aot.function(known, real, on_unused_input="ignore")(*values))
        return [next(found) if _is_real(x) else None for x in terms]

    return _by_order(ours, slopes, run, _is_real, weights, directions)


def _is_real(x: Any) -> bool:
    return hasattr(x.type, "dtype")


def _by_order(
    y: Any, slopes: Any, run: Any, is_real: Any, weights: Any, directions: Sequence[Any]
) -> tuple[Results, str]:
    """Values, first and second derivatives as far as they exist, and the reason why further ones do not."""
    results: Results = [run([y])]
    why, gradients = "", [None for _ in directions]
    try:
        gradients = slopes((y * weights).sum())
        results.append(run(gradients))
    except _REFUSALS as error:
        why = str(error).partition("\n")[0][:120]
        results.append([None for _ in directions])
    second: list[Any] = []
    for g, v in zip(gradients, directions, strict=True):
        try:
            second += run(slopes((g * v).sum())) if g is not None and is_real(g) else [None for _ in directions]
        except _REFUSALS as error:
            why = why or str(error).partition("\n")[0][:120]
            second += [None for _ in directions]
    results.append(second)
    return results, why


def _differences(case: Case, pairs: Sequence[tuple[Any, Any]], y: Any) -> Differences:
    """The differences, except outside of the domain of a scalar function."""
    count, undefined, first = 0, 0, ""
    is_outside = np.isnan(y) & ~np.any([np.isnan(x) for x in case.values], axis=0) if case.is_elementwise else False
    for wanted, found in pairs:
        with np.errstate(all="ignore"):
            is_other = ~np.isclose(found, wanted, rtol=CLOSE, atol=1e-12, equal_nan=True) & ~is_outside
        undefined += int((is_other & np.isnan(wanted)).sum())
        is_other &= ~np.isnan(wanted)
        count += int(is_other.sum())
        if is_other.any() and not first:
            place = tuple(np.argwhere(is_other)[0])
            point = [value[place] if value.shape == wanted.shape else value[place[:1]] for value in case.values]
            shown = ", ".join(np.array2string(np.asarray(x), precision=3) for x in point)
            first = f"at {shown}: {found[place]:.6g}, PyTensor {wanted[place]:.6g}"
    return Differences(count, undefined, first)


def page(rows: Sequence[Row]) -> str:
    """The table as a page."""
    lines = [
        "# Derivatives of programs imported from PyTensor",
        "",
        f"With PyTensor {pytensor.__version__}, by `python -m tools.derivatives pytensor --write`: values, first and",
        "second derivatives of",
        "every op that the importer supports, at ties, kinks, zeros, ends of domains and infinities, compiled by",
        "aotensor and evaluated by PyTensor without rewrites. The table counts numbers that agree; if some differ,",
        "the last column has the reason and the first such number. Outside of the domain, where the value of a scalar",
        "function is nan, aotensor's derivatives are nan, and PyTensor's are not compared. If only PyTensor returns",
        "nan, its formula multiplies 0 by infinity; aotensor returns the limit, or the 0 of a branch not taken.",
    ]
    for family in dict.fromkeys(row.case.family for row in rows):
        lines += ["", f"## {family}", "", "| op | values | first | second | what differs |", f"|{'---|' * 5}"]
        lines += [_line(row) for row in rows if row.case.family == family]
    return "\n".join(lines) + "\n"


def _line(row: Row) -> str:
    counted = list(zip(ORDERS, row.points, row.different, strict=True))
    cells = [f"{points - found.count - found.undefined} of {points}" if points else "" for _, points, found in counted]
    notes = [row.reason] if any(found.count for found in row.different) else []
    notes += [f"{order} {found.first}" for order, _, found in counted if found.count]
    notes += [f"{order}: {found.undefined} nan in PyTensor alone" for order, _, found in counted if found.undefined]
    notes += row.refused
    shown = "; ".join(note for note in notes if note).replace("|", "\\|")
    return f"| {row.case.name} | {' | '.join(cells)} | {shown} |"


def main(arguments: Sequence[str]) -> None:
    """Compare, print what differs, and write the page if that is wanted."""
    options = parsed("pytensor", PAGE, __doc__, arguments)
    warnings.simplefilter("ignore")
    rows = []
    for case in cases():
        if options.only in case.name:
            rows.append(compared(case))
            if any(found.count for found in rows[-1].different) or rows[-1].refused:
                sys.stdout.write(f"{'WRONG ' if rows[-1].is_wrong else ''}{_line(rows[-1])}\n")
                sys.stdout.flush()
    if options.write:
        PAGE.write_text(page(rows), encoding="utf-8")
    raise SystemExit(any(row.is_wrong for row in rows))
