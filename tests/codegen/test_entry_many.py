"""The typed entry of a function with many arrays, which checks their addresses in a loop."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np

import aotensor as aot
import aotensor.tensor as at
from aotensor_runtime.abi import Status

COUNT = 80


def test_typed_entry_of_many_arrays(tmp_path: Path) -> None:
    """It computes, with and without the caller's workspace, and refuses each address that is missing."""
    inputs = [at.vector(f"x{k}", shape=(3,)) for k in range(COUNT)]
    outputs = [x[at.argsort(x)] + float(k) for k, x in enumerate(inputs[:2])]
    total = outputs[0] + sum(inputs[2:], start=inputs[1])
    made = aot.compile(aot.function(inputs, [total, outputs[1]], name="many"), tmp_path, opt_level=1)
    lib = ctypes.CDLL(str(made.library))
    lib.many.argtypes = [ctypes.c_void_p] * (COUNT + 3)
    lib.many_workspace.restype = ctypes.c_int64
    x = np.random.default_rng(0).normal(size=(COUNT, 3))
    first, second, room = np.zeros(3), np.zeros(3), np.zeros(max(lib.many_workspace(), 1), "u1")
    data = [*(row.ctypes.data for row in x), first.ctypes.data, second.ctypes.data]
    for workspace in (None, room.ctypes.data):
        first[:] = second[:] = 0
        assert lib.many(*data, workspace) == 0
        np.testing.assert_allclose(first, np.sort(x[0]) + x[1:].sum(axis=0), rtol=1e-12)
        np.testing.assert_allclose(second, np.sort(x[1]) + 1, rtol=1e-12)
        for missing in (0, 41, COUNT - 1, COUNT, COUNT + 1):
            given = [None if k == missing else address for k, address in enumerate(data)]
            assert lib.many(*given, workspace) == Status.NULL_POINTER


def test_typed_entry_with_empty_arrays_among_many(tmp_path: Path) -> None:
    """The address of an array without elements may be NULL."""
    empty = at.vector("e", shape=(0,))
    inputs = [at.scalar(f"x{k}") for k in range(COUNT)]
    made = aot.compile(aot.function([empty, *inputs], empty.sum() + sum(inputs, start=inputs[0]), name="f"), tmp_path)
    lib, numbers, result = ctypes.CDLL(str(made.library)), np.arange(float(COUNT)), np.zeros(())
    lib.f.argtypes = [ctypes.c_void_p] * (COUNT + 3)
    addresses = [numbers[k:].ctypes.data for k in range(COUNT)]
    assert lib.f(None, *addresses, result.ctypes.data, None) == 0
    assert result == numbers.sum()
    assert lib.f(None, None, *addresses[1:], result.ctypes.data, None) == Status.NULL_POINTER
