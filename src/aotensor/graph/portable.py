"""Serialise graphs: objects that hold variables become a flat list, so that deep graphs need no recursion.

Variables and nodes are numbered in the order of discovery; the state of each is pickled alone, with others as numbers.
Loading creates all objects first and fills them afterwards, so that cycles (a shared variable that its own update
reads) need no special case.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np

from aotensor.graph.op import Apply
from aotensor.graph.variable import Constant, Variable

Part: TypeAlias = "Variable | Apply"
Portable: TypeAlias = tuple[list[tuple[type[Part], bytes]], bytes]
"""(class and state of every variable and node, state of the root object)."""


def to_portable(state: object) -> Portable:
    """Serialise `state` and all variables and nodes that it reaches.

    Raises: pickle's error for an op or a value that cannot be pickled.
    """
    writer = _Writer()
    root = writer.bytes_of(state)
    parts = [(type(part), writer.bytes_of(_state_of(part))) for part in writer.parts()]
    return parts, root


def from_portable(portable: Portable) -> Any:
    """The object given to `to_portable`, with new variables and nodes."""
    records, root = portable
    parts: list[Any] = [object.__new__(kind) for kind, _ in records]
    for part, (_, state) in zip(parts, records, strict=True):
        for name, value in _Reader(io.BytesIO(state), parts).load().items():
            setattr(part, name, value)
        if isinstance(part, Constant) and isinstance(part.data, np.ndarray):
            part.data.flags.writeable = False
    return _Reader(io.BytesIO(root), parts).load()


class _Writer:
    """Pickler that replaces variables and nodes by numbers in the order of discovery."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        self._parts: list[Part] = []

    def parts(self) -> Iterator[Part]:
        """Iterate over all parts, including those that are discovered meanwhile."""
        position = 0
        while position < len(self._parts):
            yield self._parts[position]
            position += 1

    def bytes_of(self, value: object) -> bytes:
        buffer = io.BytesIO()
        _Pickler(buffer, self).dump(value)
        return buffer.getvalue()

    def number(self, value: Any) -> int | None:
        """The number of a variable or node; None for other objects."""
        if not isinstance(value, Variable | Apply):
            return None
        if id(value) not in self._numbers:
            self._numbers[id(value)] = len(self._parts)
            self._parts.append(value)
        return self._numbers[id(value)]


class _Pickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO, writer: _Writer) -> None:
        super().__init__(file, protocol=4)
        self._writer = writer

    def persistent_id(self, obj: Any) -> int | None:
        return self._writer.number(obj)


class _Reader(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, parts: list[Any]) -> None:
        super().__init__(file)
        self._parts = parts

    def persistent_load(self, pid: Any) -> Any:
        return self._parts[pid]


def _state_of(part: Part) -> dict[str, Any]:
    """The attributes of a variable or node that are pickled: all slots but the weak reference, and its `__dict__`."""
    names = {name for kind in type(part).__mro__ for name in getattr(kind, "__slots__", ())} - {"__weakref__"}
    slots = {name: getattr(part, name) for name in sorted(names) if hasattr(part, name)}
    return slots | getattr(part, "__dict__", {})
