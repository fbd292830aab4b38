"""Building blocks of the algorithms for small matrices: numbers, matrices of them, and loops over their rows.

A number is one element, or a vector with one element of each of several matrices. A matrix is in registers, and all
loops over it are unrolled, or in memory: then only the outermost loops are unrolled, so that inner loops have a
constant trip count.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from xdsl.dialects import vector
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Attribute, SSAValue

from aotensor.ir.index_builder import Extent
from aotensor.ir.loop_builder import LoopBuilder
from aotensor.ir.scalar_builder import Scalar
from aotensor.ir.types import element_type
from aotensor.passes.lapack.job import Job, Matrix


class Cells(Protocol):
    """A matrix of numbers that are loaded and stored one by one (interface)."""

    @property
    def rows(self) -> int: ...
    @property
    def columns(self) -> int: ...
    def load(self, i: Extent, j: Extent) -> Scalar: ...
    def store(self, value: Scalar, i: Extent, j: Extent) -> None: ...


class Numbers:
    """Arithmetic on numbers of `lanes` elements.

    dtype: of the elements. integer: dtype of positions in a matrix and of failure codes. is_unrolled: are loops
    unrolled?
    """

    def __init__(self, b: LoopBuilder, dtype: str, lanes: int, is_unrolled: bool) -> None:
        self.b, self.dtype, self.lanes, self.is_unrolled = b, dtype, lanes, is_unrolled
        self.integer = "int64" if dtype == "float64" and lanes > 1 else "int32"

    def constant(self, value: float, dtype: str = "") -> Scalar:
        """A constant in all lanes."""
        return self._broadcast(self.b.constant(value, dtype or self.dtype))

    def position(self, i: Extent) -> Scalar:
        """An index as an integer of the dtype `integer`, in all lanes."""
        if isinstance(i, int):
            return self.constant(i, self.integer)
        return self._broadcast(self.b.cast(i, self.integer))

    def _broadcast(self, x: Scalar) -> Scalar:
        if self.lanes == 1:
            return x
        return self.b.emit(vector.BroadcastOp(x.ssa, self.kind(x.dtype)), x.dtype)

    def kind(self, dtype: str) -> VectorType[Attribute]:
        """The type of a vector of `lanes` elements."""
        return VectorType(element_type(dtype), [self.lanes])

    def temporary(self, rows: int, columns: int = 1, dtype: str = "") -> Cells:
        """An uninitialized matrix, in registers if loops are unrolled."""
        return RegisterCells(rows, columns) if self.is_unrolled else self.memory(rows, columns, dtype)

    def memory(self, rows: int, columns: int, dtype: str = "") -> MemoryCells:
        """An uninitialized matrix in memory."""
        kind, total = dtype or self.dtype, rows * columns * self.lanes
        return MemoryCells(self, self.b.allocate(element_type(kind), [total]), rows, columns, kind)

    def emit_loop(self, start: Extent, stop: Extent, body: Callable[[Extent], object]) -> None:
        """Emit or unroll a loop: for i = start … stop: body(i)."""

        def step(i: Extent, _: list[Scalar]) -> Sequence[Scalar]:
            body(i)
            return ()

        self.fold(start, stop, [], step)

    def each_outer(self, start: int, stop: int, body: Callable[[int], object]) -> None:
        """Unroll a loop: for i = start … stop: body(i); descending if start is larger."""
        for i in range(start, stop) if start <= stop else range(start - 1, stop - 1, -1):
            body(i)

    def fold(
        self, start: Extent, stop: Extent, carried: list[Scalar],
        body: Callable[[Extent, list[Scalar]], Sequence[Scalar]],
    ) -> list[Scalar]:  # fmt: skip
        """Emit or unroll a loop with carried values: for i = start … stop: carried = body(i, carried)."""
        if self.is_unrolled and isinstance(start, int) and isinstance(stop, int):
            for i in range(start, stop):
                carried = list(body(i, carried))
            return carried
        return self.b.loop(start, stop, carried, body, is_vectorisable=False)

    def subtracted(
        self, xs: Sequence[Scalar], start: Extent, stop: Extent,
        term: Callable[[Extent], tuple[Scalar, Sequence[Scalar]]],
    ) -> list[Scalar]:  # fmt: skip
        """x − Σ u·v for each x of xs, where (u, vs) = term(k) for k = start … stop, with one v for each x."""

        def step(k: Extent, carried: list[Scalar]) -> list[Scalar]:
            factor, others = term(k)
            return [x - factor * y for x, y in zip(carried, others, strict=True)]

        return self.fold(start, stop, list(xs), step)

    def subtract_products(
        self, x: Scalar, start: Extent, stop: Extent, term: Callable[[Extent], tuple[Scalar, Scalar]]
    ) -> Scalar:
        """x − Σ u·v, where (u, v) = term(k) for k = start … stop."""

        def one(k: Extent) -> tuple[Scalar, list[Scalar]]:
            factor, other = term(k)
            return factor, [other]

        return self.subtracted([x], start, stop, one)[0]

    def is_first(self, failure: Scalar, condition: Scalar, number: Scalar) -> Scalar:
        """Update a failure code: `number` where the condition holds and `failure` is 0, else `failure`."""
        none = self.b.compare("eq", failure, self.b.constant_like(0, failure))
        return self.b.select(none & condition, number, failure)


class RegisterCells:
    """A matrix in registers; its indices must be constants."""

    def __init__(self, rows: int, columns: int) -> None:
        self.rows, self.columns = rows, columns
        self._held: dict[tuple[Extent, Extent], Scalar] = {}

    def load(self, i: Extent, j: Extent) -> Scalar:
        return self._held[i, j]

    def store(self, value: Scalar, i: Extent, j: Extent) -> None:
        assert isinstance(i, int) and isinstance(j, int)
        self._held[i, j] = value


class MatrixCells:
    """A matrix of a tensor, accessed in place; a vector counts as a column."""

    def __init__(self, job: Job, matrix: Matrix) -> None:
        self._job, self._matrix = job, matrix
        rows, columns = matrix.rows, matrix.columns
        assert isinstance(rows, int) and isinstance(columns, int)
        self.rows, self.columns = rows, columns

    def _where(self, i: Extent, j: Extent) -> tuple[Extent, ...]:
        return (i, j)[: len(self._matrix.extents)]

    def load(self, i: Extent, j: Extent) -> Scalar:
        return self._job.load(self._matrix, *self._where(i, j))

    def store(self, value: Scalar, i: Extent, j: Extent) -> None:
        self._job.store(value, self._matrix, *self._where(i, j))


@dataclass(frozen=True, eq=False)
class MemoryCells:
    """A matrix of numbers in separate memory, a buffer of rows × columns × lanes elements."""

    v: Numbers
    memory: SSAValue
    rows: int
    columns: int
    dtype: str

    def start(self, i: Extent, j: Extent) -> Extent:
        """The index of the first lane of a number."""
        return (i * self.columns + j) * self.v.lanes

    def load(self, i: Extent, j: Extent) -> Scalar:
        if self.v.lanes == 1:
            return self.v.b.fetch(self.memory, [self.start(i, j)], self.dtype)
        found = self.v.b.load_vector(self.memory, [self.start(i, j)], self.v.lanes, None)
        return Scalar(found.ssa, self.dtype)

    def store(self, value: Scalar, i: Extent, j: Extent) -> None:
        if self.v.lanes == 1:
            self.v.b.store(value, self.memory, [self.start(i, j)])
        else:
            self.v.b.store_vector(value.ssa, self.memory, [self.start(i, j)], None)


def copy(v: Numbers, source: Cells, target: Cells) -> None:
    """Copy a matrix of numbers."""
    v.emit_loop(
        0, source.rows, lambda i: v.emit_loop(0, source.columns, lambda j: target.store(source.load(i, j), i, j))
    )


@dataclass(frozen=True)
class Line:
    """A column of a matrix, or a row: the numbers of one right-hand side."""

    cells: Cells
    number: Extent
    is_row: bool = False

    def load(self, i: Extent) -> Scalar:
        return self.cells.load(*self._where(i))

    def store(self, value: Scalar, i: Extent) -> None:
        self.cells.store(value, *self._where(i))

    def _where(self, i: Extent) -> tuple[Extent, Extent]:
        return (self.number, i) if self.is_row else (i, self.number)


_TOGETHER: Final = 4
"""Lines that are processed together: each number of the matrix is loaded once for all, and their chains are
independent."""


def each_line(v: Numbers, cells: Cells, body: Callable[[list[Line]], object], is_row: bool = False) -> None:
    """Call body(lines) for all columns of a matrix, or all rows, several lines at a time."""
    b = v.b
    count, length = (cells.rows, cells.columns) if is_row else (cells.columns, cells.rows)
    in_registers = v.is_unrolled and not isinstance(cells, RegisterCells)

    def some(first: Extent, number: int) -> None:
        lines = [Line(cells, first + k, is_row) for k in range(number)]
        held = [Line(RegisterCells(length, 1), 0) for _ in lines] if in_registers else lines
        for source, target in zip(lines, held, strict=True):
            if in_registers:
                v.emit_loop(0, length, lambda i, x=source, y=target: y.store(x.load(i), i))  # type: ignore[misc]
        body(held)
        for source, target in zip(lines, held, strict=True):
            if in_registers:
                v.emit_loop(0, length, lambda i, x=source, y=target: x.store(y.load(i), i))  # type: ignore[misc]

    def step(first: Extent, _: list[Scalar]) -> Sequence[Scalar]:
        some(first, _TOGETHER)
        return ()

    whole = count // _TOGETHER * _TOGETHER
    if whole == _TOGETHER:
        step(0, [])
    elif whole:
        b.loop(0, whole, (), step, step=_TOGETHER, is_vectorisable=False)
    if count > whole:
        some(whole, count - whole)
