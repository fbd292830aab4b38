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

Formulas that overflow, underflow or cancel as they are written. aotensor compiles and differentiates a stable form of
them ([0066](decisions/0066-derivatives-are-of-stable-forms.md)). The columns are the largest relative errors at the
points, against mpmath, in float64, of the compiled value and of the first and second derivative; errors of results
below 1e-100 are absolute. `python -m tools.stabilizations` generates this page.
"""
_FORMULAS = """
## Formulas

Operands of reductions and of softmax are x, −2x and x/2. The last column names the rewrite of PyTensor 3.0 that does
the same for the value; PyTensor differentiates before its rewrites.

| formula | at | value | first | second | PyTensor |
|---|---|---|---|---|---|
"""
_FUNCTIONS = """
## Functions of JAX with a stable formula

| function | aotensor | at | value | first | second |
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
