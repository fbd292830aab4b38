"""Methods and operators that public functions register (`graph/public.py`); the stub lists them for type checkers."""

from __future__ import annotations


class RegisteredMethods:
    """Methods of tensor variables that call the public function of that name: `x.cumsum(axis=0)`, `x + y`."""

    __slots__ = ()
