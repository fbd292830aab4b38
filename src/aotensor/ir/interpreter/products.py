"""NumPy semantics of `aot.product_at`, a product of elements at positions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import TensorType

from aotensor.core.types import Array
from aotensor.ir.dialect_sparse import DYNAMIC, ProductAtOp


def product_at(op: ProductAtOp, operands: Sequence[Array]) -> Array:
    """Gather matrices, multiply them, and scatter the results to their positions."""
    a, b = operands[0].ravel(), operands[1].ravel()
    a_group, a_rows, a_depth, b_group, b_depth, b_columns, group, rows, columns = operands[2:11]
    sizes = iter(operands[11:])
    assert isinstance(op.result.type, TensorType)
    result = np.empty([int(next(sizes)) if n == DYNAMIC else n for n in op.result.type.get_shape()], a.dtype)
    flat = result.reshape(-1)
    for first, second, third in zip(a_group, b_group, group, strict=True):
        x = a[first + rows_by(a_rows, a_depth)]
        y = b[second + rows_by(b_depth, b_columns)]
        with np.errstate(all="ignore"):
            flat[third + rows_by(rows, columns)] = x @ y
    return result


def rows_by(rows: Array, columns: Array) -> Array:
    """The matrix with elements rows[i] + columns[j]."""
    return np.asarray(rows[:, None] + columns)
