"""Operations that xDSL 0.74 lacks or cannot parse, a fast walk, functions that the math dialect lacks, and the text of
constants.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import ClassVar, Final

from xdsl.dialects import func, scf
from xdsl.dialects.arith import FloatingPointLikeBinaryOperation
from xdsl.dialects.builtin import (
    BoolAttr,
    BytesAttr,
    ComplexType,
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    TensorType,
    VectorType,
    i32,
)
from xdsl.ir import Attribute, Block, Dialect, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, Pure

from aotensor.core import dtypes

_NUMBERS: Final = re.compile(r"(_\d+)+")


def value_name(name: str | None) -> str | None:
    """Convert a user's name to an ASCII name of an MLIR value; None if MLIR cannot print it.

    xDSL removes numbers at the end, `_387` of `x_387`: a name that consists of such numbers would be empty.
    """
    if name is None or not name.isidentifier() or not name.isascii() or _NUMBERS.fullmatch(name):
        return None
    return name


@irdl_op_definition
class RemfOp(FloatingPointLikeBinaryOperation):
    """The remainder of the truncating division of floats: exact, with the sign of the dividend, as C's fmod."""

    name = "arith.remf"
    traits = traits_def(Pure())


@irdl_op_definition
class PrefetchOp(IRDLOperation):
    """A hint that an element will soon be read, or written: prefetches its cache line. It cannot fail."""

    name = "memref.prefetch"
    memref = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    is_write = prop_def(BoolAttr, prop_name="isWrite")
    locality = prop_def(IntegerAttr, prop_name="localityHint")
    is_data = prop_def(BoolAttr, prop_name="isDataCache")
    KINDS: ClassVar = ("read", "write")

    def __init__(self, memref: SSAValue, indices: Sequence[SSAValue], is_write: bool = False) -> None:
        super().__init__(
            operands=[memref, list(indices)],
            properties={
                "isWrite": BoolAttr.from_bool(is_write),
                "localityHint": IntegerAttr(3, i32),
                "isDataCache": BoolAttr.from_bool(True),
            },
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.memref)
        with printer.in_square_brackets():
            printer.print_list(self.indices, printer.print_ssa_value)
        printer.print_string(f", {self.KINDS[bool(self.is_write)]}, locality<{self.locality.value.data}>, data : ")
        printer.print_attribute(self.memref.type)

    @classmethod
    def parse(cls, parser: Parser) -> PrefetchOp:
        buffer = parser.parse_unresolved_operand()
        indices = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_unresolved_operand)
        parser.parse_punctuation(",")
        is_write = parser.parse_optional_keyword("write") is not None
        if not is_write:
            parser.parse_keyword("read")
        parser.parse_punctuation(",")
        parser.parse_keyword("locality")
        parser.parse_punctuation("<")
        parser.parse_integer()
        parser.parse_punctuation(">")
        parser.parse_punctuation(",")
        parser.parse_keyword("data")
        parser.parse_punctuation(":")
        kind = parser.parse_type()
        index = IndexType()
        return cls(parser.resolve_operand(buffer, kind), [parser.resolve_operand(i, index) for i in indices], is_write)


@irdl_op_definition
class ReallocOp(IRDLOperation):
    """Reallocation of a buffer with another size, keeping its elements."""

    name = "memref.realloc"
    source = operand_def(MemRefType)
    size = operand_def(IndexType)
    result = result_def(MemRefType)
    assembly_format = "$source `(` $size `)` attr-dict `:` type($source) `to` type($result)"

    def __init__(self, source: SSAValue, size: SSAValue) -> None:
        super().__init__(operands=[source, size], result_types=[source.type])


@irdl_op_definition
class GatherOp(IRDLOperation):
    """A vector gather: result[l] = base[indices, last index + index_vec[l]] where mask[l], else otherwise[l]."""

    name = "vector.gather"
    base = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    index_vec = operand_def(VectorType)
    mask = operand_def(VectorType)
    otherwise = operand_def(VectorType)
    result = result_def(VectorType)

    def __init__(
        self, base: SSAValue, indices: Sequence[SSAValue], index_vec: SSAValue, mask: SSAValue, otherwise: SSAValue
    ) -> None:
        super().__init__(
            operands=[base, list(indices), index_vec, mask, otherwise],
            result_types=[otherwise.type],
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.base)
        for positions in (self.indices, [self.index_vec]):
            with printer.in_square_brackets():
                printer.print_list(positions, printer.print_ssa_value)
        for value in (self.mask, self.otherwise):
            printer.print_string(", ")
            printer.print_ssa_value(value)
        printer.print_string(" : ")
        kinds = [x.type for x in (self.base, self.index_vec, self.mask, self.otherwise)]
        printer.print_list(kinds, printer.print_attribute)
        printer.print_string(" into ")
        printer.print_attribute(self.result.type)

    @classmethod
    def parse(cls, parser: Parser) -> GatherOp:
        base = parser.parse_unresolved_operand()
        indices = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_unresolved_operand)
        values = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_unresolved_operand)
        for _ in range(2):
            parser.parse_punctuation(",")
            values.append(parser.parse_unresolved_operand())
        parser.parse_punctuation(":")
        kind, *kinds = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        parser.parse_keyword("into")
        parser.parse_type()
        index_vec, mask, otherwise = (parser.resolve_operand(x, t) for x, t in zip(values, kinds, strict=True))
        index = IndexType()
        return cls(
            parser.resolve_operand(base, kind),
            [parser.resolve_operand(i, index) for i in indices],
            index_vec,
            mask,
            otherwise,
        )


@irdl_op_definition
class ReduceOp(IRDLOperation):
    """The terminator scf.reduce of an iteration of scf.parallel; it reduces nothing here."""

    name = "scf.reduce"
    traits = traits_def(IsTerminator())
    assembly_format = "attr-dict"

    def __init__(self) -> None:
        super().__init__()


@irdl_op_definition
class ParallelOp(IRDLOperation):
    """scf.parallel (%i) = (%low) to (%high) step (%step) { … scf.reduce }, with one counter.

    The operation of xDSL has several counters, and can be printed and parsed in generic form only.
    """

    name = "scf.parallel"
    lower = operand_def(IndexType)
    upper = operand_def(IndexType)
    step = operand_def(IndexType)
    body = region_def("single_block")

    def __init__(self, lower: SSAValue, upper: SSAValue, step: SSAValue, body: Region) -> None:
        super().__init__(operands=[lower, upper, step], regions=[body])

    def print(self, printer: Printer) -> None:
        (counter,) = self.body.block.args
        printer.print_string(" (")
        printer.print_ssa_value(counter)
        for word, bound in ((" = ", self.lower), (" to ", self.upper), (" step ", self.step)):
            printer.print_string(f"){word}(")
            printer.print_ssa_value(bound)
        printer.print_string(") ")
        printer.print_region(self.body, print_entry_block_args=False)
        printer.print_op_attributes(self.attributes)

    @classmethod
    def parse(cls, parser: Parser) -> ParallelOp:
        parser.parse_punctuation("(")
        counter = parser.parse_argument(expect_type=False)
        parser.parse_punctuation(")")
        parser.parse_punctuation("=")
        bounds = []
        for word in (None, "to", "step"):
            if word is not None:
                parser.parse_keyword(word)
            parser.parse_punctuation("(")
            bounds.append(parser.resolve_operand(parser.parse_unresolved_operand(), IndexType()))
            parser.parse_punctuation(")")
        lower, upper, step = bounds
        op = cls(lower, upper, step, parser.parse_region([counter.resolve(IndexType())]))
        op.attributes |= parser.parse_optional_attr_dict()
        return op


_OWN: Final = {op.name: op for op in (ParallelOp, ReduceOp)}
SCF: Final = Dialect("scf", [_OWN.get(op.name, op) for op in scf.Scf.operations])
"""The dialect with the operations that can be read."""


def parallel_loop_around(op: Operation) -> ParallelOp | None:
    """The parallel loop around an operation, or None."""
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, ParallelOp):
        parent = parent.parent_op()
    return parent


def walk(root: Operation | Region | Block) -> Iterator[Operation]:
    """Yield every operation in program order, each before the ones in its regions; `root` first if it is an operation.

    xDSL's own `walk` passes each operation through two generators and an iterator per level, and passes visit every
    operation some eighty times: a tenth of the compile time. To filter a class that most operations are not of, compare
    the type: these classes are abstract base classes, and a negative `isinstance` takes twenty times as long.

    The current operation may be changed or erased, and others may be inserted before it, during the walk.
    """
    if isinstance(root, Operation):
        yield root
        pending = first_operations(root.regions)
    else:
        pending = first_operations((root,)) if isinstance(root, Region) else [root.first_op]
    while pending:
        op = pending[-1]
        if op is None:
            pending.pop()
            continue
        pending[-1] = op._next_op  # xDSL's property took a third of the time of walks
        yield op
        if op.regions:
            pending += first_operations(op.regions)


def first_operations(regions: Sequence[Region]) -> list[Operation | None]:
    """The first operation of each block, the last block first; None for an empty block."""
    if len(regions) == 1 and (block := regions[0].first_block) is regions[0].last_block:
        return [None if block is None else block.first_op]
    found: list[Operation | None] = []
    for region in reversed(regions):
        block = region.last_block
        while block is not None:
            found.append(block.first_op)
            block = block.prev_block
    return found


def special_symbol(name: str, dtype: str) -> str:
    """The symbol of a scalar function: `aot.sigmoid.f64`."""
    return f"aot.{name}.f{8 * dtypes.itemsize(dtype)}"


def declare_special_functions(module: ModuleOp) -> None:
    """Add a private declaration for every called `@aot.*` function that the module does not have yet."""
    present = {op.sym_name.data for op in module.body.block.ops if isinstance(op, func.FuncOp)}
    for op in walk(module):
        if type(op) is func.CallOp and (symbol := op.callee.string_value()) not in present:
            present.add(symbol)
            signature = ([x.type for x in op.operands], [x.type for x in op.results])
            module.body.block.add_op(func.FuncOp.external(symbol, *signature))


# --- constants -------------------------------------------------------------------------------------------------------

_WRITTEN: Final = 100
"""Numbers of a constant that are printed one by one; more are a string of hexadecimal digits."""


class ConstantPrinter(Printer):
    """Prints large constants by their bytes, as xDSL makes two tuples of their numbers first; and those that differ in
    the signs of zeros, which xDSL prints as one number.
    """

    def print_attribute(self, attribute: Attribute) -> None:
        if type(attribute) is not DenseIntOrFPElementsAttr or not len(attribute):
            super().print_attribute(attribute)
            return
        data, kind = attribute.data.data, attribute.get_element_type()
        one = data[: len(data) // len(attribute)]
        is_one, is_long = data == one * len(attribute), len(attribute) > _WRITTEN
        is_nan = is_one and is_long and kind.unpack(one, 1)[0] != kind.unpack(one, 1)[0]
        if isinstance(kind, ComplexType) or is_nan or (not is_long and (is_one or not attribute.is_splat())):
            super().print_attribute(attribute)
            return
        if is_one:
            DenseIntOrFPElementsAttr(TensorType(kind, [1]), BytesAttr(one)).print_without_type(self)
        else:
            self.print_string(f'dense<"0x{data.hex().upper()}">')
        self.print_string(" : ")
        self.print_attribute(attribute.get_type())
