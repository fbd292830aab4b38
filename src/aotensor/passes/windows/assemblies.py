"""Tensors that are assembled from parts: what stacking, and joining of columns, is at tensor level."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects import tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Operation

from aotensor.passes.nest.extents import Extents


def assemblies(ops: Iterable[Operation], extents: Extents) -> dict[Operation, int]:
    """Insertions that assemble a tensor from parts alone, with the axis along which each part has one position.

        %1 = tensor.insert_slice %a into %empty[0, 0] [%n, 1] [1, 1]
        %2 = tensor.insert_slice %b into %1[0, 1] [%n, 1] [1, 1]          axis 1

    Parts have positions of their own, and go over all of the other axes: no element is written twice. Numbers that make
    a vector are none: there is no loop to share.
    """
    found: dict[Operation, int] = {}
    for op in ops:
        if isinstance(op, tensor.InsertSliceOp) and not any(
            isinstance(use.operation, tensor.InsertSliceOp) and use.operation.dest is op.result
            for use in op.result.uses
        ):
            chain = _chain(op)
            axis = _axis_of_parts(chain, extents)
            if axis is not None:
                found.update(dict.fromkeys(chain, axis))
    return found


def _chain(last: tensor.InsertSliceOp) -> list[tensor.InsertSliceOp]:
    """An insertion and those that it builds on; none, if one of these is read, or they do not begin with nothing."""
    chain = [last]
    while isinstance(made_by := chain[-1].dest.owner, tensor.InsertSliceOp):
        if not made_by.result.has_one_use():
            return []
        chain.append(made_by)
    return chain if isinstance(made_by, tensor.EmptyOp) else []


def _axis_of_parts(chain: list[tensor.InsertSliceOp], extents: Extents) -> int | None:
    kind = chain[0].result.type if chain else None
    if not isinstance(kind, TensorType) or len(kind.get_shape()) == 1:
        return None
    for axis in range(len(kind.get_shape())):
        positions = {position_of(op, axis) for op in chain}
        if len(positions) == len(chain) and DYNAMIC_INDEX not in positions:
            return axis if all(_is_whole_beside(op, axis, extents) for op in chain) else None
    return None


def position_of(op: tensor.InsertSliceOp, axis: int) -> int:
    """Where along an axis a part lies."""
    return op.static_offsets.get_values()[axis]


def _is_whole_beside(op: tensor.InsertSliceOp, axis: int, extents: Extents) -> bool:
    """Has a part one position along an axis, and does it go over all of the others?"""
    if any(step != 1 for step in op.static_strides.get_values()):
        return False
    sizes = zip(extents.shape(op.source), extents.shape(op.dest), strict=True)
    return all(inner == (1 if n == axis else outer) for n, (inner, outer) in enumerate(sizes))
