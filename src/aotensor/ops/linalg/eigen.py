"""Eigenvalues and eigenvectors of symmetric matrices."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar, Final

import numpy as np

from aotensor.core import dtypes
from aotensor.core.builders import Tensor, TensorBuilder
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType
from aotensor.graph.coercion import check_choice, coerced
from aotensor.graph.public import public
from aotensor.graph.variable import Variable, Variables
from aotensor.ops.batching import TrailingOp
from aotensor.ops.complex.blocks import hermitian_of
from aotensor.ops.complex.parts import complex as complex_of_parts
from aotensor.ops.complex.parts import conj, real
from aotensor.ops.contract import matmul
from aotensor.ops.elementwise.compare import eq, switch
from aotensor.ops.linalg.cholesky import cholesky, symmetric_of_lower
from aotensor.ops.linalg.general.phases import phase_rate, phases
from aotensor.ops.linalg.lapack import Lapack, adjoint, is_complex, lapack
from aotensor.ops.linalg.matrices import both_floating, check_square, floating
from aotensor.ops.linalg.shapes import converged, square_type
from aotensor.ops.linalg.signs import phases_of
from aotensor.ops.linalg.triangular import solve_triangular
from aotensor.ops.linear import LinearisedOp
from aotensor.ops.reduce.sums import sum as sum_over
from aotensor.ops.shape.axes import expand_dims, matrix_transpose

FAILED: Final = "the eigenvalues did not converge"
TRIANGLES: Final = {"L": np.tril, "U": np.triu}


def inverse_differences(w: Variable) -> Variable:
    """1/(w_j − w_i), and 0 where w_i = w_j.   (…, n) → (…, n, n)"""
    differences = expand_dims(w, -2) - expand_dims(w, -1)
    is_equal = eq(differences, 0)
    return switch(is_equal, 0, 1 / switch(is_equal, 1, differences))


def symmetric(x: Variable, uplo: str) -> Variable:
    """The matrix with one triangle of x, lower ("L") or upper ("U"): symmetric, or Hermitian if complex."""
    if is_complex(x):
        return hermitian_of(x, uplo == "L")
    return symmetric_of_lower(x if uplo == "L" else matrix_transpose(x))


@frozen_dataclass
class Eigh(TrailingOp, LinearisedOp):
    """x → (w, v): x = v·diag(w)·vᴴ, w ascending, phases as in `signs`.   (…, n, n) → (…, n), (…, n, n)

    Derivatives of v between equal eigenvalues are 0: there v is not unique.
    """

    name: ClassVar[str] = "eigh"
    takes_complex: ClassVar[bool] = True
    uplo: str

    def infer_type(self, x: TensorType) -> tuple[TensorType, TensorType]:
        square = square_type(x.with_dtype(dtypes.part_of(x.dtype)))
        return TensorType(square.dtype, square.shape[:-1]), square.with_dtype(x.dtype)

    def reference(self, x: Array) -> tuple[Array, Array]:
        check_square(self.name, x)
        eigh = partial(np.linalg.eigh, UPLO=self.uplo)
        w, v = converged(self.name, FAILED, eigh, x, read=TRIANGLES[self.uplo])
        return w.real, v * phases_of(v)[..., None, :]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        (w, v), (tx,) = outputs, tangents
        by_v = matmul(symmetric(tx, self.uplo), v)
        moved = matmul(v, inverse_differences(w) * matmul(adjoint(v), by_v))
        if is_complex(v):
            phase = phase_rate(moved, v)
            moved = moved - v * complex_of_parts(0 * phase, phase)
        return [real(sum_over(conj(v) * by_v, axis=-2)), moved]

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable] | None:
        """The outputs for a complex x."""
        if not is_complex(*inputs):
            return None
        w, rows = lapack("eigh", inputs, FAILED, is_lower=self.uplo == "L")
        vectors = adjoint(rows)
        return [w, vectors * phases(vectors)]

    def lower(self, b: TensorBuilder, x: Tensor) -> tuple[Tensor, Tensor]:
        w, rows = Lapack("eigh", FAILED, options=(("is_lower", self.uplo == "L"),)).lower(b, x)
        axes = range(len(x.extents))
        return w, b.permute(rows, [*axes[:-2], axes[-1], axes[-2]])


@public(numpy="linalg.eigh")
@coerced
def eigh(a: Any, UPLO: str = "L", b: Any = None) -> list[Variable]:
    """[w, v] with a = v·diag(w)·vᵀ for symmetric a, w ascending.   (…, n, n) → (…, n), (…, n, n)

    Only the triangle UPLO, "L" or "U", is read, and the gradient is in it. In each eigenvector the first component
    that is not small is positive. Between exactly equal eigenvalues, where v is not unique, its derivative is 0. Input
    that is not finite gives nan. b: a positive definite matrix, read from the same triangle: a·v = b·v·diag(w) and
    vᵀ·b·v = 1, by its Cholesky factor L and the eigenvectors Lᵀ·v, which have these signs. A complex a is Hermitian:
    that component is real and positive.

    Raises: GraphTypeError below rank 2, GraphValueError for a matrix that is not square or another UPLO; LinAlgError
    at run time where the iteration does not converge, or b is not positive definite.
    """
    uplo = _triangle("eigh", UPLO)
    if b is None:
        return Eigh(uplo)(floating(a))  # type: ignore[no-any-return]
    a, b = both_floating(a, b)
    factor = cholesky(b if uplo == "L" else adjoint(b))
    half = solve_triangular(factor, symmetric(a, uplo), lower=True, b_ndim=2)
    w, v = Eigh("L")(solve_triangular(factor, adjoint(half), lower=True, b_ndim=2))
    return [w, solve_triangular(factor, v, lower=True, trans="C", b_ndim=2)]


@public(numpy="linalg.eigvalsh")
@coerced
def eigvalsh(a: Any, UPLO: str = "L", b: Any = None) -> Variable:
    """The eigenvalues of symmetric a, ascending.   (…, n, n) → (…, n)   As eigh, without vectors."""
    if b is not None:
        return eigh(a, UPLO, b)[0]
    return eigh(a, _triangle("eigvalsh", UPLO))[0]


def _triangle(name: str, uplo: str) -> str:
    return check_choice(f"{name}: UPLO", uplo, ("L", "U", "l", "u")).upper()  # type: ignore[no-any-return]
