"""The only access to llvmlite, which has no type annotations: names for them, and a few functions that it lacks.

`ir` builds LLVM IR as text, `binding` is the C++ side. For mypy all their objects are `Any`; the aliases `Module`,
`Function`, `Builder`, `Value` and `Type` document signatures.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final, TypeAlias

from llvmlite import binding, ir
from llvmlite.ir.values import MDValue

__all__ = [
    "NAMED", "Builder", "Function", "Module", "ModuleRef", "Node", "Type", "Value",
    "access_group", "begin_debug_info", "binding", "constant", "count_of", "debug_node", "debug_word", "element_of",
    "f16", "f32", "f64", "function", "i1", "i8", "i32", "i64", "integer", "intrinsic", "ir", "is_constant", "lane_bits",
    "loop_node", "mark_argument", "mark_function", "node", "opaque", "pointer", "rename", "splat", "suffix", "vector",
    "void",
]  # fmt: skip

Module: TypeAlias = ir.Module
ModuleRef: TypeAlias = binding.ModuleRef
Function: TypeAlias = ir.Function
Builder: TypeAlias = ir.IRBuilder
Value: TypeAlias = ir.Value
Type: TypeAlias = ir.Type
Node: TypeAlias = MDValue

void: Final[Type] = ir.VoidType()
pointer: Final[Type] = ir.PointerType()
i1: Final[Type] = ir.IntType(1)
i8: Final[Type] = ir.IntType(8)
i32: Final[Type] = ir.IntType(32)
i64: Final[Type] = ir.IntType(64)
f16: Final[Type] = ir.HalfType()
f32: Final[Type] = ir.FloatType()
f64: Final[Type] = ir.DoubleType()
NAMED: Final[dict[str, Type]] = {str(kind): kind for kind in (ir.IntType(8), ir.IntType(16), f32, f64)}
"""The types of registers that hold floats, by LLVM's name."""


# --- types and constants ---------------------------------------------------------------------------------------------


def integer(bits: int) -> Type:
    """The LLVM integer type with that many bits."""
    return ir.IntType(bits)


def vector(element: Type, count: int) -> Type:
    """The LLVM vector type <count x element>."""
    return ir.VectorType(element, count)


def count_of(kind: Type) -> int | None:
    """The number of lanes of a vector type, None for a scalar type."""
    return kind.count if isinstance(kind, ir.VectorType) else None


def element_of(kind: Type) -> Type:
    """The lane type of a vector type; a scalar type is returned unchanged."""
    return kind.element if isinstance(kind, ir.VectorType) else kind


def lane_bits(kind: Type) -> int:
    """The width of a scalar, or of one lane of a vector, in bits."""
    lane = element_of(kind)
    if isinstance(lane, ir.IntType):
        return int(lane.width)
    return 32 if lane == f32 else 64


def suffix(kind: Type) -> str:
    """The suffix of a type in an intrinsic's name: f64, i32, v4f32, p0."""
    lanes = count_of(kind)
    if lanes is not None:
        return f"v{lanes}{suffix(element_of(kind))}"
    return str(kind.intrinsic_name)


def constant(kind: Type, value: bool | int | float | Sequence[bool | int | float]) -> Value:
    """A constant of an integer, float or vector type. Integers wrap, floats round; a vector gets one value or all."""
    lanes = count_of(kind)
    if lanes is not None:
        values = value if isinstance(value, Sequence) else [value] * lanes
        return ir.Constant(kind, [constant(element_of(kind), x) for x in values])
    assert not isinstance(value, Sequence)
    if isinstance(kind, ir.IntType):
        half = 1 << kind.width - 1
        return ir.Constant(kind, bool(value & 1) if kind.width == 1 else (int(value) + half) % (2 * half) - half)  # type: ignore[operator]
    return ir.Constant(kind, ctypes.c_float(value).value if kind == f32 else float(value))


class Bytes(ir.Constant):  # type: ignore[misc]
    """A constant array of bytes. llvmlite's own constant prints byte by byte."""

    _LONGEST_TEXT: ClassVar[int] = 4096

    def __init__(self, data: bytes) -> None:
        super().__init__(ir.ArrayType(i8, len(data)), bytearray(data))

    def _get_reference(self) -> str:
        data: bytearray = self.constant
        return str(super()._get_reference()) if len(data) <= self._LONGEST_TEXT else f'c"\\{data.hex(chr(92))}"'


def is_constant(value: Value) -> bool:
    """Is a value a constant number?"""
    return isinstance(value, ir.Constant) and isinstance(value.constant, int)


def opaque(address: Value) -> Value:
    """An address as a value of type `ptr`: llvmlite gives allocas and globals a typed pointer."""
    address.type = pointer
    return address


def splat(builder: Builder, value: Value, count: int) -> Value:
    """<count x T> with `value` in every lane."""
    kind = vector(value.type, count)
    one = builder.insert_element(ir.Constant(kind, ir.Undefined), value, constant(i32, 0))
    return builder.shuffle_vector(one, ir.Constant(kind, ir.Undefined), constant(vector(i32, count), 0))


def hidden(builder: Builder, value: Value) -> Value:
    """An integer after a `freeze`, which prevents LLVM's analyses from expanding its formula."""
    if isinstance(value, ir.Constant):
        return value
    frozen = ir.Instruction(builder.block, value.type, "freeze", [value])
    builder._insert(frozen)  # llvmlite has no method for it
    return frozen


# --- functions -------------------------------------------------------------------------------------------------------


def function(module: Module, name: str, result: Type, arguments: Sequence[Type]) -> Function:
    """The function of that name; it is declared if the module does not have it yet."""
    if name in module.globals:
        return module.globals[name]
    return ir.Function(module, ir.FunctionType(result, list(arguments)), name=name)


def rename(target: Function, name: str) -> None:
    """Rename a function of a module, and update its calls."""
    module = target.module
    del module.globals[target.name]
    module.scope._useset.discard(target.name)  # otherwise the old name could not be used again
    target.name = name
    module.globals[name] = target


def mark_function(target: Function, *attributes: str) -> None:
    """Add function attributes, including those that llvmlite's list lacks."""
    for attribute in attributes:
        set.add(target.attributes, attribute)


def mark_argument(target: Function, position: int, *attributes: str) -> None:
    """Add parameter attributes, including those that llvmlite's list lacks."""
    for attribute in attributes:
        set.add(target.args[position].attributes, attribute)


def intrinsic(
    builder: Builder,
    name: str,
    arguments: Sequence[Value],
    *,
    result: Type | None = None,
    overloads: Sequence[Type] | None = None,
    flags: Iterable[str] = (),
) -> Value:
    """Call `llvm.<name>.<overloads>`. By default it is overloaded on its first argument, and returns that type."""
    kinds = [arguments[0].type] if overloads is None else overloads
    symbol = ".".join(["llvm", name, *(suffix(kind) for kind in kinds)])
    returned = arguments[0].type if result is None else result
    callee = function(builder.module, symbol, returned, [x.type for x in arguments])
    return builder.call(callee, list(arguments), fastmath=tuple(flags))


# --- metadata --------------------------------------------------------------------------------------------------------


class _EmptyDistinctNode(MDValue):  # type: ignore[misc]
    """`distinct !{}`: a node that equals no other one; llvmlite would merge nodes with equal operands."""

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return hash(self.name)

    def descr(self, buf: list[str]) -> None:
        buf += ("distinct !{}\n",)


def node(module: Module, operands: Sequence[Any]) -> Node:
    """A uniqued metadata node of strings, constants, nodes, and sequences of these."""
    return module.add_metadata(list(operands))


def access_group(module: Module) -> Node:
    """A new group for `!llvm.access.group` and `llvm.loop.parallel_accesses`."""
    return _EmptyDistinctNode(module, (), name=str(len(module.metadata)))


def loop_node(module: Module, properties: Mapping[str, Value | Node]) -> Node:
    """The value of `!llvm.loop`: a node that refers to itself first, then one `!{!"name", value}` per property."""
    operands = [node(module, [name, value]) for name, value in properties.items()]
    loop = MDValue(module, (), name=str(len(module.metadata)))
    loop.operands = (loop, *operands)
    return loop


def debug_node(module: Module, kind: str, is_distinct: bool = False, **operands: Any) -> Node:
    """A node of debug information, such as DILocation, with its fields."""
    return module.add_debug_info(kind, operands, is_distinct)


def debug_word(word: str) -> Any:
    """A keyword of LLVM's such as DW_LANG_Python, which is printed without quotes."""
    return ir.DIToken(word)


def begin_debug_info(module: Module, unit: Node, dwarf_version: int, format_version: int) -> None:
    """Register a compile unit, without which LLVM drops all debug information."""
    module.add_named_metadata("llvm.dbg.cu", unit)
    for rule, name, version in ((7, "Dwarf Version", dwarf_version), (2, "Debug Info Version", format_version)):
        module.add_named_metadata("llvm.module.flags", [constant(i32, rule), name, constant(i32, version)])
