"""Options for the number of threads of calls, checked. The libraries create the threads."""

from __future__ import annotations

import operator
import os
from typing import Final, SupportsIndex

from aotensor_runtime.abi import MAX_THREADS
from aotensor_runtime.errors import ArgumentTypeError, ArgumentValueError
from aotensor_runtime.systems import here
from aotensor_runtime.systems.limits import MOST_THREADS

VARIABLE: Final = "AOTENSOR_NUM_THREADS"


def checked_threads(function: str, value: object) -> int:
    """A number of threads, checked.   Raises: ArgumentTypeError, ArgumentValueError"""
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        raise ArgumentTypeError(f"{function}: num_threads must be an integer, not {value!r:.60}")
    count = operator.index(value)
    if not 1 <= count <= MOST_THREADS:
        raise ArgumentValueError(
            f"{function}: num_threads is {str(count)[:30]}, which is out of range",
            hint=f"give 1 to {MOST_THREADS}, or None for the default",
        )
    return count


def default_threads() -> int:
    """The default number of threads of a library: AOTENSOR_NUM_THREADS, else the processors that the
    process may use by its affinity and its container, at most as many as a loop uses.

    Raises: ArgumentValueError for a wrong value of the variable.
    """
    check_environment()
    wanted = os.environ.get(VARIABLE)
    if wanted is not None:
        return min(int(wanted), MAX_THREADS)
    return max(min(here.processors(), MAX_THREADS), 1)


def check_environment() -> None:
    """Check that libraries can parse AOTENSOR_NUM_THREADS.   Raises: ArgumentValueError"""
    text = os.environ.get(VARIABLE)
    if text is not None and not (text.isascii() and text.isdecimal() and 1 <= int(text[:10]) <= MOST_THREADS):
        raise ArgumentValueError(
            f"the environment variable {VARIABLE} is {text[:60]!r}, not a number from 1 to {MOST_THREADS}",
            hint=f"set it to 1 to {MOST_THREADS}, or unset it",
        )
