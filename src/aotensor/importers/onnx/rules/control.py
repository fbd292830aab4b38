"""If, Loop and Scan as `ifelse` and `scan`: graphs inside see the tensors around."""

from __future__ import annotations

from typing import Any

import numpy as np

import aotensor as aot
import aotensor.tensor as at
from aotensor.errors import GraphValueError
from aotensor.importers.onnx.node import Node, Unsuited
from aotensor.importers.onnx.rules.table import rule


@rule("If")
def branches(node: Node, scope: Any, condition: Any) -> Any:
    """What one of two graphs gives; only that one is computed. One that is known is chosen when the model is read."""
    if isinstance(condition, at.Constant):
        chosen = "then_branch" if bool(condition.data.reshape(-1)[0]) else "else_branch"
        return node.walk.subgraph(node[chosen], [], scope)
    first, second = (node.walk.subgraph(node[name], [], scope) for name in ("then_branch", "else_branch"))
    for x, y in zip(first, second, strict=True):
        if x.type.dtype != y.type.dtype or x.type.ndim != y.type.ndim or x.type.shape != y.type.shape:
            raise Unsuited(f"its branches give {x.type} and {y.type}")
    test = at.reshape(condition, ())
    found = aot.ifelse(test, first, second)
    return found if isinstance(found, list | tuple) else [found]


@rule("Loop")
def loop(node: Node, scope: Any, count: Any, condition: Any, *initial: Any) -> Any:
    """Steps up to a number that is known, or until a condition fails after a step; last states, then what steps give"""
    body = node["body"]
    if count is None:
        raise Unsuited("it has no largest number of steps")
    limit = node.entries(0)[0]
    if not isinstance(limit, int) or limit < 1:
        raise Unsuited("its number of steps is not known when the model is read, or none")
    if condition is not None and not (isinstance(condition, at.Constant) and bool(condition.data.reshape(-1)[0])):
        raise Unsuited("its first condition is not known to hold when the model is read")
    if None in initial:
        raise GraphValueError("a state is left out")
    states = [at.tensor_copy(x) for x in initial]
    is_endless = _keeps_condition(body)

    def step(number: Any, *values: Any) -> Any:
        outputs = node.walk.subgraph(body, [number, at.constant(np.bool_(True)), *values], scope)
        going, results = outputs[0], _fitting(outputs[1:], states)
        if is_endless:
            return results
        return results, aot.until(at.invert(at.reshape(going, ())))

    collected = len(body.output) - 1 - len(states)
    steps = at.arange(limit, dtype="int64")
    return _run(step, [steps], states, collected, limit)


@rule("Scan")
def scan(node: Node, scope: Any, *inputs: Any) -> Any:
    """Steps over slices of tensors; last states, then what steps give, side by side"""
    body, number = node["body"], node["num_scan_inputs"]
    if not 1 <= number <= len(inputs) or None in inputs:
        raise GraphValueError(f"{number} sequences among {len(inputs)} inputs, or one of them left out")
    cut = len(inputs) - number
    states, sequences = [at.tensor_copy(x) for x in inputs[:cut]], list(inputs[cut:])
    collected = len(body.output) - cut
    axes_in, axes_out = node["scan_input_axes"] or [0] * number, node["scan_output_axes"] or [0] * collected
    back_in = node["scan_input_directions"] or [0] * number
    back_out = node["scan_output_directions"] or [0] * collected
    if len(axes_in) != number or len(back_in) != number:
        raise Unsuited(f"it has {number} sequences with {len(axes_in)} axes and {len(back_in)} directions")
    turned = []
    for x, axis, is_back in zip(sequences, axes_in, back_in, strict=True):
        y = at.moveaxis(x, node.checked_axis(axis, x.type.ndim), 0)
        turned.append(at.flip(y, 0) if is_back else y)

    def step(*values: Any) -> Any:
        slices, current = values[:number], values[number:]
        outputs = node.walk.subgraph(body, [*current, *slices], scope)
        return _fitting(outputs, states)

    found = _run(step, turned, states, collected, None)
    results = found[:cut]
    for x, axis, is_back in zip(found[cut:], axes_out, back_out, strict=True):
        y = at.flip(x, 0) if is_back else x
        results.append(at.moveaxis(y, 0, node.checked_axis(axis, y.type.ndim)))
    return results


def _fitting(outputs: list[Any], states: list[Any]) -> list[Any]:
    """Outputs of a step as a list of its own tensors.   Raises: Unsuited for a state that changes its type"""
    for x, state in zip(outputs, states, strict=False):
        if x.type.dtype != state.type.dtype or x.type.ndim != state.type.ndim:
            raise Unsuited(f"a state of type {state.type} becomes {x.type} in a step")
        if any(
            isinstance(n, int) and isinstance(m, int) and n != m
            for n, m in zip(x.type.shape, state.type.shape, strict=True)
        ):
            raise Unsuited(f"a state of type {state.type} becomes {x.type} in a step")
    return [at.tensor_copy(x) for x in outputs]


def _run(step: Any, sequences: list[Any], states: list[Any], collected: int, limit: int | None) -> list[Any]:
    """Last states and what steps give, of at least one step."""
    info: list[Any] = [*states, *[None] * collected]
    found, _ = aot.scan(step, sequences=sequences, outputs_info=info, n_steps=limit)
    results = list(found) if isinstance(found, list | tuple) else [found]
    return [x[-1] for x in results[: len(states)]] + results[len(states) :]


def _keeps_condition(body: Any) -> bool:
    """Does the body hand its condition on, or a constant?"""
    wanted, given = body.output[0].name, body.input[1].name if len(body.input) > 1 else ""
    if wanted == given:
        return True
    for proto in body.node:
        if wanted in proto.output:
            return bool(proto.op_type == "Identity" and proto.input[0] == given)
    return False
