"""Dense functions on sparse operands: the sparse function that stands in for each, or an error that names one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, Final

import numpy as np

from aotensor.errors import GraphTypeError
from aotensor.graph.coercion import coerced
from aotensor.graph.op import Op
from aotensor.graph.site import warn_user
from aotensor.graph.sparse_type import is_sparse
from aotensor.graph.variable import Constant, Variable
from aotensor.ops.elementwise import arithmetic, powers
from aotensor.ops.gradient_control import ViewOp
from aotensor.sparse.arithmetic import compare, structured
from aotensor.sparse.arithmetic.add import sparse_add, sparse_neg, sparse_sub
from aotensor.sparse.arithmetic.multiply import DivSD, sparse_mul
from aotensor.sparse.arithmetic.operands import operands
from aotensor.sparse.arithmetic.structured import ZERO_PRESERVING, structured_pow
from aotensor.sparse.convert import dense_from_sparse
from aotensor.sparse.gradient_views import viewed
from aotensor.sparse.op import as_sparse


@coerced
def sparse_div(x: Any, y: Any) -> Variable:
    """x / y of a sparse x: sparse on the pattern of x for a dense y, see DivSD; dense with a warning for a sparse one.

    Raises: GraphTypeError for a dense x, GraphValueError for shapes that do not go together.
    """
    first, second = operands([as_sparse(x), y])
    if second.is_sparse:
        return arithmetic.true_div(_densified("truediv", first), dense_from_sparse(second))
    return DivSD()(first, second)  # type: ignore[no-any-return]


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
    return powers.pow(_densified("pow", matrix), exponent)


def _densified(name: str, x: Variable) -> Variable:
    warn_user(f"{name} makes the sparse matrix {x} dense")
    return dense_from_sparse(x)


def _folded(op: Op, of_two: Callable[[Any, Any], Variable]) -> Callable[..., Variable]:
    """An op of any number of operands from its sparse form for two; pairs of dense ones are combined by the op."""
    return lambda *operands: of_two(*operands) if len(operands) == 2 else reduce(op, operands)


COUNTERPARTS: Final[dict[str, Callable[..., Variable]]] = {
    **ZERO_PRESERVING,
    "add": _folded(arithmetic.add, sparse_add),
    "sub": sparse_sub,
    "mul": _folded(arithmetic.mul, sparse_mul),
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


@coerced
def sparse_counterpart(op: Op, inputs: Sequence[Any]) -> Variable:
    """What a dense op gives on inputs of which at least one is sparse.

    Raises: GraphTypeError for an op that has no sparse meaning, with what to call instead.
    """
    if isinstance(op, ViewOp):
        return viewed(op, *inputs)
    found = COUNTERPARTS.get(op.name)
    if found is not None and (op.name not in ("true_div", "pow") or is_sparse(inputs[0])):
        return found(*inputs)
    near = f"structured_{op.name}"
    names = [f"sp.{near} acts on stored entries"] if hasattr(structured, near) else []
    raise GraphTypeError(
        f"{op.name}: not defined for a sparse matrix",
        lines=[x.describe() for x in inputs if isinstance(x, Variable)],
        hint=", ".join([*names, "sp.dense_from_sparse makes it dense"]),
    )
