"""Reductions over all kinds of axes, and what is made of their results."""

from __future__ import annotations

import aotensor.tensor as at
from aotensor.gradient import grad
from corpus.program import InOut, matrix, program, vector


@program
def sums_over_axes() -> InOut:
    x = matrix("x", "n", "m")
    return [x], [at.sum(x), at.sum(x, axis=0), at.sum(x, axis=1), at.sum(x, axis=1, keepdims=True), at.mean(x, axis=0)]


@program
def sums_of_rank_3() -> InOut:
    x = matrix("x", "n", "m", "k")
    return [x], [at.sum(x, axis=axis) for axis in (0, 1, 2, (0, 1), (0, 2), (1, 2), None)]


@program
def products() -> InOut:
    x = matrix("x", "n", "m")
    y = at.prod(x, axis=1)
    return [x], [y, at.prod(x), grad(at.sum(y * y), x)]


@program
def max_of_axes() -> InOut:
    x = matrix("x", "n", "m")
    return [x], [at.max(x), at.max(x, axis=0), at.min(x, axis=1), x - at.max(x, axis=1, keepdims=True)]


@program
def argmax_of_rows() -> InOut:
    x = matrix("x", "n", "m")
    return [x], [at.argmax(x, axis=1), at.argmax(x, axis=0), at.argmin(x, axis=1), at.argmax(x)]


@program
def extremes() -> InOut:
    x, u = matrix("x", "n", "m", dtype="int32"), vector("u", "n", "uint8")
    return [x, u], [at.max(x, axis=0), at.min(x), at.max(u), at.min(u), at.argmax(u)]


@program
def variance() -> InOut:
    x = matrix("x", "n", "m")
    centred = x - at.mean(x, axis=0)
    return [x], [at.mean(centred * centred, axis=0), at.sqrt(at.sum(centred * centred))]


@program
def sum_of_a_sum() -> InOut:
    x = matrix("x", "n", "m")
    rows = at.sum(at.exp(x), axis=1)
    return [x], [at.sum(at.log(rows)), rows, x / rows.dimshuffle(0, "x")]


@program
def softmax_rows() -> InOut:
    x = matrix("x", "n", "m")
    e = at.exp(x - at.max(x, axis=1, keepdims=True))
    return [x], [e / at.sum(e, axis=1, keepdims=True)]


@program
def log_softmax() -> InOut:
    x = matrix("x", "n", "m")
    shifted = x - at.max(x, axis=1, keepdims=True)
    e = at.exp(shifted)
    return [x], [
        at.log(e / at.sum(e, axis=1, keepdims=True)),
        -at.mean(shifted - at.log(at.sum(e, axis=1, keepdims=True))),
    ]
