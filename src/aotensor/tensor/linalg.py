"""Linear algebra under the names of numpy.linalg and scipy.linalg; all of it is in aotensor.tensor too."""

from __future__ import annotations

from aotensor.ops.linalg.cholesky import cholesky
from aotensor.ops.linalg.triangular import solve_triangular

__all__ = ["cholesky", "solve_triangular"]
