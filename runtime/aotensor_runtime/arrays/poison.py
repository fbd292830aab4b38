"""Poisoned memory: results and workspaces are filled with a pattern before a call, so that uninitialised reads show.

Results and workspace of a bound function are filled once, when it is bound; arrays given by `out=` never are.
The pattern is a NaN of every floating type (a signalling one in float64), a large integer, and neither true nor false.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import numpy as np

from aotensor_runtime.arrays.plain import AnyArray

VARIABLE: Final = "AOTENSOR_POISON"
PATTERN: Final = b"\xf4\x7f"

_is_on = os.environ.get(VARIABLE, "0") not in ("", "0")


def is_poisoned() -> bool:
    """True if calls run on poisoned memory: with AOTENSOR_POISON=1 in the environment, or inside `poisoned()`."""
    return _is_on


@contextmanager
def poisoned() -> Iterator[None]:
    """Within: functions that are called for the first time use poisoned memory, now and later."""
    global _is_on
    before, _is_on = _is_on, True
    try:
        yield
    finally:
        _is_on = before


def poison(array: AnyArray) -> AnyArray:
    """The C-contiguous array itself, filled with the pattern if calls run on poisoned memory."""
    if _is_on and array.size:
        raw = array.reshape(-1).view(np.uint8)
        raw[...] = np.resize(np.frombuffer(PATTERN, np.uint8), raw.size)
    return array
