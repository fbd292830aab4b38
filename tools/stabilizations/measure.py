"""Values and derivatives of a formula, compiled and by mpmath."""

from __future__ import annotations

from typing import Any

import mpmath as mp
import numpy as np
from tools.stabilizations.cases import Case

import aotensor as aot
import aotensor.tensor as at
from aotensor.core.types import Array
from aotensor.gradient import grad
from aotensor.graph.variable import Variable


def points_of(case: Case, dtype: str) -> Array:
    return np.clip(case.points, *((-1e30, 1e30) if dtype == "float32" else (None, None))).astype(dtype)


def derivatives(case: Case, x: Variable) -> list[Variable]:
    """The value and the derivatives of a case, up to its highest order."""
    found = [case.formula(x)]
    for _ in range(case.orders):
        found.append(grad(at.sum(found[-1]), x))
    return found


def truth_of(case: Case, points: Array) -> list[list[float]]:
    """The value and its derivatives at the points, by mpmath."""
    with mp.workdps(60):
        return [[_derivative(case, mp.mpf(float(x)), order) for x in points] for order in range(case.orders + 1)]


def _derivative(case: Case, x: Any, order: int) -> float:
    step = abs(x) * mp.mpf(10) ** -20 if x else mp.mpf(10) ** -30
    return float(mp.re(mp.diff(case.truth, x, order, h=step) if order else case.truth(x)))


def errors(case: Case) -> list[float]:
    """The largest relative error of the compiled value and of each derivative, in float64; absolute below 1e-100."""
    x = at.tensor("x", dtype="float64", shape=("n",))
    points = points_of(case, "float64")
    computed = aot.function([x], derivatives(case, x))(points)
    found = computed if isinstance(computed, list) else [computed]
    return [
        _largest(np.asarray(one), np.asarray(wanted)) for one, wanted in zip(found, truth_of(case, points), strict=True)
    ]


def _largest(found: Array, wanted: Array) -> float:
    with np.errstate(all="ignore"):
        error = np.abs(found - wanted) / np.maximum(np.abs(wanted), 1e-100)
    return float(np.max(np.where(found == wanted, 0.0, error)))
