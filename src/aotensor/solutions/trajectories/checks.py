"""The check that requested times are in the span and in order."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import ClassVar, Final

import numpy as np

from aotensor.core.builders import Tensor, TensorBuilder
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType
from aotensor.errors import GraphValueError
from aotensor.graph.op import Apply
from aotensor.graph.variable import Constant, Variable
from aotensor.ops.elementwise.compare import ge, switch
from aotensor.ops.linear import LinearOp
from aotensor.ops.reduce.sums import all as all_of
from aotensor.ops.shape.axes import expand_dims
from aotensor.ops.shape.join import join
from aotensor.solutions.formulas import number

_MESSAGE: Final = "solve_ivp: t_eval has a time outside of t_span, or out of order"


@frozen_dataclass
class TimesInSpan(LinearOp):
    """(times, bool scalar) → times; an error at run time unless the scalar is true."""

    name: ClassVar[str] = "times_in_span"
    notation: ClassVar[str] = "{0}"

    def infer_type(self, x: TensorType, is_good: TensorType) -> TensorType:
        return x

    def reference(self, x: Array, is_good: Array) -> Array:
        if not np.all(is_good):
            raise GraphValueError(_MESSAGE)
        return x.copy()

    def transpose(self, inputs: Sequence[Variable], cotangent: Variable) -> Variable:
        return cotangent

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        x, is_good = inputs
        return self.apply(x, all_of(is_good) if is_batched[1] else is_good).outputs

    def lower(self, b: TensorBuilder, x: Tensor, is_good: Tensor) -> Tensor:
        b.check(b.item(is_good), _MESSAGE)
        return x


def times_in_span(times: Variable, start: Variable, end: Variable) -> Variable:
    """The times, checked now if all is known, else in the call.

    Raises: GraphValueError for a time outside of the span or out of order.
    """
    if all(isinstance(x, Constant) for x in (times, start, end)):
        t0, t1, given = start.data, end.data, times.data  # type: ignore[attr-defined]
        sign = 1 if t1 >= t0 else -1
        known = sign * np.concatenate([[t0], given, [t1]])
        for before, t in pairwise(known):
            if not before <= t <= known[-1]:
                what = "out of order in" if known[0] <= t <= known[-1] else "outside of"
                raise GraphValueError(f"solve_ivp: t_eval has {sign * t}, {what} t_span ({t0}, {t1})")
        return times
    direction = switch(ge(end, start), number(1, start), number(-1, start))
    places = direction * join(0, expand_dims(start, 0), times, expand_dims(end, 0))
    return TimesInSpan()(times, all_of(ge(places[1:], places[:-1])))  # type: ignore[no-any-return]
