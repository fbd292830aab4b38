"""Convolutions with any order of axes, padding, strides, dilations of both operands, and groups."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

import aotensor.tensor as at
from aotensor.importers.lax.shapes import bordered, extent, padded
from aotensor.importers.lax.table import Context, Equation, rule

_BY_RANK: Final[Mapping[int, Callable[..., at.Variable]]] = {1: at.conv1d, 2: at.conv2d, 3: at.conv3d}


def _has_no_kernel(equation: Equation) -> str:
    params, rank = equation.params, len(equation.invars[0].aval.shape) - 2
    if rank > 3:
        return f"it has {rank} spatial axes, and at most 3 are supported"
    if not _is_known(params["padding"]) and any(int(step) != 1 for step in params["lhs_dilation"]):
        return "it dilates its input, which needs padding widths that are constants"
    is_known = all(isinstance(n, int) for n in equation.invars[1].aval.shape)
    return "" if is_known else "the extents of its filters are not constants"


def _is_known(padding: Sequence[Sequence[Any]]) -> bool:
    return all(isinstance(n, int | np.integer) for pair in padding for n in pair)


@rule("conv_general_dilated", check=_has_no_kernel, note="over up to three axes; `precision` changes nothing")
def _convolution(context: Context, equation: Equation, x: at.Variable, w: at.Variable) -> at.Variable:
    """Convolve by `conv1d` to `conv3d` after inserting zeros for dilation and padding; negative padding crops x."""
    params, shape = equation.params, equation.outvars[0].aval.shape
    if any(n == 0 for n in shape) and all(isinstance(n, int) for n in shape):
        return at.zeros(context.extents(shape), dtype=str(equation.outvars[0].aval.dtype))
    of_x, of_w, of_y = params["dimension_numbers"]
    dtype = str(equation.outvars[0].aval.dtype)
    x, w = (at.dimshuffle(at.cast(v, dtype), list(map(int, axes))) for v, axes in ((x, of_x), (w, of_w)))
    x, sides = _within_zeros(context, params, x, at.constant(np.zeros((), dtype)))
    groups, batches = int(params["feature_group_count"]), int(params["batch_group_count"])
    if batches > 1:
        x, groups = _batches_as_channels(x, batches), batches
    y = _convolved(x, w, params, sides, groups)
    return at.dimshuffle(y, [int(d) for d in np.argsort(of_y)])


def _within_zeros(
    context: Context, params: Any, x: at.Variable, zero: at.Variable
) -> tuple[at.Variable, list[tuple[int, int]]]:
    """x after dilation and the padding that `conv1d` to `conv3d` do not support, and the remaining padding."""
    nothing = [(0, 0)] * (x.ndim - 2)
    if not _is_known(params["padding"]):
        widths = [context.extents(pair) for pair in params["padding"]]
        return bordered(x, [(0, 0), (0, 0), *widths], zero), nothing
    sides = [(int(low), int(high)) for low, high in params["padding"]]
    steps = [int(step) - 1 for step in params["lhs_dilation"]]
    if not any(steps) and all(n >= 0 for pair in sides for n in pair):
        return x, sides
    spread = [(low, high, step) for (low, high), step in zip(sides, steps, strict=True)]
    return padded(x, [(0, 0, 0), (0, 0, 0), *spread], zero), nothing


def _convolved(x: at.Variable, w: at.Variable, params: Any, sides: list[tuple[int, int]], groups: int) -> at.Variable:
    rank = x.ndim - 2
    strides, dilations = ([int(n) for n in params[key]] for key in ("window_strides", "rhs_dilation"))
    if rank == 0:  # as one axis of one element
        return at.conv1d(at.expand_dims(x, 2), at.expand_dims(w, 2), groups=groups)[:, :, 0]
    return _BY_RANK[rank](x, w, stride=strides, padding=sides, dilation=dilations, groups=groups)


def _batches_as_channels(x: at.Variable, count: int) -> at.Variable:
    """(count·N, C, …) → (N, count·C, …): each group of the batch has its own filters."""
    total, channels, *spatial = (extent(x, d) for d in range(x.ndim))
    apart = at.reshape(x, [count, total // count, channels, *spatial])
    return at.reshape(at.moveaxis(apart, 0, 1), [total // count, count * channels, *spatial])
