"""Any library in memory, by its first bytes."""

from __future__ import annotations

from typing import Final

from aotensor_runtime.elf import ElfFile
from aotensor_runtime.formats import macho, pe, wasm
from aotensor_runtime.formats.image import Image

STARTS: Final = (b"\x7fELF", pe.START, macho.START, wasm.START)
"""First bytes of the formats that libraries have."""


def read_image(data: bytes) -> Image:
    """The file.   Raises: ForeignLibrary, DamagedLibrary"""
    if data.startswith(pe.START):
        return pe.PeFile(data)
    if data.startswith((macho.START, macho.FAT)):
        return macho.MachFile(data)
    if data.startswith(wasm.START):
        return wasm.WasmFile(data)
    return ElfFile(data)
