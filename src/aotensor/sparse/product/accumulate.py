"""usmm: alpha·x @ y + z for a sparse operand: one loop over the entries, as z ± alpha·dot(x, y) written out is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from aotensor.core import dtypes
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType, broadcast_shapes
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.coercion import coerced
from aotensor.graph.op import Op
from aotensor.graph.sparse_type import SparseTensorType, check_structure
from aotensor.graph.variable import Variable, as_tensor, constant
from aotensor.ops.elementwise.arithmetic import add, mul
from aotensor.ops.shape.axes import dimshuffle
from aotensor.ops.shape.extents import as_extent, dim_of, extent_of
from aotensor.sparse.checks import CheckedStructure
from aotensor.sparse.csm import MatrixShape
from aotensor.sparse.op import Compressed, scipy_matrix, type_error
from aotensor.sparse.product.dots import ProductOp, times


@frozen_dataclass
class Usmm(ProductOp):
    """(alpha, x, y, z) → alpha·x @ y + z, dense, in the promoted dtype; x or y is sparse, or both.

    alpha: one number, of any rank. z: dense, of the shape of the product, or of static extent 1 where it is repeated.

    Gradient: alpha ← Σ z̄∘(x @ y), x ← alpha·z̄·yᵀ and y ← alpha·xᵀ·z̄, at the stored entries of the one that is
    sparse, z ← z̄.

    Raises: GraphTypeError for two dense operands, a sparse alpha or z, or another rank; GraphValueError for extents
    that differ (at the call where they are not known).
    """

    name: ClassVar[str] = "usmm"

    def convert_inputs(self, inputs: Sequence[Any]) -> list[Variable]:
        """Convert the inputs; a Python number for alpha gets a dtype that does not widen the others."""
        alpha, *others = inputs
        rest = super().convert_inputs(others)
        if isinstance(alpha, int | float) and not isinstance(alpha, bool | np.generic):
            common = dtypes.promote(*(x.dtype for x in rest))
            alpha = constant(alpha, dtype=dtypes.weak_scalar(alpha, common))
        return [*super().convert_inputs([alpha]), *rest]

    def infer_type(self, alpha: TensorType, x: TensorType, y: TensorType, z: TensorType) -> TensorType:
        product = self.common_type(x, y)
        if isinstance(alpha, SparseTensorType) or isinstance(z, SparseTensorType):
            raise type_error(self, "dense alpha and z", alpha, z)
        if any(dim not in (1, None) for dim in alpha.static_shape):
            raise GraphValueError(f"{self.name}: alpha must be a scalar, found shape {list(alpha.shape)}")
        if z.rank != product.rank:
            raise GraphTypeError(f"{self.name}: z must have the rank of the product, {product.rank}, found {z.rank}")
        shape = broadcast_shapes([product.shape, z.shape])
        if any(one == 1 and dim != 1 for one, dim in zip(product.shape, shape, strict=True)):
            raise GraphValueError(
                f"{self.name}: z must have the shape of the product, {list(product.shape)}, found {list(z.shape)}"
            )
        return TensorType(dtypes.promote(alpha.dtype, product.dtype, z.dtype), shape)

    def reference(self, alpha: Array, x: Any, y: Any, z: Array) -> Array:
        found = self.product(x, y)
        return _scaled_sum(self.name, alpha, found if isinstance(found, np.ndarray) else found.toarray(), z)

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable] | None:
        alpha, x, y, z = inputs
        return [add(mul(_number(alpha), self.dense_product(x, y)), z)]


def _scaled_sum(name: str, alpha: Array, product: Array, z: Array) -> Array:
    """alpha·product + z.   Raises: GraphValueError for other shapes"""
    if alpha.size != 1 or any(a not in (1, b) for a, b in zip(z.shape, product.shape, strict=True)):
        raise GraphValueError(
            f"{name}: a scalar alpha and z of shape {product.shape} are expected, found {alpha.shape}, {z.shape}"
        )
    with np.errstate(all="ignore"):
        return alpha.reshape(()) * product + z


def _number(alpha: Variable) -> Variable:
    """The single element of a tensor, as a scalar."""
    return dimshuffle(alpha, [])


@coerced
def usmm(alpha: Any, x: Any, y: Any, z: Any) -> Variable:
    """alpha·x @ y + z for a sparse x or y; see Usmm.   Raises: as Usmm."""
    return Usmm()(alpha, x, y, z)  # type: ignore[no-any-return]


@frozen_dataclass
class UsmmCscDense(Op):
    """(alpha, data, indices, indptr, rows, y, z) → alpha·x @ y + z for the csc matrix x of these vectors.

    rows: how many x has, an integer scalar. y: (k, n). z: (rows, n). alpha: one number. inplace: the result may
    overwrite z; compiled functions do so whenever z is read no more, asked or not.

    Gradient: as `usmm`, with respect to alpha, data, y and z.

    Raises: GraphTypeError for other kinds; GraphValueError for extents that differ, and vectors that do not form a
    matrix.
    """

    name: ClassVar[str] = "usmm_csc_dense"
    notation: ClassVar[str] = "usmm"
    inplace: bool = False

    def infer_type(self, alpha: TensorType, data: TensorType, *others: TensorType) -> TensorType:
        indices, indptr, rows, y, z = others
        if (data.rank, indices.rank, indptr.rank, rows.rank, y.rank, z.rank) != (1, 1, 1, 0, 2, 2):
            raise type_error(self, "alpha, three vectors, a number of rows and two matrices", data, *others)
        for found in (indices, indptr):
            if found.dtype not in ("int32", "int64"):
                raise type_error(self, "indices of int32 or int64", found)
        x = SparseTensorType("csc", data.dtype, (None, y.static_shape[0]))
        return Usmm().infer_type(alpha, x, y, z)

    def reference(self, alpha: Array, data: Array, *others: Array) -> Array:
        indices, indptr, rows, y, z = others
        shape = (int(rows), len(y))
        check_structure(data, indices, indptr, shape, "csc")
        return Usmm().reference(alpha, scipy_matrix("csc", data, indices, indptr, shape), y, z)

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable] | None:
        alpha, data, indices, indptr, rows, y, z = inputs
        shape = MatrixShape()(rows, as_tensor(extent_of(y, 0)))
        data, indices, indptr = CheckedStructure("csc")(data, indices, indptr, shape)
        extents = as_extent(rows), extent_of(y, 0)
        p = Compressed(
            "csc", data, indices, indptr, *extents, (dim_of(extents[0]), dim_of(extents[1])), is_canonical=False
        )
        return [add(mul(_number(alpha), times(p, y, self.name)), z)]
