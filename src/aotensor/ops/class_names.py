"""Functions with the class names of other frameworks: `Op(parameters)` there is a call of a function here.

    AdvancedSubtensor1()(x, rows)      CAReduce(maximum, axis=1)(x)      MaxAndArgmax(axis=0)(x)

A class of ours that has such a name (Subtensor, Join, Reshape, ...) is in its own module.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

from numpy.typing import DTypeLike

from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.op import Op
from aotensor.graph.variable import Variable, as_tensor
from aotensor.ops.contract import dot, outer, tensordot
from aotensor.ops.elementwise.arithmetic import add, identity, maximum, minimum, mul
from aotensor.ops.elementwise.base import Elementwise
from aotensor.ops.elementwise.compare import and_, or_
from aotensor.ops.index import index_array
from aotensor.ops.integer_indexing import AdvancedSubtensor, IncAdvancedSubtensor
from aotensor.ops.ranges import arange
from aotensor.ops.reduce.extremum import max, max_and_argmax, min
from aotensor.ops.reduce.sums import Axes, all, any, prod, sum
from aotensor.ops.reduce.without_zeros import mul_without_zeros
from aotensor.ops.shape.broadcast import specify_broadcastable
from aotensor.ops.shape.rearrange import tile
from aotensor.ops.shape.reshape import flatten
from aotensor.ops.unique import unique

Made: TypeAlias = Callable[..., Any]

Elemwise = Elementwise

_REDUCTIONS: Final[dict[Elementwise, Made]] = {
    add: sum, mul: prod, maximum: max, minimum: min, and_: all, or_: any,
}  # fmt: skip


def advanced_subtensor1(x: Any, indices: Any) -> Variable:
    """x[indices] for a vector of integers.   Raises: GraphTypeError for anything else."""
    return AdvancedSubtensor((0,))(_with_rows(x), _vector(indices))  # type: ignore[no-any-return]


def advanced_inc_subtensor1(x: Any, y: Any, indices: Any) -> Variable:
    """A copy of x with y added to x[indices] for a vector of integers; repeated rows get every term."""
    return IncAdvancedSubtensor((0,))(_with_rows(x), y, _vector(indices))  # type: ignore[no-any-return]


def advanced_set_subtensor1(x: Any, y: Any, indices: Any) -> Variable:
    """A copy of x with y assigned to x[indices] for a vector of integers; the last of repeated rows is kept."""
    return IncAdvancedSubtensor((0,), is_set=True)(_with_rows(x), y, _vector(indices))  # type: ignore[no-any-return]


def _with_rows(x: Any) -> Variable:
    x = as_tensor(x)
    if x.ndim == 0:
        raise GraphTypeError("expected a tensor with rows, found a scalar", lines=[x.describe()])
    return x  # type: ignore[no-any-return]


def _vector(indices: Any) -> Variable:
    found = index_array(indices)
    if found.ndim != 1:
        raise GraphTypeError(f"the row indices must be a vector, not {found.type}", lines=[found.describe()])
    return found


def AdvancedSubtensor1() -> Made:
    """(x, indices) → x[indices]"""
    return advanced_subtensor1


def AdvancedIncSubtensor1(inplace: bool = False, set_instead_of_inc: bool = False) -> Made:
    """(x, y, indices) → a copy of x with y added to, or put to, x[indices].   inplace: has no effect."""
    return advanced_set_subtensor1 if set_instead_of_inc else advanced_inc_subtensor1


def AdvancedIncSubtensor(
    inplace: bool = False, set_instead_of_inc: bool = False, axes: Sequence[int] | None = None
) -> Made:
    """(x, y, *indices) → a copy of x with y added to, or put to, the positions that `indices` name along `axes`.

    axes: the first ones by default.
    """

    def apply(x: Any, y: Any, *indices: Any) -> Variable:
        chosen = tuple(range(len(indices)) if axes is None else axes)
        positions = [index_array(i) for i in indices]
        return IncAdvancedSubtensor(chosen, set_instead_of_inc)(x, y, *positions)  # type: ignore[no-any-return]

    return apply


def ARange(dtype: DTypeLike) -> Made:
    """(start, stop, step) → `arange` in a dtype"""
    return partial(arange, dtype=dtype)


def CAReduce(scalar_op: Elementwise, axis: Axes = None) -> Made:
    """x → its reduction over axes by add, mul, maximum, minimum, and_ or or_.   Raises: GraphValueError for other
    ops.
    """
    if scalar_op not in _REDUCTIONS:
        names = ", ".join(op.name for op in _REDUCTIONS)
        raise GraphValueError(f"CAReduce: scalar_op must be one of {names}, not {scalar_op}")
    return partial(_REDUCTIONS[scalar_op], axis=axis)


def Dot() -> Made:
    """(x, y) → dot(x, y)"""
    return dot


def Flatten(ndim: int = 1) -> Made:
    """x → flatten(x, ndim)"""
    return partial(flatten, ndim=ndim)


def MaxAndArgmax(axis: Axes = None) -> Made:
    """x → (max(x), argmax(x)) over axes"""
    return partial(max_and_argmax, axis=axis)


def MulWithoutZeros() -> Op:
    """(x, y) → x · y, where a factor of 0 counts as 1"""
    return mul_without_zeros


def Outer() -> Made:
    """(x, y) → outer(x, y)"""
    return outer


def Rebroadcast(*axes: tuple[int, bool]) -> Made:
    """x → x, checked to have extent 1 along the axes marked true; axes marked false are ignored here."""
    return lambda x: specify_broadcastable(x, *(axis for axis, is_one in axes if is_one))


def ScalarFromTensor() -> Made:
    """x → x, which must have rank 0: a scalar is a tensor of rank 0 here.   Raises: GraphTypeError for another rank."""
    return scalar_from_tensor


def TensorFromScalar() -> Made:
    """x → x, which must have rank 0: a scalar is a tensor of rank 0 here.   Raises: GraphTypeError for another rank."""
    return scalar_from_tensor


def scalar_from_tensor(x: Any) -> Variable:
    """x as a new variable: a tensor of rank 0 is a scalar here.   Raises: GraphTypeError for another rank."""
    x = as_tensor(x)
    if x.ndim != 0:
        raise GraphTypeError(f"expected a scalar, found rank {x.ndim}", lines=[x.describe()])
    return identity(x)


tensor_from_scalar = scalar_from_tensor


def TensorDot(axes: Any) -> Made:
    """(x, y) → tensordot(x, y, axes)"""
    return partial(tensordot, axes=axes)


def Tile(ndim: int | None = None) -> Made:
    """(x, reps) → tile(x, reps).   ndim: the rank of the result, which follows from the two here."""
    return tile


def Unique(
    return_index: bool = False, return_inverse: bool = False, return_counts: bool = False, axis: int | None = None
) -> Made:
    """x → unique(x) with these options"""
    options = {"return_index": return_index, "return_inverse": return_inverse, "return_counts": return_counts}
    return partial(unique, axis=axis, **options)
