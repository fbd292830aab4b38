"""Lower `aot.pattern`: each kind is a kernel of `aotensor.kernels`, and rows of products run on several cores."""

from __future__ import annotations

import ast
from typing import Any

from aotensor.ir.dialect_sparse import PatternOp
from aotensor.ir.loop_builder import LoopBuilder
from aotensor.kernels.patterns import KERNELS, Pattern
from aotensor.kernels.source import Kernel, source_of
from aotensor.passes.emit.buffers import Buffers
from aotensor.passes.emit.patterns.index_vectors import pattern_of
from aotensor.passes.emit.patterns.lower_block_product import lower_block_product, lower_transposed_product
from aotensor.passes.emit.patterns.lower_products import (
    lower_product_count,
    lower_product_rows,
    lower_product_values,
    lower_sorted_product,
)
from aotensor.passes.emit.shape_cache import is_wanted
from aotensor.passes.kernels.translate import inline_kernel
from aotensor.passes.target import Target


def lower_pattern(b: LoopBuilder, buffers: Buffers, op: PatternOp, target: Target) -> None:
    """Lower one `aot.pattern` operation by its kind."""
    match op.kind.data:
        case kind if kind in KERNELS:
            _lower_by_kernel(b, buffers, op, KERNELS[kind])
        case "product":
            lower_sorted_product(b, buffers, op, target)
        case "product_count":
            lower_product_count(b, buffers, op, target)
        case "product_rows":
            lower_product_rows(b, buffers, op, target)
        case "block_product":
            lower_block_product(b, buffers, op, target)
        case "block_product_turned":
            lower_transposed_product(b, buffers, op, target)
        case _:
            lower_product_values(b, buffers, op, target)


def _lower_by_kernel(b: LoopBuilder, buffers: Buffers, op: PatternOp, kernel: Kernel) -> None:
    """Inline a kernel of the patterns that an operation begins with, its other operands, its extents and its results.

    A result that nobody uses is None, unless the kernel reads it.
    """
    source = source_of(kernel)
    count = sum(kind == Pattern.__name__ for _, kind in source.arguments)
    patterns = [pattern_of(b, buffers, op, 2 * k) for k in range(count)]
    others: list[Any] = [*map(buffers.buffer, op.arguments[2 * count :]), *map(buffers.scalar, op.extents)]
    names = [name for name, _ in source.arguments[-len(op.tensors) :]]
    results = [
        buffers.buffer(x) if is_wanted(x) or _is_read(source.tree, name) else None
        for x, name in zip(op.tensors, names, strict=True)
    ]
    inline_kernel(b, kernel, *patterns, *others, *results)


def _is_read(tree: ast.FunctionDef, name: str) -> bool:
    """Does a kernel use an array otherwise than by assignments to its elements?"""
    stored = [x for node in ast.walk(tree) if isinstance(node, ast.Assign) for x in node.targets]
    assigned = {x.value for x in stored if isinstance(x, ast.Subscript)}
    return any(isinstance(x, ast.Name) and x.id == name and x not in assigned for x in ast.walk(tree))
