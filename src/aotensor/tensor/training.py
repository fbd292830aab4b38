"""Steps of training as graph functions: parameters, state and gradients to the next parameters and state.

    adam = at.training.adam(1e-3)
    state = adam.state(params)                      # symbols, as params: {"W": at.matrix("W"), ...}
    grads = dict(zip(params, aot.grad(loss, list(params.values()))))
    params_next, state_next = adam.update(params, grads, state)

All arithmetic is in the dtype of each parameter, float32 or float64, but powers of the step's number are in float64.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np

from aotensor.core.dtypes import FLOATS, is_float
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.variable import Variable
from aotensor.ops.elementwise.arithmetic import sign
from aotensor.ops.elementwise.compare import cast
from aotensor.ops.elementwise.elementary import sqrt
from aotensor.ops.elementwise.powers import power
from aotensor.ops.symbols import tensor

__all__ = ["Optimizer", "adam", "adamw", "lion", "momentum", "sgd"]

Rate: TypeAlias = "float | Variable"
Rule: TypeAlias = Callable[[Variable, Variable, Mapping[str, Variable], Any], tuple[Variable, dict[str, Variable]]]
"""(parameter, gradient, its slots, number of the step) → the next parameter and slots."""

STEP: Final = "step"
"""The name of the state that counts steps."""


@dataclass(frozen=True)
class Optimizer:
    """A rule from gradients to the next parameters; made by `sgd`, `momentum`, `adam`, `adamw` and `lion`.

    name: of the rule. slots: names of the tensors that it keeps for each parameter. is_counting: it keeps the number of
    steps, too.
    """

    name: str
    slots: tuple[str, ...]
    is_counting: bool
    rule: Rule

    def state(self, params: Mapping[str, Variable]) -> dict[str, Variable]:
        """Symbols of the state: `<parameter>.<slot>` of the parameter's type, and `step`, an int64 scalar, if counted.

        Raises: GraphTypeError for a parameter that is not float32 or float64; GraphValueError for no parameters.
        """
        found = {
            f"{name}.{slot}": tensor(f"{name}_{slot}", dtype=x.dtype, shape=x.type.shape)
            for name, x in _checked(params).items()
            for slot in self.slots
        }
        return found | ({STEP: tensor(STEP, dtype="int64", shape=())} if self.is_counting else {})

    def initial(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The state before the first step, zeros, of arrays of parameters: NumPy arrays under the names of `state`."""
        found: dict[str, Any] = {
            f"{name}.{slot}": np.zeros_like(x) for name, x in params.items() for slot in self.slots
        }
        return found | ({STEP: np.zeros((), np.int64)} if self.is_counting else {})

    def update(
        self, params: Mapping[str, Variable], grads: Mapping[str, Variable], state: Mapping[str, Variable]
    ) -> tuple[dict[str, Variable], dict[str, Variable]]:
        """The next parameters and state, under the same names.

        Raises: GraphTypeError for a parameter of another dtype than float32 or float64; GraphValueError if gradients or
        state are not those of the parameters, by name or rank.
        """
        known = _checked(params)
        _same_names("gradients", grads, known)
        slots = [f"{name}.{slot}" for name in known for slot in self.slots]
        _same_names("state", state, dict.fromkeys([*slots, STEP] if self.is_counting else slots))
        number = state[STEP] + 1 if self.is_counting else None
        next_params: dict[str, Variable] = {}
        next_state: dict[str, Variable] = {}
        for name, x in known.items():
            g = grads[name]
            if g.ndim != x.ndim:
                raise GraphValueError(
                    f"{self.name}: the gradient of {name} has rank {g.ndim}, the parameter {x.ndim}",
                    lines=[x.describe(), g.describe()],
                )
            own = {slot: state[f"{name}.{slot}"] for slot in self.slots}
            next_params[name], made = self.rule(x, cast(g, x.dtype), own, number)
            next_state |= {f"{name}.{slot}": value for slot, value in made.items()}
        return next_params, next_state | ({STEP: number} if number is not None else {})


def sgd(learning_rate: Rate, *, weight_decay: float = 0.0) -> Optimizer:
    """Gradient descent: p − η·(g + λ·p).   learning_rate: η, a number or a scalar Variable; weight_decay: λ"""
    _rate("sgd", learning_rate)
    _numbers("sgd", weight_decay=weight_decay)

    def rule(p: Variable, g: Variable, slots: Mapping[str, Variable], _: Any) -> tuple[Variable, dict[str, Variable]]:
        return p - _like(p, learning_rate) * _add_weight_decay(p, g, weight_decay), {}

    return Optimizer("sgd", (), False, rule)


def momentum(
    learning_rate: Rate, *, decay: float = 0.9, nesterov: bool = False, weight_decay: float = 0.0
) -> Optimizer:
    """Gradient descent with momentum: b ← μ·b + g, p − η·b, or p − η·(g + μ·b) with `nesterov`.   decay: μ

    Source: Sutskever, Martens, Dahl & Hinton, "On the importance of initialization and momentum in deep learning"
    (2013), in PyTorch's form.
    """
    _rate("momentum", learning_rate)
    _numbers("momentum", decay=decay, weight_decay=weight_decay)

    def rule(p: Variable, g: Variable, slots: Mapping[str, Variable], _: Any) -> tuple[Variable, dict[str, Variable]]:
        g = _add_weight_decay(p, g, weight_decay)
        velocity = _like(p, decay) * slots["velocity"] + g
        step = g + _like(p, decay) * velocity if nesterov else velocity
        return p - _like(p, learning_rate) * step, {"velocity": velocity}

    return Optimizer("momentum", ("velocity",), False, rule)


def adam(
    learning_rate: Rate = 1e-3, *, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8, weight_decay: float = 0.0
) -> Optimizer:
    """p − η·m̂/(√v̂ + ε) of bias-corrected running means m of g and v of g².   weight_decay: λ of λ·p, added to g

    Source: Kingma & Ba, "Adam: a method for stochastic optimization" (2015), algorithm 1.
    """
    _numbers("adam", weight_decay=weight_decay)
    return _adam("adam", learning_rate, b1, b2, eps, lambda p, g: _add_weight_decay(p, g, weight_decay), lambda p: p)


def adamw(
    learning_rate: Rate = 1e-3, *, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8, weight_decay: float = 1e-2
) -> Optimizer:
    """Adam with decoupled weight decay: p shrinks by the factor 1 − η·λ first.   weight_decay: λ

    Source: Loshchilov & Hutter, "Decoupled weight decay regularization" (2019), algorithm 2, in PyTorch's form.
    """
    _numbers("adamw", weight_decay=weight_decay)

    def shrunk(p: Variable) -> Variable:
        return p * (1 - _like(p, learning_rate) * _like(p, weight_decay))

    return _adam("adamw", learning_rate, b1, b2, eps, lambda p, g: g, shrunk)


def lion(learning_rate: Rate = 1e-4, *, b1: float = 0.9, b2: float = 0.99, weight_decay: float = 0.0) -> Optimizer:
    """p·(1 − η·λ) − η·sign(b₁·m + (1 − b₁)·g), then m ← b₂·m + (1 − b₂)·g.   weight_decay: λ

    Source: Chen et al., "Symbolic discovery of optimization algorithms" (2023), algorithm 2.
    """
    _rate("lion", learning_rate)
    _numbers("lion", b1=b1, b2=b2, weight_decay=weight_decay)

    def rule(p: Variable, g: Variable, slots: Mapping[str, Variable], _: Any) -> tuple[Variable, dict[str, Variable]]:
        rate, m = _like(p, learning_rate), slots["mean"]
        direction = sign(_moving_average(p, b1, m, g))
        return p * (1 - rate * _like(p, weight_decay)) - rate * direction, {"mean": _moving_average(p, b2, m, g)}

    return Optimizer("lion", ("mean",), False, rule)


def _adam(
    name: str, rate: Rate, b1: float, b2: float, eps: float,
    gradient: Callable[[Variable, Variable], Variable], start: Callable[[Variable], Variable],
) -> Optimizer:  # fmt: skip
    _rate(name, rate)
    _numbers(name, b1=b1, b2=b2, eps=eps)

    def rule(p: Variable, g: Variable, slots: Mapping[str, Variable], t: Any) -> tuple[Variable, dict[str, Variable]]:
        g = gradient(p, g)
        mean, square = _moving_average(p, b1, slots["mean"], g), _moving_average(p, b2, slots["square"], g * g)
        steps = cast(t, "float64")
        first, second = (cast(1 - power(np.float64(b), steps), p.dtype) for b in (b1, b2))
        root = sqrt(square) / sqrt(second) + _like(p, eps)
        return start(p) - _like(p, rate) / first * (mean / root), {"mean": mean, "square": square}

    return Optimizer(name, ("mean", "square"), True, rule)


def _moving_average(p: Variable, b: float, old: Variable, new: Variable) -> Variable:
    return _like(p, b) * old + _like(p, 1 - b) * new


def _add_weight_decay(p: Variable, g: Variable, weight_decay: float) -> Variable:
    return g + _like(p, weight_decay) * p if weight_decay else g


def _like(p: Variable, value: Rate) -> Variable:
    """A number, or a scalar Variable, in the dtype of a parameter."""
    return cast(value, p.dtype)


def _checked(params: Mapping[str, Variable]) -> dict[str, Variable]:
    if not isinstance(params, Mapping):
        raise GraphTypeError(f"params must be a dict of names and Variables, not {type(params).__name__}")
    if not params:
        raise GraphValueError("params has no parameter")
    for name, x in params.items():
        if not isinstance(x, Variable) or x.dtype not in FLOATS:
            found = x.type if isinstance(x, Variable) else type(x).__name__
            # b2 = 0.999 is 1 in bfloat16, and eps = 1e-8 is 0 in float16
            hint = "for float16 and bfloat16 models, train float32 parameters and cast them where they are used"
            raise GraphTypeError(f"parameter {name} is {found}, not a Variable of float32 or float64", hint=hint)
    return dict(params)


def _same_names(what: str, given: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    if given.keys() != wanted.keys():
        missing, unknown = sorted(wanted.keys() - given.keys()), sorted(given.keys() - wanted.keys())
        parts = [
            f"{', '.join(names[:5])} {word}" for names, word in ((missing, "missing"), (unknown, "unknown")) if names
        ]
        raise GraphValueError(f"{what} of the parameters: {'; '.join(parts)}")


def _rate(name: str, rate: Rate) -> None:
    if not isinstance(rate, Variable):
        _numbers(name, learning_rate=rate)
    elif rate.ndim or not is_float(rate.dtype):
        raise GraphTypeError(
            f"{name}: learning_rate is {rate.type}, not a floating-point scalar", lines=[rate.describe()]
        )


def _numbers(name: str, **values: float) -> None:
    """Hyperparameters are finite and not negative; means decay by less than 1."""
    for key, value in values.items():
        number = isinstance(value, int | float | np.floating) and not isinstance(value, bool)
        if not number or not 0 <= value < (1 if key in ("b1", "b2") else np.inf):
            limits = "from 0 on, below 1" if key in ("b1", "b2") else "finite and not negative"
            raise GraphValueError(f"{name}: {key} is {value!r:.40}, not a number {limits}")
