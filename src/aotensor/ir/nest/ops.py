"""Operations of the `nest` dialect except its loops: statements on tensors, and declarations of tensors.

    %g = nest.value[%p] init %zero : f64 output 1 : tensor<?xf64>
    nest.for %i in %n {
      %z = nest.value init %zero : f64 : tensor<f64>                 another one for each %i: a register
      nest.for %k in %p jam 4 {
        nest.do(%x = %X[%i, %k] : tensor<?x?xf64>, %v = %w[%k] : tensor<?xf64>) -> (%s = %z[] : tensor<f64>) {
          %m = arith.mulf %x, %v : f64
          %t = arith.addf %s, %m : f64
          nest.yield %t : f64
        }
      }
      …
    }

A tensor is a handle here. `nest.value` declares it, a statement writes its elements, and later operations of the tree
read them. An element of a value with `init` starts at that number and is updated; any other is written once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final, TypeAlias

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    I64,
    ArrayAttr,
    DenseArrayBase,
    IndexType,
    IntAttr,
    IntegerAttr,
    TensorType,
    UnitAttr,
    i64,
)
from xdsl.ir import Attribute, Operation, ParametrizedAttribute, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator
from xdsl.utils.exceptions import VerifyException

from aotensor.ir.nest.loops import LoopOp
from aotensor.ir.nest.segments import create, integers, op_with_segments, optional, sizes_of
from aotensor.ir.nest.syntax import Computing, Subscript, Writing, parse_accesses, print_accesses
from aotensor.ir.types import SEGMENTS


@irdl_op_definition
class YieldOp(IRDLOperation):
    """The terminator of a statement's body, with one number for each output."""

    name = "nest.yield"
    values = var_operand_def()
    traits = traits_def(IsTerminator())
    assembly_format = "($values^ `:` type($values))? attr-dict"

    def __init__(self, *values: SSAValue) -> None:
        Operation.__init__(self, operands=values)


@op_with_segments
class ValueOp(IRDLOperation):
    """Declares a tensor, which lives as long as the region that it is declared in.

    sizes: its dynamic extents. init: start value of every element. over: the value whose memory it reuses. first: in
    iteration 0 of the enclosing loop this value is `first`, and accumulates into it. part, number: in other iterations
    it is row `number` of `part`. output: the number of the output whose memory it uses. lanes: it is a vector register
    with this number of lanes. folded: it holds only the last rows, as many as its first extent, a power of two: row i
    is stored at i modulo that.
    """

    name = "nest.value"
    sizes = var_operand_def(IndexType)
    init = opt_operand_def()
    over = opt_operand_def(TensorType)
    first = opt_operand_def(TensorType)
    part = opt_operand_def(TensorType)
    number = opt_operand_def(IndexType)
    result = result_def(TensorType)
    output = opt_prop_def(IntegerAttr[I64])
    lanes = opt_prop_def(IntegerAttr[I64])
    folded = opt_prop_def(UnitAttr)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "(`[` $sizes^ `]`)? (`init` $init^ `:` type($init))? (`over` $over^ `:` type($over))?"
        " (`first` $first^ `:` type($first))? (`part` $part^ `:` type($part))? (`number` $number^)?"
        " (`output` $output^)?"
        " (`lanes` $lanes^)? (`folded` $folded^)? attr-dict `:` type($result)"
    )

    def __init__(
        self,
        sizes: Sequence[SSAValue],
        result: Attribute,
        init: SSAValue | None = None,
        over: SSAValue | None = None,
        output: int | None = None,
        lanes: int | None = None,
        first: SSAValue | None = None,
        row: tuple[SSAValue, SSAValue] | None = None,
        is_folded: bool = False,
    ) -> None:
        """Create a declaration. row: the operands `part` and `number`."""
        part, number = row or (None, None)
        create(
            self,
            [sizes, *map(optional, (init, over, first, part, number))],
            [result],
            {
                "output": None if output is None else IntegerAttr(output, i64),
                "lanes": None if lanes is None else IntegerAttr(lanes, i64),
                "folded": UnitAttr() if is_folded else None,
            },
        )

    def set_memory(self, over: SSAValue | None = None, output: int | None = None) -> None:
        """Set the memory of the value: that of another value (`over`), or of an output."""
        groups = [self.sizes, *map(optional, (self.init, over, self.first, self.part, self.number))]
        self.operands = [x for group in groups for x in group]
        self.properties[SEGMENTS] = sizes_of(groups)
        if output is None:
            self.properties.pop("output", None)
        else:
            self.properties["output"] = IntegerAttr(output, i64)

    def verify_(self) -> None:
        kind = self.result.type
        assert isinstance(kind, TensorType)
        unknown = kind.get_shape().count(DYNAMIC_INDEX)
        if len(self.sizes) != unknown:
            raise VerifyException(f"it has {len(self.sizes)} sizes for {unknown} unknown extents")
        if self.init is not None and self.init.type != kind.element_type:
            raise VerifyException(f"its initial value is {self.init.type}, but its elements are {kind.element_type}")
        if self.over is not None and self.output is not None:
            raise VerifyException("a value cannot both share the memory of another value and be stored in an output")
        if self.folded is not None and (not kind.get_shape() or kind.get_shape()[0].bit_count() != 1):
            raise VerifyException("a value that keeps only its last rows must keep a power of two of them")
        if self.first is not None and (self.first.type != kind or not isinstance(self.parent_op(), LoopOp)):
            raise VerifyException("operand `first` must have the type of the value, and needs an enclosing loop")
        if (self.part is None) != (self.number is None) or (self.part is not None and self.first is None):
            raise VerifyException("a value that is a row needs a `number` and a `first`")
        if self.part is not None and self.part.type != TensorType(
            kind.element_type, [DYNAMIC_INDEX, *kind.get_shape()]
        ):
            raise VerifyException("a value that is a row must have the type of a row of the other value")


@op_with_segments
class DoOp(IRDLOperation):
    """A statement: read elements, compute, write elements. It runs once in each iteration of the loops around it.

    A loop counter that is missing in an output's subscripts belongs to a dim that the output is reduced over.
    positions: for each access, inputs first, its subscripts as numbers, or a marker for the next one of `subscripts`.
    scatter: the number of the input that holds the index along the first axis of the output.
    """

    name = "nest.do"
    inputs = var_operand_def(TensorType)
    outputs = var_operand_def(TensorType)
    subscripts = var_operand_def(IndexType)
    positions = prop_def(ArrayAttr[DenseArrayBase[I64]])
    scatter = opt_prop_def(IntegerAttr[I64])
    body = region_def("single_block")
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(
        self,
        inputs: Sequence[tuple[SSAValue, Sequence[Subscript]]],
        outputs: Sequence[tuple[SSAValue, Sequence[Subscript]]],
        body: Region,
        scatter: int | None = None,
    ) -> None:
        accesses = [indices for _, indices in (*inputs, *outputs)]
        create(
            self,
            [[x for x, _ in inputs], [x for x, _ in outputs], _values(accesses)],
            properties={
                "positions": _positions(accesses),
                "scatter": None if scatter is None else IntegerAttr(scatter, i64),
            },
            regions=[body],
        )

    def access(self, number: int) -> list[Subscript]:
        """The subscripts of access `number`; inputs are counted first."""
        first = 0
        rows = self.positions.data
        for row in rows[:number]:
            first += integers(row).count(DYNAMIC_INDEX)
        values = iter(self.subscripts[first:])
        return [next(values) if n == DYNAMIC_INDEX else int(n) for n in integers(rows[number])]

    def set_accesses(
        self,
        inputs: Sequence[tuple[SSAValue, Sequence[Subscript]]],
        outputs: Sequence[tuple[SSAValue, Sequence[Subscript]]],
    ) -> None:
        """Replace the accessed tensors and subscripts; the arguments of the body stay the same."""
        accesses = [indices for _, indices in (*inputs, *outputs)]
        groups = [[x for x, _ in inputs], [x for x, _ in outputs], _values(accesses)]
        self.operands = [x for group in groups for x in group]
        self.properties[SEGMENTS] = sizes_of(groups)
        self.properties["positions"] = _positions(accesses)

    @property
    def accesses(self) -> list[list[Subscript]]:
        """The subscripts of all accesses, inputs first."""
        values = iter(self.subscripts)
        return [[next(values) if n == DYNAMIC_INDEX else int(n) for n in integers(row)] for row in self.positions.data]

    @property
    def reads(self) -> list[tuple[SSAValue, list[Subscript]]]:
        return list(zip(self.inputs, self.accesses, strict=False))

    @property
    def writes(self) -> list[tuple[SSAValue, list[Subscript]]]:
        return list(zip(self.outputs, self.accesses[len(self.inputs) :], strict=True))

    def verify_(self) -> None:
        tensors = [*self.inputs, *self.outputs]
        if len(self.positions) != len(tensors):
            raise VerifyException(f"it has {len(self.positions)} accesses to {len(tensors)} tensors")
        kinds = []
        for x, row in zip(tensors, self.positions, strict=True):
            assert isinstance(x.type, TensorType)
            if len(row) != len(x.type.get_shape()):
                raise VerifyException(f"it has {len(row)} subscripts for a value of type {x.type}")
            kinds.append(x.type.element_type)
        if [x.type for x in self.body.block.args] != kinds:
            raise VerifyException("the arguments of the body must be the elements that are read and written")
        last = self.body.block.last_op
        if not isinstance(last, YieldOp) or [x.type for x in last.values] != kinds[len(self.inputs) :]:
            raise VerifyException("a statement must yield one number for each output")

    def print(self, printer: Printer) -> None:
        if isinstance(printer, Writing) and printer.print_statement(self):
            return
        arguments, count = self.body.block.args, len(self.inputs)
        accesses = [self.access(k) for k in range(len(arguments))]
        scatter = None if self.scatter is None else arguments[self.scatter.value.data]
        print_accesses(printer, arguments[:count], self.inputs, accesses[:count])
        printer.print_string(" -> ")
        print_accesses(printer, arguments[count:], self.outputs, accesses[count:], scatter)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)
        printer.print_op_attributes(self.attributes)

    @classmethod
    def parse(cls, parser: Parser) -> DoOp:
        if isinstance(parser, Computing) and parser.is_assignment:
            return parser.parse_statement()
        inputs = parse_accesses(parser)
        names = [x.name.text.removeprefix("%") for x in inputs.arguments]
        parser.parse_punctuation("->")
        outputs = parse_accesses(parser, names)
        body = parser.parse_region([*inputs.arguments, *outputs.arguments])
        op = cls(
            list(zip(inputs.tensors, inputs.subscripts, strict=True)),
            list(zip(outputs.tensors, outputs.subscripts, strict=True)),
            body,
            None if outputs.scattered is None else names.index(outputs.scattered),
        )
        op.attributes = parser.parse_optional_attr_dict()
        return op


def _values(accesses: Iterable[Sequence[Subscript]]) -> list[SSAValue]:
    return [i for indices in accesses for i in indices if isinstance(i, SSAValue)]


def _positions(accesses: Iterable[Sequence[Subscript]]) -> ArrayAttr[DenseArrayBase[I64]]:
    rows = (tuple(i if isinstance(i, int) else DYNAMIC_INDEX for i in indices) for indices in accesses)
    return ArrayAttr(map(_row, rows))


@lru_cache(1024)
def _row(positions: tuple[int, ...]) -> DenseArrayBase[I64]:
    return DenseArrayBase.from_list(i64, positions)


# --- memory ----------------------------------------------------------------------------------------------------------


@irdl_op_definition
class PrefetchOp(IRDLOperation):
    """A hint that an element will soon be updated: prefetches its cache line. It cannot fail."""

    name = "nest.prefetch"
    tensor = operand_def(TensorType)
    subscripts = var_operand_def(IndexType)
    assembly_format = "$tensor `[` $subscripts `]` attr-dict `:` type($tensor)"

    def __init__(self, tensor: SSAValue, subscripts: Sequence[SSAValue]) -> None:
        super().__init__(operands=[tensor, subscripts])


@irdl_op_definition
class BalanceOp(IRDLOperation):
    """The start of a chunk that would start at `row` if every slice had equally many entries.

    result ≈ the first row with entries(row) ≥ row/extent · entries(extent), where a row counts as one more entry, a
    multiple of the group. A chunk that starts at `row` and misses its share by at most an eighth is kept.

    row, extent: of the slices. size: iterations of a chunk if all are equal. group: number that chunk sizes are a
    multiple of. indptr: the starts of the slices.
    """

    name = "nest.balance"
    row = operand_def(IndexType)
    extent = operand_def(IndexType)
    size = operand_def(IndexType)
    group = operand_def(IndexType)
    indptr = operand_def(TensorType)
    result = result_def(IndexType)
    assembly_format = "$row `of` $extent `by` $size `group` $group `in` $indptr attr-dict `:` type($indptr)"

    def __init__(self, row: SSAValue, extent: SSAValue, size: SSAValue, group: SSAValue, indptr: SSAValue) -> None:
        super().__init__(operands=[row, extent, size, group, indptr], result_types=[IndexType()])


# --- products --------------------------------------------------------------------------------------------------------


@irdl_op_definition
class ProductOp(IRDLOperation):
    """The matrix product result = op(a)·op(b), by a library kernel (BLAS or ours); op may be a transposition."""

    name = "nest.product"
    a = operand_def(TensorType)
    b = operand_def(TensorType)
    sizes = var_operand_def(IndexType)
    result = result_def(TensorType)
    transpose_a = opt_prop_def(UnitAttr)
    transpose_b = opt_prop_def(UnitAttr)
    pinned = opt_prop_def(UnitAttr)
    assembly_format = (
        "$a (`transposed` $transpose_a^)? `by` $b (`transposed` $transpose_b^)? `[` $sizes `]` (`pinned` $pinned^)?"
        " attr-dict `:` type($a) `by` type($b) `->` type($result)"
    )


# --- memory of what other operations give ----------------------------------------------------------------------------


@irdl_attr_definition
class OwnAttr(ParametrizedAttribute):
    """Attribute of a result with a separate buffer."""

    name = "nest.own"


@irdl_attr_definition
class OutputAttr(ParametrizedAttribute):
    """Attribute of a result that is stored in the memory of a function's output."""

    name = "nest.output"
    number: IntAttr


@irdl_attr_definition
class OverAttr(ParametrizedAttribute):
    """Attribute of a result that reuses the memory of an operand."""

    name = "nest.over"
    operand: IntAttr


Storage: TypeAlias = OwnAttr | OutputAttr | OverAttr
PARALLEL_LINES: Final = "nest.cores"
"""Attribute of an operation other than a loop whose lines or rows may be processed by several cores."""
BY_BLOCKS: Final = "nest.by_blocks"
"""Attribute of an `aot.select` of the first or last few of a line that may search by blocks, if the line is long."""
MATRICES: Final = "nest.matrices"
"""Attribute of an `aot.lapack` that is lowered to generated code: the number of matrices processed at a time."""
STORAGE: Final = "nest.storage"
"""Attribute with the storage of each result of an operation; without it each result has a separate buffer."""
