"""A caller of Ipopt's callbacks by ctypes, for tests where Ipopt is not installed."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np


class Public(ctypes.Structure):
    """What the header declares."""

    _fields_ = (
        *((name, ctypes.c_int32) for name in ("n", "m", "nele_jac", "nele_hess", "index_style", "reserved")),
        *((f"eval_{name}", ctypes.c_void_p) for name in ("f", "g", "grad_f", "jac_g", "h")),
        ("message", ctypes.c_char_p),
    )


class Problem:
    """A problem of a library, called as Ipopt would."""

    def __init__(self, library: Path, name: str, *parameters: np.ndarray) -> None:
        self.lib, self.name = ctypes.CDLL(str(library)), name
        create = self._symbol("ipopt_problem")
        create.restype = ctypes.POINTER(Public)
        self.parameters = parameters
        self.made = create((ctypes.c_void_p * max(len(parameters), 1))(*(p.ctypes.data for p in parameters)))
        self.public: Public = self.made.contents
        self.public_sizes = [getattr(self.public, key) for key in ("n", "m", "nele_jac", "nele_hess")]

    def _symbol(self, suffix: str) -> Any:
        return getattr(self.lib, f"{self.name}_{suffix}")

    def call(self, callback: str, x: np.ndarray | None, new_x: int, *rest: Any) -> int:
        """A callback.   rest: its arguments between new_x and user_data, arrays by their address"""
        address = None if x is None else ctypes.c_void_p(x.ctypes.data)
        passed = [ctypes.c_void_p(y.ctypes.data) if isinstance(y, np.ndarray) else y for y in rest]
        return int(self._symbol(callback)(ctypes.c_int(self.public.n), address, new_x, *passed, self.made))

    def structure(self, callback: str) -> tuple[np.ndarray, np.ndarray]:
        _, m, jacobian, hessian = self.public_sizes
        count = jacobian if callback == "eval_jac_g" else hessian
        i, j = np.zeros(count, np.int32), np.zeros(count, np.int32)
        extra = [m] if callback == "eval_jac_g" else [ctypes.c_double(0.0), m, None, 0]
        assert self.call(callback, None, 1, *extra, count, i, j, None) == 1
        return i, j
