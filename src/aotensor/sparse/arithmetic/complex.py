"""Parts and conjugates of sparse matrices of complex entries: the pattern stays, and derivatives are regular.

All other ops treat complex entries like real ones: a matrix is one pattern with a vector of data, and complex
vectors are pairs of real ones when they are compiled. Cotangents follow the convention of `ops/complex/parts.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from aotensor.core import dtypes
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import TensorType
from aotensor.errors import GraphTypeError
from aotensor.graph.coercion import coerced
from aotensor.graph.sparse_type import SparseVariable
from aotensor.graph.variable import Variable
from aotensor.ops.complex.parts import conj as conj_of
from aotensor.ops.complex.parts import imag as imag_of
from aotensor.ops.complex.parts import join_arrays, join_parts, parts
from aotensor.ops.complex.parts import real as real_of
from aotensor.ops.create import zeros_like
from aotensor.ops.elementwise.arithmetic import neg
from aotensor.ops.elementwise.compare import cast
from aotensor.sparse.csm import like, parts_of
from aotensor.sparse.op import as_sparse, need_sparse, scipy_matrix
from aotensor.sparse.reformat import PassingOp


@frozen_dataclass
class SparsePart(PassingOp):
    """The real (index 0) or the imaginary part (index 1) of every entry, on the pattern of x.

    Gradient: regular; x ← z̄ for the real part, −i·z̄ for the imaginary one.

    Raises: GraphTypeError for a real matrix.
    """

    takes_blocks: ClassVar[bool] = True
    index: int

    @property
    def name(self) -> str:  # type: ignore[override]
        return ("sparse_real", "sparse_imag")[self.index]

    @property
    def notation(self) -> str:  # type: ignore[override]
        return ("real", "imag")[self.index]

    def infer_type(self, x: TensorType) -> TensorType:
        x = need_sparse(self, x)
        if not dtypes.is_complex(x.dtype):
            raise GraphTypeError(f"expected a sparse matrix of complex dtype, found {x}")
        return x.with_dtype(dtypes.part_of(x.dtype))

    def reference(self, x: Any) -> Any:
        return scipy_matrix(x.format, np.array((x.data.real, x.data.imag)[self.index]), x.indices, x.indptr, x.shape)

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable]:
        return [like(inputs[0], parts(parts_of(inputs[0]).data)[self.index])]

    def pulled(self, ct: Variable, x: Variable) -> Variable:
        return neg(imaginary(ct)) if self.index else cast(ct, x.dtype)

    def pushed(self, tangent: Variable, y: Variable) -> Variable:
        return (real_of, imag_of)[self.index](tangent)


@frozen_dataclass
class Imaginary(PassingOp):
    """i·x of a real matrix x, on its pattern.   Gradient: regular; x ← −imag(z̄)."""

    name: ClassVar[str] = "imaginary"
    notation: ClassVar[str] = "complex(0, {0})"
    takes_blocks: ClassVar[bool] = True

    def infer_type(self, x: TensorType) -> TensorType:
        x = need_sparse(self, x)
        return x.with_dtype(dtypes.complex_of(x.dtype))

    def reference(self, x: Any) -> Any:
        return scipy_matrix(x.format, join_arrays(np.zeros_like(x.data), x.data), x.indices, x.indptr, x.shape)

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable]:
        return [like(inputs[0], imaginary(parts_of(inputs[0]).data))]

    def pulled(self, ct: Variable, x: Variable) -> Variable:
        return neg(imag_of(ct))

    def pushed(self, tangent: Variable, y: Variable) -> Variable:
        return imaginary(tangent)


def imaginary(x: Variable) -> Variable:
    """i·x of a real x, dense or sparse."""
    return Imaginary()(x) if x.is_sparse else join_parts(zeros_like(x), x)


@frozen_dataclass
class Conjugate(PassingOp):
    """The complex conjugate of every entry, on the pattern of x.   Gradient: regular, the conjugate of z̄."""

    name: ClassVar[str] = "sparse_conj"
    notation: ClassVar[str] = "conj"
    takes_blocks: ClassVar[bool] = True

    def infer_type(self, x: TensorType) -> TensorType:
        return need_sparse(self, x)

    def reference(self, x: Any) -> Any:
        return scipy_matrix(x.format, np.conj(x.data), x.indices, x.indptr, x.shape)

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable]:
        return [like(inputs[0], conj_of(parts_of(inputs[0]).data))]

    def pulled(self, ct: Variable, x: Variable) -> Variable:
        return conj_of(ct)

    def pushed(self, tangent: Variable, y: Variable) -> Variable:
        return conj_of(tangent)


@coerced
def sparse_real(x: Any) -> SparseVariable:
    """The real parts of the entries, on the pattern of x; x itself where it is real.

    Raises: GraphTypeError for a dense matrix.
    """
    x = as_sparse(x)
    return SparsePart(0)(x) if dtypes.is_complex(x.dtype) else x  # type: ignore[no-any-return]


@coerced
def sparse_imag(x: Any) -> SparseVariable:
    """The imaginary parts of the entries, on the pattern of x; stored zeros if x is real.

    Raises: GraphTypeError for a dense matrix.
    """
    x = as_sparse(x)
    return SparsePart(1)(x) if dtypes.is_complex(x.dtype) else like(x, zeros_like(parts_of(x).data))


@coerced
def sparse_conj(x: Any) -> SparseVariable:
    """The complex conjugates of the entries; x itself where it is real.   Raises: GraphTypeError for a dense matrix."""
    x = as_sparse(x)
    return Conjugate()(x) if dtypes.is_complex(x.dtype) else x  # type: ignore[no-any-return]


real, imag = sparse_real, sparse_imag
conj = conjugate = structured_conjugate = sparse_conj
