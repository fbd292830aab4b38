"""Write archives of one object file with a symbol index; dates, owners and modes are fixed.

    System V   GNU ar's variant, read by linkers for ELF, COFF and WebAssembly        /  //  name/
    BSD        for Mach-O                                                             __.SYMDEF  #1/length
    imports    the exports of a DLL, in COFF's short form; sufficient for lld

Sources: the manual of ar; ranlib.h of macOS; Microsoft's PE format, "Import Library Format".
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final

_MAGIC: Final = b"!<arch>\n"
_HEAD: Final = 60
_AMD64: Final = 0x8664
_CODE_BY_NAME: Final = 1 << 2  # an IMPORT_CODE whose name is the symbol as it is


def archive(code: bytes, *, member: str, exported: Sequence[str], is_bsd: bool = False) -> bytes:
    """A static archive that contains one object file.   is_bsd: BSD format for Mach-O, whose symbols begin with _?"""
    if is_bsd:
        return _bsd_archive(code, member, [f"_{name}" for name in exported])
    names = b"".join(name.encode() + b"\0" for name in exported)
    long_names = f"{member}/\n".encode() if len(member) > 15 else b""
    index_size = 4 + 4 * len(exported) + len(names)
    first = len(_MAGIC) + _padded(_HEAD + index_size) + (_padded(_HEAD + len(long_names)) if long_names else 0)
    index = struct.pack(f">{1 + len(exported)}I", len(exported), *[first] * len(exported)) + names
    result = _MAGIC + _member("/", index)
    if long_names:
        result += _member("//", long_names)
    return result + _member("/0" if long_names else f"{member}/", code)


def import_archive(dll: str, symbols: Sequence[str]) -> bytes:
    """The import library of a DLL's functions, for lld."""
    imports = []
    for name in symbols:
        texts = f"{name}\0{dll}\0".encode()
        head = struct.pack("<HHHHIIHH", 0, 0xFFFF, 0, _AMD64, 0, len(texts), 0, _CODE_BY_NAME)
        imports.append(_member(f"{dll}/", head + texts))
    names = b"".join(f"{name}\0__imp_{name}\0".encode() for name in symbols)
    count = 2 * len(symbols)
    at = len(_MAGIC) + _padded(_HEAD + 4 + 4 * count + len(names))
    offsets: list[int] = []
    for member in imports:
        offsets += [at, at]
        at += len(member)
    return _MAGIC + _member("/", struct.pack(f">{1 + count}I", count, *offsets) + names) + b"".join(imports)


def _bsd_archive(code: bytes, member: str, symbols: Sequence[str]) -> bytes:
    texts = b"".join(name.encode() + b"\0" for name in symbols)
    texts = texts.ljust(-(-len(texts) // 8) * 8, b"\0")
    index_size = 4 + 8 * len(symbols) + 4 + len(texts)
    first = len(_MAGIC) + _padded(_HEAD + len(_long("__.SYMDEF")) + index_size)
    entries, at = [], 0
    for name in symbols:
        entries += [at, first]
        at += len(name.encode()) + 1
    table = struct.pack(f"<{2 + len(entries)}I", 4 * len(entries), *entries, len(texts)) + texts
    return _MAGIC + _bsd_member("__.SYMDEF", table) + _bsd_member(member, code)


def _bsd_member(name: str, content: bytes) -> bytes:
    text = _long(name)
    return _member(f"#1/{len(text)}", text + content)


def _long(name: str) -> bytes:
    """A long member name in BSD format: it precedes the content, and is padded to align the content to 8 bytes."""
    raw = name.encode() + b"\0"
    return raw.ljust(-(-(len(_MAGIC) + _HEAD + len(raw)) // 8) * 8 - len(_MAGIC) - _HEAD, b"\0")


def _member(name: str, content: bytes) -> bytes:
    header = f"{name:<16}{0:<12}{0:<6}{0:<6}{'644':<8}{len(content):<10}`\n".encode()
    return (header + content).ljust(_padded(_HEAD + len(content)), b"\n")


def _padded(size: int) -> int:
    """A size rounded up to even, as members start at even offsets."""
    return size + size % 2
