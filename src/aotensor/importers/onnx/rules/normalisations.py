"""Normalisations of neural networks: a tensor less its mean, by its standard deviation."""

from __future__ import annotations

from typing import Any

import aotensor.tensor as at
from aotensor.importers.onnx.node import Node, Unsuited
from aotensor.importers.onnx.rules.elementwise import scalar
from aotensor.importers.onnx.rules.table import rule
from aotensor.importers.onnx.tensors import dtype_of


def _normalised(x: Any, axes: Any, epsilon: float) -> tuple[Any, Any, Any]:
    """(x − m) / sqrt(v + ε) over some axes, m, and the reciprocal of the root."""
    mean = at.mean(x, axis=axes, keepdims=True)
    centred = x - mean
    variance = at.mean(at.sqr(centred), axis=axes, keepdims=True)
    inverse = scalar(1, x) / at.sqrt(variance + scalar(epsilon, x))
    return centred * inverse, mean, inverse


def _by_channel(values: Any, rank: int) -> Any:
    """(C,) → (C, 1, ...), to go with (N, C, ...)."""
    return at.reshape(values, [-1, *[1] * (rank - 2)])


@rule("LayerNormalization")
def layer_normalization(node: Node, x: Any, scale: Any, bias: Any = None) -> Any:
    """Over all axes from `axis` on; also mean and reciprocal standard deviation"""
    axes = tuple(range(node.axis(x.type.ndim), x.type.ndim))
    dtype = x.type.dtype
    y, mean, inverse = _normalised(x, axes, node["epsilon"])
    y = y * scale
    stash = dtype_of(node["stash_type"], "the mean")
    return [at.cast(y if bias is None else y + bias, dtype), at.cast(mean, stash), at.cast(inverse, stash)]


@rule("BatchNormalization")
def batch_normalization(node: Node, x: Any, scale: Any, bias: Any, mean: Any, variance: Any) -> Any:
    """By given mean and variance of channels; in training by those of the batch, which enter the running ones"""
    rank = x.type.ndim
    if not node["training_mode"]:
        root = at.sqrt(variance + scalar(node["epsilon"], variance))
        factor, shift = [_by_channel(at.cast(v, x.type.dtype), rank) for v in (scale / root, bias)]
        return (x - _by_channel(at.cast(mean, x.type.dtype), rank)) * factor + shift
    axes = tuple(i for i in range(rank) if i != 1)
    y, found, _ = _normalised(x, axes, node["epsilon"])
    spread = at.mean(at.sqr(x - found), axis=axes)
    momentum = node["momentum"]
    running = [
        old * scalar(momentum, old) + at.cast(new, old.type.dtype) * scalar(1 - momentum, old)
        for old, new in ((mean, at.mean(x, axis=axes)), (variance, spread))
    ]
    return [y * _by_channel(scale, rank) + _by_channel(bias, rank), *running]


@rule("InstanceNormalization")
def instance_normalization(node: Node, x: Any, scale: Any, bias: Any) -> Any:
    """Each channel of each instance for itself"""
    rank = x.type.ndim
    y = _normalised(x, tuple(range(2, rank)), node["epsilon"])[0]
    return y * _by_channel(scale, rank) + _by_channel(bias, rank)


@rule("GroupNormalization")
def group_normalization(node: Node, x: Any, scale: Any, bias: Any) -> Any:
    """Groups of channels of each instance; scale and bias of channels, before opset 21 of groups"""
    groups, channels = node["num_groups"], node.extent(x, 1)
    if not isinstance(channels, int) or groups < 1 or channels % groups:
        raise Unsuited(f"{groups} groups of {channels} channels")
    rest = node.shape(x)[2:]
    grouped = at.reshape(x, [node.extent(x, 0), groups, channels // groups, *rest])
    y = _normalised(grouped, tuple(range(2, x.type.ndim + 1)), node["epsilon"])[0]
    if node.since < 21:
        y = y * _by_channel(scale, x.type.ndim + 1) + _by_channel(bias, x.type.ndim + 1)
        return at.reshape(y, node.shape(x))
    y = at.reshape(y, node.shape(x))
    return y * _by_channel(scale, x.type.ndim) + _by_channel(bias, x.type.ndim)


@rule("LpNormalization")
def lp_normalization(node: Node, x: Any) -> Any:
    """x by its 1- or 2-norm along an axis; 0 where that is 0"""
    axis = node.axis(x.type.ndim)
    if node["p"] not in (1, 2):
        raise Unsuited(f"its p is {node['p']}")
    norm = at.norm(x, ord=node["p"], axis=axis, keepdims=True)
    return x / at.switch(at.eq(norm, scalar(0, x)), scalar(1, x), norm)


@rule("LRN")
def local_response(node: Node, x: Any) -> Any:
    """x / (bias + alpha / size · Σ x²)^beta, the sum over channels nearby"""
    size = node["size"]
    if size < 1:
        raise Unsuited(f"its size is {size}")
    before = (size - 1) // 2
    widths = [(0, 0)] * x.type.ndim
    widths[1] = (before, size - 1 - before)
    squares = at.pad(at.sqr(x), widths, mode="constant", constant_values=0)
    channels = node.extent(x, 1)
    total = squares[:, 0:channels]
    for shift in range(1, size):
        total = total + squares[:, shift : channels + shift]
    return x / at.pow(scalar(node["bias"], x) + scalar(node["alpha"] / size, x) * total, scalar(node["beta"], x))
