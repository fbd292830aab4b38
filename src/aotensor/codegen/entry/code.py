"""A builder of structured LLVM code, for the fixed functions that every library contains.

Locals are stack slots that LLVM turns into registers; structs are those of `aotensor_runtime.abi`, whose ctypes offsets
are the only layout. Numbers are 64-bit unless a field says otherwise.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from aotensor.codegen.entry.layout import end_of, offset_of, pointer_bytes, size_of
from aotensor.codegen.llvm import (
    Builder,
    Function,
    Module,
    Type,
    Value,
    constant,
    f64,
    function,
    i8,
    i32,
    i64,
    ir,
    mark_function,
    pointer,
)

_SCALARS = {ctypes.c_void_p: pointer, ctypes.c_int32: i32, ctypes.c_int64: i64}


def number(value: int) -> Value:
    """A 64-bit integer constant."""
    return constant(i64, value)


def status(value: int) -> Value:
    """A 32-bit integer constant."""
    return constant(i32, value)


NULL: Value = ir.Constant(pointer, None)


class Slot:
    """A local variable of the function under construction, in a stack slot."""

    def __init__(self, code: Code, kind: Type, initial: Value) -> None:
        self._code, self._kind = code, kind
        with code.builder.goto_entry_block():
            self._address = code.builder.alloca(kind)
        self.set(initial)

    def get(self) -> Value:
        return self._code.builder.load(self._address, typ=self._kind)

    def set(self, value: Value) -> None:
        self._code.builder.store(value, self._address)

    def add(self, step: int | Value) -> None:
        self.set(self._code.builder.add(self.get(), number(step) if isinstance(step, int) else step))


class Code:
    """The body of one function under construction.

    attributes: LLVM attributes, "optsize" by default, which a function into which kernels are inlined must not have.
    """

    def __init__(
        self,
        module: Module,
        name: str,
        result: Type,
        arguments: Sequence[Type],
        *,
        exported: bool = False,
        attributes: Sequence[str] = ("optsize",),
    ) -> None:
        self.module = module
        self.function: Function = function(module, name, result, arguments)
        self.function.linkage = "" if exported else "internal"
        mark_function(self.function, "nounwind", *attributes)
        self.builder: Builder = ir.IRBuilder(self.function.append_basic_block("entry"))
        self.arguments: Sequence[Value] = self.function.args
        self._pointers = pointer_bytes(module)

    # --- memory ------------------------------------------------------------------------------------------------------

    def slot(self, kind: Type, initial: Value) -> Slot:
        return Slot(self, kind, initial)

    def alloca(self, kind: Type, count: int | Value) -> Value:
        """Allocate stack memory for `count` values, at least one."""
        amount = number(max(count, 1)) if isinstance(count, int) else self.larger(count, number(1))
        memory = self.builder.alloca(kind, size=amount)
        memory.align, memory.type = 8, pointer
        return memory

    def on_stack(self, value: Value) -> Value:
        """Store a value on the stack and return its address."""
        address = self.alloca(value.type, 1)
        self.builder.store(value, address)
        return address

    def structs(self, struct: type[ctypes.Structure], count: Value) -> Value:
        """Allocate stack memory for `count` structs."""
        return self.alloca(i64, self.builder.mul(count, number(-(-self.size(struct) // 8))))

    def at(self, base: Value, index: int | Value, size: int | Value) -> Value:
        """The address of element `index` of an array with elements of `size` bytes."""
        if isinstance(index, int) and isinstance(size, int):
            return self.builder.gep(base, [number(index * size)], source_etype=i8)
        position, stride = (number(x) if isinstance(x, int) else x for x in (index, size))
        return self.builder.gep(base, [self.builder.mul(position, stride)], source_etype=i8)

    def element(self, base: Value, index: Value, struct: type[ctypes.Structure]) -> Value:
        """The address &base[index] in an array of structs."""
        return self.at(base, index, self.size(struct))

    def item(self, base: Value, index: int | Value, kind: Type = i64) -> Value:
        """Load base[index] from an array of pointers or numbers."""
        return self.builder.load(self.at(base, index, self._size(kind)), typ=kind)

    def cell(self, base: Value, index: int | Value, kind: Type = i64) -> Value:
        """Load the pointer or number in 8-byte word `index` of a mixed array."""
        return self.builder.load(self.at(base, index, 8), typ=kind)

    def store_at(self, base: Value, index: int | Value, value: Value) -> None:
        """Store base[index] = value."""
        self.builder.store(value, self.at(base, index, self._size(value.type)))

    def put_cell(self, base: Value, index: int | Value, value: Value) -> None:
        """Store a value in 8-byte word `index` of a mixed array."""
        self.builder.store(value, self.at(base, index, 8))

    def field(self, base: Value, struct: type[ctypes.Structure], name: str) -> Value:
        """Load base->name; a 32-bit field is widened to 64 bits."""
        kind = _field_type(struct, name)
        value = self.builder.load(self.field_address(base, struct, name), typ=kind)
        return self.builder.sext(value, i64) if kind == i32 else value

    def put_field(self, base: Value, struct: type[ctypes.Structure], name: str, value: Value) -> None:
        """Store base->name = value."""
        narrow = _field_type(struct, name) == i32 and value.type == i64
        self.builder.store(self.builder.trunc(value, i32) if narrow else value, self.field_address(base, struct, name))

    def exchange_field(self, base: Value, struct: type[ctypes.Structure], name: str, value: Value) -> Value:
        """Replace the address base->name atomically; return the previous one."""
        place = self.field_address(base, struct, name)
        return self.builder.inttoptr(self.builder.atomic_rmw("xchg", place, self.address(value), "acq_rel"), pointer)

    def align_up(self, base: Value, alignment: int) -> Value:
        """The first address from `base` on that is a multiple of a power of two."""
        raised = self.builder.add(self.address(base), number(alignment - 1))
        return self.builder.inttoptr(self.builder.and_(raised, number(-alignment)), pointer)

    def field_address(self, base: Value, struct: type[ctypes.Structure], name: str) -> Value:
        """The address &base->name."""
        return self.at(base, self.offset(struct, name), 1)

    def offset(self, struct: type[ctypes.Structure], name: str) -> int:
        """The offset of a field on the target, in bytes."""
        return offset_of(struct, name, self._pointers)

    def end(self, struct: type[ctypes.Structure], name: str) -> int:
        """The offset of the end of a field on the target, in bytes."""
        return end_of(struct, name, self._pointers)

    def size(self, struct: type[ctypes.Structure]) -> int:
        """The size of a struct on the target, in bytes."""
        return size_of(struct, self._pointers)

    def _size(self, kind: Type) -> int:
        return self._pointers if kind == pointer else 8 if kind in (i64, f64) else 4

    def call_field(
        self, base: Value, struct: type[ctypes.Structure], name: str, kind: Type, arguments: Sequence[Value]
    ) -> Value:
        """Call the function pointer base->name of type `kind` with arguments."""
        callee = self.builder.load(self.field_address(base, struct, name), typ=ir.PointerType(kind))
        return self.builder.call(callee, list(arguments))

    def clear(self, base: Value, count: Value, nothing: Value | None = None) -> None:
        """Set base[0:count] to 0, for 8-byte elements, or to `nothing`, for elements of its type."""
        with self.loop(count) as i:
            self.store_at(base, i, number(0) if nothing is None else nothing)

    # --- control -----------------------------------------------------------------------------------------------------

    @contextmanager
    def loop(self, count: Value, first: Value | None = None) -> Iterator[Value]:
        """Context manager: a loop, for i in range(first or 0, count)."""
        b = self.builder
        counter = self.slot(i64, number(0) if first is None else first)
        head, body, after = (b.append_basic_block(name) for name in ("head", "body", "after"))
        b.branch(head)
        b.position_at_end(head)
        index = counter.get()
        b.cbranch(b.icmp_signed("<", index, count), body, after)
        b.position_at_end(body)
        yield index
        if not b.block.is_terminated:
            counter.set(b.add(index, number(1)))
            b.branch(head)
        b.position_at_end(after)

    @contextmanager
    def loop_while(self, condition: Callable[[], Value]) -> Iterator[None]:
        """Context manager: a loop, while condition(); the condition is emitted before the body."""
        b = self.builder
        head, body, after = (b.append_basic_block(name) for name in ("while", "do", "after"))
        b.branch(head)
        b.position_at_end(head)
        b.cbranch(condition(), body, after)
        b.position_at_end(body)
        yield
        b.branch(head)
        b.position_at_end(after)

    @contextmanager
    def when(self, condition: Value) -> Iterator[None]:
        """Context manager: code that is executed if the condition holds."""
        with self.builder.if_then(condition):
            yield

    def ret(self, value: Value) -> None:
        self.builder.ret(value)

    def ret_if(self, condition: Value, value: Value) -> None:
        """Return a value if the condition holds."""
        with self.when(condition):
            self.ret(value)

    def give_error(self, code: Value) -> None:
        """Return a status if it is not 0."""
        self.ret_if(self.differs(code, status(0)), code)

    # --- arithmetic --------------------------------------------------------------------------------------------------

    def equal(self, x: Value, y: Value) -> Value:
        return self.builder.icmp_unsigned("==", x, y)

    def differs(self, x: Value, y: Value) -> Value:
        return self.builder.icmp_unsigned("!=", x, y)

    def less(self, x: Value, y: Value) -> Value:
        """The signed comparison x < y."""
        return self.builder.icmp_signed("<", x, y)

    def below(self, x: Value, y: Value) -> Value:
        """The unsigned comparison x < y, for addresses."""
        return self.builder.icmp_unsigned("<", x, y)

    def larger(self, x: Value, y: Value) -> Value:
        return self.builder.select(self.less(x, y), y, x)

    def smaller(self, x: Value, y: Value) -> Value:
        return self.builder.select(self.less(x, y), x, y)

    def is_null(self, value: Value) -> Value:
        return self.equal(value, NULL)

    def address(self, value: Value) -> Value:
        return self.builder.ptrtoint(value, i64)

    def all(self, *conditions: Value) -> Value:
        """The conjunction of all conditions, without short-circuit evaluation."""
        result = conditions[0]
        for condition in conditions[1:]:
            result = self.builder.and_(result, condition)
        return result

    def any(self, *conditions: Value) -> Value:
        """The disjunction of all conditions, without short-circuit evaluation."""
        result = conditions[0]
        for condition in conditions[1:]:
            result = self.builder.or_(result, condition)
        return result


def _field_type(struct: type[ctypes.Structure], name: str) -> Type:
    return next(_SCALARS[kind] for field, kind in _pairs(struct) if field == name)


def _pairs(struct: type[ctypes.Structure]) -> Iterator[tuple[str, Type]]:
    return ((field[0], field[1]) for field in struct._fields_)


def constant_struct(struct: type[ctypes.Structure], values: Mapping[str, Value | int]) -> Value:
    """A constant struct with the layout of `struct`; numbers have the width of their field."""
    fields = []
    for name, kind in _pairs(struct):
        value = values[name]
        scalar = _SCALARS[kind]
        fields.append(constant(scalar, value) if isinstance(value, int) else value)
    return ir.Constant(ir.LiteralStructType([value.type for value in fields]), fields)
