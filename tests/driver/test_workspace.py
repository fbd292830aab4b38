"""Sizes that do not fit: the workspace of absurd extents is refused, never too small."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

import aotensor as aot
import aotensor.tensor as at


@pytest.mark.parametrize("columns", [2**61, 2**62, 2**40])
def test_no_extent_wraps_the_workspace(tmp_path: Path, columns: int) -> None:
    """x: (0, columns) takes no memory, the sums of its columns would take 8·columns bytes and more."""
    x = at.matrix("x", shape=("n", "p"))
    sums = x.sum(axis=0)
    f = aot.function([x], (at.exp(sums - sums.max()) * sums).sum(), name="spread")
    library = ctypes.CDLL(str(aot.compile(f, tmp_path, opt_level=1).library))
    library.spread_workspace.restype = ctypes.c_int64
    extents = ctypes.c_int64(0), ctypes.c_int64(columns)
    result = np.zeros(())
    assert library.spread_workspace(*extents) >= min(8 * columns, 2**62)
    assert library.spread(*extents, None, ctypes.c_void_p(result.ctypes.data), None) != 0
