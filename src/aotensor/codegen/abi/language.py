"""The primitives of interface kernels, which are Python functions that `abi.translate` compiles to LLVM IR.

A kernel computes with 64-bit integers, float64 and truth values. An address is an integer; `byte(p, i)`, `word(p, i)`
and `real(p, i)` are element i of memory at p. Annotations are the C types of arguments and results.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from aotensor.codegen.entry.code import Code
from aotensor.codegen.llvm import Type, Value, constant, f32, f64, function, i8, i32, i64, intrinsic, ir, pointer, void

Address: TypeAlias = int
"""A pointer of C."""
Bool: TypeAlias = int
"""bool of C."""
Int32: TypeAlias = int
"""int of C."""
UInt32: TypeAlias = int
"""unsigned of C."""

WORD: Final = 8
"""Bytes of an integer, a float64 and an address."""

_Make: TypeAlias = "Callable[..., Value | None]"


@dataclass(frozen=True)
class Primitive:
    """A primitive function of the language. make: emits it, from `Code` and its arguments; addresses are integers."""

    make: _Make

    def refuse(self) -> TypeError:
        """The error that is raised if Python calls a primitive."""
        return TypeError("a kernel of an interface is compiled, not called")


class Number(Primitive):
    """A primitive that returns an integer."""

    def __call__(self, *arguments: float | str) -> int:
        raise self.refuse()


class Real(Primitive):
    """A primitive that returns a float64."""

    def __call__(self, *arguments: float | str) -> float:
        raise self.refuse()


class Effect(Primitive):
    """A primitive that returns nothing."""

    def __call__(self, *arguments: float | str) -> None:
        raise self.refuse()


def _element(kind: Type, size: int) -> Callable[[Code, Value, Value], Value]:
    return lambda c, p, i: c.builder.load(_place(c, p, i, size), typ=kind)


def _place(c: Code, p: Value, i: Value, size: int) -> Value:
    return c.at(c.builder.inttoptr(p, pointer), i, size)


def _store(size: int, narrow: Callable[[Code, Value], Value]) -> Callable[[Code, Value, Value, Value], None]:
    def make(c: Code, p: Value, i: Value, value: Value) -> None:
        c.builder.store(narrow(c, value), _place(c, p, i, size))

    return make


def _same(c: Code, value: Value) -> Value:
    return value


def c_function(name: str, result: Type, *kinds: Type) -> _Make:
    """A call of the C library, whose narrow integers are widened with their sign."""

    def make(c: Code, *given: Value) -> Value | None:
        b = c.builder
        passed = [
            b.inttoptr(x, pointer) if kind == pointer else b.trunc(x, i32) if kind == i32 else x
            for x, kind in zip(given, kinds, strict=True)
        ]
        found = b.call(function(c.module, name, result, kinds), passed)
        if result == void:
            return None
        if result == i32:
            return b.sext(found, i64)
        return b.ptrtoint(found, i64) if result == pointer else found

    return make


def _invoke(c: Code, entry: Value, *given: Value) -> Value:
    kind = ir.FunctionType(i32, [pointer] * len(given))
    callee = c.builder.inttoptr(entry, ir.PointerType(kind))
    return c.builder.sext(c.builder.call(callee, [c.builder.inttoptr(x, pointer) for x in given]), i64)


def _obtain(c: Code, entry: Value, given: Value) -> Value:
    callee = c.builder.inttoptr(entry, ir.PointerType(ir.FunctionType(pointer, [pointer])))
    return c.builder.ptrtoint(c.builder.call(callee, [c.builder.inttoptr(given, pointer)]), i64)


def _notify(c: Code, entry: Value, *given: Value) -> None:
    kinds = [pointer, i32, pointer, pointer]
    callee = c.builder.inttoptr(entry, ir.PointerType(ir.FunctionType(void, kinds)))
    passed = [
        c.builder.trunc(x, i32) if kind == i32 else c.builder.inttoptr(x, pointer)
        for x, kind in zip(given, kinds, strict=True)
    ]
    c.builder.call(callee, passed)


def _ask(c: Code, entry: Value) -> Value:
    callee = c.builder.inttoptr(entry, ir.PointerType(ir.FunctionType(i64, [])))
    return c.builder.call(callee, [])


def _stack(c: Code, size: Value) -> Value:
    return c.address(c.alloca(i8, size))


def _int32(c: Code, p: Value, i: Value) -> Value:
    return c.builder.sext(_element(i32, 4)(c, p, i), i64)


byte = Number(lambda c, p, i: c.builder.zext(_element(i8, 1)(c, p, i), i64))
int32 = Number(_int32)
word = Number(_element(i64, WORD))
real = Real(_element(f64, WORD))
"""Element i of memory at p; `byte` is without sign."""
set_byte = Effect(_store(1, lambda c, x: c.builder.trunc(x, i8)))
set_int32 = Effect(_store(4, lambda c, x: c.builder.trunc(x, i32)))
set_word = Effect(_store(WORD, _same))
set_real = Effect(_store(WORD, _same))
set_single = Effect(_store(4, lambda c, x: c.builder.fptrunc(x, f32)))
"""Store a value as element i of memory at p; `set_single` rounds to float32."""
stack = Number(_stack)
"""The address of so many bytes that the function has until it returns. Not for loops."""
invoke = Number(_invoke)
"""The result of `int32_t (*)(void *, ...)` at an address."""
notify = Effect(_notify)
"""Call `void (*)(void *, int32_t, void *, void *)` at an address."""
ask = Number(_ask)
"""The result of `int64_t (*)(void)` at an address."""
obtain = Number(_obtain)
"""The result of `void *(*)(void *)` at an address."""
shift_right = Number(lambda c, x, count: c.builder.lshr(x, count))
"""The bits of x, zeros before them."""
square_root = Real(lambda c, x: intrinsic(c.builder, "sqrt", [x]))
allocate = Number(c_function("malloc", pointer, i64))
release = Effect(c_function("free", void, pointer))
length = Number(c_function("strlen", i64, pointer))
copy = Number(c_function("memcpy", pointer, pointer, pointer, i64))
to_real = Real(c_function("strtod", f64, pointer, pointer))
to_integer = Number(c_function("strtoll", i64, pointer, pointer, i32))
open_file = Number(c_function("fopen", pointer, pointer, pointer))
read_file = Number(c_function("fread", i64, pointer, i64, i64, pointer))
close_file = Number(c_function("fclose", i32, pointer))
"""Functions of the C library."""


class Table(Number):
    """`table()`: the address of the interface's constants, the words that `translate` is given."""


class Text(Number):
    """`text("...")`: the address of a constant text that ends with NUL."""


table = Table(lambda c: None)
text = Text(lambda c: None)


def truth(c: Code, value: Value) -> Value:
    """Convert a value to a truth value: value != 0."""
    if value.type == ir.IntType(1):
        return value
    return c.builder.icmp_signed("!=", value, constant(value.type, 0))


ANNOTATIONS: Final[dict[str, Any]] = {
    "int": i64, "float": f64, "Address": pointer, "Bool": i8, "Int32": i32, "UInt32": i32, "bool": ir.IntType(1),
}  # fmt: skip
"""What C passes for an annotation."""
