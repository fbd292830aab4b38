"""Library kernels and constants: `@aot_gemm.f64`, which calls BLAS or our tiled kernel, and constant tensors."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import reduce
from typing import Final

from xdsl.dialects import arith, func, memref
from xdsl.dialects.builtin import (
    AnyFloat,
    DenseIntOrFPElementsAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    TensorType,
    UnitAttr,
)
from xdsl.ir import Attribute, SSAValue

from aotensor.ir.dialect_sparse import ProductAtOp
from aotensor.ir.loop_builder import LoopBuilder, memref_type_of
from aotensor.ir.nest.ops import ProductOp
from aotensor.ir.types import i1, i8
from aotensor.passes.emit.buffers import Buffers
from aotensor.passes.gemm.position_product import PREFIX_AT, arguments_at
from aotensor.passes.outlining.outline import code_of

PREFIX: Final = "aot_gemm"


def lower_product(b: LoopBuilder, buffers: Buffers, module: ModuleOp, op: ProductOp, context: SSAValue) -> None:
    """Emit C = op(A)·op(B), all row-major, as one kernel call, with flags for operands that are stored transposed.

    A kernel accepts whole buffers only; a row of a buffer, in a loop over steps, is copied to a temporary one.
    """
    target, shape = buffers.buffer(op.result), buffers.shape(op.result)
    result = b.own_buffer(target, shape)
    matrices = [
        *(_whole(b, buffers, x) for x in (op.a, op.b)),
        b.reinterpret(result, list(map(b.index, shape))),
    ]
    context = no_blas(b) if op.pinned is not None else context
    _call_product(b, module, matrices, context, (op.transpose_a is not None, op.transpose_b is not None))
    b.copy(result, target, shape)


def lower_product_at(b: LoopBuilder, buffers: Buffers, module: ModuleOp, op: ProductAtOp, context: SSAValue) -> None:
    """Emit a product of elements at positions as one kernel call, with all tensors as vectors in C order."""
    target, shape = buffers.buffer(op.result), buffers.shape(op.result)
    result = b.own_buffer(target, shape)
    kind = result.type
    assert isinstance(kind, MemRefType)
    operands = [_flat(b, _whole(b, buffers, x)) for x in (op.a, op.b)]
    operands += [_flat(b, result), *(_flat(b, _whole(b, buffers, x)) for x in op.positions), context]
    symbol = f"{PREFIX_AT}.f{kind.element_type.bitwidth}"
    _declare(module, symbol, arguments_at(kind.element_type))
    b.builder.insert(func.CallOp(symbol, operands, []))
    b.copy(result, target, shape)


def _flat(b: LoopBuilder, buffer: SSAValue) -> SSAValue:
    """A view of a whole buffer as a vector."""
    assert isinstance(buffer.type, MemRefType)
    extents = [b.extent_of(buffer, axis) for axis in range(len(buffer.type.get_shape()))]
    return b.reinterpret(buffer, [b.index(reduce(operator.mul, extents))])


def _call_product(
    b: LoopBuilder,
    module: ModuleOp,
    matrices: Sequence[SSAValue],
    context: SSAValue,
    transposed: tuple[bool, bool] = (False, False),
) -> None:
    """Emit the kernel call C = op(A)·op(B) for buffers A, B, C of dynamic extents."""
    kind = matrices[-1].type
    assert isinstance(kind, MemRefType) and isinstance(kind.element_type, AnyFloat)
    symbol = f"{PREFIX}.f{kind.element_type.bitwidth}"
    flags = [b.constant(flag, "bool").ssa for flag in transposed]
    _declare(module, symbol, [i1, i1, kind, kind, kind, memref_type_of(i8, [1])])
    b.builder.insert(func.CallOp(symbol, [*flags, *matrices, context], []))


def no_blas(b: LoopBuilder) -> SSAValue:
    """A context whose size field excludes all other fields, so that the product kernel does not call BLAS."""
    context = b.allocate(i8, [8])
    b.nest([8], lambda where: b.store(b.constant(0, "int8"), context, where))
    return b.reinterpret(context, [1])


def calls_product(module: ModuleOp, name: str) -> bool:
    """True if the kernel of function `name` calls a matrix product."""
    calls = (op for op in code_of(module, name) if isinstance(op, func.CallOp))
    return any(op.callee.string_value().startswith(PREFIX) for op in calls)


def _whole(b: LoopBuilder, buffers: Buffers, x: SSAValue) -> SSAValue:
    """The buffer of an operand with both extents dynamic, so that one kernel serves all products."""
    buffer, shape = buffers.buffer(x), buffers.shape(x)
    own = b.own_buffer(buffer, shape)
    b.copy(buffer, own, shape)
    return b.reinterpret(own, [b.index(n) for n in shape])


def _declare(module: ModuleOp, symbol: str, arguments: Sequence[Attribute]) -> None:
    for op in module.body.block.ops:
        if isinstance(op, func.FuncOp) and op.sym_name.data == symbol:
            return
    module.body.block.add_op(func.FuncOp.external(symbol, arguments, []))


def constant_buffer(b: LoopBuilder, module: ModuleOp, op: arith.ConstantOp) -> SSAValue:
    """Emit a constant tensor as a global of the module; return its buffer."""
    assert isinstance(op.value, DenseIntOrFPElementsAttr) and isinstance(op.result.type, TensorType)
    kind: MemRefType[Attribute] = MemRefType(op.result.type.element_type, op.result.type.get_shape())
    names = [g.sym_name.data for g in module.body.block.ops if isinstance(g, memref.GlobalOp)]
    name = f"constant.{len(names)}"
    value = memref.GlobalOp.get(StringAttr(name), kind, op.value, StringAttr("private"), constant=UnitAttr())
    module.body.block.insert_op_before(value, module.body.block.first_op)  # type: ignore[arg-type]
    read = memref.GetGlobalOp(name, kind)
    b.builder.insert(read)
    return read.memref
