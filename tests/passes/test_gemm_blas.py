"""Which matrix products the BLAS of the caller gets, and with which arguments."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from gemm_harness import (
    BIG,
    FLAGS,
    SUFFIXES,
    Product,
    address,
    cases,
    compiled,
    memref,
    operands,
)

from aotensor.codegen.machine import Machine
from aotensor_runtime.abi import Blas
from aotensor_runtime.blas import blas_table


@pytest.fixture
def native() -> Product:
    return compiled(Machine.host().vector_bits // 8)


@pytest.mark.parametrize("dtype", SUFFIXES)
def test_blas_of_scipy(native: Product, rng: np.random.Generator, dtype: str) -> None:
    table = blas_table()
    assert table.sgemm and table.dgemm
    function = native.functions[f"blas.{SUFFIXES[dtype]}"]
    for extents, flags in cases(5_000):
        if 0 not in extents:
            a, b, expected = operands(rng, dtype, extents, flags)
            c = np.full(expected.shape, np.nan, dtype)
            assert function(*flags, *memref(a), *memref(b), *memref(c), address(table))
            np.testing.assert_array_equal(c, expected, err_msg=f"{extents} {flags}")


class RecordingBlas:
    """A table whose dgemm notes its arguments and writes 1 to the first element of C."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        double, integer = ctypes.POINTER(ctypes.c_double), ctypes.POINTER(ctypes.c_int32)
        letters = [ctypes.POINTER(ctypes.c_char)] * 2
        kinds: list[Any] = [*letters, *[integer] * 3, double, double, integer, double, integer, double, double, integer]

        def dgemm(*arguments: Any) -> None:
            pointers = {6, 8, 11}
            values = [ctypes.cast(x, ctypes.c_void_p).value if i in pointers else x[0] for i, x in enumerate(arguments)]
            self.calls.append(tuple(values))
            arguments[11][0] = 1.0

        self._entry = ctypes.CFUNCTYPE(None, *kinds)(dgemm)
        self.table = Blas(struct_size=ctypes.sizeof(Blas), dgemm=ctypes.cast(self._entry, ctypes.c_void_p).value)


def test_blas_gets_the_operands_exchanged(native: Product) -> None:
    recorder = RecordingBlas()
    function = native.functions["blas.f64"]
    c = np.zeros((2, 3))
    for transpose_a, transpose_b in FLAGS:
        a, b = np.zeros((5, 2) if transpose_a else (2, 5)), np.zeros((3, 5) if transpose_b else (5, 3))
        assert function(transpose_a, transpose_b, *memref(a), *memref(b), *memref(c), address(recorder.table))
        letters = [b"T" if flag else b"N" for flag in (transpose_b, transpose_a)]
        matrices = [b.ctypes.data, b.shape[1], a.ctypes.data, a.shape[1], 0.0, c.ctypes.data, 3]
        assert recorder.calls[-1] == (*letters, 3, 2, 5, 1.0, *matrices)


def test_blas_is_asked_from_some_work_on(native: Product, rng: np.random.Generator) -> None:
    recorder = RecordingBlas()
    for extents, count in (((16, 16, 16), 0), (BIG, 1), ((1 << 16, 2, 0), 1), ((300, 300, 100), 2)):
        a, b, expected = operands(rng, "float64", extents, (False, False))
        c = native(a, b, False, False, recorder.table)
        assert len(recorder.calls) == count
        if extents == (16, 16, 16):
            np.testing.assert_array_equal(c, expected)


@pytest.mark.parametrize("spoil", [
    lambda table: None,
    lambda table: Blas(struct_size=Blas.dgemm.offset + 7, dgemm=table.dgemm),
    lambda table: Blas(struct_size=0, dgemm=table.dgemm),
    lambda table: Blas(struct_size=ctypes.sizeof(Blas), sgemm=table.dgemm),
])  # fmt: skip
def test_without_blas_the_own_kernel_serves(
    native: Product, rng: np.random.Generator, spoil: Callable[[Blas], Blas | None]
) -> None:
    recorder = RecordingBlas()
    table = spoil(recorder.table)
    a, b, expected = operands(rng, "float64", BIG, (False, True))
    assert not native.functions["blas.f64"](
        False, True, *memref(a), *memref(b), *memref(np.empty(BIG[:2])), address(table)
    )
    np.testing.assert_array_equal(native(a, b, False, True, table), expected)
    assert not recorder.calls


def test_a_table_that_ends_behind_the_function_is_enough(native: Product) -> None:
    recorder = RecordingBlas()
    recorder.table.struct_size = Blas.dgemm.offset + 8
    x = np.zeros((2, 2))
    assert native.functions["blas.f64"](False, False, *memref(x) * 3, address(recorder.table))


@pytest.mark.parametrize("position", range(6))
def test_extents_beyond_32_bits_are_not_for_blas(native: Product, position: int) -> None:
    recorder = RecordingBlas()
    extents = [2] * 6
    extents[position] = 1 << 31
    matrices = [[None, *extents[i : i + 2]] for i in (0, 2, 4)]
    flat = [x for matrix in matrices for x in matrix]
    assert not native.functions["blas.f64"](False, False, *flat, address(recorder.table))
    assert not recorder.calls
