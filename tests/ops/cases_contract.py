"""Products: dot, matmul, outer, tensordot, einsum, Kronecker products, powers, trace; control of gradients."""

from __future__ import annotations

import numpy as np
from case import Case, int8, normal, value

import aotensor.tensor as at
from aotensor.ops.contract import trace
from aotensor.ops.gradient_control import grad_scale

GRID = np.arange(12.0).reshape(3, 4)
NAN = np.nan

VALUES = [
    value("dot-int8-wraps", at.dot, [int8(100, 1), int8(2, 3)], np.int8(-53)),
    value("dot-bool", at.dot, [np.array([[True, False], [False, False]]), np.array([True, True])], [True, False]),
    value("dot-mixed", at.dot, [np.array([1, 2]), np.array([0.5, 0.25], "float32")], 1.0),
    value("dot-nothing-inside", at.dot, [np.zeros((2, 0)), np.zeros((0, 3))], np.zeros((2, 3))),
    value("dot-no-rows", at.dot, [np.zeros((0, 2)), np.zeros((2, 3))], np.zeros((0, 3))),
    value("dot-scalar", at.dot, [np.float64(2.0), np.array([1.0, 2.0])], [2, 4]),
    value("dot-nan", at.dot, [np.array([NAN, 0.0]), np.array([0.0, 1.0])], NAN),
    value("outer-int", at.outer, [int8(1, 2), int8(3, 4)], [[3, 4], [6, 8]]),
    value("outer-flattens", at.outer, [np.ones((2, 1)), np.float64(3.0)], [[3], [3]]),
    value("trace-int8", trace, [np.full((2, 2), 100, "int8")], 200),
    value("matmul-static", lambda x, y: x @ y, [GRID, GRID.T.copy()], GRID @ GRID.T, dims=[(3, 4), (4, 3)]),
]

SMOOTH = [
    Case(id="dot-vectors", build=at.dot, inputs=normal((4,), (4,))),
    Case(id="dot-matrix-vector", build=at.dot, inputs=normal((3, 4), (4,))),
    Case(id="dot-vector-matrix", build=at.dot, inputs=normal((3,), (3, 4))),
    Case(id="dot-matrices", build=lambda x, y: x.dot(y), inputs=normal((3, 4), (4, 2))),
    Case(id="dot-named", build=at.dot, inputs=normal((3, 4), (4, 2)), dims=[("n", "k"), ("k", 2)]),
    Case(id="dot-of-transposes", build=lambda x, y: at.dot(x.T, y.T), inputs=normal((4, 3), (2, 4))),
    Case(id="dot-with-itself", build=lambda x: at.dot(x, x.T), inputs=normal((3, 4))),
    Case(
        id="dot-float32",
        build=at.dot,
        inputs=lambda rng: [rng.normal(size=s).astype("float32") for s in ((3, 4), (4,))],
    ),
    Case(id="dot-int-operand", build=at.dot, inputs=lambda rng: [np.array([[1, 2], [3, 4]]), rng.normal(size=2)]),
    Case(id="dot-larger", build=at.dot, inputs=normal((37, 41), (41, 29))),
    Case(id="matmul-batch", build=lambda x, y: x @ y, inputs=normal((5, 3, 4), (5, 4, 2))),
    Case(id="matmul-one-batch", build=lambda x, y: x @ y, inputs=normal((1, 3, 4), (5, 4, 2))),
    Case(id="matmul-missing-batch", build=lambda x, y: x @ y, inputs=normal((3, 4), (2, 5, 4, 2))),
    Case(id="matmul-crossed-batches", build=lambda x, y: x @ y, inputs=normal((2, 1, 3, 4), (1, 5, 4, 2))),
    Case(id="matmul-single-batches", build=lambda x, y: x @ y, inputs=normal((1, 3, 4), (1, 4, 2))),
    Case(id="matmul-vector-batch", build=lambda x, y: x @ y, inputs=normal((4,), (5, 4, 2))),
    Case(id="matmul-batch-vector", build=lambda x, y: x @ y, inputs=normal((5, 3, 4), (4,))),
    Case(id="outer", build=at.outer, inputs=normal((3,), (4,))),
    Case(id="tensordot", build=at.tensordot, inputs=normal((2, 3, 4), (3, 4, 5))),
    Case(id="tensordot-0", build=lambda x, y: at.tensordot(x, y, 0), inputs=normal((2, 3), (4,))),
    Case(
        id="tensordot-axes",
        build=lambda x, y: at.tensordot(x, y, [[1, 0], [0, -1]]),
        inputs=normal((2, 3, 4), (3, 5, 2)),
    ),
    Case(id="tensordot-all", build=lambda x, y: at.tensordot(x, y, 2), inputs=normal((2, 3), (2, 3))),
    Case(id="trace", build=trace, inputs=normal((3, 4))),
    Case(id="trace-offset", build=lambda x: x.trace(1), inputs=normal((3, 4))),
    Case(id="quadratic-form", build=lambda x, a: x @ a @ x, inputs=normal((3,), (3, 3))),
    Case(
        id="grad_scale", build=lambda x: grad_scale(x, -2.0), inputs=normal((3,)), numeric=False, specials={0: [-2] * 3}
    ),
]


def summed(id: str, formula: str, *shapes: tuple[int, ...]) -> Case:
    """einsum with random operands."""
    return Case(id=f"einsum-{id}", build=lambda *xs: at.einsum(formula, *xs), inputs=normal(*shapes))


EINSUM = [
    summed("product", "ij,jk", (3, 4), (4, 2)),
    summed("diagonal", "ii->i", (3, 3)),
    summed("trace", "ii", (3, 3)),
    summed("diagonal-of-three", "iiij->ji", (2, 2, 2, 3)),
    summed("transposed", "ba", (3, 4)),
    summed("one-letter-alone", "ij,kj->k", (3, 4), (2, 4)),
    summed("bilinear-form", "i,j,ij->", (3,), (4,), (3, 4)),
    summed("chain", "ij,jk,kl,lm->mi", (3, 4), (4, 2), (2, 5), (5, 3)),
    summed("ellipsis", "...ij,...jk->...ik", (2, 3, 4), (4, 5)),
    summed("ellipsis-of-ones", "...a,...a", (1, 3), (4, 3)),
    summed("elementwise", "bi,bi->bi", (2, 3), (2, 3)),
    summed("scalar", ",i->i", (), (3,)),
    summed("nothing-shared", "ab,c->cab", (2, 3), (4,)),
    value("einsum-int8", lambda x, y: at.einsum("i,i", x, y), [int8(100, 1), int8(2, 3)], np.int8(-53)),
    value("einsum-int8-sum", lambda x: at.einsum("i->", x), [int8(100, 100)], np.int8(-56)),
    value(
        "einsum-bool-sum", lambda x: at.einsum("ij->i", x), [np.array([[True, False], [False, False]])], [True, False]
    ),
    value("einsum-empty", lambda x, y: at.einsum("ij,jk", x, y), [np.ones((2, 0)), np.ones((0, 3))], np.zeros((2, 3))),
]

NAMED = [
    Case(id="vecdot", build=at.vecdot, inputs=normal((2, 1, 3), (4, 3))),
    Case(id="matvec", build=at.matvec, inputs=normal((2, 4, 3), (2, 3))),
    Case(id="vecmat", build=at.vecmat, inputs=normal((3,), (2, 3, 4))),
    Case(id="batched_dot", build=at.batched_dot, inputs=normal((2, 4, 3), (2, 3, 5))),
    Case(id="batched_dot-vectors", build=at.batched_dot, inputs=normal((2, 3), (2, 3))),
    Case(id="matrix_dot", build=at.matrix_dot, inputs=normal((3, 2), (2, 4), (4, 2))),
    Case(id="matrix_dot-vectors", build=at.matrix_dot, inputs=normal((3,), (3, 4), (4,))),
    Case(id="kron", build=at.kron, inputs=normal((2, 3), (4, 2))),
    Case(id="kron-vector", build=at.kron, inputs=normal((3,), (2, 2))),
    value("kron-nothing", at.kron, [np.ones((2, 0)), np.ones((3, 1))], np.ones((6, 0))),
    Case(id="block_diag", build=at.block_diag, inputs=normal((2, 3), (1, 2), (3,), ())),
    Case(id="block_diag-batch", build=at.block_diag, inputs=normal((2, 2, 3), (2, 1, 2))),
    value("block_diag-nothing", at.block_diag, [np.ones((0, 2)), np.ones((1, 1))], [[0, 0, 1]]),
    Case(id="matrix_power", build=lambda x: at.matrix_power(x, 5), inputs=normal((3, 3))),
    Case(id="matrix_power-batch", build=lambda x: at.matrix_power(x, 2), inputs=normal((2, 3, 3))),
    Case(
        id="matrix_power-minus-3",
        build=lambda x: at.matrix_power(x, -3),
        inputs=lambda rng: [rng.normal(size=(3, 3)) + 4 * np.eye(3)],
        keeps_places=True,
        rtol=1e-11,
        reason="an inverse",
    ),
    value(
        "matrix_power-minus-1-int",
        lambda x: at.matrix_power(x, -1),
        [np.array([[2, 0], [0, 4]])],
        np.diag([0.5, 0.25]),
        keeps_places=True,
    ),
    value("matrix_power-0", lambda x: at.matrix_power(x, 0), [np.full((2, 2, 2), NAN)], [np.eye(2)] * 2),
    value("matrix_power-int", lambda x: at.matrix_power(x, 3), [np.array([[1, 1], [0, 1]])], [[1, 3], [0, 1]]),
]

CASES: list[Case] = [*VALUES, *SMOOTH, *EINSUM, *NAMED]
