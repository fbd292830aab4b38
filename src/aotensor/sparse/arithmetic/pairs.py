"""Elementwise functions of two sparse matrices: one op on the joined pattern, with the function as a parameter.

    f(0, 0) = 0                        →    at what one of them stores           either
    f(x, 0) = f(0, x) = 0, as x·y      →    at what both store                   both
    f(0, x) = 0, as x << y             →    at what the first one stores         first

A function with f(0, 0) ≠ 0 has no sparse value. That an element which is not stored makes 0 of an infinite or nan one
is the rule of products; ops with other derivatives are classes that derive from `PairOp`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from functools import cache
from typing import Any, ClassVar, Final, Literal, TypeAlias

import numpy as np

from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType
from aotensor.errors import AotensorError
from aotensor.graph.variable import Variable
from aotensor.graph.walk import evaluate_all
from aotensor.ops.elementwise.base import Elementwise
from aotensor.sparse.arithmetic.operands import (
    CanonicalOp,
    canonical_pair,
    check_same_shape,
    coordinates_of,
    matrix_at,
    sparse_result,
    with_common_shape,
)
from aotensor.sparse.compressed_axes import TakePresent
from aotensor.sparse.csm import matrix_of, parts_of
from aotensor.sparse.op import Compressed, have_same_pattern
from aotensor.sparse.patterns import on_intersection, on_union, positions_in

Join: TypeAlias = Literal["either", "both", "first"]

JOINS: Final[dict[str, Join]] = {
    "mul": "both", "and_": "both", "int_div": "both", "mod": "both", "trunc_div": "both", "fmod": "both",
    "left_shift": "first", "right_shift": "first", "logical_shift_right": "first", "xlogy": "first", "xlog1py": "first",
}  # fmt: skip
"""Functions of which a zero alone makes a zero, by name. Quotients are those of integers, where x // 0 and x % 0 are 0;
of floats they have no sparse value."""


def join_patterns(join: Join, p: Compressed, q: Compressed) -> tuple[Compressed, Compressed]:
    """Two matrices of one shape, both on the joined pattern in the format of p, with 0 for missing entries."""
    if join != "first":
        return on_union(p, q) if join == "either" else on_intersection(p, q)
    if have_same_pattern(p, q):
        return p, q
    return p, replace(p, data=TakePresent()(q.data, positions_in(p, q)))


@frozen_dataclass
class PairOp(CanonicalOp):
    """f(x, y) of two sparse matrices of any formats, in that of the first, on a join of their patterns.

    What is stored follows from the patterns: explicit zeros and results that are 0 stay. dtypes as of the dense f.
    Gradient: structured, ∂f·z̄ at the stored entries of each.

    Raises: GraphTypeError for dtypes that f does not take, GraphValueError for shapes that differ (at run time where
    they are not known).
    """

    takes_blocks: ClassVar[bool] = True
    function: Elementwise = field(repr=False)
    join: Join = field(repr=False)

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"{self.function.name.removesuffix('_')}_s_s"

    @property
    def notation(self) -> str:  # type: ignore[override]
        return self.function.notation

    def infer_type(self, x: TensorType, y: TensorType) -> TensorType:
        return sparse_result(self, x, y, _entry_function(self.function, x.dtype, y.dtype)[1].dtype)

    def reference(self, x: Any, y: Any) -> Any:
        check_same_shape(self, x, y)
        x, y = canonical_pair(x, y)
        at_x, at_y = coordinates_of(x), coordinates_of(y)
        found = at_x if self.join == "first" else (np.union1d if self.join == "either" else np.intersect1d)(at_x, at_y)
        values = [_entries_at(found, at, m.data) for at, m in ((at_x, x), (at_y, y))]
        return matrix_at(found, _value(self.function, *values), x)

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable] | None:
        p, q = join_patterns(self.join, *with_common_shape(*map(parts_of, inputs)))
        return [matrix_of(replace(p, data=self.function(p.data, q.data)))]


def _entry_function(function: Elementwise, *dtypes: str, rank: int = 1) -> tuple[list[Variable], Variable]:
    """(symbols for entries of two matrices, the function applied to them)."""
    slots = [Variable(TensorType(dtype, (None,) * rank)) for dtype in dtypes]
    return slots, function(*slots)


def _value(function: Elementwise, *entries: Array) -> Array:
    slots, y = _entry_function(function, *(x.dtype.name for x in entries), rank=entries[0].ndim)
    return np.asarray(evaluate_all([y], dict(zip(slots, entries, strict=True)))[0])


def _entries_at(found: Array, at: Array, data: Array) -> Array:
    """The entries of a matrix at sorted element numbers `found`, 0 if it has none.   at: element numbers of `data`"""
    result = np.zeros((len(found), *data.shape[1:]), data.dtype)
    is_found = np.isin(at, found, assume_unique=True)
    result[np.searchsorted(found, at[is_found])] = data[is_found]
    return result


@cache
def keeps_zero(function: Elementwise, *dtypes: str) -> bool:
    """Is f(0, 0) = 0 in these dtypes?"""
    try:
        return bool(_value(function, *(np.zeros(1, dtype) for dtype in dtypes))[0] == 0)
    except AotensorError:
        return False  # it takes none of them, or asks for more than zeros


def pair(function: Elementwise, x: Variable, y: Variable) -> Variable | None:
    """An elementwise function of two sparse matrices; None if f(0, 0) is not 0, or it depends on one operand only.

    Raises: as `PairOp`.
    """
    if function.row.unread or not keeps_zero(function, x.dtype, y.dtype):
        return None
    return PairOp(function, JOINS.get(function.name, "either"))(x, y)  # type: ignore[no-any-return]
