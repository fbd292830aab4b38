"""Load and call libraries compiled by aotensor, with NumPy and the standard library only.

import aotensor_runtime
lib = aotensor_runtime.load("libmodel.so")
lib.logistic(X, y, w)
"""

from __future__ import annotations

from aotensor_runtime.bound import BoundFunction
from aotensor_runtime.call import LibraryFunction
from aotensor_runtime.errors import (
    AotensorError,
    ArgumentError,
    ArgumentIndexError,
    ArgumentTypeError,
    ArgumentValueError,
    DamagedLibrary,
    ForeignLibrary,
    LibraryError,
    LibraryNotFound,
    OutOfMemory,
    TooNewLibrary,
    TooOldLibrary,
    UnsupportedMachine,
)
from aotensor_runtime.library import Library, load
from aotensor_runtime.manifest import Manifest
from aotensor_runtime.sparse.checked import CheckedPattern

__all__ = [
    "AotensorError",
    "ArgumentError",
    "ArgumentIndexError",
    "ArgumentTypeError",
    "ArgumentValueError",
    "BoundFunction",
    "CheckedPattern",
    "DamagedLibrary",
    "ForeignLibrary",
    "Library",
    "LibraryError",
    "LibraryFunction",
    "LibraryNotFound",
    "Manifest",
    "OutOfMemory",
    "TooNewLibrary",
    "TooOldLibrary",
    "UnsupportedMachine",
    "load",
]
