"""Windows of fixed extents at computed or constant positions: dynamic_slice, dynamic_update_slice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from numpy.typing import NDArray

import aotensor.tensor as at
from aotensor.extension import dtypes
from aotensor.importers.lax.table import Context, Equation, Extent, rule

_DEEPEST: Final = 12
"""Ops between a value and the constants that it is made of."""

_LARGEST: Final = 1 << 16
"""Elements of a value that is worth knowing."""


def known_value(x: at.Variable) -> NDArray[Any] | None:
    """The value of an integer or bool that is computed from constants by a few ops; else None."""
    if dtypes.is_inexact(x.dtype) or not _is_known(x, _DEEPEST):
        return None
    return x.eval()


def _is_known(x: at.Variable, depth: int) -> bool:
    if isinstance(x, at.Constant):
        return x.data.size <= _LARGEST
    if x.owner is None or depth == 0 or any(n is None or n > _LARGEST for n in x.static_shape):
        return False
    return all(_is_known(operand, depth - 1) for operand in x.owner.inputs)


def window(
    x: at.Variable, starts: Sequence[at.Variable | int], wholes: Sequence[Extent], sizes: Sequence[Extent]
) -> tuple[slice, ...]:
    """The index entries of a window, whose start is clamped so that the window lies inside x, as in XLA. wholes: the
    extents of x
    """
    return tuple(_entry(*parts) for parts in zip(starts, wholes, sizes, strict=True))


def _entry(start: at.Variable | int, whole: Extent, size: Extent) -> slice:
    if isinstance(size, int) and isinstance(whole, int) and size == whole:
        return slice(None)
    first = inside(start, whole - size)
    return slice(first, first + size)


def inside(start: at.Variable | int, last: Extent) -> Extent:
    """`start` clamped to 0 … last; a number if both are known."""
    known = start if isinstance(start, int) else known_value(start)
    if known is not None and isinstance(last, int):
        return min(max(int(known), 0), last)
    return at.clip(at.cast(at.as_tensor(start), "int64"), 0, last)


@rule("dynamic_slice", note="a start beyond the ends is moved inside")
def _dynamic_slice(context: Context, equation: Equation, x: at.Variable, *starts: at.Variable) -> at.Variable:
    wholes = context.extents(equation.invars[0].aval.shape)
    sizes = context.extents(equation.params["slice_sizes"])
    return x[window(x, starts[: x.ndim], wholes, sizes)]


@rule("dynamic_update_slice", note="a start beyond the ends is moved inside")
def _dynamic_update(
    context: Context, equation: Equation, x: at.Variable, update: at.Variable, *starts: at.Variable
) -> at.Variable:
    wholes = context.extents(equation.invars[0].aval.shape)
    sizes = context.extents(equation.invars[1].aval.shape)
    return at.set_subtensor(x[window(x, starts, wholes, sizes)], update)
