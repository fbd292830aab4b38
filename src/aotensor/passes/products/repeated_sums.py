"""Compute a sum once that is the same along an axis of its result, and repeat it.

    r[i, k] = Σ_j q[k, j]      →      s[k] = Σ_j q[k, j];  r[i, k] = s[k]

The gradient of `(p @ q).sum()` by p has this form: the cotangent of the product is 1 everywhere. Readers of r use s in
place. The order of the terms stays.
"""

from __future__ import annotations

from xdsl.dialects import func, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, AffineMapAttr, TensorType
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.attrs import IteratorType, IteratorTypeAttr
from xdsl.ir import Block, Region, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap
from xdsl.rewriter import Rewriter

from aotensor.ir.index_builder import dimension, generic, index_map
from aotensor.ir.location import builder_before, locate
from aotensor.ir.upstream import walk
from aotensor.passes.canonicalize import fold_copy
from aotensor.passes.remarks import applied


def sum_once(function: func.FuncOp) -> None:
    """Rewrite reductions from a fill whose inputs lack an axis of the result of more than one element, and readers of
    their results that then are such reductions too."""
    op = function.body.block.first_op
    while op is not None:
        if isinstance(op, linalg.GenericOp) and (repeated := _repeated(op)) is not None:
            op = _rewrite(op, repeated)
            fold_copy(op)
        op = op.next_op


def _rewrite(op: linalg.GenericOp, repeated: frozenset[int]) -> linalg.GenericOp:
    """Replace a sum by one without the repeated dims, and a copy of its result, which is returned."""
    applied("{} is computed once: it is the same along an axis", op, size=op.results)
    [result], [start] = op.results, op.outputs
    assert isinstance(start.owner, tensor.SplatOp) and isinstance(result.type, TensorType)
    shape, sizes = result.type.get_shape(), iter(start.owner.dynamicSizes)
    extents: list[int | SSAValue] = [n if n != DYNAMIC_INDEX else next(sizes) for n in shape]
    out = _dims(op)
    kept = [axis for axis, dim in enumerate(out) if dim not in repeated]
    b = builder_before(op)
    element = result.type.element_type
    kind = TensorType(element, [shape[axis] for axis in kept])
    first = b.insert(tensor.SplatOp(start.owner.input, _dynamic([extents[axis] for axis in kept]), kind)).result
    numbers = [dim for dim in range(len(op.iterator_types)) if dim not in repeated]
    maps = [_renumbered(m.data, numbers) for m in op.indexing_maps.data[:-1]]
    maps.append(index_map(len(numbers), tuple(dimension(numbers.index(out[axis])) for axis in kept)))
    body = Region()
    op.body.move_blocks(body)
    once = generic(list(op.inputs), [first], body, maps, [op.iterator_types.data[dim] for dim in numbers])
    locate(once, b.location)
    value: SSAValue = b.insert(once).results[0]
    if not kept:
        value = b.insert(tensor.ExtractOp(value, [], element)).result
    copied = Block(arg_types=[element] * (2 if kept else 1))
    copied.add_op(linalg.YieldOp(copied.args[0] if kept else value))
    rank = len(shape)
    empty = b.insert(tensor.EmptyOp(_dynamic(extents), result.type)).tensor
    maps = [index_map(rank, tuple(map(dimension, kept)))] if kept else []
    maps.append(index_map(rank, tuple(map(dimension, range(rank)))))
    parallel = [IteratorTypeAttr(IteratorType.PARALLEL)] * rank
    copy = generic([value] if kept else [], [empty], Region(copied), maps, parallel)
    locate(copy, b.location)
    Rewriter.replace_op(op, [], [b.insert(copy).results[0]])
    return copy


def _repeated(op: linalg.GenericOp) -> frozenset[int] | None:
    """The dims of the result that no input has; None if there are none, or the generic is not a sum from a fill."""
    if len(op.results) != 1 or not op.inputs or not isinstance(op.outputs[0].owner, tensor.SplatOp):
        return None
    kinds = [kind.data for kind in op.iterator_types]
    out = op.indexing_maps.data[-1].data
    if IteratorType.REDUCTION not in kinds or not all(isinstance(e, AffineDimExpr) for e in out.results):
        return None
    used = {dim for m in op.indexing_maps.data[:-1] for e in m.data.results for dim in e.used_dims()}
    kind = op.results[0].type
    assert isinstance(kind, TensorType)
    repeated = frozenset(dim for dim in _dims(op) if dim not in used)
    is_long = any(n != 1 for dim, n in zip(_dims(op), kind.get_shape(), strict=True) if dim in repeated)
    has_index = any(isinstance(inner, linalg.IndexOp) for inner in walk(op))
    return repeated if is_long and not has_index else None


def _dims(op: linalg.GenericOp) -> list[int]:
    """The dim of each axis of the result."""
    return [e.position for e in op.indexing_maps.data[-1].data.results if isinstance(e, AffineDimExpr)]


def _dynamic(extents: list[int | SSAValue]) -> list[SSAValue]:
    return [n for n in extents if isinstance(n, SSAValue)]


def _renumbered(m: AffineMap, numbers: list[int]) -> AffineMapAttr:
    """The map over the dims that are left. numbers: their numbers in the map's own."""
    new = [dimension(numbers.index(dim) if dim in numbers else 0) for dim in range(m.num_dims)]
    return AffineMapAttr(m.replace_dims_and_symbols(new, [], len(numbers), 0))
