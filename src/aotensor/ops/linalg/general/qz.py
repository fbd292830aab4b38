"""The generalised Schur form of two matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from aotensor.core import dtypes
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType
from aotensor.errors import GraphLinAlgError, GraphTypeError, GraphValueError
from aotensor.graph.coercion import check_choice, coerced
from aotensor.graph.op import null_gradient
from aotensor.graph.variable import Variable, Variables
from aotensor.ops.linalg.general.schur import FAILED, NO_RULE, SORTS, UNSORTED, complex_if_asked
from aotensor.ops.linalg.kinds import sorted_pencil
from aotensor.ops.linalg.lapack import MatrixOp, lapack, square_core
from aotensor.ops.linalg.matrices import (
    both_floating,
    check_square,
    common_batch,
    common_dim,
    floating_matrix,
    per_matrix,
    with_common_batch,
)
from aotensor.ops.linalg.shapes import as_square
from aotensor.ops.shape.broadcast import specify_shape
from aotensor.ops.shape.extents import extents_of

_ROWS = "rows of both matrices"


@frozen_dataclass
class GeneralizedSchur(MatrixOp):
    """a, b → (aa, bb, α, β, q, z): a = q·aa·zᴴ, b = q·bb·zᴴ, the eigenvalues are α/β.   (…, n, n), (…, n, n)

    q and z are unitary, aa and bb triangular; for real matrices aa has blocks of two and α is complex. sort: which
    eigenvalues come first. Source: Moler & Stewart, An algorithm for generalized matrix eigenvalue problems (1973).
    """

    name: ClassVar[str] = "qz"
    sort: str | None = None

    def infer_type(self, a: TensorType, b: TensorType) -> tuple[TensorType, ...]:
        batch, n = common_batch(a.shape[:-2], b.shape[:-2]), common_dim(_ROWS, square_core(a), square_core(b))
        if a.dtype != b.dtype:
            raise GraphTypeError(f"expected matrices of one dtype, found {a.dtype} and {b.dtype}")
        matrix, values = TensorType(a.dtype, (*batch, n, n)), TensorType(a.dtype, (*batch, n))
        return matrix, matrix, values.with_dtype(_complex_of(a.dtype)), values, matrix, matrix

    def reference(self, a: Array, b: Array) -> tuple[Array, ...]:
        for x in (a, b):
            check_square(self.name, x)
        if a.shape[-1] != b.shape[-1]:
            raise GraphValueError(f"{self.name}: {_ROWS} differ: {a.shape[-1]} and {b.shape[-1]}")
        values = np.empty(a.shape[:-1], a.dtype)
        aa, bb, q, z = (np.empty_like(a) for _ in range(4))
        results = [aa, bb, values.astype(_complex_of(a.dtype.name)), values, q, z]
        return per_matrix(self._factors, [a, b], results)  # type: ignore[no-any-return]

    def _factors(self, a: Array, b: Array) -> tuple[Any, ...]:
        if not np.isfinite(a).all() or not np.isfinite(b).all():
            return (np.nan,) * 6
        try:
            return tuple(sorted_pencil(a, b, self.sort or ""))
        except np.linalg.LinAlgError as error:
            raise GraphLinAlgError(f"{self.name}: {self._message}") from error

    @property
    def _message(self) -> str:
        return UNSORTED if self.sort else FAILED

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        return [null_gradient(self, k, x, "not implemented", NO_RULE) for k, x in enumerate(inputs)]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        return [null_gradient(self, 0, inputs[0], "not implemented", NO_RULE)] * len(outputs)

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable]:
        return lapack("qz", inputs, self._message, sort=self.sort or "")


def _complex_of(dtype: str) -> str:
    return dtype if dtypes.is_complex(dtype) else dtypes.complex_of(dtype)


@coerced
def qz(a: Any, b: Any, output: str = "real") -> list[Variable]:
    """[aa, bb, q, z] with a = q·aa·zᴴ and b = q·bb·zᴴ, q and z unitary, aa and bb upper triangular.   (…, n, n) each

    Of real a and b all four are real, and aa has a block of two rows for every pair of complex eigenvalues, where bb is
    diagonal; output "complex" gives triangular forms, as they are where a or b is complex. b may be singular. There are
    no derivatives. Non-finite input gives nan.

    Raises: GraphTypeError below rank 2, GraphValueError for extents that differ (at run time where they are not known)
    or another output; LinAlgError at run time where the iteration does not converge.
    """
    aa, bb, _, _, q, z = _factors("qz", a, b, output, None)
    return [aa, bb, q, z]


@coerced
def ordqz(a: Any, b: Any, sort: str | None = "lhp", output: str = "real") -> list[Variable]:
    """[aa, bb, alpha, beta, q, z]: qz with its eigenvalues λ = alpha/beta, ordered by `sort`.

    alpha and beta are (…, n): alpha is complex, beta real where a and b are and output is "real", never negative, and 0
    for infinite eigenvalues.

    sort: as in SciPy "lhp" takes Re λ < 0, "rhp" Re λ > 0, "iuc" |λ| < 1, "ouc" |λ| > 1; infinite ones are in "ouc"
    only, and if alpha and beta are 0 in none. None keeps LAPACK's order. Pairs of a real form stay together.

    Raises: as qz, GraphValueError for another sort (also a function), LinAlgError at run time where eigenvalues cannot
    be sorted.
    """
    return _factors("ordqz", a, b, output, check_choice("ordqz: sort", sort, (None, *SORTS)))


def _factors(name: str, a: Any, b: Any, output: str, sort: str | None) -> list[Variable]:
    a, b = both_floating(*(floating_matrix(name, x) for x in (a, b)))
    a, b = with_common_batch((as_square(name, a), 2), (as_square(name, b), 2))
    common_dim(f"{name}: {_ROWS}", a.static_shape[-1], b.static_shape[-1])
    b = specify_shape(b, extents_of(a))
    return list(GeneralizedSchur(sort).apply(*(complex_if_asked(name, x, output) for x in (a, b))).outputs)
