"""The configured cache folder, and the identity of the compiler that its entries depend on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from operator import attrgetter
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
    roots = (_SOURCE, _SOURCE.parents[1] / "runtime", _SOURCE.parent / "aotensor_runtime")
    return "\n".join(line for root in roots if root.is_dir() for line in _sources(str(root)))


def _sources(folder: str) -> Iterator[str]:
    """Name, size and time of each source file below a folder, in order. There are a thousand: no objects of pathlib."""
    with os.scandir(folder) as found:
        entries = sorted(found, key=attrgetter("name"))
    for entry in entries:
        if entry.name.endswith(".py"):
            stat = entry.stat()
            yield f"{entry.name} {stat.st_size} {stat.st_mtime_ns}"
        elif entry.is_dir(follow_symlinks=False) and entry.name != "__pycache__":
            yield from _sources(entry.path)
