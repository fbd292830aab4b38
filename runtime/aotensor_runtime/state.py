"""Shared variables: values that persist between the calls of a loaded library."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from aotensor_runtime.errors import ArgumentTypeError
from aotensor_runtime.manifest import FunctionSpec
from aotensor_runtime.sparse.values import Compressed, Value, shown, to_value


class Cell:
    """The current value of one shared variable. The array or matrix is replaced, never modified."""

    def __init__(self, value: Value) -> None:
        self.value = value


class State(MutableMapping[str, object]):
    """The shared variables of a function by name; functions of one library that share a variable see the same value.

    Reading gives a copy. Writing converts like an argument; the extents may change, dtype and rank may not.
    """

    def __init__(self, spec: FunctionSpec, cells: Mapping[str, Cell], lock: AbstractContextManager[object]) -> None:
        self._inputs = {value.name: value for value in spec.arguments if value.name in cells}
        self._spec, self._cells, self._lock = spec, cells, lock

    def __getitem__(self, name: str) -> Any:
        return shown(self._cells[name].value.copy())

    def __setitem__(self, name: str, value: object) -> None:
        if name not in self._inputs:
            raise KeyError(name)
        new = to_value(self._spec, value, self._inputs[name])
        with self._lock:
            self._cells[name].value = new.copy() if isinstance(new, Compressed) else np.array(new, order="C")

    def value(self, name: str) -> Value:
        """The current value without a copy, in the form that the library expects: do not modify it."""
        return self._cells[name].value

    def borrow(self, name: str) -> Any:
        """The current value without a copy: do not modify it."""
        return shown(self._cells[name].value)

    def lend(self, name: str, value: object) -> None:
        """Set the current value without copying it: do not modify it afterwards."""
        if self._cells[name].value is not value:
            new = to_value(self._spec, value, self._inputs[name])
            with self._lock:
                self._cells[name].value = new

    def __delitem__(self, name: str) -> None:
        raise ArgumentTypeError(f"{self._spec.name}: shared variable {name!r} cannot be deleted")

    def __iter__(self) -> Iterator[str]:
        return iter(self._cells)

    def __len__(self) -> int:
        return len(self._cells)

    def __repr__(self) -> str:
        return f"State({ {name: shown(cell.value) for name, cell in self._cells.items()} })"
