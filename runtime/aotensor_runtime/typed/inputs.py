"""Inputs and outputs of functions in the manifest."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from aotensor_runtime.json_node import Node, require
from aotensor_runtime.signature import MANIFOLDS, ArgumentSpec, Default, OutputSpec

_USUAL: Final[dict[str, object]] = {"is_data": False, "manifold": "", "layout": "C"}
"""Fields that are left out where they have these values, so that older runtimes read all other libraries."""


def leave_out_usual(values: Iterable[dict[str, Any]]) -> None:
    """Remove the fields with usual values from the inputs and outputs of a function, as dicts."""
    for value in values:
        for name, usual in _USUAL.items():
            if name in value and value[name] == usual:
                del value[name]


def read_input(node: Node) -> ArgumentSpec:
    """Parse one input.   Raises: ManifestError"""
    name, dtype, shape, default, is_data, manifold, layout = node.fields(
        "name", "dtype", "shape", "default", *_USUAL, optional=_USUAL
    )
    require(manifold.value in ("", *MANIFOLDS), manifold.path, "unknown manifold")
    extents, first = shape.items(Node.extent), default.optional(_default)
    marks = is_data.boolean(), manifold.text(), _layout(layout)
    return ArgumentSpec(name.name(), dtype.name(), extents, first, *marks)


def read_output(node: Node) -> OutputSpec:
    """Parse one output.   Raises: ManifestError"""
    usual = {"layout": "C"}
    name, dtype, shape, layout = node.fields("name", "dtype", "shape", *usual, optional=usual)
    return OutputSpec(name.name(), dtype.name(), shape.items(Node.extent_or_none), _layout(layout))


def _layout(node: Node) -> str:
    require(node.value in ("C", "F"), node.path, "unknown layout")
    return node.text()


def _default(node: Node) -> Default:
    shape, offset, size = node.fields("shape", "offset", "size")
    return Default(shape.items(Node.count), offset.count(), size.count())
