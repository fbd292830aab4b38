"""Long programs of operations on whole tensors: products, scans, convolutions, running sums, sorts, solves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from growing.kind import Kind, vectors


def _matrix(n: int = 10) -> NDArray[np.float64]:
    return np.random.default_rng(1).normal(size=(n, n)) / n


def _products(x: Sequence[Any], f: Any, size: int) -> list[Any]:
    y, A = x
    for _ in range(size):
        y = f.tanh(A @ y)
    return [f.sum(y)]


def _scans(x: Sequence[Any], f: Any, size: int) -> list[Any]:
    y = x[0]
    for k in range(size):
        y = f.repeat_steps(lambda s, k=k: f.sin(s) + 0.01 * k, y, 10)
    return [f.sum(y)]


def _convolutions(x: Sequence[Any], f: Any, size: int) -> list[Any]:
    y, w = x
    for _ in range(size):
        y = f.tanh(f.conv2d(y, w))
    return [f.sum(y)]


def _sums(x: Sequence[Any], f: Any, size: int) -> list[Any]:
    y = x[0]
    for _ in range(size):
        y = f.cumsum(y) * 0.3
    return [f.sum(y)]


def _sorts(x: Sequence[Any], f: Any, size: int) -> list[Any]:
    y = x[0]
    for _ in range(size):
        y = f.sort(f.sin(y))
    return [f.sum(y * y)]


def _solves(x: Sequence[Any], f: Any, size: int) -> list[Any]:
    y, A = x
    for _ in range(size):
        y = f.solve(A + f.eye(10), y) * 0.9
    return [f.sum(y)]


def _images(_: int) -> list[Any]:
    rng = np.random.default_rng(2)
    return [rng.normal(size=(1, 4, 8, 8)), rng.normal(size=(4, 4, 3, 3)) / 6]


TENSORS: Final = {
    "products": Kind("products with a matrix, tanh", (10, 50, 200), _products, lambda _: [*vectors(1), _matrix()]),
    "sparse": Kind(
        "products with a sparse matrix, tanh", (10, 50, 200), _products,
        lambda _: [*vectors(1), scipy.sparse.csr_matrix(np.where(_matrix() > 0.05, _matrix(), 0.0))], wrt=1,
    ),
    "scans": Kind("scans of ten steps", (5, 20, 80), _scans, lambda _: vectors(1)),
    "convolutions": Kind("convolutions of 3 × 3, tanh", (5, 20, 80), _convolutions, _images, is_static=True),
    "sums": Kind("running sums of a vector", (25, 50, 100, 200), _sums, lambda _: vectors(1)),
    "sorts": Kind("sorts of a vector", (5, 20, 80), _sorts, lambda _: [np.linspace(0.1, 0.9, 10)]),
    "solves": Kind(
        "systems of ten equations", (5, 20, 80), _solves, lambda _: [*vectors(1), _matrix()], is_static=True
    ),
}  # fmt: skip
