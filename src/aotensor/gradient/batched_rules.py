"""Derivative rules applied sample by sample: the custom rules of a batched composite."""

from __future__ import annotations

from collections.abc import Sequence

from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import TensorType
from aotensor.graph.op import Apply, has_value
from aotensor.graph.variable import Variable, Variables
from aotensor.graph.vectorize import batch
from aotensor.ops.batching import repeated
from aotensor.ops.reduce.sums import sum as sum_of


@frozen_dataclass
class SampledRules:
    """The rules of `node` where the marked inputs, and all outputs, have one leading axis of samples."""

    node: Apply
    is_batched: tuple[bool, ...]

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        """Cotangents of the inputs; those of inputs shared by all samples are summed over the samples."""
        samples, every = _Samples(), [True] * len(outputs)
        xs = samples.substitute(inputs, self.node.inputs, self.is_batched)
        ys, cts = (
            samples.substitute(outputs, self.node.outputs, every),
            samples.substitute(cotangents, self.node.outputs, every),
        )
        terms = samples.batched(self.node.op.pullback(xs, ys, cts), self.node.inputs, outputs[0])
        return [
            term if on or not has_value(term) else sum_of(term, axis=0)
            for term, on in zip(terms, self.is_batched, strict=True)
        ]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        """Tangents of the outputs, all with the axis of samples."""
        samples = _Samples()
        xs = samples.substitute(inputs, self.node.inputs, self.is_batched)
        ys = samples.substitute(outputs, self.node.outputs, [True] * len(outputs))
        ts = samples.substitute(tangents, self.node.inputs, self.is_batched)
        return samples.batched(self.node.op.pushforward(xs, ys, ts), self.node.outputs, outputs[0])


class _Samples:
    """Symbols for one sample of each batched variable."""

    def __init__(self) -> None:
        self._batched: dict[Variable, Variable] = {}

    def substitute(self, found: Sequence[Variable], alone: Sequence[Variable], marks: Sequence[bool]) -> list[Variable]:
        """Replace each marked variable of `found` by a symbol for one sample, with the dims in `alone`; keep the
        others.
        """
        result = []
        for x, single, on in zip(found, alone, marks, strict=True):
            if on and has_value(x):
                sample = Variable(TensorType(x.dtype, single.tensor_type.shape))
                self._batched[sample] = x
                result.append(sample)
            else:
                result.append(x)
        return result

    def batched(self, terms: Sequence[Variable], alone: Sequence[Variable], like: Variable) -> list[Variable]:
        """Vectorise the terms of one sample over all samples; null and disconnected terms stay unchanged."""
        found = iter(batch([term for term in terms if has_value(term)], self._batched))
        result = [next(found) if has_value(term) else term for term in terms]
        return [
            repeated(term, like) if has_value(term) and term.ndim == single.ndim else term
            for term, single in zip(result, alone, strict=True)
        ]
