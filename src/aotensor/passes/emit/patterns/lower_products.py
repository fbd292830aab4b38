"""Lower the kinds of `aot.pattern` that are sparse products: kernels of rows, in chunks with private workspaces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from xdsl.ir import SSAValue

from aotensor.core import dtypes
from aotensor.ir.dialect_sparse import PatternOp
from aotensor.ir.index_builder import Extent
from aotensor.ir.loop_builder import LoopBuilder
from aotensor.ir.nest.ops import PARALLEL_LINES
from aotensor.ir.scalar_builder import Scalar
from aotensor.ir.types import dtype_of_buffer
from aotensor.kernels import pattern_products, patterns
from aotensor.passes.emit.buffers import Buffers
from aotensor.passes.emit.lower_window import element_dtype
from aotensor.passes.emit.parallel_lines import each_row
from aotensor.passes.emit.patterns.index_vectors import pattern_of, used_buffers
from aotensor.passes.kernels.translate import inline_kernel
from aotensor.passes.kernels.values import Vector, allocate_vector
from aotensor.passes.target import Target

_TERM: Final = 32
"""Work of a term of a row: a random access, and a chain of operations that depends on it."""


class _Product:
    """A sparse product x·y: patterns, and how its rows are split into chunks."""

    def __init__(self, b: LoopBuilder, buffers: Buffers, op: PatternOp, target: Target) -> None:
        self.b, self.buffers, self.op, self.target = b, buffers, op, target
        self.p, self.q = (pattern_of(b, buffers, op, k) for k in (0, 2))
        self.minor = buffers.scalar(op.extents[0])

    def each_row(self, begin: Callable[[], Callable[[Scalar], object]], own: Extent) -> None:
        """Emit rows in chunks of equal numbers of entries. own: elements that each chunk initializes."""
        b = self.b
        left, right = (x.entries // b.imax(x.slices, 1) + 1 for x in (self.p, self.q))
        work = left * right * _TERM  # of a row of mean length
        each_row(b, self.op, self.target, self.p.slices, work, begin, own, self.p.indptr)

    def past(self, n: int) -> Vector:
        """Allocate n words of what rows tell the rows after them."""
        found = allocate_vector(self.b, "int64", n)
        inline_kernel(self.b, pattern_products.begin_rows, found)
        return found

    def marks(self, like: SSAValue) -> Vector:
        """Allocate a workspace with −1 for every column."""
        found = allocate_vector(self.b, dtype_of_buffer(like), self.minor)
        inline_kernel(self.b, patterns.erase, found, self.minor)
        return found


def lower_sorted_product(b: LoopBuilder, buffers: Buffers, op: PatternOp, target: Target) -> None:
    """Lower `product`: the indptr of a sparse product and, if they are used, its indices."""
    indices, indptr = used_buffers(buffers, op, always=1)
    if indices is None:
        lower_product_count(b, buffers, op, target)
        return
    product, bits = _Product(b, buffers, op, target), pattern_products.BITS
    many = (product.minor + (bits - 1)) // bits
    groups = (many + (bits - 1)) // bits
    inline_kernel(b, pattern_products.sorted_rows, product.p, product.q, many, groups, indices, indptr)


def lower_product_count(b: LoopBuilder, buffers: Buffers, op: PatternOp, target: Target) -> None:
    """Lower `product_count`: the indptr of the product. On several cores, lengths of rows first, then their sums."""
    product, indptr = _Product(b, buffers, op, target), buffers.buffer(op.tensors[-1])
    p, q = product.p, product.q
    if PARALLEL_LINES not in op.attributes:
        inline_kernel(b, pattern_products.count_rows, p, q, product.minor, indptr)
        return

    def begin() -> Callable[[Scalar], object]:
        seen, far = product.marks(q.indptr), product.past(1)
        return lambda i: inline_kernel(b, pattern_products.note_length, i, p, q, seen, far, indptr)

    product.each_row(begin, product.minor)
    inline_kernel(b, pattern_products.add_lengths, p.slices, indptr)


def lower_product_rows(b: LoopBuilder, buffers: Buffers, op: PatternOp, target: Target) -> None:
    """Lower `product_rows`: the indices and values of the product, as far as they are used.

    Values of a row are summed in the result, or in a workspace if the accumulator's dtype is wider than the stored one.
    """
    own, b.fastmath = b.fastmath, op.fastmath
    product, stored = _Product(b, buffers, op, target), element_dtype(op.tensors[1])
    wide = dtypes.accumulator_of(stored)
    p, q, indptr = product.p, product.q, buffers.buffer(op.arguments[4])
    x, y = (Vector(buffers.buffer(v), stored, converted=wide) for v in op.arguments[5:])
    indices, home = used_buffers(buffers, op)
    data = None if home is None else Vector(home, stored, converted=wide)
    is_apart = data is not None and wide != stored

    def begin() -> Callable[[Scalar], object]:
        marks, past = product.marks(indptr), product.past(3)
        row = allocate_vector(b, wide, product.minor) if is_apart else data
        fixed = p, q, x, y, indptr, data is not None, is_apart, marks, past, indices, row, data
        return lambda i: inline_kernel(b, pattern_products.filled_row, i, *fixed)

    product.each_row(begin, product.minor)
    b.fastmath = own


def lower_product_values(b: LoopBuilder, buffers: Buffers, op: PatternOp, target: Target) -> None:
    """Lower `product_values`, `product_left` or `product_right`, for each sample of a batch."""
    own, b.fastmath = b.fastmath, op.fastmath
    product, c = _Product(b, buffers, op, target), pattern_of(b, buffers, op, 4)
    kind, result, stored = op.kind.data, op.tensors[0], element_dtype(op.tensors[0])
    wide, home, shape = dtypes.accumulator_of(stored), buffers.buffer(result), buffers.shape(result)
    is_left_out = kind == "product_values" or op.is_whole is not None  # no column is read that c does not have
    patterns_of = product.p, product.q, c

    def run(sample: list[Scalar]) -> None:
        def vector(buffer: SSAValue, is_of_sample: bool) -> Vector:
            where = sample if is_of_sample else []
            return Vector(buffer, stored, lambda k: [*where, k], wide)

        x, y = (vector(buffers.buffer(v), len(buffers.shape(v)) == 2) for v in op.arguments[6:])
        z = vector(home, True)

        def begin() -> Callable[[Scalar], object]:
            row = allocate_vector(b, wide, product.minor)
            if kind == "product_values":
                return lambda i: inline_kernel(b, pattern_products.product_row, i, *patterns_of, x, y, z, row)
            writer = None if is_left_out else product.marks(c.indptr)
            kernel = pattern_products.left_row if kind == "product_left" else pattern_products.right_row
            return lambda i: inline_kernel(b, kernel, i, *patterns_of, x, y, z, row, writer, is_left_out)

        product.each_row(begin, 0 if is_left_out else product.minor)

    if kind == "product_right":
        b.nest(shape, lambda at: b.store(b.constant(0, stored), home, at))
    b.nest(shape[:-1], run, is_vectorisable=False)
    b.fastmath = own
