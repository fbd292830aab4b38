"""The `aot` dialect: the few tensor operations that upstream MLIR has no op for.

    aot.check %ok, %found, %expected {number, kind, message}      stop with an error unless %ok
    aot.reshape %x[%sizes] : tensor<?xf64> -> tensor<?x?xf64>     the same elements in C order
    aot.cumulate %x {axis, kind} : tensor<?xf64>                  running sum or product
    aot.recur %a, %c {axis, fastmath} : tensor<?xf64>             y[k] = a[k] * y[k - 1] + c[k]
    aot.scatter %y into %x[%i, %j] {kind, axes, start}            %x with %y put to, or added at, the places of %i, %j
    aot.nonzero %m[%count] : tensor<?xi1> -> tensor<?xi64>       positions of what is true, one vector per axis
    aot.sort %x {axis} : tensor<?xf64> -> tensor<?xf64>, tensor<?xi64>   stable, nan last, with the permutation

They exist at tensor level only; lower-to-loops replaces each by loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import (
    I64,
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    IntegerType,
    StringAttr,
    TensorType,
    UnitAttr,
    i64,
)
from xdsl.ir import Attribute, Dialect, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    base,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

DYNAMIC = -(2**63)


@irdl_op_definition
class CheckOp(IRDLOperation):
    """Stop with error `number` unless the condition holds; the message may name `{found}` and `{expected}`."""

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


@irdl_op_definition
class ReshapeOp(IRDLOperation):
    """The elements of a tensor in C order under another shape; one size per dynamic dim of the result."""

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
class CumulateOp(IRDLOperation):
    """Running sum (`add`) or product (`mul`) along an axis."""

    name = "aot.cumulate"
    T: ClassVar = VarConstraint("T", base(TensorType))
    source = operand_def(T)
    result = result_def(T)
    axis = prop_def(IntegerAttr[I64])
    kind = prop_def(StringAttr)
    traits = traits_def(Pure())
    assembly_format = "$kind $axis $source attr-dict `:` type($source)"

    def __init__(self, kind: str, source: SSAValue, axis: int) -> None:
        super().__init__(
            operands=[source],
            result_types=[source.type],
            properties={"axis": IntegerAttr(axis, i64), "kind": StringAttr(kind)},
        )


@irdl_op_definition
class RecurOp(IRDLOperation):
    """result[k] = factors[k]·result[k − 1] + terms[k] along an axis, from 0."""

    name = "aot.recur"
    T: ClassVar = VarConstraint("T", base(TensorType))
    factors = operand_def(T)
    terms = operand_def(T)
    result = result_def(T)
    axis = prop_def(IntegerAttr[I64])
    fastmath = prop_def(FastMathFlagsAttr)
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(Pure())
    assembly_format = "$axis $factors `,` $terms attr-dict `:` type($result)"

    def __init__(self, factors: SSAValue, terms: SSAValue, axis: int, fastmath: FastMathFlagsAttr) -> None:
        super().__init__(
            operands=[factors, terms],
            result_types=[factors.type],
            properties={"axis": IntegerAttr(axis, i64), "fastmath": fastmath},
        )


@irdl_op_definition
class ScatterOp(IRDLOperation):
    """dest with the elements of source put to (`set`), or added at (`add`), places along `axes`.

    indices: one integer tensor per axis, not of rank 0, with values from −extent on; they broadcast along static
    extents of 1. source has their axes from axis `start` on, around them the other axes of dest. At a repeated place
    every term is added, or the last value stays, in the order of the elements of source.
    """

    name = "aot.scatter"
    T: ClassVar = VarConstraint("T", base(TensorType))
    dest = operand_def(T)
    source = operand_def(TensorType)
    indices = var_operand_def(TensorType)
    result = result_def(T)
    kind = prop_def(StringAttr)
    axes = prop_def(DenseArrayBase)
    start = prop_def(IntegerAttr[I64])
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(Pure())
    assembly_format = (
        "$kind $start $source `into` $dest `[` $indices `]` attr-dict `:` type($source) `into` type($dest) "
        "`[` type($indices) `]`"
    )

    def __init__(
        self, kind: str, dest: SSAValue, source: SSAValue, axes: Sequence[int], indices: Sequence[SSAValue], start: int
    ) -> None:
        super().__init__(
            operands=[dest, source, indices],
            result_types=[dest.type],
            properties={
                "kind": StringAttr(kind),
                "axes": DenseArrayBase.from_list(i64, list(axes)),
                "start": IntegerAttr(start, i64),
            },
        )

    def verify_(self) -> None:
        if len(self.axes.get_values()) != len(self.indices):
            raise VerifyException("one tensor of indices is needed for each axis")


@irdl_op_definition
class NonzeroOp(IRDLOperation):
    """Positions of the true elements in C order, one vector per axis; `count` says how many there are."""

    name = "aot.nonzero"
    source = operand_def(TensorType)
    count = operand_def(IndexType)
    positions = var_result_def(TensorType)
    traits = traits_def(Pure())
    assembly_format = "$source `[` $count `]` attr-dict `:` type($source) `->` type($positions)"

    def __init__(self, source: SSAValue, count: SSAValue) -> None:
        assert isinstance(source.type, TensorType)
        vector: Attribute = TensorType(i64, [DYNAMIC])
        super().__init__(operands=[source, count], result_types=[[vector] * len(source.type.get_shape())])

    def verify_(self) -> None:
        assert isinstance(self.source.type, TensorType)
        if len(self.source.type.get_shape()) != len(self.positions):
            raise VerifyException("one vector of positions is needed for each axis")


@irdl_op_definition
class SortOp(IRDLOperation):
    """Values in ascending order along an axis, stable, nan last; and the permutation that sorts them."""

    name = "aot.sort"
    source = operand_def(TensorType)
    values = result_def(TensorType)
    permutation = result_def(TensorType)
    axis = prop_def(IntegerAttr[I64])
    unsigned = opt_prop_def(UnitAttr)
    traits = traits_def(Pure())
    assembly_format = (
        "$axis (`unsigned` $unsigned^)? $source attr-dict `:` type($source) `->` type($values) `,` type($permutation)"
    )

    def __init__(self, source: SSAValue, axis: int, permutation_type: Attribute, is_unsigned: bool) -> None:
        super().__init__(
            operands=[source],
            result_types=[source.type, permutation_type],
            properties={"axis": IntegerAttr(axis, i64)} | ({"unsigned": UnitAttr()} if is_unsigned else {}),
        )


AOT = Dialect("aot", [CheckOp, ReshapeOp, CumulateOp, RecurOp, ScatterOp, NonzeroOp, SortOp], [])
