"""scan: loops defined by a function of one step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace as changed
from itertools import chain
from typing import Any

from aotensor.core import dtypes
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.coercion import coerced
from aotensor.graph.expansion import without_complex
from aotensor.graph.op import Apply, tracing
from aotensor.graph.operations import sparse
from aotensor.graph.subgraph import Subgraph
from aotensor.graph.variable import SharedVariable, Variable, constant
from aotensor.graph.walk import replace
from aotensor.ops.complex.loops import RealLoop
from aotensor.ops.elementwise.compare import neq
from aotensor.ops.scan.arguments import State, as_list, make_state, read_outputs, read_sequences, step_count
from aotensor.ops.scan.layout import Results, merged_dims
from aotensor.ops.scan.loop_state import assemble_value, dense_values
from aotensor.ops.scan.op import Scan
from aotensor.ops.scan.step import StepResult, Updates, captures, check_strict, parse


@coerced
def scan(
    fn: Callable[..., Any],
    sequences: Any = None,
    outputs_info: Any = None,
    non_sequences: Any = None,
    n_steps: Any = None,
    truncate_gradient: int = -1,
    go_backwards: bool = False,
    mode: Any = None,
    name: str | None = None,
    profile: bool = False,
    allow_gc: bool | None = None,
    strict: bool = False,
    return_list: bool = False,
    return_updates: bool = True,
) -> Any:
    """A loop: (outputs stacked along a new first axis, next values of shared variables).

    fn: one step. It takes a row of each sequence, the earlier values of each output that is fed back, and the
    non-sequences; it returns the new outputs, and may add a dict of updates of shared variables and `until(condition)`.
    Other outer variables that it reads become non-sequences by themselves; sparse matrices can only be non-sequences.
    sequences: variables, whose row t step t reads, or dicts of input and taps: row t + tap for each of the taps.
    outputs_info: for each output the value before the first step; a dict of initial (the oldest row first) and taps,
    like [-2, -1]; or None for an output that is not fed back.
    n_steps: the number of steps, by default as many as the shortest sequence allows.
    truncate_gradient: differentiate only this number of last steps; −1 is all.
    go_backwards: read the sequences from their last row to the first.
    strict: refuse a step that reads variables other than its arguments.
    return_list: a list even for one output. return_updates: False leaves the updates out.
    mode, profile, allow_gc: accepted for programs written for other compilers; they change nothing.

    Raises: GraphValueError for lengths, taps or options that do not fit, or an output of another dtype, rank or extent
    than its initial value; GraphTypeError for arguments of another kind.
    """
    if isinstance(truncate_gradient, bool) or not isinstance(truncate_gradient, int) or truncate_gradient < -1:
        raise GraphValueError(
            f"scan: truncate_gradient must be a number of steps, or −1 for all, not {truncate_gradient!r}"
        )
    if not callable(fn):
        raise GraphTypeError(f"scan: fn must be a function of one step, not {type(fn).__name__}")
    real = RealLoop(fn, sequences, outputs_info)
    loop = Loop(real.step, real.sequences, real.outputs_info, non_sequences, n_steps, go_backwards, strict)
    pairs, updates = loop.run(truncate_gradient, name or "")
    outputs = real.to_complex(pairs)
    result: Any = outputs[0] if len(outputs) == 1 and not return_list else outputs
    if not return_updates:
        if updates:
            raise GraphValueError("scan: the step updates shared variables, which return_updates=False would drop")
        return result
    return result, updates


class Loop:
    """The builder of a loop: reads the arguments of `scan`, runs the step on symbols, creates the op.   Raises: as
    `scan`.
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        sequences: Any,
        outputs_info: Any,
        non_sequences: Any,
        n_steps: Any = None,
        go_backwards: bool = False,
        strict: bool = False,
    ) -> None:
        self._fn, self._strict = fn, strict
        self._rows, lengths = read_sequences(sequences, go_backwards)
        self._states = read_outputs(outputs_info)
        self._constants = [sparse.as_sparse_or_tensor(x) for x in as_list(non_sequences)]
        self._n_steps = step_count(n_steps, lengths)
        self._made: list[Apply] = []

    def run(
        self,
        truncate: int,
        label: str,
        keep_last: bool | Sequence[bool] = False,
        frugal: bool = False,
        pads: bool = False,
        keeps_rows: bool = False,
    ) -> tuple[list[Variable], Updates]:
        """The outputs and the updates.

        keep_last: of the outputs that are fed back, or of some of them, the last values alone. truncate, label, frugal,
        pads, keeps_rows: as in `Scan`.
        """
        result, states = self._step()
        carried = {x: make_state(x, (-1,), str(x)) for x in result.updates}
        for target, new in result.updates.items():
            _check_update(target, new)
        fed = [(x, state) for x, state in zip(result.outputs, states, strict=True) if state is not None]
        made = Results(
            [*(x for x, _ in fed), *result.updates.values()],
            [x for x, state in zip(result.outputs, states, strict=True) if state is None],
            None if result.condition is None else _as_bool(result.condition),
        )
        kept = [keep_last] * len(fed) if isinstance(keep_last, bool) else keep_last
        stacked = [not x for x in kept] + [False] * len(carried)
        op, operands = self._assembled([*(state for _, state in fed), *carried.values()], made, carried, stacked)
        op = changed(op, label=label, truncate=truncate, is_frugal=frugal, pads=pads, keeps_rows=keeps_rows)
        results = op.results(op.apply(*operands).outputs)
        values, others = iter(results.states), iter(results.mapped)
        outputs = [next(others) if state is None else next(values) for state in states]
        return outputs, dict(zip(carried, values, strict=True))

    def _assembled(
        self, states: list[State], made: Results[Variable], carried: dict[SharedVariable, State], stacked: list[bool]
    ) -> tuple[Scan, list[Variable]]:
        """The op and its inputs; outer values that the step reads become non-sequences."""
        taps = [state.by_lag() for state in states]
        slots = [*(row.slot for row in self._rows), *(slot for _, found in taps for slot in found)]
        outer = captures(made.flat(), [*slots, *carried], set(self._made))
        if self._strict:
            check_strict(outer, [*self._constants, *(row.rows for row in self._rows)])
        operands = [dense_values(x) for x in outer]
        symbols = [[Variable(x.type, name=x.name) for x in values] for values in operands]
        inner = {x: assemble_value(x.tensor_type, iter(own)) for x, own in zip(outer, symbols, strict=True)}
        outputs = replace(made.flat(), {**inner, **{x: state.slots[0] for x, state in carried.items()}})
        outputs = without_complex(outputs, [*slots, *chain(*symbols)])
        op = Scan(
            Subgraph((*slots, *chain(*symbols)), tuple(outputs)),
            len(self._rows),
            tuple(lags for lags, _ in taps),
            tuple(stacked),
            len(made.mapped),
            made.last is not None,
        )
        return op, [self._n_steps, *(row.rows for row in self._rows), *(s.initial for s in states), *chain(*operands)]

    def _step(self) -> tuple[StepResult, list[State | None]]:
        """Call the step on symbols; a second time if initial Python numbers get the dtype of their new values."""
        result = self._call()
        states = self._matched(result)
        fitted = [_with_dtype_of(state, x) for state, x in zip(states, result.outputs, strict=True)]
        if any(new is not old for new, old in zip(fitted, states, strict=True)):
            self._states = fitted
            result = self._call()
        for position, (state, x) in enumerate(zip(fitted, result.outputs, strict=True)):
            if state is not None:
                _check_state(position, state, x)
        return result, fitted

    def _call(self) -> StepResult:
        taps = [slot for state in self._states if state is not None for slot in state.slots]
        with tracing() as self._made:
            return parse(self._fn(*(row.slot for row in self._rows), *taps, *self._constants))

    def _matched(self, result: StepResult) -> list[State | None]:
        """One state (or None) per output of the step.   Raises: GraphValueError if outputs_info has another length."""
        if not self._states:
            return [None] * len(result.outputs)
        if len(self._states) != len(result.outputs):
            raise GraphValueError(
                f"scan: the step returns {len(result.outputs)} outputs, outputs_info has {len(self._states)} entries",
                lines=[x.describe() for x in result.outputs],
                hint="use None for an output that is not fed back",
            )
        return self._states


def _with_dtype_of(state: State | None, x: Variable) -> State | None:
    """A state whose initial value is a Python number, converted to the dtype of its new value if that holds the
    number.
    """
    if state is None or state.literal is None or state.initial.dtype == x.dtype or x.ndim != 0:
        return state
    if isinstance(state.literal, float) and not dtypes.is_float(x.dtype):
        return state
    return make_state(constant(state.literal, dtype=x.dtype), state.lags, "", state.literal)


def _check_state(position: int, state: State, x: Variable) -> None:
    """Check the new value of a state.   Raises: GraphValueError if dtype, rank or static extents differ from the
    initial ones.
    """
    slot = state.slots[0]
    lines = [f"before: {slot.describe()}", f"after: {x.describe()}"]
    if x.dtype != slot.dtype:
        title = f"scan: output {position} starts as {slot.dtype} and becomes {x.dtype}"
        raise GraphValueError(title, lines=lines, hint=f"cast one of them, as in x.astype({slot.dtype!r})")
    if x.ndim != slot.ndim:
        raise GraphValueError(
            f"scan: output {position} has an initial value of rank {slot.ndim}, but the step returns rank {x.ndim}",
            lines=lines,
        )
    try:
        merged_dims(f"output {position}", slot.tensor_type.shape, x.tensor_type.shape)
    except GraphValueError as error:
        raise GraphValueError(f"scan: {error.diagnostic.title}", lines=lines) from error


def _check_update(target: SharedVariable, new: Variable) -> None:
    if (new.dtype, new.ndim) != (target.dtype, target.ndim):
        lines = [target.describe(), new.describe()]
        raise GraphTypeError(f"scan: the update of the shared variable {target} must have its type", lines=lines)


def _as_bool(condition: Variable) -> Variable:
    return condition if condition.dtype == "bool" else neq(condition, 0)
