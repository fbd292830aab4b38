"""Permute constants when the library is made, instead of copying them in every call.

    %w = arith.constant dense<…> : tensor<8x4xf32>                →    %t = arith.constant dense<…> : tensor<4x8xf32>
    %t = linalg.generic {(i, j) -> (j, i)} ins(%w) { yield %in }

Readers that are loops read a permuted constant in place (`canonicalize`); a copy is left for kernels and loops over
time, which read whole tensors. A copy in the order of the constant is a reshape.
"""

from __future__ import annotations

from math import prod
from typing import Final

import numpy as np
from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseIntOrFPElementsAttr, ModuleOp, TensorType
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineMap

from aotensor.ir.context import functions_of
from aotensor.ir.dialect import ReshapeOp
from aotensor.ir.forms import TENSOR_FORM
from aotensor.ir.location import builder_before
from aotensor.ir.types import dense_elements, element_bytes
from aotensor.passes.registry import ir_pass
from aotensor.passes.remarks import applied, missed

_SMALL: Final = 1 << 20
"""Bytes of a copy by which a constant that is also read in its own order may enlarge the library."""
_FEW: Final = 1 << 12
"""Bytes of a copy that may be larger than its constant, whose elements it repeats."""


@ir_pass("fold-constant-copies", level="nest", topic="memory", needs=TENSOR_FORM, gives=TENSOR_FORM)
def fold_constant_copies(module: ModuleOp) -> None:
    """Replaces transposed copies of constants by constants in that order, so that calls do not copy weights; a copy in
    the constant's own order becomes a reshape.
    """
    for function in functions_of(module):
        for op in list(function.body.block.ops):
            if isinstance(op, arith.ConstantOp) and isinstance(op.value, DenseIntOrFPElementsAttr):
                _fold(op, op.value)


def _fold(constant: arith.ConstantOp, value: DenseIntOrFPElementsAttr) -> None:
    """Fold the copies of one constant."""
    shape = _shape(constant.result)
    readers = list(dict.fromkeys(use.operation for use in constant.result.uses))
    maps = {op: map for op in readers if (map := copied_elements(op, constant.result)) is not None}
    for op, map in list(maps.items()):
        if is_in_order(map, constant.result, op.results[0]):
            applied("{} is {} with another shape, not a copy", op, constant, size=op.results)
            _replace(op, ReshapeOp(constant.result, [], op.results[0].type))
            del maps[op]
            readers.append(op)
    bytes_of = {op: _bytes(op.results[0]) for op in maps}
    is_unread = len(maps) == len(readers) and sum(bytes_of.values()) <= _bytes(constant.result)
    for op, map in maps.items():
        if bytes_of[op] > max(_bytes(constant.result), _FEW):
            continue
        if not is_unread and bytes_of[op] > _SMALL:
            missed("copies {} in each call: the library would hold two copies of it", constant, size=[constant.result])
            continue
        applied("stores {} in the order in which {} reads it", constant, op, size=op.results)
        kind = op.results[0].type
        assert isinstance(kind, TensorType)
        _replace(op, arith.ConstantOp(_elements(value, map, shape, kind), kind))
    if not constant.result.uses:
        constant.detach()
        constant.erase()


def copied_elements(op: Operation, source: SSAValue) -> AffineMap | None:
    """The index map by which an operation copies elements of a tensor of static extents; None for any other operation.

    Its results are dims of the copy, each at most once, and constants.
    """
    if not isinstance(op, linalg.GenericOp) or len(op.inputs) != 1 or len(op.results) != 1:
        return None
    map, out = (m.data for m in op.indexing_maps)
    last = op.body.block.last_op
    if (
        op.inputs[0] is not source
        or out != AffineMap.identity(out.num_dims)
        or any(kind.data != IteratorType.PARALLEL for kind in op.iterator_types)
        or not isinstance(last, linalg.YieldOp)
        or last.operands[0] is not op.body.block.args[0]
        or DYNAMIC_INDEX in (*_shape(source), *_shape(op.results[0]))
    ):
        return None
    dims = [e.position for e in map.results if isinstance(e, AffineDimExpr)]
    constants = [e for e in map.results if isinstance(e, AffineConstantExpr)]
    return map if len(set(dims)) == len(dims) and len(dims) + len(constants) == len(map.results) else None


def is_in_order(map: AffineMap, source: SSAValue, copy: SSAValue) -> bool:
    """Does a copy with static extents have all elements of its source once, in the same order?

    map: from indices of the copy to those of the source
    """
    shape, extents = _shape(source), _shape(copy)
    if DYNAMIC_INDEX in (*shape, *extents):
        return False
    dims = [e.position for e in map.results if isinstance(e, AffineDimExpr) and extents[e.position] != 1]
    return dims == sorted(set(dims)) and prod(shape) == prod(extents)


def _elements(
    value: DenseIntOrFPElementsAttr, map: AffineMap, shape: tuple[int, ...], kind: TensorType[Attribute]
) -> DenseIntOrFPElementsAttr:
    """The elements of a copy.   map: from its indices to those of the constant; kind: its type"""
    size = element_bytes(kind.element_type)
    data = value.data.data
    repeats = 1 if len(data) == size * prod(shape) else prod(shape)  # one element stands for all of a splat
    array = np.frombuffer(data * repeats, f"u{size}").reshape(shape)
    at = tuple(e.value if isinstance(e, AffineConstantExpr) else slice(None) for e in map.results)
    dims = [e.position for e in map.results if isinstance(e, AffineDimExpr)]
    permuted = array[at].transpose(np.argsort(dims))
    missing = [axis for axis in range(map.num_dims) if axis not in dims]
    return dense_elements(np.broadcast_to(np.expand_dims(permuted, missing), kind.get_shape()), kind)


def _replace(old: Operation, new: Operation) -> None:
    builder_before(old).insert(new)
    old.results[0].replace_all_uses_with(new.results[0])
    empty = old.operands[-1].owner
    old.detach()
    old.erase()
    if isinstance(empty, tensor.EmptyOp) and not empty.tensor.uses:
        empty.detach()
        empty.erase()


def _shape(x: SSAValue) -> tuple[int, ...]:
    assert isinstance(x.type, TensorType)
    return tuple(x.type.get_shape())


def _bytes(x: SSAValue) -> int:
    assert isinstance(x.type, TensorType)
    return element_bytes(x.type.element_type) * prod(_shape(x))
