"""The worker: load a library once, read the rows of a chunk, call a function, report errors with their place."""

from __future__ import annotations

import hashlib
import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Final

import numpy as np

from aotensor_runtime.arrays.plain import AnyArray
from aotensor_runtime.errors import AotensorError, ChunkError, LibraryError
from aotensor_runtime.library import Library
from aotensor_runtime.rounds.sources import Part, kind_of_value

_LOADED: Final[dict[str, Library]] = {}
_LOCK: Final = Lock()


class MissingLibrary(Exception):
    """Raised by a worker that does not have the library yet."""


@dataclass(frozen=True)
class Handle:
    """A library by its digest; its bytes and its weights are sent only to workers that ask for them."""

    digest: str
    data: bytes | None = None
    weights: AnyArray | None = field(default=None, compare=False)

    @classmethod
    def from_library(cls, library: Library) -> Handle:
        """A handle with the library's bytes."""
        handle = cls(hashlib.sha256(library.data).hexdigest(), library.data, library.weights)
        _LOADED.setdefault(handle.digest, library)
        return handle

    def light(self) -> Handle:
        """The same handle without the bytes."""
        return Handle(self.digest)

    def install(self) -> None:
        """Load the library in this process, unless it is loaded.   Raises: ChunkError naming worker and reason"""
        with _LOCK:
            if self.digest in _LOADED:
                return
            if self.data is None:
                raise MissingLibrary(self.digest)
            try:
                _LOADED[self.digest] = Library(self.data, weights=self.weights)
            except LibraryError as error:
                found = error.diagnostic
                raise ChunkError(
                    f"worker {worker_name()}: {found.title}", lines=found.lines, hint=found.hint
                ) from error

    def library(self) -> Library:
        """The loaded library."""
        self.install()
        return _LOADED[self.digest]


def worker_name() -> str:
    """Host and process number of this worker."""
    return f"{socket.gethostname()}:{os.getpid()}"


@dataclass(frozen=True)
class FirstRow:
    """The number of a chunk's first row."""

    number: int
    where: str = "of this chunk"

    def read(self) -> Any:
        """The number itself."""
        return np.int64(self.number)


@dataclass(frozen=True)
class Task:
    """A function to be run on a chunk.

    position: number of the chunk, of `count`. axes: of the rows of each part. kinds: the expected kind of each part, as
    by `Source.kind`
    """

    handle: Handle
    function: str
    position: int
    count: int
    start: int
    stop: int
    axes: Mapping[str, int]
    kinds: Mapping[str, str]
    threads: int | None = None

    def label(self) -> str:
        """`f_map1: chunk 3 of 8, rows 200 to 300`"""
        return f"{self.function}: chunk {self.position + 1} of {self.count}, rows {self.start} to {self.stop}"


def read_parts(task: Task, parts: Mapping[str, Any]) -> dict[str, Any]:
    """Read the rows of a chunk.   Raises: ChunkError naming chunk, argument, file and worker"""
    values: dict[str, Any] = {}
    for name, part in parts.items():
        where = part.where if isinstance(part, Part) else "on the cluster"
        try:
            values[name] = part.read() if isinstance(part, Part) else part
        except Exception as error:  # any error of a file reader
            raise _failed(task, f"{name}: {_title(error)}", [f"{name}: {where}"]) from error
        if name not in task.axes:
            continue
        found = getattr(values[name], "shape", ())
        axis = task.axes[name]
        if len(found) <= axis or found[axis] != task.stop - task.start:
            title = f"{name}: {task.stop - task.start} rows along axis {axis} are expected, its shape is {tuple(found)}"
            raise _failed(task, title, [f"{name}: {where}"])
        kind = kind_of_value(values[name], axis)
        if kind != task.kinds[name]:
            raise _failed(task, f"{name}: {kind}, its source says {task.kinds[name]}", [f"{name}: {where}"])
    return values


def run_chunk(task: Task, parts: Mapping[str, Any], known: Any) -> dict[str, Any]:
    """Run a function on a chunk and return its outputs.   Raises: ChunkError, MissingLibrary"""
    library = task.handle.library()
    values = {**(known.read() if isinstance(known, Part) else known), **read_parts(task, parts)}
    return call_chunk(task, library, values, parts)


def call_chunk(task: Task, library: Library, values: Mapping[str, Any], parts: Mapping[str, Any]) -> dict[str, Any]:
    """Run a function on a chunk whose rows have been read. Raises: ChunkError"""
    function = library[task.function]
    names = [value.name for value in function.spec.arguments if value.default is None]
    options = {} if task.threads is None else {"num_threads": task.threads}
    try:
        return function(**{name: values[name] for name in names}, **options)  # type: ignore[no-any-return]
    except (AotensorError, MemoryError) as error:
        lines = [
            f"{name}: {part.where if isinstance(part, Part) else 'on the cluster'}" for name, part in parts.items()
        ]
        raise _failed(task, _title(error), lines) from error


def _failed(task: Task, title: str, lines: list[str]) -> ChunkError:
    return ChunkError(f"{task.label()}, on worker {worker_name()}: {title}", lines=lines)


def _title(error: BaseException) -> str:
    if isinstance(error, AotensorError):
        return error.diagnostic.title
    return f"{type(error).__name__}: {error}"
