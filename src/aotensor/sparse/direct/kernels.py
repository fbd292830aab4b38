"""The kernel language: Python functions of numbers and vectors that run as they are, and that the compiler reads.

Types are those of the annotations below. Statements are assignments, `for … in range(…)`, `while`, `if` and a
`return` at the end; there is no other way out of a loop than its condition. Expressions are arithmetic, comparisons,
`and`, `or`, `not`, elements of vectors, `abs`, `min`, `max`, `root`, and calls of other kernels. A variable has one
type, and one that is read after a loop or branch has a value before it. No two vectors of a call share memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

Index: TypeAlias = int
Real: TypeAlias = float
Indices: TypeAlias = "list[int]"
Reals: TypeAlias = "list[float]"


def root(n: Index) -> Index:
    """⌊√n⌋"""
    return math.isqrt(n)


def run_kernel(kernel: Callable[..., Any], *arguments: Any) -> Any:
    """Run a kernel as Python: arrays are lists meanwhile, which is faster, and get the new elements in the end."""
    lists = [x.tolist() if isinstance(x, np.ndarray) else x for x in arguments]
    with np.errstate(all="ignore"):
        result = kernel(*lists)
    for x, new in zip(arguments, lists, strict=True):
        if isinstance(x, np.ndarray) and x.size and x.flags.writeable:
            x[...] = new
    return result
