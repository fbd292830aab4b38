"""Rows permuted by rows of positions, and permutations inverted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from aotensor.core import dtypes
from aotensor.core.builders import Scalar, ScalarBuilder, Tensor, TensorBuilder
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.coercion import coerced
from aotensor.graph.variable import Variable, as_tensor
from aotensor.ops.batching import RepeatingOp
from aotensor.ops.linear import LinearOp
from aotensor.ops.ranges import arange
from aotensor.ops.shape.broadcast import broadcast_arrays
from aotensor.ops.shape.extents import extent_of


@frozen_dataclass
class PermuteRowElements(RepeatingOp, LinearOp):
    """z[…, j] = x[…, y[…, j]], or z[…, y[…, j]] = x[…, j] if inverse, where every row of y is a permutation.

    x: (…, n), y: (…, n), integers → (…, n), dtype of x; leading axes broadcast.
    """

    takes_half: ClassVar[bool] = True
    name: ClassVar[str] = "permute_row_elements"
    inverse: bool = False

    def convert_inputs(self, inputs: Sequence[Any]) -> list[Variable]:
        """Convert x and y, and give them the same leading axes.   Raises: GraphValueError for scalars or unequal
        rows.
        """
        xs = super().convert_inputs(inputs)
        lines = [x.describe() for x in xs]
        if any(x.ndim == 0 for x in xs):
            raise GraphValueError("permute_row_elements: expected a tensor with rows, found a scalar", lines=lines)
        lengths = {x.static_shape[-1] for x in xs} - {None}
        if len(lengths) > 1:
            raise GraphValueError(
                "permute_row_elements: the last axes of x and of the permutation must have equal extents", lines=lines
            )
        return broadcast_arrays(*xs)

    def infer_type(self, x: TensorType, y: TensorType) -> TensorType:
        if y.dtype not in dtypes.INTEGERS:
            raise GraphTypeError(f"the permutation must hold integers, not {y}")
        return x

    def reference(self, x: Array, y: Array) -> Array:
        positions = np.argsort(y, axis=-1, stable=True)
        if (np.take_along_axis(y, positions, -1) != np.arange(y.shape[-1])).any():
            raise GraphValueError(_NO_PERMUTATION)
        return np.take_along_axis(x, positions if self.inverse else y.astype("int64"), -1)

    def transpose(self, inputs: Sequence[Variable], cotangent: Variable) -> Variable:
        return PermuteRowElements(not self.inverse)(cotangent, inputs[1])  # type: ignore[no-any-return]

    def lower(self, b: TensorBuilder, x: Tensor, y: Tensor) -> Tensor:
        y, last = b.cast(y, "int64"), len(x.extents) - 1
        ordered, inverse = b.sort(y, last)

        def is_in_order(v: ScalarBuilder, *at: Scalar) -> Scalar:
            return v.compare("eq", v.load(ordered, *at), v.cast(at[last], "int64"))

        fits = b.tabulate(y.extents, "bool", is_in_order)
        b.check(b.item(b.reduce("and", fits, range(last + 1))), _NO_PERMUTATION)
        positions = inverse if self.inverse else y

        def element(v: ScalarBuilder, *at: Scalar) -> Scalar:
            return v.load(x, *at[:last], v.cast(v.load(positions, *at), dtypes.INDEX))

        return b.tabulate(x.extents, x.dtype, element)


_NO_PERMUTATION = "permute_row_elements: a row of positions is not a permutation"


@coerced
def permute_row_elements(x: Any, y: Any, inverse: bool = False) -> Variable:
    """Every row of x in the order of the rows of y: z[…, j] = x[…, y[…, j]]; undone if `inverse`.

    x: (…, n), y: (…, n), integers → (…, n), dtype of x; leading axes broadcast, so one y may serve all rows.

    Raises: GraphTypeError for positions that are not integers; GraphValueError for a scalar, for rows of different
    lengths, and where a row of y is not a permutation of 0 … n − 1 (at run time).
    """
    return PermuteRowElements(inverse)(x, y)  # type: ignore[no-any-return]


@coerced
def inverse_permutation(perm: Any) -> Variable:
    """The int64 permutation that undoes each row of `perm`.   (…, n), integers → (…, n).   Raises: as above."""
    perm = as_tensor(perm)
    if perm.ndim == 0:
        raise GraphValueError(
            "inverse_permutation: expected a tensor with rows, found a scalar", lines=[perm.describe()]
        )
    return permute_row_elements(arange(extent_of(perm, -1)), perm, inverse=True)
