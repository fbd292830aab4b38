"""NumPy semantics of `aot.direct`, kind by kind; the results are also those of the graph's op:

order               (indices and indptr of the pattern and of its transpose) → an order of elimination, and 1 if the
                                                        pattern has a full diagonal, else 0
lu                  (data, indices, indptr, order, …)   → factors, in the layout of `sparse.direct.lu`; rows, lower,
                                                        segments and upper have the length that they need
lu_solve            (factors, b)                        → x with A·x = b
lu_solve_transposed (factors, b)                        → x with Aᵀ·x = b
cholesky            (data, indices, indptr, order)      → factors, in the layout of `sparse.direct.cholesky`
cholesky_solve      (b, order, factors)                 → x with A·x = b
cholesky_pivots     (order, factors)                    → D, in the order of the columns of A
half_solve          (b, order, factors)                 → P·L⁻ᵀ·Pᵀ·b; half_solve_transposed: P·L⁻¹·Pᵀ·b
selected_entries_k  (directions, indices, indptr, order, factors) → the k-th derivative of A⁻¹ at the stored entries
triangle_by_…       (data, indices, indptr, b)          → x, and the first slice with a zero on the diagonal, plus 1;
                                                        by rows or columns, forward or backward;
                                                        `unit`: the diagonal is 1
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import TensorType

from aotensor.core.types import Array
from aotensor.errors import InternalError
from aotensor.ir.dialect_sparse import DirectOp
from aotensor.ir.interpreter.scalar_values import numpy_dtype
from aotensor.kernels.language import run_kernel
from aotensor.sparse.direct.fields import CholeskyPivots, HalfSolve, SelectedEntries
from aotensor.sparse.direct.ops import CholeskySolve, EliminationOrder, LuSolve, factors_of, symmetric_factors_of
from aotensor.sparse.direct.triangle import solve_by_columns, solve_by_rows


def interpret_direct(op: DirectOp, arguments: Sequence[Array]) -> list[Array]:
    """The results of one `aot.direct` operation, then the extents of the results that it determines."""
    match op.kind.data:
        case "order":
            found = EliminationOrder().reference(*arguments)
        case "lu":
            found = factors_of(*arguments)
        case "cholesky":
            found = symmetric_factors_of(*arguments)
        case "cholesky_solve":
            found = (CholeskySolve().reference(*arguments),)
        case "cholesky_pivots":
            found = (CholeskyPivots().reference(*arguments),)
        case "half_solve" | "half_solve_transposed":
            found = (HalfSolve(op.kind.data == "half_solve_transposed").reference(*arguments),)
        case kind if kind.startswith("selected_entries_"):
            found = (SelectedEntries(int(kind.rsplit("_", 1)[1])).reference(*arguments),)
        case "lu_solve" | "lu_solve_transposed":
            found = (LuSolve(op.kind.data == "lu_solve_transposed").reference(*arguments),)
        case kind if kind.startswith("triangle_by_"):
            found = _triangle(kind.split("_")[2:], *arguments)
        case kind:
            raise InternalError(f"interpret: aot.direct {kind} is not known")
    types = [x.type for x in op.tensors]
    arrays = [
        np.asarray(x, numpy_dtype(t.element_type))
        for x, t in zip(found, types, strict=True)
        if isinstance(t, TensorType)
    ]
    counts = len(op.counts)
    return [*arrays, *(np.asarray(x.shape[0]) for x in arrays[len(arrays) - counts :])]


def _triangle(words: Sequence[str], data: Array, indices: Array, indptr: Array, b: Array) -> tuple[Array, ...]:
    kernel = solve_by_rows if words[0] == "rows" else solve_by_columns
    sign, x = 1 if words[1] == "forward" else -1, b.flatten()
    place = run_kernel(kernel, len(b), int(np.prod(b.shape[1:])), sign, len(words) - 2, indptr, indices, data, x)
    return x.reshape(b.shape), np.array([place])
