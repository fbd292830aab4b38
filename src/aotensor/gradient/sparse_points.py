"""A function of sparse matrices as a function of the vectors of their stored values, for finite differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from aotensor.graph.sparse_type import SparseConstant, SparseVariable, is_matrix
from aotensor.graph.variable import Variable
from aotensor.sparse.convert import DenseFromSparse
from aotensor.sparse.csm import like

Point: TypeAlias = Any
"""An array or a SciPy matrix."""


def through_data(fun: Callable[..., Any], pt: Sequence[Point]) -> tuple[Callable[..., Any], list[Any]]:
    """Convert a function of sparse matrices to one of their stored values: (function with dense result, points)."""
    known = [SparseConstant(point) if is_matrix(point) else None for point in pt]

    def of_data(*inputs: Variable) -> Any:
        arguments = [x if matrix is None else like(matrix, x) for x, matrix in zip(inputs, known, strict=True)]
        return densified_output(fun(*arguments), structured=True)

    return of_data, [point if matrix is None else matrix.matrix.data for point, matrix in zip(pt, known, strict=True)]


def densified_output(found: Any, structured: bool) -> Any:
    """Convert a sparse result to a dense one; return anything else unchanged."""
    return DenseFromSparse(structured)(found) if isinstance(found, SparseVariable) else found
