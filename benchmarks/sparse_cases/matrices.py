"""The matrices of the comparisons: CSR, float64, int32 indices, entries of each row in order."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as ss
from numpy.typing import NDArray

Csr: TypeAlias = "ss.csr_matrix[Any]"


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


def _csr(data: NDArray[Any], rows: NDArray[Any], columns: NDArray[Any], shape: tuple[int, int]) -> Csr:
    matrix = ss.csr_matrix((data, (rows.astype("int32"), columns.astype("int32"))), shape)
    matrix.sum_duplicates()
    return matrix
