"""The dependences of a shared library, read from its bytes.

Source: System V ABI, chapter 5; Linux Standard Base 5.0, chapter 10.7, for versions of symbols.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

from aotensor.codegen.targets.linkage_formats import read_macho, read_pe, read_wasm
from aotensor_runtime.elf import ElfFile
from aotensor_runtime.errors import DamagedLibrary
from aotensor_runtime.formats.image import Image
from aotensor_runtime.formats.macho import MachFile
from aotensor_runtime.formats.pe import PeFile
from aotensor_runtime.formats.wasm import WasmFile

_SYMBOL: Final = struct.Struct("<IBBHQQ")
_ENTRY: Final = struct.Struct("<qQ")
_VERSIONS_OF_FILE: Final = struct.Struct("<HHIII")  # version, count, file, first version, next file
_VERSION: Final = struct.Struct("<IHHII")  # hash, flags, number, name, next version
_NEEDED, _UNDEFINED, _LOCAL = 1, 0, 0
_MAX_SYMBOLS: Final = 20_000
_MAX_NAME: Final = 4096
"""Maximum length of a symbol's name in bytes."""


@dataclass(frozen=True)
class Linkage:
    """The dependences of a library. needed: other libraries. exported: defined symbols. undefined: imported symbols.

    versions: required versions of other libraries' symbols, such as GLIBC_2.34.
    """

    needed: tuple[str, ...]
    exported: tuple[str, ...]
    undefined: tuple[str, ...]
    versions: tuple[str, ...] = ()


def read_linkage(image: Image) -> Linkage:
    """Read the dynamic symbols and the needed libraries of an ELF library. Raises: DamagedLibrary."""
    try:
        match image:
            case PeFile():
                found = read_pe(image)
            case MachFile():
                found = read_macho(image)
            case WasmFile():
                found = read_wasm(image)
            case ElfFile():
                return _read_elf(image)
            case _:
                raise TypeError(type(image))
    except (struct.error, IndexError) as error:
        raise DamagedLibrary("a table of symbols extends beyond the end of the file") from error
    needed, exported, taken = found
    return Linkage(tuple(needed), tuple(sorted(set(exported))), tuple(sorted(set(taken))))


def _read_elf(elf: ElfFile) -> Linkage:
    texts = elf.section(".dynstr") or b""
    table, dynamic = elf.section(".dynsym") or b"", elf.section(".dynamic") or b""
    if max(len(table) // _SYMBOL.size, len(dynamic) // _ENTRY.size) > _MAX_SYMBOLS:
        raise DamagedLibrary(f"there are more than {_MAX_SYMBOLS} dynamic symbols")
    try:
        symbols = list(_SYMBOL.iter_unpack(table))
        entries = list(_ENTRY.iter_unpack(dynamic))
    except struct.error as error:
        raise DamagedLibrary("a dynamic table has a broken entry") from error
    outside = [(name, section) for name, info, _, section, _, _ in symbols if info >> 4 != _LOCAL]
    return Linkage(
        tuple(_text(texts, value) for tag, value in entries if tag == _NEEDED),
        tuple(sorted(_text(texts, name) for name, section in outside if section != _UNDEFINED)),
        tuple(sorted(_text(texts, name) for name, section in outside if section == _UNDEFINED)),
        tuple(sorted(_versions(elf.section(".gnu.version_r") or b"", texts))),
    )


def _versions(table: bytes, texts: bytes) -> set[str]:
    """The names of the required symbol versions, of all needed libraries."""
    found: set[str] = set()
    at, seen = 0, 0
    try:
        while table:
            _, count, _, first, following = _VERSIONS_OF_FILE.unpack_from(table, at)
            inner = at + first
            for _ in range(count):
                _, _, _, name, step = _VERSION.unpack_from(table, inner)
                found.add(_text(texts, name))
                inner, seen = inner + step, seen + 1
                if seen > _MAX_SYMBOLS:
                    raise DamagedLibrary(f"there are more than {_MAX_SYMBOLS} versions of symbols")
            if not following:
                break
            at += following
    except struct.error as error:
        raise DamagedLibrary("the versions of symbols extend beyond the end of their table") from error
    return found


def _text(texts: bytes, offset: int) -> str:
    end = texts.find(b"\0", offset, offset + _MAX_NAME)
    if end < 0:
        raise DamagedLibrary("a dynamic symbol has no name, or a very long one")
    return texts[offset:end].decode("latin-1")
