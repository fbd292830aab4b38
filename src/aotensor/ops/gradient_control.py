"""Identities with other derivatives: cut, scaled, clipped, or declared undefined."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType, broadcast_shapes
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.coercion import coerced
from aotensor.graph.op import Apply, Op, disconnected, null_gradient
from aotensor.graph.site import warn_user
from aotensor.graph.variable import Constant, Variable, Variables, as_tensor
from aotensor.ops.batching import align_rank, all_batched
from aotensor.ops.elementwise.compare import cast, clip
from aotensor.ops.linear import zero_gradient


class ViewOp(Op):
    """x itself; subclasses change the derivative. Further inputs are its parameters."""

    takes_half: ClassVar[bool] = True

    def infer_type(self, x: TensorType, *options: TensorType) -> TensorType:
        return x

    def reference(self, x: Array, *options: Array) -> Array:
        return x.copy()

    def is_faithful(self) -> bool:
        return False

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        rank = node.inputs[0].ndim
        x = all_batched(inputs, is_batched)[0]
        options = (align_rank(o, rank) if on else o for o, on in zip(inputs[1:], is_batched[1:], strict=True))
        return self.apply(x, *options).outputs

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable]:
        return [inputs[0]]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True], *([False] for _ in node.inputs[1:])]


@frozen_dataclass
class ZeroGrad(ViewOp):
    """x, with a derivative of exact zeros."""

    name: ClassVar[str] = "zero_grad"

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        return [zero_gradient(inputs[0])]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        return [zero_gradient(outputs[0])]


@frozen_dataclass
class ConsiderConstant(ZeroGrad):
    """x with a derivative of exact zeros; the older name of ZeroGrad."""

    name: ClassVar[str] = "consider_constant"


@frozen_dataclass
class DisconnectedGrad(ViewOp):
    """x with no derivative: results count as independent of x."""

    name: ClassVar[str] = "disconnected_grad"

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        return [disconnected()]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        return [disconnected()]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[False]]


@frozen_dataclass
class UndefinedGrad(ViewOp):
    """x, with a derivative that is undefined: using it is an error."""

    name: ClassVar[str] = "undefined_grad"

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        return [grad_undefined(self, 0, inputs[0])]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        return [grad_undefined(self, 0, inputs[0])]


class SteeredView(ViewOp):
    """A view with parameters of its derivative: numbers stored in the op, or further inputs after x."""

    @abstractmethod
    def nondifferentiable(self) -> tuple[Any, ...]:
        """The parameters of the derivative that are stored in the op; None for those that are inputs."""

    def convert_inputs(self, inputs: Sequence[Any]) -> list[Variable]:
        given = self.nondifferentiable()
        if len(inputs) == 1 and None not in given:
            inputs = [*inputs, *given]
        if len(inputs) != 1 + len(given):
            counts = f"{1 + len(given)}" if None in given else f"1 or {1 + len(given)}"
            raise GraphTypeError(f"{self.name}: expected {counts} inputs, found {len(inputs)}")
        return [as_tensor(x) for x in inputs]


@frozen_dataclass
class GradClip(SteeredView):
    """x, whose cotangent is clipped to [lower, upper]; tangents pass unchanged.

    The bounds are numbers given here, or inputs after x.

    Raises: GraphValueError for a bound that is nan, or an upper bound below the lower one.
    """

    name: ClassVar[str] = "grad_clip"
    clip_lower_bound: float | None = None
    clip_upper_bound: float | None = None

    def __post_init__(self) -> None:
        lower, upper = self.nondifferentiable()
        if lower is not None and upper is not None:
            _check_bounds(as_tensor(lower), as_tensor(upper))

    def nondifferentiable(self) -> tuple[Any, ...]:
        return self.clip_lower_bound, self.clip_upper_bound

    def is_dual(self) -> bool:
        return False

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        lower, upper = (cast(bound, cotangents[0].dtype) for bound in inputs[1:])
        return [clip(cotangents[0], lower, upper), disconnected(), disconnected()]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        return [tangents[0]]


@frozen_dataclass
class GradScale(SteeredView):
    """x, whose cotangent and tangent are multiplied by a factor: a number given here, or an input after x.

    Raises: GraphTypeError for a multiplier that is not a number.
    """

    name: ClassVar[str] = "grad_scale"
    multiplier: float | None = None

    def __post_init__(self) -> None:
        if self.multiplier is not None and not isinstance(self.multiplier, int | float | np.number):
            raise GraphTypeError(
                f"the multiplier of GradScale must be a number, not {type(self.multiplier).__name__}",
                hint="write grad_scale(x, multiplier)",
            )

    def nondifferentiable(self) -> tuple[Any, ...]:
        return (self.multiplier,)

    def infer_type(self, x: TensorType, *options: TensorType) -> TensorType:
        (factor,) = options
        wide = broadcast_shapes([x.shape, factor.shape])
        if len(wide) != x.rank or any(dim == 1 != other for dim, other in zip(x.shape, wide, strict=True)):
            raise GraphValueError(f"the multiplier, of {factor}, must broadcast to the shape of x, {x}")
        return x

    def _scaled(self, direction: Variable, factor: Variable) -> Variable:
        return direction * cast(factor, direction.dtype)

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        return [self._scaled(cotangents[0], inputs[1]), disconnected()]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        return [self._scaled(tangents[0], inputs[1])]


def _check_bounds(lower: Variable, upper: Variable) -> None:
    known = [bound.data for bound in (lower, upper) if isinstance(bound, Constant)]
    if any(np.isnan(bound).any() for bound in known):
        raise GraphValueError("grad_clip: a bound must be a number, found nan")
    broadcast_shapes([lower.tensor_type.shape, upper.tensor_type.shape])
    if len(known) == 2 and not (known[0] <= known[1]).all():
        raise GraphValueError(f"grad_clip: the upper bound {upper} is below the lower bound {lower}")


zero_grad_ = ZeroGrad()
disconnected_grad_ = DisconnectedGrad()
undefined_grad_ = UndefinedGrad()
consider_constant_ = ConsiderConstant()


@coerced
def zero_grad(x: Any) -> Variable:
    """x with gradient 0: connected, but constant for derivatives."""
    return zero_grad_(x)  # type: ignore[no-any-return]


@coerced
def disconnected_grad(x: Any) -> Variable:
    """x without any gradient: a gradient that passes only through it is reported as disconnected."""
    return disconnected_grad_(x)  # type: ignore[no-any-return]


@coerced
def undefined_grad(x: Any) -> Variable:
    """x with an undefined gradient: a gradient that passes through it raises NullTypeGradError."""
    return undefined_grad_(x)  # type: ignore[no-any-return]


@coerced
def consider_constant(x: Any) -> Variable:
    """Deprecated: `zero_grad` with a warning."""
    warn_user("consider_constant is deprecated, use zero_grad", DeprecationWarning)
    return consider_constant_(x)  # type: ignore[no-any-return]


@coerced
def grad_clip(x: Any, lower_bound: Any, upper_bound: Any) -> Variable:
    """x, whose cotangent is clipped to the bounds on its way back; a nan stays. Tangents pass unchanged.

    Raises: GraphValueError for a bound that is nan, or an upper bound below the lower one.
    """
    lower, upper = as_tensor(lower_bound), as_tensor(upper_bound)
    _check_bounds(lower, upper)
    return GradClip()(x, lower, upper)  # type: ignore[no-any-return]


@coerced
def grad_scale(x: Any, multiplier: Any) -> Variable:
    """x, whose cotangent and tangent are multiplied by `multiplier`, which broadcasts to x and gets no gradient.

    Raises: GraphValueError for a multiplier of higher rank than x.
    """
    return GradScale()(x, multiplier)  # type: ignore[no-any-return]


@coerced
def grad_undefined(op: Op, x_pos: int, x: Variable, comment: str = "") -> Variable:
    """The pullback term for an input with an undefined gradient; using it is a NullTypeGradError that says so."""
    return null_gradient(op, x_pos, x, "undefined", comment)


@coerced
def grad_not_implemented(op: Op, x_pos: int, x: Variable, comment: str = "") -> Variable:
    """The pullback term for an input whose gradient is not implemented; using it is a NullTypeGradError."""
    return null_gradient(op, x_pos, x, "not implemented", comment)
