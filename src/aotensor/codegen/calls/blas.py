"""Matrix products by the caller's BLAS table: the bodies of `@aot_blas_gemm.f32` and `@aot_blas_gemm.f64`.

Fortran sees a row-major matrix as its transpose, so C = op(A)·op(B) is computed as Cᵀ = op(B)ᵀ·op(A)ᵀ: the operands are
swapped, and each keeps its flag.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from aotensor.codegen.entry.code import Code, number
from aotensor.codegen.entry.threads import PARALLEL, rest
from aotensor.codegen.llvm import Module, Type, Value, constant, f32, f64, i1, i8, i32, i64, ir, pointer, void
from aotensor.passes.gemm.dispatch import BLAS_PREFIX
from aotensor_runtime.abi import END_OF_SMALLEST_CONTEXT, Blas, Context

_ENTRIES: Final = {f"{BLAS_PREFIX}.f32": ("sgemm", f32), f"{BLAS_PREFIX}.f64": ("dgemm", f64)}
_LARGEST: Final = (1 << 31) - 1  # of a Fortran integer
_MATRIX: Final = [pointer, i64, i64]  # a memref<?x?xf64>: its elements, its extents


def define_blas_calls(module: Module) -> None:
    """Define the declared `@aot_blas_gemm.*`: each computes C = op(A)·op(B) by BLAS and returns whether it could.

    It cannot if the context has no table, if the table is too short or lacks the function, or if an extent does not fit
    32 bits. Extents must not be 0.
    """
    for symbol, (field, element) in _ENTRIES.items():
        if symbol in module.globals and not module.globals[symbol].blocks:
            _define(module, symbol, field, element)


def _define(module: Module, symbol: str, field: str, element: Type) -> None:
    code = Code(module, symbol, i1, [i1, i1, *_MATRIX, *_MATRIX, *_MATRIX, pointer])
    context, no = code.arguments[-1], constant(i1, 0)
    code.ret_if(code.is_null(context), no)
    code.ret_if(
        code.less(code.field(context, Context, "struct_size"), number(code.offset(Context, END_OF_SMALLEST_CONTEXT))),
        no,
    )
    table = code.field(context, Context, "blas")
    code.ret_if(code.is_null(table), no)
    end = number(code.end(Blas, field))
    code.ret_if(code.less(code.field(table, Blas, "struct_size"), end), no)
    code.ret_if(code.is_null(code.field(table, Blas, field)), no)
    extents = [x for x in code.arguments if x.type == i64]
    code.ret_if(code.any(*(code.less(number(_LARGEST), x) for x in extents)), no)
    arguments = _fortran_arguments(code, element)
    if PARALLEL in module.globals:
        rest(code, forever=True)  # the caller's functions have threads of their own
    code.call_field(table, Blas, field, ir.FunctionType(void, [pointer] * len(arguments)), arguments)
    code.ret(constant(i1, 1))


def _fortran_arguments(code: Code, element: Type) -> Sequence[Value]:
    """The arguments of xGEMM, by address: transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc."""
    transpose_a, transpose_b, a, a_rows, a_columns, b, _, b_columns, c, c_rows, c_columns, _ = code.arguments
    depth = code.builder.select(transpose_a, a_rows, a_columns)

    def letter(is_transposed: Value) -> Value:
        return code.on_stack(code.builder.select(is_transposed, constant(i8, ord("T")), constant(i8, ord("N"))))

    def integer(extent: Value) -> Value:
        return code.on_stack(code.builder.trunc(extent, i32))

    flags = [letter(transpose_b), letter(transpose_a)]
    extents = [integer(c_columns), integer(c_rows), integer(depth)]
    one, zero = (code.on_stack(constant(element, x)) for x in (1.0, 0.0))
    return [*flags, *extents, one, b, integer(b_columns), a, integer(a_columns), zero, c, integer(c_columns)]
