"""C code, compiled on this machine."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

SHARED = "AOTENSOR_BENCHMARKS_FOLDER"
"""Environment variable: a folder for what processes share."""
FLAGS = ("-O3", "-march=native", "-ffast-math", "-fopenmp", "-fPIC")


def load_kernels(name: str) -> ctypes.CDLL | None:
    """A C file of this folder as a library, shared by processes that are given a folder for it; None without gcc."""
    if find_compiler() is None:
        return None
    folder = os.environ.get(SHARED)
    library = Path(folder, name).with_suffix(".so") if folder else None
    if library is None or not library.exists():
        made = compile_c(Path(__file__).with_name(name))
        library = shutil.copy(made, library) if library else made
    return ctypes.CDLL(str(library))


def find_compiler() -> str | None:
    return shutil.which("gcc") or shutil.which("cc")


def compile_c(source: Path) -> Path:
    """A C file as a shared library in a folder of its own.

    Linked without -ffast-math, with which gcc 12 and older add code that flushes small numbers to zero in the whole
    process, so in everything that the kernels are compared with.

    Raises: RuntimeError without a compiler.
    """
    compiler = find_compiler()
    if compiler is None:
        raise RuntimeError("gcc is not installed")
    library = Path(tempfile.mkdtemp()) / "lib.so"
    code = library.with_suffix(".o")
    subprocess.run([compiler, *FLAGS, "-c", str(source), "-o", str(code)], check=True)
    subprocess.run([compiler, "-fopenmp", "-shared", str(code), "-o", str(library), "-lm"], check=True)
    return library


def prepared_call(function: Callable[..., object], *arguments: int | NDArray[np.generic]) -> Callable[[], object]:
    """The call with its arguments converted beforehand, so that ctypes costs as little as it can."""
    values = [
        ctypes.c_int64(x) if isinstance(x, int) else ctypes.c_void_p(x.ctypes.data)  # arrays live in the closure
        for x in arguments
    ]
    keep = arguments

    def call() -> object:
        return function(*values) if keep else None

    return call
