"""Roots, fixed points and minima as ops: found inside of the library, differentiated as what they solve.

The names are those of scipy.optimize where it has them. Every function returns a named tuple that begins with
`solution, success`.
"""

from __future__ import annotations

from aotensor.solutions.bounds import Bounds
from aotensor.solutions.minima import least_squares, minimize, minimize_scalar
from aotensor.solutions.results import Ending, Minimum, Solution
from aotensor.solutions.roots import fixed_point, root, root_scalar

__all__ = [
    "Bounds", "Ending", "Minimum", "Solution", "fixed_point", "least_squares", "minimize", "minimize_scalar", "root",
    "root_scalar",
]  # fmt: skip
