"""Linear algebra under the names of numpy.linalg and scipy.linalg; all of it is in aotensor.tensor too."""

from __future__ import annotations

from aotensor.ops.contract import trace
from aotensor.ops.linalg.cholesky import cho_solve, cholesky
from aotensor.ops.linalg.determinant import det, slogdet
from aotensor.ops.linalg.eigen import eigh, eigvalsh
from aotensor.ops.linalg.expm import expm
from aotensor.ops.linalg.general.eig import eig, eigvals
from aotensor.ops.linalg.general.functions import logm, sqrtm
from aotensor.ops.linalg.general.lyapunov import (
    solve_continuous_lyapunov,
    solve_discrete_are,
    solve_discrete_lyapunov,
)
from aotensor.ops.linalg.general.qz import ordqz, qz
from aotensor.ops.linalg.general.schur import schur, solve_sylvester
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
    "block_diag", "cho_solve", "cholesky", "det", "eig", "eigh", "eigvals", "eigvalsh", "expm", "inv", "kron", "logm",
    "lstsq", "lu", "lu_factor", "lu_solve", "matrix_dot", "matrix_inverse", "matrix_power", "norm", "ordqz", "pinv",
    "qr", "qz", "schur", "slogdet", "solve", "solve_continuous_lyapunov", "solve_discrete_are",
    "solve_discrete_lyapunov", "solve_sylvester", "solve_triangular", "sqrtm", "svd", "tensorinv", "tensorsolve",
    "trace",
]  # fmt: skip
