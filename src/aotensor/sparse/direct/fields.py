"""Ops that read L·D·Lᵀ factors: the pivots, entries of the inverse, and half of a solution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from aotensor.core.builders import Tensor, TensorBuilder
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType
from aotensor.graph.op import Apply
from aotensor.graph.variable import Variable
from aotensor.kernels.language import run_kernel
from aotensor.ops.batching import ExtentsOp, check_nondifferentiable
from aotensor.ops.linear import LinearOp
from aotensor.sparse.direct import lu_solve, selected_inverse
from aotensor.sparse.direct.ops import FactorsOp, solved_as_columns


class FactorsReader(ExtentsOp, FactorsOp):
    """An op with one result, computed from a matrix that is the same for all samples of a batch."""


@frozen_dataclass
class CholeskyPivots(FactorsReader):
    """(order, and the outputs of CholeskyFactors) → D, in the order of the columns of A.   (n,)"""

    name: ClassVar[str] = "cholesky_pivots"
    notation: ClassVar[str] = "cholesky({0}).D"

    def infer_type(self, order: TensorType, *factors: TensorType) -> TensorType:
        return TensorType(factors[-1].dtype, order.shape)

    def reference(self, order: Array, *factors: Array) -> Array:
        table, info, _, lower = factors
        pivots = np.zeros(len(order), lower.dtype)
        run_kernel(selected_inverse.read_pivots, len(order), order, table, info, lower, pivots)
        return pivots

    def lower(self, b: TensorBuilder, order: Tensor, *factors: Tensor) -> Tensor:
        (found,) = b.direct("cholesky_pivots", [order, *factors], [(factors[-1].dtype, order.extents)])
        return found


@frozen_dataclass
class SelectedEntries(FactorsReader):
    """(directions, indices, indptr, order, and the outputs of CholeskyFactors) → entries of A⁻¹, or of its derivative.

    directions: (k, nnz); the result is the k-th derivative of A⁻¹ along the symmetric parts of these, (nnz,), at the
    entries of the pattern, as `sparse.direct.selected` says.
    """

    name: ClassVar[str] = "selected_entries"
    notation: ClassVar[str] = "selected_inverse({3})"
    count: int

    def infer_type(self, directions: TensorType, indices: TensorType, *rest: TensorType) -> TensorType:
        return TensorType(directions.dtype, indices.shape)

    def reference(self, directions: Array, indices: Array, indptr: Array, order: Array, *factors: Array) -> Array:
        table, info, rows, values = factors
        n, k, size = len(order), self.count, int(info[3])
        parts = run_kernel(selected_inverse.count_parts, k)
        position, node_of, *marks = (np.zeros(n + 1, np.int64) for _ in range(6))
        tallest = run_kernel(selected_inverse.name_nodes, n, order, table, info, position, node_of)
        splits, begins = (
            np.zeros(2 * run_kernel(selected_inverse.count_splits, k), np.int64),
            np.zeros(parts + 1, np.int64),
        )
        run_kernel(selected_inverse.find_splits, parts, splits, begins)
        lower, scaled, inverse = (np.zeros(parts * size, values.dtype) for _ in range(3))
        lower[:size] = values
        sums, x = np.zeros(n + 1, values.dtype), np.zeros(len(indices), values.dtype)
        if k:
            pattern = n, parts, len(indices), indptr, indices, directions.ravel()
            made = position, table, rows, info, lower, scaled, node_of, splits, begins
            run_kernel(selected_inverse.factor_parts, *pattern, *made, *marks, sums)
        square, shares = np.zeros(parts * tallest**2, values.dtype), np.zeros(parts, values.dtype)
        known = n, parts, tallest, table, rows, info, lower, node_of, splits, begins
        run_kernel(selected_inverse.invert_selected, *known, marks[0], square, shares, sums, inverse)
        wanted = n, (parts - 1) * size, indptr, indices, position, node_of, table, rows
        run_kernel(selected_inverse.read_entries, *wanted, inverse, x)
        return x

    def lower(
        self, b: TensorBuilder, directions: Tensor, indices: Tensor, indptr: Tensor, order: Tensor, *factors: Tensor
    ) -> Tensor:
        operands = [directions, indices, indptr, order, *factors]
        (found,) = b.direct(f"selected_entries_{self.count}", operands, [(directions.dtype, indices.extents)])
        return found


@frozen_dataclass
class HalfSolve(LinearOp):
    """(b, order, and the outputs of CholeskyFactors) → P·L⁻ᵀ·Pᵀ·b, or P·L⁻¹·Pᵀ·b.   b: (n,) or (n, k)"""

    name: ClassVar[str] = "sparse_half_solve"
    notation: ClassVar[str] = "solve_triangular(..., {0})"
    is_transposed: bool = False

    def infer_type(self, b: TensorType, *factors: TensorType) -> TensorType:
        return b

    def reference(self, b: Array, *factors: Array) -> Array:
        n, many, x = len(b), int(np.prod(b.shape[1:])), np.zeros(b.size, b.dtype)
        work = np.zeros(b.size, b.dtype), np.zeros(n, b.dtype)
        run_kernel(lu_solve.solve_half, n, many, int(self.is_transposed), *factors, b.ravel(), *work, x)
        return x.reshape(b.shape)

    def transpose(self, inputs: Sequence[Variable], cotangent: Variable) -> Variable:
        adjoint = replace(self, is_transposed=not self.is_transposed)
        return adjoint(cotangent, *inputs[1:])  # type: ignore[no-any-return]

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        check_nondifferentiable(self, is_batched)
        b, *factors = inputs
        return [solved_as_columns(lambda columns: self(columns, *factors), b)]

    def lower(self, b: TensorBuilder, right: Tensor, *factors: Tensor) -> Tensor:
        kind = "half_solve_transposed" if self.is_transposed else "half_solve"
        (x,) = b.direct(kind, [right, *factors], [(right.dtype, right.extents)])
        return x
