"""Make docs/stabilizations.md: formulas that overflow, underflow or cancel, and how accurate value and derivatives are.

python -m tools.stabilizations [FILE]
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from tools.stabilizations.cases import CASES, Case
from tools.stabilizations.measure import errors
from tools.stabilizations.others import JAX, PYTENSOR

_HEAD = """# Stable formulas

Formulas that overflow, underflow or cancel as they are written. Values are compiled, and derivatives taken, of a stable
form ([0066](decisions/0066-derivatives-are-of-stable-forms.md)). Columns: the largest relative error at the points,
against mpmath, in float64, of the compiled value and of the first and second derivative; below 1e-100 errors are
absolute. Made by `python -m tools.stabilizations`.
"""
_FORMULAS = """
## Formulas

Reductions and softmax are of x, −2x and x/2. The last column names the rewrite of PyTensor 3.0 that does the same for
the value; its derivatives are taken before.

| formula | at | value | first | second | PyTensor |
|---|---|---|---|---|---|
"""
_FUNCTIONS = """
## Functions of JAX with a stable formula

| function | ours | at | value | first | second |
|---|---|---|---|---|---|
"""


def page(measure: Callable[[Case], Sequence[float]] = errors) -> str:
    """The page, with errors that `measure` finds."""
    text = _HEAD + _FORMULAS
    for name, case in CASES.items():
        rewrites = ", ".join(f"`{one}`" for one, names in PYTENSOR.items() if name in names) or "–"
        text += f"| `{name}` | {_points(case)} | {_shown(measure(case))} | {rewrites} |\n"
    text += _FUNCTIONS
    for name, (ours, case) in JAX.items():
        text += f"| `{name}` | `{ours}` | {_points(case)} | {_shown(measure(case))} |\n"
    return text


def _points(case: Case) -> str:
    return ", ".join(f"{x:g}" for x in case.points)


def _shown(found: Sequence[float]) -> str:
    shown = ["0" if error < 1e-17 else f"{error:.0e}" for error in found]
    return " | ".join([*shown, *["–"] * (3 - len(shown))])


if __name__ == "__main__":
    Path(sys.argv[1] if len(sys.argv) > 1 else "docs/stabilizations.md").write_text(page(), encoding="utf-8")
