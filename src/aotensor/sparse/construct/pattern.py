"""Patterns that do not depend on values: they follow from the graph alone."""

from __future__ import annotations

from collections.abc import Sequence

from aotensor.core.types import Array
from aotensor.errors import AotensorError
from aotensor.graph.expansion import without_values
from aotensor.graph.variable import Constant, Variable
from aotensor.graph.walk import evaluate_all, leaves
from aotensor.sparse.construct.create import csm_indices, csm_indptr


def pattern_parts(x: Variable) -> list[Variable]:
    """indptr, indices and shape of a CSR or CSC matrix, as graphs without its values where these do not matter."""
    return without_values([csm_indptr(x), csm_indices(x), x.shape], ())


def not_constant(outputs: Sequence[Variable]) -> list[Variable]:
    """The leaves that some variables depend on and that are not constants."""
    return [leaf for leaf in leaves(outputs) if not isinstance(leaf, Constant)]


def constant_values(outputs: Sequence[Variable]) -> list[Array] | None:
    """The values of variables; None where they depend on inputs or shared variables, or a check fails in every call."""
    if not_constant(outputs):
        return None
    try:
        return evaluate_all(outputs, {})
    except AotensorError:
        return None
