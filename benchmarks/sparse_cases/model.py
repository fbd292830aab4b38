"""Shared parts of models with sparse matrices."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from contenders import SPARSE_PEERS, Array, Model
from numpy.typing import NDArray


class SparseModel(Model):
    """A model whose peers are SciPy and MKL instead of NumPy and CasADi."""

    tolerance = 1e-10
    kernels = "kernels_sparse.c"
    plain = "SciPy"
    peers = SPARSE_PEERS


def aligned(*shape: int) -> NDArray[np.float64]:
    """An array aligned to a cache line, so that rows of 8, 16, ... columns are whole cache lines for all contenders."""
    size = int(np.prod(shape))
    memory = np.empty(size + 7)
    first = -memory.ctypes.data % 64 // 8
    return memory[first : first + size].reshape(shape)


def normal(rng: np.random.Generator, *shape: int) -> NDArray[np.float64]:
    """An array aligned to a cache line, with normal values."""
    values: NDArray[np.float64] = rng.standard_normal(out=aligned(*shape))
    return values


def workspace(elements: int, dtype: str = "float64") -> NDArray[Any]:
    """Workspace with this number of elements for each thread of a hand-written kernel."""
    return np.empty(elements * len(os.sched_getaffinity(0)), dtype)


def csr_arrays(matrix: Any) -> tuple[Array, Array, Array]:
    """(data, indices, indptr) for kernels, with a copy of the pattern, as bound functions have."""
    return matrix.data, matrix.indices.copy(), matrix.indptr.copy()
