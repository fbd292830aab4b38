"""Transposed convolution and Resize: interpolation between elements, axis by axis.

Source: https://onnx.ai/onnx/operators/onnx__Resize.html and onnx__ConvTranspose.html
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor
from typing import Any, Final

import numpy as np

import aotensor.tensor as at
from aotensor.errors import GraphValueError
from aotensor.importers.base import Unsuited
from aotensor.importers.lax.shapes import padded
from aotensor.importers.onnx.node import Node
from aotensor.importers.onnx.rules.elementwise import is_float, scalar
from aotensor.importers.onnx.rules.table import rule
from aotensor.importers.onnx.rules.windows import CONVOLUTIONS, numbers, rank_of

_LARGEST: Final = 1 << 20
"""Elements along an axis that is resized."""


@rule("ConvTranspose")
def transposed_convolution(node: Node, x: Any, w: Any, bias: Any = None) -> Any:
    """Transposed convolution over one to three axes, the adjoint of Conv: insert zeros between elements, convolve with
    flipped filters
    """
    rank = rank_of(node, x, CONVOLUTIONS)
    strides, dilations = (numbers(node, name, rank, 1) for name in ("strides", "dilations"))
    further, groups = numbers(node, "output_padding", rank, 0), int(node["group"] or 1)
    channels, outputs, *kernel = (node.extent(w, d) for d in range(rank + 2))
    if not all(isinstance(n, int) for n in (channels, outputs, *kernel)):
        raise Unsuited("the extents of its filters must be known when the model is read")
    if groups < 1 or channels % groups:
        raise GraphValueError(f"its {channels} channels cannot be divided into {groups} groups")
    reach = [(n - 1) * d for n, d in zip(kernel, dilations, strict=True)]
    pads = _transposed_pads(node, x, strides, further, reach)
    widths = [
        (r - low, r - high + more, step - 1)
        for r, (low, high), more, step in zip(reach, pads, further, strides, strict=True)
    ]
    wide = padded(x, [(0, 0, 0), (0, 0, 0), *widths], scalar(0, x))
    apart = at.reshape(w, [groups, channels // groups, outputs, *kernel])
    turned = at.flip(at.moveaxis(apart, 1, 2), tuple(range(3, rank + 3)))
    filters = at.reshape(turned, [groups * outputs, channels // groups, *kernel])
    y = CONVOLUTIONS[rank](wide, filters, dilation=dilations, groups=groups)
    return y if bias is None else y + at.reshape(bias, [-1, *[1] * rank])


def _transposed_pads(
    node: Node, x: Any, strides: Sequence[int], further: Sequence[int], reach: Sequence[int]
) -> list[tuple[int, int]]:
    """The widths cropped before and after each axis.   Raises: Unsuited"""
    rank, kind, wanted = len(strides), node["auto_pad"] or "NOTSET", node["output_shape"]
    if wanted is None and kind in ("NOTSET", "VALID"):
        pads = numbers(node, "pads", 2 * rank, 0) if kind == "NOTSET" else [0] * 2 * rank
        return list(zip(pads[:rank], pads[rank:], strict=True))
    found = []
    for k, (stride, more, r) in enumerate(zip(strides, further, reach, strict=True)):
        n = node.extent(x, k + 2)
        if wanted is not None and not isinstance(n, int):
            raise Unsuited("its output_shape needs extents of the operand that are known when the model is read")
        size = None if wanted is None else int(wanted[len(wanted) - rank + k])
        total = r + 1 - stride + more if size is None else stride * (n - 1) + more + r + 1 - size
        less = total // 2  # below 0 something is put there
        both = (less, total - less)
        found.append(both if kind == "SAME_UPPER" else both[::-1])
    return found


@rule("Resize")
def resize(node: Node, x: Any, roi: Any = None, scales: Any = None, sizes: Any = None) -> Any:
    """Nearest, linear and cubic interpolation, in all coordinate modes; sizes or scales must be static, `antialias` is
    refused
    """
    mode = node["mode"] or "nearest"
    if node["antialias"]:
        raise Unsuited("its antialias is set, which is not supported")
    if mode not in ("nearest", "linear", "cubic"):
        raise Unsuited(f"its mode is {mode!r}, not nearest, linear or cubic")
    if mode != "nearest" and not is_float(x):
        raise Unsuited(f"its mode is {mode}, which is not supported for {x.type.dtype}")
    axes = [node.checked_axis(int(a), x.type.ndim) for a in node["axes"] or range(x.type.ndim)]
    old = [node.extent(x, axis) for axis in axes]
    window = node.static(1) if node["coordinate_transformation_mode"] == "tf_crop_and_resize" else None
    if window is not None and window.size != 2 * len(axes):
        raise GraphValueError(f"its roi has {window.size} numbers for {len(axes)} axes")
    factors, new = _factors(node, old)
    outside = []
    for k, (axis, n, factor, count) in enumerate(zip(axes, old, factors, new, strict=True)):
        if factor == 1 and n == count and window is None:
            continue
        if not isinstance(n, int):
            x = _repeated(node, x, axis, factor, mode)
            continue
        ends = None if window is None else (float(window[k]), float(window[k + len(axes)]))
        places = _places(node, n, count, factor, ends)
        if ends is not None:
            outside.append((axis, (places < 0) | (places > n - 1)))
        x = _nearest(node, x, axis, places) if mode == "nearest" else _between(node, x, axis, places, mode == "cubic")
    return _extrapolated(node, x, outside)


def _repeated(node: Node, x: Any, axis: int, factor: float, mode: str) -> Any:
    """Repeat each element by an integer scale, along an axis of dynamic extent.   Raises: Unsuited"""
    count = int(factor)
    if mode != "nearest" or count != factor or not _repeats(node, count):
        raise Unsuited(
            "the extents that it resizes must be known when the model is read, unless it repeats each element"
        )
    return at.repeat(x, count, axis=axis)


def _repeats(node: Node, count: int) -> bool:
    """Does Resize repeat each element `count` times? It does for all extents if it does for two, as positions are
    linear in them.
    """
    return all(
        _chosen(node, _places(node, n, count * n, float(count), None), n - 1) == [k // count for k in range(count * n)]
        for n in (5, 6)
    )


def _factors(node: Node, old: Sequence[Any]) -> tuple[list[float], list[Any]]:
    """Scales and new extents; an unknown extent that does not change stays as it is.

    Raises: Unsuited, GraphValueError
    """
    known = [n for n in old if isinstance(n, int)]
    if not all(0 < n <= _LARGEST for n in known):
        raise Unsuited(f"its operand has extents {known}, and extents from 1 to {_LARGEST} are supported")
    sizes = node.ints(3)
    if sizes and len(known) < len(old):
        raise Unsuited("its input sizes needs extents of the operand that are known when the model is read")
    scales = node.static(2) if not sizes else None
    given = sizes if sizes else [] if scales is None else scales.ravel().tolist()
    if len(given) != len(old):
        raise GraphValueError(f"it has {len(given)} sizes or scales for {len(old)} axes")
    if sizes:
        factors = [size / n for size, n in zip(sizes, old, strict=True)]
        policy = node["keep_aspect_ratio_policy"] or "stretch"
        if policy != "stretch":
            one = min(factors) if policy == "not_larger" else max(factors)
            factors, sizes = [one] * len(old), [floor(one * n + 0.5) for n in old]
        new: list[Any] = sizes
    else:
        factors = [float(factor) for factor in given]
        new = [_scaled(n, factor) for n, factor in zip(old, factors, strict=True)]
    if not all(0 < n <= _LARGEST for n in new if isinstance(n, int)) or not all(
        0 < factor < np.inf for factor in factors
    ):
        raise GraphValueError(f"its scales or sizes give the extents {new}, which are not from 1 to {_LARGEST}")
    return factors, new


def _scaled(n: Any, factor: float) -> Any:
    if not isinstance(n, int):
        return n
    return floor(factor * n) if np.isfinite(factor) else 0


def _places(node: Node, n: int, count: int, factor: float, ends: tuple[float, float] | None) -> Any:
    """The position of each new element in coordinates of the old ones.   Raises: Unsuited"""
    i, wide = np.arange(count, dtype="float64"), factor * n
    kind = node["coordinate_transformation_mode"] or "half_pixel"
    if kind == "half_pixel":
        return (i + 0.5) / factor - 0.5
    if kind == "half_pixel_symmetric":
        return n / 2 * (1 - count / wide) + (i + 0.5) / factor - 0.5
    if kind == "pytorch_half_pixel":
        return (i + 0.5) / factor - 0.5 if count > 1 else np.zeros(count)
    if kind == "align_corners":
        return i * (n - 1) / (wide - 1) if wide != 1 else np.zeros(count)
    if kind == "asymmetric":
        return i / factor
    if kind == "tf_crop_and_resize" and ends is not None:
        start, end = ends
        if count == 1:
            return np.full(1, 0.5 * (start + end) * (n - 1))
        return start * (n - 1) + i * (end - start) * (n - 1) / (wide - 1)
    raise Unsuited(f"its coordinate_transformation_mode is {kind!r}, which is not supported")


def _nearest(node: Node, x: Any, axis: int, places: Any) -> Any:
    index = _chosen(node, places, x.type.shape[axis] - 1)
    return at.take(x, at.constant(np.array(index, "int64")), axis=axis)


def _chosen(node: Node, places: Any, last: int) -> list[int]:
    """The nearest elements, from 0 to `last`.   Raises: Unsuited"""
    kind = node["nearest_mode"] or "round_prefer_floor"
    rounded = {
        "round_prefer_floor": lambda p: ceil(p - 0.5), "round_prefer_ceil": lambda p: floor(p + 0.5), "floor": floor,
        "ceil": ceil,
    }.get(kind)  # fmt: skip
    if rounded is None:
        raise Unsuited(f"its nearest_mode is {kind!r}, which is not supported")
    return [min(max(int(rounded(float(p))), 0), last) for p in places]


def _between(node: Node, x: Any, axis: int, places: Any, is_cubic: bool) -> Any:
    """Interpolate between two or four neighbours: a product with a matrix.   places: (m,)"""
    n = x.type.shape[axis]
    first = np.floor(places).astype("int64")
    taps = np.arange(-1, 3) if is_cubic else np.arange(2)
    gaps = np.abs(places[:, None] - (first[:, None] + taps))
    weights = (
        _cubic(gaps, float(node["cubic_coeff_a"] if node["cubic_coeff_a"] is not None else -0.75))
        if is_cubic
        else 1 - gaps
    )
    where = first[:, None] + taps
    if node["exclude_outside"]:
        weights = np.where((where >= 0) & (where < n), weights, 0)
        weights = weights / weights.sum(axis=1, keepdims=True)
    matrix = np.zeros((len(places), n))
    np.add.at(matrix, (np.arange(len(places))[:, None], np.clip(where, 0, n - 1)), weights)
    found = at.matmul(at.moveaxis(x, axis, -1), at.constant(matrix.T.astype(str(x.type.dtype))))
    return at.moveaxis(found, -1, axis)


def _cubic(t: Any, a: float) -> Any:
    """Keys' cubic convolution kernel, 0 for |t| ≥ 2."""
    near = ((a + 2) * t - (a + 3)) * t * t + 1
    far = ((a * t - 5 * a) * t + 8 * a) * t - 4 * a
    return np.where(t <= 1, near, np.where(t < 2, far, 0))


def _extrapolated(node: Node, x: Any, outside: Sequence[tuple[int, Any]]) -> Any:
    """x with the extrapolation value at positions outside of the tensor."""
    value = scalar(float(node["extrapolation_value"] or 0), x)
    for axis, where in outside:
        if where.any():
            shape = [len(where) if d == axis else 1 for d in range(x.type.ndim)]
            x = at.switch(at.constant(where.reshape(shape)), value, x)
    return x
