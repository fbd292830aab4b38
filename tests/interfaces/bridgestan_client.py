"""A client of BridgeStan's symbols by ctypes, for tests where the package is not installed."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, byref, c_bool, c_char_p, c_double, c_int, c_uint, c_void_p
from pathlib import Path
from typing import Any

import numpy as np


class Failed(Exception):
    """What a symbol has left in `char **error_msg`."""


class Client:
    """A model that was constructed with JSON data."""

    def __init__(self, library: Path, data: str | None = None) -> None:
        self.lib = ctypes.CDLL(str(library))
        self.lib.bs_free_error_msg.argtypes = [c_void_p]
        construct = self.lib.bs_model_construct
        construct.restype, construct.argtypes = c_void_p, [c_char_p, c_uint, POINTER(c_void_p)]
        self.lib.bs_model_destruct.argtypes = [c_void_p]
        error = c_void_p()
        self.model = construct(None if data is None else data.encode(), 1, byref(error))
        if not self.model:
            raise self._error(error)

    def __del__(self) -> None:
        if getattr(self, "model", None):
            self.lib.bs_model_destruct(self.model)

    def _error(self, error: c_void_p) -> Failed:
        assert error.value is not None
        message = ctypes.string_at(error.value).decode()
        self.lib.bs_free_error_msg(error)
        return Failed(message)

    def text(self, name: str, *flags: bool) -> str:
        symbol = getattr(self.lib, name)
        symbol.restype, symbol.argtypes = c_char_p, [c_void_p, *[c_bool] * len(flags)]
        found: bytes = symbol(self.model, *flags)
        return found.decode()

    def count(self, name: str, *flags: bool) -> int:
        symbol = getattr(self.lib, name)
        symbol.restype, symbol.argtypes = c_int, [c_void_p, *[c_bool] * len(flags)]
        return int(symbol(self.model, *flags))

    def call(self, name: str, *given: Any, model: int | None = -1) -> None:
        """A symbol that takes the model first and `char **` last.   given: flags, numbers, arrays, texts, None

        Raises: Failed
        """
        symbol = getattr(self.lib, name)
        symbol.restype = c_int
        passed: list[Any] = []
        for x in given:
            if isinstance(x, np.ndarray):
                passed.append(x.ctypes.data_as(c_void_p))
            elif isinstance(x, bool):
                passed.append(c_bool(x))
            else:
                passed.append(x.encode() if isinstance(x, str) else x)
        error = c_void_p()
        code = symbol(c_void_p(self.model if model == -1 else model), *passed, byref(error))
        if code != 0:
            assert code == -1
            raise self._error(error)

    def log_density(self, q: np.ndarray, jacobian: bool = True) -> float:
        value = np.zeros(1)
        self.call("bs_log_density", True, jacobian, q, value)
        return float(value[0])

    def random(self, seed: int = 1) -> c_void_p:
        construct = self.lib.bs_rng_construct
        construct.restype, construct.argtypes = c_void_p, [c_uint, c_void_p]
        return c_void_p(construct(seed, None))

    def initialize(self, rng: Any, json: str | None = None, tries: int = 100) -> np.ndarray:
        q = np.zeros(self.count("bs_param_unc_num"))
        self.call("bs_param_initialize", json, rng, c_double(2.0), tries, True, q)
        return q
