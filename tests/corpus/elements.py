"""Elementwise programs: broadcasting, several outputs, constants, integers, booleans."""

from __future__ import annotations

import numpy as np

import aotensor.tensor as at
from corpus.program import InOut, matrix, program, vector


@program
def scalars_only() -> InOut:
    x, y = at.scalar("x"), at.scalar("y")
    return [x, y], [at.exp(x) * y + 1, at.sqrt(x * x + y * y)]


@program
def chain_and_sum() -> InOut:
    x = vector("x", "n")
    return [x], [at.sum(at.tanh(at.log1p(at.exp(x))) * at.sigmoid(x))]


@program
def chain_float32() -> InOut:
    x = vector("x", "n", "float32")
    y = at.log1p(at.exp(x)) + 1
    return [x], [y, at.sum(y)]


@program
def broadcast_rows_and_columns() -> InOut:
    a, r, c, s = matrix("a", "n", "m"), matrix("r", 1, "m"), matrix("c", "n", 1), at.scalar("s")
    return [a, r, c, s], [(a - r) * c + s, r + c, c * s]


@program
def static_ones() -> InOut:
    x, y = matrix("x", 1, 1), matrix("y", 1, "m")
    return [x, y], [x + y, x * x, at.sum(x), at.sum(y, axis=0), y.T]


@program
def static_zero() -> InOut:
    x, y = matrix("x", 0, 4), vector("y", 4)
    return [x, y], [x + y, at.sum(x, axis=0), at.sum(x, axis=1), at.prod(x), at.dot(x, y)]


@program
def static_small() -> InOut:
    a, x = matrix("a", 3, 3), vector("x", 3)
    return [a, x], [at.dot(a, x), at.dot(a, a), at.sum(at.dot(a, x) * x)]


@program
def one_value_twice() -> InOut:
    x = vector("x", "n")
    y = at.exp(x)
    return [x], [y, y, at.sum(y)]


@program
def input_returned() -> InOut:
    x, s = matrix("x", "n", "m"), at.scalar("s")
    return [x, s], [x, s, x.T, x]


@program
def constants_returned() -> InOut:
    x = vector("x", "n")
    table = at.constant(np.arange(6.0).reshape(2, 3))
    return [x], [table, at.as_tensor(3.5), at.sum(table) + x, at.zeros_like(x), at.constant(np.array([True, False]))]


@program
def unused_input() -> InOut:
    x, y = vector("x", "n"), matrix("y", "m", "k")
    return [x, y], [x * 2]


@program
def nothing_but_shape() -> InOut:
    x = matrix("x", "n", "m")
    return [x], [at.shape(x), x.shape[0] * x.shape[1], at.ones_like(x), at.zeros((x.shape[1], 2))]


@program
def switches() -> InOut:
    x, y, b = vector("x", "n"), vector("y", "n"), vector("b", "n", "bool")
    return [x, y, b], [at.switch(at.lt(x, y), x, y), at.and_(b, at.gt(x, 0)), at.maximum(x, 0), at.clip(y, -1, 1)]


@program
def many_operands() -> InOut:
    xs = [vector(f"x{position}", "n") for position in range(9)]
    total = xs[0]
    for x in xs[1:]:
        total = at.sin(total) * x + at.cos(x)
    return xs, [total, at.sum(total), *(x * 2 for x in xs[:3])]


@program
def small_integers() -> InOut:
    x, u = vector("x", "n", "int8"), vector("u", "n", "uint8")
    return [x, u], [x * 40, u * 100, at.sum(x), at.sum(u), at.maximum(u, 3), at.cast(u, "float32") / 2, at.lt(u, 2)]


@program
def integer_division() -> InOut:
    x, d = vector("x", "n", "int64"), vector("d", "n", "int32")
    safe = at.switch(at.eq(d, 0), 3, d)
    return [x, d], [x // safe, x % safe, -x, at.abs(d), at.cast(x, "uint16"), at.prod(x, axis=0)]


@program
def unsigned_wide() -> InOut:
    x = vector("x", "n", "uint64")
    return [x], [x - 6, at.sum(x - 3), at.cast(x - 1, "float64"), at.gt(x - 4, 3)]


@program
def casts() -> InOut:
    x = vector("x", "n")
    return [x], [at.cast(x * 100, "int8"), at.cast(x, "bool"), at.cast(x * 1e30, "int64"), at.cast(x, "float32")]


@program
def quantifiers() -> InOut:
    b = matrix("b", "n", "m", dtype="bool")
    return [b], [at.any(b), at.all(b, axis=0), at.any(b, axis=1), at.sum(b), ~b]
