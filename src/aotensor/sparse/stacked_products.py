"""Products and sums of stacked matrices by their blocks: the stack itself, whose rows are interleaved, is not made.

hstack(A, B) @ w    →    A @ w[:p] + B @ w[p:]
vstack(A, B) @ w    →    join(A @ w, B @ w)
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from aotensor.core.frozen import frozen_dataclass
from aotensor.graph.op import Apply
from aotensor.graph.variable import Variable
from aotensor.ops.elementwise.arithmetic import add
from aotensor.ops.index import subtensor
from aotensor.ops.shape.extent_checks import fitting
from aotensor.ops.shape.extents import SymbolicExtent
from aotensor.ops.shape.join import join
from aotensor.sparse.arithmetic.sums import SpSum
from aotensor.sparse.construct.stack import HStack, VStack, sums_of
from aotensor.sparse.convert import Transpose, transpose
from aotensor.sparse.csm import matrix_extent
from aotensor.sparse.op import as_sparse
from aotensor.sparse.reformat import Cast, Reformat


@frozen_dataclass
class _Stack:
    """Blocks that follow each other along `axis`, in the dtype of the stack, and agree along the other axis."""

    axis: int
    blocks: tuple[Variable, ...]


def products_of_blocks(node: Apply, inputs: Sequence[Variable], stop: Collection[Variable]) -> Variable | None:
    """A product of a stack with a dense vector or matrix, block by block."""
    for position, (matrix, other) in enumerate(zip(inputs, reversed(inputs), strict=True)):
        stack = None if other.is_sparse or not matrix.is_sparse else _stack_of(matrix, stop)
        if stack is None:
            continue
        inner = 1 - position
        if stack.axis != inner:
            return join(0 if position == 0 else -1, *(_placed(node, x, other, position) for x in stack.blocks))
        axis = 0 if position == 0 else other.ndim - 1
        ends = _ends(stack)
        whole = matrix.tensor_type.shape[inner]
        other = fitting(other, axis, ends[-1], whole, f"{node.op.name}: inner dimensions")
        starts = [0, *ends[:-1]]
        windows = (
            subtensor(other, (*(slice(None),) * axis, slice(start, end)))
            for start, end in zip(starts, ends, strict=True)
        )
        terms = [_placed(node, x, part, position) for x, part in zip(stack.blocks, windows, strict=True)]
        return add(*terms)
    return None


def sums_of_blocks(node: Apply, inputs: Sequence[Variable], stop: Collection[Variable]) -> Variable | None:
    """The sum of a stack along an axis, or of all of it."""
    assert isinstance(node.op, SpSum)
    stack = _stack_of(inputs[0], stop)
    if stack is None:
        return None
    terms = [node.op(x) for x in stack.blocks]
    return add(*terms) if node.op.axis in (None, stack.axis) else join(0, *terms)


def _placed(node: Apply, block: Variable, other: Variable, position: int) -> Variable:
    pair = (block, other) if position == 0 else (other, block)
    return node.op.apply(*pair).outputs[0]


def _ends(stack: _Stack) -> list[SymbolicExtent]:
    """The end position of each block along the axis of the stack."""
    extents = [matrix_extent(as_sparse(x), stack.axis) for x in stack.blocks]
    return sums_of(extents)


def _stack_of(x: Variable, stop: Collection[Variable]) -> _Stack | None:
    """The blocks of x if it is a stack, up to transposes and formats; None if other extents are not known to agree."""
    is_transposed, dtype = False, x.dtype
    while x.owner is not None and x not in stop and isinstance(x.owner.op, Transpose | Reformat):
        is_transposed ^= isinstance(x.owner.op, Transpose)
        (x,) = x.owner.inputs
    if x.owner is None or x in stop or not isinstance(x.owner.op, HStack | VStack):
        return None
    (axis,) = x.owner.op.along
    blocks = [b if b.dtype == dtype else Cast(dtype)(b) for b in x.owner.inputs]
    across = {b.tensor_type.shape[1 - axis] for b in blocks}
    if len(across) != 1 or None in across:
        return None
    return _Stack(1 - axis if is_transposed else axis, tuple(transpose(b) if is_transposed else b for b in blocks))
