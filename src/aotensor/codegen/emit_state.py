"""State that the emitters share: LLVM types of loop IR types, and the function under construction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    IndexType,
    IntegerType,
    LocationAttr,
    MemRefType,
    NoneAttr,
    VectorType,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from aotensor.codegen import llvm
from aotensor.codegen.debug_info import DebugInfo
from aotensor.codegen.llvm import Builder, Function, Module, Node, Type, Value
from aotensor.codegen.weights.file import Place
from aotensor.codegen.weights.reads import no_weights_metadata
from aotensor.errors import InternalError
from aotensor.ir.types import DTYPE_OF_FLOAT, register_name

Extent: TypeAlias = "int | Value"
"""An i64: a Python int if it is constant."""

SCALAR_FUNCTION_PREFIX: Final = "aot."
"""Prefix of elementary functions."""
_FLAG_ORDER: Final = ("reassoc", "nnan", "ninf", "nsz", "arcp", "contract", "afn")


@dataclass(frozen=True, slots=True)
class Buffer:
    """A memref value.

    pointer: the element at index (0, ..., 0), with the offset of a view included. base: the start of the memref that
    this one is a view of. sizes, strides: per axis, in elements. scope: `!alias.scope` and `!noalias` for accesses, for
    a view that overlaps no other. is_weights: is it a constant in the file of weights?
    """

    pointer: Value
    base: Value
    sizes: tuple[Extent, ...]
    strides: tuple[Extent, ...]
    scope: Mapping[str, Node] = field(default_factory=dict)
    is_weights: bool = False


# --- types -----------------------------------------------------------------------------------------------------------


def register_type(kind: Attribute) -> Type:
    """The LLVM type of a scalar or vector in a register: index is i64, bool is i1, f16 and bf16 are i16."""
    match kind:
        case IndexType():
            return llvm.i64
        case IntegerType():
            return llvm.integer(kind.width.data)
        case VectorType() if kind.get_num_dims() == 1:
            return llvm.vector(register_type(kind.element_type), kind.get_shape()[0])
        case _ if kind in DTYPE_OF_FLOAT:
            return llvm.NAMED[register_name(kind)]
    raise InternalError(f"loop IR: no LLVM type for {kind}")


def memory_type(kind: Attribute) -> Type:
    """The LLVM type of an element in memory: as in a register, but a bool occupies a byte."""
    register = register_type(kind)
    return _in_bytes(register) if llvm.element_of(register) == llvm.i1 else register


def _in_bytes(kind: Type) -> Type:
    """A type with a byte in place of every bool."""
    lanes = llvm.count_of(kind)
    return llvm.i8 if lanes is None else llvm.vector(llvm.i8, lanes)


def alignment(kind: Type) -> int:
    """The alignment of an access in bytes: a vector may begin at any element."""
    return llvm.lane_bits(kind) // 8


def element_bytes(kind: MemRefType[Any]) -> int:
    """The distance of consecutive elements of a memref in bytes."""
    element = memory_type(kind.element_type)
    return (llvm.count_of(element) or 1) * llvm.lane_bits(element) // 8


def dynamic_axes(kind: MemRefType[Any]) -> list[int]:
    """The axes of a buffer with dynamic extent."""
    return [axis for axis, n in enumerate(kind.get_shape()) if n == DYNAMIC_INDEX]


def known_strides(kind: MemRefType[Any]) -> Sequence[int | None]:
    """The strides in elements that a memref type determines, None for each other axis."""
    if not isinstance(kind.layout, NoneAttr):
        strides = kind.get_strides()
        if strides is None:
            raise InternalError(f"loop IR: the layout of {kind} is not strided")
        return strides
    backwards: list[int | None] = []
    stride: int | None = 1
    for n in reversed(kind.get_shape()):
        backwards.append(stride)
        stride = None if stride is None or n == DYNAMIC_INDEX else stride * n
    return backwards[::-1]


def dynamic_strides(kind: MemRefType[Any]) -> list[int]:
    """The axes with dynamic stride: axes of a strided layout without a static stride; none if row-major."""
    if isinstance(kind.layout, NoneAttr):
        return []
    return [axis for axis, stride in enumerate(known_strides(kind)) if stride is None]


def flat_types(kinds: Iterable[Attribute]) -> list[Type]:
    """The LLVM types that pass values: for a memref a pointer, its dynamic extents and its dynamic strides."""
    flat: list[Type] = []
    for kind in kinds:
        if isinstance(kind, MemRefType):
            flat += [llvm.pointer, *[llvm.i64] * (len(dynamic_axes(kind)) + len(dynamic_strides(kind)))]
        else:
            flat.append(register_type(kind))
    return flat


def fast_math(flags: FastMathFlagsAttr) -> tuple[str, ...]:
    """LLVM's names of MLIR's fast-math flags, in LLVM's order."""
    present = {flag.value for flag in flags.data}
    if present.issuperset(_FLAG_ORDER):
        return ("fast",)
    return tuple(flag for flag in _FLAG_ORDER if flag in present)


# --- the function being written --------------------------------------------------------------------------------------


Handler: TypeAlias = "Callable[[Emitter, Any], None]"


class Emitter:
    """One function under construction: its LLVM builder, and the LLVM value of every SSA value so far.

    handlers: operation class → the function that emits it. functions: every function of the module by symbol. scopes:
    alias metadata of views. loops: the functions that run the chunks of parallel loops, by code. vector_bits:
    width of the target's vector registers. has_threads: may loops run on several cores? has_half: has the CPU
    instructions between float16 and float32? debug_info: provides the lines of instructions. location: of the function.
    weights: constants in a file, by symbol
    """

    def __init__(
        self,
        function: Function,
        handlers: Mapping[type[Operation], Handler],
        functions: Mapping[str, Function],
        scopes: Mapping[SSAValue, Mapping[str, Node]],
        loops: dict[object, Function],
        vector_bits: int,
        has_threads: bool,
        has_half: bool,
        debug_info: DebugInfo,
        location: LocationAttr,
        weights: Mapping[str, Place],
    ) -> None:
        self.vector_bits, self.has_threads, self.has_half = vector_bits, has_threads, has_half
        self.function, self.debug_info = function, debug_info
        self.entry = function.append_basic_block("entry")
        self.builder: Builder = llvm.ir.IRBuilder(self.entry)
        self.builder.debug_metadata = debug_info.begin(function, location)
        self.functions, self.scopes, self.loops, self.weights = functions, scopes, loops, weights
        self.access_groups: list[Node] = []
        self.on_heap: dict[SSAValue, Value] = {}
        self.growing: dict[int, Value] = {}
        """Number of a growing buffer → the stack slot of its address."""
        self._handlers = handlers
        self._values: dict[SSAValue, Value | Buffer] = {}

    @property
    def module(self) -> Module:
        return self.function.module

    def inside(self, function: Function, location: LocationAttr) -> Emitter:
        """A new emitter for another function of the module."""
        told = self.vector_bits, self.has_threads, self.has_half, self.debug_info, location
        return Emitter(function, self._handlers, self.functions, self.scopes, self.loops, *told, self.weights)

    def run(self, operations: Iterable[Operation]) -> None:
        """Emit operations in order. One without a line has the line of the enclosing operation."""
        around = self.builder.debug_metadata
        for op in operations:
            self.builder.debug_metadata = self.debug_info.at(self.function, op.location) or around
            handler = self._handlers.get(type(op))
            if handler is None:
                where = [f"in function {self.function.name}", *str(op).splitlines()[:1]]
                raise InternalError(f"emit: no LLVM IR for {op.name}", lines=where)
            handler(self, op)
        self.builder.debug_metadata = around

    def body(self, block: Block) -> Sequence[SSAValue]:
        """Emit all operations of a block except its terminator; return the terminator's operands."""
        terminator = block.last_op
        assert terminator is not None
        self.run(op for op in block.ops if op is not terminator)
        return terminator.operands

    # --- values --------------------------------------------------------------------------------------------------

    def set(self, ssa: SSAValue, value: Value | Buffer) -> None:
        self._values[ssa] = value

    def value(self, ssa: SSAValue) -> Value:
        """The LLVM register of a scalar or vector."""
        return self._values[ssa]

    def buffer(self, ssa: SSAValue) -> Buffer:
        """The pointer, sizes and strides of a memref."""
        buffer = self._values[ssa]
        assert isinstance(buffer, Buffer)
        return buffer

    def extent(self, ssa: SSAValue) -> Extent:
        """An index value, as a Python int if it is constant."""
        value = self.value(ssa)
        return int(value.constant) if llvm.is_constant(value) else value

    def extents(self, static: Sequence[int], dynamic: Sequence[SSAValue]) -> list[Extent]:
        """MLIR's mixed list of extents: static numbers, and operands in place of dynamic markers."""
        operands = iter(dynamic)
        return [self.extent(next(operands)) if n == DYNAMIC_INDEX else n for n in static]

    def flatten(self, values: Iterable[SSAValue]) -> list[Value]:
        """Flatten values for calls, branches and returns; see `flat_types`."""
        flat: list[Value] = []
        for ssa in values:
            if isinstance(kind := ssa.type, MemRefType):
                buffer = self.buffer(ssa)
                flat.append(buffer.pointer)
                flat += [self.register(buffer.sizes[axis]) for axis in dynamic_axes(kind)]
                flat += [self.register(buffer.strides[axis]) for axis in dynamic_strides(kind)]
            else:
                flat.append(self.value(ssa))
        return flat

    def bind(self, values: Iterable[SSAValue], flat: Sequence[Value]) -> None:
        """Bind values to flattened ones; the inverse of `flatten`."""
        supply = iter(flat)
        for ssa in values:
            if isinstance(kind := ssa.type, MemRefType):
                start = next(supply)
                sizes = [next(supply) if n == DYNAMIC_INDEX else n for n in kind.get_shape()]
                self.set(ssa, self.make_buffer(kind, start, sizes, supply))
            else:
                self.set(ssa, next(supply))

    def make_buffer(
        self, kind: MemRefType[Any], start: Value, sizes: Sequence[Extent], unknown_strides: Iterable[Value] = ()
    ) -> Buffer:
        """A buffer of a memref type that starts at `start`. unknown_strides: strides that the type lacks."""
        if isinstance(kind.layout, NoneAttr):
            return Buffer(start, start, tuple(sizes), self.row_major(sizes))
        supply = iter(unknown_strides)
        strides = [next(supply) if stride is None else stride for stride in known_strides(kind)]
        return Buffer(start, start, tuple(sizes), tuple(strides))

    # --- index arithmetic ------------------------------------------------------------------------------------------

    def register(self, extent: Extent) -> Value:
        """Convert an extent to an i64 value."""
        return llvm.constant(llvm.i64, extent) if isinstance(extent, int) else extent

    def add(self, x: Extent, y: Extent) -> Extent:
        """x + y of numbers of elements, which are below 2⁶³."""
        if isinstance(x, int) and isinstance(y, int):
            return x + y
        if x == 0 or y == 0:
            return y if x == 0 else x
        return self.builder.add(self.register(x), self.register(y), flags=("nsw",))

    def multiply(self, x: Extent, y: Extent) -> Extent:
        """x · y of numbers of elements, which are below 2⁶³."""
        if isinstance(x, int) and isinstance(y, int):
            return x * y
        if x == 1 or y == 1:
            return y if x == 1 else x
        if x == 0 or y == 0:
            return 0
        return self.builder.mul(self.register(x), self.register(y), flags=("nsw",))

    def product(self, factors: Iterable[Extent]) -> Extent:
        total: Extent = 1
        for factor in factors:
            total = self.multiply(total, factor)
        return total

    def row_major(self, sizes: Sequence[Extent]) -> tuple[Extent, ...]:
        """The strides of a contiguous row-major array, in elements."""
        strides: list[Extent] = [1] * len(sizes)
        for axis in range(len(sizes) - 2, -1, -1):
            strides[axis] = self.multiply(sizes[axis + 1], strides[axis + 1])
        return tuple(strides)

    # --- control flow ------------------------------------------------------------------------------------------------

    def loop(
        self,
        bounds: tuple[Extent, Extent, Extent],
        initial: Sequence[Value],
        body: Callable[[Value, list[Value]], Sequence[Value]],
        *,
        kind: Type = llvm.i64,
        properties: Mapping[str, Value | Node] | None = None,
    ) -> list[Value]:
        """Emit a loop from lower to upper by step: carried = body(i, carried); return the final carried values.

        The loop is rotated: one test before it, one at its end, the form that LLVM's loop passes expect.
        """
        lower, upper, step = bounds
        if isinstance(lower, int) and isinstance(upper, int) and lower >= upper:
            return list(initial)
        start, stop, stride = (x if not isinstance(x, int) else llvm.constant(kind, x) for x in bounds)
        before, top, after = self.builder.block, self._block("loop"), self._block("done")
        guarded = not (isinstance(lower, int) and isinstance(upper, int))
        if guarded:
            self.builder.cbranch(self.builder.icmp_signed("<", start, stop), top, after)
        else:
            self.builder.branch(top)
        self.builder.position_at_end(top)
        counter = self.builder.phi(kind)
        carried = [self.builder.phi(value.type) for value in initial]
        results = body(counter, list(carried))
        wraps = kind != llvm.i64 and step != 1
        following = self.builder.add(counter, stride, flags=() if wraps else ("nsw",))
        latch = self.builder.block
        branch = self.builder.cbranch(self.builder.icmp_signed("<", following, stop), top, after)
        if properties:
            branch.set_metadata("llvm.loop", llvm.loop_node(self.module, properties))
        for phi, first, again in zip([counter, *carried], [start, *initial], [following, *results], strict=True):
            phi.add_incoming(first, before)
            phi.add_incoming(again, latch)
        self.builder.position_at_end(after)
        return self.merge([(before, initial)] * guarded + [(latch, results)])

    def merge(self, incoming: Sequence[tuple[Any, Sequence[Value]]]) -> list[Value]:
        """Emit phi nodes for the values from the predecessors of the current block; return them."""
        merged = []
        for column in zip(*(values for _, values in incoming), strict=True):
            phi = self.builder.phi(column[0].type)
            for (block, _), value in zip(incoming, column, strict=True):
                phi.add_incoming(value, block)
            merged.append(phi)
        return merged

    def _block(self, name: str) -> Any:
        return self.function.append_basic_block(name)

    # --- memory ------------------------------------------------------------------------------------------------------

    def address(self, buffer: Buffer, kind: MemRefType[Any], indices: Sequence[Extent], exists: bool = True) -> Value:
        """The address of an element; if `exists` is false, it may be out of bounds."""
        offset: Extent = 0
        for index, stride in zip(indices, buffer.strides, strict=True):
            offset = self.add(offset, self.multiply(index, stride))
        if offset == 0:
            return buffer.pointer
        element = memory_type(kind.element_type)
        return self.builder.gep(buffer.pointer, [self.register(offset)], inbounds=exists, source_etype=element)

    def shifted(self, start: Value, element: Type, offset: Extent) -> Value:
        """`start` moved by a number of elements; it may be out of bounds if the view that begins there is empty."""
        if offset == 0:
            return start
        return self.builder.gep(start, [self.register(offset)], source_etype=element)

    def load(self, buffer: Buffer, address: Value, kind: Type) -> Value:
        """Load a register of type `kind`; a bool is true for any byte but zero."""
        boolean = llvm.element_of(kind) == llvm.i1
        stored = _in_bytes(kind) if boolean else kind
        value = self.builder.load(address, typ=stored, align=alignment(stored))
        self.tag(value, buffer)
        return self.builder.icmp_unsigned("!=", value, llvm.constant(stored, 0)) if boolean else value

    def store(self, buffer: Buffer, address: Value, value: Value) -> None:
        """Store a register to memory; a bool becomes a byte, 0 or 1."""
        if llvm.element_of(value.type) == llvm.i1:
            value = self.builder.zext(value, _in_bytes(value.type))
        self.tag(self.builder.store(value, address, align=alignment(value.type)), buffer)

    def tag(self, access: Any, buffer: Buffer) -> None:
        """Attach alias metadata of the buffer, and access groups of the enclosing loops, to an access."""
        is_apart = self.weights and not buffer.is_weights
        for name, metadata in (no_weights_metadata(self.module, buffer.scope) if is_apart else buffer.scope).items():
            access.set_metadata(name, metadata)
        if self.access_groups:
            groups = self.access_groups
            access.set_metadata("llvm.access.group", groups[0] if len(groups) == 1 else llvm.node(self.module, groups))
