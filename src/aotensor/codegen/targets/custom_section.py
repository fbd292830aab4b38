"""Custom sections of WebAssembly modules, which engines ignore: they hold the data about a library.

Source: WebAssembly core specification 2.0, 5.5.2 to 5.5.4. Reading them is the runtime's `WasmFile`.
"""

from __future__ import annotations

from aotensor_runtime.formats.wasm import CUSTOM


def add_section(module: bytes, name: str, content: bytes) -> bytes:
    """Append a custom section to a WebAssembly module."""
    body = _number(len(name.encode())) + name.encode() + content
    return module + bytes([CUSTOM]) + _number(len(body)) + body


def _number(value: int) -> bytes:
    """The LEB128 encoding of a number."""
    digits = bytearray()
    while value >= 128:
        digits.append(value & 127 | 128)
        value >>= 7
    return bytes([*digits, value])
