"""Products of matrices and tensors, determinants and Fourier transforms."""

from __future__ import annotations

from typing import Any

import aotensor.tensor as at
from aotensor.importers.onnx.node import Node, Unsuited
from aotensor.importers.onnx.rules.elementwise import scalar
from aotensor.importers.onnx.rules.table import RULES, row, rule

RULES["", "MatMul"] = row(at.matmul)
RULES["", "Det"] = row(at.det)


@rule("Gemm")
def gemm(node: Node, a: Any, b: Any, c: Any = None) -> Any:
    """alpha·A·B + beta·C, A and B transposed if wanted"""
    product = at.dot(a.T if node["transA"] else a, b.T if node["transB"] else b)
    if node["alpha"] != 1:
        product = product * at.constant(node["alpha"], dtype=a.type.dtype)
    if c is None:
        return product
    return product + (c if node["beta"] == 1 else c * at.constant(node["beta"], dtype=c.type.dtype))


@rule("Einsum")
def einsum(node: Node, *inputs: Any) -> Any:
    """Sums of products as an equation says"""
    return at.einsum(node["equation"].replace(" ", ""), *inputs)


@rule("MatMulInteger")
def matmul_integer(node: Node, a: Any, b: Any, a_zero: Any = None, b_zero: Any = None) -> Any:
    """The product of matrices of bytes less their zero points, in int32"""
    left, right = at.cast(a, "int32"), at.cast(b, "int32")
    if a_zero is not None:
        zero = at.cast(a_zero, "int32")
        left = left - (at.expand_dims(zero, -1) if zero.type.ndim == 1 else zero)
    if b_zero is not None:
        right = right - at.cast(b_zero, "int32")
    return at.matmul(left, right)


@rule("DequantizeLinear")
def dequantize(node: Node, x: Any, scale: Any, zero: Any = None) -> Any:
    """(x − zero)·scale, the latter two of the whole tensor or along an axis"""
    _check_blocks(node)
    wide = at.cast(x, "int32")
    if zero is not None:
        wide = wide - at.cast(_along(node, zero, x), "int32")
    return at.cast(wide, scale.type.dtype) * _along(node, scale, x)


@rule("QuantizeLinear")
def quantize(node: Node, x: Any, scale: Any, zero: Any = None) -> Any:
    """x / scale + zero, rounded half to even and cut off at the ends of uint8, int8, uint16 or int16"""
    _check_blocks(node)
    dtype = "uint8" if zero is None else zero.type.dtype
    if node["output_dtype"] or dtype not in ("uint8", "int8", "uint16", "int16") or x.type.dtype != scale.type.dtype:
        raise Unsuited(f"it quantizes {x.type.dtype} to {dtype}")
    bits = int(dtype.lstrip("uint"))
    low, high = (0, 2**bits - 1) if dtype.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    rounded = at.round_half_to_even(x / _along(node, scale, x))
    if zero is not None:
        rounded = rounded + at.cast(_along(node, zero, x), rounded.type.dtype)
    return at.cast(at.minimum(at.maximum(rounded, scalar(low, rounded)), scalar(high, rounded)), dtype)


def _check_blocks(node: Node) -> None:
    if node["block_size"]:
        raise Unsuited("it quantizes by blocks")


def _along(node: Node, values: Any, x: Any) -> Any:
    """A scalar, or a vector along the axis of x that `axis` names."""
    if values.type.ndim == 0 or (values.type.ndim == 1 and values.type.shape[0] == 1):
        return at.reshape(values, ())
    if values.type.ndim > 1:
        raise Unsuited("its scale is no scalar or vector")
    return at.reshape(values, [-1, *[1] * (x.type.ndim - 1 - node.axis(x.type.ndim))])
