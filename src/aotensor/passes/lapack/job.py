"""The environment that rules of aot.lapack build loops with: the matrices of one batch entry, and LAPACK calls.

LAPACK is column-major: it sees a row-major matrix as its transpose, and the lower triangle as the upper one. The rules
pose the transposed problem where that avoids a copy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from xdsl.dialects import func
from xdsl.dialects.builtin import Float32Type, ModuleOp, TensorType
from xdsl.ir import Attribute, SSAValue

from aotensor.ir.dialect import LapackOp
from aotensor.ir.index_builder import Extent
from aotensor.ir.loop_builder import LoopBuilder
from aotensor.ir.scalar_builder import Scalar
from aotensor.ir.types import dtype_of_buffer, element_type, i32
from aotensor.passes.emit.buffers import Buffers
from aotensor.passes.lapack.routines import COMPLEX_ROUTINES, PREFIX, ROUTINES

WORK_COLUMNS: Final = 64
"""Columns of workspace for LAPACK's blocked algorithms."""


@dataclass(frozen=True, eq=False)
class Matrix:
    """A row-major matrix, or a vector: the elements of `buffer` (memref<?xT>) from `start` on.

    A complex matrix has three extents, (m, n, 2), and a complex vector two. stride: elements from one row to the next,
    if it differs from the number of columns.
    """

    buffer: SSAValue
    start: Extent
    extents: tuple[Extent, ...]
    dtype: str
    stride: Extent | None = None

    @property
    def rows(self) -> Extent:
        return self.extents[0]

    @property
    def columns(self) -> Extent:
        """The number of columns; 1 for a vector."""
        return self.extents[1] if len(self.extents) > 1 else 1

    @property
    def parts(self) -> list[tuple[int, ...]]:
        """The indices of the numbers in one element of the matrix: those of both parts if it is complex."""
        return [(0,), (1,)] if len(self.extents) == 3 else [()]

    @property
    def lead(self) -> Extent:
        """LAPACK's leading dimension: elements from one row to the next."""
        return self.columns if self.stride is None else self.stride


class Job:
    """The interface of the lowering rules to one `aot.lapack` operation.

    `entry` is the index of the matrix in its batch.

    calls: does the rule call library functions, which accept whole buffers only?
    """

    def __init__(
        self, b: LoopBuilder, buffers: Buffers, module: ModuleOp, op: LapackOp, context: SSAValue, calls: bool
    ) -> None:
        self.b, self.op = b, op
        self.module, self._context = module, context
        first = op.arguments[0].type
        assert isinstance(first, TensorType)
        self.dtype = "float32" if isinstance(first.element_type, Float32Type) else "float64"
        self.batch = buffers.shape(op.arguments[0])[: -2 - op.is_complex]
        self.entry: Extent = 0
        self._flats: dict[SSAValue, SSAValue] = {}
        operands = [(buffers.buffer(x), buffers.shape(x)) for x in (*op.arguments, *op.tensors)]
        homes = [b.own_buffer(home, shape) if calls else home for home, shape in operands]
        self._rows = [(own, home, shape) for own, (home, shape) in zip(homes, operands, strict=True)]
        self._wholes = [self._whole(own, shape) for own, _, shape in self._rows]
        for own, home, shape in self._rows[: len(op.arguments)]:
            b.copy(home, own, shape)

    def _whole(self, home: SSAValue, shape: Sequence[Extent]) -> Matrix:
        """All matrices of a tensor in one flat buffer; rows and columns are the extents of one matrix."""
        return Matrix(self._flat(home, shape), 0, tuple(shape[len(self.batch) :]), dtype_of_buffer(home))

    def _flat(self, buffer: SSAValue, shape: Sequence[Extent]) -> SSAValue:
        if buffer not in self._flats:
            total: Extent = 1
            for n in shape:
                total = total * n
            self._flats[buffer] = self.b.reinterpret(buffer, [self.b.index(total)])
        return self._flats[buffer]

    def finish(self) -> None:
        """Copy results that were computed in private buffers to their rows of larger buffers."""
        for own, home, shape in self._rows[len(self.op.arguments) :]:
            self.b.copy(own, home, shape)

    def operand(self, position: int) -> Matrix:
        """The operand's matrix or vector in this batch entry."""
        return self._part(self._wholes[position])

    def result(self, position: int = 0) -> Matrix:
        """The result's matrix or vector in this batch entry, uninitialized."""
        return self._part(self._wholes[len(self.op.arguments) + position])

    def _part(self, whole: Matrix) -> Matrix:
        if self.entry == 0:
            return whole
        size: Extent = 1
        for n in whole.extents:
            size = size * n
        return Matrix(whole.buffer, self.entry * size, whole.extents, whole.dtype)

    def work(self, *extents: Extent, dtype: str | None = None) -> Matrix:
        """Allocate memory for this batch entry. The extents must depend on those of operands and results."""
        kind = dtype or self.dtype
        home = self.b.allocate(element_type(kind), extents)
        return Matrix(self._flat(home, extents), 0, extents, kind)

    def elements(self, *extents: Extent) -> Matrix:
        """Allocate memory as `work` for elements of the operation's matrices, complex or real."""
        return self.work(*extents, 2) if self.op.is_complex else self.work(*extents)

    def call(self, routine: str, *arguments: str | Extent | float | Matrix) -> Scalar:
        """Call a Fortran function without its `info` argument, which is returned (int64, 0 if it has none).

        arguments: str for a character, an extent for an integer, float for a number, Matrix for an array.
        """
        letters = (COMPLEX_ROUTINES if self.op.is_complex else ROUTINES)[routine].removesuffix("I")
        values: list[SSAValue] = []
        for letter, argument in zip(letters, arguments, strict=True):
            values += self._argument(letter, argument)
        values.append(self._context)
        bits = 32 if self.dtype == "float32" else 64
        symbol = f"{PREFIX}{routine}.{f'c{2 * bits}' if self.op.is_complex else f'f{bits}'}"
        self._declare(symbol, [x.type for x in values])
        return self.b.cast(self.b.emit(func.CallOp(symbol, values, [i32]), "int32"), "int64")

    def _argument(self, letter: str, argument: str | Extent | float | Matrix) -> list[SSAValue]:
        if isinstance(argument, Matrix):
            assert letter in "ap" and (letter == "p") == (argument.dtype == "int32")
            return [argument.buffer, self.b.index(argument.start).ssa]
        if isinstance(argument, str):
            assert letter == "c"
            return [self.b.constant(ord(argument), "int8").ssa]
        if isinstance(argument, float):
            assert letter == "f"
            return [self.b.constant(argument, self.dtype).ssa]
        assert letter == "i"
        return [self.b.index(argument).ssa]

    def _declare(self, symbol: str, arguments: Sequence[Attribute]) -> None:
        for op in self.module.body.block.ops:
            if isinstance(op, func.FuncOp) and op.sym_name.data == symbol:
                return
        self.module.body.block.add_op(func.FuncOp.external(symbol, list(arguments), [i32]))

    # --- elements ------------------------------------------------------------------------------------------------

    def load(self, x: Matrix, *at: Extent) -> Scalar:
        """x[i, j], or x[i] of a vector; the last index is the part of a complex element."""
        return self.b.fetch(x.buffer, [self._offset(x, at)], x.dtype)

    def store(self, value: Scalar, x: Matrix, *at: Extent) -> None:
        """Emit x[i, j] = value."""
        self.b.store(value, x.buffer, [self._offset(x, at)])

    def _offset(self, x: Matrix, at: Sequence[Extent]) -> Extent:
        offset = at[0] if len(at) == 1 else at[0] * x.lead + at[1]
        return x.start + (offset * 2 + at[2] if len(at) == 3 else offset)

    def block(self, x: Matrix, rows: tuple[Extent, Extent], columns: tuple[Extent, Extent]) -> Matrix:
        """The submatrix x[rows[0] : rows[1], columns[0] : columns[1]], in the same memory."""
        extents = rows[1] - rows[0], columns[1] - columns[0]
        return Matrix(x.buffer, self._offset(x, (rows[0], columns[0])), extents, x.dtype, x.lead)

    def emit_loop(
        self, start: Extent, stop: Extent, body: Callable[[Scalar], object], is_vectorisable: bool = True
    ) -> None:
        """Emit a loop: for i = start … stop: body(i)."""

        def step(i: Scalar, _: list[Scalar]) -> Sequence[Scalar]:
            body(i)
            return ()

        self.b.loop(start, stop, (), step, is_vectorisable=is_vectorisable)

    def move(self, source: Matrix, at: tuple[Extent, Extent], target: Matrix, to: tuple[Extent, Extent]) -> None:
        """Emit target[to] = source[at]."""
        for part in source.parts:
            self.store(self.load(source, *at, *part), target, *to, *part)

    def set(self, x: Matrix, at: tuple[Extent, Extent], value: Scalar) -> None:
        """Emit x[at] = value, in all parts of the element."""
        for part in x.parts:
            self.store(value, x, *at, *part)

    def fill(self, x: Matrix, value: float) -> None:
        """Emit code that sets every element of x to `value`."""
        number = self.b.constant(value, x.dtype)
        self.b.nest(x.extents, lambda at: self.store(number, x, *at))

    def copy(self, source: Matrix, target: Matrix) -> None:
        """Emit target = source, element by element in memory order; emit nothing if they share memory."""
        if not self.is_same(source, target):
            source, target = self.numbers(source), self.numbers(target)
            self.b.nest(source.extents, lambda at: self.store(self.load(source, *at), target, *at))

    def numbers(self, x: Matrix) -> Matrix:
        """The real and imaginary parts of a complex matrix as a real one with twice as many columns; else x."""
        if len(x.extents) < 3:
            return x
        return Matrix(x.buffer, x.start, (x.rows, x.columns * 2), x.dtype)

    def copy_transposed(self, source: Matrix, target: Matrix) -> None:
        """Emit target[j, i] = source[i, j], in tiles, so that cache lines of both are reused."""
        rows, columns, b = source.rows, source.columns, self.b

        def tile(i: Scalar, j: Scalar) -> None:
            last = b.imin(i + _TILE, rows), b.imin(j + _TILE, columns)
            self.emit_loop(i, last[0], lambda p: self.emit_loop(j, last[1], lambda q: move(p, q)))

        def move(p: Scalar, q: Scalar) -> None:
            self.move(source, (p, q), target, (q, p))

        def row(i: Scalar, _: list[Scalar]) -> Sequence[Scalar]:
            def column(j: Scalar, _: list[Scalar]) -> Sequence[Scalar]:
                tile(i, j)
                return ()

            b.loop(0, columns, (), column, step=_TILE)
            return ()

        b.loop(0, rows, (), row, step=_TILE)

    def is_same(self, x: Matrix, y: Matrix) -> bool:
        """Do an operand and a result of the operation share their memory?"""
        return x.buffer is y.buffer


_TILE = 16  # rows and columns: 2 KiB of each matrix
