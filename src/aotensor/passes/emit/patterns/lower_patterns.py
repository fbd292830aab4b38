"""Lower `aot.pattern`: each kind is a kernel of `aotensor.kernels`, and rows of products run on several cores."""

from __future__ import annotations

from aotensor.ir.dialect_sparse import PatternOp
from aotensor.ir.loop_builder import LoopBuilder
from aotensor.kernels import pattern_products, patterns
from aotensor.passes.emit.buffers import Buffers
from aotensor.passes.emit.patterns.index_vectors import pattern_of, used_buffers
from aotensor.passes.emit.patterns.lower_block_product import lower_block_product, lower_transposed_product
from aotensor.passes.emit.patterns.lower_products import (
    lower_product_count,
    lower_product_rows,
    lower_product_values,
    lower_sorted_product,
)
from aotensor.passes.kernels.translate import inline_kernel
from aotensor.passes.target import Target


def lower_pattern(b: LoopBuilder, buffers: Buffers, op: PatternOp, target: Target) -> None:
    """Lower one `aot.pattern` operation by its kind."""
    match op.kind.data:
        case "transpose":
            p, minor = pattern_of(b, buffers, op, 0), buffers.scalar(op.extents[0])
            inline_kernel(b, patterns.transpose, p, minor, *(buffers.buffer(x) for x in op.tensors))
        case "positions":
            p, q = (pattern_of(b, buffers, op, k) for k in (0, 2))
            inline_kernel(b, patterns.positions, p, q, buffers.scalar(op.extents[0]), buffers.buffer(op.tensors[0]))
        case "intersection" | "union" as kind:
            kernel = patterns.union if kind == "union" else patterns.intersection
            p, q = (pattern_of(b, buffers, op, k) for k in (0, 2))
            over = (buffers.scalar(n) for n in op.extents)  # none for a union
            inline_kernel(b, kernel, p, q, *over, *used_buffers(buffers, op, always=1))
        case "product_room":
            lengths, room = (buffers.buffer(x) for x in (op.arguments[2], op.tensors[0]))
            p, minor = pattern_of(b, buffers, op, 0), buffers.scalar(op.extents[0])
            inline_kernel(b, pattern_products.bound, p, lengths, minor, room)
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
