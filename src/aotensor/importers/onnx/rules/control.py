"""If, Loop and Scan as `ifelse` and `scan`; inner graphs may use tensors of outer graphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

import aotensor as aot
import aotensor.tensor as at
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.importers.base import Unsuited
from aotensor.importers.check import checked, printable
from aotensor.importers.loops import MANY, looped
from aotensor.importers.onnx.node import Node
from aotensor.importers.onnx.rules.table import rule

_ROWS: Final = 1 << 16
"""Results of steps that have a place before it is known how many there are."""


_UNROLLED: Final = 64
"""Steps of a loop that are written out one after the other, where states change their extents."""


@rule("If")
def branches(node: Node, scope: Any, condition: Any) -> Any:
    """Only the chosen branch is computed; a condition that is known selects it when the model is read.

    Extents may differ, ranks and dtypes not. A graph whose types do not fit, as one for other extents than those that
    inputs have here, is an error of the call that chooses it.
    """
    if isinstance(condition, at.Constant):
        chosen = "then_branch" if bool(condition.data.reshape(-1)[0]) else "else_branch"
        return node.walk.subgraph(node[chosen], [], scope)
    sides = []
    for name, other in (("then_branch", "else_branch"), ("else_branch", "then_branch")):
        try:
            sides.append(node.walk.subgraph(node[name], [], scope))
        except (GraphTypeError, GraphValueError) as error:
            flag = at.reshape(condition, ())
            fits = at.invert(flag) if name == "then_branch" else flag
            return _checked(node, node.walk.subgraph(node[other], [], scope), fits, f"{name}: {error.diagnostic.title}")
    if len(sides[0]) != len(sides[1]):
        raise GraphValueError(f"its then_branch returns {len(sides[0])} tensors, and its else_branch {len(sides[1])}")
    wanted = [k for k in range(len(sides[0])) if node.wants(k)]
    for x, y, name in ((sides[0][k], sides[1][k], node.outputs[k]) for k in wanted):
        if x.type.dtype != y.type.dtype or x.type.ndim != y.type.ndim:
            raise Unsuited(
                f"its output {name!r} has type {x.type} in then_branch and {y.type} in else_branch; ranks and dtypes "
                "must agree "
                "unless the condition is known when the model is read: fixed extents may make it known"
            )
    then, otherwise = ([side[k] for k in wanted] for side in sides)
    found = iter(aot.ifelse(at.reshape(condition, ()), then, otherwise))
    return [next(found) if k in wanted else None for k in range(len(sides[0]))]


def _checked(node: Node, outputs: list[Any], fits: Any, message: str) -> list[Any]:
    """The outputs of the branch whose types fit, with a check that the condition selects it; other calls fail with the
    message.
    """
    return [checked(printable(message), x, fits) if node.wants(k) else None for k, x in enumerate(outputs)]


@rule("Loop")
def loop(node: Node, scope: Any, count: Any, condition: Any, *initial: Any) -> Any:
    """Up to a number of steps, while a condition holds, or both; states keep their extents.

    Where a condition may end a loop of very many steps that have results, it runs twice: first to count them. States
    may change their extents in at most 64 steps, if their number is known when the model is read.
    """
    body = node["body"]
    if None in initial:
        raise GraphValueError("an initial state is missing")
    states = [at.tensor_copy(x) for x in initial]
    names = [item.name for item in body.input[2:]]
    collected = len(body.output) - 1 - len(states)
    limit = MANY if count is None else _limit(node, count)

    def step(number: Any, *values: Any) -> tuple[Any, list[Any]]:
        outputs = node.walk.subgraph(body, [number, at.constant(np.bool_(True)), *values], scope)
        return outputs[0], _fitting(outputs[1:], states, names)

    def counted(number: Any, *values: Any) -> list[Any]:
        return step(number, *values)[1]

    def guarded(number: Any, *values: Any) -> Any:
        going, results = step(number, *values)
        return [number + 1, *results], aot.until(at.invert(at.reshape(going, ())))

    if _keeps_condition(body):
        if count is None:
            raise Unsuited("it never ends: it has no number of steps, and its body does not change the condition")
        steps = _unless(condition, limit)
        if isinstance(steps, int) and steps <= _UNROLLED and (found := _unrolled(node, scope, states, steps)):
            return found
        return looped(counted, [at.arange(steps, dtype="int64")], states, collected)
    steps = _unless(condition, min(limit, MANY) if isinstance(limit, int) else at.minimum(limit, MANY))
    found = looped(guarded, [], [at.constant(np.int64(0)), *states], collected, steps)
    if collected and not (isinstance(limit, int) and limit <= _ROWS):
        return looped(counted, [at.arange(found[0], dtype="int64")], states, collected)
    return found[1:]


def _unrolled(node: Node, scope: Any, states: list[Any], steps: int) -> list[Any] | None:
    """Unroll a loop whose states change their extents; None if no static extent changes."""
    body, values = node["body"], states
    rows: list[list[Any]] = []
    for number in range(max(steps, 1)):
        given = [at.constant(np.int64(number)), at.constant(np.bool_(True)), *values]
        outputs = node.walk.subgraph(body, given, scope)[1:]
        _check_types(outputs, states, [item.name for item in body.input[2:]])
        if number == 0 and all(x.type.shape == y.type.shape for x, y in zip(outputs, states, strict=False)):
            return None
        values, more = outputs[: len(states)], outputs[len(states) :]
        rows.append(more)
    columns = [
        at.stack(list(column), axis=0)[:steps] if node.wants(len(states) + k) else None
        for k, column in enumerate(zip(*rows, strict=True))
    ]
    return [*(values if steps else states), *columns]


def _check_types(outputs: Sequence[Any], states: Sequence[Any], names: Sequence[str]) -> None:
    """Check the states after a step. Raises: Unsuited for a state whose rank or dtype changes"""
    for x, state, name in zip(outputs, states, names, strict=False):
        if x.type.dtype != state.type.dtype or x.type.ndim != state.type.ndim:
            raise Unsuited(f"its state {name!r} has type {state.type} before a step of body, and {x.type} after it")


def _limit(node: Node, count: Any) -> Any:
    """The maximum number of steps: an int if it is static, else a scalar."""
    known = node.walk.extents.entries(count)
    limit = at.reshape(at.cast(count, "int64"), ()) if known is None else known.ravel()[0]
    return max(limit, 0) if isinstance(limit, int) else at.maximum(limit, 0)


def _unless(condition: Any, steps: Any) -> Any:
    """The number of steps; 0 where the first condition fails."""
    if condition is None:
        return steps
    if isinstance(condition, at.Constant):
        return steps if bool(condition.data.reshape(-1)[0]) else 0
    return at.switch(at.reshape(condition, ()), steps, at.constant(np.int64(0)))


@rule("Scan")
def scan(node: Node, scope: Any, *inputs: Any) -> Any:
    """Run steps over slices of tensors: returns the final states, then the stacked outputs. In opset 8 tensors have a
    batch axis
    """
    if node.since < 9:
        return _scan_of_batches(node, scope, *inputs)
    body, number = node["body"], node["num_scan_inputs"]
    if not 1 <= number <= len(inputs) or None in inputs:
        raise GraphValueError(f"its num_scan_inputs is {number} for {len(inputs)} inputs, or an input is missing")
    cut = len(inputs) - number
    states, sequences = [at.tensor_copy(x) for x in inputs[:cut]], list(inputs[cut:])
    names = [item.name for item in body.input[:cut]]
    collected = len(body.output) - cut
    axes_in, axes_out = node["scan_input_axes"] or [0] * number, node["scan_output_axes"] or [0] * collected
    back_in = node["scan_input_directions"] or [0] * number
    back_out = node["scan_output_directions"] or [0] * collected
    if len(axes_in) != number or len(back_in) != number:
        raise Unsuited(f"it has {number} sequences, but {len(axes_in)} axes and {len(back_in)} directions for them")
    turned = []
    for x, axis, is_back in zip(sequences, axes_in, back_in, strict=True):
        y = at.moveaxis(x, node.checked_axis(axis, x.type.ndim), 0)
        turned.append(at.flip(y, 0) if is_back else y)

    def step(*values: Any) -> Any:
        slices, current = values[:number], values[number:]
        outputs = node.walk.subgraph(body, [*current, *slices], scope)
        return _fitting(outputs, states, names)

    found = looped(step, turned, states, collected)
    results = found[:cut]
    for x, axis, is_back in zip(found[cut:], axes_out, back_out, strict=True):
        y = at.flip(x, 0) if is_back else x
        results.append(at.moveaxis(y, 0, node.checked_axis(axis, y.type.ndim)))
    return results


def _scan_of_batches(node: Node, scope: Any, lengths: Any, *inputs: Any) -> Any:
    """Scan of opset 8: the first axis is a batch; steps of a sample end at its length, and later outputs are zeros."""
    body, number = node["body"], node["num_scan_inputs"]
    cut = len(inputs) - number
    if cut < 0 or number < 1 or None in inputs:
        raise GraphValueError(f"its num_scan_inputs is {number} for {len(inputs)} inputs, or an input is missing")
    is_back = [bool(k) for k in node["directions"] or [0] * number]
    if len(is_back) != number:
        raise Unsuited(f"it has {number} sequences, but {len(is_back)} directions for them")
    if lengths is not None and any(is_back):
        raise Unsuited("it reads sequences with sequence_lens backwards, which is not supported")
    names = [item.name for item in body.input[:cut]]
    steps = node.extent(inputs[cut], 1)

    def sample(*values: Any) -> list[Any]:
        length, given = (values[0], values[1:]) if lengths is not None else (None, values)
        states = [at.tensor_copy(x) for x in given[:cut]]

        def step(place: Any, *slices_and_states: Any) -> list[Any]:
            slices, current = slices_and_states[:number], slices_and_states[number:]
            outputs = _fitting(node.walk.subgraph(body, [*current, *slices], scope), states, names)
            if length is None:
                return outputs
            rest = [*current, *(at.zeros_like(x) for x in outputs[cut:])]
            return [at.switch(at.lt(place, length), x, y) for x, y in zip(outputs, rest, strict=True)]

        sequences = [at.flip(x, 0) if back else x for x, back in zip(given[cut:], is_back, strict=True)]
        return looped(step, [at.arange(steps, dtype="int64"), *sequences], states, len(body.output) - cut)

    batches = [*([] if lengths is None else [at.cast(lengths, "int64")]), *inputs]
    found: list[Any] = aot.scan(sample, batches, return_list=True, return_updates=False)
    return found


def _fitting(outputs: list[Any], states: list[Any], names: Sequence[str]) -> list[Any]:
    """The outputs of a step as a list.   Raises: Unsuited for a state whose type changes"""
    _check_types(outputs, states, names)
    for x, state, name in zip(outputs, states, names, strict=False):
        pairs = zip(x.type.shape, state.type.shape, strict=False)
        if any(isinstance(n, int) and isinstance(m, int) and n != m for n, m in pairs):
            raise Unsuited(
                f"its state {name!r} has type {state.type} before a step of body, and {x.type} after it; extents may "
                "change "
                f"only in a Loop of at most {_UNROLLED} steps, whose number is known when the model is read"
            )
    return [at.tensor_copy(x) for x in outputs]


def _keeps_condition(body: Any) -> bool:
    """Is the body's condition output its condition input or a constant?"""
    wanted, given = body.output[0].name, body.input[1].name if len(body.input) > 1 else ""
    if wanted == given:
        return True
    for proto in body.node:
        if wanted in proto.output:
            return bool(proto.op_type == "Identity" and proto.input[0] == given)
    return False
