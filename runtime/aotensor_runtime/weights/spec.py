"""The manifest's record of a file of weights."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from aotensor_runtime.json_node import Node, require

WEIGHTS_ALIGNMENT: Final = 64
"""Alignment in bytes of each constant in the file, and of memory that holds the file."""
MAX_WEIGHTS_BYTES: Final = 1 << 40
"""Largest file of weights, in bytes."""

_FILE_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,254}")
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class WeightsSpec:
    """The record of a file of weights.

    file: its name, next to the library. bytes: its size. sha256: of the whole file, in hexadecimal
    """

    file: str
    bytes: int
    sha256: str

    @property
    def expectation(self) -> str:
        """A description of the expected file, for messages."""
        return f"{self.bytes} bytes with SHA-256 {self.sha256}"


def is_file_name(text: str) -> bool:
    """Can a text name a file next to a library? Letters, digits, `_`, `.`, `+` and `-`, without a folder."""
    return _FILE_NAME.fullmatch(text) is not None


def read_weights(node: Node) -> WeightsSpec:
    """Parse the record of a file of weights.   Raises: ManifestError"""
    file, size, digest = node.fields("file", "bytes", "sha256")
    require(is_file_name(file.name()), file.path, "the name of a file is expected")
    require(0 < size.count() <= MAX_WEIGHTS_BYTES, size.path, f"expected 1 to {MAX_WEIGHTS_BYTES}")
    require(_DIGEST.fullmatch(digest.name()) is not None, digest.path, "64 hexadecimal digits are expected")
    return WeightsSpec(file.name(), size.count(), digest.name())
