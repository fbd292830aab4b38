"""Print the text of a module as xDSL does, in a fraction of the time.

xDSL interprets an assembly format for every operation. Except for the names of its values, the text of an operation
without regions depends only on its kind, its attributes and its types: xDSL prints each combination once per process.
Types and maps are cached, too.

Other tools do not know our dialects, and read their operations in MLIR's generic form only:

    aot.sort %x {axis = 0} : tensor<?xf64> -> ...         "aot.sort"(%x) <{axis = 0 : i64}> : (tensor<?xf64>) -> ...

So `aot` is printed in that form; `nest` only on request, as people read and edit nests. They read them in the form of
`_Brief`: a table of sizes, expressions, assignments (decision 0089).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from io import StringIO
from itertools import count
from math import copysign
from typing import Final

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    TensorType,
    VectorType,
)  # fmt: skip
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.traits import IsTerminator

from aotensor.ir.nest.expression_parser import TABLE
from aotensor.ir.nest.expressions import Sizes, expression_text
from aotensor.ir.nest.names import COUNTER, loop_names
from aotensor.ir.nest.ops import DoOp, ValueOp, YieldOp
from aotensor.ir.nest.statement import assignment
from aotensor.ir.nest.syntax import Writing
from aotensor.ir.upstream import ConstantPrinter, walk

_HOLE: Final = "\0"
"""Delimits the position of a value in a template; it does not occur in MLIR text."""
_SCALARS: Final = frozenset({FloatAttr, IntegerAttr})
_LONG: Final = frozenset({MemRefType, TensorType, VectorType, AffineMapAttr})
_COMPARISONS: Final = frozenset({arith.CmpfOp, arith.CmpiOp, arith.SelectOp})


OWN: Final = frozenset({"aot", "nest"})
"""The dialects that other tools do not know."""
USUAL: Final = frozenset({"aot"})
"""Those that are always printed in generic form."""
CALL: Final = '"nest.call"'
"""The generic name of func.call inside a nest: upstream looks up the symbol, which fails inside unknown operations."""


def text_of(
    module: ModuleOp,
    locations: bool = False,
    generic: Collection[str] = USUAL,
    known: dict[SSAValue, str] | None = None,
    brief: bool = False,
) -> str:
    """The module in MLIR's notation, with a line end.

    locations: print the location after each operation. generic: the dialects to print in generic form; without all of
    OWN, `mlir-opt --allow-unregistered-dialect` does not read nests. known: names of values in earlier texts, which
    they keep; it is extended by those of other values. brief: print nests for people: index arithmetic as expressions,
    sizes in a table, statements as assignments, loops by name.
    """
    stream = StringIO()
    is_nest = brief and any(op.name.startswith("nest.") for op in walk(module))
    printer = (_Brief if is_nest else _Printer)(stream, locations, generic, known or {})
    printer.print_op(module)
    if known is not None:
        known.update(printer.names)
    return stream.getvalue() + "\n"


_NUMBER: Final = re.compile(r"_\d+$")
_LARGE: Final = re.compile(r'dense<"0x[0-9A-Fa-f]{32769,}">')


def elide_constants(text: str) -> str:
    """The text without the elements of constants of more than 16 KiB, as `mlir-opt
    --mlir-elide-elementsattrs-if-larger`.

    The library that contains the text also contains the constants.
    """
    return _LARGE.sub("dense_resource<__elided__>", text)


class _Templates:
    """Texts of kinds of operations, and numbers of the attributes and types in them, for all printers of a process."""

    def __init__(self) -> None:
        self._numbers: dict[object, int] = {}
        self._texts: dict[object, list[str | int]] = {}
        self._count = count()

    def number(self, attribute: object) -> int:
        """The number of an attribute; it never becomes that of a different one, so printers may remember it."""
        if len(self._numbers) >= _MOST_TEMPLATES:
            self._numbers = {}
        return self._numbers.setdefault(attribute, next(self._count))

    def get(self, key: object, make: Callable[[], list[str | int]]) -> list[str | int]:
        """The text of a kind of operation, made if it is not known."""
        found = self._texts.get(key)
        if found is None:
            if len(self._texts) >= _MOST_TEMPLATES:
                self._texts = {}
            found = self._texts[key] = make()
        return found


_MOST_TEMPLATES: Final = 1 << 14
"""With more, all are forgotten: they keep attributes and texts in memory."""
_TEMPLATES: Final = _Templates()


class _Printer(ConstantPrinter):
    def __init__(
        self, stream: StringIO, locations: bool, generic: Collection[str], known: Mapping[SSAValue, str]
    ) -> None:
        super().__init__(stream, print_debuginfo=locations)
        self._generic = generic
        self._depth = 0
        """The number of enclosing operations in generic form."""
        self._ssa_values.update(known)
        self._taken = set(known.values())
        self._next_valid_name_id = [1 + max((int(name) for name in self._taken if name.isdecimal()), default=-1)]
        self._known_numbers: dict[int, tuple[int, Attribute]] = {}
        """id of an attribute → (its number, the attribute)."""
        self._write = stream.write

    def print_op(self, op: Operation) -> None:
        if self._depth and isinstance(op, func.CallOp):
            self._print_results(op)
            self.print_string(CALL)
            self.print_op_with_default_format(op)
            return
        is_generic = op.name.partition(".")[0] in self._generic or _compares_vectors(op)
        if op.regions or op.successors or self.print_debuginfo:
            around, self.print_generic_format = self.print_generic_format, is_generic
            self._depth += is_generic
            super().print_op(op)
            self._depth -= is_generic
            self.print_generic_format = around
            return
        if type(op) is arith.ConstantOp and not op.attributes and type(op.value) in _SCALARS:
            self.print_string(f"{self._name(op.result)} = arith.constant {_text(_exact(op.value))}")
            return
        number, positions = self._number, dict[SSAValue, int]()
        key: list[object] = [type(op), is_generic, len(op.results)]
        value: SSAValue
        for value in op.results:
            positions[value] = len(positions)
            key.append(number(value.type))
        for value in op.operands:
            key += (positions.setdefault(value, len(positions)), number(value.type))
        attributes = (*op.properties.items(), *op.attributes.items())
        if any(type(x) is DenseIntOrFPElementsAttr for _, x in attributes):  # large, and of one program
            template = _template(op, positions, is_generic)
        else:
            for name, x in attributes:
                key += (name, number(x))
            template = _TEMPLATES.get(tuple(key), lambda: _template(op, positions, is_generic))
        known = list(positions)
        self.print_string("".join([x if isinstance(x, str) else self._name(known[x]) for x in template]))

    def print_string(self, text: str, *, indent: int | None = None) -> None:
        """Print a string without counting columns, which xDSL needs only for diagnostics in printed IR."""
        if "\n" in text:
            super().print_string(text, indent=indent)
        else:
            self._write(text)

    def _print_new_line(self, indent: int | None = None, print_message: bool = True) -> None:
        self._write("\n" + " " * ((self._indent if indent is None else indent) * self.indent_num_spaces))

    def _number(self, attribute: Attribute) -> int:
        """The number of an attribute or type; equal ones have the same."""
        known = self._known_numbers.get(id(attribute))
        if known is None:
            known = self._known_numbers[id(attribute)] = _TEMPLATES.number(_exact(attribute)), attribute
        return known[0]

    @property
    def names(self) -> Mapping[SSAValue, str]:
        """The names that have been assigned so far, without `%`."""
        return self._ssa_values

    def print_ssa_value(self, value: SSAValue) -> str:
        """Print a value's name as xDSL does, without reusing names that other values have in earlier texts."""
        name = self._name(value)
        self.print_string(name)
        return name.removeprefix("%")

    def print_operation_type(self, op: Operation) -> None:
        """Print the type of an operation. The location of an operation with regions is printed after the regions."""
        if op.regions and Operation.print is not type(op).print and not self.print_generic_format:
            self.print_function_type(op.operand_types, op.result_types)
        else:
            super().print_operation_type(op)

    def print_attribute(self, attribute: Attribute) -> None:
        if type(attribute) in _LONG:
            self.print_string(_text(attribute))
        else:
            super().print_attribute(attribute)

    def _name(self, value: SSAValue) -> str:
        """`%name`; a value without a name is given one, as in `print_ssa_value`."""
        name = self._ssa_values.get(value)
        if name is None:
            name = self._unique(value.name_hint) if value.name_hint else self._get_new_valid_name_id()
            self._ssa_values[value] = name
        return f"%{name}"

    def _unique(self, hint: str) -> str:
        """A new name that begins with a hint."""
        name = self._hinted(hint)
        while name in self._taken:
            name = self._hinted(hint)
        return name

    def _hinted(self, hint: str) -> str:
        count = self.ssa_names.get(hint, 0)
        self.ssa_names[hint] = count + 1
        return f"{hint}_{count}" if count else hint


class _Brief(_Printer, Writing):
    """Prints nests in their readable form."""

    _sizes: Sizes | None = None
    _hints: Mapping[SSAValue, str]
    _texts_of: dict[SSAValue, str]
    """Names and expressions so far."""
    _used: set[str]

    def _unique(self, hint: str) -> str:
        name = super()._unique(hint)
        while name in self._used:  # `n_1` is the name of a dim, and the second value that is called n
            name = super()._unique(hint)
        self._used.add(name)
        return name

    def print_op(self, op: Operation) -> None:
        if isinstance(op, func.FuncOp) and not op.is_declaration:
            self._sizes = Sizes(op)
            self._hints, self._texts_of, self._used = _hints(op), {}, set()
            super().print_op(op)
            self._sizes = None
        else:
            super().print_op(op)

    def print_statement(self, op: DoOp) -> bool:
        """Print a statement as an assignment; return False if it has a different form."""
        lines = {x.location for x in op.body.block.ops if not isinstance(x, YieldOp | arith.ConstantOp)}
        if op.attributes or (self.print_debuginfo and lines - {op.location}):
            return False
        assert self._sizes is not None
        text = assignment(op, self._name, self._sizes.is_hidden)
        if text is None:
            return False
        self.print_string(f" {text}")
        return True

    def print_block(self, block: Block, print_block_args: bool = True, print_block_terminator: bool = True) -> None:
        sizes = self._sizes
        if sizes is None:
            super().print_block(block, print_block_args, print_block_terminator)
            return
        if print_block_args:
            self._print_new_line()
            self.print_block_name(block)
            with self.in_parens():
                self.print_list(block.args, self.print_block_argument)
            self.print_string(":")
        with self.indented():
            if isinstance(block.parent_op(), func.FuncOp) and sizes.table:
                self._print_table(sizes)
            for op in block.ops:
                is_silent = not print_block_terminator and op.has_trait(IsTerminator, value_if_unregistered=False)
                if not is_silent and not sizes.is_hidden(op):
                    self._print_new_line()
                    self.print_op(op)

    def _print_table(self, sizes: Sizes) -> None:
        self._print_new_line()
        self.print_string(f"{TABLE} ")
        with self.in_braces():
            with self.indented():
                for x in sizes.table:
                    self._print_new_line()
                    assert isinstance(x.owner, Operation)
                    self.print_string(f"{self._name(x)} = {expression_text(x.owner, self._operand)[0]}")
            self._print_new_line()

    def _operand(self, x: SSAValue, least: int) -> str:
        assert self._sizes is not None
        op = self._sizes.expression(self._sizes.representative(x))
        if op is None:
            return self._name(x)
        text, strength = expression_text(op, self._operand)
        return text if strength >= least else f"({text})"

    def _name(self, value: SSAValue) -> str:
        """The name of a value, or its expression if that is printed instead."""
        if self._sizes is None:
            return super()._name(value)
        text = self._texts_of.get(value)
        if text is None:
            text = self._texts_of[value] = self._new_text(self._sizes, self._sizes.representative(value))
        return text

    def _new_text(self, sizes: Sizes, value: SSAValue) -> str:
        op = sizes.expression(value)
        if op is not None:
            return expression_text(op, self._operand)[0]
        hint = self._hints.get(value) or sizes.names.get(value)
        if hint is not None and value not in self._ssa_values:
            self._ssa_values[value] = self._unique(hint)
        return super()._name(value)


def _hints(function: func.FuncOp) -> dict[SSAValue, str]:
    """Name hints: of loop counters by the loops' names, of results by the user's names."""
    found: dict[SSAValue, str] = {}
    for loop, name in loop_names(function).items():
        known = loop.counter.name_hint or ""
        own = f"{COUNTER}{name}"  # a parser drops a number at the end: it reads `%i.x_0` as `i.x`
        found[loop.counter] = known if known.startswith(COUNTER) and known != _NUMBER.sub("", own) else own
    table = function.attributes.get("results")
    names = [x.data for x in table.data if isinstance(x, StringAttr)] if isinstance(table, ArrayAttr) else []
    for op in walk(function):
        if isinstance(op, ValueOp) and op.output is not None and op.output.value.data < len(names):
            found.setdefault(op.result, names[op.output.value.data])
    last = function.body.block.last_op
    for x, name in zip(() if last is None else last.operands, names, strict=False):
        if isinstance(x.owner, Operation):
            found.setdefault(x, name)
    return {x: name for x, name in found.items() if SSAValue.is_valid_name(name)}


def _compares_vectors(op: Operation) -> bool:
    """Is an operation a comparison or selection of vectors? xDSL's parser mistakes these for scalar ones."""
    return type(op) in _COMPARISONS and isinstance(op.results[0].type, VectorType)


def _exact(x: Attribute) -> object:
    """A key of an attribute that distinguishes 0.0 from -0.0, which xDSL considers equal."""
    return (x, copysign(1.0, x.value.data)) if isinstance(x, FloatAttr) else x


@lru_cache(maxsize=1 << 14)
def _text(exact: object) -> str:
    """The text of a type, a map, or a scalar attribute.   exact: result of `_exact`"""
    return str(exact[0] if isinstance(exact, tuple) else exact)


def _template(op: Operation, positions: dict[SSAValue, int], is_generic: bool) -> list[str | int]:
    """The text of an operation as a list of pieces, with the numbers of the values between them."""
    stream = StringIO()
    _Holes(stream, positions, is_generic).print_op(op)
    pieces = stream.getvalue().split(_HOLE)
    return [int(piece) if k % 2 else piece for k, piece in enumerate(pieces)]


class _Holes(ConstantPrinter):
    """A printer that prints numbers in place of value names, for templates."""

    def __init__(self, stream: StringIO, positions: dict[SSAValue, int], is_generic: bool) -> None:
        super().__init__(stream, print_generic_format=is_generic)
        self._positions = positions

    def print_ssa_value(self, value: SSAValue) -> str:
        hole = f"{_HOLE}{self._positions[value]}{_HOLE}"
        self.print_string(hole)
        return hole
