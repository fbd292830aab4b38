"""The file of weights of a library in this process: found next to the library, mapped read-only, checked once.

The mapping is shared: processes that load the same file use the same memory. A library that is loaded twice from equal
bytes is one library for the dynamic loader, so it has one mapping.
"""

from __future__ import annotations

import ctypes
import hashlib
import mmap
import os
import stat
from pathlib import Path
from threading import Lock
from typing import Final, TypeAlias

import numpy as np

from aotensor_runtime.abi import WEIGHTS_CHECKED
from aotensor_runtime.arrays.plain import AnyArray
from aotensor_runtime.errors import ArgumentTypeError, DamagedLibrary, LibraryError, LibraryNotFound
from aotensor_runtime.manifest import Manifest
from aotensor_runtime.systems import here
from aotensor_runtime.typed.parameters import c_suffix
from aotensor_runtime.weights.spec import WEIGHTS_ALIGNMENT, WeightsSpec

Source: TypeAlias = "str | os.PathLike[str] | AnyArray | None"
"""A path, the content of the file, or None for the file next to the library."""

_open_files: Final[dict[bytes, AnyArray]] = {}
"""Checksum of a library → the content of its file; never freed, as libraries are never unloaded."""
_lock: Final = Lock()


def provide(manifest: Manifest, handle: ctypes.CDLL, digest: bytes, path: Path | None, source: Source) -> AnyArray:
    """Find, check and map the weights of a loaded library; return the content of the file.

    digest: checksum of the library. path: of the library, None if it was not read from a file.

    Raises: LibraryNotFound, DamagedLibrary or LibraryError with the path of the file; ArgumentTypeError for a source
    that is not a path.
    """
    spec = manifest.weights
    if spec is None:
        raise LibraryError("the library has no file of weights: it contains its constants", hint="leave out weights=")
    with _lock:
        held = _open_files.get(digest)
        if isinstance(source, np.ndarray):
            found = held if held is not None else _checked(spec, _aligned(source), "the pickled weights")
        elif source is None and path is None and held is not None:
            found = held
        else:
            file = find_weights(spec, path, source)
            with _Opened(spec, file) as opened:
                found = held if held is not None else _checked(spec, opened.content(), str(file))
        if held is None:
            _use(manifest, handle, found)
            _open_files[digest] = found
        return found


def find_weights(spec: WeightsSpec, library: Path | None, source: Source = None) -> Path:
    """The path of the file: the given one, else next to the library, else next to the file that a link leads to.

    Raises: LibraryNotFound if there is no such file; ArgumentTypeError for a source that is not a path.
    """
    if source is not None:
        if not isinstance(source, str | os.PathLike):
            raise ArgumentTypeError(f"load: weights must be a path, not {source!r:.60}")
        candidates = [Path(source)]
    else:
        folders = [] if library is None else dict.fromkeys([library.parent, library.resolve().parent])
        candidates = [folder / spec.file for folder in folders]
    for candidate in candidates:
        if candidate.exists():
            return candidate
    where = candidates[0] if candidates else spec.file
    raise LibraryNotFound(
        f"the weights {where} were not found, and the library needs them",
        lines=[f"expected: {spec.expectation}"],
        hint=f"put {spec.file} next to the library, or name it: load(path, weights=FILE)",
    )


def check_weights(spec: WeightsSpec, file: Path) -> None:
    """Check that a file is that of a library.   Raises: LibraryNotFound, DamagedLibrary or LibraryError"""
    with _Opened(spec, file) as opened:
        _checked(spec, opened.content(), str(file))


class _Opened:
    """An open file of the right size.   Raises: LibraryNotFound, DamagedLibrary, LibraryError"""

    def __init__(self, spec: WeightsSpec, file: Path) -> None:
        try:
            self._handle = os.open(file, here.READING)
        except FileNotFoundError as error:
            raise LibraryNotFound(f"the weights {file} were not found") from error
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise LibraryError(f"the weights {file} cannot be read ({reason})") from error
        self._file = file
        status = os.fstat(self._handle)
        if not stat.S_ISREG(status.st_mode):
            os.close(self._handle)
            raise LibraryError(f"the weights {file} are not a regular file")
        if status.st_size != spec.bytes:
            os.close(self._handle)
            raise DamagedLibrary(
                f"the weights {file} do not belong to the library: the file has {status.st_size} bytes",
                lines=[f"expected: {spec.expectation}"],
            )

    def __enter__(self) -> _Opened:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._handle)

    def content(self) -> AnyArray:
        """The file, mapped read-only.   Raises: LibraryError"""
        try:
            return np.frombuffer(mmap.mmap(self._handle, 0, access=mmap.ACCESS_READ), np.uint8)
        except (OSError, ValueError) as error:
            raise LibraryError(f"the weights {self._file} cannot be mapped into memory ({error})") from error


def _checked(spec: WeightsSpec, content: AnyArray, name: str) -> AnyArray:
    digest = hashlib.sha256(content.data).hexdigest()
    if content.nbytes != spec.bytes or digest != spec.sha256:
        found = f"found:    {content.nbytes} bytes with SHA-256 {digest}"
        raise DamagedLibrary(
            f"the weights {name} do not belong to the library", lines=[f"expected: {spec.expectation}", found]
        )
    return content


def _aligned(content: AnyArray) -> AnyArray:
    """The same bytes at an address with the alignment that kernels assume."""
    if content.ctypes.data % WEIGHTS_ALIGNMENT == 0:
        return content
    room = np.empty(content.nbytes + WEIGHTS_ALIGNMENT, np.uint8)
    start = -room.ctypes.data % WEIGHTS_ALIGNMENT
    room[start : start + content.nbytes] = content
    return room[start : start + content.nbytes]


def _use(manifest: Manifest, handle: ctypes.CDLL, content: AnyArray) -> None:
    try:
        entry = handle[f"{manifest.prefix}aotensor_set_weights_{c_suffix(manifest.name)}"]
    except AttributeError as error:
        raise DamagedLibrary(f"an entry point of the library is missing ({error})") from error
    entry.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int32]
    status = entry(None, content.ctypes.data, content.nbytes, WEIGHTS_CHECKED)
    if status != 0:
        raise LibraryError(f"the library refuses its weights: status {status}")
