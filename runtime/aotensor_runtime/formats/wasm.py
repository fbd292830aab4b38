"""WebAssembly modules, read without running them: our custom sections, and the checksum of the other parts.

Source: WebAssembly core specification 2.0, 5.5.2 to 5.5.4.
"""

from __future__ import annotations

import hashlib
from typing import Final

from aotensor_runtime.errors import DamagedLibrary, ForeignLibrary
from aotensor_runtime.formats.image import SHARED, Image, Section

START: Final = b"\0asm"
CUSTOM: Final = 0
_HEAD: Final = START + b"\1\0\0\0"
_LONGEST: Final = 5
"""Most bytes of a 32-bit number in LEB128."""
_OURS: Final = ".aotensor."


class WasmFile(Image):
    """A module in memory.   parts: kind, offset and size of each section

    Raises: ForeignLibrary if it is not a module; DamagedLibrary if sections reach beyond its end.
    """

    def __init__(self, data: bytes) -> None:
        if not data.startswith(_HEAD):
            raise ForeignLibrary("this is not a WebAssembly module of version 1")
        self.data, self.kind, self.machine = data, SHARED, 0
        self.parts: list[tuple[int, int, int]] = []
        self.sections: dict[str, Section] = {}
        at = len(_HEAD)
        while at < len(data):
            kind = data[at]
            size, at = read_number(data, at + 1)
            if at + size > len(data):
                raise DamagedLibrary("the module ends inside a section")
            self.parts.append((kind, at, size))
            if kind == CUSTOM:
                length, start = read_number(data, at)
                if start + length > at + size:
                    raise DamagedLibrary("the name of a section extends beyond its end")
                name = data[start : start + length].decode("latin-1")
                self.sections.setdefault(name, Section(name, start + length, at + size - start - length))
            at += size

    @property
    def platform(self) -> str:
        return "WebAssembly"

    def digest(self, hole: Section) -> bytes:
        """SHA-256 of the module without custom sections of others, with zeros for `hole`."""
        image = bytearray(self.data)
        image[hole.offset : hole.offset + hole.size] = bytes(hole.size)
        total = hashlib.sha256()
        for kind, offset, size in self.parts:
            if kind != CUSTOM:
                total.update(bytes([kind]) + image[offset : offset + size])
        for name, section in sorted(self.sections.items()):
            if name.startswith(_OURS):
                total.update(name.encode() + b"\0" + image[section.offset : section.offset + section.size])
        return total.digest()


def read_number(data: bytes, at: int) -> tuple[int, int]:
    """(a number in LEB128, the offset after it).   Raises: DamagedLibrary"""
    value = 0
    for k in range(_LONGEST):
        if at + k >= len(data):
            break
        value |= (data[at + k] & 127) << 7 * k
        if data[at + k] < 128:
            return value, at + k + 1
    raise DamagedLibrary("the module ends inside a number, or has a broken one")
