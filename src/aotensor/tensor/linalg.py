"""Linear algebra under the names of numpy.linalg and scipy.linalg; all of it is in aotensor.tensor too."""

from __future__ import annotations

from aotensor.ops.linalg.cholesky import cholesky
from aotensor.ops.linalg.eigen import eigh, eigvalsh
from aotensor.ops.linalg.expm import expm
from aotensor.ops.linalg.norms import norm
from aotensor.ops.linalg.pinv import pinv
from aotensor.ops.linalg.qr import qr
from aotensor.ops.linalg.svd import svd
from aotensor.ops.linalg.triangular import solve_triangular
from aotensor.ops.products import block_diag, kron, matrix_dot, matrix_power

__all__ = [
    "block_diag",
    "cholesky",
    "eigh",
    "eigvalsh",
    "expm",
    "kron",
    "matrix_dot",
    "matrix_power",
    "norm",
    "pinv",
    "qr",
    "solve_triangular",
    "svd",
]
