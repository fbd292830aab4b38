"""Lower `aot.pattern product_count` and `product_rows`: a sparse product with columns in order of first occurrence.

    count    for row i:  for term (i, k, j):  n += mark[j] ≠ i;  mark[j] = i       on several cores: first the lengths
             of rows, each chunk with private marks, then their sums
    rows     for row i:  for term (i, k, j):  new = mark[j] < indptr[i];  t = new ? n : mark[j]
                         mark[j] = t;  n += new;  indices[t] = j;  data[t] = (new ? 0 : data[t]) + x[i, k]·y[k, j]

Branch-free, so no branch is mispredicted. Marks of former rows are smaller than those of this one, so they need not be
cleared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from xdsl.ir import SSAValue

from aotensor.core import dtypes
from aotensor.ir.dialect_sparse import PatternOp
from aotensor.ir.index_builder import Extent
from aotensor.ir.loop_builder import LoopBuilder
from aotensor.ir.nest.ops import PARALLEL_LINES
from aotensor.ir.scalar_builder import Scalar
from aotensor.ir.types import element_type
from aotensor.passes.emit.buffers import Buffers
from aotensor.passes.emit.lower_window import element_dtype
from aotensor.passes.emit.parallel_lines import each_row
from aotensor.passes.emit.patterns.index_vectors import IndexVector, Pattern
from aotensor.passes.emit.shape_cache import is_wanted
from aotensor.passes.target import Target

Row: TypeAlias = Callable[[Scalar, Scalar], Scalar]
"""(row, entries before it) → entries up to its end"""


def lower_product_count(b: LoopBuilder, buffers: Buffers, op: PatternOp, target: Target) -> None:
    """Lower `product_count`: the indptr of the product. Each column records the last row that it occurred in."""
    p, q = (Pattern(b, buffers, *op.arguments[k : k + 2]) for k in (0, 2))
    (minor,) = (buffers.scalar(n) for n in op.extents)
    indptr = IndexVector(b, buffers.buffer(op.tensors[-1]))
    if PARALLEL_LINES not in op.attributes:
        count = _row_counter(b, p, q, minor)
        write_indptr(b, p, indptr, lambda i, start: b.add(start, count(i)))
        return

    def begin() -> Callable[[Scalar], None]:
        count = _row_counter(b, p, q, minor)

        def row(i: Scalar) -> None:
            indptr.put(count(i), i)

        return row

    each_row(b, op, target, p.slices, work_of_row(b, p, q), begin, minor, p.indptr.buffer)
    write_indptr(b, p, indptr, lambda i, start: b.add(start, indptr[i]))


def _row_counter(b: LoopBuilder, p: Pattern, q: Pattern, minor: Scalar) -> Callable[[Scalar], Scalar]:
    """Return a function from a row to its number of entries, for ascending rows, with private marks of columns."""
    seen = _marks(b, minor, q.indptr.dtype)

    def row(i: Scalar) -> Scalar:
        def count(j: Scalar, state: list[Scalar]) -> list[Scalar]:
            is_new = b.compare("ne", seen[j], i)
            seen.put(i, j)
            return [b.add(state[0], b.cast(is_new, "index"))]

        return each_term(b, p, q, i, [b.index(0)], count, is_first=True)[0]

    return row


def _marks(b: LoopBuilder, minor: Scalar, dtype: str) -> IndexVector:
    """Allocate a workspace of marks with −1 for every column."""
    marks = IndexVector.allocated(b, dtype, minor)
    b.loop(0, minor, (), lambda j, _: marks.put(b.index(-1), j))
    return marks


def write_indptr(b: LoopBuilder, p: Pattern, indptr: IndexVector, row: Row) -> None:
    """Write the indptr of a product with p, row by row. `row(i, start)` returns the end of row i."""

    def one_row(i: Scalar, carried: list[Scalar]) -> list[Scalar]:
        end = row(i, carried[0])
        indptr.put(carried[0], i)
        return [end]

    (total,) = b.loop(0, p.slices, [b.index(0)], one_row, is_vectorisable=False, is_unrolled=False)
    indptr.put(total, b.index(p.slices))


def each_term(
    b: LoopBuilder,
    p: Pattern,
    q: Pattern,
    i: Scalar,
    carried: list[Scalar],
    body: Callable[[Scalar, list[Scalar]], Sequence[Scalar]],
    is_first: bool = False,
) -> list[Scalar]:
    """Emit carried = body(column, carried) for all terms of row i of the product. is_first: prefetch the terms?"""

    def entry(e: Scalar, state: list[Scalar]) -> Sequence[Scalar]:
        if is_first:
            p.prefetch(e, q)

        def term(f: Scalar, state: list[Scalar]) -> Sequence[Scalar]:
            return body(q.indices[f], state)

        return b.loop(*q.bounds(p.indices[e]), state, term, is_vectorisable=False, is_unrolled=False)

    return b.loop(*p.bounds(i), carried, entry, is_vectorisable=False, is_unrolled=False)


def lower_product_rows(b: LoopBuilder, buffers: Buffers, op: PatternOp, target: Target) -> None:
    """Lower `product_rows`: the indices and values of the product, as far as they are used."""
    own, b.fastmath = b.fastmath, op.fastmath
    rows = _Rows(b, buffers, op)
    (minor,) = (buffers.scalar(n) for n in op.extents)
    p, q = rows.p, rows.q
    each_row(b, op, target, p.slices, work_of_row(b, p, q), rows.begin, minor, p.indptr.buffer)
    b.fastmath = own


def work_of_row(b: LoopBuilder, p: Pattern, q: Pattern) -> Extent:
    """The estimated work of a row of a product with rows of mean length, in the unit of `nest.work`."""
    left, right = (b.iadd(b.ifloordiv(x.count, b.imax(x.slices, 1)), 1) for x in (p, q))
    return b.imul(b.imul(left, right), _TERM)


_TERM: Final = 32
"""Work of a term of a row: a random access, and a chain of operations that depends on it."""


class _Rows:
    """Emits the loops of one `product_rows` operation.

    Values of a row are summed in the result, or in a workspace if the accumulator's dtype is wider than the stored one.
    """

    def __init__(self, b: LoopBuilder, buffers: Buffers, op: PatternOp) -> None:
        self.b, self.dtype = b, element_dtype(op.tensors[1])
        self.p, self.q = (Pattern(b, buffers, *op.arguments[k : k + 2]) for k in (0, 2))
        self.indptr = IndexVector(b, buffers.buffer(op.arguments[4]))
        self.x, self.y = (buffers.buffer(v) for v in op.arguments[5:])
        indices, data = op.tensors
        self.indices = IndexVector(b, buffers.buffer(indices)) if is_wanted(indices) else None
        self.data = buffers.buffer(data) if is_wanted(data) else None
        self.wide = dtypes.accumulator_of(self.dtype)
        self.row = self.data
        (self.minor,) = (buffers.scalar(n) for n in op.extents)

    def begin(self) -> Callable[[Scalar], None]:
        """Allocate the workspaces of a chunk of rows; return the function that emits one row."""
        self.marks = _marks(self.b, self.minor, self.indptr.dtype)
        if self.data is not None and self.wide != self.dtype:
            self.row = self.b.allocate(element_type(self.wide), [self.minor])
        return self.one_row

    def one_row(self, i: Scalar) -> None:
        """Emit row i of the product."""
        b, start = self.b, self.indptr[i]
        origin = start if self.row is not self.data else b.index(0)

        def entry(e: Scalar, state: list[Scalar]) -> Sequence[Scalar]:
            self.p.prefetch(e, self.q, *(() if self.data is None else [(self.y, [])]))
            factor = None if self.data is None else self._value(self.x, e)

            def term(f: Scalar, state: list[Scalar]) -> list[Scalar]:
                j = self.q.indices[f]
                noted = self.marks[j]
                is_new = b.compare("lt", noted, start)
                at = b.select(is_new, state[0], noted)
                self.marks.put(at, j)
                if self.indices is not None:
                    self.indices.put(j, at)
                if factor is not None:
                    self._add(b.mul(factor, self._value(self.y, f)), b.sub(at, origin), is_new)
                return [b.add(state[0], b.cast(is_new, "index"))]

            return b.loop(*self.q.bounds(self.p.indices[e]), state, term, is_vectorisable=False, is_unrolled=False)

        (end,) = b.loop(*self.p.bounds(i), [start], entry, is_vectorisable=False, is_unrolled=False)
        self._write(start, end)

    def _value(self, buffer: SSAValue, e: Scalar) -> Scalar:
        return self.b.cast(self.b.fetch(buffer, [e], self.dtype), self.wide)

    def _add(self, value: Scalar, at: Scalar, is_new: Scalar) -> None:
        b = self.b
        assert self.row is not None
        before = b.select(is_new, b.constant(0, self.wide), b.fetch(self.row, [at], self.wide))
        b.store(b.add(before, value), self.row, [at])

    def _write(self, start: Scalar, end: Scalar) -> None:
        """Copy the values of a row from the workspace, if there is one."""
        b, data, row = self.b, self.data, self.row
        if data is None or row is None or row is data:
            return

        def entry(t: Scalar, _: list[Scalar]) -> Sequence[Scalar]:
            b.store(b.cast(b.fetch(row, [b.sub(t, start)], self.wide), self.dtype), data, [t])
            return ()

        b.loop(start, end, (), entry)
