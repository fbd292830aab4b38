"""Lower loops and branches over bodies: aot.scan → scf.for or scf.while, aot.branch → scf.if, with inlined bodies.

    %h = aot.scan @body steps %n rows(%x) initial(%h0) …
    →
    for t in 0..n:
      previous = h[t-1], or h0[m+t-1] in the first steps        a choice between two views, nothing is copied
      body(x[t], previous, …) writes h[t]

The values of a state are the rows of its result, or, if only the last one is used, of a ring buffer that has one row
more than the state's number of lags. Scalar states stay in registers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from xdsl.dialects import func
from xdsl.dialects.builtin import SymbolRefAttr, TensorType
from xdsl.ir import SSAValue

from aotensor.ir.dialect import CheckOp
from aotensor.ir.dialect_control import BranchOp, ScanOp
from aotensor.ir.index_builder import Extent
from aotensor.ir.loop_builder import LoopBuilder
from aotensor.ir.scalar_builder import Scalar
from aotensor.ir.upstream import walk
from aotensor.passes.emit.buffers import Buffers
from aotensor.passes.nest.extents import ExtentKey

Argument: TypeAlias = SSAValue | Scalar
"""Argument of a body: the buffer of a tensor, or a scalar."""


class Caller(Buffers, Protocol):
    """The interface of the enclosing function's emitter, which inlines the bodies of loops and branches."""

    def inline(
        self, symbol: str, arguments: Sequence[Argument], outputs: Sequence[SSAValue | None]
    ) -> list[Scalar]: ...
    def can_fail(self, symbol: str) -> bool: ...
    def bind(self, x: SSAValue, value: Scalar) -> None: ...
    def resolve(self, key: ExtentKey) -> Extent: ...


def can_fail(function: func.FuncOp, called: Mapping[str, func.FuncOp]) -> bool:
    """True if a function contains checks, or calls one that does."""
    for op in walk(function):
        if isinstance(op, CheckOp):
            return True
        if isinstance(op, ScanOp | BranchOp):
            bodies = [op.body] if isinstance(op, ScanOp) else [op.then, op.otherwise]
            if any(can_fail(called[_name(body)], called) for body in bodies):
                return True
    return False


def _name(symbol: SymbolRefAttr) -> str:
    return str(symbol.string_value())


# --- branches --------------------------------------------------------------------------------------------------------


def lower_branch(b: LoopBuilder, caller: Caller, op: BranchOp) -> Scalar | None:
    """Emit a branch; each body writes to the buffers of the results. Returns its status if it can fail."""
    arguments = [_argument(caller, x) for x in op.captured]
    outputs = [caller.buffer(x) if isinstance(x.type, TensorType) else None for x in op.outputs]
    sides = [_name(op.then), _name(op.otherwise)]
    status, *scalars = b.branch(
        caller.scalar(op.condition),
        lambda: caller.inline(sides[0], arguments, outputs),
        lambda: caller.inline(sides[1], arguments, outputs),
    )
    for x, value in zip((x for x in op.outputs if not isinstance(x.type, TensorType)), scalars, strict=True):
        caller.bind(x, value)
    return status if any(map(caller.can_fail, sides)) else None


def _argument(caller: Caller, x: SSAValue) -> Argument:
    return caller.buffer(x) if isinstance(x.type, TensorType) else caller.scalar(x)


# --- loops -----------------------------------------------------------------------------------------------------------


def lower_scan(b: LoopBuilder, caller: Caller, op: ScanOp) -> Scalar | None:
    """Emit the loop of a scan. Returns its status if a step can fail."""
    return _ScanLowering(b, caller, op).run()


@dataclass(eq=False)
class _State:
    """One state of a scan: its initial values and its buffer.

    rows: buffer of its values; None for a scalar state whose last value alone is used.
    """

    lags: tuple[int, ...]
    initial: SSAValue
    extents: list[Extent]
    result: SSAValue
    is_stacked: bool
    rows: SSAValue | None

    @property
    def depth(self) -> int:
        return -self.lags[0]

    @property
    def is_scalar(self) -> bool:
        return not self.extents


class _ScanLowering:
    def __init__(self, b: LoopBuilder, caller: Caller, op: ScanOp) -> None:
        self.b, self.caller, self.op = b, caller, op
        self.body = _name(op.body)
        self.rows: tuple[Scalar, Extent] | None = None
        """The start of the current chunk of rows, and its length; None outside chunks."""
        flags = [False] * (len(op.sequences) + len(op.constants)) if op.cut is None else op.cut.get_values()
        self.cut, self.cut_constants = flags[: len(op.sequences)], flags[len(op.sequences) :]
        self.n = caller.resolve(op.steps)
        self.sequences = [(caller.buffer(x), caller.shape(x)[1:]) for x in op.sequences]
        self.constants = [
            (_argument(caller, x), caller.shape(x) if isinstance(x.type, TensorType) else []) for x in op.constants
        ]
        kept = op.stacked.get_values()
        self.states = [
            self._state(op.lags[k], x, op.outputs[k], bool(kept[k])) for k, x in enumerate(op.initial)
        ]  # fmt: skip
        end = len(op.outputs) - (op.conditional is not None)
        self.mapped = [(caller.buffer(x), caller.shape(x)[1:]) for x in op.outputs[len(self.states) : end]]

    def _state(self, lags: tuple[int, ...], initial: SSAValue, result: SSAValue, is_stacked: bool) -> _State:
        extents = self.caller.shape(initial)[1:]
        rows: SSAValue | None = None
        if is_stacked:
            rows = self.caller.buffer(result)
        elif extents:
            assert isinstance(initial.type, TensorType)
            rows = self.b.allocate(initial.type.element_type, [1 - lags[0], *extents])
        return _State(lags, self.caller.buffer(initial), extents, result, is_stacked, rows)

    def run(self) -> Scalar | None:
        b, fails, stops = self.b, self.caller.can_fail(self.body), self.op.conditional is not None
        if self.op.chunk is not None:
            self._run_chunks(self.caller.resolve(self.op.chunk))
            self._finish(self.n, [])
            return None
        start = [b.fetch(s.initial, [k], "raw") for s in self.states if s.is_scalar for k in range(s.depth)]
        status: Scalar | None = None
        taken = self.n
        if not fails and not stops:
            carried = b.loop(0, self.n, start, lambda t, values: self._step(t, values)[2], is_vectorisable=False)
        else:
            t, status, _, *carried = self._run_while(start)
            taken = t if stops else self.n
        self._finish(taken, carried)
        return status if fails else None

    def _run_chunks(self, size: Extent) -> None:
        """Emit the loop for several cores: each chunk runs all steps for some rows, or some steps.

        Where a single chunk holds everything, as steps have work for all cores, their own loops run on several cores
        instead, which they cannot inside of a chunk.
        """
        b = self.b
        count = self.states[0].extents[0] if self.states else self.n

        def steps(start: Extent, stop: Extent) -> Sequence[Scalar]:
            return b.loop(start, stop, [], lambda t, _: self._step(t, [])[2], is_vectorisable=False)

        def all_steps(start: Scalar) -> None:
            rows = size
            if not isinstance(count, int) or not isinstance(size, int) or count % size:
                live = b.index(b.imin(count - start, size))
                b.bounds[live.ssa], rows = size, live
            self.rows = start, rows
            steps(0, self.n)
            self.rows = None

        def some_steps(start: Scalar) -> None:
            steps(start, b.imin(start + size, count))

        def chunks() -> Sequence[Scalar]:
            b.parallel(count, size, all_steps if self.states else some_steps)
            return ()

        if isinstance(count, int) and isinstance(size, int):
            chunks()  # the body was built for this number of rows
        else:
            b.branch(b.index(size) < count, chunks, lambda: steps(0, self.n))

    def _run_while(self, start: Sequence[Scalar]) -> list[Scalar]:
        """Emit a loop that ends when a step fails or stops.

        Returns the number of steps, the status, the stop flag, and the scalar states.
        """
        b = self.b
        good, no = b.constant(0, "int32"), b.constant(False, "bool")

        def goes_on(values: list[Scalar]) -> Scalar:
            t, status, stop, *_ = values
            is_good = b.compare("eq", status, b.constant(0, "int32")) & ~stop
            return (t < self.n) & is_good

        def body(values: list[Scalar]) -> Sequence[Scalar]:
            t, _, _, *carried = values
            status, stop, carried = self._step(t, carried)
            return [t + 1, status, stop or no, *carried]

        return b.loop_while([b.index(0), good, no, *start], goes_on, body)

    # --- one step ------------------------------------------------------------------------------------------------

    def _step(self, t: Scalar, carried: Sequence[Scalar]) -> tuple[Scalar, Scalar | None, list[Scalar]]:
        """Emit step t; return its status, whether to stop, and the scalar states after the step."""
        b = self.b
        row = self.n - 1 - t if self.op.reversed is not None else t
        registers = self._registers(carried)
        arguments: list[Argument] = [
            self._row(buffer, row, extents, bool(is_cut))
            for (buffer, extents), is_cut in zip(self.sequences, self.cut, strict=True)
        ]
        for state, values in zip(self.states, registers, strict=True):
            for lag in state.lags:
                arguments.append(values[lag] if state.is_scalar else self._earlier_state(state, t, row, lag))
        outputs = [self._output(s, t, row) for s in self.states]
        outputs += [
            self._chunk_rows(b.row(buffer, row, extents), extents) if extents else None
            for buffer, extents in self.mapped
        ]
        constants = [
            self._chunk_rows(x, extents) if is_cut and isinstance(x, SSAValue) else x
            for (x, extents), is_cut in zip(self.constants, self.cut_constants, strict=True)
        ]
        stops = self.op.conditional is not None
        status, *scalars = self.caller.inline(
            self.body, [*arguments, *constants], [*outputs, *([None] if stops else [])]
        )
        return status, scalars[-1] if stops else None, self._store_states(row, registers, iter(scalars))

    def _registers(self, carried: Sequence[Scalar]) -> list[list[Scalar]]:
        """The former values of each scalar state, the oldest value first."""
        values = iter(carried)
        return [[next(values) for _ in range(s.depth)] if s.is_scalar else [] for s in self.states]

    def _row(self, buffer: SSAValue, row: Extent, extents: Sequence[Extent], is_cut: bool) -> Argument:
        if not extents:
            return self.b.fetch(buffer, [row], "raw")
        view = self.b.row(buffer, row, extents)
        return self._chunk_rows(view, extents) if is_cut else view

    def _chunk_rows(self, buffer: SSAValue, extents: Sequence[Extent]) -> SSAValue:
        """The rows of a value that belong to the current chunk."""
        if self.rows is None:
            return buffer
        start, count = self.rows
        return self.b.part(buffer, start, [count, *extents[1:]])

    def _earlier_state(self, state: _State, t: Scalar, row: Extent, lag: int) -> SSAValue:
        """The value of a state at step t + lag (lag < 0); in the first steps one of the initial values."""
        b = self.b
        assert state.rows is not None
        first = b.row(state.initial, t + (state.depth + lag), state.extents)
        if not state.is_stacked:
            where: Extent = self._slot(state, t + lag)
        else:
            where = row - lag if self.op.reversed is not None else row + lag
        is_first = t < -lag
        later = b.row(state.rows, where, state.extents)
        return b.choose(is_first, *(self._chunk_rows(x, state.extents) for x in (first, later)))

    def _slot(self, state: _State, step: Extent) -> Extent:
        """The row of the ring buffer that holds a state's value of a step. Steps are numbered from −depth."""
        length = state.depth + 1
        return (step + length) % length

    def _output(self, state: _State, t: Scalar, row: Extent) -> SSAValue | None:
        """The buffer for the new value of a state; None for a scalar state, whose value the body returns."""
        if state.is_scalar:
            return None
        assert state.rows is not None
        slot = row if state.is_stacked else self._slot(state, t)
        return self._chunk_rows(self.b.row(state.rows, slot, state.extents), state.extents)

    def _store_states(self, row: Extent, registers: Sequence[list[Scalar]], made: Iterator[Scalar]) -> list[Scalar]:
        """Store the scalar states of a step to their buffers; return the scalar states for the next step."""
        carried: list[Scalar] = []
        for state, values in zip(self.states, registers, strict=True):
            if state.is_scalar:
                new = next(made)
                carried += [*values[1:], new]
                if state.rows is not None:
                    self.b.store(new, state.rows, [row])
        for buffer, extents in self.mapped:
            if not extents:
                self.b.store(next(made), buffer, [row])
        return carried

    # --- behind the loop -----------------------------------------------------------------------------------------

    def _finish(self, taken: Extent, carried: Sequence[Scalar]) -> None:
        """Copy out the last values of states that are not stacked, and bind the number of completed steps."""
        b = self.b
        for state, values in zip(self.states, self._registers(carried), strict=True):
            if state.is_stacked:
                continue
            if state.is_scalar:
                self.caller.bind(state.result, values[-1])
                continue
            source = self._last(state, taken)
            target = self.caller.buffer(state.result)
            b.nest(state.extents, lambda at, x=source, y=target: b.store(b.fetch(x, at, "raw"), y, at))  # type: ignore[misc]
        if self.op.conditional is not None:
            self.caller.bind(self.op.outputs[-1], b.cast(b.index(taken), "int64"))

    def _last(self, state: _State, taken: Extent) -> SSAValue:
        """The value of a state after all steps."""
        b = self.b
        assert state.rows is not None
        steps = b.as_extent(taken) if isinstance(taken, Scalar) else taken
        if steps == 0:
            return b.row(state.initial, state.depth - 1, state.extents)
        later = b.row(state.rows, self._slot(state, steps - 1), state.extents)
        if isinstance(steps, int):
            return later
        first = b.row(state.initial, state.depth - 1, state.extents)
        return b.choose(b.compare("eq", b.index(steps), b.index(0)), first, later)
