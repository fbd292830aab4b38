"""Rows for grids, groups of axes, functions over samples, and tensors as matrices; NumPy says the values."""

from __future__ import annotations

from typing import Any

import numpy as np
from case import Case, normal, value
from cases_linalg import drawn, matrices
from cases_linalg import normal as random

import aotensor.tensor as at

A, B = np.array([1.0, -2.0]), np.array([3.0, 0.5])
GRID = np.arange(12.0).reshape(3, 4)


def count(n: int) -> np.ndarray:
    """An extent, or an offset, as an input."""
    return np.array(n)


def total(xs: Any) -> Any:
    """Products of several tensors of one shape, so that second derivatives are not zero."""
    product = xs[0]
    for x in xs[1:]:
        product = product * x
    return product


VALUES = [
    value("linspace-ints", lambda: at.linspace(2, 3, 5), [], np.linspace(2, 3, 5)),
    value("linspace-symbolic", lambda n: at.linspace(0.0, 1.0, n), [count(4)], np.linspace(0, 1, 4)),
    value("linspace-symbolic-one", lambda n: at.linspace(0.25, 1.0, n), [count(1)], [0.25]),
    value("linspace-none", lambda: at.linspace(0.0, 1.0, 0), [], np.zeros(0)),
    value("linspace-one", lambda: at.linspace(2.0, 7.0, 1), [], [2.0]),
    value("linspace-dtype", lambda: at.linspace(-2, 2, 4, dtype="int64"), [], np.linspace(-2, 2, 4, dtype="int64")),
    value("linspace-step", lambda a: at.linspace(a, 1.0, 5, endpoint=False, retstep=True)[1], [np.float64(0)], 0.2),
    value("linspace-no-step", lambda n: at.linspace(0.0, 1.0, n, retstep=True)[1], [count(1)], np.nan),
    value("geomspace-tens", lambda: at.geomspace(1, 1000, 4, dtype="int64"), [], [1, 10, 100, 1000]),
    value("logspace", lambda: at.logspace(0, 2, 4, base=3.0), [], np.logspace(0, 2, 4, base=3.0)),
    value("geomspace-down", lambda: at.geomspace(-8.0, -1.0, 4), [], np.geomspace(-8.0, -1.0, 4)),
    value("meshgrid-xy", lambda x, y: at.meshgrid(x, y)[1], [A, GRID[0]], np.meshgrid(A, GRID[0])[1]),
    value("meshgrid-sparse", lambda x, y: at.meshgrid(x, y, sparse=True)[0], [A, GRID[0]], A[None, :]),
    value("mgrid", lambda n: at.mgrid[0:n, 1:4:2], [count(3)], np.mgrid[0:3, 1:4:2]),
    value("mgrid-imaginary", lambda: at.mgrid[-1:1:5j], [], np.mgrid[-1:1:5j]),
    value("ogrid", lambda n: at.ogrid[0:n, 2:5][1], [count(3)], np.ogrid[0:3, 2:5][1]),
    value("stacklists-scalars", lambda x: at.stacklists([[x[0], x[1]], [1.0, 2.0]]), [A], [A, [1, 2]]),
    value("eye-symbolic-k", lambda n, k: at.eye(n, 5, k), [count(3), count(-1)], np.eye(3, 5, -1)),
    value("tri-symbolic-k", lambda n, k: at.tri(n, k=k, dtype="int8"), [count(3), count(1)], np.tri(3, k=1)),
    value("split-of-a-vector", lambda x, s: at.split(x, s, n_splits=2)[1], [np.arange(5), np.array([2, 3])], [2, 3, 4],
          ragged=True),
    value("lstsq-rank", lambda a, b: at.lstsq(a, b)[2], [np.ones((4, 2)), np.ones(4)], 1),
    value("tensorsolve-int", lambda a: at.tensorsolve(a, [2, 4]), [np.array([[2, 0], [0, 4]])], [1, 1],
          keeps_places=True),
]  # fmt: skip


def matrix_vector(a: Any, x: Any) -> Any:
    """For one sample."""
    return at.exp(at.dot(a, x))


SMOOTH = [
    Case(id="linspace", build=lambda a, b: at.linspace(a, b, 4) ** 2, inputs=[A, B]),
    Case(id="linspace-axis", build=lambda a, b: at.linspace(a, b, 3, endpoint=False, axis=-1), inputs=[A, B]),
    Case(id="logspace-base", build=lambda a, b: at.logspace(a, 1.5, 3, base=b), inputs=[np.float64(0.5), B]),
    Case(id="geomspace", build=lambda a, b: at.geomspace(a, b, 4), inputs=[np.float64(0.5), np.float64(7.0)]),
    Case(id="meshgrid", build=lambda x, y: total(at.meshgrid(x, y, indexing="ij")), inputs=[A, GRID[0]]),
    Case(id="stacklists", build=lambda x: at.stacklists([[x, x * x], [x, 2 * x]]) ** 2, inputs=[A]),
    Case(id="tril-symbolic-k", build=lambda x, k: at.tril(x, k) ** 2, inputs=[GRID + 1, count(-1)], wrt=(0,)),
    Case(id="triu-symbolic-k", build=lambda x, k: at.triu(x, k) ** 2, inputs=[GRID + 1, count(1)], wrt=(0,)),
    Case(id="join_dims", build=lambda x: at.join_dims(x, 1, 2) ** 2, inputs=normal((2, 3, 4))),
    Case(id="join_dims-none", build=lambda x: at.join_dims(x, -1, 0) ** 2, inputs=normal((2, 3))),
    Case(id="split_dims", build=lambda x: at.split_dims(x, (2, -1), axis=1) ** 2, inputs=normal((3, 6))),
    Case(id="pack", build=lambda x, y: at.pack(x, y, keep_axes=(0, -1))[0] ** 2, inputs=normal((2, 3), (2, 5, 2, 3))),
    Case(
        id="unpack",
        build=lambda x, y: total([z.sum() for z in at.unpack(*at.pack(x, y * x))]),
        inputs=lambda rng: [np.array(2.0), rng.normal(size=(2, 3))],
    ),
    Case(
        id="vectorize",
        build=at.vectorize(matrix_vector, "(m,n),(n)->(m)"),
        inputs=lambda rng: [rng.normal(size=(3, 2, 4)), rng.normal(size=4)],
    ),
    Case(id="vectorize-scalars", build=at.vectorize(lambda x, y: x * at.sin(y)), inputs=[GRID, GRID[0] + 0.5]),
    Case(
        id="tensorinv",
        build=lambda x: at.tensorinv(at.reshape(x, (2, 3, 6)), 2),
        inputs=drawn((matrices, (6, 6))),
        keeps_places=True,
    ),
    Case(
        id="tensorsolve",
        build=lambda a, b: at.tensorsolve(at.reshape(a, (2, 3, 3, 2)), b),
        inputs=drawn((matrices, (6, 6)), (random, (2, 3))),
        keeps_places=True,
    ),
    Case(
        id="lstsq",
        build=lambda a, b: at.lstsq(a, b)[:2],
        inputs=drawn((random, (5, 3)), (random, (5, 2))),
        keeps_places=True,
        rtol=1e-10,
        reason="by singular values",
    ),
    Case(
        id="lstsq-vector",
        build=lambda a, b: at.lstsq(a, b)[0],
        inputs=drawn((random, (5, 3)), (random, (5,))),
        keeps_places=True,
        rtol=1e-10,
        reason="by singular values",
    ),
]

CASES: list[Case] = [*VALUES, *SMOOTH]
