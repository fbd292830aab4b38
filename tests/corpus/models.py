"""Products, models and their gradients."""

from __future__ import annotations

import aotensor.tensor as at
from aotensor.gradient import grad
from corpus.program import InOut, matrix, program, vector


@program
def dots() -> InOut:
    a, b, x, y = matrix("a", "n", "m"), matrix("b", "m", "k"), vector("x", "m"), vector("y", "n")
    return [a, b, x, y], [at.dot(a, b), at.dot(a, x), at.dot(y, a), at.dot(x, x), at.outer(x, y), at.dot(a, b).T]


@program
def transposed_products() -> InOut:
    a, b = matrix("a", "n", "m"), matrix("b", "k", "m")
    return [a, b], [at.dot(a, b.T), at.dot(a.T, at.exp(a)), at.dot(b.T, b) * 2]


@program
def batched_products() -> InOut:
    a, b = matrix("a", "l", "n", "m"), matrix("b", "l", "m", "k")
    return [a, b], [at.matmul(a, b), at.tensordot(a, b, axes=[[0, 2], [0, 1]])]


@program
def quadratic_form() -> InOut:
    a, x = matrix("a", "n", "n"), vector("x", "n")
    value = at.dot(x, at.dot(a, x))
    return [a, x], [value, grad(value, x), grad(value, a)]


@program
def logistic() -> InOut:
    x, y, w = matrix("x", "n", "m"), vector("y", "n"), vector("w", "m")
    loss = at.mean(at.softplus(-y * at.dot(x, w))) + 0.1 * at.sum(w * w)
    return [x, y, w], [loss, grad(loss, w)]


@program
def logistic_with_bias() -> InOut:
    x, y, w, b = matrix("x", "n", "m"), vector("y", "n"), vector("w", "m"), at.scalar("b")
    z = at.dot(x, w) + b
    loss = at.sum(at.log(1 + at.exp(z)) - y * z)
    return [x, y, w, b], [loss, *grad(loss, [w, b])]


@program
def two_layers() -> InOut:
    x, t = matrix("x", "n", "m"), matrix("t", "n", "l")
    u, a, v = matrix("u", "m", "k"), vector("a", "k"), matrix("v", "k", "l")
    error = at.dot(at.tanh(at.dot(x, u) + a), v) - t
    loss = at.mean(error * error)
    return [x, t, u, a, v], [loss, *grad(loss, [u, a, v])]


@program
def least_squares_float32() -> InOut:
    x, y, w = matrix("x", "n", "m", dtype="float32"), vector("y", "n", "float32"), vector("w", "m", "float32")
    r = at.dot(x, w) - y
    loss = at.sum(r * r)
    return [x, y, w], [loss, grad(loss, w), r]


@program
def chain_gradient() -> InOut:
    x = vector("x", "n")
    loss = at.sum(at.tanh(at.log1p(at.exp(x))) * at.sigmoid(x))
    return [x], [loss, grad(loss, x)]


@program
def hessian_vector_product() -> InOut:
    x, v = vector("x", "n"), vector("v", "n")
    derivative = grad(at.sum(at.exp(at.sin(x)) * x), x)
    return [x, v], [grad(at.sum(derivative * v), x)]


@program
def pairwise_distances() -> InOut:
    x, y = matrix("x", "n", "l"), matrix("y", "k", "l")
    d = at.sum((x.dimshuffle(0, "x", 1) - y.dimshuffle("x", 0, 1)) ** 2, axis=2)
    return [x, y], [d, grad(at.sum(at.exp(-d)), x)]
