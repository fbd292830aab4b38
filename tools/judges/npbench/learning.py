"""Layers of networks, channels last. Arguments and order of results are NPBench's."""

from __future__ import annotations

import aotensor.tensor as at
from aotensor.tensor import Variable

Results = tuple[Variable, ...]


def softmax(x: Variable) -> Results:
    """Softmax along the last axis."""
    return (at.softmax(x, axis=-1),)


def mlp(input: Variable, w1: Variable, b1: Variable, w2: Variable, b2: Variable, w3: Variable, b3: Variable) -> Results:
    """Three layers and a softmax.   input: (N, C)"""
    x = at.maximum(input @ w1 + b1, 0)
    x = at.maximum(x @ w2 + b2, 0)
    return softmax(x @ w3 + b3)


def conv2d_bias(input: Variable, weights: Variable, bias: Variable) -> Results:
    """A convolution.   input: (N, H, W, C), weights: (K, K, C, O), bias: (O)"""
    return (_convolved(input, weights) + bias,)


def lenet(
    input: Variable, conv1: Variable, conv1bias: Variable, conv2: Variable, conv2bias: Variable,
    fc1w: Variable, fc1b: Variable, fc2w: Variable, fc2b: Variable, fc3w: Variable, fc3b: Variable,
    N: int, C_before_fc1: int,
) -> Results:  # fmt: skip
    """LeNet-5.   input: (N, H, W, 1)"""
    x = _pooled(at.maximum(_convolved(input, conv1) + conv1bias, 0))
    x = _pooled(at.maximum(_convolved(x, conv2) + conv2bias, 0))
    x = x.reshape((N, C_before_fc1))
    x = at.maximum(x @ fc1w + fc1b, 0)
    x = at.maximum(x @ fc2w + fc2b, 0)
    return (x @ fc3w + fc3b,)


def resnet(input: Variable, conv1: Variable, conv2: Variable, conv3: Variable) -> Results:
    """A bottleneck of ResNet, of which NPBench's NumPy version has float64 inside.   input: (N, H, W, C)"""
    padded = at.pad(at.cast(_convolved(input, conv1), "float64"), ((0, 0), (1, 1), (1, 1), (0, 0)))
    x = at.maximum(_normalised(padded), 0)
    x = at.cast(_convolved(x, at.cast(conv2, "float64")), "float32")
    x = at.maximum(_normalised(x), 0)
    x = _normalised(_convolved(x, conv3))
    return (at.maximum(x + input, 0),)


def _convolved(x: Variable, weights: Variable) -> Variable:
    """A convolution of the middle axes, without padding."""
    return at.conv2d(x.transpose((0, 3, 1, 2)), weights.transpose((3, 2, 0, 1))).transpose((0, 2, 3, 1))


def _pooled(x: Variable) -> Variable:
    """The maximum of each 2 x 2 window of the middle axes."""
    return at.max_pool2d(x.transpose((0, 3, 1, 2)), 2).transpose((0, 2, 3, 1))


def _normalised(x: Variable) -> Variable:
    """Normalise over the batch; NPBench divides by the root of the standard deviation."""
    return (x - x.mean(axis=0)) / at.sqrt(x.std(axis=0) + 1e-5)
