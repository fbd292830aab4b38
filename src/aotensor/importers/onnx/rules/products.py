"""Products of matrices and tensors, determinants and Fourier transforms."""

from __future__ import annotations

from typing import Any

import aotensor.tensor as at
from aotensor.importers.onnx.node import Node
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
    """Sums of products by an Einstein equation"""
    return at.einsum(node["equation"].replace(" ", ""), *inputs)
