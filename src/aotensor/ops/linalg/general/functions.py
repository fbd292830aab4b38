"""Square roots and logarithms of matrices."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Final

import numpy as np

from aotensor.core import dtypes
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType
from aotensor.graph.coercion import check_choice, coerced
from aotensor.graph.variable import Variable, Variables
from aotensor.ops.complex.parts import real, to_complex
from aotensor.ops.contract import matmul
from aotensor.ops.create import zeros_like
from aotensor.ops.elementwise.arithmetic import abs as absolute
from aotensor.ops.elementwise.compare import eq, switch
from aotensor.ops.gradient_control import disconnected_grad
from aotensor.ops.index import subtensor
from aotensor.ops.linalg.general.schur import Sylvester, schur_factors
from aotensor.ops.linalg.kinds import exactly
from aotensor.ops.linalg.lapack import MatrixOp, adjoint, is_complex, lapack, square_core
from aotensor.ops.linalg.matrices import (
    ON_ERROR,
    check_square,
    failed,
    floating_matrix,
    per_matrix,
    scipy_linalg,
)
from aotensor.ops.linalg.shapes import as_square
from aotensor.ops.reduce.sums import sum as sum_over
from aotensor.ops.shape.axes import matrix_transpose
from aotensor.ops.shape.extents import extent_of
from aotensor.ops.shape.join import concatenate

_COMPLEX: Final = ": cast the matrix to complex128 for a complex result"
_NO_ROOT: Final = "eigenvalue {found} has no root, or none in the right half plane" + _COMPLEX
_NO_LOG: Final = "eigenvalue {found} has no logarithm, or a complex one" + _COMPLEX
_ON_AXIS: Final = 16  # in units of rounding: eigenvalues this close to the negative axis count as on it


@frozen_dataclass
class MatrixFunction(MatrixOp):
    """y = f(x) by the complex Schur form x = z·t·zᴴ: y = z·f(t)·zᴴ, for a real x its real part.   (…, n, n) → (…, n, n)

    on_error: if f(x) does not exist, or is not real for a real x, "raise" or "nan".
    """

    is_holomorphic: ClassVar[bool] = True
    kind: ClassVar[str]
    message: ClassVar[str]
    on_error: str = "raise"

    def infer_type(self, x: TensorType) -> TensorType:
        n = square_core(x)
        return TensorType(x.dtype, (*x.shape[:-2], n, n))

    def reference(self, x: Array) -> Array:
        check_square(self.name, x)
        return per_matrix(self._checked, [x], [np.empty_like(x)])  # type: ignore[no-any-return]

    def _checked(self, x: Array) -> Any:
        if not x.size:
            return x
        if not np.isfinite(x).all():
            return np.nan
        values = np.linalg.eigvals(x)
        near = _ON_AXIS * np.finfo(x.dtype).eps * np.abs(values).max()
        bad = self._is_bad(values)
        if x.dtype.kind != "c":
            bad |= (values.real < -near) & (np.abs(values.imag) <= near)
        if bad.any():
            return failed(self.name, self.message.format(found=int(np.argmax(bad)) + 1), self.on_error)
        y = self._function(x)
        if not np.isfinite(y).all():
            return failed(self.name, self.message.format(found=len(x)), self.on_error)
        return y if x.dtype.kind == "c" else y.real

    @abstractmethod
    def _function(self, x: Array) -> Array:
        """f(x) of a batch of matrices, by SciPy."""

    def _is_bad(self, values: Array) -> Array:
        return np.zeros(values.shape, bool)

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable]:
        (x,) = inputs
        z = x if is_complex(x) else to_complex(x, dtypes.complex_of(x.dtype))
        t, vectors = schur_factors(z)
        error = self.message if self.on_error == "raise" else ""
        (found,) = lapack(self.kind, [t], error, is_real=not is_complex(x))
        y = matmul(matmul(vectors, found), adjoint(vectors))
        return [y if is_complex(x) else real(y)]


@frozen_dataclass
class SquareRoot(MatrixFunction):
    """y·y = x, the eigenvalues of y in the right half plane; y·ẏ + ẏ·y = ẋ, and its adjoint."""

    name: ClassVar[str] = "sqrtm"
    kind: ClassVar[str] = "triangular_sqrt"
    message: ClassVar[str] = _NO_ROOT

    def _function(self, x: Array) -> Array:
        return exactly(scipy_linalg().sqrtm, x)

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        yt = matrix_transpose(outputs[0])
        return [Sylvester(False, False)(yt, yt, cotangents[0])]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        (y,), (tx,) = outputs, tangents
        return [Sylvester(False, False)(y, y, tx)]


@frozen_dataclass
class Logarithm(MatrixFunction):
    """exp(y) = x, the eigenvalues of y with imaginary parts from −π to π.

    The derivative is the upper right block of log([[x, ẋ], [0, x]]), and of xᵀ for the adjoint.
    """

    name: ClassVar[str] = "logm"
    kind: ClassVar[str] = "triangular_log"
    message: ClassVar[str] = _NO_LOG

    def _function(self, x: Array) -> Array:
        return exactly(scipy_linalg().logm, x)

    def _is_bad(self, values: Array) -> Array:
        return np.asarray(values == 0)

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        return [self._derivative(matrix_transpose(inputs[0]), cotangents[0])]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        (x,), (tx,) = inputs, tangents
        return [self._derivative(x, tx)]

    def _derivative(self, x: Variable, direction: Variable) -> Variable:
        """The derivative, linear in the direction, which is scaled to the size of x: larger ones need more roots."""
        size = [sum_over(absolute(m), axis=(-2, -1), keepdims=True) for m in (direction, x)]
        scale = disconnected_grad(switch(eq(size[0], 0), 1, size[0] / size[1]))
        upper = concatenate([x, direction / scale], axis=-1)
        lower = concatenate([zeros_like(x), x], axis=-1)
        n = extent_of(x, -1)
        whole = replace(self, on_error="nan")(concatenate([upper, lower], axis=-2))
        return subtensor(whole, (..., slice(None, n), slice(n, None))) * scale


@coerced
def sqrtm(a: Any, on_error: str = "raise") -> Variable:
    """The principal square root y of a, y·y = a.   (…, n, n) → (…, n, n), floating or complex as a is

    A real a with eigenvalues on the negative axis has a complex root, or none: cast a to complex128 for it. on_error:
    for such a matrix, and one without a root, "raise" (LinAlgError, at run time) or "nan". Derivatives hold
    where no eigenvalue is 0. Non-finite input gives nan.

    Raises: GraphTypeError below rank 2, GraphValueError for a matrix that is not square.
    """
    check_choice("sqrtm: on_error", on_error, ON_ERROR)
    return SquareRoot(on_error)(as_square("sqrtm", floating_matrix("sqrtm", a)))  # type: ignore[no-any-return]


@coerced
def logm(a: Any, on_error: str = "raise") -> Variable:
    """The principal logarithm y of a, expm(y) = a.   (…, n, n) → (…, n, n), floating or complex as a is

    A real a with eigenvalues on the negative axis has a complex logarithm: cast a to complex128 for it. on_error:
    for such a matrix, and a singular one, "raise" (LinAlgError, at run time) or "nan". Non-finite input gives nan.

    Raises: GraphTypeError below rank 2, GraphValueError for a matrix that is not square.
    """
    check_choice("logm: on_error", on_error, ON_ERROR)
    return Logarithm(on_error)(as_square("logm", floating_matrix("logm", a)))  # type: ignore[no-any-return]
