"""Linear algebra under the names of numpy.linalg and scipy.linalg; all of it is in aotensor.tensor too."""

from __future__ import annotations

from aotensor.ops.contract import trace
from aotensor.ops.linalg.cholesky import cho_solve, cholesky
from aotensor.ops.linalg.determinant import det, slogdet
from aotensor.ops.linalg.lu import lu, lu_factor, lu_solve
from aotensor.ops.linalg.solve import inv, matrix_inverse, solve
from aotensor.ops.linalg.triangular import solve_triangular

__all__ = [
    "cho_solve", "cholesky", "det", "inv", "lu", "lu_factor", "lu_solve", "matrix_inverse", "slogdet", "solve",
    "solve_triangular", "trace",
]  # fmt: skip
