"""The few switches of the compiler, as attributes of one object: `aot.config.floatX = "float32"`."""

from __future__ import annotations

import os
from pathlib import Path


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
        if dtype not in ("float32", "float64"):
            raise ValueError(f"floatX must be 'float32' or 'float64', not {dtype!r}")
        self._floatX = dtype

    @property
    def cache_dir(self) -> Path:
        """Folder of compiled functions: AOTENSOR_CACHE_DIR, else `aotensor` in the user's cache folder."""
        named = os.environ.get("AOTENSOR_CACHE_DIR")
        if named:
            return Path(named)
        base = os.environ.get("XDG_CACHE_HOME")
        return (Path(base) if base else Path.home() / ".cache") / "aotensor"

    @property
    def dump_dir(self) -> Path | None:
        """Folder that receives the IR after every stage and pass: AOTENSOR_DUMP."""
        named = os.environ.get("AOTENSOR_DUMP")
        return Path(named) if named else None


config = Config()
