"""The line table of a library: address → line of the model, read from `.debug_line` without running anything.

Source: DWARF Debugging Information Format, version 5, section 6.2. Only what LLVM writes for us: version 5, 64-bit
addresses, 32-bit offsets. Every length is checked, so a damaged table is an error and nothing else.
"""

from __future__ import annotations

import os
import struct
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from aotensor.ir.location import DERIVATIVE
from aotensor_runtime.errors import DamagedLibrary
from aotensor_runtime.formats.image import Image

_VERSION: Final = 5
_FORMS: Final = {0x08: "string", 0x1F: "line_strp", 0x0B: "udata1", 0x05: "udata2", 0x0F: "udata", 0x1E: "data16"}
_PATH: Final = 1
"""DW_LNCT_path: the field of an entry that holds the name."""
_COPY, _ADVANCE_PC, _ADVANCE_LINE, _SET_FILE, _SET_COLUMN, _NEGATE, _BLOCK, _CONST_ADD, _FIXED_ADVANCE = range(1, 10)
_END_SEQUENCE, _SET_ADDRESS = 1, 2


@dataclass(frozen=True)
class Place:
    """A line of the program, without a folder; 0 for code of no line. is_derivative: made by a derivative rule"""

    file: str
    line: int
    is_derivative: bool = False


class LineTable:
    """The lines of all code of a library.   Raises: DamagedLibrary for a table that leads out of its section"""

    def __init__(self, image: Image) -> None:
        data = image.section(".debug_line") or b""
        self.is_empty = not data
        self._starts: list[int] = []
        self._places: list[Place | None] = []
        rows: list[tuple[int, Place | None]] = []
        try:
            reader = _Reader(data, image.section(".debug_line_str") or b"")
            while reader.at < len(data):
                rows += reader.unit()
        except (IndexError, struct.error, UnicodeDecodeError, OverflowError) as error:
            raise DamagedLibrary(f"the line table is damaged ({error})") from error
        rows.sort(key=lambda row: row[0])
        for address, place in rows:
            if self._starts and self._starts[-1] == address:
                self._places[-1] = self._places[-1] if place is None else place
            else:
                self._starts.append(address)
                self._places.append(place)

    def place(self, address: int) -> Place | None:
        """The line of an instruction; None if the table does not contain it."""
        number = bisect_right(self._starts, address) - 1
        return self._places[number] if number >= 0 else None


class _Reader:
    def __init__(self, data: bytes, strings: bytes) -> None:
        self.data, self.strings, self.at = data, strings, 0

    def unit(self) -> Iterator[tuple[int, Place | None]]:
        """Parse one unit: (address, line) rows, with line None at the end of code."""
        length = self._number(4)
        end = self.at + length
        version, address_size, _ = self._number(2), self._number(1), self._number(1)
        if version != _VERSION or address_size != 8 or end > len(self.data):
            raise DamagedLibrary(
                f"the line table has DWARF version {version} instead of {_VERSION}, or is longer than its section"
            )
        header = self._number(4)
        program = self.at + header
        least, _operations, _is_statement = self._number(1), self._number(1), self._number(1)
        base, spread = struct.unpack_from("<b", self.data, self.at)[0], self.data[self.at + 1]
        self.at += 2
        opcode_base = self._number(1)
        lengths = [self._number(1) for _ in range(opcode_base - 1)]
        self._entries()
        files = self._entries()
        if spread == 0 or program > end:
            raise DamagedLibrary("the line table is damaged: its header has a wrong length")
        self.at = program
        return self._rows(end, files, least, base, spread, opcode_base, lengths)

    def _entries(self) -> list[str]:
        """Parse a table of folder or file names."""
        formats = [(self._leb(), self._leb()) for _ in range(self._number(1))]
        names = []
        for _ in range(self._leb()):
            name = ""
            for content, form in formats:
                value = self._value(_FORMS.get(form, ""))
                if content == _PATH:
                    name = str(value)
            names.append(name)
            if self.at > len(self.data):
                raise IndexError("a name is outside of the section")
        return names

    def _value(self, form: str) -> str | int:
        match form:
            case "string":
                end = self.data.index(b"\0", self.at) if b"\0" in self.data[self.at :] else len(self.data)
                text, self.at = self.data[self.at : end].decode(), end + 1
                return text
            case "line_strp":
                start = self._number(4)
                return self.strings[start : self.strings.find(b"\0", start)].decode()
            case "udata1" | "udata2":
                return self._number(int(form[-1]))
            case "udata":
                return self._leb()
            case "data16":
                return self._number(16)
        raise DamagedLibrary("the line table is damaged: it has an unknown form")

    def _rows(
        self, end: int, files: list[str], least: int, base: int, spread: int, opcode_base: int, lengths: list[int]
    ) -> Iterator[tuple[int, Place | None]]:
        """Run the line number program of a unit."""
        address, file, line, column = 0, 1, 1, 0
        while self.at < end:
            opcode = self._number(1)
            is_row = opcode >= opcode_base
            if is_row:
                address += (opcode - opcode_base) // spread * least
                line += base + (opcode - opcode_base) % spread
            elif opcode == 0:
                size = self._leb()
                after = self.at + size
                kind = self._number(1)
                if kind == _SET_ADDRESS:
                    address = self._number(8)
                elif kind == _END_SEQUENCE:
                    yield address, None
                    address, file, line, column = 0, 1, 1, 0
                self.at = after
            elif opcode == _COPY:
                is_row = True
            elif opcode == _ADVANCE_PC:
                address += self._leb() * least
            elif opcode == _ADVANCE_LINE:
                line += self._signed_leb()
            elif opcode == _SET_FILE:
                file = self._leb()
            elif opcode == _SET_COLUMN:
                column = self._leb()
            elif opcode == _CONST_ADD:
                address += (255 - opcode_base) // spread * least
            elif opcode == _FIXED_ADVANCE:
                address += self._number(2)
            elif opcode not in (_NEGATE, _BLOCK):
                for _ in range(lengths[opcode - 1]):
                    self._leb()
            if is_row:
                name = files[file] if file < len(files) else ""
                yield address, Place(os.path.basename(name), line, column == DERIVATIVE)

    def _number(self, size: int) -> int:
        found = self.data[self.at : self.at + size]
        if len(found) < size:
            raise IndexError("the section ends inside an entry")
        self.at += size
        return int.from_bytes(found, "little")

    def _leb(self) -> int:
        value = shift = 0
        while True:
            byte = self._number(1)
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value
            if shift > 63:
                raise OverflowError("a number has more than 64 bits")

    def _signed_leb(self) -> int:
        start = self.at
        value = self._leb()
        bits = 7 * (self.at - start)
        return value - (1 << bits) if value >> (bits - 1) else value
