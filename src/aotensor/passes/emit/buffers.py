"""The interface of a function emitter that lowerings of single operations use."""

from __future__ import annotations

from typing import Protocol

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, TensorType
from xdsl.ir import BlockArgument, SSAValue

from aotensor.ir.index_builder import Extent
from aotensor.ir.scalar_builder import Scalar
from aotensor.passes.nest.extents import ExtentKey


class Buffers(Protocol):
    """Interface: a function under emission, whose values have buffers and known shapes."""

    def resolve(self, key: ExtentKey) -> Extent: ...
    def scalar(self, x: SSAValue) -> Scalar: ...
    def buffer(self, x: SSAValue) -> SSAValue: ...
    def shape(self, x: SSAValue) -> list[Extent]: ...


def returned_values(function: func.FuncOp) -> list[SSAValue]:
    """The operands of a function's return operation."""
    terminator = function.body.block.last_op
    assert terminator is not None
    return list(terminator.operands)


def dim_names(function: func.FuncOp, argument: SSAValue) -> list[str | None]:
    """The names of the dims of a function's argument; None for an argument without names."""
    assert isinstance(argument, BlockArgument) and isinstance(argument.type, TensorType)
    table = function.attributes.get("dims")
    if not isinstance(table, ArrayAttr):
        return [None] * len(argument.type.get_shape())
    return [name.data or None for name in table.data[argument.index]]
