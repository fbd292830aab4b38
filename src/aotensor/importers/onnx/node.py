"""A node of an ONNX graph, for rules: its attributes with defaults, its inputs, and their static values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import onnx

import aotensor.tensor as at
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.importers.base import Unsuited

if TYPE_CHECKING:
    from aotensor.importers.onnx.walk import Walk

_KINDS: Final = onnx.AttributeProto
_FIELDS: Final = {
    _KINDS.FLOAT: "f", _KINDS.INT: "i", _KINDS.STRING: "s", _KINDS.TENSOR: "t", _KINDS.GRAPH: "g",
    _KINDS.FLOATS: "floats", _KINDS.INTS: "ints", _KINDS.STRINGS: "strings", _KINDS.TENSORS: "tensors",
}  # fmt: skip


def attribute_value(proto: Any) -> Any:
    """Convert an attribute to a Python value: text to `str`, repeated values to a list, an unsupported kind to None."""
    name = _FIELDS.get(proto.type)
    if name is None:
        return None
    value = getattr(proto, name)
    if name == "s":
        return value.decode("utf-8", "replace")
    if name == "strings":
        return [x.decode("utf-8", "replace") for x in value]
    return list(value) if name.endswith("s") else value


@dataclass
class Node:
    """A node. inputs: None for one that is left out. since: version of the operator. place: for errors."""

    op: str
    domain: str
    since: int
    inputs: list[Any]
    outputs: list[str]
    walk: Walk
    place: str
    attributes: Mapping[str, Any] = field(default_factory=dict)
    formal: Sequence[str] = ()

    def __getitem__(self, name: str) -> Any:
        """The value of an attribute: its default if it is left out, None if it has no default."""
        return self.attributes.get(name)

    @property
    def is_complete(self) -> bool:
        """Is at most one output used?"""
        return len([x for x in self.outputs if x]) <= 1

    def wants(self, position: int) -> bool:
        """Is an output used?"""
        return position < len(self.outputs) and bool(self.outputs[position])

    def formal_name(self, position: int) -> str:
        """The name of an input in the standard."""
        return self.formal[min(position, len(self.formal) - 1)] if self.formal else str(position)

    def static(self, position: int) -> np.ndarray[Any, Any] | None:
        """The static value of an input; None if it is left out.   Raises: Unsuited if it is only known at run time"""
        x = self.inputs[position] if position < len(self.inputs) else None
        if x is None:
            return None
        if isinstance(x, at.Constant):
            return np.asarray(x.data)
        raise Unsuited(f"its input {self.formal_name(position)} must be known when the model is read")

    def ints(self, position: int) -> list[int] | None:
        """The static integers of an input; None if it is left out.

        Raises: Unsuited if they are only known at run time
        """
        found = self.static(position)
        return None if found is None else [int(i) for i in found.ravel()]

    def axes(self, attribute: str = "axes", position: int = 1) -> list[int] | None:
        """Axes, which are an attribute or, in later versions, an input."""
        found = self[attribute]
        return list(found) if found is not None else self.ints(position)

    def entries(self, position: int) -> list[Any]:
        """The integers of an input, each a number or a scalar computed from extents.

        Raises: Unsuited for other values
        """
        found = self.walk.extents.entries(self.inputs[position])
        if found is None:
            raise Unsuited(f"its input {self.formal_name(position)} must be a constant or computed from shapes")
        return list(found.ravel())

    def numbers(self, position: int) -> list[Any]:
        """The integers of an input, each a number or a scalar of any origin.

        Raises: Unsuited if their count is not static
        """
        x = self.inputs[position]
        if self.walk.extents.entries(x) is None and x.type.ndim == 1 and isinstance(count := x.type.shape[0], int):
            return [at.cast(x[k], "int64") for k in range(count)]
        return self.entries(position)

    def axis(self, rank: int, name: str = "axis") -> int:
        """The attribute `axis`, non-negative. Raises: GraphValueError if it is out of range"""
        return self.checked_axis(int(self[name]), rank)

    def checked_axis(self, axis: int, rank: int) -> int:
        """An axis as a non-negative number.   Raises: GraphValueError if it is out of range"""
        if not -rank <= axis < max(rank, 1):
            raise GraphValueError(f"axis {axis} is out of range for a tensor of rank {rank}")
        return axis % rank if rank else 0

    def extent(self, x: Any, axis: int) -> Any:
        """The extent of an axis: a number if it is static, else a scalar."""
        return self.walk.extents.extent(x, axis)

    def shape(self, x: Any) -> list[Any]:
        """All extents of a tensor: numbers if they are static, else scalars."""
        return [self.extent(x, i) for i in range(x.type.ndim)]


def attributes_of(proto: Any, schema: Any, given: Mapping[str, Any], later: Any = None) -> dict[str, Any]:
    """Attributes of a node by name, with the defaults of the standard.

    given: attributes of the function that the node is part of, which its own refer to. later: the schema of a later
    version of the operator, for defaults of attributes that this version has not yet.

    Raises: GraphTypeError, GraphValueError for attributes of another kind, or that are missing.
    """
    known = schema.attributes if schema is not None else {}
    found: dict[str, Any] = {}
    more = later.attributes if later is not None else {}
    for name, item in {**more, **known}.items():
        if item.default_value.type:
            found[name] = attribute_value(item.default_value)
    for item in proto.attribute:
        if item.ref_attr_name:
            if item.ref_attr_name in given and given[item.ref_attr_name] is not None:
                found[item.name] = given[item.ref_attr_name]
            continue
        if item.name in known and int(known[item.name].type) != item.type:
            expected = known[item.name].type.name
            raise GraphTypeError(
                f"attribute {item.name} is of kind {_KINDS.AttributeType.Name(item.type)}, not {expected}"
            )
        found[item.name] = attribute_value(item)
    missing = [name for name, item in known.items() if item.required and name not in found]
    if missing:
        raise GraphValueError(f"attribute {missing[0]} is missing")
    return found
