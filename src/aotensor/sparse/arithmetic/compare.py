"""Comparisons: of sparse matrices with each other, which give sparse ones, and with dense operands, to dense ones.

Results are uint8, 1 where the comparison holds, as sparse matrices have no bool. Their derivatives are exact zeros.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Final

import numpy as np

from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType
from aotensor.graph.sparse_type import canonical_matrix, scipy_sparse
from aotensor.graph.variable import Variable
from aotensor.ops.create import ones_like
from aotensor.ops.elementwise import compare
from aotensor.ops.elementwise.base import Elementwise
from aotensor.ops.elementwise.compare import cast, invert
from aotensor.ops.linear import DiscreteOp
from aotensor.sparse.arithmetic.add import both_dense, check_fits, check_static_ones, fitted_dims
from aotensor.sparse.arithmetic.operands import (
    CanonicalOp,
    check_same_shape,
    need_operand,
    operands,
    sparse_result,
    with_common_shape,
)
from aotensor.sparse.arithmetic.pairs import Join, PairOp, join_patterns, keeps_zero
from aotensor.sparse.convert import SparseFromDense
from aotensor.sparse.csm import matrix_of, parts_of
from aotensor.sparse.patterns import compress
from aotensor.sparse.sample import densified

RESULT: Final = "uint8"


@frozen_dataclass
class ComparisonSS(DiscreteOp, PairOp):
    """uint8 sparse matrix: 1 where the comparison of two sparse matrices holds; only these elements are stored.

    Formats may differ, that of the first is the result's. `==`, `<=` and `>=` hold where both store nothing: they have
    as many entries as the dense matrix has elements. A stored nan compares as in NumPy.

    Raises: GraphValueError for shapes that differ (at run time where they are not known).
    """

    takes_blocks: ClassVar[bool] = False
    join: Join = field(default="either", repr=False)

    def infer_type(self, x: TensorType, y: TensorType) -> TensorType:
        return sparse_result(self, x, y, RESULT)

    def reference(self, x: Any, y: Any) -> Any:
        check_same_shape(self, x, y)
        found = scipy_sparse().coo_matrix(self.function.reference(x.toarray(), y.toarray()).astype(RESULT))
        return canonical_matrix(found.asformat(x.format))

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable] | None:
        p, q = join_patterns(self.join, *with_common_shape(*map(parts_of, inputs)))
        holds = self.function(p.data, q.data)
        if keeps_zero(self.function, p.data.dtype, q.data.dtype):
            found = compress(p, holds)
            return [matrix_of(replace(found, data=ones_like(found.data, RESULT)))]
        fails = densified(replace(p, data=cast(invert(holds), RESULT)))
        return [self._indexed(SparseFromDense(p.format)(cast(compare.eq(fails, 0), RESULT)), p.indices.dtype)]

    def _indexed(self, x: Variable, dtype: str) -> Variable:
        """A SciPy matrix with its indices in the declared index dtype."""
        p = parts_of(x)
        return matrix_of(replace(p, indices=cast(p.indices, dtype), indptr=cast(p.indptr, dtype)))


@frozen_dataclass
class ComparisonSD(DiscreteOp, CanonicalOp):
    """uint8 dense matrix: 1 where the comparison of a sparse matrix with a dense operand holds.

    x: (m, n) sparse; d: (m, n), (1, n), (m, 1), (n,) or a scalar → (m, n)

    Raises: GraphValueError for shapes that do not go together (at run time where they are not known).
    """

    function: Elementwise = field(repr=False)

    def infer_type(self, x: TensorType, d: TensorType) -> TensorType:
        need_operand(self, x, d)
        return TensorType(RESULT, fitted_dims(self.name, x, d))

    def reference(self, x: Any, d: Array) -> Array:
        check_fits(self.name, x, d)
        return np.asarray(self.function.reference(x.toarray(), d), RESULT)

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable] | None:
        p = parts_of(inputs[0])
        return [cast(self.function(densified(p), check_static_ones(self.name, inputs[1], p)), RESULT)]


def _comparison(name: str, base: type[Any], function: Elementwise, symbol: str, takes_complex: bool = False) -> Any:
    """The class of one comparison op, which is pickled by its name."""
    members = {
        "__module__": __name__,
        "__doc__": f"1 where x {symbol} {'y' if base is ComparisonSS else 'd'}.",
        "__annotations__": {"function": Elementwise},
        "function": field(default=function, repr=False),
        "name": re.sub("(?<!^)(?=[A-Z])", "_", name).lower(),
        "takes_complex": takes_complex,
    }
    return dataclass(frozen=True)(type(name, (base,), members))


EqualSS = _comparison("EqualSS", ComparisonSS, compare.eq, "=", takes_complex=True)
EqualSD = _comparison("EqualSD", ComparisonSD, compare.eq, "=", takes_complex=True)
NotEqualSS = _comparison("NotEqualSS", ComparisonSS, compare.neq, "≠", takes_complex=True)
NotEqualSD = _comparison("NotEqualSD", ComparisonSD, compare.neq, "≠", takes_complex=True)
LessThanSS = _comparison("LessThanSS", ComparisonSS, compare.lt, "<")
LessThanSD = _comparison("LessThanSD", ComparisonSD, compare.lt, "<")
GreaterThanSS = _comparison("GreaterThanSS", ComparisonSS, compare.gt, ">")
GreaterThanSD = _comparison("GreaterThanSD", ComparisonSD, compare.gt, ">")
LessEqualSS = _comparison("LessEqualSS", ComparisonSS, compare.le, "≤")
LessEqualSD = _comparison("LessEqualSD", ComparisonSD, compare.le, "≤")
GreaterEqualSS = _comparison("GreaterEqualSS", ComparisonSS, compare.ge, "≥")
GreaterEqualSD = _comparison("GreaterEqualSD", ComparisonSD, compare.ge, "≥")

equal_s_s, equal_s_d = EqualSS(), EqualSD()
not_equal_s_s, not_equal_s_d = NotEqualSS(), NotEqualSD()
less_than_s_s, less_than_s_d = LessThanSS(), LessThanSD()
greater_than_s_s, greater_than_s_d = GreaterThanSS(), GreaterThanSD()
less_equal_s_s, less_equal_s_d = LessEqualSS(), LessEqualSD()
greater_equal_s_s, greater_equal_s_d = GreaterEqualSS(), GreaterEqualSD()


def _switch(
    name: str, with_sparse: ComparisonSS, with_dense: ComparisonSD, swapped: ComparisonSD
) -> Callable[..., Variable]:
    """A function that applies the comparison of two operands, one or both sparse; `swapped` exchanges the operands."""

    def compared(x: Any, y: Any) -> Variable:
        first, second = operands([x, y])
        if first.is_sparse:
            return (with_sparse if second.is_sparse else with_dense)(first, second)  # type: ignore[no-any-return]
        if not second.is_sparse:
            raise both_dense(name, first, second)
        return swapped(second, first)  # type: ignore[no-any-return]

    compared.__name__ = compared.__qualname__ = name
    compared.__doc__ = f"""`{name}` of two operands, at least one sparse, in uint8: sparse if both are, else dense.

    Raises: GraphTypeError if both are dense, GraphValueError for shapes that do not go together.
    """
    return compared


eq: Final = _switch("eq", equal_s_s, equal_s_d, equal_s_d)
neq: Final = _switch("neq", not_equal_s_s, not_equal_s_d, not_equal_s_d)
lt: Final = _switch("lt", less_than_s_s, less_than_s_d, greater_than_s_d)
gt: Final = _switch("gt", greater_than_s_s, greater_than_s_d, less_than_s_d)
le: Final = _switch("le", less_equal_s_s, less_equal_s_d, greater_equal_s_d)
ge: Final = _switch("ge", greater_equal_s_s, greater_equal_s_d, less_equal_s_d)
