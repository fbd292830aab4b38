"""RNN, GRU and LSTM as scans over time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import aotensor as aot
import aotensor.tensor as at
from aotensor.errors import GraphValueError
from aotensor.extension import softsign
from aotensor.importers.base import Unsuited
from aotensor.importers.onnx.node import Node
from aotensor.importers.onnx.rules.elementwise import scalar
from aotensor.importers.onnx.rules.quantisation import as_sums, dynamic_quantize, exact_dtype, less
from aotensor.importers.onnx.rules.table import MICROSOFT, rule

_PLAIN: Final[dict[str, Callable[[Any], Any]]] = {
    "sigmoid": at.sigmoid,
    "tanh": at.tanh,
    "relu": at.relu,
    "softsign": softsign,
    "softplus": at.softplus,
}


class _Cell:
    """The common part of RNN, GRU and LSTM: weights by direction, activations, clipping, lengths of sequences."""

    def __init__(self, node: Node, gates: int, default: tuple[str, ...]) -> None:
        self.node, self.gates = node, gates
        inputs = [*node.inputs, *[None] * (8 - len(node.inputs))]
        self.x, self.w, self.r, self.b, self.lengths = inputs[:5]
        if node["layout"]:
            self.x = at.swapaxes(self.x, 0, 1)
        if (self.x.type.ndim, self.w.type.ndim, self.r.type.ndim) != (3, 3, 3):
            raise GraphValueError("its inputs X, W and R must have rank 3")
        self.hidden = self.w.type.shape[1]
        if not isinstance(self.hidden, int) or self.hidden % gates:
            raise Unsuited("its hidden size must be known when the model is read")
        self.hidden //= gates
        self.directions = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}.get(node["direction"])
        if self.directions is None:
            raise Unsuited(f"its direction is {node['direction']!r}, not forward, reverse or bidirectional")
        needed = len(default) * len(self.directions)
        named = (node["activations"] or list(default) * len(self.directions))[:needed]
        if node["activation_alpha"] or node["activation_beta"] or len(named) != needed:
            raise Unsuited("its activations have parameters, or their number is wrong")
        unknown = [name for name in named if name.lower() not in _PLAIN]
        if unknown:
            raise Unsuited(f"its activation is {unknown[0]!r}, which is not supported")
        count = len(default)
        chosen = [_PLAIN[name.lower()] for name in named]
        self.activations = [chosen[i * count : (i + 1) * count] for i in range(len(self.directions))]
        self.time, self.batch = node.extent(self.x, 0), node.extent(self.x, 1)

    def of_input(self, x: Any, direction: int) -> Any:
        """x·Wᵀ.   (…, input) → (…, gates·hidden)"""
        return at.matmul(x, self.w[direction].T)

    def of_state(self, h: Any, direction: int) -> Any:
        """h·Rᵀ.   (batch, hidden) → (batch, gates·hidden)"""
        return at.dot(h, self.r[direction].T)

    def limited(self, x: Any) -> Any:
        """x clamped to ±clip, if `clip` is given."""
        bound = self.node["clip"]
        return x if not bound else at.clip(x, scalar(-bound, x), scalar(bound, x))

    def initial(self, position: int, direction: int) -> Any:
        """The first state of a direction, zero if it is not given."""
        x = self.node.inputs[position] if position < len(self.node.inputs) else None
        if x is None:
            return at.zeros([self.batch, self.hidden], dtype=self.x.type.dtype)
        return at.tensor_copy(x[:, direction] if self.node["layout"] else x[direction])

    def biases(self, direction: int) -> tuple[Any, Any]:
        """The biases of the input and of the recurrence."""
        size = self.gates * self.hidden
        if self.b is None:
            zero = at.zeros([size], dtype=self.x.type.dtype)
            return zero, zero
        return self.b[direction, :size], self.b[direction, size:]

    def results(self, run: Callable[[int, Any, Any], list[Any]]) -> list[Any]:
        """Y and the final states of all directions. run: direction, inputs over time, 1 inside sequences → states"""
        steps = at.arange(self.time, dtype="int64")
        every, last = [], []
        for direction, is_back in enumerate(self.directions or []):
            order = steps
            x, inside = self.x, None
            if self.lengths is not None:
                ends = at.cast(self.lengths, "int64")[None]
                inside = at.lt(order[:, None], ends)
                if is_back:
                    places = at.switch(inside, ends - 1 - order[:, None], order[:, None] + at.zeros_like(ends))
                    x = x[places, at.arange(self.batch, dtype="int64")[None]]
            elif is_back:
                x = at.flip(x, 0)
            states = run(direction, x, inside)
            y = states[0]
            last.append([state[-1] for state in states])
            if inside is not None:
                y = at.switch(inside[:, :, None], y, scalar(0, y))
                if is_back:
                    y = y[places, at.arange(self.batch, dtype="int64")[None]]
            elif is_back:
                y = at.flip(y, 0)
            every.append(y)
        axis = 2 if self.node["layout"] else 1
        whole = (
            at.stack([at.swapaxes(y, 0, 1) for y in every], axis=2)
            if self.node["layout"]
            else at.stack(every, axis=axis)
        )
        finals = [at.stack(list(parts), axis=1 if self.node["layout"] else 0) for parts in zip(*last, strict=True)]
        return [whole, *finals]

    def scan(self, step: Callable[..., list[Any]], inputs: Any, inside: Any, states: list[Any]) -> list[Any]:
        """The states after each step; they stay unchanged after the end of a sequence."""

        def guarded(*values: Any) -> list[Any]:
            x, values = values[0], values[1:]
            if inside is None:
                return step(x, *values)
            is_inside, values = values[0][:, None], values[1:]
            return [at.switch(is_inside, new, old) for new, old in zip(step(x, *values), values, strict=True)]

        sequences = [inputs] if inside is None else [inputs, inside]
        found, _ = aot.scan(guarded, sequences=sequences, outputs_info=states)
        return list(found) if isinstance(found, list | tuple) else [found]


@rule("RNN")
def rnn(node: Node, *inputs: Any) -> Any:
    """h = f(x·Wᵀ + h·Rᵀ + b)"""
    cell = _Cell(node, 1, ("Tanh",))

    def run(direction: int, x: Any, inside: Any) -> list[Any]:
        [f] = cell.activations[direction]
        bias = sum(cell.biases(direction))
        weights = cell.r[direction].T
        before = at.matmul(x, cell.w[direction].T) + bias
        return cell.scan(
            lambda part, h: [f(cell.limited(part + at.dot(h, weights)))], before, inside, [cell.initial(5, direction)]
        )

    return cell.results(run)


@rule("GRU")
def gru(node: Node, *inputs: Any) -> Any:
    """h = (1 − z)·n + z·h with gates z and r in (0, 1)"""
    cell = _Cell(node, 3, ("Sigmoid", "Tanh"))
    n = cell.hidden

    def run(direction: int, x: Any, inside: Any) -> list[Any]:
        f, g = cell.activations[direction]
        of_input, of_state = cell.biases(direction)
        weights = cell.r[direction].T
        before = at.matmul(x, cell.w[direction].T) + of_input

        def step(part: Any, h: Any) -> list[Any]:
            gates = cell.limited(part[:, : 2 * n] + at.dot(h, weights[:, : 2 * n]) + of_state[: 2 * n])
            z, r = f(gates[:, :n]), f(gates[:, n:])
            if node["linear_before_reset"]:
                inner = r * (at.dot(h, weights[:, 2 * n :]) + of_state[2 * n :])
            else:
                inner = at.dot(r * h, weights[:, 2 * n :]) + of_state[2 * n :]
            new = g(cell.limited(part[:, 2 * n :] + inner))
            return [(scalar(1, z) - z) * new + z * h]

        return cell.scan(step, before, inside, [cell.initial(5, direction)])

    return cell.results(run)


@rule("LSTM")
def lstm(node: Node, *inputs: Any) -> Any:
    """c = f·c + i·g, h = o·tanh(c), with peepholes if they are given"""
    return _lstm(node, _Cell(node, 4, ("Sigmoid", "Tanh", "Tanh")))


def _lstm(node: Node, cell: _Cell) -> list[Any]:
    n = cell.hidden
    peepholes = node.inputs[7] if len(node.inputs) > 7 else None

    def run(direction: int, x: Any, inside: Any) -> list[Any]:
        f, g, h_of = cell.activations[direction]
        before = cell.of_input(x, direction) + sum(cell.biases(direction))
        ways = [None] * 3 if peepholes is None else [peepholes[direction, i * n : (i + 1) * n] for i in range(3)]

        def peeped(part: Any, way: Any, c: Any) -> Any:
            return cell.limited(part if way is None else part + way * c)

        def step(part: Any, h: Any, c: Any) -> list[Any]:
            gates = part + cell.of_state(h, direction)
            i, o, forget, new = (gates[:, k * n : (k + 1) * n] for k in range(4))
            i = f(peeped(i, ways[0], c))
            forget = scalar(1, i) - i if node["input_forget"] else f(peeped(forget, ways[2], c))
            c = forget * c + i * g(cell.limited(new))
            return [f(peeped(o, ways[1], c)) * h_of(c), c]

        return cell.scan(step, before, inside, [cell.initial(5, direction), cell.initial(6, direction)])

    return cell.results(run)


class _Bytes(_Cell):
    """An LSTM with 8-bit weights, (directions, input, 4·hidden), whose inputs and states are quantised at run time."""

    def __init__(self, node: Node, default: tuple[str, ...]) -> None:
        w, r, *self.scales = (node.inputs[k] for k in (1, 2, 8, 9, 10, 11))
        if (w.type.ndim, r.type.ndim) != (3, 3):
            raise GraphValueError("its inputs W and R must have rank 3")
        turned = [at.swapaxes(x, 1, 2) for x in (w, r)]
        self.dtypes = [
            exact_dtype(x, zero, [1], (w.type.shape[0], 1, -1))
            for x, zero in ((w, self.scales[1]), (r, self.scales[3]))
        ]
        super().__init__(replace(node, inputs=[node.inputs[0], *turned, *node.inputs[3:8]]), 4, default)

    def of_input(self, x: Any, direction: int) -> Any:
        return self._product(x, self.w[direction], (self.scales[0], self.scales[1]), direction, self.dtypes[0])

    def of_state(self, h: Any, direction: int) -> Any:
        return self._product(h, self.r[direction], (self.scales[2], self.scales[3]), direction, self.dtypes[1])

    def _product(self, x: Any, weights: Any, scaling: tuple[Any, Any], direction: int, dtype: str) -> Any:
        """Quantise x with one scale for all rows, multiply in integers, and scale the product back."""
        scale, zero = scaling
        small, of_x, zero_of_x = dynamic_quantize(self.node, x)
        columns = less(weights.T, zero[direction])
        product = as_sums(at.matmul(at.cast(less(small, zero_of_x), dtype), at.cast(columns, dtype)))
        return at.cast(product, x.type.dtype) * (of_x * scale[direction])


@rule("DynamicQuantizeLSTM", domain=MICROSOFT)
def dynamic_quantize_lstm(node: Node, *inputs: Any) -> Any:
    """onnxruntime's DynamicQuantizeLSTM: 8-bit weights with scales and zero points per direction, or per column"""
    return _lstm(node, _Bytes(node, ("Sigmoid", "Tanh", "Tanh")))
