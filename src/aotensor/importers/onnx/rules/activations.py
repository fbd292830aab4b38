"""Activations and losses of neural networks, as compositions of existing functions."""

from __future__ import annotations

from collections.abc import Callable
from math import pi, sqrt
from typing import Any

import aotensor.tensor as at
from aotensor.extension import softsign as softsigned
from aotensor.importers.base import Unsuited
from aotensor.importers.onnx.model import SETTLED
from aotensor.importers.onnx.node import Node
from aotensor.importers.onnx.rules.elementwise import scalar, widened
from aotensor.importers.onnx.rules.shape import product
from aotensor.importers.onnx.rules.table import rule


@rule("Relu")
def relu(node: Node, x: Any) -> Any:
    """max(x, 0)"""
    return at.maximum(x, scalar(0, x))


@rule("LeakyRelu")
def leaky_relu(node: Node, x: Any) -> Any:
    """x, or alpha·x below 0"""
    return at.switch(at.lt(x, scalar(0, x)), scalar(node["alpha"], x) * x, x)


@rule("PRelu")
def prelu(node: Node, x: Any, slope: Any) -> Any:
    """x, or slope·x below 0"""
    return at.switch(at.lt(x, scalar(0, x)), slope * x, x)


@rule("ThresholdedRelu")
def thresholded_relu(node: Node, x: Any) -> Any:
    """x above alpha, else 0"""
    return at.switch(at.gt(x, scalar(node["alpha"], x)), x, scalar(0, x))


def _elu(x: Any, alpha: Any, scale: Any) -> Any:
    """alpha·(exp(x / scale) − 1) for x ≤ 0, else x; exp is only applied to numbers ≤ 0, so no gradient is NaN."""
    below = alpha * at.expm1(at.minimum(x, scalar(0, x)) / scale)
    return at.switch(at.gt(x, scalar(0, x)), x, below)


@rule("Elu")
def elu(node: Node, x: Any) -> Any:
    """x above 0, else alpha·(exp(x) − 1)"""
    return _elu(x, scalar(node["alpha"], x), scalar(1, x))


@rule("Celu")
def celu(node: Node, x: Any) -> Any:
    """x above 0, else alpha·(exp(x / alpha) − 1)"""
    return _elu(x, scalar(node["alpha"], x), scalar(node["alpha"], x))


@rule("Selu")
def selu(node: Node, x: Any) -> Any:
    """gamma·elu(x): gamma·x above 0, else gamma·alpha·(exp(x) − 1)"""
    return scalar(node["gamma"], x) * _elu(x, scalar(node["alpha"], x), scalar(1, x))


@rule("HardSigmoid")
def hard_sigmoid(node: Node, x: Any) -> Any:
    """alpha·x + beta between 0 and 1"""
    line = scalar(node["alpha"], x) * x + scalar(node["beta"], x)
    return at.maximum(scalar(0, x), at.minimum(scalar(1, x), line))


@rule("HardSwish")
def hard_swish(node: Node, x: Any) -> Any:
    """x · max(0, min(1, x / 6 + 1 / 2))"""
    return x * at.maximum(scalar(0, x), at.minimum(scalar(1, x), x / scalar(6, x) + scalar(0.5, x)))


@rule("Softsign")
def softsign(node: Node, x: Any) -> Any:
    """x / (1 + |x|)"""
    return softsigned(x)


@rule("Mish")
def mish(node: Node, x: Any) -> Any:
    """x · tanh(log(1 + exp(x)))"""
    return x * at.tanh(at.softplus(x))


@rule("Swish")
def swish(node: Node, x: Any) -> Any:
    """x · sigmoid(alpha·x)"""
    return x * at.sigmoid(scalar(node["alpha"], x) * x)


@rule("Gelu")
def gelu(node: Node, x: Any) -> Any:
    """x times the normal distribution function, or its approximation by tanh"""
    half, one = scalar(0.5, x), scalar(1, x)
    if node["approximate"] == "tanh":
        inner = scalar(sqrt(2 / pi), x) * (x + scalar(0.044715, x) * x * x * x)
        return half * x * (one + at.tanh(inner))
    if node["approximate"] != "none":
        raise Unsuited(f"its attribute approximate is {node['approximate']!r}, which is not supported")
    return half * x * (one + at.erf(x / scalar(sqrt(2), x)))


@rule("Shrink")
def shrink(node: Node, x: Any) -> Any:
    """x + bias below −lambd, x − bias above lambd, else 0"""
    bias, bound = at.constant(node["bias"], dtype=x.type.dtype), at.constant(node["lambd"], dtype=x.type.dtype)
    return at.switch(at.lt(x, -bound), x + bias, at.switch(at.gt(x, bound), x - bias, scalar(0, x)))


@rule("Softmax")
def softmax(node: Node, x: Any) -> Any:
    """exp(x) / Σ exp(x) along an axis"""
    return _along(node, x, at.softmax)


@rule("LogSoftmax")
def log_softmax(node: Node, x: Any) -> Any:
    """x − log Σ exp(x) along an axis"""
    return _along(node, x, at.log_softmax)


@rule("Hardmax")
def hardmax(node: Node, x: Any) -> Any:
    """1 at the first maximum along an axis, else 0"""

    def first(y: Any, axis: int) -> Any:
        places = at.arange(node.extent(y, axis), dtype="int64")
        places = at.reshape(places, [-1, *[1] * (y.type.ndim - 1 - axis)])
        return at.cast(at.eq(places, at.argmax(y, axis=axis, keepdims=True)), y.type.dtype)

    return _along(node, x, first)


def _along(node: Node, x: Any, compute: Callable[..., Any]) -> Any:
    """Apply a function along an axis; before opset 13, along this axis and all later ones, flattened to one."""
    axis = node.axis(x.type.ndim)
    if node.since >= SETTLED or axis == x.type.ndim - 1:
        return compute(x, axis=axis)
    shape = node.shape(x)
    return at.reshape(compute(at.reshape(x, [*shape[:axis], product(shape[axis:])]), axis=axis), shape)


@rule("Dropout")
def dropout(node: Node, x: Any, ratio: Any = None, training: Any = None) -> Any:
    """x and a mask of True: dropout in inference"""
    if training is not None and bool(node.static(2)) and not (ratio is not None and float(node.static(1) or 0) == 0):
        raise Unsuited("it is in training mode, which draws random numbers")
    return [x, at.ones_like(x, dtype="bool" if node.since >= 10 else x.type.dtype)]


@rule("NegativeLogLikelihoodLoss")
def negative_log_likelihood(node: Node, x: Any, target: Any, weight: Any = None) -> Any:
    """−weight[t]·x[n, t, ...] for the class t of each position, by `reduction` summed, averaged or unreduced"""
    found = _likelihood(node, widened(x), target, None if weight is None else widened(weight))
    return at.cast(found, x.type.dtype)


@rule("SoftmaxCrossEntropyLoss")
def cross_entropy(node: Node, x: Any, target: Any, weight: Any = None) -> Any:
    """The negative log-likelihood of log softmax along axis 1, and the log softmax"""
    logs = at.log_softmax(widened(x), axis=1)
    found = _likelihood(node, logs, target, None if weight is None else widened(weight))
    return [at.cast(found, x.type.dtype), at.cast(logs, x.type.dtype)]


def _likelihood(node: Node, logs: Any, target: Any, weight: Any) -> Any:
    """logs: (N, C, d1, ...), target: (N, d1, ...). The mean divides by the sum of weights; ignored positions have
    weight 0.
    """
    ignored = node["ignore_index"]
    is_kept = None if ignored is None else at.neq(target, at.constant(ignored, dtype=target.type.dtype))
    safe = target if is_kept is None else at.switch(is_kept, target, at.constant(0, dtype=target.type.dtype))
    picked = at.squeeze(at.take_along_axis(logs, at.expand_dims(at.cast(safe, "int64"), 1), axis=1), axis=1)
    share = at.ones_like(picked) if weight is None else at.take(weight, at.cast(safe, "int64"))
    share = share if is_kept is None else at.switch(is_kept, share, scalar(0, picked))
    loss = -picked if weight is None else -picked * share
    if is_kept is not None:  # an ignored place may hold −∞
        loss = at.switch(is_kept, loss, scalar(0, picked))
    if node["reduction"] == "none":
        return loss
    if node["reduction"] == "sum":
        return at.sum(loss)
    if node["reduction"] != "mean":
        raise Unsuited(f"its reduction is {node['reduction']!r}, which is not supported")
    return at.mean(loss) if weight is None and is_kept is None else at.sum(loss) / at.sum(share)
