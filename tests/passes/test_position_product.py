"""The kernel for products of elements at positions, for all vector widths: exact on small integers."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np
import pytest
from gemm_harness import SMALL, SUFFIXES, Matrix, integers
from loaded import address_of, loaded
from xdsl.builder import Builder
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.rewriter import InsertPoint

from aotensor.codegen.emit import emit_module
from aotensor.codegen.llvm import ir
from aotensor.codegen.machine import Machine
from aotensor.ir.types import element_type
from aotensor.passes.gemm.dispatch import add_gemm_kernels
from aotensor.passes.gemm.position_product import PREFIX_AT, arguments_at
from aotensor.passes.target import Target

TABLES = ("a_group", "a_rows", "a_depth", "b_group", "b_depth", "b_columns", "group", "rows", "columns")


class ProductAt:
    """The compiled kernel."""

    def __init__(self, width: int, target: Target, has_memory: bool) -> None:
        machine, module = Machine.host(), ModuleOp([])
        for dtype, suffix in SUFFIXES.items():
            arguments = arguments_at(element_type(dtype))
            module.body.block.add_op(func.FuncOp.external(f"{PREFIX_AT}.{suffix}", arguments, []))
            op = func.FuncOp(f"product.{suffix}", (arguments, []))
            b = Builder(InsertPoint.at_end(op.body.block))
            b.insert(func.CallOp(f"{PREFIX_AT}.{suffix}", list(op.body.block.args), []))
            b.insert(func.ReturnOp())
            module.body.block.add_op(op)
        add_gemm_kernels(module, width, target)
        module.verify()
        exported = [f"product.{suffix}" for suffix in SUFFIXES.values()]
        code = emit_module(module, machine, exported=exported, threads=False)
        if not has_memory:
            refused = code.globals["aligned_alloc"]
            refused.linkage = "internal"
            ir.IRBuilder(refused.append_basic_block()).ret(ir.Constant(refused.function_type.return_type, None))
        library = loaded(machine.optimise(code), machine, exported)
        signature = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p, ctypes.c_int64] * 12, ctypes.c_void_p)
        self.functions = {name: signature(address_of(library, name)) for name in exported}

    def __call__(self, a: Matrix, b: Matrix, size: int, tables: dict[str, Any]) -> Matrix:
        c = np.full(size, np.nan, a.dtype)
        vectors = [np.ascontiguousarray(tables[name], np.int64) for name in TABLES]
        arrays = [a.ravel(), b.ravel(), c, *vectors]
        described = [part for x in arrays for part in (x.ctypes.data if x.size else None, x.size)]
        self.functions[f"product.{SUFFIXES[a.dtype.name]}"](*described, None)
        return c


@cache
def compiled(width: int, has_memory: bool = True) -> ProductAt:
    return ProductAt(width, SMALL, has_memory)


def windows(rng: np.random.Generator, n: int, m: int) -> dict[str, Any]:
    """Positions of windows of 3 × 3 in rows of n + 2 elements, by m filters: vectors in one and in two pieces."""
    taps = (np.arange(2)[:, None, None] * 9 * (n + 2) + np.arange(3)[:, None] * (n + 2) + np.arange(3)).ravel()
    places = (np.arange(7)[:, None] * (n + 2) + np.arange(n)).ravel()
    return {
        "a_group": [0, m * 18], "a_rows": np.arange(m) * 18, "a_depth": np.arange(18),
        "b_group": [0, 18 * (n + 2)], "b_depth": taps, "b_columns": places,
        "group": [0, m * 7 * n], "rows": np.arange(m) * 7 * n, "columns": np.arange(7 * n),
    }  # fmt: skip


def anywhere(rng: np.random.Generator, n: int, m: int) -> dict[str, Any]:
    """Positions without order, of the results too."""
    return {
        "a_group": [3], "a_rows": rng.permutation(m) * 5, "a_depth": rng.permutation(40),
        "b_group": [1], "b_depth": rng.permutation(40) * 2, "b_columns": rng.permutation(n) * 3,
        "group": [0], "rows": rng.permutation(m) * n, "columns": rng.permutation(n),
    }  # fmt: skip


def columns_in_depth(rng: np.random.Generator, n: int, m: int) -> dict[str, Any]:
    """Rows and columns whose elements follow each other along the depth: what is packed is transposed."""
    return {
        "a_group": [0], "a_rows": np.arange(m) * 42, "a_depth": np.arange(42),
        "b_group": [0], "b_depth": np.arange(42), "b_columns": np.arange(n) * 42,
        "group": [0], "rows": np.arange(m), "columns": np.arange(n) * m,
    }  # fmt: skip


def nothing(rng: np.random.Generator, n: int, m: int) -> dict[str, Any]:
    """Sums of no terms."""
    tables = columns_in_depth(rng, n, m)
    return {**tables, "a_depth": [], "b_depth": []}


@pytest.mark.parametrize("dtype", SUFFIXES)
@pytest.mark.parametrize(("width", "has_memory"), [(16, True), (32, True), (64, True), (64, False)])
@pytest.mark.parametrize("pattern", [windows, anywhere, columns_in_depth, nothing])
def test_elements_at_positions(pattern: Any, width: int, has_memory: bool, dtype: str) -> None:
    rng = np.random.default_rng(35)
    for n, m in ((1, 1), (5, 3), (16, 12), (23, 25), (70, 13), (2, 100)):
        tables = pattern(rng, n, m)
        a, b = (integers(rng, dtype, (1, 8000), False)[0] for _ in range(2))
        ag, ai, ap, bg, bp, bj, cg, ci, cj = (np.asarray(tables[name], np.int64) for name in TABLES)
        wanted = np.full(len(cg) * len(ci) * len(cj), np.nan, dtype)
        for first, second, third in zip(ag, bg, cg, strict=True):
            product = a[first + ai[:, None] + ap] @ b[second + bp[:, None] + bj]
            wanted[third + ci[:, None] + cj] = product
        np.testing.assert_array_equal(compiled(width, has_memory)(a, b, wanted.size, tables), wanted)


def test_parts_run_on_threads() -> None:
    """Parts of the whole, and sums of those that are parts of sums."""
    module = ModuleOp([])
    module.body.block.add_op(func.FuncOp.external(f"{PREFIX_AT}.f64", arguments_at(element_type("float64")), []))
    add_gemm_kernels(module)
    code = emit_module(module, Machine.host(), threads=True)
    assert {name for name in code.globals if name.endswith(".run")} == {
        f"{PREFIX_AT}_units.f64.run", f"{PREFIX_AT}_sums.f64.run"
    }  # fmt: skip


@pytest.mark.parametrize("m", [24, 64])
def test_sums_of_parts(m: int) -> None:
    """Few elements with long sums, of which the parts are added, are those of one sum."""
    rng = np.random.default_rng(36)
    n, k = 9, 1300
    tables = {
        "a_group": [0, m * k], "a_rows": np.arange(m) * k, "a_depth": np.arange(k),
        "b_group": [0, 5], "b_depth": np.arange(k) * n, "b_columns": np.arange(n),
        "group": [0, 1], "rows": np.arange(m) * 2 * n, "columns": np.arange(n) * 2,
    }  # fmt: skip
    a, b = (integers(rng, "float64", (1, size), False)[0] for size in (2 * m * k, k * n + 5))
    wanted = np.empty((m, n, 2))
    for g in range(2):
        wanted[:, :, g] = a[g * m * k :][: m * k].reshape(m, k) @ b[5 * g :][: k * n].reshape(k, n)
    for has_memory in (True, False):
        np.testing.assert_array_equal(compiled(64, has_memory)(a, b, wanted.size, tables), wanted.ravel())


def one_large_term(n: int, k: int, is_run: bool = True) -> np.ndarray[Any, Any]:
    """2²⁴ + 1 + 1 + … by the kernel, for 40 rows and n columns: 2²⁴ where terms are added one after the other."""
    depth = np.arange(k) if is_run else np.arange(k)[::-1]
    tables = {
        "a_group": [0], "a_rows": np.arange(40) * k, "a_depth": depth,
        "b_group": [0], "b_depth": np.arange(k) * n, "b_columns": np.arange(n),
        "group": [0], "rows": np.arange(40) * n, "columns": np.arange(n),
    }  # fmt: skip
    a, b = np.ones(40 * k, "float32"), np.ones((k, n), "float32")
    b[0] = 2.0**24
    return compiled(64)(a, b.ravel(), 40 * n, tables)


def test_few_columns_are_dot_products() -> None:
    """Lanes of terms have sums of their own, unless the columns are many or the terms of a row are not contiguous."""
    for n in (1, 2, 3, 4, 9, 17):
        assert np.all(one_large_term(n, 500) > 2.0**24 + 400)
    for n, is_run in ((200, True), (4, False)):  # of one block of terms
        assert np.all(one_large_term(n, 12, is_run) == 2.0**24)


@pytest.mark.parametrize("width", [16, 32, 64])
def test_few_columns_of_any_extents(width: int) -> None:
    """Each number of columns, rows and terms of an interval, results contiguous or not, and nothing else written."""
    rng = np.random.default_rng(45)
    for number, (n, m, k) in enumerate(rng.integers(1, 41, (60, 3))):
        apart, dtype = 1 + number % 2, ("float32", "float64")[number // 2 % 2]
        a, b = (integers(rng, dtype, (1, size), False)[0] for size in (m * k + 3, k * n * 2))
        tables = {
            "a_group": [3], "a_rows": np.arange(m) * k, "a_depth": np.arange(k),
            "b_group": [0], "b_depth": np.arange(k), "b_columns": np.arange(n) * k,
            "group": [0], "rows": np.arange(m) * n * apart, "columns": np.arange(n) * apart,
        }  # fmt: skip
        wanted = np.full((m * n, apart), np.nan, dtype)
        wanted[:, 0] = (a[3:].reshape(m, k) @ b[: n * k].reshape(n, k).T).ravel()
        np.testing.assert_array_equal(compiled(width)(a, b, wanted.size, tables), wanted.ravel(), err_msg=f"{n, m, k}")
