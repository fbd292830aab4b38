"""Libraries for Windows, read without running them: sections, and the checksum of the loaded parts.

Source: Microsoft, PE Format, sections 2 to 4.
"""

from __future__ import annotations

import hashlib
import struct
from typing import Final

from aotensor_runtime.errors import DamagedLibrary, ForeignLibrary
from aotensor_runtime.formats.image import SHARED, Image, Section, unbundle

START: Final = b"MZ"
SECTION: Final = ".aotensr"
"""The section that contains ours: names in a library have at most eight letters."""

_MACHINES: Final = {0x8664: (62, "x86-64"), 0xAA64: (183, "AArch64")}
_SIGNATURE: Final = b"PE\0\0"
_HEADER: Final = struct.Struct("<HHIIIHH")
_SECTION: Final = struct.Struct("<8sIIIIIIHHI")
_DLL: Final = 0x2000
_WIDE: Final = 0x20B  # magic of an optional header with addresses of 64 bits
_CHECKSUM: Final = (64, 68)
_DIRECTORIES: Final = 112
_SIGNED: Final = (_DIRECTORIES + 4 * 8, _DIRECTORIES + 5 * 8)
"""Fields of the optional header that signing changes: the checksum, and the position of the signature."""


class PeFile(Image):
    """A library for Windows in memory, with addresses of 64 bits.

    Raises: ForeignLibrary for another program of DOS or Windows; DamagedLibrary if its tables point outside of it.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
        start = int.from_bytes(data[0x3C:0x40], "little")
        self.optional = start + len(_SIGNATURE) + _HEADER.size
        if data[start : start + len(_SIGNATURE)] != _SIGNATURE:
            raise ForeignLibrary("this is a DOS or Windows file, but not a library")
        if self.optional + _SIGNED[1] > len(data):
            raise DamagedLibrary("the file ends inside its header")
        code, count, _, _, _, size, flags = _HEADER.unpack_from(data, start + len(_SIGNATURE))
        if not flags & _DLL or int.from_bytes(data[self.optional : self.optional + 2], "little") != _WIDE:
            raise ForeignLibrary("this is a Windows file, but not a 64-bit library")
        self.kind, (self.machine, self._name) = SHARED, _MACHINES.get(code, (-1, f"machine {code:#x}"))
        table = self.optional + size
        if table + count * _SECTION.size > len(data):
            raise DamagedLibrary("section table: it extends beyond the end of the file")
        self.ranges: list[tuple[int, int, int, int]] = []
        """Address, size in memory, offset in the file and size there, of each section."""
        self.sections: dict[str, Section] = {}
        self._end = table + count * _SECTION.size
        for name, memory, address, stored, offset, *_ in _SECTION.iter_unpack(data[table : self._end]):
            if offset + stored > len(data):
                raise DamagedLibrary(f"section {name.decode('latin-1')}: it extends beyond the end of the file")
            self.ranges.append((address, memory, offset, stored))
            text = name.rstrip(b"\0").decode("latin-1")
            if text == SECTION:
                self.sections |= {x.name: x for x in unbundle(data, offset, offset + stored)}
            else:
                self.sections[text] = Section(text, offset, min(memory, stored))

    @property
    def platform(self) -> str:
        return f"Windows on {self._name}"

    def digest(self, hole: Section) -> bytes:
        """SHA-256 of headers and sections, with zeros for `hole` and for fields that signing changes."""
        image = bytearray(self.data)
        image[hole.offset : hole.offset + hole.size] = bytes(hole.size)
        for first, end in (_CHECKSUM, _SIGNED):
            image[self.optional + first : self.optional + end] = bytes(end - first)
        total = hashlib.sha256(image[: self._end])
        for _, _, offset, stored in self.ranges:
            total.update(image[offset : offset + stored])
        return total.digest()
