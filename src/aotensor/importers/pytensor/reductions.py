"""Reductions, cumulative sums and products, sorting, and functions built from them."""

from __future__ import annotations

from typing import Any

import aotensor.tensor as at
from aotensor.importers.base import Unsuited
from aotensor.importers.pytensor.axes import along_axis
from aotensor.importers.pytensor.rules import Walk, rows, rule
from aotensor.importers.pytensor.values import number_of

rows({
    "Unique": lambda op, x: at.unique(x, op.return_index, op.return_inverse, op.return_counts, op.axis),
    "Softmax": lambda op, x: at.softmax(x, axis=op.axis),
    "LogSoftmax": lambda op, x: at.log_softmax(x, axis=op.axis),
    "XLogY": lambda op, x, y: at.xlogy(x, y),
    "XLog1PY": lambda op, x, y: at.xlog1py(x, y),
})  # fmt: skip


@rule("CAReduce")
def reduction(walk: Walk, node: Any, x: Any) -> Any:
    """A reduction over some axes by its scalar op."""
    op, scalar_op = node.op, node.op.scalar_op
    axes = tuple(range(x.ndim)) if op.axis is None else tuple(op.axis)
    if type(scalar_op).__name__ == "Composite":
        scalar_op, x = _unfused(walk, node, x)
    return _reduced(node, type(scalar_op).__name__, x, axes) if axes else x


def _unfused(walk: Walk, node: Any, x: Any) -> tuple[Any, Any]:
    """The scalar op of a reduction that PyTensor has fused with what it reduces, f(i0, g(i1)), and g(x).

    Raises: NoCounterpart for another graph
    """
    graph = node.op.scalar_op.fgraph
    made = graph.outputs[0].owner if len(graph.outputs) == 1 and len(graph.inputs) == 2 else None
    if made is None or len(made.inputs) != 2 or made.inputs[0] is not graph.inputs[0]:
        raise Unsuited(f"reductions by {node.op.scalar_op} are not supported")
    first, entry = graph.inputs
    (value,) = walk.inner([first, entry], [made.inputs[1]], [at.zeros_like(x, dtype=first.type.dtype), x])
    return made.op, at.cast(value, made.inputs[1].type.dtype)


def _reduced(node: Any, kind: str, x: Any, axes: tuple[int, ...]) -> Any:
    dtype = node.outputs[0].type.dtype
    match kind:
        case "Add":
            return at.sum(_accumulated(x, dtype), axis=axes)
        case "Mul":
            return at.prod(_accumulated(x, dtype), axis=axes)
        case "MulWithoutZeros":
            return at.prod(_accumulated(at.switch(at.eq(x, 0), at.ones_like(x), x), dtype), axis=axes)
        case "Maximum" if x.dtype != "bool":
            return at.max(x, axis=axes)
        case "Minimum" if x.dtype != "bool":
            return at.min(x, axis=axes)
        case "AND" | "Minimum" if x.dtype == "bool":
            return at.all(x, axis=axes)
        case "OR" | "Maximum" if x.dtype == "bool":
            return at.any(x, axis=axes)
        case "XOR" if x.dtype == "bool":
            return at.eq(at.sum(x, axis=axes) % 2, 1)
    raise Unsuited(f"reductions of {x.dtype} by {kind} are not supported")


def _accumulated(x: Any, dtype: str) -> Any:
    """The operand converted to the dtype of its sum, if that is wider; float32 sums accumulate in float64 without
    conversion.
    """
    if x.dtype == dtype or x.dtype in ("float64", "complex64", "complex128"):
        return x
    is_float = dtype in ("float32", "float64")
    return at.cast(x, "float64" if is_float and x.dtype != "float32" else dtype)


@rule("SortOp", "ArgSortOp")
def sort(walk: Walk, node: Any, x: Any, axis: Any) -> Any:
    """Along one axis, which may be computed, or of all elements; the order of equal elements stays."""
    fn = at.sort if type(node.op).__name__ == "SortOp" else at.argsort
    return fn(x, axis=None) if axis is None else along_axis(node, x, axis, lambda values, k: fn(values, axis=k))


@rule("Argmax")
def argmax(walk: Walk, node: Any, x: Any) -> Any:
    """The position of the first maximum, as a flat index over the op's axes in their order."""
    axes = node.op.axis
    if axes is None or len(axes) == x.ndim:
        return at.argmax(x, axis=None)
    if len(axes) == 1:
        return at.argmax(x, axis=axes[0])
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    moved = at.transpose(x, [*kept, *axes])
    return at.argmax(at.join_dims(moved, len(kept), len(axes)), axis=-1)


@rule("CumOp")
def cumulated(walk: Walk, node: Any, x: Any) -> Any:
    """Cumulative sums or products."""
    if node.op.mode not in ("add", "mul"):
        raise Unsuited(f"its mode is {node.op.mode!r}, which is not supported")
    flat, axis = (at.flatten(x), 0) if node.op.axis is None else (x, node.op.axis)
    return (at.cumsum if node.op.mode == "add" else at.cumprod)(at.cast(flat, node.outputs[0].type.dtype), axis)


@rule("SoftmaxGrad")
def softmax_grad(walk: Walk, node: Any, dy: Any, s: Any) -> Any:
    """s·(dy − Σ dy·s)"""
    weighted = dy * s
    return weighted - at.sum(weighted, axis=node.op.axis, keepdims=True) * s


@rule("Convolve1d", "Convolve2d")
def convolution(walk: Walk, node: Any, a: Any, v: Any, is_full: Any) -> Any:
    """The full convolution, or only the sums that need no padding ("valid"); gradients compute the flag at run time and
    select from the full one.
    """
    convolve = at.convolve if a.ndim == 1 else at.convolve2d
    flag = number_of(is_full)
    if isinstance(flag, int):
        return convolve(a, v, mode="full" if flag else "valid")
    whole = convolve(a, v)
    cuts = []
    for axis in range(a.ndim):
        short, long = (f(a.shape[axis], v.shape[axis]) for f in (at.minimum, at.maximum))
        cuts.append(slice(at.switch(is_full, 0, short - 1), at.switch(is_full, whole.shape[axis], long)))
    return whole[tuple(cuts)]
