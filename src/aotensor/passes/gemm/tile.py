"""Register tiles of a matrix product: their shapes, operations on vectors, and the loop over k that fills them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from xdsl.builder import Builder
from xdsl.dialects import func, memref, vector
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    IntegerAttr,
    MemRefType,
    StridedLayoutAttr,
    VectorType,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.rewriter import InsertPoint

from aotensor.core import dtypes
from aotensor.ir.index_builder import Extent
from aotensor.ir.loop_builder import LoopBuilder
from aotensor.ir.scalar_builder import Scalar
from aotensor.ir.types import element_type, i1

# Rows of a packed tile by bytes of a vector register, two registers wide. With two vectors of B and one element of A it
# leaves 1 of the 16 registers of SSE and AVX for the product where there is no FMA, and 5 of the 32 of AVX-512.
_ROWS: Final = {16: 6, 32: 6, 64: 12}
_VECTORS: Final = 2
_HEIGHTS: Final = 3  # heights of tiles, so that the last rows of C are not mostly zeros

ALIGNMENT: Final = 64
"""Alignment of packed memory, in bytes: a cache line, which is also the widest vector."""


@dataclass(frozen=True)
class Tile:
    """A block of C that stays in registers for all of k: `rows` rows of `vectors` vectors of `lanes` elements."""

    dtype: str
    rows: int
    vectors: int
    lanes: int

    @staticmethod
    def for_registers(dtype: str, vector_bytes: int) -> Tile:
        """The tile that fills the vector registers of a machine, which have 16, 32 or 64 bytes."""
        return Tile(dtype, _ROWS[vector_bytes], _VECTORS, vector_bytes // dtypes.itemsize(dtype))

    @property
    def columns(self) -> int:
        return self.vectors * self.lanes

    @property
    def vector_bytes(self) -> int:
        return self.lanes * dtypes.itemsize(self.dtype)

    @property
    def has_masks(self) -> bool:
        """Does the machine have masked vector loads and stores? SSE and NEON do not."""
        return self.vector_bytes > 16

    @property
    def has_cheap_masks(self) -> bool:
        """Do masks have registers of their own, and masked loads take no longer than others? Those of AVX-512."""
        return self.vector_bytes == 64

    @property
    def element(self) -> Attribute:
        kind: Attribute = element_type(self.dtype)
        return kind

    @property
    def suffix(self) -> str:
        """The dtype at the end of the kernels' symbols: f32 or f64."""
        return f"f{8 * dtypes.itemsize(self.dtype)}"


class KernelBuilder(LoopBuilder):
    """A loop builder with operations on vectors of one dtype. A vector of one lane is a scalar."""

    def __init__(self, builder: Builder, dtype: str) -> None:
        super().__init__(builder)
        self.dtype = dtype

    def sweep(
        self,
        start: Extent,
        stop: Extent,
        carried: Sequence[Scalar],
        body: Callable[[Scalar, list[Scalar]], Sequence[Scalar]],
        step: int = 1,
    ) -> list[Scalar]:
        """Emit a loop that LLVM neither vectorizes nor unrolls."""
        results = self.loop(start, stop, carried, body, step, is_vectorisable=False)
        loop = self.builder.insertion_point.block.last_op
        assert loop is not None
        loop.attributes["unroll"] = IntegerAttr(1, i64)
        return results

    def emit_loop(self, stop: Extent, body: Callable[[Scalar], None]) -> None:
        """Emit a loop from 0 without carried values, which LLVM neither vectorizes nor unrolls."""

        def step(i: Scalar, _: list[Scalar]) -> Sequence[Scalar]:
            body(i)
            return ()

        self.sweep(0, stop, (), step)

    def read(self, buffer: SSAValue, indices: Sequence[Extent], lanes: int, mask: SSAValue | None = None) -> Scalar:
        """Load buffer[…, j : j + lanes]; masked-off lanes are 0."""
        if lanes == 1:
            return self.fetch(buffer, indices, self.dtype)
        return Scalar(self.load_vector(buffer, indices, lanes, mask).ssa, self.dtype)

    def write(self, value: Scalar, buffer: SSAValue, indices: Sequence[Extent], mask: SSAValue | None = None) -> None:
        """Store buffer[…, j : j + lanes] = value, in the lanes of the mask."""
        if isinstance(value.ssa.type, VectorType):
            self.store_vector(value.ssa, buffer, indices, mask)
        else:
            self.store(value, buffer, indices)

    def first_lanes(self, count: Extent, lanes: int) -> SSAValue:
        """The mask of the first `count` lanes: no lane for a negative count, all lanes for a large one."""
        return self.emit(vector.CreateMaskOp([self.index(count).ssa], VectorType(i1, [lanes])), "raw").ssa

    def broadcast(self, x: Scalar, lanes: int) -> Scalar:
        """Broadcast x to all lanes."""
        if lanes == 1:
            return x
        return self.emit(vector.BroadcastOp(x.ssa, VectorType(x.ssa.type, [lanes])), self.dtype)

    def zeros(self, count: int, lanes: int) -> list[Scalar]:
        return [self.broadcast(self.constant(0.0, self.dtype), lanes)] * count

    def shuffle(self, x: Scalar, y: Scalar, order: Sequence[int]) -> Scalar:
        """Shuffle the lanes of x and y: numbers below the number of lanes select from x, others from y."""
        mask = DenseArrayBase.from_list(i64, list(order))
        kind = VectorType(element_type(self.dtype), [len(order)])
        return self.emit(vector.ShuffleOp(x.ssa, y.ssa, mask, result_type=kind), self.dtype)

    def sums_of_lanes(self, values: Sequence[Scalar]) -> list[Scalar]:
        """Reduce each vector; return the sums as lanes of as few vectors as possible.

        Each sum is computed by halves, ((x₀ + x₄) + (x₂ + x₆)) + …, independent of the other sums in its vector: the
        order is part of the result. The number of vectors is a power of two.
        """
        lanes = self.lanes_of(values[0])
        if len(values) > lanes:
            return [*self.sums_of_lanes(values[:lanes]), *self.sums_of_lanes(values[lanes:])]
        width = lanes  # lanes of a vector that belong to one sum
        while len(values) > 1:
            values = [self._add_halves(x, y, width) for x, y in zip(values[::2], values[1::2], strict=True)]
            width //= 2
        (x,) = values
        while width > 1:
            x = self._add_halves(x, None, width)
            width //= 2
        return [x]

    def _add_halves(self, x: Scalar, y: Scalar | None, width: int) -> Scalar:
        """Add the two halves of each group of `width` lanes: sums of the groups of x, then sums of the groups of y."""
        lanes = self.lanes_of(x) * (1 if y is None else 2)
        low = [at for start in range(0, lanes, width) for at in range(start, start + width // 2)]
        other = x if y is None else y
        return self.add(self.shuffle(x, other, low), self.shuffle(x, other, [at + width // 2 for at in low]))

    def lanes_of(self, x: Scalar) -> int:
        """The number of elements of a vector."""
        assert isinstance(x.ssa.type, VectorType)
        return int(x.ssa.type.get_shape()[0])

    def matrix(self, buffer: SSAValue, is_transposed: Scalar, rows: Extent, columns: Extent) -> SSAValue:
        """A view of shape (rows, columns) of a matrix that is stored in that shape or transposed."""
        one = self.index(1)
        strides = [
            self.select(is_transposed, one, self.index(columns)).ssa,
            self.select(is_transposed, self.index(rows), one).ssa,
        ]
        sizes = [self.index(rows).ssa, self.index(columns).ssa]
        kind = view_type(self.dtype)
        op = memref.ReinterpretCastOp.from_dynamic(buffer, [0], sizes, strides, kind)
        self.builder.insert(op)
        result: SSAValue = op.result
        return result

    def ceildiv(self, x: Extent, y: Extent) -> Extent:
        """⌈x / y⌉ of two extents."""
        return self.ifloordiv(self.isub(self.iadd(x, y), 1), y)


def accumulate(
    b: KernelBuilder,
    tile: Tile,
    count: Extent,
    a: Callable[[Scalar, int], Scalar],
    x: Callable[[Scalar, int], Scalar],
) -> list[Scalar]:
    """Emit acc[r, v] = Σ_p a(p, r)·x(p, v) for p < count, scalars times vectors, with all sums in registers."""

    def step(p: Scalar, sums: list[Scalar]) -> Sequence[Scalar]:
        vectors = [x(p, v) for v in range(tile.vectors)]
        following = []
        for r in range(tile.rows):
            element = b.broadcast(a(p, r), tile.lanes)
            following += [b.fma(element, vectors[v], sums[r * tile.vectors + v]) for v in range(tile.vectors)]
        return following

    return b.sweep(0, count, b.zeros(tile.rows * tile.vectors, tile.lanes), step)


def by_height(b: KernelBuilder, tile: Tile, live: Extent, body: Callable[[Tile], None]) -> None:
    """Emit `body` for the smallest of three tile heights (⅓, ⅔ or all of the rows) that covers the live rows."""

    def run(chosen: Tile) -> Sequence[Scalar]:
        body(chosen)
        return ()

    def of(parts: int) -> Sequence[Scalar]:
        if parts == _HEIGHTS:
            return run(tile)
        rows = tile.rows * parts // _HEIGHTS
        is_enough = b.index(live) <= rows
        return b.branch(is_enough, lambda: run(replace(tile, rows=rows)), lambda: of(parts + 1))

    of(1)


def view_type(dtype: str) -> MemRefType[Attribute]:
    """The memref type of a matrix with any strides."""
    layout = StridedLayoutAttr([None, None], 0)
    return MemRefType(element_type(dtype), [DYNAMIC_INDEX, DYNAMIC_INDEX], layout)


def define(
    symbol: str,
    dtype: str,
    arguments: Sequence[Attribute],
    body: Callable[[KernelBuilder, Sequence[SSAValue]], Sequence[Scalar]],
    results: Sequence[Attribute] = (),
) -> func.FuncOp:
    """Define a private function whose results are those of `body`."""
    op = func.FuncOp(symbol, (list(arguments), list(results)), visibility="private")
    b = KernelBuilder(Builder(InsertPoint.at_end(op.body.block)), dtype)
    with b.active():
        b.builder.insert(func.ReturnOp(*(x.ssa for x in body(b, op.body.block.args))))
    return op
