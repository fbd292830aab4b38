"""Operators that create tensors: constants, ranges, identities, one-hot vectors, shapes and sizes."""

from __future__ import annotations

from typing import Any

import numpy as np

import aotensor.tensor as at
from aotensor.importers.base import Unsuited
from aotensor.importers.onnx.extents import objects
from aotensor.importers.onnx.node import Node
from aotensor.importers.onnx.rules.elementwise import is_float, scalar
from aotensor.importers.onnx.rules.table import rule
from aotensor.importers.onnx.tensors import array_of, dtype_of


@rule("Constant")
def constant(node: Node) -> Any:
    """The tensor of an attribute"""
    given = {name: node[name] for name in node.attributes if name.startswith("value")}
    if len(given) != 1:
        raise Unsuited("it has no value that is a dense tensor" if not given else "it has several values")
    [(name, value)] = given.items()
    if name == "value":
        return at.constant(array_of(value, node.walk.folder, "its value"))
    if name.startswith("value_int"):
        return at.constant(np.array(value, "int64"))
    if name.startswith("value_float"):
        return at.constant(np.array(value, "float32"))
    raise Unsuited("its value is a string, which is not supported")


@rule("ConstantOfShape")
def constant_of_shape(node: Node, shape: Any) -> Any:
    """A tensor of one value"""
    value = np.zeros(1, "float32") if node["value"] is None else array_of(node["value"], None, "its value")
    return at.full(node.entries(0), at.constant(value.reshape(())), dtype=str(value.dtype))


@rule("Shape")
def shape(node: Node, x: Any) -> Any:
    """The extents of a tensor, or some of them"""
    found = node.shape(x)[slice(node["start"], node["end"])]
    return node.walk.extents.tensor(objects(found, (len(found),)))


@rule("Size")
def size(node: Node, x: Any) -> Any:
    """The number of elements"""
    total: Any = 1
    for extent in node.shape(x):
        total = extent if isinstance(total, int) and total == 1 else total * extent
    return node.walk.extents.tensor(objects([total], ()))


@rule("Range")
def arange(node: Node, start: Any, limit: Any, delta: Any) -> Any:
    """start, start + delta, ... below limit (above it for negative delta)"""
    dtype = start.type.dtype
    node.inputs = [at.reshape(x, ()) if x.type.shape == (1,) else x for x in node.inputs]
    try:
        first, last, step = (node.static(i) for i in range(3))
    except Unsuited:
        return at.arange(_number(node, 0), _number(node, 1), _number(node, 2), dtype=dtype)
    if step == 0:
        raise Unsuited("its step is 0")
    count = max(int(np.ceil((float(last) - float(first)) / float(step))), 0)  # type: ignore[arg-type]
    places = at.cast(at.arange(count, dtype="int64"), dtype)
    return node.inputs[0] + places * node.inputs[2]


def _number(node: Node, position: int) -> Any:
    x = node.inputs[position]
    known = node.walk.extents.entries(x)
    return x if known is None else known.ravel()[0]


@rule("EyeLike")
def eye_like(node: Node, x: Any) -> Any:
    """Ones on a diagonal of a matrix with the extents of x"""
    dtype = x.type.dtype if node["dtype"] is None else dtype_of(node["dtype"], "the result")
    return at.eye(node.extent(x, 0), node.extent(x, 1), k=node["k"], dtype=dtype)


@rule("OneHot")
def one_hot(node: Node, indices: Any, depth: Any, values: Any) -> Any:
    """values[1] where the position along the new axis equals the index (negative ones count from the end); else
    values[0]
    """
    rank = indices.type.ndim
    axis = node.checked_axis(node["axis"], rank + 1)
    known = node.static(1) if is_float(depth) else None
    count = node.entries(1)[0] if known is None else int(known.ravel()[0])
    index = at.cast(indices, "int64")
    index = at.expand_dims(at.switch(at.lt(index, 0), index + count, index), axis)
    places = at.reshape(at.arange(count, dtype="int64"), [-1, *[1] * (rank - axis)])
    return at.switch(at.eq(index, places), values[1], values[0])


@rule("Trilu")
def trilu(node: Node, x: Any, k: Any = None) -> Any:
    """The upper or lower triangle of matrices, zero elsewhere"""
    offset = (node.ints(1) or [0])[0]
    return at.triu(x, k=offset) if node["upper"] else at.tril(x, k=offset)


@rule("NonZero")
def nonzero(node: Node, x: Any) -> Any:
    """Positions of non-zero elements, a row per axis"""
    if x.type.ndim == 0:
        raise Unsuited("its input is a scalar, which is not supported")
    return at.stack([at.cast(i, "int64") for i in at.nonzero(x)])


@rule("Unique")
def unique(node: Node, x: Any) -> Any:
    """Sorted distinct values, their first positions, the inverse and counts"""
    if not node["sorted"]:
        raise Unsuited("its attribute sorted is 0, which is not supported")
    found = at.unique(
        x, return_index=node.wants(1), return_inverse=node.wants(2), return_counts=node.wants(3), axis=node["axis"]
    )
    rest = list(found) if isinstance(found, list | tuple) else [found]
    y, *others = rest
    results, left = [y], iter(others)
    for position in (1, 2, 3):
        results.append(at.cast(at.ravel(next(left)), "int64") if node.wants(position) else y)
    return results[: max(len(node.outputs), 1)]


@rule("HannWindow", "HammingWindow", "BlackmanWindow")
def window(node: Node, size: Any) -> Any:
    """Window functions of Fourier analysis, sums of cosines"""
    count = node.entries(0)[0]
    dtype = dtype_of(node["output_datatype"], "the result")
    if "float" not in dtype:
        raise Unsuited(f"its output_datatype is {dtype}, which is not a floating dtype")
    length = at.cast(at.as_tensor(count if node["periodic"] else count - 1), "float64")
    turn = at.cast(at.arange(count, dtype="int64"), "float64") * (2 * np.pi) / length
    terms = {
        "HannWindow": (0.5, 0.5, 0.0),
        "HammingWindow": (25 / 46, 21 / 46, 0.0),
        "BlackmanWindow": (0.42, 0.5, 0.08),
    }
    a, b, c = terms[node.op]
    return at.cast(a - b * at.cos(turn) + c * at.cos(2 * turn), dtype)


@rule("Bernoulli", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial")
def drawn(node: Node, *inputs: Any) -> Any:
    """Not supported: random numbers of an unspecified generator"""
    raise Unsuited("it draws random numbers, and ONNX does not define their generator")


@rule("Col2Im")
def column_to_image(node: Node, x: Any, image: Any, block: Any) -> Any:
    """Adds blocks to the image that they come from.   x: (N, C·Πblock, L) → (N, C, ...)"""
    extents, blocks = node.ints(1) or [], node.ints(2) or []
    rank = len(extents)
    steps, spread = node["strides"] or [1] * rank, node["dilations"] or [1] * rank
    pads = node["pads"] or [0] * (2 * rank)
    padded = [n + pads[i] + pads[rank + i] for i, n in enumerate(extents)]
    counts = [(p - d * (b - 1) - 1) // s + 1 for p, d, b, s in zip(padded, spread, blocks, steps, strict=True)]
    n, channels = node.extent(x, 0), node.extent(x, 1)
    if not isinstance(channels, int) or channels % int(np.prod(blocks)):
        raise Unsuited("its number of channels must be known and a multiple of the number of elements of a block")
    parts = at.reshape(x, [n, channels // int(np.prod(blocks)), *blocks, *counts])
    y = at.zeros([n, channels // int(np.prod(blocks)), *padded], dtype=x.type.dtype)
    for offset in np.ndindex(*blocks):
        places = tuple(
            slice(o * d, o * d + (c - 1) * s + 1, s) for o, d, c, s in zip(offset, spread, counts, steps, strict=True)
        )
        y = at.inc_subtensor(y[(slice(None), slice(None), *places)], parts[(slice(None), slice(None), *offset)])
    inner = tuple(slice(pads[i], pads[i] + n) for i, n in enumerate(extents))
    return y[(slice(None), slice(None), *inner)]


@rule("ReverseSequence")
def reverse_sequence(node: Node, x: Any, lengths: Any) -> Any:
    """The first lengths[b] steps of sequence b in reverse"""
    time, batch = node["time_axis"], node["batch_axis"]
    if {time, batch} != {0, 1}:
        raise Unsuited("its time_axis and batch_axis must be 0 and 1 in either order")
    steps = at.arange(node.extent(x, time), dtype="int64")
    sequences = at.arange(node.extent(x, batch), dtype="int64")
    steps, sequences = (steps[:, None], sequences[None]) if time == 0 else (steps[None], sequences[:, None])
    ends = at.cast(lengths, "int64")
    ends = ends[None] if time == 0 else ends[:, None]
    places = at.switch(at.lt(steps, ends), ends - 1 - steps, steps)
    whole = places * scalar(1, sequences) + sequences * scalar(0, sequences)
    return x[whole, sequences] if time == 0 else x[sequences, whole]
