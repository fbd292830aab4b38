"""The page of measured errors, docs/special_functions.md."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tools.accuracy.functions import FUNCTIONS, Function

_INTRODUCTION = """# Accuracy of special functions

Written by `python -m tools.accuracy --write`: float64, on one machine, against mpmath with enough digits that two
computations agree. Each function was evaluated, with its first and second derivatives, at points of all magnitudes from
1e-300 to 1e300 at which it is finite; for other points see [special points](special_points.md). "Reference" is
`f.reference`, NumPy and SciPy op by op. [Special functions](special_functions.md) says how the functions are computed,
and gives the bounds, in units of 1 + |ln y|.

An error is relative, in units of 2⁻⁵² ("ulp"), at the point where it is the largest fraction of the bound. From 4e15 on
no digit is right; ∞ means nan, or an infinity instead of a number or a number instead of an infinity. Errors beyond the
bound are bold. Operands are "tiny" below 1e-30, "small" below 1e-3, "large" above 1e3, "huge" above 1e30.
"""


_PLAIN = ("usual", "negative")


def page(found: dict[str, list[dict[str, Any]]]) -> str:
    """The text of the page: the worst error of each function and derivative, and every region in which a bound is
    exceeded.
    """
    lines = [_INTRODUCTION, "## Worst errors where no operand is extreme", ""]
    lines += _table(found, lambda region: region in _PLAIN)
    lines += ["", "## Worst errors elsewhere", ""]
    lines += _table(found, lambda region: region not in _PLAIN)
    lines += ["", "## Regions in which the compiled function exceeds its bound", ""]
    beyond = []
    for name, rows in found.items():
        for row in rows:
            worst = row["compiled"]
            if worst["share"] > 1:
                cells = [name, _derivative(FUNCTIONS[name], row["orders"]), row["region"], str(row["points"])]
                cells += [_ulp(worst), _at(worst), worst["found"], worst["exact"]]
                beyond.append(f"| {' | '.join(cells)} |")
    lines += [
        "| function | derivative | region | points | ulp | at | found | exact |",
        "|---|---|---|---|---|---|---|---|",
        *beyond,
    ] if beyond else ["There is none."]  # fmt: skip
    return "\n".join(lines) + "\n"


def _table(found: dict[str, list[dict[str, Any]]], is_wanted: Callable[[str], bool]) -> list[str]:
    """A table with one line per function and derivative: the worst error over the selected regions."""
    lines = [
        "| function | derivative | points | compiled, ulp | at | reference, ulp | at |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, rows in found.items():
        for orders in dict.fromkeys(tuple(row["orders"]) for row in rows):
            wanted = [row for row in rows if tuple(row["orders"]) == orders and is_wanted(row["region"])]
            if wanted:
                worst = {by: max((row[by] for row in wanted), key=_share) for by in ("compiled", "reference")}
                count = sum(row["points"] for row in wanted)
                lines.append(_line(FUNCTIONS[name], name, {"orders": orders, "points": count, **worst}))
    return lines


def _share(worst: dict[str, Any]) -> float:
    return float(worst["share"])


def _line(function: Function, name: str, row: dict[str, Any]) -> str:
    cells = [name, _derivative(function, row["orders"]), str(row["points"])]
    for by in ("compiled", "reference"):
        cells += [_ulp(row[by]), _at(row[by])]
    return f"| {' | '.join(cells)} |"


def _derivative(function: Function, orders: Any) -> str:
    names = [name for name, k in zip(function.operands.split(), orders, strict=True) for _ in range(k)]
    return " ".join(names) or "value"


def _ulp(worst: dict[str, Any]) -> str:
    ulp = worst["ulp"]
    text = "∞" if ulp >= 1e299 else f"{ulp:.2g}" if ulp < 1000 else f"{ulp:.1e}"
    return f"**{text}**" if worst["share"] > 1 else text


def _at(worst: dict[str, Any]) -> str:
    return ", ".join(f"{x:.6g}" for x in worst["at"])
