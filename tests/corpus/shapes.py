"""Programs that move elements: transposes, reshapes, slices, concatenation, running sums, sorting."""

from __future__ import annotations

import aotensor.tensor as at
from aotensor.gradient import grad
from corpus.program import InOut, matrix, program, vector


@program
def transposes() -> InOut:
    x, y = matrix("x", "n", "m"), matrix("y", "m", "n")
    return [x, y], [x.T + y, at.exp(x).T, at.sum(x.T * y, axis=0), (x.T + y).T]


@program
def axes_of_rank_3() -> InOut:
    x = matrix("x", "n", "m", "k")
    return [x], [x.dimshuffle(2, 0, 1), x.dimshuffle(1, "x", 0, 2) * 2, at.moveaxis(x, 0, -1) + 1, at.swapaxes(x, 0, 1)]


@program
def reshapes() -> InOut:
    x = matrix("x", "n", "m")
    flat = at.reshape(x, (-1,))
    return [x], [flat, at.exp(flat), at.reshape(at.exp(x), (x.shape[1], x.shape[0])), at.reshape(x.T, (-1, 1))]


@program
def reshape_and_back() -> InOut:
    x = matrix("x", "n", "m", "k")
    y = at.reshape(x * 2, (x.shape[0], -1))
    return [x], [at.sum(y, axis=1), at.reshape(y + 1, x.shape, ndim=3), at.flatten(x, 2)]


@program
def slices() -> InOut:
    x, v = matrix("x", "n", "m"), vector("v", "k")
    return [x, v], [x[1:, ::2], x[::-1], x[0], x[:, -1], v[:-1] * v[1:], x[-1, 0], v[None, ::-2]]


@program
def sums_of_slices() -> InOut:
    x, i = matrix("x", "n", "m"), at.lscalar("i")
    return [x, i], [
        at.sum(x[:-1]),
        at.sum(x[1:, :i], axis=0),
        at.sum(x[:-1] * x[1:], axis=1),
        at.dot(x[:, :-1], x[0, 1:]),
    ]


@program
def symbolic_slices() -> InOut:
    x, i = vector("x", "n"), at.lscalar("i")
    return [x, i], [x[i:], x[:i] * 2, at.sum(x[i::2]), x[i::-1]]


@program
def gathers() -> InOut:
    x, i = matrix("x", "n", "m"), at.argsort(vector("v", "n"))
    v = i.owner.inputs[0]
    return [x, v], [x[i], at.sum(at.exp(x)[i], axis=1), x[i, None] * 2, grad(at.sum(at.sqr(x[i])), x)]


@program
def scatters() -> InOut:
    x, v = matrix("x", "n", "m"), vector("v", "n")
    i = at.argsort(v) // 2
    changed = at.exp(x)[i].set(v[:, None] * x)
    return [x, v], [changed, x[i].inc(1.0), v[i].inc(v), *grad(at.sum(at.sqr(changed)), [x, v])]


@program
def subtensors_set() -> InOut:
    x, y = matrix("x", "n", 5), vector("y", "n")
    return [x, y], [at.set_subtensor(x[:, 1], y), at.inc_subtensor(x[:, ::2], 1.5), at.set_subtensor(x[:, 3:], 0)]


@program
def slice_gradients() -> InOut:
    x = matrix("x", "n", "m")
    return [x], [grad(at.sum(x[1:] * x[:-1]), x), grad(at.sum(at.exp(x[:, ::-2])), x)]


@program
def concatenations() -> InOut:
    x, y, z = matrix("x", "n", "m"), matrix("y", "n", "m"), matrix("z", "k", "m")
    tall = at.concatenate([x, z, y * 2], axis=0)
    return [x, y, z], [tall, at.concatenate([at.exp(x), y], axis=1), at.sum(tall, axis=0), at.stack([x, y], axis=1)]


@program
def concatenation_gradient() -> InOut:
    x, y = vector("x", "n"), vector("y", "m")
    both = at.concatenate([x, at.sin(y)])
    return [x, y], list(grad(at.sum(both * both), [x, y]))


@program
def running_sums() -> InOut:
    x = matrix("x", "n", "m")
    return [x], [
        at.cumsum(x, axis=0),
        at.cumsum(x, axis=1),
        at.cumprod(x * 0.5, axis=1),
        at.cumsum(x),
        at.cumsum(x > 0, axis=0),
    ]


@program
def running_sum_gradient() -> InOut:
    x = vector("x", "n")
    y = at.cumsum(at.exp(x))
    return [x], [at.sum(y * y), grad(at.sum(y * y), x)]


@program
def running_product_gradients() -> InOut:
    x = matrix("x", "n", "m")
    y = at.cumprod(at.sin(x), axis=1)
    return [x], [at.sum(y * y), grad(at.sum(y * y), x), grad(at.sum(grad(at.sum(at.cumprod(x, axis=0)), x) ** 2), x)]


@program
def sorting() -> InOut:
    x, u = matrix("x", "n", "m"), vector("u", "n", "uint8")
    return [x, u], [at.sort(x, axis=0), at.sort(x, axis=1), at.argsort(x, axis=1), at.sort(u - 3), at.argsort(u)]


@program
def masks() -> InOut:
    x, m = matrix("x", "n", "m"), vector("m", "n", "bool")
    kept = x[x > 0]
    return [x, m], [x[m], kept, at.sum(kept * kept), grad(at.sum(kept**3), x), x[m].inc(x[m]), *at.nonzero(x < 0)]


@program
def triangles() -> InOut:
    x = matrix("x", "n", "m")
    return [x], [at.tril(x), at.triu(x, 1), at.eye(x.shape[0], x.shape[1]), at.diagonal(x), at.arange(x.shape[0])]


@program
def diagonals() -> InOut:
    v = vector("v", "n")
    return [v], [at.diag(v), at.diag(v * 2, 1)]
