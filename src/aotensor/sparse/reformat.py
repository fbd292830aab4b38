"""The same matrix in the other format, and with another dtype."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

from aotensor.config import config
from aotensor.core import dtypes
from aotensor.core.types import TensorType
from aotensor.graph.coercion import one_of
from aotensor.graph.op import disconnected, is_disconnected
from aotensor.graph.sparse_type import SparseTensorType, SparseVariable, canonical_matrix
from aotensor.graph.variable import Variable
from aotensor.ops.elementwise.compare import cast as cast_dense
from aotensor.ops.elementwise.compare import saturated
from aotensor.ops.linear import zero_gradient
from aotensor.sparse.csm import matrix_of, parts_of
from aotensor.sparse.op import OTHER, SparseOp, as_sparse, need_sparse, scipy_matrix
from aotensor.sparse.patterns import canonical, other_format


class PassingOp(SparseOp):
    """An op that gives its matrix as another object: the cotangent passes as it is, regular, and so does the tangent.

    What comes may be dense, or of another pattern.
    """

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> list[Variable]:
        (x,) = inputs
        return [zero_gradient(x) if dtypes.is_discrete(outputs[0].dtype) else self.pulled(cotangents[0], x)]

    def pushforward(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], tangents: Sequence[Variable]
    ) -> list[Variable]:
        if is_disconnected(tangents[0]):
            return [disconnected()]
        (y,) = outputs
        return [zero_gradient(y) if dtypes.is_discrete(y.dtype) else self.pushed(tangents[0], y)]

    def pulled(self, ct: Variable, x: Variable) -> Variable:
        """The cotangent of the input x."""
        return ct

    def pushed(self, tangent: Variable, y: Variable) -> Variable:
        """The tangent of the output y."""
        return tangent


@dataclass(frozen=True)
class Reformat(PassingOp):
    """The same matrix in the other format, sorted: csr as csc, csc as csr. Gradient: regular."""

    name: ClassVar[str] = "reformat"

    def infer_type(self, x: TensorType) -> TensorType:
        x = need_sparse(self, x)
        return SparseTensorType(OTHER[x.format], x.dtype, x.shape, index_dtype=x.index_dtype)

    def reference(self, x: Any) -> Any:
        return x.asformat(OTHER[x.format])

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable]:
        return [matrix_of(other_format(parts_of(inputs[0])))]


def in_format(x: SparseVariable, format: str) -> SparseVariable:
    """A sparse matrix in a format: x itself, or its entries in the other order.   Raises: GraphValueError"""
    return x if x.format == one_of("a sparse format", format, OTHER) else Reformat()(x)


@dataclass(frozen=True)
class Cast(PassingOp):
    """x with another dtype and the same pattern; floats to integers truncate, saturate, and give 0 for nan.

    Gradient: regular, in the dtype of x; zero where the result is discrete.

    Raises: GraphTypeError for a dtype that sparse matrices do not have, UnsupportedError for complex ones.
    """

    name: ClassVar[str] = "sparse_cast"
    gives_canonical: ClassVar[bool] = True
    dtype: str

    def infer_type(self, x: TensorType) -> TensorType:
        return need_sparse(self, x).with_dtype(dtypes.canonical(self.dtype))

    def reference(self, x: Any) -> Any:
        x = canonical_matrix(x)
        return scipy_matrix(x.format, saturated(x.data, self.dtype), x.indices, x.indptr, x.shape)

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable]:
        p = canonical(parts_of(inputs[0]))
        return [matrix_of(replace(p, data=cast_dense(p.data, self.dtype)))]

    def pulled(self, ct: Variable, x: Variable) -> Variable:
        return cast_dense(ct, x.dtype) if dtypes.is_float(x.dtype) else ct

    def pushed(self, tangent: Variable, y: Variable) -> Variable:
        return cast_dense(tangent, y.dtype)


bcast: Final = Cast("int8")
wcast: Final = Cast("int16")
icast: Final = Cast("int32")
lcast: Final = Cast("int64")
fcast: Final = Cast("float32")
dcast: Final = Cast("float64")
ccast: Final = Cast("complex64")
zcast: Final = Cast("complex128")


def cast(variable: Any, dtype: Any) -> SparseVariable:
    """A sparse matrix as dtype ("floatX" is the configured one): the same pattern; itself where that is its dtype.

    What was only widened becomes what it was.   Raises: as Cast
    """
    x = as_sparse(variable)
    wanted = dtypes.canonical(config.floatX if isinstance(dtype, str) and dtype == "floatX" else dtype)
    if x.owner is not None and isinstance(x.owner.op, Cast):
        (source,) = x.owner.inputs
        if source.dtype == wanted and dtypes.is_float(wanted) and dtypes.promote(wanted, x.dtype) == x.dtype:
            return as_sparse(source)
    return x if x.dtype == wanted else Cast(wanted)(x)
