"""One C function under construction: its lines, and the C expression of every SSA value so far.

A pure operation that is used once, in its own block, becomes part of its user's expression; other results get a name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from xdsl.dialects import func
from xdsl.dialects.builtin import DYNAMIC_INDEX, UNKNOWN_LOC, LocationAttr, MemRefType, NoneAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue

from aotensor.codegen.c_source.lines import Line
from aotensor.codegen.c_source.spelling import NoType, c_type, comment, element_of, identifier, lanes_of, memory_type
from aotensor.codegen.emit_state import SCALAR_FUNCTION_PREFIX, dynamic_axes, dynamic_strides, known_strides
from aotensor.errors import InternalError, UnsupportedError

_LONGEST: Final = 64
"""Characters of an expression that is written into its user."""
_POSTFIX: Final = re.compile(r"\w+(\([^()]*(\([^()]*\)[^()]*)*\)|\[[^\[\]]*\])?")
"""A name, a call or an element of an array."""
_SUM: Final = re.compile(r"[\w\[\]\s+*-]+")
"""An expression that needs no parentheses in a sum."""


@dataclass(frozen=True, slots=True)
class Expr:
    """A C expression. is_atom: may it be repeated? reads: does it read memory?"""

    text: str
    is_atom: bool = False
    reads: bool = False

    def __str__(self) -> str:
        """The text as an operand of another expression; calls and array elements need no parentheses."""
        return self.text if self.is_atom or _POSTFIX.fullmatch(self.text) else f"({self.text})"


Extent: TypeAlias = "int | Expr"


@dataclass(frozen=True, slots=True)
class Buffer:
    """A memref value. pointer, base: names of variables. sizes, strides: per axis, in elements; numbers or names."""

    pointer: str
    base: str
    sizes: tuple[Extent, ...]
    strides: tuple[Extent, ...]


@dataclass(frozen=True, slots=True)
class Lanes:
    """A vector value. name: its array."""

    name: str
    count: int


Item: TypeAlias = "Expr | Buffer | Lanes"
Handler: TypeAlias = "Callable[[Writer, Any], None]"


@dataclass
class Unit:
    """State that the functions of one C file share.

    symbols: function of the loop level → its C name. written: memref values that are written to. line: location →
    position and text of the model's line. helpers: names of the called functions of `helpers.py`.
    """

    symbols: Mapping[str, str]
    written: frozenset[SSAValue]
    line: Callable[[LocationAttr], tuple[str, str]]
    helpers: set[str] = field(default_factory=set)
    globals: Mapping[str, str] = field(default_factory=dict)


class Writer:
    """Writes one C function. handlers: operation class → function that writes it. pure: side-effect-free classes."""

    def __init__(
        self, unit: Unit, op: func.FuncOp, handlers: Mapping[type[Operation], Handler], pure: frozenset[type[Operation]]
    ) -> None:
        self.unit, self.op, self.lines, self.depth = unit, op, list[Line](), 1
        self.values: dict[SSAValue, Item] = {}
        self.on_heap: dict[SSAValue, str] = {}
        self.growing: dict[int, str] = {}
        self.top: list[Line] = []
        """Declarations at the start of the function."""
        self._handlers, self._pure = handlers, pure
        self._taken = {*unit.symbols.values(), *unit.globals.values()}
        self.is_checking = op.sym_name.data.endswith((".extents", ".workspace_bytes"))
        """May extents be too large here? They are checked before kernels run."""
        self._counters: list[str] = []
        self._active: list[str] = []
        self._said = ""

    # --- lines -------------------------------------------------------------------------------------------------------

    def put(self, text: str, sets: str = "", ignored: str = "") -> None:
        """Add a statement. sets, ignored: as in `Line`."""
        self.lines.append(Line(text, self.depth, sets, ignored=ignored))

    def declare_first(self, text: str, name: str) -> None:
        """Add a declaration of a variable at the start of the function."""
        self.top.append(Line(text, 1, name))

    def open(self, text: str) -> None:
        """Begin a block, such as a loop or branch."""
        self.put(f"{text} {{")
        self.depth += 1

    def close(self, text: str = "}") -> None:
        """End the current block."""
        self.depth -= 1
        self.put(text)

    def name(self, hint: str) -> str:
        """A new variable name that begins with a hint."""
        clean = identifier(hint)
        clean = f"x_{clean}" if clean.lower().startswith(("aot_", "aotensor_")) else clean
        found, k = clean, 1
        while found in self._taken:
            k += 1
            found = f"{clean}_{k}"
        self._taken.add(found)
        return found

    def counter(self, hint: str | None) -> str:
        """A name for a loop counter; `leave` makes it available to later loops."""
        if hint is not None:
            found = self.name(hint)
        else:
            free = [x for x in self._counters if x not in self._active]
            letter = next((x for x in "ijk" if x not in self._taken), "i")
            found = free[0] if free else self.name(letter)
            self._counters += [] if free else [found]
        self._active.append(found)
        return found

    def leave(self) -> None:
        """End the innermost loop, and release the name of its counter."""
        self._active.pop()

    def hint(self, ssa: SSAValue, kind: Attribute | None = None) -> str:
        """A name hint for a value: the user's name, or a letter by its type."""
        if ssa.name_hint is not None:
            return ssa.name_hint
        text = c_type(element_of(ssa.type if kind is None else kind))
        return {"double": "x", "float": "x", "bool": "is"}.get(text, "t")

    def run(self, operations: Iterable[Operation]) -> None:
        """Write operations in order, with a comment where the model's line changes."""
        for op in operations:
            handler = self._handlers.get(type(op))
            if handler is None:
                raise InternalError(f"C source: no C for {op.name}", lines=str(op).splitlines()[:1])
            self.say(op.location)
            try:
                handler(self, op)
            except NoType as error:
                raise self._refusal(op, error) from error

    def _refusal(self, op: Operation, error: NoType) -> UnsupportedError:
        function = self.op.sym_name.data.partition(".")[0]
        place, text = ("", "") if op.location is UNKNOWN_LOC else self.unit.line(op.location)
        where = f" at {place}" if place else ""
        return UnsupportedError(
            f"{function}: {error} is used{where}, and C99 has no type for it",
            lines=[text] if text else [],
            hint="compute in float32 instead of float16 or bfloat16",
        )

    def say(self, location: LocationAttr) -> None:
        """Write a comment with the model's line at a location, if the line has changed."""
        place, text = ("", "") if location is UNKNOWN_LOC else self.unit.line(location)
        if place and place != self._said:
            self._said = place
            told = f"{place}: {text}" if text else place
            self.lines.append(Line(comment(told), self.depth, is_comment=True, ignored=comment(place)))

    def body(self, block: Block) -> Sequence[SSAValue]:
        """Write all operations of a block except its terminator; return the terminator's operands."""
        terminator = block.last_op
        assert terminator is not None
        self.run(op for op in block.ops if op is not terminator)
        return terminator.operands

    # --- values ------------------------------------------------------------------------------------------------------

    def expr(self, ssa: SSAValue) -> Expr:
        """The C expression of a scalar value."""
        value = self.values[ssa]
        assert isinstance(value, Expr)
        return value

    def atom(self, ssa: SSAValue) -> Expr:
        """The value of a scalar as a name or literal, which may be used twice."""
        value = self.expr(ssa)
        if not value.is_atom:
            value = self.values[ssa] = self.declared(c_type(ssa.type), value, self.hint(ssa))
        return value

    def buffer(self, ssa: SSAValue) -> Buffer:
        """The pointer, sizes and strides of a memref value."""
        value = self.values[ssa]
        assert isinstance(value, Buffer)
        return value

    def lanes(self, ssa: SSAValue) -> Lanes:
        """The array of a vector value."""
        value = self.values[ssa]
        assert isinstance(value, Lanes)
        return value

    def declared(self, kind: str, value: Expr, hint: str) -> Expr:
        """Declare a constant with this value; return its name."""
        name = self.name(hint)
        self.put(f"const {kind} {name} = {value.text};", name)
        return Expr(name, is_atom=True)

    def set(self, op: Operation, value: Expr, ssa: SSAValue | None = None) -> None:
        """Set the value of a pure operation: an expression for its only user, or a named constant."""
        result = op.results[0] if ssa is None else ssa
        if not value.is_atom and not self._is_inlined(op, result, value):
            value = self.declared(c_type(result.type), value, self.hint(result))
        self.values[result] = value

    def _is_inlined(self, op: Operation, result: SSAValue, value: Expr) -> bool:
        uses = list(result.uses)
        if len(uses) != 1 or len(value.text) > _LONGEST or result.name_hint is not None:
            return False
        (use,) = uses
        user = use.operation
        if user.parent_block() is not op.parent_block():
            return False
        if not value.reads:
            return True
        following = op.next_op
        while following is not None and following is not user:
            if not self.is_pure(following):
                return False
            following = following.next_op
        return following is user and not user.regions

    def is_pure(self, op: Operation) -> bool:
        """Is an operation without side effects: does it neither write memory nor leave the function?"""
        if isinstance(op, func.CallOp):
            return op.callee.root_reference.data.startswith(SCALAR_FUNCTION_PREFIX)
        return type(op) in self._pure

    # --- extents -----------------------------------------------------------------------------------------------------

    def extent(self, ssa: SSAValue) -> Extent:
        """An index value, as a Python int if it is constant."""
        value = self.expr(ssa)
        return int(value.text) if value.text.lstrip("-").isdigit() else value

    def extents(self, static: Sequence[int], dynamic: Sequence[SSAValue]) -> list[Extent]:
        """MLIR's mixed list of static and dynamic extents, as numbers and names."""
        operands = iter(dynamic)
        return [self.known(self.extent(next(operands))) if n == DYNAMIC_INDEX else n for n in static]

    def known(self, value: Extent, hint: str = "size") -> Extent:
        """An extent as a number or the name of a constant."""
        if isinstance(value, int) or value.is_atom:
            return value
        return self.declared("int64_t", value, hint)

    @staticmethod
    def add(x: Extent, y: Extent) -> Extent:
        """x + y of numbers of elements, which are below 2⁶³."""
        if isinstance(x, int) and isinstance(y, int):
            return x + y
        if x == 0 or y == 0:
            return y if x == 0 else x
        left, right = (z.text if isinstance(z, Expr) and _SUM.fullmatch(z.text) else z for z in (x, y))
        return Expr(f"{left} + {right}", reads=any(isinstance(z, Expr) and z.reads for z in (x, y)))

    @staticmethod
    def multiply(x: Extent, y: Extent) -> Extent:
        """x · y of numbers of elements, which are below 2⁶³."""
        if isinstance(x, int) and isinstance(y, int):
            return x * y
        if x == 1 or y == 1:
            return y if x == 1 else x
        if x == 0 or y == 0:
            return 0
        return Expr(f"{x} * {y}", reads=any(isinstance(z, Expr) and z.reads for z in (x, y)))

    def product(self, factors: Iterable[Extent]) -> Extent:
        """The product of extents."""
        total: Extent = 1
        for factor in factors:
            total = self.multiply(total, factor)
        return total

    def row_major(self, sizes: Sequence[Extent]) -> tuple[Extent, ...]:
        """The strides of a contiguous row-major array, in elements."""
        strides: list[Extent] = [1] * len(sizes)
        for axis in range(len(sizes) - 2, -1, -1):
            strides[axis] = self.known(self.multiply(sizes[axis + 1], strides[axis + 1]), "stride")
        return tuple(strides)

    # --- buffers -----------------------------------------------------------------------------------------------------

    def pointer_type(self, ssa: SSAValue) -> str:
        """The C type of a pointer to a buffer: `const double *` for a buffer that is only read."""
        const = "" if ssa in self.unit.written else "const "
        return f"{const}{memory_type(element_of(ssa.type))} *"

    def make_buffer(
        self, kind: MemRefType[Any], pointer: str, sizes: Sequence[Extent], strides: Iterable[Extent] = ()
    ) -> Buffer:
        """A buffer of a memref type. strides: the strides that the type does not determine."""
        if isinstance(kind.layout, NoneAttr):
            return Buffer(pointer, pointer, tuple(sizes), self.row_major(sizes))
        supply = iter(strides)
        every = [next(supply) if stride is None else stride for stride in known_strides(kind)]
        return Buffer(pointer, pointer, tuple(sizes), tuple(every))

    def offset(self, buffer: Buffer, indices: Sequence[Extent]) -> Extent:
        """The position of an element in a buffer, as an expression."""
        total: Extent = 0
        for index, stride in zip(indices, buffer.strides, strict=True):
            total = self.add(total, self.multiply(index, stride))
        return total

    def element(self, ssa: SSAValue, indices: Sequence[SSAValue]) -> Expr:
        """The C expression of an element of a buffer, such as `X[i * p + j]`."""
        buffer = self.buffer(ssa)
        offset = self.offset(buffer, [self.extent(i) for i in indices])
        return Expr(f"{buffer.pointer}[{offset if isinstance(offset, int) else offset.text}]", is_atom=True, reads=True)

    # --- values as lists of C variables -----------------------------------------------------------------------------

    def flat_types(self, ssa: SSAValue) -> list[str]:
        """The C types that pass a value: for a memref a pointer, its dynamic extents and its dynamic strides."""
        kind = ssa.type
        if isinstance(kind, MemRefType):
            return [self.pointer_type(ssa), *["int64_t "] * (len(dynamic_axes(kind)) + len(dynamic_strides(kind)))]
        return [f"{c_type(element_of(kind))} "]

    def flatten(self, values: Iterable[SSAValue]) -> list[Expr]:
        """The C expressions that pass values to a function, see `flat_types`."""
        flat: list[Expr] = []
        for ssa in values:
            if isinstance(kind := ssa.type, MemRefType):
                buffer = self.buffer(ssa)
                flat.append(Expr(buffer.pointer, is_atom=True))
                numbers = [buffer.sizes[axis] for axis in dynamic_axes(kind)]
                numbers += [buffer.strides[axis] for axis in dynamic_strides(kind)]
                flat += [x if isinstance(x, Expr) else Expr(str(x), is_atom=True) for x in numbers]
            elif lanes_of(kind) is not None:
                flat.append(Expr(self.lanes(ssa).name, is_atom=True))
            else:
                flat.append(self.expr(ssa))
        return flat

    def bind(self, ssa: SSAValue, names: Sequence[str]) -> None:
        """Let variables hold a value. names: one for each type of `flat_types`."""
        kind = ssa.type
        if isinstance(kind, MemRefType):
            pointer, *rest = names
            supply = iter(Expr(name, is_atom=True) for name in rest)
            sizes: list[Extent] = [next(supply) if n == DYNAMIC_INDEX else n for n in kind.get_shape()]
            self.values[ssa] = self.make_buffer(kind, pointer, sizes, supply)
        elif (count := lanes_of(kind)) is not None:
            self.values[ssa] = Lanes(names[0], count)
        else:
            self.values[ssa] = Expr(names[0], is_atom=True)

    def variables(self, ssa: SSAValue, hint: str | None = None) -> list[str]:
        """New names for the variables that hold a value, see `flat_types`."""
        first = self.name(hint or self.hint(ssa))
        return [first, *(self.name(f"{first}_size") for _ in self.flat_types(ssa)[1:])]

    def helper(self, name: str) -> str:
        """Add a function of `helpers.py` to the file; return its name."""
        self.unit.helpers.add(name)
        return name
