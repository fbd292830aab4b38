"""Operations of the `aot` dialect with index operands: compressed axes, scatters and products at positions.

Entry p of a compressed axis is in slice i if indptr[i] ≤ p < indptr[i + 1].

They occur alone or fused: the loop fuser knows that the entries of all slices, one slice after the other, are all
entries, and runs entrywise operations in the same pair of loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import (
    I64,
    AnyFloat,
    ArrayAttr,
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    StringAttr,
    TensorType,
    UnitAttr,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    AttrSizedResultSegments,
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
_TABLES: Final = 9


@irdl_op_definition
class SegmentSumOp(IRDLOperation):
    """Sum of entries by slice: result[i, …] = init[i, …] + Σ source[p, …] over the entries p of slice i."""

    name = "aot.segment_sum"
    T: ClassVar = VarConstraint("T", base(TensorType))
    source = operand_def(TensorType)
    indptr = operand_def(TensorType)
    init = operand_def(T)
    result = result_def(T)
    fastmath = prop_def(FastMathFlagsAttr)
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(Pure())
    assembly_format = (
        "$source `by` $indptr `from` $init attr-dict `:` type($source) `by` type($indptr) `from` type($init)"
    )

    def __init__(self, source: SSAValue, indptr: SSAValue, init: SSAValue, fastmath: FastMathFlagsAttr) -> None:
        super().__init__(operands=[source, indptr, init], result_types=[init.type], properties={"fastmath": fastmath})


@irdl_op_definition
class ExpandSlicesOp(IRDLOperation):
    """Copy of a slice's value to its entries: result[p, …] = source[i, …] for the entries p of slice i.

    `into` is a tensor with the extents of the result.
    """

    name = "aot.expand_slices"
    T: ClassVar = VarConstraint("T", base(TensorType))
    source = operand_def(TensorType)
    indptr = operand_def(TensorType)
    into = operand_def(T)
    result = result_def(T)
    traits = traits_def(Pure())
    assembly_format = (
        "$source `by` $indptr `into` $into attr-dict `:` type($source) `by` type($indptr) `into` type($into)"
    )

    def __init__(self, source: SSAValue, indptr: SSAValue, into: SSAValue) -> None:
        super().__init__(operands=[source, indptr, into], result_types=[into.type])


@irdl_op_definition
class SumAtOp(IRDLOperation):
    """Reduction by index: result[k, …] = init[k, …] + Σ source[p, …] over all p with indices[p] = k.

    All indices must be valid positions.
    """

    name = "aot.sum_at"
    T: ClassVar = VarConstraint("T", base(TensorType))
    source = operand_def(TensorType)
    indices = operand_def(TensorType)
    init = operand_def(T)
    result = result_def(T)
    fastmath = prop_def(FastMathFlagsAttr)
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(Pure())
    assembly_format = (
        "$source `at` $indices `from` $init attr-dict `:` type($source) `at` type($indices) `from` type($init)"
    )

    def __init__(self, source: SSAValue, indices: SSAValue, init: SSAValue, fastmath: FastMathFlagsAttr) -> None:
        super().__init__(operands=[source, indices, init], result_types=[init.type], properties={"fastmath": fastmath})


@irdl_op_definition
class ScatterOp(IRDLOperation):
    """`dest` with the elements of `source` stored (`set`) or added (`add`) at positions along `axes`.

    indices: one integer tensor per axis, of rank at least 1, with values from −extent on; they broadcast along static
    extents of 1. source has their axes from axis `start` on, surrounded by the other axes of dest. At a repeated
    position every term is added, or the last value is kept, in the order of the elements of source. fastmath: flags of
    the additions, if they become a sum.
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
    fastmath = opt_prop_def(FastMathFlagsAttr)
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(Pure())
    assembly_format = (
        "$kind $start $source `into` $dest `[` $indices `]` attr-dict `:` type($source) `into` type($dest) "
        "`[` type($indices) `]`"
    )

    def __init__(
        self,
        kind: str,
        dest: SSAValue,
        source: SSAValue,
        axes: Sequence[int],
        indices: Sequence[SSAValue],
        start: int,
        fastmath: FastMathFlagsAttr | None = None,
    ) -> None:
        super().__init__(
            operands=[dest, source, indices],
            result_types=[dest.type],
            properties={
                "kind": StringAttr(kind),
                "axes": DenseArrayBase.from_list(i64, list(axes)),
                "start": IntegerAttr(start, i64),
                **({} if fastmath is None else {"fastmath": fastmath}),
            },
        )

    def verify_(self) -> None:
        if len(self.axes.get_values()) != len(self.indices):
            raise VerifyException("one tensor of indices is needed for each axis")


@irdl_op_definition
class PatternOp(IRDLOperation):
    """Computation on the patterns of compressed matrices, by `kind`; `ir.interpreter.patterns` defines each kind.

    extents: extents of axes that no operand has, such as the bound of the indices. sizes: one extent per dynamic dim of
    the results, in order. is_whole: is the pattern of a product of values known to contain all entries of the product?
    """

    name = "aot.pattern"
    arguments = var_operand_def(TensorType)
    extents = var_operand_def(IndexType)
    sizes = var_operand_def(IndexType)
    tensors = var_result_def(TensorType)
    kind = prop_def(StringAttr)
    fastmath = prop_def(FastMathFlagsAttr)
    is_whole = opt_prop_def(UnitAttr)
    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    traits = traits_def(Pure())
    assembly_format = (
        "$kind (`whole` $is_whole^)? $arguments `over` `(` $extents `)` `[` $sizes `]` attr-dict `:` type($arguments) "
        "`->` type($tensors)"
    )

    def __init__(
        self,
        kind: str,
        arguments: Sequence[SSAValue],
        extents: Sequence[SSAValue],
        sizes: Sequence[SSAValue],
        result_types: Sequence[Attribute],
        fastmath: FastMathFlagsAttr,
        is_whole: bool = False,
    ) -> None:
        flags = {"is_whole": UnitAttr()} if is_whole else {}
        super().__init__(
            operands=[list(arguments), list(extents), list(sizes)],
            result_types=[list(result_types)],
            properties={"kind": StringAttr(kind), "fastmath": fastmath, **flags},
        )

    def verify_(self) -> None:
        shapes = [x.type.get_shape() for x in self.tensors if isinstance(x.type, TensorType)]
        if sum(shape.count(DYNAMIC) for shape in shapes) != len(self.sizes):
            raise VerifyException("one size is needed for each dynamic dim of the results")


@irdl_op_definition
class DirectOp(IRDLOperation):
    """A step of a sparse direct solver, by `kind`; `ir.interpreter.direct` defines each kind.

    The extents of the results' dynamic dims are, in order, `sizes` and then `counts`, which the step computes.
    """

    name = "aot.direct"
    arguments = var_operand_def(TensorType)
    sizes = var_operand_def(IndexType)
    tensors = var_result_def(TensorType)
    counts = var_result_def(IndexType)
    kind = prop_def(StringAttr)
    irdl_options = (
        AttrSizedOperandSegments(as_property=True),
        AttrSizedResultSegments(as_property=True),
        ParsePropInAttrDict(),
    )
    traits = traits_def(Pure())
    assembly_format = (
        "$kind $arguments `[` $sizes `]` attr-dict `:` type($arguments) `->` type($tensors) `count` type($counts)"
    )

    def __init__(
        self, kind: str, arguments: Sequence[SSAValue], sizes: Sequence[SSAValue], result_types: Sequence[Attribute]
    ) -> None:
        dynamic = sum(x.get_shape().count(DYNAMIC) for x in result_types if isinstance(x, TensorType))
        super().__init__(
            operands=[list(arguments), list(sizes)],
            result_types=[list(result_types), [IndexType()] * (dynamic - len(sizes))],
            properties={"kind": StringAttr(kind)},
        )

    def verify_(self) -> None:
        shapes = [x.type.get_shape() for x in self.tensors if isinstance(x.type, TensorType)]
        if sum(shape.count(DYNAMIC) for shape in shapes) != len(self.sizes) + len(self.counts):
            raise VerifyException("one size or count is needed for each dynamic dim of the results")


@irdl_op_definition
class KernelOp(IRDLOperation):
    """The outputs of the kernel of a user's op; `aotensor.kernels.op_kernel.KERNELS` has its function.

    arguments: tensors, and scalars for those of rank 0. sizes: one extent per dynamic dim of the results, in order;
    results of rank 0 have one element. dtypes: of arguments and results, which signless integers do not tell.
    batched: 1 for arguments with a leading axis of samples, which the results then have, too. numbers: 1 for results of
    rank 0.
    """

    name = "aot.kernel"
    arguments = var_operand_def()
    sizes = var_operand_def(IndexType)
    tensors = var_result_def(TensorType)
    kernel = prop_def(StringAttr)
    dtypes = prop_def(ArrayAttr[StringAttr])
    batched = prop_def(DenseArrayBase)
    numbers = prop_def(DenseArrayBase)
    fastmath = prop_def(FastMathFlagsAttr)
    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    traits = traits_def(Pure())
    assembly_format = "$kernel $arguments `[` $sizes `]` attr-dict `:` type($arguments) `->` type($tensors)"

    def __init__(
        self,
        kernel: str,
        arguments: Sequence[SSAValue],
        sizes: Sequence[SSAValue],
        result_types: Sequence[Attribute],
        dtypes: Sequence[str],
        batched: Sequence[bool],
        numbers: Sequence[bool],
        fastmath: FastMathFlagsAttr,
    ) -> None:
        super().__init__(
            operands=[list(arguments), list(sizes)],
            result_types=[list(result_types)],
            properties={
                "kernel": StringAttr(kernel),
                "dtypes": ArrayAttr(map(StringAttr, dtypes)),
                "batched": DenseArrayBase.from_list(i64, list(map(int, batched))),
                "numbers": DenseArrayBase.from_list(i64, list(map(int, numbers))),
                "fastmath": fastmath,
            },
        )

    @property
    def is_batched(self) -> list[bool]:
        """Has each argument a leading axis of samples?"""
        return [bool(n) for n in self.batched.get_values()]

    @property
    def is_number(self) -> list[bool]:
        """Has each result rank 0?"""
        return [bool(n) for n in self.numbers.get_values()]

    def dtypes_of(self) -> tuple[list[str], list[str]]:
        """The dtypes of the arguments, and of the results."""
        found = [x.data for x in self.dtypes]
        return found[: len(self.arguments)], found[len(self.arguments) :]

    def verify_(self) -> None:
        shapes = [x.type.get_shape() for x in self.tensors if isinstance(x.type, TensorType)]
        if sum(shape.count(DYNAMIC) for shape in shapes) != len(self.sizes):
            raise VerifyException("one size is needed for each dynamic dim of the results")
        if len(self.dtypes) != len(self.arguments) + len(self.tensors):
            raise VerifyException("one dtype is needed for each argument and result")


@irdl_op_definition
class ProductAtOp(IRDLOperation):
    """result[cg + ci + cj] = Σ_p a[ag + ai + ap]·b[bg + bp + bj] for every g, i and j, in C order of the tensors.

    positions: nine vectors of int64: for a along g, i and p, for b along g, p and j, for the result along g, i and j.
    They address each element of the result once and are in bounds, as the creator of the operation must ensure. sizes:
    one extent per dynamic dim of the result.
    """

    name = "aot.product_at"
    a = operand_def(TensorType)
    b = operand_def(TensorType)
    positions = var_operand_def(TensorType)
    sizes = var_operand_def(IndexType)
    result = result_def(TensorType)
    traits = traits_def(Pure())
    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    assembly_format = (
        "$a `by` $b `at` `(` $positions `)` `[` $sizes `]` attr-dict `:` type($a) `by` type($b) `at` `(`"
        " type($positions) `)` `->` type($result)"
    )

    def __init__(
        self,
        a: SSAValue,
        b: SSAValue,
        positions: Sequence[SSAValue],
        sizes: Sequence[SSAValue],
        result_type: Attribute,
    ) -> None:
        super().__init__(operands=[a, b, list(positions), list(sizes)], result_types=[result_type])

    def verify_(self) -> None:
        if len(self.positions) != _TABLES:
            raise VerifyException("three vectors of positions are needed for each tensor")
        types = [x.type for x in (self.a, self.b, self.result)]
        elements = {x.element_type for x in types if isinstance(x, TensorType)}
        if len(elements) != 1 or not isinstance(elements.pop(), AnyFloat):
            raise VerifyException("the tensors have one floating element type")
        for x in self.positions:
            if not isinstance(x.type, TensorType) or x.type.get_num_dims() != 1 or x.type.element_type != i64:
                raise VerifyException("positions are vectors of int64")
        result = self.result.type
        assert isinstance(result, TensorType)
        if result.get_shape().count(DYNAMIC) != len(self.sizes):
            raise VerifyException("one size is needed for each dynamic dim of the result")


@irdl_op_definition
class NonzeroOp(IRDLOperation):
    """The positions of the true elements of a mask in C order, one vector per axis; `count` is their number."""

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


INDEXED: Final[Sequence[type[IRDLOperation]]] = (
    SegmentSumOp, ExpandSlicesOp, SumAtOp, ScatterOp, PatternOp, DirectOp, KernelOp, ProductAtOp, NonzeroOp,
)  # fmt: skip
"""All of them."""
