"""The disk cache of compiled functions, addressed by a hash of everything that a library depends on."""

from __future__ import annotations

import hashlib
import platform
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from aotensor.core.garbage import rare_collections
from aotensor.driver.definition import Definition
from aotensor.driver.folder import compiler_identity, store
from aotensor.driver.signature import In
from aotensor.errors import LibraryError
from aotensor.graph.subgraph import all_constants, all_nodes
from aotensor.graph.text import graph_text
from aotensor_runtime import Library, LibraryFunction
from aotensor_runtime.machine import cpu_flags

OPT_LEVEL: Final = 3
"""LLVM's optimisation level for functions that are compiled at their first call."""


def load_compiled(f: Definition) -> LibraryFunction:
    """The compiled function, from the cache if there is a valid entry, else compiled and stored there.

    Without a writable folder, functions are compiled in every process, after a warning.

    Raises: as compiling.
    """
    return _load(f.name, _key(f), lambda: _library_bytes([f], OPT_LEVEL, {}))[f.name]


def load_together(functions: Sequence[Definition], name: str, sections: Mapping[str, bytes]) -> Library:
    """Several functions as one cached library with further sections.   Raises: as `load_compiled`"""
    digest = hashlib.sha256("".join(_key(f) + f.doc for f in functions).encode())
    for section, content in sections.items():
        digest.update(section.encode() + b"\0" + content + b"\0")
    return _load(name, digest.hexdigest()[:40], lambda: _library_bytes(functions, OPT_LEVEL, sections))


def _load(called: str, key: str, make: Callable[[], bytes]) -> Library:
    folder, name = store(), f"functions/{called[:60]}-{key}.so"
    data = folder.get(name)
    if data is not None:
        with suppress(LibraryError):  # for another machine that shares the folder, or a damaged build: compile again
            return Library(data, folder.folder / name)
    data = make()
    try:
        path: Path | None = folder.put(name, data)
    except OSError as error:
        path = None
        warnings.warn(
            f"the cache folder {folder.folder} cannot be written ({error.strerror or error}), so {called} is compiled "
            "again in every process; set AOTENSOR_CACHE_DIR to a folder of yours",
            RuntimeWarning,
            stacklevel=5,
        )
    return Library(data, path)


def loaded(library: bytes) -> Library:
    """Load a library from its bytes.   Raises: LibraryError"""
    return Library(library)


def _key(f: Definition) -> str:
    digest = hashlib.sha256()
    graph = graph_text(f.name, list(f.flat.arguments.values()), f.flat.results)
    for part in (
        graph,
        _foreign(f),
        repr(f.allow_input_downcast),
        f.output_kind,
        str(f.pipeline),
        "" if f.schedule_text is None else f.schedule_text.label,
        repr(f.updates),
        repr((f.flat.complex_arguments, f.flat.complex_results)),
        repr((f.flat.column_arguments, f.flat.column_results)),
        repr((f.flat.sparse_arguments, f.flat.sparse_results)),  # csr and csc matrices have leaves of the same types
        repr([(key, x.pattern.indptr.tolist(), x.pattern.indices.tolist()) for key, x in _patterned(f)]),
        f"-O{OPT_LEVEL}",
        _machine(),
        compiler_identity(),
    ):
        digest.update(part.encode() + b"\0")
    for x in all_constants(list(f.flat.results.values())):
        digest.update(f"{x.dtype}{x.data.shape}".encode() + x.data.tobytes())
    return digest.hexdigest()[:40]


def _patterned(f: Definition) -> list[tuple[str, In]]:
    return [(key, f.declared[key]) for key in f.patterned_arguments]


def _foreign(f: Definition) -> str:
    """The tensor IR of a function with user-defined ops, for its cache key; empty for a function without such ops."""
    if all(node.op.__class__.__module__.startswith("aotensor.") for node in all_nodes(f.flat.results.values())):
        return ""
    from aotensor.driver.recipe import stage_text

    return stage_text([f], "tensor")


@rare_collections  # imports, too
def _library_bytes(functions: Sequence[Definition], opt_level: int, sections: Mapping[str, bytes]) -> bytes:
    from aotensor.driver.artifact import library_bytes

    return library_bytes(functions, opt_level, sections)


def _machine() -> str:
    return f"{platform.machine()} {platform.system()} {sorted(cpu_flags())}"
