"""The few switches of the compiler, as attributes of one object: `aot.config.floatX = "float32"`."""

from __future__ import annotations

import os
import re
from pathlib import Path

from aotensor.errors import GraphValueError


class Config:
    """Settings that apply to the whole process.

    floatX: dtype of symbols and literals that name none, "float64" (default) or "float32".
    """

    def __init__(self) -> None:
        self._floatX = "float64"

    @property
    def floatX(self) -> str:
        return self._floatX

    @floatX.setter
    def floatX(self, dtype: str) -> None:
        if not isinstance(dtype, str) or dtype not in ("float32", "float64"):
            raise GraphValueError(f"floatX is 'float32' or 'float64', not {dtype!r:.60}")
        self._floatX = dtype

    @property
    def cache_dir(self) -> Path:
        """Folder of compiled functions: AOTENSOR_CACHE_DIR, else `aotensor` in the user's cache folder.

        Who has neither a home nor an entry in the list of users gets a folder of his own among the temporary files.
        """
        named = os.environ.get("AOTENSOR_CACHE_DIR")
        if named:
            return Path(named).absolute()
        base = os.environ.get("XDG_CACHE_HOME")
        if base and os.path.isabs(base):
            return Path(base) / "aotensor"
        try:
            return Path.home() / ".cache" / "aotensor"
        except RuntimeError:
            from aotensor_runtime.systems.scratch import temporary_root

            return temporary_root() / f"aotensor-{os.getuid()}"

    @property
    def cache_size(self) -> int:
        """Bytes that the cache folder may hold: AOTENSOR_CACHE_SIZE, such as 500M or 2G, else 1G.

        Raises: ValueError for what is not a size.
        """
        return size_in_bytes(os.environ.get("AOTENSOR_CACHE_SIZE") or "1G")

    @property
    def dump_dir(self) -> Path | None:
        """Folder that receives the IR after every stage and pass: AOTENSOR_DUMP."""
        named = os.environ.get("AOTENSOR_DUMP")
        return Path(named) if named else None


def size_in_bytes(text: str) -> int:
    """500, 20K, 500M or 2G as a number of bytes.   Raises: ValueError"""
    found = re.fullmatch(r"(\d{1,15}(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    if found is None:
        raise ValueError(f"{text!r} is not a size: write a number of bytes, or one with K, M or G")
    return int(float(found[1]) * 1000 ** " KMGT".index(found[2].upper() or " "))


config = Config()
