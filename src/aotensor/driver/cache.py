"""Compiled functions on disk, by content: what the library depends on is its address."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aotensor.config import config
from aotensor.graph.subgraph import all_constants, all_nodes
from aotensor.graph.text import graph_text
from aotensor_runtime import LibraryFunction, load
from aotensor_runtime.machine import cpu_flags

if TYPE_CHECKING:
    from aotensor.driver.function import Function

_SOURCE = Path(__file__).parents[1]


def load_compiled(f: Function) -> LibraryFunction:
    """The compiled form of a function, from the cache if it is there.

    Raises: OSError if the cache folder cannot be written, and all that compiling raises.
    """
    library = load(cached_library(f, lambda folder: _build(f, folder)))
    return library[f.name]


def _build(f: Function, folder: Path) -> Path:
    compiled = _compiled()
    library: Path = compiled.write_artifact([f], folder, f.name, compiled.Options()).library
    return library


def cached_library(f: Function, build: Callable[[Path], Path]) -> Path:
    """The library of a function: from the cache, else built by `build(folder)` and put there in one move.

    Raises: OSError if the cache folder cannot be written.
    """
    folder = config.cache_dir / _key(f)
    library = folder / f"lib{f.name}.so"
    if library.exists():
        return library
    folder.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".building-"))
    try:
        build(scratch)
        try:
            os.rename(scratch, folder)
        except OSError:
            if not library.exists():  # another process may have been first
                raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return library


def _key(f: Function) -> str:
    digest = hashlib.sha256()
    graph = graph_text(f.name, list(f.flat.arguments.values()), f.flat.results)
    for part in (
        graph,
        _foreign(f),
        repr(f.allow_input_downcast),
        f.output_kind,
        repr(f.updates),
        repr((f.flat.sparse_arguments, f.flat.sparse_results)),  # a csr and a csc matrix have leaves of the same types
        _machine(),
        compiler_identity(),
    ):
        digest.update(part.encode() + b"\0")
    for x in all_constants(list(f.flat.results.values())):
        digest.update(f"{x.dtype}{x.data.shape}".encode() + x.data.tobytes())
    return digest.hexdigest()[:40]


def _foreign(f: Function) -> str:
    """The tensor IR of a function with ops from elsewhere, whose code is not among the compiler's own."""
    is_ours = all(node.op.__class__.__module__.startswith("aotensor.") for node in all_nodes(f.flat.results.values()))
    return "" if is_ours else _compiled().stage_text([f], "tensor")


def _compiled() -> Any:
    from aotensor.driver import compiled

    return compiled


def _machine() -> str:
    return f"{platform.machine()} {platform.system()} {sorted(cpu_flags())}"


def compiler_identity() -> str:
    """The compiler itself: its sources by name, size and time."""
    entries = []
    for root in (_SOURCE, _SOURCE.parents[1] / "runtime", _SOURCE.parent / "aotensor_runtime"):
        for path in sorted(root.rglob("*.py")) if root.is_dir() else ():
            stat = path.stat()
            entries.append(f"{path.name} {stat.st_size} {stat.st_mtime_ns}")
    return "\n".join(entries)
