"""Detect the format of a library by its first bytes."""

from __future__ import annotations

from typing import Final

from aotensor_runtime.elf import ElfFile
from aotensor_runtime.formats import macho, pe, wasm
from aotensor_runtime.formats.image import Image

STARTS: Final = (b"\x7fELF", pe.START, macho.START, wasm.START)
"""First bytes of the supported formats."""


def read_image(data: bytes) -> Image:
    """Parse a library of any format.   Raises: ForeignLibrary, DamagedLibrary"""
    if data.startswith(pe.START):
        return pe.PeFile(data)
    if data.startswith((macho.START, macho.FAT)):
        return macho.MachFile(data)
    if data.startswith(wasm.START):
        return wasm.WasmFile(data)
    return ElfFile(data)
