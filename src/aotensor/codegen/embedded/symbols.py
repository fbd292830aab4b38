"""The external functions that an object file calls, and those that are available on every machine.

Source: System V ABI, chapter 4: file header, section header, symbol table, for 32 and 64 bits.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

from aotensor.errors import UnsupportedError

PROVIDED: Final = frozenset({"memcpy", "memmove", "memset"})
"""Functions that compilers require on every machine, with or without a C library."""
_COMPILERS: Final = "__"
"""Prefix of compiler runtime functions, for arithmetic that a machine lacks: __aeabi_dadd."""
_SYMBOL_TABLE: Final = 2  # sh_type SHT_SYMTAB
_GLOBAL: Final = (1, 2)  # STB_GLOBAL, STB_WEAK


def undefined_symbols(code: bytes) -> list[str]:
    """The symbols that a relocatable ELF file refers to and does not define, in file order."""
    is_wide = code[4] == 2
    header = "<16xHHIQQQIHHHHHH" if is_wide else "<16xHHIIIIIHHHHHH"
    section = struct.Struct("<IIQQQQIIQQ" if is_wide else "<IIIIIIIIII")
    _, _, _, _, _, start, _, _, _, _, _, count, _ = struct.unpack_from(header, code)
    table = [section.unpack_from(code, start + k * section.size) for k in range(count)]
    found: list[str] = []
    for _, kind, _, _, offset, size, link, *_ in table:
        if kind == _SYMBOL_TABLE:
            names = table[link][4]
            for name, info, defined_in in _symbols(code[offset : offset + size], is_wide):
                if name and defined_in == 0 and info >> 4 in _GLOBAL:
                    end = code.index(b"\0", names + name)
                    found.append(code[names + name : end].decode())
    return found


def _symbols(table: bytes, is_wide: bool) -> Iterator[tuple[int, int, int]]:
    """(st_name, st_info, st_shndx) of each symbol in a symbol table."""
    if is_wide:
        for name, info, _, section, _, _ in struct.iter_unpack("<IBBHQQ", table):
            yield name, info, section
    else:
        for name, _, _, info, _, section in struct.iter_unpack("<IIIBBH", table):
            yield name, info, section


def refuse_foreign(code: bytes) -> None:
    """Check that an object file calls only functions in PROVIDED and of compiler runtimes.

    Raises: UnsupportedError that names another one.
    """
    foreign = [name for name in undefined_symbols(code) if name not in PROVIDED and not name.startswith(_COMPILERS)]
    if foreign:
        raise UnsupportedError(
            f"a freestanding library cannot call {', '.join(foreign)}",
            hint="leave out --freestanding (freestanding=False) and link a C library",
        )
