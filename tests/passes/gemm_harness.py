"""The built-in matrix product, compiled by itself: `c = compiled(width)(a, b, transpose_a, transpose_b)`."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from loaded import address_of, loaded
from xdsl.builder import Builder
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.rewriter import InsertPoint

from aotensor.codegen.calls.blas import define_blas_calls
from aotensor.codegen.emit import emit_module
from aotensor.codegen.llvm import ir
from aotensor.codegen.machine import Machine
from aotensor.ir.loop_builder import memref_type_of
from aotensor.ir.types import element_type, i1, i8
from aotensor.passes.gemm.dispatch import BLAS_PREFIX, add_gemm_kernels
from aotensor.passes.target import Target
from aotensor_runtime.abi import Blas, context

SUFFIXES = {"float32": "f32", "float64": "f64"}
SIZES = (0, 1, 2, 3, 7, 16, 17, 100, 129, 300)
LARGEST_OF_MANY = 100_000  # multiply-adds of one product, where there are hundreds
TARGET = Target(blas_work=128**3)
SMALL = Target(  # everything in several pieces, packed if it is more than a little
    blas_work=1 << 40, chunk_work=1, product_depth=64, product_rows=24, product_side=512, direct_row=0
)
BIG = (130, 130, 130)  # more multiply-adds than BLAS is asked for

FLAGS = ((False, False), (False, True), (True, False), (True, True))  # transpose A, transpose B

Matrix = np.ndarray[Any, np.dtype[Any]]


def declared(*dtypes: str) -> ModuleOp:
    """A module that calls the product, and the function that tries BLAS: `@product.f64`, `@blas.f64`."""
    module = ModuleOp([])
    for dtype in dtypes:
        suffix, matrix = SUFFIXES[dtype], memref_type_of(element_type(dtype), [None, None])
        arguments = [i1, i1, matrix, matrix, matrix, memref_type_of(i8, [1])]
        module.body.block.add_op(func.FuncOp.external(f"aot_gemm.{suffix}", arguments, []))
        targets = {f"product.{suffix}": (f"aot_gemm.{suffix}", []), f"blas.{suffix}": (f"{BLAS_PREFIX}.{suffix}", [i1])}
        for symbol, (callee, results) in targets.items():
            op = func.FuncOp(symbol, (arguments, results))
            b = Builder(InsertPoint.at_end(op.body.block))
            call = b.insert(func.CallOp(callee, list(op.body.block.args), results))
            b.insert(func.ReturnOp(*call.results))
            module.body.block.add_op(op)
    return module


def defined(*dtypes: str, vector_bytes: int = 32, target: Target = TARGET) -> ModuleOp:
    module = declared(*dtypes)
    add_gemm_kernels(module, vector_bytes, target)
    module.verify()
    return module


class Product:
    """The compiled product: `c = multiply(a, b, transpose_a, transpose_b)`."""

    def __init__(self, width: int, target: Target = TARGET, has_memory: bool = True) -> None:
        self.width = width
        machine = Machine.host()
        exported = [f"{name}.{suffix}" for name in ("product", "blas") for suffix in SUFFIXES.values()]
        module = emit_module(
            defined(*SUFFIXES, vector_bytes=width, target=target), machine, exported=exported, threads=False
        )
        define_blas_calls(module)
        if not has_memory:
            refused = module.globals["aligned_alloc"]
            refused.linkage = "internal"
            count = ir.GlobalVariable(module, ir.IntType(64), "refusals")
            count.initializer = ir.Constant(count.value_type, 0)
            b = ir.IRBuilder(refused.append_basic_block())
            b.store(b.add(b.load(count), ir.Constant(count.value_type, 1)), count)
            b.ret(ir.Constant(refused.function_type.return_type, None))
        counters = [] if has_memory else ["refusals"]
        library = loaded(machine.optimise(module), machine, [*exported, *counters])
        self.refusals = None if has_memory else ctypes.c_int64.from_address(address_of(library, "refusals"))
        matrix = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64]
        signature = [ctypes.c_bool, ctypes.c_bool, *matrix * 3, ctypes.c_void_p]
        results = {"product": None, "blas": ctypes.c_bool}
        self.functions = {
            symbol: ctypes.CFUNCTYPE(results[symbol.split(".")[0]], *signature)(address_of(library, symbol))
            for symbol in exported
        }

    def __call__(self, a: Matrix, b: Matrix, transpose_a: bool, transpose_b: bool, blas: Blas | None = None) -> Matrix:
        shape = a.shape[1 if transpose_a else 0], b.shape[0 if transpose_b else 1]
        return self.into(np.full(shape, np.nan, a.dtype), a, b, transpose_a, transpose_b, blas)

    def into(self, c: Matrix, a: Matrix, b: Matrix, *flags: bool | Blas | None) -> Matrix:
        transpose_a, transpose_b, blas = flags
        function = self.functions[f"product.{SUFFIXES[a.dtype.name]}"]
        function(transpose_a, transpose_b, *memref(a), *memref(b), *memref(c), address(blas))
        return c


def memref(x: Matrix) -> tuple[int | None, int, int]:
    assert x.flags.c_contiguous
    return x.ctypes.data if x.size else None, *x.shape


def address(blas: Any) -> int | None:
    """Of a context that has the table, which keeps it."""
    if blas is None:
        return None
    blas.context = context(ctypes.addressof(blas))
    return ctypes.addressof(blas.context)


@cache
def compiled(width: int, target: Target = TARGET, has_memory: bool = True) -> Product:
    return Product(width, target, has_memory)


def integers(rng: np.random.Generator, dtype: str, shape: tuple[int, int], is_transposed: bool) -> Matrix:
    """Small integers, whose products and sums every dtype has exactly."""
    return rng.integers(-8, 9, shape[::-1] if is_transposed else shape).astype(dtype)


def operands(
    rng: np.random.Generator, dtype: str, extents: tuple[int, int, int], flags: tuple[bool, bool]
) -> tuple[Matrix, Matrix, Matrix]:
    """A and B as stored, and op(A)·op(B)."""
    m, n, k = extents
    a, b = integers(rng, dtype, (m, k), flags[0]), integers(rng, dtype, (k, n), flags[1])
    return a, b, (a.T if flags[0] else a) @ (b.T if flags[1] else b)


def cases(largest: int) -> Iterator[tuple[tuple[int, int, int], tuple[bool, bool]]]:
    for m, n, k in product(SIZES, repeat=3):
        if m * n * k <= largest:
            yield from (((m, n, k), flags) for flags in FLAGS)
