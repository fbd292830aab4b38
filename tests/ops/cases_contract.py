"""Products: dot, matmul, outer, tensordot, trace; control of gradients."""

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

CASES: list[Case] = [*VALUES, *SMOOTH]
