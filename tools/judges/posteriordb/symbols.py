"""The library that models are written with: `at` is aotensor.tensor, or PyTensor where its backends are the contenders.

Both have the same names, so that one text of a model serves both.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import aotensor.tensor


class _Library:
    """The functions of the chosen library, by name."""

    def __init__(self) -> None:
        self._chosen: Any = aotensor.tensor

    def __getattr__(self, name: str) -> Any:
        return getattr(self._chosen, name)

    def choose(self, library: Any) -> None:
        """From now on models are of this library.   library: has the functions as attributes"""
        self._chosen = library


at: Any = _Library()


def is_symbolic(x: Any) -> bool:
    """Is it a symbol, and not a number or an array?"""
    return not isinstance(x, int | float | np.ndarray | np.generic)
