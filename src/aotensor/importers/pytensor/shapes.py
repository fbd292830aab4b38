"""Rules of shapes, axes, and tensors created from extents."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

import aotensor.tensor as at
from aotensor.importers.check import checked
from aotensor.importers.pytensor.axes import along_axis
from aotensor.importers.pytensor.rules import Walk, as_bool, rows, rule
from aotensor.importers.pytensor.values import is_sparse, number_of

rows({
    **dict.fromkeys(
        ("DeepCopyOp", "TypeCastingOp", "CpuContiguous", "TensorFromScalar", "ScalarFromTensor"), lambda op, x: x
    ),  # scalars are tensors of rank 0 here, and nothing works in place
    "DimShuffle": lambda op, x: at.dimshuffle(x, op.new_order),
    "Shape": lambda op, x: at.stack(list(x.shape)) if is_sparse(x) else at.shape(x),
    "Shape_i": lambda op, x: x.shape[int(op.i)] if is_sparse(x) else at.shape_i(x, int(op.i)),
    "SpecifyShape": lambda op, x, *extents: at.specify_shape(x, [number_of(n) for n in extents]),
    "JoinDims": lambda op, x: at.join_dims(x, op.start_axis, op.n_axes),
    "Alloc": lambda op, x, *extents: at.alloc(x, *map(number_of, extents)),
    "AllocEmpty": lambda op, *extents: at.empty([number_of(n) for n in extents], dtype=op.dtype),
    "Eye": lambda op, n, m, k: at.eye(number_of(n), number_of(m), number_of(k), dtype=op.dtype),
    "ARange": lambda op, a, b, step: at.arange(number_of(a), number_of(b), number_of(step), dtype=op.dtype),
    "ExtractDiag": lambda op, x: at.diagonal(x, op.offset, op.axis1, op.axis2),
    "Repeat": lambda op, x, counts: at.repeat(x, number_of(counts), op.axis),
    "Nonzero": lambda op, x: at.nonzero(as_bool(x)),
})  # fmt: skip


@rule("Reshape")
def reshape(walk: Walk, node: Any, x: Any, extents: Any) -> Any:
    """x reshaped to new extents, in C order."""
    known = walk.extents(node.inputs[1])
    return at.reshape(x, known if isinstance(known, list) else extents, node.op.ndim)


@rule("SplitDims")
def split_dims(walk: Walk, node: Any, x: Any, extents: Any) -> Any:
    """Split one axis into several."""
    return at.split_dims(x, walk.extents(node.inputs[1]), node.op.axis)


@rule("MakeVector")
def make_vector(walk: Walk, node: Any, *elements: Any) -> Any:
    """Stack scalars to a vector."""
    dtype = node.op.dtype
    return at.stack([at.cast(x, dtype) for x in elements]) if elements else at.constant(np.zeros(0, dtype))


@rule("Join")
def join(walk: Walk, node: Any, axis: Any, *tensors: Any) -> Any:
    """Concatenates tensors along an axis."""
    dtype = node.outputs[0].type.dtype
    first, *others = (at.cast(x, dtype) for x in tensors)
    return along_axis(node, first, axis, lambda x, k: at.join(k, x, *others))


@rule("Split")
def split(walk: Walk, node: Any, x: Any, axis: Any, sizes: Any) -> Any:
    """Split along an axis into parts of given sizes."""
    sizes = walk.extents(node.inputs[2], node.op.len_splits)
    return along_axis(node, x, axis, lambda values, k: at.split(values, sizes, node.op.len_splits, k))


@rule("FillDiagonal")
def fill_diagonal(walk: Walk, node: Any, x: Any, value: Any) -> Any:
    """A copy with one value where all positions are equal: of a matrix, or of an array whose extents are equal."""
    if x.ndim == 2:
        return at.fill_diagonal(x, at.cast(value, x.dtype))
    equal = [at.eq(x.shape[axis], x.shape[0]) for axis in range(1, x.ndim)]
    x = checked("FillDiagonal: the extents of a tensor of more than two axes must be equal", x, *equal)
    pairs = [at.eye(x.shape[axis], x.shape[axis + 1], dtype="bool") for axis in range(x.ndim - 1)]
    mask = reduce(at.and_, [at.expand_dims(pair, _others(x, axis)) for axis, pair in enumerate(pairs)])
    return at.switch(mask, at.cast(value, x.dtype), x)


def _others(x: Any, axis: int) -> list[int]:
    """The axes of x except this one and the next."""
    return [k for k in range(x.ndim) if k not in (axis, axis + 1)]


@rule("FillDiagonalOffset")
def fill_diagonal_offset(walk: Walk, node: Any, x: Any, value: Any, offset: Any) -> Any:
    """A copy of a matrix with one value on the diagonal `offset`, which may be computed."""
    return at.fill_diagonal(x, at.cast(value, x.dtype), number_of(offset))


@rule("Bartlett")
def bartlett(walk: Walk, node: Any, n: Any) -> Any:
    """1 − |2k/(n − 1) − 1| for k = 0 … n − 1; [1] for n = 1, empty for n = 0."""
    k = at.cast(at.arange(n), "float64")
    last = at.cast(at.maximum(n - 1, 1), "float64")
    return at.switch(at.le(n, 1), at.ones_like(k), 1.0 - at.abs(2.0 * k / last - 1.0))
