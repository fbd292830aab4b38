"""Eigenvalues and eigenvectors of general matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from aotensor.core import dtypes
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType
from aotensor.graph.coercion import coerced
from aotensor.graph.op import connected, sum_terms
from aotensor.graph.public import public
from aotensor.graph.variable import Variable, Variables
from aotensor.ops.complex.parts import complex as complex_of_parts
from aotensor.ops.complex.parts import conj, imag, real
from aotensor.ops.contract import matmul
from aotensor.ops.create import zeros_like
from aotensor.ops.diagonal import diagonal
from aotensor.ops.elementwise.arithmetic import add
from aotensor.ops.elementwise.compare import eq, switch
from aotensor.ops.linalg.eigen import inverse_differences
from aotensor.ops.linalg.general.phases import is_leading, leading_component, phase_rate, phases
from aotensor.ops.linalg.general.schur import FAILED
from aotensor.ops.linalg.lapack import (
    MatrixOp,
    cotangent_of,
    lapack,
    square_core,
)
from aotensor.ops.linalg.matrices import check_square, floating_matrix, scipy_linalg
from aotensor.ops.linalg.shapes import as_square, converged
from aotensor.ops.linalg.signs import phases_of
from aotensor.ops.linalg.solve import solve
from aotensor.ops.ranges import arange
from aotensor.ops.reduce.sums import sum as sum_over
from aotensor.ops.shape.axes import expand_dims, matrix_transpose
from aotensor.ops.shape.extents import extent_of


@frozen_dataclass
class Eig(MatrixOp):
    """x → (w, v): x·v = v·diag(w), both complex; columns of v have norm 1 and the phases of `signs`.   (…, n, n)

    With C = V⁻¹·Ẋ·V: ẇ = diag C, and V̇ = N + V·D where N = V·(F⊙C), F_ij = 1/(w_j − w_i), and the diagonal D keeps norm
    and phase: d_k = −Re(v_kᴴ·n_k) − i·Im(n_mk/v_mk) for the component m that is real. Source: Boeddeker, Hanebrink,
    Drude, Heymann & Haeb-Umbach, On the computation of complex-valued gradients with application to statistically
    optimum beamforming (2017), without the D. Derivatives of v between equal eigenvalues count as 0.
    """

    name: ClassVar[str] = "eig"

    def infer_type(self, x: TensorType) -> tuple[TensorType, TensorType]:
        n = square_core(x)
        dtype = x.dtype if dtypes.is_complex(x.dtype) else dtypes.complex_of(x.dtype)
        return TensorType(dtype, (*x.shape[:-2], n)), TensorType(dtype, (*x.shape[:-2], n, n))

    def reference(self, x: Array) -> tuple[Array, Array]:
        check_square(self.name, x)

        def decomposed(matrices: Array) -> tuple[Array, Array]:
            kind = np.result_type(x.dtype, np.complex64)
            w, v = np.empty(x.shape[:-1], kind), np.empty(x.shape, kind)
            for entry in np.ndindex(x.shape[:-2]):
                if x.shape[-1]:
                    w[entry], v[entry] = scipy_linalg().eig(matrices[entry])
            return w, v * phases_of(v)[..., None, :]

        return converged(self.name, FAILED, decomposed, x)  # type: ignore[no-any-return]

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        (x,), (w, v), live = inputs, outputs, connected(cotangents)
        terms = [_diagonal_matrix(live[0])] if 0 in live else []
        if 1 in live:
            ct_v = live[1]
            along = sum_over(ct_v * v, axis=-2, keepdims=True)
            at_leading = switch(is_leading(v), imag(along) / leading_component(real(v), v), 0)
            inner = ct_v - real(along) * conj(v) - complex_of_parts(zeros_like(at_leading), at_leading)
            terms.append(inverse_differences(w) * matmul(matrix_transpose(v), inner))
        vt = matrix_transpose(v)
        pulled = solve(vt, matmul(sum_terms(terms, add), vt), on_error="nan")
        return [cotangent_of(x, pulled)]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        (w, v), (tx,) = outputs, tangents
        inner = solve(v, matmul(tx, v), on_error="nan")
        moved = matmul(v, inverse_differences(w) * inner)
        stretch = sum_over(real(conj(v) * moved), axis=-2, keepdims=True)
        return [diagonal(inner, 0, -2, -1), moved - v * complex_of_parts(stretch, phase_rate(moved, v))]

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable]:
        w, vectors = lapack("eig", inputs, FAILED)
        return [w, vectors * phases(vectors)]


def _diagonal_matrix(d: Variable) -> Variable:
    n = arange(extent_of(d, -1))
    return switch(eq(expand_dims(n, 1), n), expand_dims(d, -2), 0)


@public(numpy="linalg.eig")
@coerced
def eig(a: Any) -> list[Variable]:
    """[w, v] with a·v = v·diag(w), both complex, w in the order of LAPACK.   (…, n, n) → (…, n), (…, n, n)

    Each column of v has norm 1, and its first component that is not small is real and positive. Derivatives hold where
    eigenvalues differ; between exactly equal ones, those of v are 0, and where v has no inverse all are nan. Input
    that is not finite gives nan.

    Raises: GraphTypeError below rank 2, GraphValueError for a matrix that is not square; LinAlgError at run time where
    the iteration does not converge.
    """
    return list(Eig().apply(as_square("eig", floating_matrix("eig", a))).outputs)


@public(numpy="linalg.eigvals")
@coerced
def eigvals(a: Any) -> Variable:
    """The eigenvalues of a, complex, in the order of LAPACK.   (…, n, n) → (…, n)   As eig, without vectors."""
    return Eig().apply(as_square("eigvals", floating_matrix("eigvals", a))).outputs[0]
