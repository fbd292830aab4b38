"""Draws with tensor parameters: one op, and a row for each sampler."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

import numpy as np

from aotensor.core.builders import Scalar, ScalarBuilder, Tensor, TensorBuilder
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType, broadcast_shapes
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.op import Apply, connected, disconnected, null_gradient
from aotensor.graph.variable import Variable, Variables
from aotensor.ops.batching import RepeatingOp
from aotensor.ops.random import samplers
from aotensor.ops.random.array_builder import ArrayBuilder
from aotensor.ops.random.philox import Position
from aotensor.ops.random.positions import array_positions, check_state, tabulate_draw

DISCRETE: Final = "a draw is a jump function of it; use the density of the distribution instead (score function)"
NOT_REPARAMETERISED: Final = "a rejected proposal makes the draw jump in it; only location and scale have derivatives"


@frozen_dataclass
class Sampler:
    """sample(builder, position, *parameters) → a scalar of `result`; the parameters have the dtypes `operands`.

    why: the reason why there is no derivative with respect to the parameters.
    """

    sample: Callable[..., Any]
    operands: tuple[str, ...]
    result: str
    why: str = DISCRETE


SAMPLERS: Final[Mapping[str, Sampler]] = {
    "bernoulli": Sampler(samplers.bernoulli, ("float64",), "bool"),
    "geometric": Sampler(samplers.geometric, ("float64",), "int64"),
    "integers": Sampler(samplers.integers, ("uint64", "uint64"), "uint64"),
    "gamma": Sampler(samplers.gamma, ("float64",), "float64", NOT_REPARAMETERISED),
    "vonmises": Sampler(samplers.vonmises, ("float64",), "float64", NOT_REPARAMETERISED),
    "poisson": Sampler(samplers.poisson, ("float64",), "int64"),
    "binomial": Sampler(samplers.binomial, ("int64", "float64"), "int64"),
    "positive_binomial": Sampler(samplers.positive_binomial, ("int64", "float64"), "int64"),
    "hypergeometric": Sampler(samplers.hypergeometric, ("int64", "int64", "uint64"), "int64"),
    "gap": Sampler(samplers.gap, ("int64", "int64"), "int64"),
}


@frozen_dataclass
class Draw(RepeatingOp):
    """Independent draws, one for each element of the parameters: state, *parameters → tensor of their shape.

    kind: a row of `SAMPLERS`. The parameters have one shape, which begins with the leading axes of the state. With
    respect to them the derivative is undefined; results have no derivative with respect to the state.
    """

    name: ClassVar[str] = "draw"
    kind: str

    @property
    def sampler(self) -> Sampler:
        """The row of `SAMPLERS` for this kind."""
        return SAMPLERS[self.kind]

    def infer_type(self, state: TensorType, *parameters: TensorType) -> TensorType:
        leading = check_state(state)
        if tuple(x.dtype for x in parameters) != self.sampler.operands:
            raise GraphTypeError(f"{self.kind}: expected parameters of the dtypes {', '.join(self.sampler.operands)}")
        if len({x.rank for x in parameters}) != 1 or parameters[0].rank < len(leading):
            raise GraphTypeError(f"{self.kind}: every parameter must have the rank of the draw")
        for known in zip(*(x.static_shape for x in parameters), strict=True):
            if len({n for n in known if n is not None}) > 1:
                raise GraphValueError(f"{self.kind}: all parameters must have the same shape")
        dims = broadcast_shapes([x.shape for x in parameters])
        return TensorType(self.sampler.result, dims)

    def reference(self, state: Array, *parameters: Array) -> Array:
        shape, count = parameters[0].shape, state.ndim - 1
        if any(x.shape != shape for x in parameters) or shape[:count] != state.shape[:-1]:
            raise GraphValueError(f"draw: {self.kind}: all parameters must have the same shape")
        builder: Any = ArrayBuilder()
        where = array_positions(state, shape[count:])
        with np.errstate(all="ignore"):
            return np.array(np.broadcast_to(self.sampler.sample(builder, where, *parameters), shape))

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        return [disconnected(), *(self._undefined(k, x) for k, x in enumerate(inputs[1:], 1))]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        first = min(connected(tangents))
        return [self._undefined(first, inputs[first])]

    def _undefined(self, position: int, x: Variable) -> Variable:
        return null_gradient(self, position, x, "undefined", f"{self.kind}: {self.sampler.why}")

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[False], *([True] for _ in node.inputs[1:])]

    def is_faithful(self) -> bool:
        """False: there is no derivative at all, so that not even a cotangent of zeros passes."""
        return False

    def lower(self, b: TensorBuilder, state: Tensor, *parameters: Tensor) -> Tensor:
        what = f"extents of the parameters of {self.kind}"
        count = len(state.extents) - 1
        leading = [[n] for n in state.extents[:-1]] + [[] for _ in parameters[0].extents[count:]]
        extents = [
            b.same_extent([*own, *others], what)
            for own, others in zip(leading, zip(*(x.extents for x in parameters), strict=True), strict=True)
        ]

        def element(v: ScalarBuilder, where: Position, *at: Scalar) -> Scalar:
            return self.sampler.sample(v, where, *(v.load(x, *at) for x in parameters))  # type: ignore[no-any-return]

        return tabulate_draw(b, state, extents[count:], self.sampler.result, element)
