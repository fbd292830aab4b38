"""Convert between complex arrays and real arrays with a last axis of (real, imaginary) pairs."""

from __future__ import annotations

import numpy as np

from aotensor.core import dtypes
from aotensor.core.types import Array


def to_pairs(x: Array) -> Array:
    """Real and imaginary parts along a new last axis; a real array is returned unchanged."""
    return np.stack([x.real, x.imag], -1) if x.dtype.kind == "c" else x


def from_pairs(x: Array) -> Array:
    """The complex array whose parts are along the last axis of x."""
    whole = np.ascontiguousarray(x).view(dtypes.complex_of(dtypes.name_of(x.dtype)))
    return whole.reshape(x.shape[:-1])
