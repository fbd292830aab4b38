"""The `aot` dialect: the few tensor operations that upstream MLIR has no op for.

    aot.check %ok, %found, %expected {number, kind, message}      stop with an error unless %ok
    aot.reshape %x[%sizes] : tensor<?xf64> -> tensor<?x?xf64>     the same elements in C order
    aot.extract_if %c, %x[%i, %j], %y : tensor<?x?xf64>           %x[%i, %j] if %c, else %y
    aot.cumulate %x {axis, kind} : tensor<?xf64>                  running sum or product
    aot.recur %a, %c {axis, fastmath} : tensor<?xf64>             y[k] = a[k] * y[k - 1] + c[k]
    aot.scatter %y into %x[%i, %j] {kind, axes, start}            %x with %y put to, or added at, the indices %i, %j
    aot.nonzero %m[%count] : tensor<?xi1> -> tensor<?xi64>       positions of true elements, one vector per axis
    aot.lapack "kind" %a, %b [%n] {options} : ... -> ..., i64     linear algebra on matrices, batch by batch
    aot.product_at %a by %b at (%p, ...) [%n]                     sums of products of elements at positions
    aot.sort %x {axis} : tensor<?xf64> -> tensor<?xf64>, tensor<?xi64>   stable, nan last, with the permutation
    aot.select "kind" %x at %k : tensor<?xf64> -> tensor<?xi64>   positions of elements by rank, without sorting

They exist at tensor and nest level; emit-loops replaces each by loops.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Final

import numpy as np
from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import (
    I64,
    DictionaryAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    StringAttr,
    TensorType,
    UnitAttr,
    i1,
    i64,
)
from xdsl.dialects.utils.fast_math import FastMathFlag
from xdsl.ir import Attribute, Dialect, SSAValue
from xdsl.irdl import (
    AnyAttr,
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    base,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from aotensor.core.types import Array
from aotensor.ir.dialect_control import BranchOp, ScanOp
from aotensor.ir.dialect_sparse import INDEXED

DYNAMIC = -(2**63)


@irdl_op_definition
class CheckOp(IRDLOperation):
    """A check: stop with error `number` unless the condition holds; the message may have `{found}`, `{expected}`."""

    name = "aot.check"
    condition = operand_def(IntegerType(1))
    found = operand_def(IndexType)
    expected = operand_def(IndexType)
    number = prop_def(IntegerAttr[I64])
    kind = prop_def(StringAttr)
    message = prop_def(StringAttr)
    assembly_format = "$number $kind $message `,` $condition `,` $found `,` $expected attr-dict"

    def __init__(
        self, number: int, kind: str, message: str, condition: SSAValue, found: SSAValue, expected: SSAValue
    ) -> None:
        super().__init__(
            operands=[condition, found, expected],
            properties={
                "number": IntegerAttr(number, i64),
                "kind": StringAttr(kind),
                "message": StringAttr(message),
            },
        )

    def renumber(self, number: int) -> None:
        """Set the number of the check's error."""
        self.properties["number"] = IntegerAttr(number, i64)


@irdl_op_definition
class ReshapeOp(IRDLOperation):
    """The elements of a tensor in C order with another shape.   sizes: one extent per dynamic dim of the result"""

    name = "aot.reshape"
    source = operand_def(TensorType)
    sizes = var_operand_def(IndexType)
    result = result_def(TensorType)
    traits = traits_def(Pure())
    assembly_format = "$source `[` $sizes `]` attr-dict `:` type($source) `->` type($result)"

    def __init__(self, source: SSAValue, sizes: Sequence[SSAValue], result_type: Attribute) -> None:
        super().__init__(operands=[source, sizes], result_types=[result_type])

    def verify_(self) -> None:
        result = self.result.type
        assert isinstance(result, TensorType)
        if result.get_shape().count(DYNAMIC) != len(self.sizes):
            raise VerifyException("one size is needed for each dynamic dim of the result")


@irdl_op_definition
class ExtractIfOp(IRDLOperation):
    """An element of a tensor where a condition holds, otherwise a default; then nothing is read.

    It occurs in the bodies of generics and statements, like `tensor.extract`.
    """

    name = "aot.extract_if"
    T: ClassVar = VarConstraint("T", AnyAttr())
    condition = operand_def(IntegerType(1))
    tensor = operand_def(TensorType.constr(T))
    indices = var_operand_def(IndexType)
    otherwise = operand_def(T)
    result = result_def(T)
    traits = traits_def(Pure())
    assembly_format = "$condition `,` $tensor `[` $indices `]` `,` $otherwise attr-dict `:` type($tensor)"

    def __init__(self, condition: SSAValue, tensor: SSAValue, indices: Sequence[SSAValue], otherwise: SSAValue) -> None:
        super().__init__(operands=[condition, tensor, indices, otherwise], result_types=[otherwise.type])

    def verify_(self) -> None:
        assert isinstance(self.tensor.type, TensorType)
        if len(self.tensor.type.get_shape()) != len(self.indices):
            raise VerifyException("one index is needed for each axis")


class LinesOp(IRDLOperation):
    """An operation on the lines of its first operand along one axis, each of them on its own."""

    traits = traits_def(Pure())

    @abstractmethod
    def reference(self, *operands: Array) -> Sequence[Array]:
        """The results in NumPy. Integers are signed, whatever the operation reads them as."""

    def result_shapes(self, shape_of: Callable[[SSAValue], tuple[Any, ...]]) -> Mapping[SSAValue, tuple[Any, ...]]:
        """The extents of each result by those of tensors: of the first operand by default."""
        return dict.fromkeys(self.results, shape_of(self.operands[0]))


@irdl_op_definition
class CumulateOp(LinesOp):
    """Running sum (`add`) or product (`mul`) along an axis.

    reverse: from the last element to the first. fastmath: flags of floating-point additions
    """

    name = "aot.cumulate"
    T: ClassVar = VarConstraint("T", base(TensorType))
    source = operand_def(T)
    result = result_def(T)
    axis = prop_def(IntegerAttr[I64])
    kind = prop_def(StringAttr)
    reverse = opt_prop_def(UnitAttr)
    fastmath = opt_prop_def(FastMathFlagsAttr)
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$kind $axis $source (`reverse` $reverse^)? attr-dict `:` type($source)"

    def __init__(
        self, kind: str, source: SSAValue, axis: int, fastmath: FastMathFlagsAttr | None, is_reverse: bool
    ) -> None:
        super().__init__(
            operands=[source],
            result_types=[source.type],
            properties={
                "axis": IntegerAttr(axis, i64),
                "kind": StringAttr(kind),
                "reverse": UnitAttr() if is_reverse else None,
                "fastmath": fastmath,
            },
        )

    def reference(self, *operands: Array) -> Sequence[Array]:
        (x,), axis = operands, self.axis.value.data
        rule = np.add if self.kind.data == "add" else np.multiply
        if self.reverse is None:
            return [rule.accumulate(x, axis=axis, dtype=x.dtype)]
        return [np.flip(rule.accumulate(np.flip(x, axis), axis=axis, dtype=x.dtype), axis)]

    @property
    def is_reassociable(self) -> bool:
        """May the terms of its sums be reassociated?"""
        return self.fastmath is not None and FastMathFlag.REASSOC in self.fastmath.data


@irdl_op_definition
class RecurOp(LinesOp):
    """A linear recurrence along an axis: result[k] = factors[k]·result[k − 1] + terms[k], with result[−1] = 0.

    reverse: result[k] = factors[k]·result[k + 1] + terms[k], from the last element to the first
    """

    name = "aot.recur"
    T: ClassVar = VarConstraint("T", base(TensorType))
    factors = operand_def(T)
    terms = operand_def(T)
    result = result_def(T)
    axis = prop_def(IntegerAttr[I64])
    reverse = opt_prop_def(UnitAttr)
    fastmath = prop_def(FastMathFlagsAttr)
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$axis $factors `,` $terms (`reverse` $reverse^)? attr-dict `:` type($result)"

    def __init__(
        self, factors: SSAValue, terms: SSAValue, axis: int, fastmath: FastMathFlagsAttr, is_reverse: bool
    ) -> None:
        super().__init__(
            operands=[factors, terms],
            result_types=[factors.type],
            properties={
                "axis": IntegerAttr(axis, i64),
                "reverse": UnitAttr() if is_reverse else None,
                "fastmath": fastmath,
            },
        )

    def reference(self, *operands: Array) -> Sequence[Array]:
        factors, result = operands[0], operands[1].copy()
        step = 1 if self.reverse is None else -1
        a, y = (np.moveaxis(x, self.axis.value.data, 0)[::step] for x in (factors, result))
        for k in range(1, len(y)):
            y[k] += a[k] * y[k - 1]
        return [result]


IN_PLACE: Final = {
    "cholesky": 0, "cholesky_pullback": 1, "lu": 0, "lu_adjugate": 0, "lu_inverse": 0, "lu_solve": 2,
    "multiply_triangular": 1, "solve_triangular": 1, "square_repeatedly": 0,
}  # fmt: skip
"""Kind of aot.lapack → the operand that it may overwrite with its first result."""


@irdl_op_definition
class LapackOp(IRDLOperation):
    """A LAPACK computation on every matrix of a batch, by `kind`; `ir.interpreter.lapack` defines each kind.

    All operands and results begin with the same batch dims. sizes: one extent per dynamic dim of the results, in order.
    failure: 0, or the positive failure code of the first matrix of the batch that failed, like LAPACK's `info`. The
    results of a failed matrix are nan if the option `nan_on_failure` is true, else undefined.
    """

    name = "aot.lapack"
    arguments = var_operand_def(TensorType)
    sizes = var_operand_def(IndexType)
    tensors = var_result_def(TensorType)
    failure = result_def(IntegerType(64))
    kind = prop_def(StringAttr)
    options = prop_def(DictionaryAttr)
    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    traits = traits_def(Pure())
    assembly_format = "$kind $arguments `[` $sizes `]` attr-dict `:` type($arguments) `->` type($tensors)"

    def __init__(
        self,
        kind: str,
        arguments: Sequence[SSAValue],
        sizes: Sequence[SSAValue],
        result_types: Sequence[Attribute],
        options: Mapping[str, bool | int | str],
    ) -> None:
        super().__init__(
            operands=[list(arguments), list(sizes)],
            result_types=[list(result_types), i64],
            properties={
                "kind": StringAttr(kind),
                "options": DictionaryAttr({name: _literal(value) for name, value in sorted(options.items())}),
            },
        )

    def verify_(self) -> None:
        shapes = [x.type.get_shape() for x in self.tensors if isinstance(x.type, TensorType)]
        if sum(shape.count(DYNAMIC) for shape in shapes) != len(self.sizes):
            raise VerifyException("one size is needed for each dynamic dim of the results")

    def overwritten(self) -> SSAValue | None:
        """The operand whose memory the first result may reuse, if both have the same type."""
        k = IN_PLACE.get(self.kind.data)
        return self.arguments[k] if k is not None and self.arguments[k].type == self.tensors[0].type else None

    @property
    def is_complex(self) -> bool:
        """Are the matrices complex? Then they have a third axis, of real and imaginary parts."""
        return "is_complex" in self.options.data

    def option(self, name: str) -> bool | int | str:
        """The value of an option of the operation's kind."""
        value = self.options.data[name]
        if isinstance(value, StringAttr):
            return value.data
        assert isinstance(value, IntegerAttr)
        return bool(value.value.data) if value.type == i1 else value.value.data


def _literal(value: bool | int | str) -> Attribute:
    if isinstance(value, str):
        return StringAttr(value)
    return IntegerAttr(int(value), i1 if isinstance(value, bool) else i64)


@irdl_op_definition
class SortOp(LinesOp):
    """Sort along an axis, stable, nan last: the values in ascending order, and the permutation that sorts them."""

    name = "aot.sort"
    source = operand_def(TensorType)
    values = result_def(TensorType)
    permutation = result_def(TensorType)
    axis = prop_def(IntegerAttr[I64])
    unsigned = opt_prop_def(UnitAttr)
    assembly_format = (
        "$axis (`unsigned` $unsigned^)? $source attr-dict `:` type($source) `->` type($values) `,` type($permutation)"
    )

    def __init__(self, source: SSAValue, axis: int, permutation_type: Attribute, is_unsigned: bool) -> None:
        super().__init__(
            operands=[source],
            result_types=[source.type, permutation_type],
            properties={"axis": IntegerAttr(axis, i64)} | ({"unsigned": UnitAttr()} if is_unsigned else {}),
        )

    def reference(self, *operands: Array) -> Sequence[Array]:
        (x,), axis = operands, self.axis.value.data
        permutation = _order(x, axis, self.unsigned is not None)
        return [np.take_along_axis(x, permutation, axis), permutation]


@irdl_op_definition
class SelectOp(LinesOp):
    """Positions along the last axis of the elements at given ranks, in the order of a stable sort with nan last.

    kind: `ranks`: those in a vector, in its order; `first`, `last`: as many as the result has, in ascending order.
    """

    name = "aot.select"
    kind = prop_def(StringAttr)
    source = operand_def(TensorType)
    ranks = opt_operand_def(TensorType)
    positions = result_def(TensorType)
    unsigned = opt_prop_def(UnitAttr)
    assembly_format = (
        "$kind (`unsigned` $unsigned^)? $source (`at` $ranks^ `:` type($ranks))? attr-dict "
        "`:` type($source) `->` type($positions)"
    )

    def __init__(self, kind: str, source: SSAValue, ranks: SSAValue | None, to: Attribute, is_unsigned: bool) -> None:
        flags: dict[str, Attribute] = {"unsigned": UnitAttr()} if is_unsigned else {}
        super().__init__(operands=[source, ranks], result_types=[to], properties={"kind": StringAttr(kind), **flags})

    def reference(self, *operands: Array) -> Sequence[Array]:
        x, *ranks = operands
        order = _order(x, -1, self.unsigned is not None)
        if ranks:
            return [np.take(order, ranks[0], axis=-1)]
        first = 0 if self.kind.data == "first" else x.shape[-1] - self._count()
        return [np.sort(order[..., first : first + self._count()], axis=-1)]

    def result_shapes(self, shape_of: Callable[[SSAValue], tuple[Any, ...]]) -> Mapping[SSAValue, tuple[Any, ...]]:
        last = (self._count(),) if self.ranks is None else shape_of(self.ranks)
        return {self.positions: (*shape_of(self.source)[:-1], *last)}

    def _count(self) -> int:
        """The number of positions in a line."""
        assert isinstance(self.positions.type, TensorType)
        return self.positions.type.get_shape()[-1]


def _order(x: Array, axis: int, is_unsigned: bool) -> Array:
    keys = x.view(f"u{x.dtype.itemsize}") if is_unsigned and x.dtype != np.bool_ else x
    return np.argsort(keys, axis=axis, kind="stable")


AOT = Dialect(
    "aot",
    [
        CheckOp, ReshapeOp, ExtractIfOp, LapackOp, CumulateOp, RecurOp, SortOp, SelectOp, ScanOp, BranchOp,
        *INDEXED,
    ],
    [],
)  # fmt: skip
