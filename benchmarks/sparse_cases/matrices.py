"""The matrices of the comparisons: CSR, float64, int32 indices, entries of each row in order."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as ss
from numpy.typing import NDArray

Csr: TypeAlias = "ss.csr_matrix[Any]"
Bsr: TypeAlias = "ss.bsr_matrix[Any]"


def random(n: int, m: int, stored: int, seed: int = 0) -> Csr:
    """Distinct positions anywhere, normal values: the lengths of rows vary."""
    rng = np.random.default_rng(seed)
    positions = rng.choice(n * m, size=stored, replace=False)
    return _csr(rng.normal(size=stored), positions // m, positions % m, (n, m))


def random_rows(n: int, m: int, per_row: int, seed: int = 0) -> Csr:
    """Distinct columns anywhere, the same number in each row, normal values."""
    rng = np.random.default_rng(seed)
    columns = rng.integers(0, m, size=(n, per_row))
    while (again := (np.diff(np.sort(columns, axis=1), axis=1) == 0).any(axis=1)).any():
        columns[again] = rng.integers(0, m, size=(int(again.sum()), per_row))
    return _csr(rng.normal(size=n * per_row), np.repeat(np.arange(n), per_row), columns.ravel(), (n, m))


def poisson(side: int) -> Csr:
    """Five-point Laplacian of a square grid."""
    one = ss.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(side, side), dtype="float64")
    laplacian = ss.coo_array(ss.kronsum(one, one))
    return _csr(laplacian.data, *laplacian.coords, laplacian.shape)


def banded(n: int, each_side: int = 5) -> Csr:
    """A band matrix with `each_side` diagonals on each side of the main one, normal values."""
    rng = np.random.default_rng(0)
    offsets = [k for k in range(-each_side, each_side + 1) if abs(k) < n]
    band = ss.coo_array(ss.diags_array([rng.normal(size=n - abs(k)) for k in offsets], offsets=offsets))
    return _csr(band.data, *band.coords, (n, n))


def power_law(n: int, per_row: int = 10, exponent: float = 2.2) -> Csr:
    """A graph whose degrees follow a power law, as links on the web do: few rows and columns have many entries.

    Both ends of an entry are drawn by the degrees of nodes, in an order of their own for rows and columns.
    """
    rng = np.random.default_rng(0)
    degrees = (1.0 + np.arange(n)) ** (-1 / (exponent - 1))
    rows, columns = (rng.permutation(n)[rng.choice(n, per_row * n, p=degrees / degrees.sum())] for _ in range(2))
    places = np.unique(rows * np.int64(n) + columns)
    return _csr(rng.normal(size=len(places)), places // n, places % n, (n, n))


def blocks(n: int, size: int, per_row: int = 9) -> Bsr:
    """A band matrix of n block rows with `per_row` blocks of one size, as in meshes; normal values."""
    rng = np.random.default_rng(0)
    width = min(n, 50 * per_row)
    starts = np.clip(np.arange(n) - width // 2, 0, n - width)
    places = np.stack([np.sort(rng.choice(width, min(per_row, n), replace=False)) for _ in range(n)]) + starts[:, None]
    indptr = np.arange(0, places.size + 1, places.shape[1], dtype="int32")
    data = rng.normal(size=(places.size, size, size))
    return ss.bsr_matrix((data, places.ravel().astype("int32"), indptr), (n * size, n * size))


def _csr(data: NDArray[Any], rows: NDArray[Any], columns: NDArray[Any], shape: tuple[int, int]) -> Csr:
    matrix = ss.csr_matrix((data, (rows.astype("int32"), columns.astype("int32"))), shape)
    matrix.sum_duplicates()
    return matrix
