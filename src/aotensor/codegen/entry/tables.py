"""What the fixed functions know about one function: constant tables in the library, described once as ctypes.

A table is written by `FunctionTable` codegen below and read by `entry_core` through the same struct.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from aotensor.codegen.entry.verbs import NULL, constant_struct, number
from aotensor.codegen.llvm import Function, Module, Value, i8, i64, ir, pointer
from aotensor_runtime.abi import DTYPE_CODES, DTYPE_SIZES, Blas
from aotensor_runtime.manifest import ArgumentSpec, FunctionSpec, OutputSpec

ALLOCATED: Final = 1
"""Flag of an output that the typed entry takes as an aotensor_array."""


class Argument(ctypes.Structure):
    """One input or output. dims: per axis the extent, or -1 - d for dim number d; inputs only."""

    _fields_ = (
        ("name", ctypes.c_void_p),
        ("dims", ctypes.c_void_p),
        ("dtype", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("itemsize", ctypes.c_int32),
        ("flags", ctypes.c_int32),
    )


class Table(ctypes.Structure):
    """One function. Ranks are sums over all inputs, or all outputs; texts end with NUL.

    check: status code of its first check. sized: 1 if the workspace is a function of the dims alone.
    needs: offsets in aotensor_blas of the functions that it cannot do without; need_names: their names.
    """

    _fields_ = (
        ("name", ctypes.c_void_p),
        ("extents", ctypes.c_void_p),
        ("kernel", ctypes.c_void_p),
        ("arguments", ctypes.c_void_p),
        ("dim_names", ctypes.c_void_p),
        ("checks", ctypes.c_void_p),
        ("needs", ctypes.c_void_p),
        ("need_names", ctypes.c_void_p),
        ("inputs", ctypes.c_int32),
        ("outputs", ctypes.c_int32),
        ("dims", ctypes.c_int32),
        ("input_ranks", ctypes.c_int32),
        ("output_ranks", ctypes.c_int32),
        ("check", ctypes.c_int32),
        ("sized", ctypes.c_int32),
        ("need_count", ctypes.c_int32),
    )


class Frame(ctypes.Structure):
    """One call while it runs, in stack memory.

    data: address of the row-major elements of each input and output. temporaries: what to free at the end, per input
    and output. shapes: extents of all inputs, then of all outputs, then the bytes of workspace. dims: their values.
    """

    _fields_ = (
        ("table", ctypes.c_void_p),
        ("context", ctypes.c_void_p),
        ("data", ctypes.c_void_p),
        ("temporaries", ctypes.c_void_p),
        ("shapes", ctypes.c_void_p),
        ("dims", ctypes.c_void_p),
    )


def is_elf(triple: str) -> bool:
    """Are object files of this target ELF files?"""
    return not any(name in triple for name in ("darwin", "macos", "ios", "windows", "mingw", "cygwin", "wasm"))


@dataclass
class Constants:
    """Read-only data of the module; equal texts are stored once."""

    module: Module

    def __post_init__(self) -> None:
        self._texts: dict[bytes, Value] = {}

    def data(self, name: str, value: Value, *, section: str = "", align: int = 8) -> Value:
        """An internal constant. Formats other than ELF have no sections of free names: it is plain data there."""
        place = ir.GlobalVariable(self.module, value.type, self.module.get_unique_name(name))
        place.initializer, place.global_constant, place.linkage, place.align = value, True, "internal", align
        if section and is_elf(self.module.triple):
            place.section = section
        return place

    def text(self, text: str | bytes) -> Value:
        """A text that ends with NUL."""
        raw = (text.encode() if isinstance(text, str) else text) + b"\0"
        if raw not in self._texts:
            place = self.data("entry.text", raw_bytes(raw), align=1)
            place.unnamed_addr = True
            self._texts[raw] = place
        return self._texts[raw]

    def pointers(self, values: Sequence[Value]) -> Value:
        """An array of addresses; NULL if it is empty."""
        if not values:
            return NULL
        return self.data("entry.list", ir.Constant(ir.ArrayType(pointer, len(values)), list(values)))

    def numbers(self, values: Sequence[int]) -> Value:
        """An array of 64-bit numbers; NULL if it is empty."""
        if not values:
            return NULL
        return self.data("entry.list", ir.Constant(ir.ArrayType(i64, len(values)), [number(v) for v in values]))


def raw_bytes(data: bytes) -> Value:
    """Bytes as a constant array."""
    return ir.Constant(ir.ArrayType(i8, len(data)), bytearray(data))


def function_table(
    constants: Constants,
    spec: FunctionSpec,
    extents: Function,
    kernel: Function,
    check: int,
    sized: bool,
    texts: Sequence[bytes],
) -> Value:
    """Write the table of one function; `texts` are the templates of its checks."""
    arguments = [_argument(constants, spec, value) for value in spec.values]
    values = {
        "name": constants.text(spec.name),
        "extents": extents,
        "kernel": kernel,
        "arguments": constants.data("entry.arguments", _array(arguments)) if arguments else NULL,
        "dim_names": constants.pointers([constants.text(name) for name in spec.dims]),
        "checks": constants.pointers([constants.text(text) for text in texts]),
        "needs": constants.numbers([getattr(Blas, name).offset for name in spec.lapack]),
        "need_names": constants.pointers([constants.text(name) for name in spec.lapack]),
        "inputs": len(spec.inputs),
        "outputs": len(spec.outputs),
        "dims": len(spec.dims),
        "input_ranks": sum(len(value.shape) for value in spec.inputs),
        "output_ranks": sum(len(value.shape) for value in spec.outputs),
        "check": check,
        "sized": int(sized),
        "need_count": len(spec.lapack),
    }
    return constants.data(f"entry.table.{spec.name}", constant_struct(Table, values))


def _argument(constants: Constants, spec: FunctionSpec, value: ArgumentSpec | OutputSpec) -> Value:
    is_input = isinstance(value, ArgumentSpec)
    dims = [n if isinstance(n, int) else -1 - spec.dims.index(str(n)) for n in value.shape] if is_input else []
    return constant_struct(
        Argument,
        {
            "name": constants.text(value.name),
            "dims": constants.numbers(dims),
            "dtype": DTYPE_CODES[value.dtype],
            "rank": len(value.shape),
            "itemsize": DTYPE_SIZES[value.dtype],
            "flags": ALLOCATED if isinstance(value, OutputSpec) and value.is_allocated else 0,
        },
    )


def _array(values: Sequence[Value]) -> Value:
    return ir.Constant(ir.ArrayType(values[0].type, len(values)), list(values))
