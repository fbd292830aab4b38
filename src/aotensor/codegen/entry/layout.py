"""Offsets of struct fields on a target: from ctypes for 64-bit addresses, computed for 32-bit addresses.

Source: the C ABI of the targets: a field is aligned to its size, 64-bit integers to 8 bytes.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

from aotensor.codegen.llvm import Module


def pointer_bytes(module: Module) -> int:
    """The size in bytes of an address on a module's target."""
    return 4 if "p:32:32" in (module.data_layout or "") else 8


def size_of(struct: type[ctypes.Structure], pointers: int) -> int:
    """The size of a struct in bytes. pointers: bytes of an address."""
    if pointers == ctypes.sizeof(ctypes.c_void_p):
        return ctypes.sizeof(struct)
    end = max((offset + size for _, offset, size, _ in _fields(struct, pointers)), default=0)
    return _padded(end, _alignment(struct, pointers))


def offset_of(struct: type[ctypes.Structure], name: str, pointers: int) -> int:
    """The offset of a field in bytes. pointers: bytes of an address."""
    return next(offset for field, offset, _, _ in _fields(struct, pointers) if field == name)


def end_of(struct: type[ctypes.Structure], name: str, pointers: int) -> int:
    """The offset of the end of a field in bytes. pointers: bytes of an address."""
    return next(offset + size for field, offset, size, _ in _fields(struct, pointers) if field == name)


def _fields(struct: type[ctypes.Structure], pointers: int) -> Iterator[tuple[str, int, int, int]]:
    """Yield (name, offset, size, alignment) of each field of a struct, in bytes."""
    at = 0
    for field in struct._fields_:
        size, alignment = _measured(field[1], pointers)
        at = _padded(at, alignment)
        yield field[0], at, size, alignment
        at += size


def _measured(kind: Any, pointers: int) -> tuple[int, int]:
    if issubclass(kind, ctypes.Structure):
        return size_of(kind, pointers), _alignment(kind, pointers)
    if issubclass(kind, ctypes.Array):
        size, alignment = _measured(kind._type_, pointers)
        return size * kind._length_, alignment
    size = pointers if kind is ctypes.c_void_p else ctypes.sizeof(kind)
    return size, size


def _alignment(struct: type[ctypes.Structure], pointers: int) -> int:
    return max((alignment for _, _, _, alignment in _fields(struct, pointers)), default=1)


def _padded(size: int, alignment: int) -> int:
    return -(-size // alignment) * alignment
