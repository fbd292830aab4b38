"""The right-hand side of an ordinary differential equation, and its Jacobian."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from aotensor.core import dtypes
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import TensorType
from aotensor.errors import GraphTypeError
from aotensor.gradient.forward import Rop
from aotensor.graph.variable import Variable, constant
from aotensor.graph.walk import replace
from aotensor.ops.create import zeros_like
from aotensor.ops.elementwise.compare import cast
from aotensor.ops.scan.step import captures
from aotensor.solutions.jacobians.slopes import Slopes
from aotensor.solutions.problem import called, unknown, vector_like


@frozen_dataclass
class System:
    """dy/dt = f(t, y).

    t, y: the symbols of `output`, a scalar and a vector. slots: stand for the values in `parameters`, which f reads.
    """

    t: Variable
    y: Variable
    output: Variable
    slots: tuple[Variable, ...]
    parameters: tuple[Variable, ...]

    def rate_of(self, t: Variable, y: Variable, parameters: Sequence[Variable]) -> Variable:
        """f(t, y) with values in place of the slots.   (n,)"""
        return replace([self.output], {self.t: t, self.y: y, **dict(zip(self.slots, parameters, strict=True))})[0]

    def rate(self, t: Variable, y: Variable) -> Variable:
        """f(t, y)   (n,)"""
        return replace([self.output], {self.t: t, self.y: y})[0]

    def linear(self, t: Variable, y: Variable, slopes: Slopes) -> tuple[Variable, Variable, Variable]:
        """f, ∂f/∂y and ∂f/∂t.   (n,), (n, n), (n,). A sparse ∂f/∂y stores its diagonal."""
        by_time = Rop(self.output, self.t, constant(1, dtype=self.t.dtype), disconnected_outputs="ignore")
        by_time = by_time if isinstance(by_time, Variable) else zeros_like(self.output)
        found = replace(
            [self.output, slopes.of(self.output, self.y, has_diagonal=True), by_time], {self.t: t, self.y: y}
        )
        return found[0], found[1], found[2]


def traced_system(name: str, fun: Callable[..., Any], y0: Any, args: Sequence[Variable]) -> tuple[System, Variable]:
    """The system of a user's function, and the initial state in the dtype of both.

    Raises: GraphTypeError unless y0 is a real vector and fun a function that returns one; GraphValueError for another
    number of elements.
    """
    given = unknown(name, "y0", y0)
    if given.given.ndim != 1:
        raise GraphTypeError(
            f"{name}: y0 must be a vector, not of rank {given.given.ndim}",
            lines=[given.given.describe()],
            hint="pass y0.flatten(), and reshape y in the function",
        )
    while True:
        y = Variable(TensorType(given.flat.dtype, given.flat.tensor_type.shape), name="y")
        t = Variable(TensorType(given.flat.dtype), name="t")
        output = vector_like(f"{name}: fun", y, called(name, "fun", fun, [t, y, *args]), "y")
        if not dtypes.is_float(output.dtype) or dtypes.promote(output.dtype, y.dtype) == y.dtype:
            break
        given = unknown(name, "y0", given.given, output.dtype)
    output = cast(output, y.dtype)
    outer = captures([output], [t, y])
    slots = tuple(Variable(value.type, name=value.name) for value in outer)
    output = replace([output], dict(zip(outer, slots, strict=True)))[0]
    return System(t, y, output, slots, tuple(outer)), given.flat
