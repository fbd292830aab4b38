"""Track integers that ONNX graphs compute from extents: Shape → Gather → Mul → Concat → Reshape.

The entries of such vectors are tracked, as numbers if they are static and as scalars if not, so that
Reshape, Expand and Slice find the dims that a model names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

import aotensor.tensor as at
from aotensor.errors import GraphValueError
from aotensor.importers.onnx.node import Node

Entries = np.ndarray[Any, np.dtype[np.object_]]

_LONGEST: Final = 64
"""Entries of a vector that is followed: no tensor has more axes."""


_CASTS: Final = {6: "int32", 7: "int64"}
"""Dtypes of extents, by their numbers in `TensorProto.DataType`."""


class Extents:
    """Extents of tensors, and vectors and scalars made of them."""

    def __init__(self) -> None:
        self._entries: dict[Any, Entries] = {}
        self._named: dict[str, Any] = {}

    def extent(self, x: Any, axis: int) -> Any:
        """An extent of x: a number, or a scalar variable shared by all tensors with a dim of that name."""
        if axis >= x.type.ndim:
            raise GraphValueError(f"its operand has rank {x.type.ndim}, and a rank of at least {axis + 1} is expected")
        dim = x.type.shape[axis]
        if isinstance(dim, int):
            return dim
        if dim is None:
            return x.shape[axis]
        return self._named.setdefault(dim, x.shape[axis])

    def entries(self, x: Any) -> Entries | None:
        """The integers of a tensor if they are few and are constants or computed from extents; else None."""
        if x in self._entries:
            return self._entries[x]
        if isinstance(x, at.Constant) and x.data.size <= _LONGEST and x.data.dtype.kind in "iub":
            return objects([int(i) for i in np.ravel(x.data)], x.data.shape)
        return None

    def tensor(self, entries: Entries, dtype: str = "int64") -> Any:
        """Create the tensor of such entries, and track it."""
        flat = list(entries.ravel())
        if all(isinstance(i, int) for i in flat):
            return at.constant(np.array(flat, dtype).reshape(entries.shape))
        scalars = [at.cast(at.as_tensor(i), dtype) for i in flat]
        x = scalars[0] if entries.ndim == 0 else at.reshape(at.stack(scalars), entries.shape)
        self._entries[x] = entries
        return x

    def follow(self, node: Node) -> Any | None:
        """The result of a node that rearranges or combines tracked extents; None for any other node."""
        rule = _RULES.get(node.op)
        if rule is None or node.domain or not any(x is not None and x in self._entries for x in node.inputs):
            return None
        first = next(x for x in node.inputs if x is not None and x in self._entries)
        dtype = _CASTS.get(node["to"]) if node.op == "Cast" else str(first.type.dtype)
        if dtype is None:
            return None
        known = [None if x is None else self.entries(x) for x in node.inputs]
        if any(x is not None and entries is None for x, entries in zip(node.inputs, known, strict=True)):
            return None
        found = rule(node, *known)
        if found is None or found.size > _LONGEST:
            return None
        return self.tensor(found, dtype)


def objects(flat: list[Any], shape: tuple[int, ...]) -> Entries:
    """An object array of this shape; elements that are sequences are stored as they are."""
    found = np.empty(len(flat), object)
    for position, item in enumerate(flat):
        found[position] = item
    return found.reshape(shape)


def _add(x: Any, y: Any) -> Any:
    return y if _is(x, 0) else x if _is(y, 0) else x + y


def _sub(x: Any, y: Any) -> Any:
    return x if _is(y, 0) else x - y


def _mul(x: Any, y: Any) -> Any:
    if _is(x, 0) or _is(y, 0):
        return 0
    return y if _is(x, 1) else x if _is(y, 1) else x * y


def _is(x: Any, number: int) -> bool:
    return isinstance(x, int) and x == number


def _pairwise(combine: Callable[[Any, Any], Any]) -> Callable[..., Entries | None]:
    def rule(node: Node, x: Entries, y: Entries) -> Entries | None:
        a, b = np.broadcast_arrays(x, y)
        return objects([combine(i, j) for i, j in zip(a.ravel(), b.ravel(), strict=True)], a.shape)

    return rule


def _gather(node: Node, x: Entries, positions: Entries) -> Entries | None:
    index = [i for i in positions.ravel() if isinstance(i, int) and x.ndim == 1 and -len(x) <= i < len(x)]
    return objects([x[i] for i in index], positions.shape) if len(index) == positions.size else None


def _slice(node: Node, x: Entries, *_: Entries | None) -> Entries | None:
    bounds = [node.inputs[i] if i < len(node.inputs) else None for i in (1, 2, 4)]
    if x.ndim != 1 or not all(b is None or isinstance(b, at.Constant) for b in bounds):
        return None
    start, stop, step = (None if b is None else int(np.ravel(b.data)[0]) for b in bounds)
    return x[slice(start, stop, step)]


def _concat(node: Node, *parts: Entries) -> Entries | None:
    return np.concatenate(parts) if all(x.ndim == 1 for x in parts) else None


def _flat(node: Node, x: Entries, *_: Entries | None) -> Entries | None:
    """The result of Unsqueeze of a scalar, Squeeze of one entry, or Reshape to one of these."""
    if x.size != 1:
        return None
    if node.op == "Unsqueeze":
        return x.reshape((1,) * (x.ndim + len(node.axes() or ())))
    if node.op == "Squeeze":
        axes = node.axes()
        return x.reshape((1,) * (0 if axes is None else x.ndim - len(axes)))
    return x.reshape((1,) * len(node.ints(1) or ()))


def _product(node: Node, x: Entries, *_: Entries | None) -> Entries | None:
    if x.ndim != 1:
        return None
    total: Any = 1
    for item in x:
        total = _mul(total, item)
    return objects([total], (1,) if node["keepdims"] else ())


def _same(node: Node, x: Entries) -> Entries | None:
    return x


_RULES: Final[Mapping[str, Callable[..., Entries | None]]] = {
    "Add": _pairwise(_add),
    "Cast": _same,
    "Concat": _concat,
    "Gather": _gather,
    "Identity": _same,
    "Mul": _pairwise(_mul),
    "ReduceProd": _product,
    "Reshape": _flat,
    "Slice": _slice,
    "Squeeze": _flat,
    "Sub": _pairwise(_sub),
    "Unsqueeze": _flat,
}
