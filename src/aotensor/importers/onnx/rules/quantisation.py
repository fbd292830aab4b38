"""Quantised tensors: quantise and dequantise, and products of 8-bit integers in int32, optionally requantised."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import aotensor.tensor as at
from aotensor.extension import max_or_limit, min_or_limit
from aotensor.importers.base import Unsuited
from aotensor.importers.onnx.node import Node
from aotensor.importers.onnx.rules.elementwise import scalar
from aotensor.importers.onnx.rules.table import rule
from aotensor.importers.onnx.rules.windows import convolution


@rule("MatMulInteger")
def matmul_integer(node: Node, a: Any, b: Any, a_zero: Any = None, b_zero: Any = None) -> Any:
    """The product of 8-bit matrices minus their zero points, in int32"""
    return _multiplied(a, a_zero, b, b_zero)


@rule("QLinearMatMul")
def qlinear_matmul(
    node: Node, a: Any, a_scale: Any, a_zero: Any, b: Any, b_scale: Any, b_zero: Any, y_scale: Any, y_zero: Any
) -> Any:
    """The product of quantised matrices, requantised; scales per row of a and per column of b"""
    product = _multiplied(a, a_zero, b, b_zero)
    rows = at.expand_dims(a_scale, -1) if a_scale.type.ndim == 1 else a_scale
    columns = at.expand_dims(b_scale, -2) if b_scale.type.ndim == 2 else b_scale
    return _scaled(product, rows * columns / y_scale, y_zero)


@rule("ConvInteger")
def convolution_integer(node: Node, x: Any, w: Any, x_zero: Any = None, w_zero: Any = None) -> Any:
    """The convolution of 8-bit tensors minus their zero points, in int32"""
    return _convolved(node, x, w, x_zero, w_zero)


@rule("QLinearConv")
def qlinear_conv(
    node: Node, x: Any, x_scale: Any, x_zero: Any, w: Any, w_scale: Any, w_zero: Any, y_scale: Any, y_zero: Any,
    bias: Any = None,
) -> Any:  # fmt: skip
    """The convolution of quantised tensors, requantised; scales and zero points of w per output channel"""
    found = _convolved(node, x, w, x_zero, w_zero)
    if bias is not None:
        found = found + _channels(bias, x.type.ndim - 2)
    return _scaled(found, x_scale * _channels(w_scale, x.type.ndim - 2) / y_scale, y_zero)


@rule("DynamicQuantizeLinear")
def dynamic_quantize(node: Node, x: Any) -> list[Any]:
    """Bytes whose scale and zero point cover the range of x and 0; an empty x is treated as zeros"""
    low, high = at.minimum(min_or_limit(x), scalar(0, x)), at.maximum(max_or_limit(x), scalar(0, x))
    scale = at.switch(at.eq(low, high), scalar(1, x), high - low) / scalar(255, x)
    zero = at.clip(at.round_half_to_even(-low / scale), scalar(0, x), scalar(255, x))
    y = at.clip(at.round_half_to_even(x / scale) + zero, scalar(0, x), scalar(255, x))
    return [at.cast(y, "uint8"), scale, at.cast(zero, "uint8")]


@rule("DequantizeLinear")
def dequantize(node: Node, x: Any, scale: Any, zero: Any = None) -> Any:
    """(x − zero)·scale, with one scale and zero point, or one per index along an axis"""
    _check_blocks(node)
    wide = at.cast(x, "int32")
    if zero is not None:
        wide = wide - at.cast(_along(node, zero, x), "int32")
    return at.cast(wide, scale.type.dtype) * _along(node, scale, x)


@rule("QuantizeLinear")
def quantize(node: Node, x: Any, scale: Any, zero: Any = None) -> Any:
    """x / scale + zero, rounded half to even and clamped to uint8, int8, uint16 or int16"""
    _check_blocks(node)
    dtype = "uint8" if zero is None else zero.type.dtype
    if node["output_dtype"] or dtype not in ("uint8", "int8", "uint16", "int16") or x.type.dtype != scale.type.dtype:
        raise Unsuited(f"it quantizes {x.type.dtype} to {dtype}, which is not supported")
    rounded = at.round_half_to_even(x / _along(node, scale, x))
    return _cut_off(rounded, dtype, None if zero is None else _along(node, zero, x))


def less(x: Any, zero: Any) -> Any:
    """x − zero in int32; a zero point left out is 0."""
    wide = at.cast(x, "int32")
    return wide if zero is None else wide - at.cast(zero, "int32")


def _rows_less(x: Any, zero: Any) -> Any:
    """x − zero in int32, with one zero point per row."""
    return less(x, zero if zero is None or zero.type.ndim != 1 else at.expand_dims(zero, -1))


def exact_dtype(weights: Any, zero: Any, axes: Sequence[int], shape: Sequence[int] | None = None) -> str:
    """The dtype in which sums of products of bytes with weights − zero are exact, in any order.

    float32 if the weights are known when the model is read, and no sum of their absolute values exceeds 2^24 / 255.
    Otherwise float64, which is exact for sums of fewer than 2^37 products of bytes.

    axes: of the weights, along which they are summed. shape: in which zero points broadcast with the weights
    """
    if not isinstance(weights, at.Constant) or not (zero is None or isinstance(zero, at.Constant)):
        return "float64"
    known = np.asarray(weights.data).astype("int32")
    if zero is not None:
        offsets = np.asarray(zero.data).astype("int32")
        known -= offsets if shape is None else offsets.reshape(shape)
    largest = np.abs(known).sum(axis=tuple(axes), dtype="int64").max(initial=0)
    return "float32" if 255 * int(largest) <= 2**24 else "float64"


def as_sums(found: Any) -> Any:
    """Exact sums in int32, which wrap around."""
    return at.cast(found if found.type.dtype == "float32" else at.cast(found, "int64"), "int32")


def _multiplied(a: Any, a_zero: Any, b: Any, b_zero: Any) -> Any:
    """The product of 8-bit matrices minus their zero points, in int32."""
    dtype = exact_dtype(b, b_zero, [max(b.type.ndim - 2, 0)])
    return as_sums(at.matmul(at.cast(_rows_less(a, a_zero), dtype), at.cast(less(b, b_zero), dtype)))


def _convolved(node: Node, x: Any, w: Any, x_zero: Any, w_zero: Any) -> Any:
    """The convolution of 8-bit tensors minus their zero points, in int32."""
    dtype = exact_dtype(w, w_zero, range(1, w.type.ndim), [-1, *[1] * (w.type.ndim - 1)])
    zero = None if w_zero is None else _channels(w_zero, x.type.ndim - 1)
    return as_sums(convolution(node, at.cast(less(x, x_zero), dtype), at.cast(less(w, zero), dtype)))


def _channels(values: Any, behind: int) -> Any:
    """A scalar, or a vector reshaped to be followed by `behind` axes of extent 1."""
    return values if values.type.ndim == 0 else at.reshape(values, [-1, *[1] * behind])


def _scaled(product: Any, factor: Any, zero: Any) -> Any:
    return _cut_off(at.round_half_to_even(at.cast(product, factor.type.dtype) * factor), zero.type.dtype, zero)


def _cut_off(rounded: Any, dtype: str, zero: Any) -> Any:
    """Rounded values plus the zero point, clamped to the range of the dtype."""
    bits = int(dtype.lstrip("uint"))
    low, high = (0, 2**bits - 1) if dtype.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    if zero is not None:
        rounded = rounded + at.cast(zero, rounded.type.dtype)
    return at.cast(at.minimum(at.maximum(rounded, scalar(low, rounded)), scalar(high, rounded)), dtype)


def _check_blocks(node: Node) -> None:
    if node["block_size"]:
        raise Unsuited("it quantizes in blocks (block_size), which is not supported")


def _along(node: Node, values: Any, x: Any) -> Any:
    """A scalar, or a vector reshaped to broadcast along the axis `axis` of x."""
    if values.type.ndim == 0 or (values.type.ndim == 1 and values.type.shape[0] == 1):
        return at.reshape(values, ())
    if values.type.ndim > 1:
        raise Unsuited("its scale is neither a scalar nor a vector")
    return at.reshape(values, [-1, *[1] * (x.type.ndim - 1 - node.axis(x.type.ndim))])
