"""The types of missing gradients, as objects that construct their variables."""

from __future__ import annotations

from typing import Final

from aotensor.graph.placeholder import DisconnectedType, NullType
from aotensor.graph.variable import Variable


class _DisconnectedType(DisconnectedType):
    """Type of the instance that represents DisconnectedType; calling the instance returns a variable of that type."""

    def __call__(self, name: str | None = None) -> Variable:
        return Variable(self, name=name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DisconnectedType)

    def __hash__(self) -> int:
        return hash(DisconnectedType)


class _NullType(NullType):
    """Type of the instance that represents NullType; calling the instance returns a variable of that type."""

    def __call__(self, name: str | None = None) -> Variable:
        return Variable(self, name=name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NullType)

    def __hash__(self) -> int:
        return hash(NullType)


disconnected_type: Final = _DisconnectedType()
null_type: Final = _NullType()
