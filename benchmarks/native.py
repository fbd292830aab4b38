"""The C kernels, compiled on this machine."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

FLAGS = ("-O3", "-march=native", "-ffast-math", "-shared", "-fPIC")


def load_kernels() -> ctypes.CDLL | None:
    """benchmarks/kernels.c as a library; None without gcc."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        return None
    library = Path(tempfile.mkdtemp()) / "libkernels.so"
    source = Path(__file__).with_name("kernels.c")
    subprocess.run([compiler, *FLAGS, str(source), "-o", str(library), "-lm"], check=True)
    return ctypes.CDLL(str(library))


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
