"""The common interface of file formats: our sections by name, and the checksum of the loaded parts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from aotensor_runtime.errors import DamagedLibrary

RELOCATABLE = 1
SHARED = 3


@dataclass(frozen=True, slots=True)
class Section:
    """The byte range of a section in the file."""

    name: str
    offset: int
    size: int


class Image(Protocol):
    """A library file in memory, of any format.

    kind: RELOCATABLE, SHARED or another e_type of ELF. machine: e_machine of ELF, 0 for WebAssembly.
    platform: the target, such as `Windows on x86-64`. sections: by name; ours have the names of `abi` in all formats.
    """

    data: bytes
    kind: int
    machine: int
    sections: dict[str, Section]

    @property
    def platform(self) -> str: ...

    def section(self, name: str) -> bytes | None:
        """The bytes of a section, None for an unknown name."""
        found = self.sections.get(name)
        return None if found is None else self.data[found.offset : found.offset + found.size]

    def digest(self, hole: Section) -> bytes:
        """SHA-256 of the loaded parts and their positions, with zeros for the bytes of `hole`."""


BUNDLE_MAGIC = b"AOTBND\x01\0"
"""Magic of the one section that bundles all of ours in formats other than ELF, whose names have 8 or 16 letters."""
_NAME_BYTES, _SIZE_BYTES = 2, 4


def bundle(sections: dict[str, bytes]) -> bytes:
    """Pack sections by name into one: magic, then length of the name, length of the content, name, content of each."""
    parts = [BUNDLE_MAGIC]
    for name, content in sections.items():
        parts += [len(name.encode()).to_bytes(_NAME_BYTES, "little"), len(content).to_bytes(_SIZE_BYTES, "little")]
        parts += [name.encode(), content]
    return b"".join([*parts, bytes(_NAME_BYTES)])


def unbundle(data: bytes, start: int, end: int) -> Iterator[Section]:
    """The sections of a bundle in a file.   Raises: DamagedLibrary"""
    at = start + len(BUNDLE_MAGIC)
    if data[start:at] != BUNDLE_MAGIC:
        raise DamagedLibrary("the section of aotensor is damaged, or a later aotensor wrote it")
    while True:
        length = int.from_bytes(data[at : at + _NAME_BYTES], "little")
        if at + _NAME_BYTES > end:
            raise DamagedLibrary("the section of aotensor ends too early")
        if length == 0:
            return
        name = at + _NAME_BYTES + _SIZE_BYTES
        size = int.from_bytes(data[at + _NAME_BYTES : name], "little")
        at = name + length + size
        if at > end:
            raise DamagedLibrary("the section of aotensor ends too early")
        yield Section(data[name : name + length].decode("latin-1"), name + length, size)
