"""Exports and dependences of libraries for Windows, macOS and WebAssembly, read from their bytes.

Sources: Microsoft, PE Format, 6.3 and 6.4; Apple, mach-o/loader.h and nlist.h; WebAssembly core specification 2.0,
5.5.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

from aotensor_runtime.errors import DamagedLibrary
from aotensor_runtime.formats.macho import MachFile
from aotensor_runtime.formats.pe import PeFile
from aotensor_runtime.formats.wasm import WasmFile, read_number

Names = tuple[list[str], list[str], list[str]]
"""(needed libraries, exported symbols, imported symbols)."""

_MOST: Final = 20_000
"""Maximum number of symbols, and of bytes of a name."""
_EXPORTS, _IMPORTS = 112, 120  # in the optional header: where the tables are
_BY_NUMBER: Final = 1 << 63
_SYMBOL: Final = struct.Struct("<IBBHQ")
_LC_SYMTAB, _LC_LOAD_DYLIB = 0x2, 0xC
_EXTERNAL, _PRIVATE, _KIND, _DEBUG = 0x01, 0x10, 0x0E, 0xE0
_IMPORT_SECTION, _EXPORT_SECTION = 2, 7


def read_pe(image: PeFile) -> Names:
    """Read the dependences of a Windows library.

    Raises: DamagedLibrary, struct.error or IndexError for tables that exceed the file.
    """
    data, needed, taken = image.data, list[str](), list[str]()

    def place(address: int) -> int:
        for start, memory, offset, stored in image.ranges:
            if start <= address < start + min(memory, stored):
                return offset + address - start
        raise DamagedLibrary("a table extends beyond the end of its section")

    def number(at: int, size: int = 4) -> int:
        if at + size > len(data):
            raise DamagedLibrary("a table extends beyond the end of the file")
        return int.from_bytes(data[at : at + size], "little")

    exported = list[str]()
    table = number(image.optional + _EXPORTS)
    if table:
        at = place(table)
        names = place(number(at + 32))
        exported = [_text(data, place(number(names + 4 * k))) for k in _few(number(at + 24))]
    table = number(image.optional + _IMPORTS)
    at = place(table) if table else 0
    while table and number(at + 12):
        needed.append(_text(data, place(number(at + 12))))
        thunk = place(number(at) or number(at + 16))
        while found := number(thunk, 8):
            taken.append("#" + str(found & 0xFFFF) if found & _BY_NUMBER else _text(data, place(found) + 2))
            thunk += 8
        at += 20
    return needed, exported, taken


def read_macho(image: MachFile) -> Names:
    """Read the dependences of a macOS library. Raises: as `read_pe`."""
    data = image.data
    needed, exported, taken = list[str](), list[str](), list[str]()
    for kind, at, _ in image.commands:
        if kind == _LC_LOAD_DYLIB:
            needed.append(_text(data, at + struct.unpack_from("<I", data, at + 8)[0]))
        elif kind == _LC_SYMTAB:
            symbols, count, texts, _ = struct.unpack_from("<IIII", data, at + 8)
            for k in _few(count):
                name, flags, *_ = _SYMBOL.unpack_from(data, symbols + k * _SYMBOL.size)
                if flags & _EXTERNAL and not flags & (_PRIVATE | _DEBUG):
                    (exported if flags & _KIND else taken).append(_text(data, texts + name).removeprefix("_"))
    return needed, exported, taken


def read_wasm(image: WasmFile) -> Names:
    """Read the dependences of a WebAssembly module. Raises: as `read_pe`."""
    data = image.data
    needed, exported, taken = list[str](), list[str](), list[str]()
    for kind, at, _ in image.parts:
        if kind not in (_IMPORT_SECTION, _EXPORT_SECTION):
            continue
        count, at = read_number(data, at)
        for _ in _few(count):
            name, at = _name(data, at)
            if kind == _EXPORT_SECTION:
                exported.append(name)
                _, at = read_number(data, at + 1)
            else:
                field, at = _name(data, at)
                needed.append(name)
                taken.append(field)
                at = _skip_import(data, at)
    return list(dict.fromkeys(needed)), exported, taken


def _skip_import(data: bytes, at: int) -> int:
    """The offset after the description of an import: a function, a table, a memory or a global."""
    kind, at = data[at], at + 1
    if kind == 3:
        return at + 2
    if kind == 0:
        return read_number(data, at)[1]
    at += kind == 1  # the type of a table
    _, behind = read_number(data, at + 1)
    return read_number(data, behind)[1] if data[at] & 1 else behind


def _few(count: int) -> Iterator[int]:
    if count > _MOST:
        raise DamagedLibrary(f"there are more than {_MOST} symbols")
    return iter(range(count))


def _name(data: bytes, at: int) -> tuple[str, int]:
    length, at = read_number(data, at)
    if length > _MOST or at + length > len(data):
        raise DamagedLibrary("a symbol has no name, or a very long one")
    return data[at : at + length].decode("latin-1"), at + length


def _text(data: bytes, at: int) -> str:
    end = data.find(b"\0", at, at + _MOST)
    if end < 0:
        raise DamagedLibrary("a symbol has no name, or a very long one")
    return data[at:end].decode("latin-1")
