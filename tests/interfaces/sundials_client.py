"""Structures of SUNDIALS by ctypes, for tests where it is not installed."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

READ = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)


class Vector:
    """An N_Vector on an array, with the one operation that is asked for."""

    def __init__(self, data: np.ndarray) -> None:
        self.data = data
        self.read = READ(lambda _: data.ctypes.data)
        self.operations = (ctypes.c_void_p * 6)(*[None] * 5, ctypes.cast(self.read, ctypes.c_void_p))
        self.fields = (ctypes.c_void_p * 2)(None, ctypes.addressof(self.operations))
        self.address = ctypes.c_void_p(ctypes.addressof(self.fields))


def user_data(*parameters: np.ndarray) -> Any:
    return (ctypes.c_void_p * len(parameters))(*(p.ctypes.data for p in parameters))
