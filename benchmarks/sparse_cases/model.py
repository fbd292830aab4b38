"""What the models with sparse matrices have in common."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from contenders import Array, Model
from numpy.typing import NDArray


class SparseModel(Model):
    """Its peers are SciPy and MKL in place of NumPy and CasADi."""

    tolerance = 1e-10
    kernels = "kernels_sparse.c"
    plain = "SciPy"
    pytensor_mode = "FAST_RUN"  # C and SciPy, two to twenty times as fast as Numba
    peers = ("JAX", "PyTensor", "MKL")


def bytes_of(*arrays: Any) -> int:
    """Of all of them once; a sparse matrix has three."""
    return sum(sum(map(bytes_of, (x.data, x.indices, x.indptr))) if hasattr(x, "indptr") else x.nbytes for x in arrays)


def workspace(elements: int, dtype: str = "float64") -> NDArray[Any]:
    """So many elements for each thread of a hand-written kernel."""
    return np.empty(elements * len(os.sched_getaffinity(0)), dtype)


def csr_arrays(matrix: Any) -> tuple[Array, Array, Array]:
    """(data, indices, indptr), as kernels take them."""
    return matrix.data, matrix.indices, matrix.indptr
