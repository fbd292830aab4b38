"""Distance of two outputs: in units in the last place, and relative to the largest value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from aotensor.core.dtypes import kind_of
from aotensor.sampling.agreement import absolute_tolerance, disagreement
from aotensor.sampling.pairs import to_pairs


@dataclass(frozen=True)
class Distance:
    """The distance of the old and the new value of one output.

    different, elements: how many differ, of how many. problem: the violation of the tolerance, if any. ulp: the largest
    number of steps between neighbouring floats, 0 for equal bits up to the sign of 0; None where the output is no
    float, or where one side has nan or inf and the other has not. relative: the largest difference over the largest
    magnitude, None likewise.
    """

    different: int
    elements: int
    ulp: int | None
    relative: float | None
    problem: str | None


def distance(old: Any, new: Any, allowed: float) -> Distance:
    """The distance of two arrays; complex ones are compared by real and imaginary parts.

    allowed: the largest difference of two elements
    """
    x, y = to_pairs(np.asarray(old)), to_pairs(np.asarray(new))
    problem = disagreement(y, x, allowed)
    if x.dtype != y.dtype or x.shape != y.shape:
        return Distance(max(x.size, y.size), max(x.size, y.size), None, None, problem)
    is_float = kind_of(x.dtype) == "f"
    equal = (x == y) | (np.isnan(x.astype(float)) & np.isnan(y.astype(float))) if is_float else np.asarray(x == y)
    different = int(equal.size - np.count_nonzero(equal))
    if not is_float:
        return Distance(different, x.size, None, None, problem)
    if not different:
        return Distance(0, x.size, 0, 0.0, problem)
    a, b = x[~equal], y[~equal]
    with np.errstate(all="ignore"):
        wide = a.astype(float), b.astype(float)
        if not all(np.isfinite(part).all() for part in wide):
            return Distance(different, x.size, None, None, problem)
        p, q = _ordered(a), _ordered(b)
        ulp = int(np.where(p > q, p.view("uint64") - q.view("uint64"), q.view("uint64") - p.view("uint64")).max())
        scale = absolute_tolerance(x, 1.0)
        return Distance(different, x.size, ulp, float(np.abs(wide[0] - wide[1]).max()) / scale, problem)


def _ordered(x: Any) -> Any:
    """Map floats to integers in the order of all floats of the dtype: neighbours differ by 1, both zeros are 0."""
    bits = np.ascontiguousarray(x).view(f"int{8 * x.dtype.itemsize}").astype("int64")
    sign = np.int64(-(1 << (8 * x.dtype.itemsize - 1)))
    return np.where(bits < 0, sign - bits, bits)
