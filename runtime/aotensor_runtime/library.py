"""Load a library: read and check the file first, then load it.

The bytes of the file are checked: kind of file, architecture, checksum, manifest, CPU features. Only then does the
dynamic loader get these bytes, so a damaged or foreign file raises an error and never runs. The signatures in its code
are compared with the manifest before any call.
"""

from __future__ import annotations

import ctypes
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from threading import RLock
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from aotensor_runtime.arrays.layout import DTYPES
from aotensor_runtime.arrays.plain import AnyArray
from aotensor_runtime.call import LibraryFunction
from aotensor_runtime.container import Container
from aotensor_runtime.errors import ArgumentTypeError, DamagedLibrary, ForeignLibrary, LibraryError, LibraryNotFound
from aotensor_runtime.invoke import CALLBACKS, Entries
from aotensor_runtime.machine import check_architecture, check_features, check_libc, this_machine
from aotensor_runtime.manifest import ArgumentSpec, FunctionSpec, Manifest, SparseValue, signature_text
from aotensor_runtime.mapping import map_library
from aotensor_runtime.sparse.values import Compressed, Value
from aotensor_runtime.state import Cell
from aotensor_runtime.systems import here
from aotensor_runtime.threads import check_environment
from aotensor_runtime.weights.file import Source, provide

__all__ = ["Library", "LibraryFunction", "load", "read", "read_file"]


def load(path: str | os.PathLike[str], weights: str | os.PathLike[str] | None = None) -> Library:
    """Load a library from a file.

    weights: the file with its large constants, if it has one; by default the one next to the library.

    Raises: LibraryNotFound, ForeignLibrary, DamagedLibrary, TooNewLibrary or UnsupportedMachine, with the path;
    ArgumentValueError for a wrong AOTENSOR_NUM_THREADS in the environment; ArgumentTypeError for anything but a path.
    """
    if not isinstance(path, str | os.PathLike):
        raise ArgumentTypeError(f"load: a path must be a str or an os.PathLike, not {path!r:.60}")
    file = Path(path)
    return Library(read_file(file), file, weights)


def read_file(path: Path) -> bytes:
    """The bytes of a library.

    Raises: LibraryNotFound; LibraryError for a file that is not regular, too large, or unreadable.
    """
    try:
        handle = os.open(path, here.READING)
        try:
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode):
                raise LibraryError(f"{path}: this is not a regular file")
            if status.st_size > MAX_FILE_BYTES:
                raise LibraryError(f"{path}: {status.st_size} bytes are more than the limit of {MAX_FILE_BYTES}")
            with open(handle, "rb", closefd=False) as file:
                return file.read()
        finally:
            os.close(handle)
    except FileNotFoundError as error:
        raise LibraryNotFound(f"{path}: there is no such file") from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise LibraryError(f"{path}: cannot be read ({reason})") from error


MAX_FILE_BYTES: Final = 1 << 31
"""Largest library that is read, in bytes."""


class Library:
    """A loaded library: its functions are attributes. It pickles with its bytes, its weights and its state.

    functions: by name, also those that share a name with an attribute. manifest: its description of itself.
    """

    def __init__(self, data: bytes, path: Path | None = None, weights: Source = None) -> None:
        check_environment()
        self._data, self.path = data, path
        try:
            container = read(data)
            self.manifest: Manifest = container.manifest()
            check_libc(self.manifest)
            check_features(self.manifest, container.image.machine)
            digest = container.recorded_checksum()
            self._handle = map_library(data, digest, self.manifest.name, path)
            check_signatures(self.manifest, self._handle)
            needs = self.manifest.weights is not None or weights is not None
            self._weights = provide(self.manifest, self._handle, digest, path, weights) if needs else None
        except LibraryError as error:
            found = error.diagnostic
            raise type(error)(f"{path or 'library'}: {found.title}", lines=found.lines, hint=found.hint) from error
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

    def _repr_html_(self) -> str:
        """HTML for notebooks: the functions with their C entries, and the compile options."""
        from aotensor_runtime.notebook.library import library_html

        return library_html(self.manifest, len(self._data), self.path)

    @property
    def data(self) -> bytes:
        """The bytes of the file, as checked and loaded."""
        return self._data

    @property
    def weights(self) -> AnyArray | None:
        """The content of the file with its large constants, uint8 and read-only; None if it holds them itself."""
        return self._weights

    def section(self, name: str) -> bytes:
        """Content of an extra section, see `manifest.sections`.

        Raises: KeyError if there is none of that name.
        """
        return self._container.extra(name)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self._data, {offset: cell.value for offset, cell in self._cells.items()}, self._weights)

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
        others = (self._address(symbol) for symbol in ("aotensor_run_bound", name, *CALLBACKS))
        return Entries(uniform, workspace, call_python, extents_python, call_bound, address, *others)

    def _address(self, symbol: str) -> int:
        """The address of an exported symbol, named without the prefix; 0 if it is missing, as in older libraries."""
        try:
            return ctypes.cast(self._handle[f"{self.manifest.prefix}{symbol}"], ctypes.c_void_p).value or 0
        except AttributeError:
            return 0


def read(data: bytes) -> Container:
    """The container of a shared library for this architecture, after checking its checksum.

    Raises: ForeignLibrary, DamagedLibrary, TooNewLibrary or UnsupportedMachine.
    """
    try:
        container = Container(data)
    except ForeignLibrary as error:
        raise ForeignLibrary(error.diagnostic.title, hint=error.diagnostic.hint or this_machine().fitting()) from error
    check_architecture(container.image)
    container.check()
    return container


def check_signatures(manifest: Manifest, handle: ctypes.CDLL) -> None:
    """Compare the signature of each function in the manifest with that in its code.

    Raises: DamagedLibrary for a difference: a call would write out of bounds.
    """
    try:
        entry = handle[f"{manifest.prefix}aotensor_signature"]
    except AttributeError as error:
        raise DamagedLibrary(f"an entry point of the library is missing ({error})") from error
    entry.argtypes, entry.restype = [ctypes.c_int32], ctypes.c_char_p
    for number, spec in enumerate(manifest.functions):
        text, expected = entry(number), signature_text(spec).encode()
        if text != expected:
            found = "nothing" if text is None else text.decode(errors="replace")
            raise DamagedLibrary(
                f"the manifest and the code of function {spec.name} do not match",
                lines=[f"manifest: {expected.decode()}", f"code:     {found}"],
            )
    if entry(len(manifest.functions)) is not None:
        raise DamagedLibrary("the code has more functions than the manifest")


def _restore(data: bytes, state: Mapping[int, Value], weights: AnyArray | None = None) -> Library:
    """Unpickle: a new library with the pickled state and weights."""
    library = Library(data, weights=weights)
    for offset, value in state.items():
        library._cells[offset].value = value
    return library
