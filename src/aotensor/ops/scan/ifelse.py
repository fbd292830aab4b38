"""ifelse: one of two values by a scalar condition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aotensor.core import dtypes
from aotensor.core.types import TensorType
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.coercion import coerced
from aotensor.graph.operations import sparse
from aotensor.graph.sparse_type import SparseTensorType, SparseVariable
from aotensor.graph.variable import Variable, as_tensor
from aotensor.ops.elementwise.compare import cast, neq
from aotensor.ops.scan.branch import chosen
from aotensor.ops.scan.layout import common_dims
from aotensor.ops.scan.loop_state import assemble_value, dense_values


@coerced
def ifelse(condition: Any, then_branch: Any, else_branch: Any, name: str | None = None) -> Any:
    """`then_branch` where the condition holds (is not 0), else `else_branch`: one value, or a list or tuple of them.

    Compiled, only the chosen branch is computed. The two may differ in their extents, not in dtype and rank; sparse
    matrices also in their patterns, not in their format.
    name: of the results.

    Raises: GraphTypeError for a condition that is not a scalar, and for branches of different kind, dtype, rank or
    format; GraphValueError for branches of different number.
    """
    choice = as_tensor(condition)
    if choice.ndim != 0:
        raise GraphTypeError(
            "ifelse: the condition must be a scalar",
            lines=[choice.describe()],
            hint="use switch, which chooses element by element",
        )
    is_several = isinstance(then_branch, list | tuple)
    if is_several != isinstance(else_branch, list | tuple):
        raise GraphTypeError("ifelse: both branches must be values, or both lists")
    as_value = sparse.as_sparse_or_tensor
    then, otherwise = ([as_value(x) for x in (side if is_several else [side])] for side in (then_branch, else_branch))
    if len(then) != len(otherwise):
        raise GraphValueError(f"ifelse: {len(then)} values in one branch, {len(otherwise)} in the other")
    for one, other in zip(then, otherwise, strict=True):
        _check_pair(one, other)
    found = _chosen(choice if choice.dtype == "bool" else neq(choice, 0), then, otherwise)
    if name is not None:
        for x in found:
            x.name = name
    if not is_several:
        return found[0]
    return tuple(found) if isinstance(then_branch, tuple) else found


def _check_pair(one: Variable, other: Variable) -> None:
    """Check that two values may be the branches of an ifelse.   Raises: GraphTypeError for another dtype or rank"""
    lines = [one.describe(), other.describe()]
    if one.is_sparse != other.is_sparse:
        hint = "dense_from_sparse and csr_from_dense convert"
        raise GraphTypeError("ifelse: both branches must be sparse, or both dense", lines=lines, hint=hint)
    if (one.dtype, one.ndim) != (other.dtype, other.ndim):
        raise GraphTypeError(
            "ifelse: the branches must have one dtype and one rank", lines=lines, hint="cast one of them"
        )
    if isinstance(one, SparseVariable) and isinstance(other, SparseVariable) and _form(one) != _form(other):
        raise GraphTypeError(
            "ifelse: the branches must have one sparse format", lines=lines, hint="convert one of them"
        )


def _form(x: SparseVariable) -> tuple[str, tuple[int, int] | None]:
    return x.format, x.blocksize


def _chosen(condition: Variable, then: Sequence[Variable], otherwise: Sequence[Variable]) -> list[Variable]:
    """The chosen side; for sparse matrices, a choice between each of their vectors."""
    types = [_common_type(one, other) for one, other in zip(then, otherwise, strict=True)]
    sides = [
        x
        for side in (then, otherwise)
        for value, type in zip(side, types, strict=True)
        for x in _dense_branch_values(value, type)
    ]
    found = iter(chosen(condition, sides))
    return [assemble_value(type, found) for type in types]


def _common_type(one: Variable, other: Variable) -> TensorType:
    """The type of a value that is `one` or `other`, with the index dtype and dims that both fit."""
    if not isinstance(one, SparseVariable) or not isinstance(other, SparseVariable):
        return one.tensor_type
    a, b = one.sparse_type, other.sparse_type
    index = dtypes.promote(a.index_dtype, b.index_dtype)
    dims = common_dims(a.shape, b.shape)
    is_canonical = a.is_canonical and b.is_canonical
    return SparseTensorType(
        a.format, a.dtype, dims, index_dtype=index, is_canonical=is_canonical, blocksize=a.blocksize
    )


def _dense_branch_values(x: Variable, type: TensorType) -> list[Variable]:
    """The dense values of x (see `dense_values`), with sparse indices in the index dtype of `type`."""
    values = dense_values(x)
    if not isinstance(type, SparseTensorType):
        return values
    *data, indices, indptr, rows, columns = values
    return [*data, *(cast(vector, type.index_dtype) for vector in (indices, indptr)), rows, columns]
