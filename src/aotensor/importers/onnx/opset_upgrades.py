"""Rewrite nodes of opsets 7 to 12 in the form of opset 13: attributes become inputs, operators get new names.

Other differences between versions are handled by the operator's rule, which reads `Node.since`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

import aotensor.tensor as at
from aotensor.errors import GraphValueError
from aotensor.importers.base import Unsuited
from aotensor.importers.onnx.node import Node

_UNBOUNDED: Final = 3.4028234e38
"""A bound that float32 does not reach: what Clip has by default."""


def upgrade_node(node: Node) -> Node:
    """Rewrite a node in the form of opset 13.

    Raises: Unsuited, GraphValueError for forms that opset 13 cannot express
    """
    before, change = _FORMS.get(node.op, (0, _same)) if not node.domain else (0, _same)
    return change(node) if node.since < before else node


def _same(node: Node) -> Node:
    return node


def _with(node: Node, *inputs: Any, **options: Any) -> Node:
    attributes = {**node.attributes, **options.pop("attributes", {})}
    return replace(node, inputs=[*node.inputs[:1], *inputs], attributes=attributes, **options)


def _ints(values: Sequence[int]) -> Any:
    return at.constant(np.asarray(values, "int64"))


def _bounds(node: Node) -> Node:
    """The inputs min and max of Clip."""
    like = node.inputs[0].type.dtype
    found = [node[name] for name in ("min", "max")]
    return _with(node, *(None if abs(x) >= _UNBOUNDED else at.constant(x, dtype=like) for x in found))


def _pads(node: Node) -> Node:
    """The inputs pads and value of Pad."""
    return _with(node, _ints(node["pads"]), at.constant(node["value"], dtype=node.inputs[0].type.dtype))


def _count(node: Node) -> Node:
    """The input k of TopK."""
    return _with(node, _ints([node["k"]]))


def _range(node: Node) -> Node:
    """The inputs starts, ends and axes of Slice."""
    axes = node["axes"]
    return _with(node, _ints(node["starts"]), _ints(node["ends"]), None if axes is None else _ints(axes))


def _scattered(node: Node) -> Node:
    """Rename Scatter to ScatterElements."""
    return replace(node, op="ScatterElements")


def _resized(node: Node) -> Node:
    """Rewrite Upsample and Resize: scales, with asymmetric coordinates

    Raises: Unsuited for nearest elements that lie between two of them where there are fewer: the standard has no rule
    """
    if node["scales"] is not None:
        scales = np.asarray(node["scales"], "float32")
    else:
        found = node.static(1)
        if found is None:
            raise GraphValueError("its input scales is missing")
        scales = found.ravel()
    mode = node["mode"]
    if mode == "nearest" and any(s < 1 and round(1 / float(s)) * float(s) != 1 for s in scales):
        raise Unsuited(
            f"its mode is nearest and its scales {scales.tolist()}; opsets before 11 do not define this for scales "
            "below 1"
        )
    forms = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    return _with(node, None, at.constant(scales), attributes=forms, op="Resize")


_FORMS: Final[Mapping[str, tuple[int, Callable[[Node], Node]]]] = {
    "Clip": (11, _bounds),
    "Pad": (11, _pads),
    "Resize": (11, _resized),
    "Scatter": (11, _scattered),
    "Slice": (10, _range),
    "TopK": (10, _count),
    "Upsample": (10, _resized),
}
"""Operator → the first version of its new form, and how it comes into that."""

RENAMED: Final[Mapping[str, str]] = {"Scatter": "ScatterElements", "Upsample": "Resize"}
"""Operators that have other names now."""
