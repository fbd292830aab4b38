"""Matrix products by a library kernel: `@aot_gemm.f64`, which calls BLAS if there is one and a tiled kernel if not."""

from __future__ import annotations

from typing import Final

from xdsl.dialects import func
from xdsl.dialects.builtin import AnyFloat, MemRefType, ModuleOp
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import SSAValue

from aotensor.ir.loop_builder import LoopBuilder, memref_type_of
from aotensor.ir.types import i1, i8
from aotensor.passes.collapse import Buffers
from aotensor.passes.contraction import MatrixProduct

PREFIX: Final = "aot_gemm"


def lower_product(
    b: LoopBuilder, buffers: Buffers, module: ModuleOp, op: linalg.GenericOp, product: MatrixProduct, blas: SSAValue
) -> None:
    """C = op(A)·op(B), all row-major: one call, with flags for operands that are stored transposed."""
    out = op.results[0]
    a, x, c = (_dynamic(b, buffers, v) for v in (product.a, product.b, out))
    assert isinstance(c.type, MemRefType) and isinstance(c.type.element_type, AnyFloat)
    symbol = f"{PREFIX}.f{c.type.element_type.bitwidth}"
    flags = [b.constant(flag, "bool").ssa for flag in (product.transpose_a, product.transpose_b)]
    operands = [*flags, a, x, c, blas]
    _declare(module, symbol, c.type)
    b.builder.insert(func.CallOp(symbol, operands, []))


def calls_product(module: ModuleOp, name: str) -> bool:
    """True if the kernel of function `name` calls a matrix product."""
    kernels = (op for op in module.body.block.ops if isinstance(op, func.FuncOp))
    kernel = next(op for op in kernels if op.sym_name.data == f"{name}.kernel")
    calls = (op for op in kernel.walk() if isinstance(op, func.CallOp))
    return any(op.callee.string_value().startswith(PREFIX) for op in calls)


def _dynamic(b: LoopBuilder, buffers: Buffers, x: SSAValue) -> SSAValue:
    """The buffer with both extents dynamic, so that one kernel serves all products."""
    shape = [b.index(n) for n in buffers.shape(x)]
    return b.reinterpret(buffers.buffer(x), shape)


def _declare(module: ModuleOp, symbol: str, kind: MemRefType[AnyFloat]) -> None:
    for op in module.body.block.ops:
        if isinstance(op, func.FuncOp) and op.sym_name.data == symbol:
            return
    arguments = [i1, i1, kind, kind, kind, memref_type_of(i8, [1])]
    module.body.block.add_op(func.FuncOp.external(symbol, arguments, []))
