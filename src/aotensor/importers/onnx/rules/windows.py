"""Convolutions over the axes after batch and channel, and the parameters of windows."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import aotensor.tensor as at
from aotensor.errors import GraphValueError
from aotensor.importers.base import Unsuited
from aotensor.importers.onnx.node import Node
from aotensor.importers.onnx.rules.table import rule

CONVOLUTIONS = {1: at.conv1d, 2: at.conv2d, 3: at.conv3d}


def pads_of(node: Node, x: Any, windows: Sequence[int], strides: Sequence[int]) -> list[tuple[int, int]]:
    """The padding before and after each axis.   windows: with dilation.   Raises: Unsuited"""
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
            raise Unsuited(f"its auto_pad {kind} with a stride needs extents that are known when the model is read")
        total = window - 1 if not isinstance(n, int) else max((-(-n // stride) - 1) * stride + window - n, 0)
        less = total // 2
        found.append((less, total - less) if kind == "SAME_UPPER" else (total - less, less))
    return found


def numbers(node: Node, name: str, count: int, least: int) -> list[int]:
    """The numbers of an attribute, one per axis; `least` if it is left out.

    Raises: GraphValueError for a wrong count or smaller numbers
    """
    found = [int(n) for n in node[name] or [least] * count]
    if len(found) != count or any(n < least for n in found):
        raise GraphValueError(f"its attribute {name} is {found}, not {count} numbers of at least {least}")
    return found


def rank_of(node: Node, x: Any, known: Collection[int]) -> int:
    """The number of spatial axes.   Raises: Unsuited for more than three, or none"""
    rank = int(x.type.ndim) - 2
    if rank not in known:
        raise Unsuited(f"its windows have {rank} axes, and {', '.join(map(str, sorted(known)))} are supported")
    return rank


@rule("Conv")
def convolution(node: Node, x: Any, w: Any, bias: Any = None) -> Any:
    """Convolve over one to three axes, with strides, dilations, groups and padding"""
    rank = rank_of(node, x, CONVOLUTIONS)
    strides, dilations = (numbers(node, name, rank, 1) for name in ("strides", "dilations"))
    kernel = [node.extent(w, k + 2) for k in range(rank)]
    if not all(isinstance(n, int) for n in kernel):
        raise Unsuited("the extents of its filters must be known when the model is read")
    windows = [(n - 1) * d + 1 for n, d in zip(kernel, dilations, strict=True)]
    y = CONVOLUTIONS[rank](
        x,
        w,
        stride=strides,
        padding=pads_of(node, x, windows, strides),
        dilation=dilations,
        groups=int(node["group"] or 1),
    )
    return y if bias is None else y + at.reshape(bias, [-1, *[1] * rank])
