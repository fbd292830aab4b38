"""Reading ELF files without running them: sections by name, and the checksum of what gets loaded.

Supports only libraries of aotensor: 64 bits, little-endian. Every offset is checked against the file, and the work is
bounded by its size, so a truncated, changed or hostile file only raises an error.
Source: System V ABI, chapters 4 and 5.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator
from typing import Final

from aotensor_runtime.errors import DamagedLibrary, ForeignLibrary
from aotensor_runtime.formats.image import Image, Section

MACHINES: Final = {62: "x86-64", 183: "AArch64", 243: "RISC-V"}

_HEADER: Final = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION: Final = struct.Struct("<IIQQQQIIQQ")
_SEGMENT: Final = struct.Struct("<IIQQQQQQ")
_LAYOUT: Final = struct.Struct("<IQQQQ")
"""Header fields of a loaded section that the checksum covers: type, flags, address, offset, size; its name follows."""
_SECTION_TABLE_FIELDS: Final = ((40, 48), (58, 64))  # e_shoff; e_shentsize, e_shnum, e_shstrndx: `strip` moves them
_NO_BITS, _LOAD, _ALLOCATED = 8, 1, 2
_MAX_SEGMENTS: Final = 64
_MAX_NAME: Final = 256
"""Most bytes of a section's name that are read; ours are shorter."""
_OURS: Final = ".aotensor."


class ElfFile(Image):
    """An ELF file in memory.

    kind: RELOCATABLE, SHARED or another e_type. machine: e_machine, see MACHINES.

    Raises: ForeignLibrary if it is not a 64-bit little-endian ELF file; DamagedLibrary if tables point outside of it.
    """

    def __init__(self, data: bytes) -> None:
        if data[:8] == b"!<arch>\n":
            raise ForeignLibrary(
                "this is a static library, which cannot be loaded", hint="link it into a program, or load lib<name>.so"
            )
        if data[:4] != b"\x7fELF":
            raise ForeignLibrary("this is not an ELF file")
        if len(data) < _HEADER.size:
            raise DamagedLibrary("the file ends inside its ELF header")
        ident, self.kind, self.machine, _, _, ph, sh, _, _, ph_size, ph_count, sh_size, sh_count, names = (
            _HEADER.unpack_from(data)
        )
        if ident[4:6] != b"\x02\x01":
            raise ForeignLibrary("this is not a 64-bit little-endian ELF file")
        self.data = data
        self._segment_table = self._table(ph, ph_size, ph_count, _SEGMENT, "segment table")
        self._layouts: list[bytes] = []
        self.sections = self._read_sections(self._table(sh, sh_size, sh_count, _SECTION, "section table"), names)

    @property
    def platform(self) -> str:
        """`Linux on x86-64`"""
        return f"Linux on {MACHINES.get(self.machine, f'machine {self.machine}')}"

    def digest(self, hole: Section) -> bytes:
        """SHA-256 of the loaded parts and of the positions of their sections, with zeros for the bytes of `hole`.

        The position of the section table is excluded, and so are sections that are not loaded: `strip` moves the one
        and removes the others.
        """
        image = bytearray(self.data)
        image[hole.offset : hole.offset + hole.size] = bytes(hole.size)
        for first, end in _SECTION_TABLE_FIELDS:
            image[first:end] = bytes(end - first)
        view, total = memoryview(image), hashlib.sha256()
        total.update(view[: _HEADER.size])
        first, end = self._segment_table
        total.update(view[first:end])
        for first, end in self._loaded():
            total.update(view[first:end])
        for layout in sorted(self._layouts):
            total.update(layout)
        return total.digest()

    def _loaded(self) -> Iterator[tuple[int, int]]:
        """Byte ranges of the file that are loaded into memory."""
        first, end = self._segment_table
        if end - first > _MAX_SEGMENTS * _SEGMENT.size:
            raise DamagedLibrary("the file has too many segments")
        loaded = 0
        for kind, _, offset, _, _, size, _, _ in _SEGMENT.iter_unpack(self.data[first:end]):
            if kind == _LOAD:
                self._within(offset, size, "segment")
                loaded += size
                if loaded > 2 * len(self.data):
                    raise DamagedLibrary("the segments overlap")
                yield offset, offset + size

    def _table(self, offset: int, size: int, count: int, entry: struct.Struct, what: str) -> tuple[int, int]:
        """(first byte of a table, first byte after it)."""
        if count and size != entry.size:
            raise DamagedLibrary(f"{what}: its entries have {size} bytes instead of {entry.size}")
        self._within(offset, count * entry.size, what)
        return offset, offset + count * entry.size

    def _within(self, offset: int, size: int, what: str) -> None:
        if offset + size > len(self.data):
            raise DamagedLibrary(
                f"{what}: it has bytes {offset} to {offset + size}, but the file has {len(self.data)} bytes"
            )

    def _read_sections(self, table: tuple[int, int], names: int) -> dict[str, Section]:
        entries = list(_SECTION.iter_unpack(self.data[table[0] : table[1]]))
        if not entries:
            return {}
        if names >= len(entries):
            raise DamagedLibrary("the section table has no names")
        names_offset, names_size = entries[names][4:6]
        self._within(names_offset, names_size, "section names")
        texts = self.data[names_offset : names_offset + names_size]
        loaded: dict[str, Section] = {}
        others: dict[str, Section] = {}
        for name, kind, flags, address, offset, size, *_ in entries[1:]:
            if name >= len(texts):
                raise DamagedLibrary("the name of a section is outside of the table of names")
            text = texts[name : name + _MAX_NAME].partition(b"\0")[0].decode("latin-1")
            is_loaded = bool(flags & _ALLOCATED)
            if is_loaded:
                self._layouts.append(_LAYOUT.pack(kind, flags, address, offset, size) + text.encode() + b"\0")
            if text.startswith(_OURS) and (not is_loaded or text in loaded):
                raise DamagedLibrary(f"section {text} occurs twice, or is not loaded")
            if kind != _NO_BITS:
                self._within(offset, size, f"section {text}")
                (loaded if is_loaded else others)[text] = Section(text, offset, size)
        return others | loaded
