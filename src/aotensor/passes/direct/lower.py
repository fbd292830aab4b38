"""Lower `aot.direct` to calls of its kernels, with their workspace.

The size of factors is known only after elimination: columns are factorized while there is room, then the memory grows.

    %f = aot.direct "lu" %data …   →   %rows, %lower, … = scf.while (%k, %room, %rows0, %lower0, …) {
                                         %next = func.call @aot_direct.factor_columns.f64…(%k, …)
                                         %rows2 = memref.realloc %rows1(%room2) … }
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Final, Protocol

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.ir import SSAValue

from aotensor.errors import InternalError
from aotensor.ir.dialect_sparse import DirectOp
from aotensor.ir.index_builder import Extent
from aotensor.ir.loop_builder import LoopBuilder
from aotensor.ir.scalar_builder import Scalar
from aotensor.ir.types import element_type
from aotensor.ir.upstream import ReallocOp
from aotensor.passes.emit.buffers import Buffers
from aotensor.passes.kernels.functions import call_kernel
from aotensor.sparse.direct import cholesky, lu, lu_solve, ordering, selected_inverse, triangle
from aotensor.sparse.direct.ops import LU_MARKS, TOLERANCE

RESIZABLE: Final = "grows"
"""Attribute with a number, on an allocation, on its reallocation, and on the view that is the result."""


class DirectEmitter(Buffers, Protocol):
    """A function emitter that lets an operation bind the values and buffers of its results."""

    buffers: dict[SSAValue, SSAValue]

    def bind(self, x: SSAValue, value: Scalar) -> None: ...


def lower_direct(
    b: LoopBuilder, function: DirectEmitter, op: DirectOp, module: ModuleOp, numbers: Iterator[int]
) -> None:
    """Lower one `aot.direct` operation by its kind. numbers: yields unique numbers for growing buffers."""
    step = _Step(b, function, op, module)
    match op.kind.data:
        case "order":
            step.order()
        case "lu":
            step.lu(numbers)
        case "cholesky":
            step.cholesky(numbers)
        case "cholesky_solve":
            step.cholesky_solve()
        case "cholesky_pivots":
            step.cholesky_pivots()
        case "half_solve" | "half_solve_transposed":
            step.half_solve(op.kind.data == "half_solve_transposed")
        case kind if kind.startswith("selected_entries_"):
            step.selected_entries(int(kind.rsplit("_", 1)[1]))
        case "lu_solve":
            step.lu_solve(is_transposed=False)
        case "lu_solve_transposed":
            step.lu_solve(is_transposed=True)
        case kind if kind.startswith("triangle_by_"):
            step.triangle(*kind.split("_")[2:])
        case kind:
            raise InternalError(f"emit: aot.direct {kind} is not known")


class _Step:
    """The lowering of one `aot.direct` operation: its operands, workspace and results."""

    def __init__(self, b: LoopBuilder, function: DirectEmitter, op: DirectOp, module: ModuleOp) -> None:
        self.b, self.function, self.op, self.module = b, function, op, module
        kinds = [x.type.element_type for x in op.arguments]  # type: ignore[attr-defined]
        self.dtype = "float32" if element_type("float32") in kinds else "float64"

    def call(self, kernel: object, *arguments: Scalar | SSAValue) -> Scalar:
        """Call a kernel and return its result; 0 if it returns none."""
        found = call_kernel(self.b, self.module, kernel, arguments, self.dtype)  # type: ignore[arg-type]
        return found if found is not None else self.b.index(0)

    def vector(self, x: SSAValue) -> SSAValue:
        """Return an operand as a 1-D buffer; a row of another buffer is copied."""
        home, shape = self.function.buffer(x), self.function.shape(x)
        own = self.b.own_buffer(home, shape)
        self.b.copy(home, own, shape)
        return self.flat(own, shape)

    def flat(self, buffer: SSAValue, shape: Sequence[Extent]) -> SSAValue:
        size: Extent = prod(shape)
        return self.b.reinterpret(buffer, [self.b.index(size)])

    def work(self, dtype: str, size: Extent) -> SSAValue:
        """Allocate workspace for this operation."""
        return self.b.allocate(element_type(dtype), [self.b.index(size)])

    def result(self, number: int) -> tuple[SSAValue, SSAValue]:
        """(own, flat): a buffer for result `number`, and its 1-D view.

        The buffer is temporary if the result is a row of another.
        """
        x = self.op.tensors[number]
        home, shape = self.function.buffer(x), self.function.shape(x)
        own = self.b.own_buffer(home, shape)
        return own, self.flat(own, shape)

    def finish(self, number: int, own: SSAValue) -> None:
        """Copy a result from its temporary buffer to its destination."""
        x = self.op.tensors[number]
        self.b.copy(own, self.function.buffer(x), self.function.shape(x))

    # --- steps ---------------------------------------------------------------------------------------------------

    def order(self) -> None:
        b = self.b
        indices, indptr, columns, rows = (self.vector(x) for x in self.op.arguments)
        n = b.index(self.function.shape(self.op.arguments[1])[0] - 1)
        dense = self.call(ordering.longest_sparse, n)
        is_full = self.call(ordering.has_diagonal, n, indptr, indices)
        graph = n, indptr, indices, rows, columns, is_full, dense
        room = self.call(ordering.graph_room, *graph)
        size = self.call(ordering.size_of_lists, n, room)
        lists, spare = (self.work("int64", size) for _ in range(2))
        above = n + 1
        start, length, *work = (self.work("int64", above) for _ in range(11))
        used = self.call(ordering.neighbours, *graph, start, length, lists, work[0])
        own, order = self.result(0)
        self.call(ordering.minimum_degree, n, dense, size, used, start, length, lists, spare, *work, order)
        self.finish(0, own)
        own, flag = self.result(1)
        b.store(b.cast(is_full, "int64"), flag, [0])
        self.finish(1, own)

    def lu(self, numbers: Iterator[int]) -> None:
        b = self.b
        data, indices, indptr, order, flag = (self.vector(x) for x in self.op.arguments)
        (n,) = (b.index(x) for x in self.function.shape(self.op.arguments[3]))
        is_full = b.compare("ne", b.fetch(flag, [0], "int64"), b.constant(0, "int64"))
        tolerance = b.select(is_full, b.constant(TOLERANCE, self.dtype), b.constant(1.0, self.dtype))
        (position, table, info), owns = self._known(3)
        x, part, sums = (self.work(self.dtype, n) for _ in range(3))
        marks = [self.work("int64", n + 1) for _ in range(LU_MARKS)]
        self.call(lu.begin_factors, n, position, table, info, x, *marks[:2])
        nnz = b.index(self.function.shape(self.op.arguments[0])[0])
        room = nnz * 8 + (n * 4 + 4)

        def columns(k: Scalar, room: Scalar, memory: Sequence[SSAValue]) -> Scalar:
            known = n, tolerance, room, indptr, indices, data, order, position, table
            return self.call(lu.factor_columns, k, *known, *memory, info, x, part, sums, *marks)

        memory = self._allocate_growing(self.op.tensors[3:], n, room, columns, numbers, info)
        self.call(lu.name_rows, n, position, table, memory[0], info)
        for number, found in enumerate(memory):
            self._bind_count(number, 3 + number, found, b.cast(b.fetch(info, [2 + number], "int64"), "index"))
        for number, own in enumerate(owns):
            self.finish(number, own)

    def cholesky(self, numbers: Iterator[int]) -> None:
        b = self.b
        data, indices, indptr, order = (self.vector(x) for x in self.op.arguments)
        (n,) = (b.index(x) for x in self.function.shape(self.op.arguments[3]))
        (table, info), owns = self._known(2)
        position, *marks = (self.work("int64", n + 1) for _ in range(9))
        self.call(cholesky.begin_patterns, n, order, position, table, info, *marks[:2])
        nnz = b.index(self.function.shape(self.op.arguments[0])[0])
        work = marks[2], self.work("int64", nnz), marks[3]
        unpaired = self.call(cholesky.first_unpaired, n, indptr, indices, *work)
        b.store(b.cast(-unpaired, "int64"), info, [0])
        room = nnz * 2 + (n * 2 + 4)

        def patterns(k: Scalar, room: Scalar, memory: Sequence[SSAValue]) -> Scalar:
            known = n, room, indptr, indices, order, position, table
            return self.call(cholesky.find_patterns, k, *known, *memory, info, *marks[:5])

        (rows,) = self._allocate_growing([self.op.tensors[2]], n, room, patterns, numbers, info)
        places, values = (b.cast(b.fetch(info, [k], "int64"), "index") for k in (2, 3))
        self.call(cholesky.sort_rows, n, table, rows, info, marks[0], self.work("int64", places))
        lower, known = self.work(self.dtype, values), (n, indptr, indices, data, order, position, table, rows)
        node_of, *rest = marks[3], *marks[:3], marks[4], self.work(self.dtype, n)
        self.call(cholesky.factor_nodes, *known, lower, info, node_of, *rest)
        self._bind_count(0, 2, rows, places)
        self._bind_count(1, 3, lower, values)
        for number, own in enumerate(owns):
            self.finish(number, own)

    def cholesky_solve(self) -> None:
        right, *factors = (self.vector(x) for x in self.op.arguments)
        n, many = self._extents(0)
        own, x = self.result(0)
        y, sums = self.work(self.dtype, n * many), self.work(self.dtype, n)
        self.call(lu_solve.solve_symmetric, n, many, *factors, right, y, sums, x)
        self.finish(0, own)

    def half_solve(self, is_transposed: bool) -> None:
        b = self.b
        right, *factors = (self.vector(x) for x in self.op.arguments)
        n, many = self._extents(0)
        own, x = self.result(0)
        y, sums = self.work(self.dtype, n * many), self.work(self.dtype, n)
        self.call(lu_solve.solve_half, n, many, b.index(int(is_transposed)), *factors, right, y, sums, x)
        self.finish(0, own)

    def cholesky_pivots(self) -> None:
        order, table, info, _, lower = (self.vector(x) for x in self.op.arguments)
        own, pivots = self.result(0)
        self.call(selected_inverse.read_pivots, self._extents(0)[0], order, table, info, lower, pivots)
        self.finish(0, own)

    def selected_entries(self, directions: int) -> None:
        b = self.b
        given, indices, indptr, order, table, info, rows, values = (self.vector(x) for x in self.op.arguments)
        nnz, n, size = self._extents(1)[0], self._extents(3)[0], self._extents(7)[0]
        parts, splits = b.index(2**directions), self.work("int64", 2 * 3**directions)
        begins = self.work("int64", 2**directions + 1)
        position, node_of, *marks = (self.work("int64", n + 1) for _ in range(6))
        tallest = self.call(selected_inverse.name_nodes, n, order, table, info, position, node_of)
        self.call(selected_inverse.find_splits, parts, splits, begins)
        whole = size * parts
        lower, inverse = self.work(self.dtype, whole), self.work(self.dtype, whole)
        b.copy(values, b.reinterpret(lower, [size]), [size])
        sums, shares = self.work(self.dtype, n + 1), self.work(self.dtype, parts)
        if directions:
            pattern = n, parts, nnz, indptr, indices, given, position, table, rows, info
            made = lower, self.work(self.dtype, whole), node_of, splits, begins
            self.call(selected_inverse.factor_parts, *pattern, *made, *marks, sums)
        square = self.work(self.dtype, tallest * tallest * parts)
        known = n, parts, tallest, table, rows, info, lower, node_of, splits, begins
        self.call(selected_inverse.invert_selected, *known, marks[0], square, shares, sums, inverse)
        own, x = self.result(0)
        start = size * (2**directions - 1)
        self.call(selected_inverse.read_entries, n, start, indptr, indices, position, node_of, table, rows, inverse, x)
        self.finish(0, own)

    def lu_solve(self, is_transposed: bool) -> None:
        b = self.b
        right, *factors = (self.vector(x) for x in self.op.arguments)
        n, many = self._extents(0)
        order, position, table, info, *values = factors
        own, x = self.result(0)
        y, sums = self.work(self.dtype, n * many), self.work(self.dtype, n)
        flag = b.index(int(is_transposed))
        self.call(lu_solve.solve_factored, n, many, flag, order, position, table, info, *values, right, y, sums, x)
        self.finish(0, own)

    def triangle(self, slices: str, direction: str, *unit: str) -> None:
        b = self.b
        data, indices, indptr, right = (self.vector(x) for x in self.op.arguments)
        n, many = self._extents(3)
        (own, x), (home, failure) = self.result(0), self.result(1)
        b.copy(right, x, [n * many + 0])
        kernel = triangle.solve_by_rows if slices == "rows" else triangle.solve_by_columns
        sign = b.index(1 if direction == "forward" else -1)
        place = self.call(kernel, n, many, sign, b.index(len(unit)), indptr, indices, data, x)
        b.store(b.cast(place, "int64"), failure, [0])
        self.finish(0, own)
        self.finish(1, home)

    def _known(self, count: int) -> tuple[list[SSAValue], list[SSAValue]]:
        """The 1-D views and the buffers of the first `count` results, whose extents are known."""
        pairs = [self.result(number) for number in range(count)]
        return [flat for _, flat in pairs], [own for own, _ in pairs]

    def _extents(self, number: int) -> tuple[Scalar, Scalar]:
        """The numbers of rows and columns of the right-hand side, operand `number`."""
        shape = self.function.shape(self.op.arguments[number])
        return self.b.index(shape[0]), self.b.index(shape[1] if len(shape) > 1 else 1)

    def _allocate_growing(
        self,
        tensors: Sequence[SSAValue],
        n: Scalar,
        room: Scalar,
        columns: Callable[[Scalar, Scalar, Sequence[SSAValue]], Scalar],
        numbers: Iterator[int],
        info: SSAValue,
    ) -> list[SSAValue]:
        """Allocate results whose size grows: repeat `columns`, which returns the first column that did not fit.

        Stops after the last column, or when info reports a missing pivot.
        """
        b = self.b
        tags = [IntegerAttr(next(numbers), i64) for _ in tensors]
        memory = []
        for tensor, tag in zip(tensors, tags, strict=True):
            buffer = b.allocate(tensor.type.element_type, [room])  # type: ignore[attr-defined]
            buffer.owner.attributes[RESIZABLE] = tag  # type: ignore[union-attr]
            memory.append(buffer)

        def goes_on(state: list[Scalar]) -> Scalar:
            has_pivots = b.compare("eq", b.fetch(info, [0], "int64"), b.constant(0, "int64"))
            return (state[0] < n) & has_pivots

        def step(state: list[Scalar]) -> list[Scalar]:
            k, room, *rest = state
            buffers = [x.ssa for x in rest]
            done = columns(k, room, buffers)
            larger = b.select(done < n, room + room, room)
            moved = []
            for buffer, tag in zip(buffers, tags, strict=True):
                op = ReallocOp(buffer, larger.ssa)
                op.attributes[RESIZABLE] = tag
                moved.append(b.emit(op, "raw"))
            return [done, larger, *moved]

        _, _, *found = b.loop_while([b.index(0), room, *(Scalar(x, "raw") for x in memory)], goes_on, step)
        views = []
        for x, tag in zip(found, tags, strict=True):
            view = b.reinterpret(x.ssa, [b.index(b.extent_of(x.ssa, 0))])
            view.owner.attributes[RESIZABLE] = tag  # type: ignore[union-attr]
            views.append(view)
        return views

    def _bind_count(self, number: int, result: int, buffer: SSAValue, count: Scalar) -> None:
        """Bind the number of elements of a result; the result is the first `count` elements of a buffer."""
        self.function.bind(self.op.counts[number], count)
        self.function.buffers[self.op.tensors[result]] = self.b.reinterpret(buffer, [count])
