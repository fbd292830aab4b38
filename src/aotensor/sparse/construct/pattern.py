"""Sparsity patterns that can be computed without the values of matrices."""

from __future__ import annotations

from collections.abc import Sequence

from aotensor.core.types import Array
from aotensor.errors import AotensorError
from aotensor.graph.expansion import without_values
from aotensor.graph.variable import Constant, Variable
from aotensor.graph.walk import evaluate_all, leaves
from aotensor.sparse.construct.create import csm_indices, csm_indptr


def pattern_parts(x: Variable) -> list[Variable]:
    """(indptr, indices, shape) of a CSR or CSC matrix, as graphs that do not read its values if possible."""
    return without_values([csm_indptr(x), csm_indices(x), x.shape], ())


def not_constant(outputs: Sequence[Variable]) -> list[Variable]:
    """The leaves other than constants on which the variables depend."""
    return [leaf for leaf in leaves(outputs) if not isinstance(leaf, Constant)]


def constant_values(outputs: Sequence[Variable]) -> list[Array] | None:
    """The values of variables; None if they depend on inputs or shared variables, or a check in them fails."""
    if not_constant(outputs):
        return None
    try:
        return evaluate_all(outputs, {})
    except AotensorError:
        return None
