"""Trainable initializers of an ONNX model: shared variables with the values of the file."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

import aotensor as aot
from aotensor.errors import GraphTypeError
from aotensor.extension import FLOATS, SharedVariable
from aotensor.importers.errors import NoMatch
from aotensor.importers.onnx.tensors import array_of, dtype_of

_SHOWN: Final = 20
"""Names that an error lists."""


def trained(graph: Any, folder: Path | None, patterns: Sequence[str]) -> dict[str, SharedVariable]:
    """Shared variables for the initializers that match, by name, in their order in the file.

    Raises: NoMatch for a pattern that matches none, with the names of those that could be; GraphTypeError for a
    name of one that is not float32 or float64.
    """
    if not patterns:
        return {}
    dtypes = {item.name: dtype_of(item.data_type, f"initializer {item.name!r}") for item in graph.initializer}
    floats = [name for name, dtype in dtypes.items() if dtype in FLOATS]
    chosen = set[str]()
    for pattern in patterns:
        if pattern in dtypes and dtypes[pattern] not in FLOATS:
            raise GraphTypeError(
                f"initializer {pattern!r} has dtype {dtypes[pattern]}; only float32 and float64 can be trained"
            )
        found = {name for name in floats if name == pattern or fnmatchcase(name, pattern)}
        if not found:
            more = f", and {len(floats) - _SHOWN} more" if len(floats) > _SHOWN else ""
            hint = (
                f"floating initializers: {', '.join(floats[:_SHOWN])}{more}"
                if floats
                else "it has no floating initializer"
            )
            raise NoMatch(f"no initializer of the model matches {pattern!r}", hint=hint)
        chosen |= found
    made = {}
    for item in graph.initializer:
        if item.name in chosen:
            value = array_of(item, folder, f"initializer {item.name!r} of graph {graph.name!r}")
            made[item.name] = aot.shared(value, name=item.name, shape=value.shape)
    return made
