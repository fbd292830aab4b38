"""Graphs as bytes: what holds variables becomes a list without references, so that depth costs no stack.

Variables and nodes are numbered as they are met; the state of each is pickled by itself, and names others by number.
Reading makes all objects first and fills them in afterwards, so that cycles (a shared variable that its own update
reads) are nothing special.
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
"""Class and state of every variable and node, then the state of what holds them."""


def to_portable(state: object) -> Portable:
    """`state` and all variables and nodes that it reaches.

    Raises: what pickling raises for an op or a value that cannot be pickled.
    """
    writer = _Writer()
    root = writer.bytes_of(state)
    parts = [(type(part), writer.bytes_of(_state_of(part))) for part in writer.parts()]
    return parts, root


def from_portable(portable: Portable) -> Any:
    """What `to_portable` was given, with new variables and nodes."""
    records, root = portable
    parts: list[Any] = [object.__new__(kind) for kind, _ in records]
    for part, (_, state) in zip(parts, records, strict=True):
        for name, value in _Reader(io.BytesIO(state), parts).load().items():
            setattr(part, name, value)
        if isinstance(part, Constant) and isinstance(part.data, np.ndarray):
            part.data.flags.writeable = False
    return _Reader(io.BytesIO(root), parts).load()


class _Writer:
    """Numbers parts in the order in which they are met."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        self._parts: list[Part] = []

    def parts(self) -> Iterator[Part]:
        """All parts; those that are met while the iteration goes on come last."""
        position = 0
        while position < len(self._parts):
            yield self._parts[position]
            position += 1

    def bytes_of(self, value: object) -> bytes:
        buffer = io.BytesIO()
        _Pickler(buffer, self).dump(value)
        return buffer.getvalue()

    def number(self, value: Any) -> int | None:
        """Of a variable or a node; None for anything else."""
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
    """The slots of a part, but for the one of weak references, and its attributes where it has some."""
    names = {name for kind in type(part).__mro__ for name in getattr(kind, "__slots__", ())} - {"__weakref__"}
    slots = {name: getattr(part, name) for name in sorted(names) if hasattr(part, name)}
    return slots | getattr(part, "__dict__", {})
