"""Evaluate integers of a module for given dims: extents, loop bounds, offsets of buffers.

Operations are visited in program order, so their operands are known. A loop counter is evaluated as in its first
iteration; data-dependent values are unknown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from xdsl.dialects import arith, func, memref, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, IntegerAttr, MemRefType, StringAttr, TensorType
from xdsl.ir import BlockArgument, Operation, SSAValue

from aotensor.ir.nest.chunks import ChunkSizeOp, ChunksOp, chunk_number
from aotensor.ir.nest.ops import ProductOp, ValueOp

LARGEST: Final = 1 << 80
"""Limit on evaluated integers: larger ones are treated as unknown, since the given dims are a mistake or an attack."""
_SUM: Final = re.compile(r"(.+?) \+ (\d+)")


class Numbers:
    """The integer values that are known so far. dims: name of a dim → extent."""

    def __init__(self, dims: Mapping[str, int]) -> None:
        self.dims = dims
        self._known: dict[SSAValue, int | None] = {}

    def __getitem__(self, x: SSAValue) -> int | None:
        return self._known.get(x)

    def bind(self, x: SSAValue, value: int | None) -> None:
        """Set the value of a block argument."""
        self._known[x] = value

    def learn(self, op: Operation) -> None:
        """Evaluate one operation and record its result, if that is an integer."""
        found: int | None = None
        match op:
            case arith.ConstantOp() if isinstance(op.value, IntegerAttr):
                found = op.value.value.data
            case tensor.DimOp() | memref.DimOp():
                axis = self[op.index]
                found = None if axis is None else self.extent(op.source, axis)
            case ChunkSizeOp() | ChunksOp():
                known = [self[x] for x in op.operands]
                numbers = [n for n in known if n is not None]
                found = chunk_number(op, numbers) if len(numbers) == len(known) and all(numbers[1:]) else None
            case arith.IndexCastOp():
                found = self[op.input]
            case arith.SelectOp():
                condition = self[op.cond]
                found = self[op.lhs if condition is None or condition else op.rhs]
            case arith.CmpiOp():
                found = self._both(op, _COMPARISONS.get(op.predicate.value.data))
            case _:
                found = self._both(op, _ARITHMETIC.get(type(op)))
        if found is not None and abs(found) <= LARGEST:
            self._known[op.results[0]] = found

    def _both(self, op: Operation, compute: Callable[[int, int], int | None] | None) -> int | None:
        if compute is None:
            return None
        x, y = (self[operand] for operand in op.operands)
        return None if x is None or y is None else compute(x, y)

    def extent(self, x: SSAValue, axis: int) -> int | None:
        """The extent of a tensor or buffer along an axis, None if unknown."""
        if not isinstance(x.type, TensorType | MemRefType):
            return None
        shape = x.type.get_shape()
        if axis >= len(shape):
            return None
        if shape[axis] != DYNAMIC_INDEX:
            return int(shape[axis])
        position = list(shape[:axis]).count(DYNAMIC_INDEX)
        match x.owner:
            case ValueOp() | tensor.EmptyOp() | memref.AllocOp():
                return self[x.owner.operands[position]]
            case ProductOp():
                return self[x.owner.sizes[axis]]
            case tensor.SplatOp():
                return self[x.owner.operands[1 + position]]
            case memref.ViewOp():
                return self[x.owner.sizes[position]]
        return self._argument_extent(x, axis) if isinstance(x, BlockArgument) else None

    def _argument_extent(self, x: BlockArgument, axis: int) -> int | None:
        name = dim_of(x, axis)
        return None if name is None else self.named(name)

    def named(self, name: str) -> int | None:
        """The value of a named dim, or of a dim plus a constant such as `n + 1`; None if unknown."""
        if name in self.dims:
            return self.dims[name]
        parts = _SUM.fullmatch(name)
        return self.dims[parts[1]] + int(parts[2]) if parts is not None and parts[1] in self.dims else None


def dim_of(x: SSAValue, axis: int) -> str | None:
    """The name of the dim of an argument's axis, or None if the axis has none."""
    function = x.block.parent_op() if isinstance(x, BlockArgument) else None
    table = function.attributes.get("dims") if isinstance(function, func.FuncOp) else None
    if not isinstance(x, BlockArgument) or not isinstance(table, ArrayAttr) or x.index >= len(table.data):
        return None
    row = table.data[x.index].data
    name = row[axis] if axis < len(row) else None
    return name.data if isinstance(name, StringAttr) and name.data else None


def _quotient(x: int, y: int) -> int | None:
    return None if y == 0 else abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


_ARITHMETIC: Final[Mapping[type[Operation], Callable[[int, int], int | None]]] = {
    arith.AddiOp: lambda x, y: x + y,
    arith.SubiOp: lambda x, y: x - y,
    arith.MuliOp: lambda x, y: x * y,
    arith.MinSIOp: min,
    arith.MaxSIOp: max,
    arith.MinUIOp: min,
    arith.MaxUIOp: max,
    arith.DivSIOp: _quotient,
    arith.DivUIOp: _quotient,
    arith.FloorDivSIOp: lambda x, y: None if y == 0 else x // y,
    arith.CeilDivSIOp: lambda x, y: None if y == 0 else -(-x // y),
    arith.RemSIOp: lambda x, y: None if y == 0 else x - y * (_quotient(x, y) or 0),
}

_COMPARISONS: Final[Mapping[int, Callable[[int, int], int]]] = {
    number: lambda x, y, holds=holds: int(holds(x, y))  # type: ignore[misc]
    for number, holds in enumerate(
        (
            int.__eq__, int.__ne__, int.__lt__, int.__le__, int.__gt__, int.__ge__,
            int.__lt__, int.__le__, int.__gt__, int.__ge__,
        )
    )
}  # fmt: skip
"""Comparisons by MLIR's predicate numbers."""
