"""Linear algebra under the names of numpy.linalg and scipy.linalg; all of it is in aotensor.tensor too."""

from __future__ import annotations

from aotensor.ops.contract import trace
from aotensor.ops.linalg.cholesky import cho_solve, cholesky
from aotensor.ops.linalg.determinant import det, slogdet
from aotensor.ops.linalg.eigen import eigh, eigvalsh
from aotensor.ops.linalg.expm import expm
from aotensor.ops.linalg.lu import lu, lu_factor, lu_solve
from aotensor.ops.linalg.norms import norm
from aotensor.ops.linalg.pinv import pinv
from aotensor.ops.linalg.qr import qr
from aotensor.ops.linalg.solve import inv, matrix_inverse, solve
from aotensor.ops.linalg.svd import svd
from aotensor.ops.linalg.tensors import lstsq, tensorinv, tensorsolve
from aotensor.ops.linalg.triangular import solve_triangular
from aotensor.ops.products import block_diag, kron, matrix_dot, matrix_power

__all__ = [
    "block_diag", "cho_solve", "cholesky", "det", "eigh", "eigvalsh", "expm", "inv", "kron", "lstsq", "lu",
    "lu_factor", "lu_solve", "matrix_dot", "matrix_inverse", "matrix_power", "norm", "pinv", "qr", "slogdet", "solve",
    "solve_triangular", "svd", "tensorinv", "tensorsolve", "trace",
]  # fmt: skip
