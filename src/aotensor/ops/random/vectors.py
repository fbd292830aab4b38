"""Real vectors: draws along an axis that have derivatives.

Every function takes the state first and gives (next state, draw), as in `ops.random.continuous`.
"""

from __future__ import annotations

from typing import Any

from aotensor.errors import GraphTypeError
from aotensor.graph.variable import as_tensor
from aotensor.ops.contract import dot
from aotensor.ops.elementwise.compare import cast
from aotensor.ops.linalg.cholesky import cholesky
from aotensor.ops.random.continuous import LARGEST_SHAPE, gamma, standard_normal
from aotensor.ops.random.parameter import parameter
from aotensor.ops.random.sizes import extents_for, real, rounded_draw
from aotensor.ops.random.state import Drawn
from aotensor.ops.reduce.sums import sum as total
from aotensor.ops.shape.axes import matrix_transpose
from aotensor.ops.shape.extents import extent_of


@rounded_draw
def multivariate_normal(state: Any, mean: Any, cov: Any, size: Any = (), dtype: Any = None) -> Drawn:
    """mean + L·z for the Cholesky factor L of cov and standard normal z.   mean: (d,), cov: (d, d) → (*size, d)

    Raises: GraphTypeError for another rank; at run time LinAlgError for a cov that is not positive definite.
    """
    kind = real(dtype)
    mean, cov = as_tensor(mean), as_tensor(cov)
    if (mean.ndim, cov.ndim) != (1, 2):
        lines = [mean.describe(), cov.describe()]
        raise GraphTypeError("multivariate_normal: mean must be a vector and cov a matrix", lines=lines)
    extents = [*extents_for(size, []), extent_of(mean, 0)]
    following, z = standard_normal(state, extents, kind)
    return following, cast(mean, kind) + dot(z, matrix_transpose(cholesky(cast(cov, kind))))


def dirichlet(state: Any, alpha: Any, size: Any = None, dtype: Any = None) -> Drawn:
    """Gammas over their sum, along the last axis.   alpha: (…, K) → (…, K)

    Its leading axes broadcast to `size` where that is given. alpha has no derivative. Where all elements of alpha are
    far below 0.01, all gammas may be 0 and the draw nan.

    Raises: GraphTypeError for a scalar alpha.
    """
    alpha = parameter("dirichlet: alpha", alpha, "float64", 0, LARGEST_SHAPE)
    if alpha.ndim == 0:
        raise GraphTypeError(
            "dirichlet: alpha must have an axis of categories, found a scalar", lines=[alpha.describe()]
        )
    extents = [*extents_for(size, [alpha[..., 0]]), extent_of(alpha, -1)]
    following, x = gamma(state, alpha, 1.0, extents, "float64")
    return following, cast(x / total(x, axis=-1, keepdims=True), real(dtype))
