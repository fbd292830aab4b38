"""The configured cache folder, and the identity of the compiler that its entries depend on."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

from aotensor.config import config
from aotensor.driver.store import Store
from aotensor.errors import GraphValueError

_SOURCE: Final = Path(__file__).parents[1]


def store() -> Store:
    """The store in the configured cache folder.   Raises: GraphValueError if AOTENSOR_CACHE_SIZE is not a size"""
    try:
        return Store(config.cache_dir, config.cache_size)
    except ValueError as error:
        raise GraphValueError(f"AOTENSOR_CACHE_SIZE: {error}") from error


@cache
def compiler_identity() -> str:
    """The identity of the compiler, determined once per process: its source files by name, size and time."""
    entries = []
    for root in (_SOURCE, _SOURCE.parents[1] / "runtime", _SOURCE.parent / "aotensor_runtime"):
        for path in sorted(root.rglob("*.py")) if root.is_dir() else ():
            stat = path.stat()
            entries.append(f"{path.name} {stat.st_size} {stat.st_mtime_ns}")
    return "\n".join(entries)
