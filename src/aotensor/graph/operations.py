"""Modules of later layers whose functions earlier layers call: ops are built on variables, whose methods call ops.

    from aotensor.graph.operations import dense
    dense.add(x, y)                              in a method of Variable

mypy reads `dense` as the module `aotensor.tensor` and checks every call. At run time it is a `LateModule`, into which
`aotensor/assembly.py` puts the module once both exist. No other file names a later layer.
"""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, Protocol

from aotensor.core.types import Array

if TYPE_CHECKING:
    from aotensor import tensor as dense
    from aotensor.api import function as functions
    from aotensor.gradient import sparse_checks
    from aotensor.gradient import subgraphs as sweeps
    from aotensor.graph import expansion as evaluation
    from aotensor.graph.variable import Variable
    from aotensor.ops import half as halves
    from aotensor.ops import index as indexing
    from aotensor.ops import kernel_call as kernel_calls
    from aotensor.ops.complex import counterpart as complex_numbers
    from aotensor.sparse import functions as sparse

__all__ = [
    "KnownValues",
    "complex_numbers",
    "dense",
    "evaluation",
    "fill",
    "functions",
    "halves",
    "indexing",
    "kernel_calls",
    "sparse",
    "sparse_checks",
    "sweeps",
]


class KnownValues(Protocol):
    """Constant folding from extents: which variables follow from the extents of the inputs, and their values."""

    def knows(self, x: Variable, /) -> bool: ...
    def value(self, x: Variable, /) -> Array | None: ...
    def follows_from_extents(self, x: Variable, /) -> bool: ...


class LateModule:
    """A module of a later layer; each attribute is looked up in the module once."""

    module: ModuleType | None = None

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.module, name)
        setattr(self, name, found)
        return found


_LATE: Final = {name: LateModule() for name in __all__ if name.islower() and name != "fill"}
if not TYPE_CHECKING:
    globals().update(_LATE)


def fill(**modules: ModuleType) -> None:
    """Set the module of each name.   Raises: KeyError for a name that is not a late module"""
    for name, module in modules.items():
        _LATE[name].module = module
