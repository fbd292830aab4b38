"""Lower `aot.pattern block_product` and `block_product_turned`: one row of blocks at a time, with sums in registers.

One column, blocks of r rows of c numbers: a vector of c lanes for each row of the block row.

    for row of blocks I:   v[i, ·] = 0                                          (registers)
        for block p of I:      v[i, ·] += data[p, i, ·]·x[indices[p], ·]
        y[I, i] = Σ_j v[i, j], in pairs of halves

Several columns: a vector of columns for each row, two where there are as many.

    for row of blocks I, for columns K:   v[i, ·] = 0
        for block p of I, j < c:              v[i, ·] += data[p, i, j]·x[indices[p], j, K]
        y[I, i, K] = v[i, ·]

The number of lanes depends on the machine, but the order of no sum does: results are bitwise equal on every machine.
The transposed product adds data[p, i, ·]·x[I, i] over i, in registers, to rows of the result, on one core.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from xdsl.dialects import vector
from xdsl.dialects.builtin import DenseArrayBase, VectorType, i1, i64
from xdsl.ir import SSAValue

from aotensor.core import dtypes
from aotensor.ir.dialect_sparse import PatternOp
from aotensor.ir.index_builder import Extent
from aotensor.ir.loop_builder import LoopBuilder
from aotensor.ir.scalar_builder import Scalar
from aotensor.ir.types import element_type
from aotensor.passes.emit.buffers import Buffers
from aotensor.passes.emit.lower_window import element_dtype
from aotensor.passes.emit.parallel_lines import each_row
from aotensor.passes.emit.patterns.index_vectors import pattern_of
from aotensor.passes.target import Target

_UNROLLED: Final = 16
"""Largest number of rows or columns of a block that are unrolled."""


class Piece(NamedTuple):
    """Adjacent elements that are loaded and stored together.

    start: index of the first element. lanes: number of vector lanes, 1 for a scalar. mask: active lanes, None for all.
    """

    start: Scalar
    lanes: int
    mask: SSAValue | None


def lower_block_product(b: LoopBuilder, buffers: Buffers, op: PatternOp, target: Target) -> None:
    """Lower `block_product`, y = A·x; on several cores if the operation is marked so."""
    own, b.fastmath = b.fastmath, op.fastmath
    loops = _Blocks(b, buffers, op, target)
    blocks = loops.p.entries // b.imax(loops.p.slices, 1) + 1
    work = blocks * loops.columns * (2 * loops.height * loops.width)
    each_row(b, op, target, loops.p.slices, work, lambda: loops.row, 0, loops.p.indptr)
    b.fastmath = own


def lower_transposed_product(b: LoopBuilder, buffers: Buffers, op: PatternOp, target: Target) -> None:
    """Lower `block_product_turned`, y = Aᵀ·x, on one core."""
    own, b.fastmath = b.fastmath, op.fastmath
    loops = _Blocks(b, buffers, op, target)
    y = buffers.buffer(op.tensors[0])
    b.nest(buffers.shape(op.tensors[0]), lambda at: b.store(b.constant(0, loops.dtype), y, at))

    def row(i: Scalar, _: list[Scalar]) -> Sequence[Scalar]:
        loops.turned_row(i)
        return ()

    b.loop(0, loops.p.slices, (), row, is_vectorisable=False, is_unrolled=False)
    b.fastmath = own


class _Blocks:
    """The buffers of one block product, and the emission of one row of blocks."""

    def __init__(self, b: LoopBuilder, buffers: Buffers, op: PatternOp, target: Target) -> None:
        self.b, self.target, self.dtype = b, target, element_dtype(op.tensors[0])
        self.p = pattern_of(b, buffers, op, 0)
        self.data, self.x, self.y = (buffers.buffer(v) for v in (*op.arguments[2:4], op.tensors[0]))
        _, height, width = buffers.shape(op.arguments[2])
        assert isinstance(height, int) and isinstance(width, int)
        self.height, self.width = height, width
        self.columns = buffers.shape(op.tensors[0])[2]
        if self.columns == 1:  # then the adjacent elements are of one block
            self.x, self.y = (
                b.reinterpret(buffers.buffer(v), buffers.shape(v)[:2]) for v in (op.arguments[3], op.tensors[0])
            )
        self.most = target.lanes(8 * dtypes.itemsize(self.dtype)) if dtypes.is_float(self.dtype) else 1
        self.registers = 16 if target.register_bits >= 512 else 8

    def row(self, i: Scalar) -> None:
        """Emit all sums of row of blocks i."""
        if self.columns != 1:
            self._by_columns(lambda pieces: self._several_columns(i, pieces))
            return
        pieces = self._pieces(self.width)
        for rows in _groups(self.height, max(self.registers // len(pieces), 1)):
            self._one_column(i, rows, pieces)

    def turned_row(self, i: Scalar) -> None:
        """Emit what row of blocks i adds to the transposed product."""
        if self.columns == 1:
            self._turned_column(i)
        else:
            self._by_columns(lambda pieces: self._turned_columns(i, pieces))

    def _one_column(self, i: Scalar, rows: range, pieces: Sequence[Piece]) -> None:
        b = self.b

        def block(p: Scalar, carried: list[Scalar]) -> list[Scalar]:
            column = b.position(self.p.indices, p)
            xs = [self._load(self.x, [column], piece) for piece in pieces]
            blocks = [self._load(self.data, [p, b.index(r)], piece) for r in rows for piece in pieces]
            return self._sums(carried, blocks, xs * len(rows))

        found = self._each_block(i, [self._zero(piece.lanes) for _ in rows for piece in pieces], block)
        for k, r in enumerate(rows):
            total = self._total(found[k * len(pieces) : (k + 1) * len(pieces)])
            b.store(total, self.y, [i, b.index(r)])

    def _several_columns(self, i: Scalar, pieces: Sequence[Piece]) -> None:
        b = self.b
        for rows in _groups(self.height, max(self.registers // len(pieces), 1)):

            def block(p: Scalar, carried: list[Scalar], rows: range = rows) -> list[Scalar]:
                column = b.position(self.p.indices, p)

                def term(j: Scalar, sums: list[Scalar]) -> list[Scalar]:
                    xs = [self._load(self.x, [column, j], piece) for piece in pieces]
                    numbers = [b.fetch(self.data, [p, b.index(r), j], self.dtype) for r in rows]
                    wide = [self._broadcast(value, piece.lanes) for value in numbers for piece in pieces]
                    return self._sums(sums, wide, xs * len(rows))

                return self._each_line(self.width, carried, term)

            found = self._each_block(i, [self._zero(piece.lanes) for _ in rows for piece in pieces], block)
            for k, r in enumerate(rows):
                for piece, x in zip(pieces, found[k * len(pieces) :], strict=False):
                    self._store(x, self.y, [i, b.index(r)], piece)

    def _turned_column(self, i: Scalar) -> None:
        b = self.b
        for piece in self._pieces(self.width):

            def block(p: Scalar, _: list[Scalar], piece: Piece = piece) -> list[Scalar]:
                at = [b.position(self.p.indices, p)]

                def term(r: Scalar, sums: list[Scalar]) -> list[Scalar]:
                    x = self._broadcast(b.fetch(self.x, [i, r], self.dtype), piece.lanes)
                    return self._sums(sums, [self._load(self.data, [p, r], piece)], [x])

                found = self._each_line(self.height, [self._load(self.y, at, piece)], term)
                self._store(found[0], self.y, at, piece)
                return []

            self._each_block(i, [], block)

    def _turned_columns(self, i: Scalar, pieces: Sequence[Piece]) -> None:
        b = self.b

        def block(p: Scalar, _: list[Scalar]) -> list[Scalar]:
            column = b.position(self.p.indices, p)

            def to(j: Scalar, _: list[Scalar]) -> list[Scalar]:
                def term(r: Scalar, sums: list[Scalar]) -> list[Scalar]:
                    number = b.fetch(self.data, [p, r, j], self.dtype)
                    xs = [self._load(self.x, [i, r], piece) for piece in pieces]
                    return self._sums(sums, [self._broadcast(number, piece.lanes) for piece in pieces], xs)

                before = [self._load(self.y, [column, j], piece) for piece in pieces]
                for piece, x in zip(pieces, self._each_line(self.height, before, term), strict=True):
                    self._store(x, self.y, [column, j], piece)
                return []

            return self._each_line(self.width, [], to)

        self._each_block(i, [], block)

    # --- loops ---------------------------------------------------------------------------------------------------

    def _each_block(
        self, i: Scalar, start: Sequence[Scalar], body: Callable[[Scalar, list[Scalar]], list[Scalar]]
    ) -> list[Scalar]:
        first, last = (self.b.position(self.p.indptr, k) for k in (i, i + 1))
        return self.b.loop(first, last, start, body, is_vectorisable=False, is_unrolled=False)

    def _each_line(
        self, count: int, start: Sequence[Scalar], body: Callable[[Scalar, list[Scalar]], list[Scalar]]
    ) -> list[Scalar]:
        """Emit a loop over the rows or columns of a block, unrolled if they are few."""
        if count > _UNROLLED:
            return self.b.loop(0, count, start, body, is_vectorisable=False, is_unrolled=False)
        state = list(start)
        for k in range(count):
            state = body(self.b.index(k), state)
        return state

    def _pieces(self, count: int) -> list[Piece]:
        """Split `count` adjacent elements into vectors of a power of two; into scalars where that needs a mask."""
        wide = 1 << (count - 1).bit_length()
        lanes = min(wide, self.most) if count == wide or self.target.has_masks else 1
        left = [min(lanes, count - start) for start in range(0, count, lanes)]
        return [
            Piece(self.b.index(k * lanes), lanes, None if n == lanes else self._mask(self.b.index(n), lanes))
            for k, n in enumerate(left)
        ]

    def _by_columns(self, body: Callable[[Sequence[Piece]], None]) -> None:
        """Emit body(pieces) for all columns: two vectors at a time, then one vector, then the remaining columns."""
        b, lanes = self.b, self.most
        done: Extent = 0
        for count in (2, 1):
            step = count * lanes
            end = self.columns // step * step

            def tile(at: Scalar, _: list[Scalar], count: int = count) -> Sequence[Scalar]:
                body([Piece(b.index(at + k * lanes), lanes, None) for k in range(count)])
                return ()

            if not isinstance(end, int) or not isinstance(done, int) or end > done:
                b.loop(done, end, (), tile, step, is_vectorisable=False, is_unrolled=False)
            done = end
        if lanes == 1 or done == self.columns:
            return
        if not self.target.has_masks:

            def single(at: Scalar, _: list[Scalar]) -> Sequence[Scalar]:
                body([Piece(at, 1, None)])
                return ()

            b.loop(done, self.columns, (), single, is_vectorisable=False, is_unrolled=False)
            return
        left = self.columns - done

        def rest(at: Scalar, _: list[Scalar]) -> Sequence[Scalar]:
            body([Piece(at, lanes, self._mask(b.index(left), lanes))])
            return ()

        b.loop(done, self.columns, (), rest, lanes, is_vectorisable=False, is_unrolled=False)

    # --- vectors, which are numbers where they have one lane -------------------------------------------------------

    def _mask(self, count: Scalar, lanes: int) -> SSAValue:
        return self.b.emit(vector.CreateMaskOp([count.ssa], VectorType(i1, [lanes])), "raw").ssa

    def _zero(self, lanes: int) -> Scalar:
        zero = self.b.constant(0, self.dtype)
        return zero if lanes == 1 else self._broadcast(zero, lanes)

    def _broadcast(self, x: Scalar, lanes: int) -> Scalar:
        if lanes == 1:
            return x
        return self.b.emit(vector.BroadcastOp(x.ssa, VectorType(element_type(self.dtype), [lanes])), "raw")

    def _load(self, buffer: SSAValue, at: Sequence[Scalar], piece: Piece) -> Scalar:
        if piece.lanes == 1:
            return self.b.fetch(buffer, [*at, piece.start], self.dtype)
        return self.b.load_vector(buffer, [*at, piece.start], piece.lanes, piece.mask)

    def _store(self, x: Scalar, buffer: SSAValue, at: Sequence[Scalar], piece: Piece) -> None:
        if piece.lanes == 1:
            self.b.store(x, buffer, [*at, piece.start])
        else:
            self.b.store_vector(x.ssa, buffer, [*at, piece.start], piece.mask)

    def _sums(self, sums: Sequence[Scalar], xs: Sequence[Scalar], ys: Sequence[Scalar]) -> list[Scalar]:
        return [total + x * y for total, x, y in zip(sums, xs, ys, strict=True)]

    def _total(self, parts: Sequence[Scalar]) -> Scalar:
        """The sum of all lanes by halving: add the second half of the lanes to the first until one number is left."""
        wide = 1 << (len(parts) - 1).bit_length()
        held = list(parts)
        while wide > 1:
            wide //= 2
            held = [x + held[k + wide] if k + wide < len(held) else x for k, x in enumerate(held[:wide])]
        (found,) = held
        if found.dtype != "raw":
            return found
        kind = found.ssa.type
        assert isinstance(kind, VectorType)
        (lanes,) = kind.get_shape()
        while lanes > 1:
            lanes //= 2
            halves = [self._part(found, range(start, start + lanes)) for start in (0, lanes)]
            found = halves[0] + halves[1]
        return self.b.emit(vector.ExtractOp(found.ssa, [0], element_type(self.dtype)), self.dtype)

    def _part(self, x: Scalar, lanes: range) -> Scalar:
        kind = VectorType(element_type(self.dtype), [len(lanes)])
        order = DenseArrayBase.from_list(i64, list(lanes))
        return self.b.emit(vector.ShuffleOp(x.ssa, x.ssa, order, result_type=kind), "raw")


def _groups(count: int, size: int) -> Iterator[range]:
    """Consecutive ranges of at most `size` numbers that cover 0 … count."""
    return (range(start, min(start + size, count)) for start in range(0, count, size))
