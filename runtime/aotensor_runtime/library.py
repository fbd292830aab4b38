"""Opening a library: read and check it first, load it then.

The file is judged by its bytes: kind of file, architecture, checksum, manifest, CPU features. Only then does the
dynamic loader see it, so a damaged or foreign file gives an error and never runs.
"""

from __future__ import annotations

import ctypes
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from threading import Lock, RLock
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from aotensor_runtime.arguments import AnyArray
from aotensor_runtime.call import LibraryFunction
from aotensor_runtime.container import Container
from aotensor_runtime.errors import LibraryError, LibraryNotFound
from aotensor_runtime.invoke import Entries
from aotensor_runtime.layout import DTYPES
from aotensor_runtime.machine import check_architecture, check_features
from aotensor_runtime.manifest import ArgumentSpec, FunctionSpec, Manifest, SparseValue
from aotensor_runtime.sparse.values import Compressed, Value
from aotensor_runtime.state import Cell

__all__ = ["Library", "LibraryFunction", "load", "read"]


def load(path: str | os.PathLike[str]) -> Library:
    """Open a library.

    Raises: LibraryNotFound, ForeignLibrary, DamagedLibrary, TooNewLibrary or UnsupportedMachine, with the path.
    """
    place = Path(path)
    try:
        data = place.read_bytes()
    except FileNotFoundError as error:
        raise LibraryNotFound(f"{place}: there is no such file") from error
    except OSError as error:
        raise LibraryError(f"{place}: cannot be read ({error.strerror})") from error
    return Library(data, place)


class Library:
    """A loaded library: its functions are attributes. It pickles with its bytes and the state of its shared variables.

    functions: by name, also those whose names are taken here. manifest: what it says about itself.
    """

    def __init__(self, data: bytes, path: Path | None = None) -> None:
        self._data, self.path = data, path
        try:
            container = read(data)
            self.manifest: Manifest = container.manifest()
            check_features(self.manifest, container.elf.machine)
            self._handle = _open(container, path)
        except LibraryError as error:
            raise type(error)(f"{path or 'library'}: {error.diagnostic.title}", hint=error.diagnostic.hint) from error
        self._container = container
        self._cells: dict[int, Cell] = {}
        lock = RLock()
        functions = {spec.name: self._function(spec, lock) for spec in self.manifest.functions}
        self.functions: Mapping[str, LibraryFunction] = MappingProxyType(functions)

    def __getattr__(self, name: str) -> LibraryFunction:
        functions = self.__dict__.get("functions", {})
        if name not in functions:
            known = ", ".join(functions) or "none"
            raise AttributeError(f"library {self.__dict__.get('path')} has no function {name!r} (it has: {known})")
        function: LibraryFunction = functions[name]
        self.__dict__[name] = function
        return function

    def __getitem__(self, name: str) -> LibraryFunction:
        return self.functions[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.functions)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.functions]

    def __repr__(self) -> str:
        return f"<library {self.manifest.name}: {', '.join(self.functions)}>"

    def section(self, name: str) -> bytes:
        """Content of an extra section, see `manifest.sections`.

        Raises: KeyError if there is none of that name.
        """
        return self._container.extra(name)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self._data, {place: cell.value for place, cell in self._cells.items()})

    def _function(self, spec: FunctionSpec, lock: RLock) -> LibraryFunction:
        cells = {}
        for value in spec.arguments:
            if value.default is not None:
                if value.default.offset not in self._cells:
                    self._cells[value.default.offset] = Cell(self._first_value(spec, value))
                cells[value.name] = self._cells[value.default.offset]
        return LibraryFunction(self, self.manifest, spec, self._entries(spec.name), cells, lock)

    def _first_value(self, spec: FunctionSpec, value: ArgumentSpec | SparseValue) -> Value:
        if isinstance(value, ArgumentSpec):
            return self._default(value)
        data, indices, indptr = (self._default(part) for part in spec.inputs[value.first + 1 : value.first + 4])
        assert value.default is not None
        rows, columns = value.default.shape
        return Compressed(value.format, (rows, columns), data, indices, indptr)

    def _default(self, value: ArgumentSpec) -> AnyArray:
        assert value.default is not None
        raw = np.frombuffer(self._container.value(value.default), DTYPES[value.dtype].newbyteorder("<"))
        return raw.astype(DTYPES[value.dtype]).reshape(value.default.shape)

    def _entries(self, name: str) -> Entries:
        prefix = self.manifest.prefix
        try:
            uniform = self._handle[f"{prefix}{name}_call"]
            workspace = self._handle[f"{prefix}{name}_workspace"]
            call_python = self._handle[f"{prefix}aotensor_call_python"]
            extents_python = self._handle[f"{prefix}aotensor_extents_python"]
            call_bound = self._handle[f"{prefix}aotensor_call_bound"]
        except AttributeError as error:
            raise LibraryError(f"function {name} of the manifest is not in the library ({error})") from error
        for entry in (uniform, call_python, extents_python):
            entry.argtypes = [ctypes.c_void_p] * 3
        workspace.argtypes = [ctypes.c_int64] * len(self.manifest.function(name).workspace_dims)
        workspace.restype = ctypes.c_int64
        address = ctypes.cast(uniform, ctypes.c_void_p).value or 0
        return Entries(uniform, workspace, call_python, extents_python, call_bound, address)


def read(data: bytes) -> Container:
    """The container of a shared library for this architecture, once its checksum is found to fit.

    Raises: ForeignLibrary, DamagedLibrary, TooNewLibrary or UnsupportedMachine.
    """
    container = Container(data)
    check_architecture(container.elf)
    container.check()
    return container


_opened: Final[dict[bytes, ctypes.CDLL]] = {}
_paths: Final[dict[str, bytes]] = {}
_lock: Final = Lock()


def _open(container: Container, path: Path | None) -> ctypes.CDLL:
    """The library in memory; equal bytes are loaded once.

    The dynamic loader knows a library by its path: when another one has taken the place of a file that is loaded, or
    there is no file, it gets a private copy under a name of its own.
    """
    digest = container.recorded_checksum()
    with _lock:
        if digest not in _opened:
            place = None if path is None else str(path.resolve())
            if place is not None and _paths.setdefault(place, digest) == digest:
                _opened[digest] = _dlopen(place)
            else:
                _opened[digest] = _dlopen_copy(container.elf.data)
        return _opened[digest]


def _dlopen_copy(data: bytes) -> ctypes.CDLL:
    handle, name = tempfile.mkstemp(prefix="aotensor-", suffix=".so")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        return _dlopen(name)
    finally:
        os.unlink(name)


def _dlopen(place: str) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(place)
    except OSError as error:
        raise LibraryError(f"the dynamic loader refuses it ({error})") from error


def _restore(data: bytes, state: Mapping[int, Value]) -> Library:
    """Unpickle: a new library with the state that was pickled."""
    library = Library(data)
    for place, value in state.items():
        library._cells[place].value = value
    return library
