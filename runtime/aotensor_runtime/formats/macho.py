"""Libraries for macOS, read without running them: sections, and the checksum of the loaded parts.

Source: Apple, mach-o/loader.h.
"""

from __future__ import annotations

import hashlib
import struct
from typing import Final

from aotensor_runtime.errors import DamagedLibrary, ForeignLibrary
from aotensor_runtime.formats.image import SHARED, Image, Section, unbundle

START: Final = b"\xcf\xfa\xed\xfe"
FAT: Final = b"\xca\xfe\xba\xbe"
SECTION: Final = ("__AOTENSOR", "__bundle")
"""Segment and section that contain ours."""

SEGMENT: Final = 0x19
_BUILD, _OLDEST = 0x32, 0x24  # LC_BUILD_VERSION, LC_VERSION_MIN_MACOSX
_MACHINES: Final = {0x01000007: (62, "x86-64"), 0x0100000C: (183, "AArch64")}
_HEADER: Final = struct.Struct("<4sIIIIIII")
_COMMAND: Final = struct.Struct("<II")
_SEGMENT: Final = struct.Struct("<II16sQQQQIIII")
_SECTION: Final = struct.Struct("<16s16sQQIIIIIIII")
_DYLIB: Final = 6
_LINKEDIT: Final = b"__LINKEDIT"
_MOST: Final = 1000
"""Most load commands and sections; our files have less than 40."""
_EMPTY: Final = 1  # type of a section without bytes in the file


class MachFile(Image):
    """A library for macOS in memory.   commands: kind, offset and size of each

    Raises: ForeignLibrary for another file of macOS; DamagedLibrary if its tables point outside of it.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
        if data.startswith(FAT):
            raise ForeignLibrary("this is a macOS file for several processors", hint="extract one with lipo -thin")
        if len(data) < _HEADER.size:
            raise DamagedLibrary("the file ends inside its header")
        _, processor, _, kind, count, size, _, _ = _HEADER.unpack_from(data)
        if kind != _DYLIB:
            raise ForeignLibrary("this is a macOS file, but not a library")
        self.kind, (self.machine, self._name) = SHARED, _MACHINES.get(processor, (-1, f"processor {processor:#x}"))
        end = _HEADER.size + size
        if end > len(data) or count > _MOST:
            raise DamagedLibrary("load commands: they extend beyond the end of the file")
        self.commands: list[tuple[int, int, int]] = []
        self.sections: dict[str, Section] = {}
        self._loaded: list[tuple[bytes, int, int]] = []
        at = _HEADER.size
        for _ in range(count):
            if at + _COMMAND.size > end:
                raise DamagedLibrary("load commands: they extend beyond the end of the file")
            command, length = _COMMAND.unpack_from(data, at)
            if length < _COMMAND.size or at + length > end:
                raise DamagedLibrary("load commands: they extend beyond the end of the file")
            self.commands.append((command, at, length))
            if command == SEGMENT:
                self._read_segment(at, length)
            at += length

    def _read_segment(self, at: int, length: int) -> None:
        if length < _SEGMENT.size:
            raise DamagedLibrary("a segment ends too early")
        _, _, segment, _, _, _, _, _, _, count, _ = _SEGMENT.unpack_from(self.data, at)
        if _SEGMENT.size + count * _SECTION.size > length or len(self._loaded) > _MOST:
            raise DamagedLibrary("a segment ends too early")
        if segment.rstrip(b"\0") == _LINKEDIT:
            return
        for k in range(count):
            name, owner, address, size, offset, *_, flags, _, _, _ = _SECTION.unpack_from(
                self.data, at + _SEGMENT.size + k * _SECTION.size
            )
            stored = 0 if flags & 0xFF == _EMPTY else size
            if offset + stored > len(self.data):
                raise DamagedLibrary(f"section {name.decode('latin-1')}: it extends beyond the end of the file")
            self._loaded.append((struct.pack("<16s16sQQII", name, owner, address, size, offset, flags), offset, stored))
            both = owner.rstrip(b"\0").decode("latin-1"), name.rstrip(b"\0").decode("latin-1")
            if both == SECTION:
                self.sections |= {x.name: x for x in unbundle(self.data, offset, offset + stored)}
            else:
                self.sections[",".join(both)] = Section(",".join(both), offset, stored)

    @property
    def platform(self) -> str:
        return f"macOS on {self._name}"

    @property
    def oldest(self) -> tuple[int, int]:
        """The oldest supported macOS, such as (13, 0).   Raises: DamagedLibrary if that is missing"""
        for command, at, length in self.commands:
            if command in (_BUILD, _OLDEST):
                first = at + _COMMAND.size + (4 if command == _BUILD else 0)  # the platform comes before it
                if first + 4 <= at + length:
                    word = int.from_bytes(self.data[first : first + 4], "little")
                    return word >> 16, word >> 8 & 0xFF
        raise DamagedLibrary("the library does not state its version of macOS")

    def digest(self, hole: Section) -> bytes:
        """SHA-256 of all sections and their positions, with zeros for `hole`; signing and `strip` do not change it."""
        image = bytearray(self.data)
        image[hole.offset : hole.offset + hole.size] = bytes(hole.size)
        total = hashlib.sha256()
        for layout, offset, size in self._loaded:
            total.update(layout)
            total.update(image[offset : offset + size])
        return total.digest()
