"""Collapse a perfect nest into one loop where its operands are read and written in the order of memory.

    for i in 0..n:                     for c in 0..n·m:
      for j in 0..m:             →       y'[c] = tanh(x'[c])          x', y': the same memory with one axis for the two
        y[i,j] = tanh(x[i,j])

A short inner loop leaves vectors half empty; the collapsed one fills them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr

from aotensor.ir.loop_builder import LoopBuilder
from aotensor.ir.scalar_builder import Scalar
from aotensor.ir.verbs import Extent
from aotensor.passes.loops.fuse_loops import Leaf, Loop
from aotensor.passes.loops.statements import ExtentKey, Statement
from aotensor.passes.loops.storage import Storage


class Buffers(Protocol):
    """What those that emit loops need to know of the function around them."""

    def resolve(self, key: ExtentKey) -> Extent: ...
    def scalar(self, x: SSAValue) -> Scalar: ...
    def buffer(self, x: SSAValue) -> SSAValue: ...
    def shape(self, x: SSAValue) -> list[Extent]: ...


class Collapse:
    """The nest that is being collapsed, if any, and the views of its buffers with the axes merged."""

    def __init__(self, b: LoopBuilder, buffers: Buffers, storage: Storage) -> None:
        self.b, self.buffers, self.storage = b, buffers, storage
        self.active: list[Loop] = []
        self._views: dict[tuple[SSAValue, int], SSAValue] = {}

    def chain(self, loop: Loop) -> list[Loop]:
        """The loops from `loop` inwards that can become one; empty if they cannot."""
        if any(s.slices is not None and loop.dims[s] in (s.slices.slice, s.slices.entry) for s in loop.dims):
            return []
        chain = [loop]
        while len(chain[-1].body) == 1 and isinstance(chain[-1].body[0], Loop):
            chain.append(chain[-1].body[0])
        if len(chain) == 1 or not all(isinstance(node, Leaf) for node in chain[-1].body):
            return []
        return chain if all(self._runs_along_memory(s, chain) for s in loop.dims) else []

    @contextmanager
    def over(self, chain: list[Loop]) -> Iterator[Extent]:
        """Within: `chain` is one loop, over the extent that is given."""
        total: Extent = 1
        for loop in chain:
            total = self.b.imul(total, self.buffers.resolve(loop.extent))
        self.active = chain
        for statement in chain[0].dims:
            for x, expressions in self._accesses(statement):
                self._make_view(statement, self.buffers.buffer(x), x, expressions)
        yield total
        self.active, self._views = [], {}

    def element(
        self, statement: Statement, buffer: SSAValue, expressions: Sequence[AffineExpr]
    ) -> tuple[SSAValue, Sequence[AffineExpr]]:
        """The view to access and the indices into it, for an access to `buffer` at `expressions`."""
        first = self._first_axis(statement, expressions)
        if first is None:
            return buffer, expressions
        rest = first + len(self.active)
        return self._views[buffer, first], [*expressions[: first + 1], *expressions[rest:]]

    def _runs_along_memory(self, statement: Statement, chain: Sequence[Loop]) -> bool:
        """True if each operand has the loops' dims as neighbouring axes in this order, or none of them."""
        if statement.gathers or any(isinstance(op, linalg.IndexOp) for op in statement.body.ops):
            return False
        dims = [loop.dims[statement] for loop in chain]
        for x, map in (*statement.reads, *statement.writes):
            axes = [p for p, e in enumerate(map.results) if isinstance(e, AffineDimExpr) and e.position in dims]
            order = [e.position for e in map.results if isinstance(e, AffineDimExpr) and e.position in dims]
            if axes and (order != dims or axes != list(range(axes[0], axes[0] + len(dims)))):
                return False
            result = self.storage.results.get(x)
            in_memory = result is not None and (result.has_memory or not result.in_register)
            if result is not None and in_memory and not set(axes) <= set(self.storage.kept_positions(result)):
                return False
        return True

    def _accesses(self, statement: Statement) -> Iterator[tuple[SSAValue, list[AffineExpr]]]:
        """Tensors that a statement reads from or writes to memory, and the indices into their buffers."""
        for x, map in (*statement.reads, *statement.writes):
            result = self.storage.results.get(x)
            if result is not None and not result.has_memory and result.in_register:
                continue
            kept = self.storage.kept_positions(result) if result is not None else range(len(map.results))
            yield x, [map.results[p] for p in kept]

    def _make_view(
        self, statement: Statement, buffer: SSAValue, x: SSAValue, expressions: Sequence[AffineExpr]
    ) -> None:
        first = self._first_axis(statement, expressions)
        if first is None or (buffer, first) in self._views:
            return
        result = self.storage.results.get(x)
        shape = self.buffers.shape(x)
        extents = [shape[p] for p in self.storage.kept_positions(result)] if result is not None else shape
        merged: Extent = 1
        for n in extents[first : first + len(self.active)]:
            merged = self.b.imul(merged, n)
        rest = first + len(self.active)
        self._views[buffer, first] = self.b.reinterpret(buffer, [*extents[:first], merged, *extents[rest:]])

    def _first_axis(self, statement: Statement, expressions: Sequence[AffineExpr]) -> int | None:
        """The first of the axes that are merged, for an access that has them."""
        if not self.active:
            return None
        outermost = self.active[0].dims[statement]
        for position, e in enumerate(expressions):
            if isinstance(e, AffineDimExpr) and e.position == outermost:
                return position
        return None
