"""Custom sections of WebAssembly modules, which engines pass over: the manifest travels in one, to be read unexecuted.

Source: WebAssembly core specification 2.0, 5.5.2 to 5.5.4.
"""

from __future__ import annotations

from typing import Final

from aotensor_runtime.errors import DamagedLibrary, ForeignLibrary

MANIFEST: Final = "aotensor.manifest"
_HEAD: Final = b"\0asm\1\0\0\0"
_CUSTOM: Final = 0
_LONGEST: Final = 5
"""Bytes of a number of 32 bits."""


def add_section(module: bytes, name: str, content: bytes) -> bytes:
    """A module with one more custom section, at its end."""
    body = _number(len(name.encode())) + name.encode() + content
    return module + bytes([_CUSTOM]) + _number(len(body)) + body


def find_section(module: bytes, name: str) -> bytes:
    """The content of a custom section.

    Raises: ForeignLibrary for what is no module or has no such section; DamagedLibrary if sections lead out of it.
    """
    if not module.startswith(_HEAD):
        raise ForeignLibrary("not a WebAssembly module")
    at = len(_HEAD)
    while at < len(module):
        kind = module[at]
        size, at = _read_number(module, at + 1)
        if at + size > len(module):
            raise DamagedLibrary("the module ends inside a section")
        if kind == _CUSTOM:
            length, start = _read_number(module, at)
            if module[start : start + length] == name.encode() and start + length <= at + size:
                return module[start + length : at + size]
        at += size
    raise ForeignLibrary("aotensor did not build this module: it has no manifest")


def _number(value: int) -> bytes:
    """LEB128"""
    digits = bytearray()
    while value >= 128:
        digits.append(value & 127 | 128)
        value >>= 7
    return bytes([*digits, value])


def _read_number(data: bytes, at: int) -> tuple[int, int]:
    """A number and what is behind it."""
    value = 0
    for k in range(_LONGEST):
        if at + k >= len(data):
            break
        value |= (data[at + k] & 127) << 7 * k
        if data[at + k] < 128:
            return value, at + k + 1
    raise DamagedLibrary("the module ends inside a number, or has a broken one")
