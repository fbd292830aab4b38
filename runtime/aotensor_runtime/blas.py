"""The table of BLAS and LAPACK functions, taken from SciPy's Cython interface when a function first needs one."""

from __future__ import annotations

import ctypes
import importlib
from functools import cache
from typing import Any

from aotensor_runtime.abi import BLAS_FUNCTIONS, LAPACK_FUNCTIONS, Blas


@cache
def blas_table() -> Blas:
    """The table of SciPy's BLAS and LAPACK. Pointers are NULL without SciPy, or if it uses 64-bit integers.

    Generated code replaces missing products; calls of other missing functions raise an error.
    """
    table = Blas(struct_size=ctypes.sizeof(Blas))
    try:
        capsules = {
            **importlib.import_module("scipy.linalg.cython_lapack").__pyx_capi__,
            **importlib.import_module("scipy.linalg.cython_blas").__pyx_capi__,
        }
    except ImportError:
        return table
    for name in BLAS_FUNCTIONS + LAPACK_FUNCTIONS:
        if name in capsules:
            setattr(table, name, _address(capsules[name]))
    return table


def _address(capsule: Any) -> int | None:
    """The C function in a Cython capsule, whose name is its signature."""
    api = ctypes.pythonapi
    name_of = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", api))
    pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", api))
    signature: bytes = name_of(capsule)
    address: int | None = pointer_of(capsule, signature)
    return address if b"int *" in signature and b"int64" not in signature and b"long" not in signature else None
