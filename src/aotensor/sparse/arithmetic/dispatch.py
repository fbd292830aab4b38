"""Dense functions on sparse operands: the sparse counterpart of each, or an error that names an alternative."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, Final

import numpy as np

from aotensor.errors import GraphTypeError
from aotensor.graph.coercion import coerced
from aotensor.graph.op import Op
from aotensor.graph.operations import dense
from aotensor.graph.site import warn_user
from aotensor.graph.sparse_type import is_sparse
from aotensor.graph.variable import Constant, Variable
from aotensor.ops.elementwise import arithmetic
from aotensor.ops.elementwise.base import Elementwise
from aotensor.ops.gradient_control import ViewOp
from aotensor.sparse.arithmetic import compare, structured_functions
from aotensor.sparse.arithmetic.add import sparse_add, sparse_neg, sparse_sub
from aotensor.sparse.arithmetic.multiply import DivSD, sparse_mul
from aotensor.sparse.arithmetic.operands import operands
from aotensor.sparse.arithmetic.pairs import pair
from aotensor.sparse.arithmetic.structured_functions import ZERO_PRESERVING, structured_pow
from aotensor.sparse.convert import dense_from_sparse
from aotensor.sparse.gradient_views import viewed
from aotensor.sparse.op import as_sparse, as_sparse_or_tensor


@coerced
def sparse_div(x: Any, y: Any) -> Variable:
    """x / y of a sparse x: sparse on the pattern of x for a dense y, see DivSD; dense with a warning for a sparse one.

    Raises: GraphTypeError for a dense x, GraphValueError for shapes that do not go together.
    """
    first, second = operands([as_sparse(x), y])
    return sparse_operator("true_div", first, second) if second.is_sparse else DivSD()(first, second)


@coerced
def sparse_power(x: Any, exponent: Any) -> Variable:
    """x ** exponent of a sparse x: structured for a positive number, dense with a warning for all else.

    Raises: GraphTypeError for a dense x.
    """
    matrix = as_sparse(x)
    value = exponent.data if isinstance(exponent, Constant) else exponent
    is_number = isinstance(value, int | float | np.number)
    is_number = is_number or (isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind in "iuf")
    if is_number and value > 0:
        return structured_pow(matrix, exponent)
    return sparse_operator("pow", matrix, exponent)


@coerced
def sparse_operator(name: str, x: Any, y: Any) -> Variable:
    """An elementwise op of two operands, by name, at least one of them sparse: `PairOp` if both are and f(0, 0) = 0.

    All else makes the matrices dense, with a warning. Raises: as the op does.
    """
    op, (first, second) = getattr(dense, name), operands([x, y])
    are_sparse = first.is_sparse and second.is_sparse
    found = pair(op, first, second) if are_sparse and isinstance(op, Elementwise) else None
    if found is not None:
        return found
    matrix = first if first.is_sparse else second
    warn_user(f"{name.removesuffix('_')} makes the sparse matrix {matrix} dense")
    return op(  # type: ignore[no-any-return]
        *(dense_from_sparse(one) if one.is_sparse else raw for one, raw in ((first, x), (second, y)))
    )


def _fold_operands(op: Op, of_two: Callable[[Any, Any], Variable]) -> Callable[..., Variable]:
    """An op with any number of operands, computed by its sparse form for two; dense operands are combined first."""
    return lambda *operands: of_two(*operands) if len(operands) == 2 else reduce(op, operands)


COUNTERPARTS: Final[dict[str, Callable[..., Variable]]] = {
    **ZERO_PRESERVING,
    "add": _fold_operands(arithmetic.add, sparse_add),
    "sub": sparse_sub,
    "mul": _fold_operands(arithmetic.mul, sparse_mul),
    "neg": sparse_neg,
    "true_div": sparse_div,
    "pow": sparse_power,
    "eq": compare.eq,
    "neq": compare.neq,
    "lt": compare.lt,
    "le": compare.le,
    "gt": compare.gt,
    "ge": compare.ge,
}
"""Dense elementwise op by name → the sparse function that has the same meaning."""


def _paired(op: Elementwise, matrices: Sequence[Variable]) -> Variable | None:
    """An op on sparse matrices only, computed two by two; None if its result is not sparse."""
    found: Variable | None = matrices[0]
    for x in matrices[1:]:
        found = None if found is None else pair(op, found, x)
    return found


@coerced
def sparse_counterpart(op: Op, inputs: Sequence[Any]) -> Variable:
    """The result of a dense op on inputs of which at least one is sparse.

    Raises: GraphTypeError for an op that has no sparse meaning, with what to call instead.
    """
    if isinstance(op, ViewOp):
        return viewed(op, *inputs)
    if isinstance(op, Elementwise) and op.name not in COUNTERPARTS and len(inputs) > 1:
        matrices = [as_sparse_or_tensor(x) for x in inputs]
        if all(x.is_sparse for x in matrices) and (paired := _paired(op, matrices)) is not None:
            return paired
    found = COUNTERPARTS.get(op.name)
    if found is not None and (op.name not in ("true_div", "pow") or is_sparse(inputs[0])):
        return found(*inputs)
    near = f"structured_{op.name}"
    names = [f"sp.{near} acts on stored entries"] if hasattr(structured_functions, near) else []
    raise GraphTypeError(
        f"{op.name} is not defined for sparse matrices",
        lines=[x.describe() for x in inputs if isinstance(x, Variable)],
        hint=", ".join([*names, "sp.dense_from_sparse makes it dense"]),
    )
