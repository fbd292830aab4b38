"""Match tensors that are assembled from parts: stacking and column concatenation at tensor level."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects import tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Operation

from aotensor.passes.nest.extents import Extents


def assemblies(ops: Iterable[Operation], extents: Extents) -> dict[Operation, int]:
    """Map each insertion that assembles a tensor completely from parts to the axis along which each part has extent 1.

        %1 = tensor.insert_slice %a into %empty[0, 0] [%n, 1] [1, 1]
        %2 = tensor.insert_slice %b into %1[0, 1] [%n, 1] [1, 1]          axis 1

    Parts have distinct positions, and cover all other axes: no element is written twice.
    """
    found: dict[Operation, int] = {}
    for op in ops:
        if isinstance(op, tensor.InsertSliceOp) and is_last(op):
            chain = chain_of(op)
            axis = axis_of_parts(chain, extents) if isinstance(chain[-1].dest.owner, tensor.EmptyOp) else None
            if axis is not None:
                found.update(dict.fromkeys(chain, axis))
    return found


def is_last(op: tensor.InsertSliceOp) -> bool:
    """Is no other slice inserted into the result of an insertion?"""
    uses = (use.operation for use in op.result.uses)
    return not any(isinstance(reader, tensor.InsertSliceOp) and reader.dest is op.result for reader in uses)


def chain_of(last: tensor.InsertSliceOp) -> list[tensor.InsertSliceOp]:
    """The longest chain of insertions that ends with `last`, last one first; only the next one reads each of them."""
    chain = [last]
    while isinstance(made_by := chain[-1].dest.owner, tensor.InsertSliceOp) and made_by.result.has_one_use():
        chain.append(made_by)
    return chain


def axis_of_parts(chain: list[tensor.InsertSliceOp], extents: Extents) -> int | None:
    """The axis along which the insertions write slices at distinct constant positions, each of extent 1 along this axis
    and complete along all others; None if there is none.
    """
    kind = chain[0].result.type
    assert isinstance(kind, TensorType)
    for axis in range(len(kind.get_shape())):
        positions = {position_of(op, axis) for op in chain}
        if len(positions) == len(chain) and DYNAMIC_INDEX not in positions:
            return axis if all(_covers_other_axes(op, axis, extents) for op in chain) else None
    return None


def position_of(op: tensor.InsertSliceOp, axis: int) -> int:
    """The position of an inserted part along an axis."""
    return op.static_offsets.get_values()[axis]


def _covers_other_axes(op: tensor.InsertSliceOp, axis: int, extents: Extents) -> bool:
    """Does an inserted part have extent 1 along an axis, and cover all other axes?"""
    if any(step != 1 for step in op.static_strides.get_values()):
        return False
    sizes = zip(extents.shape(op.source), extents.shape(op.dest), strict=True)
    return all(inner == (1 if n == axis else outer) for n, (inner, outer) in enumerate(sizes))
