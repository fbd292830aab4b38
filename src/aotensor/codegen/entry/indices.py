"""A code builder for index arrays of one width, and the states of a compressed matrix that a scan finds."""

from __future__ import annotations

from typing import Final

from aotensor.codegen.entry.code import Code, number
from aotensor.codegen.llvm import Module, Type, Value, i32, i64

CANONICAL: Final = 0
UNSORTED: Final = 1
"""Valid, but the indices of some slice are not strictly ascending: out of order, or duplicated."""
INVALID: Final = 2

FAST: Final = ("noinline",)
"""Attributes of functions optimised for speed: inlined into their callers, they would be optimised for size."""


class Indices(Code):
    """A code builder for index arrays of one width. Unlike other fixed functions it optimizes for speed, not size."""

    def __init__(self, module: Module, name: str, result: Type, arguments: list[Type], kind: Type) -> None:
        super().__init__(module, f"entry.{name}.{kind}", result, arguments, attributes=FAST)
        self.kind = kind

    def index(self, base: Value, position: Value) -> Value:
        """Load base[position], extended to 64 bits."""
        value = self.item(base, position, self.kind)
        return value if self.kind == i64 else self.builder.sext(value, i64)

    def put_index(self, base: Value, position: Value, value: Value) -> None:
        self.store_at(base, position, value if self.kind == i64 else self.builder.trunc(value, i32))

    def pair(self, base: Value, position: Value) -> tuple[Value, Value]:
        """Load base[position] and base[position + 1]; 32-bit ones by one load, as all targets are little-endian."""
        b = self.builder
        if self.kind == i64:
            return self.item(base, position), self.item(base, b.add(position, number(1)))
        both = b.load(self.at(base, b.zext(position, i64), 4), typ=i64)
        both.align = 4
        return b.trunc(both, i32), b.trunc(b.lshr(both, number(32)), i32)
