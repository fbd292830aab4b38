"""solve_triangular: x with op(A)·x = b for a triangle of a sparse A, in one pass over its entries.

Solved by slices one after the other. Slices that do not need each other could go on several cores (levels); each is a
few additions, and meeting at every level takes longer than that, so it is one core that solves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from aotensor.core import dtypes
from aotensor.core.builders import Tensor, TensorBuilder
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType
from aotensor.errors import GraphLinAlgError
from aotensor.graph.coercion import coerced
from aotensor.graph.sparse_type import SparseVariable
from aotensor.graph.variable import Variable
from aotensor.kernels.language import run_kernel
from aotensor.ops.complex.blocks import is_complex
from aotensor.ops.complex.parts import conj
from aotensor.ops.create import ones_like
from aotensor.ops.elementwise.arithmetic import abs as absolute
from aotensor.ops.elementwise.compare import eq, ge, gt, le, lt, switch
from aotensor.ops.linalg.triangular import transposition
from aotensor.ops.linear import zero_gradient
from aotensor.ops.shape.axes import dimshuffle
from aotensor.sparse.compressed_axes import at_rows, major_of_entries
from aotensor.sparse.construct.diagonal import diag, square_diagonal
from aotensor.sparse.csm import matrix_of, parts_of
from aotensor.sparse.direct.triangle import solve_by_columns, solve_by_rows
from aotensor.sparse.linear.complex_systems import solved_by_parts
from aotensor.sparse.linear.implicit import Solve, equations, square
from aotensor.sparse.op import OTHER, Compressed

SINGULAR = "solve_triangular: the matrix is singular: diagonal element {found} is zero"


@frozen_dataclass
class SparseTriangularSolve(Solve):
    """(data, indices, indptr, b) → x with op(T)·x = b, where T is a triangle of the matrix of these vectors.

    is_lower: the lower one. is_unit: with ones on the diagonal, whose entries are not read. Unread entries have zero
    derivatives.

    Raises: GraphTypeError for other ranks or dtypes; GraphLinAlgError at run time for a zero on the diagonal.
    """

    name: ClassVar[str] = "sparse_solve_triangular"
    notation: ClassVar[str] = "solve_triangular"
    format: str
    is_lower: bool
    is_unit: bool
    is_transposed: bool = False

    def infer_type(self, data: TensorType, indices: TensorType, indptr: TensorType, b: TensorType) -> TensorType:
        self.check_types(data, b)
        return b

    @property
    def is_by_rows(self) -> bool:
        """Are slices rows of the matrix with which the op solves?"""
        return (self.format == "csr") != self.is_transposed

    @property
    def sign(self) -> int:
        """1 if the solve starts with the first slice, −1 if with the last."""
        return 1 if self.is_lower != self.is_transposed else -1

    def reference(self, data: Array, indices: Array, indptr: Array, b: Array) -> Array:
        kernel = solve_by_rows if self.is_by_rows else solve_by_columns
        many, x = int(np.prod(b.shape[1:])), b.flatten()
        place = run_kernel(kernel, len(b), many, self.sign, int(self.is_unit), indptr, indices, data, x)
        if place:
            raise GraphLinAlgError(SINGULAR.format(found=place - 1))
        return x.reshape(b.shape)

    def matrix(self, inputs: Sequence[Variable]) -> Compressed:
        return square(OTHER[self.format] if self.is_transposed else self.format, inputs)

    def again(self, inputs: Sequence[Variable], b: Variable, is_transposed: bool = False) -> Variable:
        op = replace(self, is_transposed=self.is_transposed != is_transposed)
        return op(*inputs[:3], b)  # type: ignore[no-any-return]

    def read(self, inputs: Sequence[Variable], data: Variable) -> Variable:
        """`data`, with 0 in place of entries outside of the triangle."""
        p = square(self.format, inputs)
        slices = major_of_entries(p)
        rows, columns = (slices, p.indices) if self.format == "csr" else (p.indices, slices)
        compare = (gt if self.is_unit else ge) if self.is_lower else (lt if self.is_unit else le)
        return switch(compare(rows, columns), data, zero_gradient(data))

    def lower(self, b: TensorBuilder, data: Tensor, indices: Tensor, indptr: Tensor, right: Tensor) -> Tensor:
        kind = f"triangle_by_{'rows' if self.is_by_rows else 'columns'}"
        kind += f"_{'forward' if self.sign > 0 else 'backward'}{'_unit' if self.is_unit else ''}"
        x, failure = b.direct(kind, [data, indices, indptr, right], [(right.dtype, right.extents), ("int64", (1,))])
        v = b.scalars
        place = v.cast(v.load(failure, 0), dtypes.INDEX)
        b.check(v.compare("eq", place, v.index(0)), SINGULAR, place - 1, kind="linalg")
        return x


@coerced
def solve_triangular(
    A: Any, b: Any, *, trans: int | str = 0, lower: bool = False, unit_diagonal: bool = False
) -> Variable:
    """x with op(A)·x = b for a triangle of a sparse A; the other one is not read.   (n, n), (n,) or (n, k) → as b

    trans: 0 or "N" for op(A) = A, 1 or "T" for Aᵀ, 2 or "C" for Aᴴ. lower: the lower triangle. unit_diagonal: with
    ones on the diagonal, which is not read then. csr and csc, in any order, with duplicates; no matrix is converted but
    bsr, to csr.

    Derivatives are those of the solution, with respect to A at the entries that are read.

    Raises: LinAlgError at run time for a zero on the diagonal, with its place. GraphTypeError for a dense A or
    another rank of b; GraphValueError if A is not square, extents differ (at run time where they are not known), or
    for another `trans`.
    """
    is_transposed = transposition("solve_triangular", trans)
    p, data, right = equations("solve_triangular", A, b)
    p = replace(p, data=conj(data) if trans in (2, "C") else data)
    if is_complex(right):
        return _solved_complex(p, right, bool(lower), bool(unit_diagonal), is_transposed)
    op = SparseTriangularSolve(p.format, bool(lower), bool(unit_diagonal), is_transposed)
    return op(p.data, p.indices, p.indptr, right)  # type: ignore[no-any-return]


def _solved_complex(p: Compressed, b: Variable, is_lower: bool, is_unit: bool, is_transposed: bool) -> Variable:
    """Solve a complex triangular system by real and imaginary parts; rows of a complex matrix are divided by pivots
    first.

    T = D·U with ones on the diagonal of U, so that blocks of parts keep the triangle.
    """

    def solve(matrix: SparseVariable, right: Variable) -> Variable:
        q = parts_of(matrix)
        op = SparseTriangularSolve(q.format, is_lower, is_unit or is_complex(p.data), is_transposed)
        return op(q.data, q.indices, q.indptr, right)  # type: ignore[no-any-return]

    if not is_complex(p.data):
        return solved_by_parts(solve, p, b)
    transposed = conj(p.data) if is_transposed else p.data  # the transpose of the real matrix is that of Aᴴ
    on_diagonal = eq(p.indices, major_of_entries(p))
    if is_unit:
        return solved_by_parts(solve, replace(p, data=switch(on_diagonal, 0, transposed)), b)
    inverse = _inverses(diag(matrix_of(replace(p, data=transposed))))
    units = replace(p, data=switch(on_diagonal, 0, transposed * at_rows(p, inverse)))
    by_pivots = conj(inverse) if is_transposed else inverse
    column = by_pivots if b.ndim == 1 else dimshuffle(by_pivots, [0, None])
    return solved_by_parts(solve, units, b) * column if is_transposed else solved_by_parts(solve, units, b * column)


def _inverses(pivots: Variable) -> Variable:
    """1/d of complex pivots.   Raises: GraphLinAlgError at run time for a zero"""
    size = absolute(pivots)
    p = parts_of(square_diagonal(size))
    inverse = SparseTriangularSolve(p.format, True, False)(p.data, p.indices, p.indptr, ones_like(size))
    return conj(pivots) * inverse * inverse  # type: ignore[no-any-return]


@coerced
def spsolve_triangular(A: Any, b: Any, lower: bool = True, unit_diagonal: bool = False) -> Variable:
    """x with A·x = b for a triangle of a sparse A, as SciPy's `spsolve_triangular`.   See `solve_triangular`."""
    return solve_triangular(A, b, lower=lower, unit_diagonal=unit_diagonal)
