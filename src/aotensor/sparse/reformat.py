"""Conversion of a sparse matrix to another format or dtype."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Final

from aotensor.config import config
from aotensor.core import dtypes
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import TensorType
from aotensor.errors import GraphTypeError
from aotensor.graph.coercion import check_choice, coerced
from aotensor.graph.sparse_type import (
    BLOCKED,
    SPARSE_FORMATS,
    SparseTensorType,
    SparseVariable,
    canonical_matrix,
    checked_blocksize,
)
from aotensor.graph.variable import Variable, Variables
from aotensor.ops.complex.parts import real
from aotensor.ops.elementwise.compare import cast as cast_dense
from aotensor.ops.elementwise.compare import saturated
from aotensor.sparse.blocks.patterns import blocked, elements_of, unblocked
from aotensor.sparse.compressed_axes import TakeAt
from aotensor.sparse.csm import CSM, CSMProperties, matrix_of, parts_of
from aotensor.sparse.op import SparseOp, as_sparse, need_sparse, scipy_matrix
from aotensor.sparse.patterns import canonical, other_format


class PassingOp(SparseOp):
    """Base of conversions, whose derivatives are identities: cotangent and tangent pass unchanged (regular).

    What comes may be dense, or of another pattern.
    """

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        return [self.pulled(cotangents[0], inputs[0])]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        return [self.pushed(tangents[0], outputs[0])]

    def pulled(self, ct: Variable, x: Variable) -> Variable:
        """The cotangent of the input x."""
        return ct

    def pushed(self, tangent: Variable, y: Variable) -> Variable:
        """The tangent of the output y."""
        return tangent


@frozen_dataclass
class Reformat(PassingOp):
    """The same matrix in another format, sorted: csr as csc, csc as csr, bsr as csr, csr as bsr of a blocksize.

    Conversion from bsr stores all elements of blocks; conversion to bsr stores each block with a stored element.

    Gradient: regular; a sparse cotangent comes in the blocks of x, if it has such.

    Raises: GraphValueError for a blocksize that does not divide the extents (at the call where they are not known).
    """

    name: ClassVar[str] = "reformat"
    takes_blocks: ClassVar[bool] = True
    format: str
    blocksize: tuple[int, int] | None = None

    def infer_type(self, x: TensorType) -> TensorType:
        return need_sparse(self, x).in_format(self.format, self.blocksize)

    def reference(self, x: Any) -> Any:
        if self.blocksize is None:
            x = canonical_matrix(x) if x.format == BLOCKED else x
            return x.asformat(self.format)
        SparseTensorType(self.format, x.dtype.name, x.shape, blocksize=self.blocksize)
        return canonical_matrix(canonical_matrix(x).tobsr(self.blocksize))

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable]:
        p = parts_of(inputs[0])
        if self.blocksize is not None:
            return [matrix_of(blocked(p, self.blocksize))]
        return [matrix_of(other_format(p) if p.blocksize is None else unblocked(canonical(p)))]

    def pulled(self, ct: Variable, x: Variable) -> Variable:
        return self._in_blocks_of(x, ct)

    def pushed(self, tangent: Variable, y: Variable) -> Variable:
        return self._in_blocks_of(y, tangent)

    def _in_blocks_of(self, x: Variable, term: Variable) -> Variable:
        if not isinstance(x, SparseVariable) or not isinstance(term, SparseVariable) or x.blocksize == term.blocksize:
            return term
        return in_format(term, x.format, x.blocksize)


def in_format(x: SparseVariable, format: str, blocksize: tuple[int, int] | None = None) -> SparseVariable:
    """Convert a sparse matrix to a format; returns x itself if it has the format.

    What was taken out of blocks of this size is put back into these.

    Raises: GraphValueError for an unknown format, and as Reformat.
    """
    check_choice("a sparse format", format, SPARSE_FORMATS)
    if (x.format, x.blocksize) == (format, blocksize):
        return x
    if blocksize is not None:
        found = from_blocks(x, blocksize)
        rows = found if found is not None else in_format(x, "csr")
        return rows if rows.blocksize == blocksize else Reformat(format, blocksize)(rows)
    if x.blocksize is not None:
        x = Reformat("csr")(x)
    return x if x.format == format else Reformat(format)(x)


def from_blocks(x: SparseVariable, blocksize: tuple[int, int]) -> SparseVariable | None:
    """The bsr matrix from which x was converted, with the data of x, if it has this blocksize; else None."""
    source = _source(x)
    if source is not None and source.blocksize == blocksize:
        return source
    if x.owner is None or not isinstance(x.owner.op, CSM):
        return None
    data, indices, indptr, _ = x.owner.inputs
    node = indices.owner
    if node is None or not isinstance(node.op, CSMProperties) or node is not indptr.owner:
        return None
    made = node.inputs[0]
    source = _source(made) if isinstance(made, SparseVariable) else None
    if source is None or source.blocksize != blocksize or data is node.outputs[0]:
        return source if source is not None and source.blocksize == blocksize else None
    p = canonical(parts_of(source))
    return matrix_of(replace(p, data=TakeAt()(data, elements_of(p)).reshape((-1, *blocksize))))


def _source(x: SparseVariable) -> SparseVariable | None:
    """The bsr matrix that x is a conversion of, if x is one; else None."""
    if x.owner is None or not isinstance(x.owner.op, Reformat) or x.blocksize is not None:
        return None
    (source,) = x.owner.inputs
    return source if isinstance(source, SparseVariable) and source.blocksize is not None else None


def as_compressed(x: Any) -> SparseVariable:
    """Convert bsr to csr; other sparse matrices are unchanged.   Raises: GraphTypeError unless x is a sparse matrix."""
    found = as_sparse(x)
    return found if found.blocksize is None else in_format(found, "csr")


def to_csr(x: Any) -> SparseVariable:
    """Convert to csr; x itself if it is csr.   Raises: GraphTypeError unless x is a sparse matrix."""
    return in_format(as_sparse(x), "csr")


def to_csc(x: Any) -> SparseVariable:
    """Convert to csc; x itself if it is csc.   Raises: GraphTypeError unless x is a sparse matrix."""
    return in_format(as_sparse(x), "csc")


@coerced
def to_bsr(x: Any, blocksize: Sequence[int]) -> SparseVariable:
    """Convert to bsr, with all elements of a block stored; x itself if it has this blocksize.

    Raises: GraphTypeError unless x is a sparse matrix; GraphValueError for a blocksize that does not divide its extents
    (at the call where they are not known).
    """
    x = as_sparse(x)
    known = checked_blocksize(BLOCKED, blocksize, x.sparse_type.shape)
    return in_format(x, BLOCKED, known)


@frozen_dataclass
class Cast(PassingOp):
    """x with another dtype and the same pattern; floats to integers truncate, saturate, and give 0 for nan.

    Gradient: regular, in the dtype of x, of a complex cotangent of a real x the real part; zero where the result is
    discrete.

    Raises: GraphTypeError for a dtype that sparse matrices do not have, and from a complex to a real one.
    """

    name: ClassVar[str] = "sparse_cast"
    notation: ClassVar[str] = "{0}"
    takes_blocks: ClassVar[bool] = True
    gives_canonical: ClassVar[bool] = True
    dtype: str

    def infer_type(self, x: TensorType) -> TensorType:
        x, wanted = need_sparse(self, x), dtypes.canonical(self.dtype)
        if dtypes.is_complex(x.dtype) and not dtypes.is_complex(wanted):
            raise GraphTypeError(
                f"{x.dtype} to {wanted} would drop the imaginary parts", hint="use real(x), imag(x) or abs(x)"
            )
        return x.with_dtype(wanted)

    def reference(self, x: Any) -> Any:
        x = canonical_matrix(x)
        return scipy_matrix(x.format, saturated(x.data, self.dtype), x.indices, x.indptr, x.shape)

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable]:
        p = canonical(parts_of(inputs[0]))
        return [matrix_of(replace(p, data=cast_dense(p.data, self.dtype)))]

    def pulled(self, ct: Variable, x: Variable) -> Variable:
        return convert_derivative(ct, x)

    def pushed(self, tangent: Variable, y: Variable) -> Variable:
        return cast_dense(tangent, y.dtype)


def convert_derivative(term: Variable, x: Variable) -> Variable:
    """Convert a derivative of x, dense or sparse, to the dtype of x if that is floating; real for a real x."""
    if not dtypes.is_inexact(x.dtype):
        return term
    return cast_dense(term if dtypes.is_complex(x.dtype) else real(term), x.dtype)


bcast: Final = Cast("int8")
wcast: Final = Cast("int16")
icast: Final = Cast("int32")
lcast: Final = Cast("int64")
fcast: Final = Cast("float32")
dcast: Final = Cast("float64")
ccast: Final = Cast("complex64")
zcast: Final = Cast("complex128")


def cast(variable: Any, dtype: Any) -> SparseVariable:
    """Convert the dtype of a sparse matrix ("floatX" is the configured one) on the same pattern; x itself if it has
    it.

    A cast back after a lossless cast returns the original.   Raises: as Cast
    """
    x = as_sparse(variable)
    wanted = dtypes.canonical(config.floatX if isinstance(dtype, str) and dtype == "floatX" else dtype)
    if x.owner is not None and isinstance(x.owner.op, Cast):
        (source,) = x.owner.inputs
        if source.dtype == wanted and dtypes.is_inexact(wanted) and dtypes.promote(wanted, x.dtype) == x.dtype:
            return as_sparse(source)
    return x if x.dtype == wanted else Cast(wanted)(x)
