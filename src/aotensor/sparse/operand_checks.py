"""Check that dense operands fit the matrix, since copies to entries are not checked entry by entry."""

from __future__ import annotations

from aotensor.graph.variable import Variable
from aotensor.ops.shape.extent_checks import fitting
from aotensor.sparse.op import Compressed


def as_row(x: Variable, p: Compressed, what: str) -> Variable:
    """x, after a check that its last axis has the extent of the columns of the matrix p."""
    return fitting(x, x.ndim - 1, p.columns, p.dims[1], what)


def as_column(x: Variable, p: Compressed, what: str) -> Variable:
    """x, after a check that its first axis has the extent of the rows of the matrix p."""
    return fitting(x, 0, p.rows, p.dims[0], what)


def as_matrix(x: Variable, p: Compressed, what: str) -> Variable:
    """x, after a check that it has the shape of the matrix p."""
    return as_column(as_row(x, p, what), p, what)
