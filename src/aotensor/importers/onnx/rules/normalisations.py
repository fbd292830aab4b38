"""Normalisations of neural networks: subtract the mean, divide by the standard deviation."""

from __future__ import annotations

from typing import Any

import aotensor.tensor as at
from aotensor.importers.base import Unsuited
from aotensor.importers.onnx.node import Node
from aotensor.importers.onnx.rules.elementwise import scalar, widened
from aotensor.importers.onnx.rules.table import rule
from aotensor.importers.onnx.tensors import dtype_of


def _normalised(x: Any, axes: Any, epsilon: float) -> tuple[Any, Any, Any]:
    """(x − m) / sqrt(v + ε) over some axes, m, and 1 / sqrt(v + ε); computed in float32 for 16-bit floats."""
    x = widened(x)
    mean = at.mean(x, axis=axes, keepdims=True)
    centred = x - mean
    variance = at.mean(at.sqr(centred), axis=axes, keepdims=True)
    inverse = scalar(1, x) / at.sqrt(variance + scalar(epsilon, x))
    return centred * inverse, mean, inverse


def _scaled(y: Any, scale: Any, bias: Any, dtype: str) -> Any:
    """y·scale + bias, computed in the dtype of y, which may be wider than that of the result."""
    y = y * at.cast(scale, y.type.dtype)
    return at.cast(y if bias is None else y + at.cast(bias, y.type.dtype), dtype)


def _by_channel(values: Any, rank: int) -> Any:
    """(C,) → (C, 1, ...), which broadcasts with (N, C, ...)."""
    return at.reshape(values, [-1, *[1] * (rank - 2)])


@rule("LayerNormalization")
def layer_normalization(node: Node, x: Any, scale: Any, bias: Any = None) -> Any:
    """Normalise over `axis` and all later axes; also returns mean and reciprocal standard deviation"""
    axes = tuple(range(node.axis(x.type.ndim), x.type.ndim))
    y, mean, inverse = _normalised(x, axes, node["epsilon"])
    stash = dtype_of(node["stash_type"], "the mean")
    return [_scaled(y, scale, bias, x.type.dtype), at.cast(mean, stash), at.cast(inverse, stash)]


@rule("BatchNormalization")
def batch_normalization(node: Node, x: Any, scale: Any, bias: Any, mean: Any, variance: Any) -> Any:
    """Normalise by the given mean and variance of channels; in training, by those of the batch, which update the
    running ones

    Before opset 14 outputs behind the first say that it is training, and those behind the third are mean and variance
    of the batch. Variances divide by the number of elements.
    """
    rank = x.type.ndim
    wide = widened(x)
    if node["spatial"] == 0:
        raise Unsuited("its attribute spatial is 0, which is not supported")
    is_training = any(map(node.wants, range(1, 5))) if node.since < 14 else bool(node["training_mode"])
    if not is_training:
        variance = widened(variance)
        root = at.sqrt(variance + scalar(node["epsilon"], variance))
        factor, shift, centre = [
            _by_channel(at.cast(v, wide.type.dtype), rank) for v in (widened(scale) / root, bias, mean)
        ]
        return at.cast((wide - centre) * factor + shift, x.type.dtype)
    axes = tuple(i for i in range(rank) if i != 1)
    y, found, _ = _normalised(x, axes, node["epsilon"])
    spread = at.mean(at.sqr(wide - found), axis=axes)
    momentum = node["momentum"]
    of_batch = (at.mean(wide, axis=axes), spread)
    running = [_running(old, new, momentum) for old, new in zip((mean, variance), of_batch, strict=True)]
    kept = [at.cast(new, mean.type.dtype) for new in of_batch] if node.since < 14 else []
    return [_scaled(y, _by_channel(scale, rank), _by_channel(bias, rank), x.type.dtype), *running, *kept]


def _running(old: Any, new: Any, momentum: float) -> Any:
    wide = widened(old)
    found = wide * scalar(momentum, wide) + at.cast(new, wide.type.dtype) * scalar(1 - momentum, wide)
    return at.cast(found, old.type.dtype)


@rule("InstanceNormalization")
def instance_normalization(node: Node, x: Any, scale: Any, bias: Any) -> Any:
    """Normalises each channel of each instance"""
    rank = x.type.ndim
    y = _normalised(x, tuple(range(2, rank)), node["epsilon"])[0]
    return _scaled(y, _by_channel(scale, rank), _by_channel(bias, rank), x.type.dtype)


@rule("GroupNormalization")
def group_normalization(node: Node, x: Any, scale: Any, bias: Any) -> Any:
    """Normalise groups of channels of each instance; scale and bias are per channel, before opset 21 per group"""
    groups, channels = node["num_groups"], node.extent(x, 1)
    if not isinstance(channels, int) or groups < 1 or channels % groups:
        raise Unsuited(f"its number of channels must be known and a multiple of its {groups} groups")
    rest = node.shape(x)[2:]
    grouped = at.reshape(x, [node.extent(x, 0), groups, channels // groups, *rest])
    y = _normalised(grouped, tuple(range(2, x.type.ndim + 1)), node["epsilon"])[0]
    if node.since < 21:
        rank = x.type.ndim + 1
        y = _scaled(y, _by_channel(scale, rank), _by_channel(bias, rank), x.type.dtype)
        return at.reshape(y, node.shape(x))
    y = at.reshape(y, node.shape(x))
    return _scaled(y, _by_channel(scale, x.type.ndim), _by_channel(bias, x.type.ndim), x.type.dtype)


@rule("MeanVarianceNormalization")
def mean_variance_normalization(node: Node, x: Any) -> Any:
    """(x − m) / (standard deviation + 10⁻⁹) over some axes"""
    axes = tuple(sorted({node.checked_axis(i, x.type.ndim) for i in node["axes"]}))
    wide = widened(x)
    centred = wide - at.mean(wide, axis=axes, keepdims=True)
    deviation = at.sqrt(at.mean(at.sqr(centred), axis=axes, keepdims=True))
    return at.cast(centred / (deviation + scalar(1e-9, wide)), x.type.dtype)


@rule("LpNormalization")
def lp_normalization(node: Node, x: Any) -> Any:
    """x divided by its 1- or 2-norm along an axis; 0 where the norm is 0"""
    axis = node.axis(x.type.ndim)
    if node["p"] not in (1, 2):
        raise Unsuited(f"its p is {node['p']}, not 1 or 2")
    wide = widened(x)
    norm = at.norm(wide, ord=node["p"], axis=axis, keepdims=True)
    return at.cast(wide / at.switch(at.eq(norm, scalar(0, wide)), scalar(1, wide), norm), x.type.dtype)


@rule("LRN")
def local_response(node: Node, x: Any) -> Any:
    """x / (bias + alpha / size · Σ x²)^beta, with the sum over `size` neighbouring channels"""
    size = node["size"]
    if size < 1:
        raise Unsuited(f"its size is {size}, not a positive number")
    before = (size - 1) // 2
    widths = [(0, 0)] * x.type.ndim
    widths[1] = (before, size - 1 - before)
    wide = widened(x)
    squares = at.pad(at.sqr(wide), widths, mode="constant", constant_values=0)
    channels = node.extent(x, 1)
    total = squares[:, 0:channels]
    for shift in range(1, size):
        total = total + squares[:, shift : channels + shift]
    base = scalar(node["bias"], wide) + scalar(node["alpha"] / size, wide) * total
    return at.cast(wide / at.pow(base, scalar(node["beta"], wide)), x.type.dtype)
