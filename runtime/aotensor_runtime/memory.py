"""Memory of results: large matrices begin on a cache line."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

LARGE: Final = 1 << 18  # bytes, from which on looking for a cache line is cheap beside the work
LINE: Final = 64  # bytes


def new_array(shape: Sequence[int], dtype: np.dtype[Any]) -> NDArray[Any]:
    """An uninitialised array in C order. A large matrix is aligned: rows that straddle lines cost up to a third."""
    if len(shape) < 2 or (size := prod(shape) * dtype.itemsize) < LARGE:
        return np.empty(shape, dtype)
    room = np.empty(size + LINE, np.uint8)
    start = -room.__array_interface__["data"][0] % LINE
    return room[start : start + size].view(dtype).reshape(shape)
