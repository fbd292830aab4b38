"""Comparison of arrays: dtype and shape exactly, floats within a tolerance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from aotensor.core.dtypes import HALVES, epsilon, kind_of, tiny
from aotensor.core.types import Array
from aotensor.sampling.pairs import to_pairs

RTOL: Final = {"float64": 1e-11, "float32": 2e-5} | {name: 4 * epsilon(name) for name in HALVES}
"""Relative to the largest magnitude of the array: about 1e5 and 200 ulp, and 4 for storage dtypes. Sums in
another order and functions of 2 ulp differ by less on the sizes that are drawn."""

_CONDITION: Final = 64
"""Differences above the tolerance are accepted up to this multiple of the change that one ulp on every intermediate
value causes. Formulas that cancel move that far, and a compiler may choose another formula.
"""


def disagreement(found: Array, expected: Array, allowed: Array | float) -> str | None:
    """Describe the difference between two arrays, None if they agree. nan equals nan, inf equals inf.

    allowed: largest difference, per element or for all.
    """
    if found.dtype != expected.dtype or found.shape != expected.shape:
        return f"{found.dtype}{list(found.shape)} instead of {expected.dtype}{list(expected.shape)}"
    if kind_of(expected.dtype) != "f":
        wrong = np.asarray(found != expected)
    else:
        with np.errstate(all="ignore"):
            is_near = np.abs(found.astype(float) - expected.astype(float)) <= allowed
        wrong = ~(is_near | (found == expected) | (np.isnan(found) & np.isnan(expected)))
    if not wrong.any():
        return None
    index = tuple(int(i) for i in np.argwhere(wrong)[0])
    where = f" at {list(index)}" if index else ""
    return f"{found[index]!s} instead of {expected[index]!s}{where}, {int(wrong.sum())} of {wrong.size} elements"


def absolute_tolerance(expected: Array, rtol: float | None = None) -> float:
    """Largest allowed difference for one array; 0 for integers."""
    if kind_of(expected.dtype) != "f":
        return 0.0
    finite = np.abs(expected[np.isfinite(expected)].astype(float))
    scale = float(finite.max()) if finite.size else 0.0
    return (RTOL[expected.dtype.name] if rtol is None else rtol) * max(scale, tiny(expected.dtype.name))


def conditioned_tolerance(expected: Array, nearby: Array) -> float:
    """The largest allowed difference, larger for elements that rounding changes; `nearby`: values with other
    roundings.
    """
    base = absolute_tolerance(expected)
    if kind_of(expected.dtype) != "f" or expected.shape != nearby.shape:
        return base
    with np.errstate(all="ignore"):
        moved = np.abs(expected.astype(float) - nearby.astype(float))
    moved = moved[np.isfinite(moved)]
    return base + _CONDITION * float(moved.max()) if moved.size else base


def disagreements(
    names: Sequence[str],
    found: Sequence[Array],
    expected: Sequence[Array],
    rtol: float | None,
    nearby: Callable[[], Sequence[Array]],
    ignore_nan: bool = False,
) -> str | None:
    """Describe the first output that differs, None if all agree.

    nearby: returns the expected values with other roundings. ignore_nan: skip elements where nan is expected.
    """
    for position, (name, x, y) in enumerate(zip(names, found, expected, strict=True)):
        x, y = to_pairs(x), to_pairs(y)
        if ignore_nan and x.shape == y.shape and kind_of(y.dtype) == "f":
            x = np.where(np.isnan(y), y, x)
        problem = disagreement(x, y, absolute_tolerance(y, rtol))
        if problem is not None and rtol is None and x.dtype == y.dtype and x.shape == y.shape:
            problem = disagreement(x, y, conditioned_tolerance(y, to_pairs(nearby()[position])))
        if problem is not None:
            return f"{name}: {problem}"
    return None
