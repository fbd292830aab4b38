"""Ops from a vector to one of the same type, made of kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import aotensor as aot


def op_of(kernel: Callable[..., Any]) -> aot.Op:
    """An op from a vector to one of the same type."""
    rules = {"infer_type": lambda self, x: x, "kernel": staticmethod(kernel), "name": kernel.__name__}
    made: aot.Op = type("Made", (aot.Op,), rules)()
    return made
