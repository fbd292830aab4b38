"""Inputs of functions in the manifest."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from aotensor_runtime.json_node import Node, require
from aotensor_runtime.signature import MANIFOLDS, ArgumentSpec, Default

_USUAL: Final[dict[str, object]] = {"is_data": False, "manifold": ""}
"""Fields that are left out where they have these values, so that older runtimes read all other libraries."""


def leave_out_usual(inputs: Iterable[dict[str, Any]]) -> None:
    """Remove the fields with usual values from the inputs of a function, as dicts."""
    for value in inputs:
        for name, usual in _USUAL.items():
            if value[name] == usual:
                del value[name]


def read_input(node: Node) -> ArgumentSpec:
    """Parse one input.   Raises: ManifestError"""
    name, dtype, shape, default, is_data, manifold = node.fields(
        "name", "dtype", "shape", "default", *_USUAL, optional=_USUAL
    )
    require(manifold.value in ("", *MANIFOLDS), manifold.path, "unknown manifold")
    extents, first = shape.items(Node.extent), default.optional(_default)
    return ArgumentSpec(name.name(), dtype.name(), extents, first, is_data.boolean(), manifold.text())


def _default(node: Node) -> Default:
    shape, offset, size = node.fields("shape", "offset", "size")
    return Default(shape.items(Node.count), offset.count(), size.count())
