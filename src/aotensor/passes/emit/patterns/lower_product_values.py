"""Lower `aot.pattern product_values`, product_left and product_right: sums over triples, one row at a time.

    product_values   for row i:  acc[·] = 0 at row i of c;  acc[j] += x[i, k]·y[k, j];  z[i, ·] = acc[·]
    product_left     for row i:  acc[·] = x[i, ·];          z[i, k] = Σ_j acc[j]·y[k, j]
    product_right    for row i:  acc[·] = y[i, ·];          z[k, j] += x[i, k]·acc[j]

The workspace acc has an element for each column, and is not cleared: elements without an entry of c are never used, and
if such a j can occur, a second workspace records the row that each element was last written for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import SSAValue

from aotensor.core import dtypes
from aotensor.ir.dialect_sparse import PatternOp
from aotensor.ir.loop_builder import LoopBuilder
from aotensor.ir.scalar_builder import Scalar
from aotensor.ir.types import element_type
from aotensor.passes.emit.buffers import Buffers
from aotensor.passes.emit.lower_window import element_dtype
from aotensor.passes.emit.parallel_lines import each_row
from aotensor.passes.emit.patterns.index_vectors import IndexVector, Pattern
from aotensor.passes.emit.patterns.lower_product_rows import work_of_row
from aotensor.passes.target import Target


def lower_product_values(b: LoopBuilder, buffers: Buffers, op: PatternOp, target: Target) -> None:
    """Lower `product_values`, `product_left` or `product_right`, for each sample of a batch."""
    own, b.fastmath = b.fastmath, op.fastmath
    result = op.tensors[0]
    samples = buffers.shape(result)[:-1]
    loops = _Loops(b, buffers, op, target)
    if op.kind.data == "product_right":
        b.nest(buffers.shape(result), lambda at: b.store(b.constant(0, loops.dtype), loops.z, at))
    b.nest(samples, loops.run, is_vectorisable=False)
    b.fastmath = own


class _Loops:
    """Emits the loops of one sum over triples of entries."""

    def __init__(self, b: LoopBuilder, buffers: Buffers, op: PatternOp, target: Target) -> None:
        self.op, self.target = op, target
        self.b, self.kind, self.dtype = b, op.kind.data, element_dtype(op.tensors[0])
        self.p, self.q, self.c = (Pattern(b, buffers, *op.arguments[k : k + 2]) for k in (0, 2, 4))
        self.x, self.y = (buffers.buffer(v) for v in op.arguments[6:])
        self.has_samples = [len(buffers.shape(v)) == 2 for v in op.arguments[6:]]
        self.z = buffers.buffer(op.tensors[0])
        (self.minor,) = (buffers.scalar(n) for n in op.extents)
        self.wide = dtypes.accumulator_of(self.dtype)
        self.writer: IndexVector | None = None

    def _take_workspaces(self) -> None:
        b = self.b
        self.row = b.allocate(element_type(self.wide), [self.minor])
        if self.op.is_whole is None and self.kind != "product_values":
            self.writer = writer = IndexVector.allocated(b, self.c.indptr.dtype, self.minor)
            b.loop(0, self.minor, (), lambda j, _: writer.put(b.index(-1), j))

    def run(self, sample: list[Scalar]) -> None:
        """Emit all rows of one sample."""
        at_x, at_y = ((sample if on else []) for on in self.has_samples)
        x, y = (self._reader(v, at) for v, at in ((self.x, at_x), (self.y, at_y)))
        row = {"product_values": self._values, "product_left": self._left, "product_right": self._right}[self.kind]

        def begin() -> Callable[[Scalar], None]:
            self._take_workspaces()
            return lambda i: row(i, x, y, sample)

        own = 0 if self.op.is_whole is not None or self.kind == "product_values" else self.minor
        work = work_of_row(self.b, self.p, self.q)
        each_row(self.b, self.op, self.target, self.p.slices, work, begin, own, self.p.indptr.buffer)

    def _reader(self, buffer: SSAValue, sample: list[Scalar]) -> Callable[[Scalar], Scalar]:
        return lambda e: self.b.cast(self.b.fetch(buffer, [*sample, e], self.dtype), self.wide)

    def _write(self, value: Scalar, sample: list[Scalar], e: Scalar) -> None:
        self.b.store(self.b.cast(value, self.dtype), self.z, [*sample, e])

    def _values(
        self, i: Scalar, x: Callable[[Scalar], Scalar], y: Callable[[Scalar], Scalar], sample: list[Scalar]
    ) -> None:
        b = self.b
        self._fill(i, lambda e: b.constant(0, self.wide))

        def entry(e: Scalar) -> None:
            self._prefetch(e, sample)
            factor = x(e)

            def term(f: Scalar, j: Scalar) -> None:
                b.store(b.add(self._at(j), b.mul(factor, y(f))), self.row, [j])

            self._each(self.q, self.p.indices[e], term)

        self._each(self.p, i, lambda e, _: entry(e))
        self._each(self.c, i, lambda e, j: self._write(self._at(j), sample, e))

    def _left(
        self, i: Scalar, x: Callable[[Scalar], Scalar], y: Callable[[Scalar], Scalar], sample: list[Scalar]
    ) -> None:
        b = self.b
        self._fill(i, x)

        def entry(e: Scalar) -> None:
            self._prefetch(e, sample)

            def term(f: Scalar, carried: list[Scalar]) -> list[Scalar]:
                j = self.q.indices[f]
                return [b.add(carried[0], self._if_written(i, j, b.mul(self._at(j), y(f))))]

            bounds = self.q.bounds(self.p.indices[e])
            (total,) = b.loop(*bounds, [b.constant(0, self.wide)], term, is_vectorisable=False, is_unrolled=False)
            self._write(total, sample, e)

        self._each(self.p, i, lambda e, _: entry(e))

    def _right(
        self, i: Scalar, x: Callable[[Scalar], Scalar], y: Callable[[Scalar], Scalar], sample: list[Scalar]
    ) -> None:
        b = self.b
        z = self._reader(self.z, sample)
        self._fill(i, y)

        def entry(e: Scalar) -> None:
            self._prefetch(e, sample)
            factor = x(e)

            def term(f: Scalar, j: Scalar) -> None:
                value = self._if_written(i, j, b.mul(factor, self._at(j)))
                self._write(b.add(z(f), value), sample, f)

            self._each(self.q, self.p.indices[e], term)

        self._each(self.p, i, lambda e, _: entry(e))

    def _prefetch(self, e: Scalar, sample: list[Scalar]) -> None:
        """Prefetch entries of q together with their values, ahead of entry e of p."""
        values = self.z if self.kind == "product_right" else self.y
        is_of_samples = self.kind == "product_right" or self.has_samples[1]
        self.p.prefetch(e, self.q, (values, sample if is_of_samples else []))

    def _each(self, pattern: Pattern, i: Scalar, body: Callable[[Scalar, Scalar], None]) -> None:
        """Emit body(entry, index) for the entries of slice i and their minor indices."""

        def entry(e: Scalar, _: list[Scalar]) -> Sequence[Scalar]:
            body(e, pattern.indices[e])
            return ()

        self.b.loop(*pattern.bounds(i), (), entry, is_vectorisable=False, is_unrolled=False)

    def _fill(self, i: Scalar, value: Callable[[Scalar], Scalar]) -> None:
        """Emit code that writes value(e) into the workspace for each entry e of row i of c."""

        def entry(e: Scalar, j: Scalar) -> None:
            self.b.store(value(e), self.row, [j])
            if self.writer is not None:
                self.writer.put(i, j)

        self._each(self.c, i, entry)

    def _at(self, j: Scalar) -> Scalar:
        return self.b.fetch(self.row, [j], self.wide)

    def _if_written(self, i: Scalar, j: Scalar, value: Scalar) -> Scalar:
        """`value`, or 0 if row i of c has no entry in column j."""
        if self.writer is None:
            return value
        return self.b.select(self.b.compare("eq", self.writer[j], i), value, self.b.constant(0, self.wide))
