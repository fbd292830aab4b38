"""Find the line of the user's program that an equation comes from."""

from __future__ import annotations

import os
from functools import cache
from types import CodeType
from typing import Any, Final

import jax
import jaxlib

import aotensor
from aotensor.extension import Site

_NOT_THE_USERS: Final = tuple(
    os.path.dirname(os.path.abspath(module.__file__ or "")) + os.sep for module in (jax, jaxlib, aotensor)
)


def site_of(equation: Any) -> Site | None:
    """The innermost line outside of JAX and aotensor; None if JAX recorded no traceback."""
    traceback = equation.source_info.traceback
    if traceback is None:
        return None
    for code, instruction in zip(*traceback.raw_frames(), strict=True):
        found = _site(code, instruction)
        if found is not None:
            return found
    return None


def is_jax(file: str) -> bool:
    """Is this file one of JAX's?"""
    return file.startswith(_NOT_THE_USERS)


@cache
def _site(code: CodeType, instruction: int) -> Site | None:
    file = code.co_filename
    if file.startswith(("<frozen", *_NOT_THE_USERS)):
        return None
    line = next((line for start, end, line in code.co_lines() if start <= instruction < end), None)
    return Site(file, line or code.co_firstlineno)
