"""Rules of subtensors (read, set, increment) and of index computations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import aotensor.tensor as at
from aotensor.importers.base import Unsuited
from aotensor.importers.pytensor.rules import Walk, rows, rule
from aotensor.importers.pytensor.values import number_of

rows({
    **dict.fromkeys(("Subtensor", "AdvancedSubtensor"), lambda op, x, *parts: x[_index(op, parts)]),
    **dict.fromkeys(
        ("IncSubtensor", "AdvancedIncSubtensor"), lambda op, x, y, *parts: _changed(op, x, _index(op, parts), y)
    ),
    "AdvancedSubtensor1": lambda op, x, places: x[places],
    "AdvancedIncSubtensor1": lambda op, x, y, places: _changed(op, x, (places,), y),
    "MakeSlice": lambda op, *bounds: slice(*map(_bound, bounds)),
    "MakeList": lambda op, *items: [items],
    "Choose": lambda op, a, choices: at.choose(a, choices, op.mode),
    "SearchsortedOp": lambda op, a, v, *sorter: at.searchsorted(a, v, op.side, *sorter),
})  # fmt: skip


@rule("UnravelIndex")
def unravel_index(walk: Walk, node: Any, indices: Any, dims: Any) -> Any:
    """Positions per axis for positions in the flattened tensor."""
    return at.unravel_index(indices, walk.extents(node.inputs[1], len(node.outputs)), node.op.order)


@rule("RavelMultiIndex")
def ravel_multi_index(walk: Walk, node: Any, *inputs: Any) -> Any:
    """Positions in the flattened tensor for positions per axis."""
    *positions, _ = inputs
    return at.ravel_multi_index(positions, walk.extents(node.inputs[-1], len(positions)), node.op.mode, node.op.order)


@rule("PermuteRowElements")
def permute_row_elements(walk: Walk, node: Any, x: Any, y: Any, inverse: Any = None) -> Any:
    """By a permutation or its inverse; the flag is an input in some versions, an attribute in others."""
    flag = node.op.inverse if inverse is None else getattr(inverse, "data", None)
    if flag is None:
        raise Unsuited("its argument `inverse` is not a constant")
    return at.permute_row_elements(x, y, bool(flag))


def _changed(op: Any, x: Any, index: tuple[Any, ...], y: Any) -> Any:
    y = at.cast(y, x.dtype)
    if x.ndim == 1 and x.owner is not None and x[index].owner is None:
        # of the extents of a tensor that are known, an element is a number and no window of what it is taken from
        x = at.stack([x[k] for k in range(x.static_shape[0])])
    if all(isinstance(entry, slice) and entry == slice(None) for entry in index):
        return at.fill(x, y) if op.set_instead_of_inc else x + y
    if op.set_instead_of_inc:
        return at.set_subtensor(x[index], y)
    return at.inc_subtensor(x[index], y, ignore_duplicates=bool(getattr(op, "ignore_duplicates", False)))


def _index(op: Any, parts: Sequence[Any]) -> tuple[Any, ...]:
    """The entries of an index. Of the op's list, integers are positions of inputs since PyTensor 3; before, types stood
    for inputs in order, and ops without list had the entries as inputs."""
    listed = getattr(op, "idx_list", None)
    if listed is None:
        return tuple(_bound(x) for x in parts)
    is_positional = any(kind.__name__ == "BaseSubtensor" for kind in type(op).__mro__)
    pending: Iterator[Any] = iter(parts)

    def part(entry: Any) -> Any:
        match entry:
            case None:
                return None
            case slice():
                return slice(part(entry.start), part(entry.stop), part(entry.step))
            case int():
                return _bound(parts[entry]) if is_positional else entry
            case _:
                return _bound(next(pending))

    return tuple(part(entry) for entry in listed)


def _bound(x: Any) -> Any:
    """Convert a constant integer to a number, so that the index is static."""
    return x if getattr(x, "dtype", "") == "bool" else number_of(x)
