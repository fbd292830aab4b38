"""The checking build: fill outputs and buffers with a pattern before anything is written to them.

    %b = memref.alloc() : memref<12xf64>    →    %b = memref.alloc() : memref<12xf64>
                                                 scf.for %i = 0 to 12 { memref.store %nan, %b[%i] }

The pattern is 0x7FF4 in each 16 bits: nan for every floating type, a large integer. Buffers are filled where they are
allocated, so once per iteration of the enclosing loop, and before `plan-memory` lets several buffers share a part of
the workspace. A buffer that grows is not filled: its size is the number of elements written.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.builder import Builder
from xdsl.dialects import func, memref
from xdsl.dialects.builtin import AnyFloat, ArrayAttr, IntegerType, MemRefType, ModuleOp
from xdsl.ir import Attribute, SSAValue
from xdsl.rewriter import InsertPoint

from aotensor.ir.loop_builder import LoopBuilder
from aotensor.ir.scalar_builder import Scalar
from aotensor.ir.types import DTYPE_OF_FLOAT
from aotensor.ir.upstream import walk
from aotensor.passes.direct.lower import RESIZABLE


def poison_buffers(module: ModuleOp, outputs: Mapping[str, int]) -> None:
    """Fill the outputs of every kernel, and the buffers of every function, with a pattern.

    outputs: number of outputs by function name.
    """
    for function in module.body.block.ops:
        if not isinstance(function, func.FuncOp) or function.is_declaration:
            continue
        for op in [op for op in walk(function) if type(op) is memref.AllocOp and RESIZABLE not in op.attributes]:
            _fill(LoopBuilder(Builder(InsertPoint.after(op))), op.memref)
        name, _, kind = function.sym_name.data.rpartition(".")
        block = function.body.block
        if kind == "kernel" and block.first_op is not None:
            dims = function.attributes["dims"]  # of each input
            assert isinstance(dims, ArrayAttr)
            first = len(dims.data)
            b = LoopBuilder(Builder(InsertPoint.before(block.first_op)))
            for argument in block.args[first : first + outputs[name]]:
                if any(not isinstance(use.operation, memref.DimOp) for use in argument.uses):
                    _fill(b, argument)


def _fill(b: LoopBuilder, buffer: SSAValue) -> None:
    """Store the pattern in all elements of a buffer."""
    assert isinstance(buffer.type, MemRefType)
    extents = [b.extent_of(buffer, axis) for axis in range(len(buffer.type.get_shape()))]
    value = _pattern(b, buffer.type.element_type)
    b.nest(extents, lambda where: b.store(value, buffer, where))


def _pattern(b: LoopBuilder, element: Attribute) -> Scalar:
    """The pattern as an element: 0x7FF4 in each 16 bits; true for a bool."""
    if isinstance(element, IntegerType) and element.width.data == 1:
        return b.constant(True, "bool")
    bits = element.bitwidth if isinstance(element, AnyFloat | IntegerType) else 64
    pattern = b.constant(int("7FF4" * 4, 16), f"int{bits}")
    return b.bitcast(pattern, DTYPE_OF_FLOAT[element]) if isinstance(element, AnyFloat) else pattern
