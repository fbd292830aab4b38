"""Convolutions and pools: windows that move over the axes behind batch and channel."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import aotensor.tensor as at
from aotensor.errors import GraphValueError
from aotensor.importers.onnx.node import Node, Unsuited
from aotensor.importers.onnx.rules.elementwise import scalar
from aotensor.importers.onnx.rules.table import rule

CONVOLUTIONS = {1: at.conv1d, 2: at.conv2d, 3: at.conv3d}
_MAXIMA = {1: at.max_pool1d, 2: at.max_pool2d, 3: at.max_pool3d}
_MEANS = {1: at.avg_pool1d, 2: at.avg_pool2d, 3: at.avg_pool3d}


def _pads(node: Node, x: Any, windows: Sequence[int], strides: Sequence[int]) -> list[tuple[int, int]]:
    """What is added before and behind each axis.   windows: with dilation.   Raises: Unsuited"""
    rank, kind = len(windows), node["auto_pad"] or "NOTSET"
    if kind == "VALID":
        return [(0, 0)] * rank
    if kind == "NOTSET":
        pads = numbers(node, "pads", 2 * rank, 0)
        return list(zip(pads[:rank], pads[rank:], strict=True))
    found = []
    for k, (window, stride) in enumerate(zip(windows, strides, strict=True)):
        n = node.extent(x, k + 2)
        if not isinstance(n, int) and stride != 1:
            raise Unsuited(f"{kind} with a stride, of an extent that is known at run time only")
        total = window - 1 if not isinstance(n, int) else max((-(-n // stride) - 1) * stride + window - n, 0)
        less = total // 2
        found.append((less, total - less) if kind == "SAME_UPPER" else (total - less, less))
    return found


def numbers(node: Node, name: str, count: int, least: int) -> list[int]:
    """Of an attribute, `least` for each where it is left out.   Raises: GraphValueError for too many, few or small"""
    found = [int(n) for n in node[name] or [least] * count]
    if len(found) != count or any(n < least for n in found):
        raise GraphValueError(f"attribute {name} is {found}, not {count} numbers from {least} on")
    return found


def rank_of(node: Node, x: Any, known: Collection[int]) -> int:
    """The number of axes that windows move over.   Raises: Unsuited for more than three, or none"""
    rank = int(x.type.ndim) - 2
    if rank not in known:
        raise Unsuited(f"{node.op} over {rank} axes")
    return rank


@rule("Conv")
def convolution(node: Node, x: Any, w: Any, bias: Any = None) -> Any:
    """Over one to three axes, with strides, dilations, groups and pads"""
    rank = rank_of(node, x, CONVOLUTIONS)
    strides, dilations = (numbers(node, name, rank, 1) for name in ("strides", "dilations"))
    kernel = [node.extent(w, k + 2) for k in range(rank)]
    if not all(isinstance(n, int) for n in kernel):
        raise Unsuited("filters whose extents are known at run time only")
    windows = [(n - 1) * d + 1 for n, d in zip(kernel, dilations, strict=True)]
    y = CONVOLUTIONS[rank](
        x,
        w,
        stride=strides,
        padding=_pads(node, x, windows, strides),
        dilation=dilations,
        groups=int(node["group"] or 1),
    )
    return y if bias is None else y + at.reshape(bias, [-1, *[1] * rank])


def _pooled(node: Node, x: Any) -> tuple[int, list[int], list[int], list[tuple[int, int]]]:
    """Rank, windows, strides and pads.   Raises: Unsuited"""
    rank = rank_of(node, x, _MAXIMA)
    windows = numbers(node, "kernel_shape", rank, 1)
    if node["ceil_mode"] or any(d != 1 for d in numbers(node, "dilations", rank, 1)):
        raise Unsuited("ceil_mode and dilations")
    strides = numbers(node, "strides", rank, 1)
    return rank, windows, strides, _pads(node, x, windows, strides)


def _padded(x: Any, pads: Sequence[tuple[int, int]], value: float) -> Any:
    return at.pad(x, [(0, 0), (0, 0), *pads], mode="constant", constant_values=scalar(value, x))


@rule("MaxPool")
def max_pool(node: Node, x: Any) -> Any:
    """Without ceil_mode, dilations and the output Indices"""
    if node.wants(1):
        raise Unsuited("its output Indices")
    if "float" not in str(x.type.dtype):
        raise Unsuited(f"windows of {x.type.dtype}")
    rank, windows, strides, pads = _pooled(node, x)
    even = all(a == b and 2 * a <= n for (a, b), n in zip(pads, windows, strict=True))
    if not even:
        x = _padded(x, pads, float("-inf"))
    return _MAXIMA[rank](x, windows, strides, [a for a, _ in pads] if even else 0)


@rule("AveragePool")
def average_pool(node: Node, x: Any) -> Any:
    """Without ceil_mode and dilations"""
    rank, windows, strides, pads = _pooled(node, x)
    with_pads = bool(node["count_include_pad"])
    if all(a == b and 2 * a <= n for (a, b), n in zip(pads, windows, strict=True)):
        return _MEANS[rank](x, windows, strides, [a for a, _ in pads], with_pads)
    means = _MEANS[rank](_padded(x, pads, 0), windows, strides)
    return means if with_pads else means / _MEANS[rank](_padded(at.ones_like(x), pads, 0), windows, strides)


@rule("GlobalAveragePool")
def global_average_pool(node: Node, x: Any) -> Any:
    """The mean over all axes behind the channel"""
    return at.mean(x, axis=tuple(range(2, x.type.ndim)), keepdims=True)


@rule("GlobalMaxPool")
def global_max_pool(node: Node, x: Any) -> Any:
    """The largest over all axes behind the channel"""
    return at.max(x, axis=tuple(range(2, x.type.ndim)), keepdims=True)
