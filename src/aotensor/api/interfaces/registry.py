"""The interfaces by name, and the choice of some."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from aotensor.api.function import Function
from aotensor.api.interfaces.bridgestan import for_bridgestan
from aotensor.api.interfaces.casadi import for_casadi
from aotensor.api.interfaces.ceres import for_ceres
from aotensor.api.interfaces.fmi import for_fmi
from aotensor.api.interfaces.ipopt import for_ipopt
from aotensor.api.interfaces.names import NAMES
from aotensor.api.interfaces.sundials import for_sundials
from aotensor.codegen.abi.interface import Layer
from aotensor.errors import GraphTypeError, GraphValueError

Prepare: TypeAlias = Callable[[Sequence[Function], str], tuple[list[Function], Layer]]
"""Functions and the library's name → functions that the interface needs beside them, and its layer."""

INTERFACES: Final[dict[str, Prepare]] = {
    "bridgestan": for_bridgestan,
    "casadi": for_casadi,
    "ceres": for_ceres,
    "fmi": for_fmi,
    "ipopt": for_ipopt,
    "sundials": for_sundials,
}
assert tuple(INTERFACES) == NAMES


def chosen_interfaces(abi: str | Sequence[str] | None) -> tuple[str, ...]:
    """The interfaces that a user requests, without duplicates.

    Raises: GraphTypeError, GraphValueError for an unknown one
    """
    if abi is None:
        return ()
    names = (abi,) if isinstance(abi, str) else tuple(abi)
    for name in names:
        if not isinstance(name, str):
            raise GraphTypeError(f"abi must be a name or a list of names, not {name!r:.60}")
        if name not in INTERFACES:
            raise GraphValueError(f"abi {name!r:.60} is unknown", hint=f"known interfaces: {', '.join(INTERFACES)}")
    return tuple(dict.fromkeys(names))


def with_interfaces(
    names: Sequence[str], functions: Sequence[Function], library: str
) -> tuple[list[Function], tuple[Layer, ...]]:
    """All functions to compile for interfaces, and their layers.   Raises: as the interfaces"""
    chosen, layers = list(functions), list[Layer]()
    for name in names:
        more, layer = INTERFACES[name](functions, library)
        chosen += more
        layers.append(layer)
    return chosen, tuple(layers)
