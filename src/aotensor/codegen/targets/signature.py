"""The ad-hoc signature of a macOS library: hashes of its pages, which Apple's processors require.

A linker signs its output; after a change, the hashes are recomputed. Source: Apple, xnu, osfmk/kern/cs_blobs.h:
CS_SuperBlob and CS_CodeDirectory, big-endian.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator
from typing import Final

from aotensor.errors import ToolError
from aotensor_runtime.formats.macho import MachFile

_LC_CODE_SIGNATURE: Final = 0x1D
_SUPER_BLOB, _CODE_DIRECTORY = 0xFADE0CC0, 0xFADE0C02
_BLOB: Final = struct.Struct(">III")  # magic, length, number of blobs
_INDEX: Final = struct.Struct(">II")  # kind, offset
_DIRECTORY: Final = struct.Struct(">IIIIIIIIIBBBB")
_SHA256: Final = 2


def sign_again(library: bytes) -> bytes:
    """The library with recomputed page hashes; unchanged if it has no signature."""
    signed = bytearray(library)
    for place, digest in page_hashes(library):
        signed[place : place + len(digest)] = digest
    return bytes(signed)


def page_hashes(library: bytes) -> Iterator[tuple[int, bytes]]:
    """For each page of a library, (file offset of its hash, correct hash).

    Raises: ToolError for a signature that differs from a linker's.
    """
    for kind, at, _ in MachFile(library).commands:
        if kind != _LC_CODE_SIGNATURE:
            continue
        start, _ = struct.unpack_from("<II", library, at + 8)
        magic, _, count = _BLOB.unpack_from(library, start)
        offsets = [_INDEX.unpack_from(library, start + _BLOB.size + k * _INDEX.size)[1] for k in range(count)]
        for directory in (start + offset for offset in offsets):
            if magic != _SUPER_BLOB or int.from_bytes(library[directory : directory + 4], "big") != _CODE_DIRECTORY:
                raise ToolError("the linker has signed the library in a way that aotensor does not know")
            _, _, _, _, hashes, _, _, pages, limit, size, how, _, page = _DIRECTORY.unpack_from(library, directory)
            if how != _SHA256 or limit > len(library):
                raise ToolError("the linker has signed the library in a way that aotensor does not know")
            for k in range(pages):
                content = library[k << page : min((k + 1) << page, limit)]
                yield directory + hashes + k * size, hashlib.sha256(content).digest()[:size]
