"""All checks of all derivatives of a program at one point."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeVar

import numpy as np

from aotensor.core.dtypes import HALVES, epsilon
from aotensor.core.types import Array
from aotensor.errors import AotensorError
from aotensor.graph.variable import Variable
from aotensor.sampling.rounding import nearby, perturb_by_ulp
from aotensor.verification.derivatives.ladder import STEPS, Derivative, Ladder, judge_differences, judge_order
from aotensor.verification.derivatives.program import Derivatives, Execution, Pair, Reference, Values
from aotensor.verification.derivatives.verdict import Finding, Judgement, Verdict

Key = TypeVar("Key", bound=Hashable)

METHODS: Final = ("duality", "Taylor order", "differences", "complex step")


def _tolerances(float64: float, float32: float, ulps: float) -> dict[str, float]:
    """Relative tolerances by dtype; those of storage dtypes are `ulps`, and at most a half."""
    return {"float64": float64, "float32": float32} | {name: min(ulps * epsilon(name), 0.5) for name in HALVES}


_DUALITY: Final = _tolerances(1e-9, 1e-3, 50)
"""Relative tolerance of duality: both sides are sums of the same products in another order."""

_DERIVATIVE: Final = _tolerances(1e-6, 5e-2, 100)
"""Relative tolerance of differences in this dtype, with room for the many kinks of a wide layer in float32."""

_COMPLEX: Final = _tolerances(1e-10, 1e-3, 50)
"""Relative tolerance of the complex step, by dtype: no difference is taken, so nothing cancels. It is also that of
differences in a more precise dtype than that of the derivative.
"""

_ROUNDING: Final = _tolerances(1e-9, 1e-4, 12)
"""Relative to the terms of a derivative: the digits that cancellation may leave. Beyond that, every value is changed
by an ulp; if nothing of the derivative remains, only its inputs are: rules rely on
values that are equal, such as the difference of an eigenvalue to itself.
"""

_COMPLEX_STEP: Final = 1e-30

_COMPLEX_ERROR: Final = 1e-25
"""Absolute: products of several imaginary parts, if the derivative itself is 0."""

_DRAWS: Final = 3
"""Number of samples of the rounding of a value."""

_UNSEEN: Final = 8
"""Ulps by which inputs change where the rounding inside is not evaluated."""


@dataclass(frozen=True)
class Point:
    """Values of the arguments, with random cotangents of all outputs and random directions of all inputs.

    has_reference: is the reference evaluated here? Otherwise the loops of the function are too long for it.
    """

    values: Values
    cotangents: dict[str, Array]
    directions: dict[str, Array]
    seed: int
    has_reference: bool = True

    @staticmethod
    def at(
        reference: Reference, values: Values, outputs: dict[str, Array], seed: int, has_reference: bool = True
    ) -> Point:
        """The point at these values of arguments.   outputs: values of the outputs, for their shapes"""
        rng, d = np.random.default_rng(seed), reference.derivatives
        cotangents = {key: _random(rng, y.shape, 0.5, 1.5) for key, y in outputs.items()}
        directions = {
            key: _random(rng, values[x].shape, 0.5, 1.0) * rng.choice([-1.0, 1.0], values[x].shape)
            for key, x in d.inputs.items()
        }
        return Point(values, cotangents, directions, seed, has_reference)

    def extended(self, d: Derivatives, moving: str | None = None) -> Values:
        """The values, and the direction of one input (or of all) for the tangent symbols of `d`; zeros for the
        others.
        """
        cotangents = {x: self.cotangents[key].astype(x.dtype) for key, x in d.cotangents.items()}
        tangents = {
            x: (self.directions[key] * (moving in (None, key))).astype(x.dtype) for key, x in d.tangents.items()
        }
        return self.values | cotangents | tangents


def _random(rng: np.random.Generator, shape: tuple[int, ...], low: float, high: float) -> Array:
    return np.asarray(rng.uniform(low, high, shape))


def findings_at(point: Point, reference: Reference, execution: Execution) -> Iterator[Finding]:
    """The findings of every method on every derivative, as `execution` computes them."""
    checks = PointChecks(point, reference, execution)
    for method in METHODS:
        yield from checks.findings(method)


class PointChecks:
    """Findings of every method on every derivative at one point, as `execution` computes them, each on request.

    Duality computes the derivatives, Taylor order the values along the directions; the others use these.
    """

    def __init__(self, point: Point, reference: Reference, execution: Execution) -> None:
        self._point, self._reference, self._execution = point, reference, execution
        self._ladders: dict[str, dict[str, Ladder]] = {}

    def findings(self, method: str) -> Iterator[Finding]:
        """The findings of one of `METHODS`, for every pair of output and input that it can be applied to."""
        d = self._execution.derivatives
        for name in d.inputs:
            if self._point.directions[name].size == 0:
                continue
            for key in d.outputs:
                if (key, name) in self._derivatives.of:
                    judgement = self._judgement(method, key, name)
                    if judgement is not None:
                        yield Finding(key, name, method, self._execution.name, judgement)

    @cached_property
    def _derivatives(self) -> _Derivatives:
        return _Derivatives(self._point, self._reference, self._execution)

    def _ladder(self, key: str, name: str) -> Ladder:
        if name not in self._ladders:
            x = self._execution.derivatives.inputs[name]
            self._ladders[name] = _ladders(self._point, self._reference, self._execution, name, x)
        return self._ladders[name][key]

    def _judgement(self, method: str, key: str, name: str) -> Judgement | None:
        """The judgement of one derivative by one method; None if the method cannot be applied."""
        derivative, given = self._derivatives.of[key, name], self._derivatives.dtypes[key]
        tested = self._reference.dtype(key) if self._execution is self._reference else given
        match method:
            case "duality":
                return _judge_duality(derivative, self._derivatives.forward[key, name], _DUALITY[given])
            case "Taylor order":
                return judge_order(self._ladder(key, name), derivative)
            case "differences":
                tolerance = _DERIVATIVE[tested] if tested == given else _COMPLEX[given]
                return judge_differences(self._ladder(key, name), derivative, tolerance)
            case _:
                if tested != "float64" or not self._point.has_reference:
                    return None
                x = self._execution.derivatives.inputs[name]
                step = _complex_step(self._point, self._reference, key, name, x)
                return None if step is None else _judge_step(derivative, step, _COMPLEX[given])


class _Derivatives:
    """ȳᵀ·J·ẋ for each output and input, by pullback (`of`) and by pushforward (`forward`).   dtypes: least precise
    per output
    """

    def __init__(self, point: Point, reference: Reference, execution: Execution) -> None:
        d = execution.derivatives
        values = point.extended(d)
        pulled, _ = execution.derivatives_at(values)
        off: list[list[dict[Pair, Array | None]]]
        if point.has_reference:
            off = [[_nearby(d.pulled, values, point.seed + k, only) for k in range(_DRAWS)] for only in (False, True)]
        else:
            off = [[{**execution.derivatives_at(x)[0]} for x in _moved(values, point.seed)]] * 2
        self.of: dict[Pair, Derivative] = {}
        self.dtypes = {key: d.dtype(key) for key in d.outputs}
        for pair, derivative in pulled.items():
            direction = point.directions[pair[1]]
            total, scale = _along(derivative, direction), _along(np.abs(derivative), np.abs(direction))
            inside, outside = (_spread([_along(other[pair], direction) for other in draws]) for draws in off)
            noise = inside if 16 * inside <= 1e-2 * scale else outside
            self.of[pair] = Derivative(total, 16 * noise + _ROUNDING[self.dtypes[pair[0]]] * scale, scale)
        self.forward = self._forward(point, execution)

    @staticmethod
    def _forward(point: Point, execution: Execution) -> dict[Pair, float]:
        forward: dict[Pair, float] = {}
        for name in execution.derivatives.inputs:
            _, pushed = execution.derivatives_at(point.extended(execution.derivatives, name))
            for key, tangent in pushed.items():
                forward[key, name] = _along(tangent, point.cotangents[key])
        return forward


def _along(x: Array | None, direction: Array) -> float:
    """⟨x, direction⟩; nan if there is no x, or its extents differ."""
    if x is None or x.shape != direction.shape:
        return np.nan
    return float(np.sum(x.astype(float) * direction))


def _spread(values: list[float]) -> float:
    return float(np.ptp(values))


def _nearby(
    targets: Mapping[Key, Variable], values: Values, seed: int, only_leaves: bool = False
) -> dict[Key, Array | None]:
    """The targets with every value changed by one ulp, None if that fails: extents may depend on values."""
    try:
        found: list[Array] | list[None] = nearby(
            list(targets.values()), values, np.random.default_rng(seed), only_leaves
        )
    except (AotensorError, ValueError, IndexError):
        found = [None] * len(targets)
    return dict(zip(targets, found, strict=True))


def _ladders(point: Point, reference: Reference, execution: Execution, name: str, x: Variable) -> dict[str, Ladder]:
    """The ladder of ⟨ȳ, y⟩ along the direction of one input, for every output."""
    direction, weights = point.directions[name], point.cotangents
    start = execution.evaluate_shifted(point.values, x, 0.0)

    def rises(change: Array) -> dict[str, float]:
        try:
            found = execution.evaluate_shifted(point.values, x, change)
        except (AotensorError, ValueError, IndexError):
            return dict.fromkeys(start, np.nan)
        return {
            key: _along(y.astype(float) - start[key] if y.shape == start[key].shape else None, weights[key])
            for key, y in found.items()
        }

    ahead = [rises(step * direction) for step in STEPS]
    behind = [rises(-step * direction) for step in STEPS]
    noise = _noise(point, reference, execution)
    return {
        key: Ladder(
            np.array(STEPS),
            np.array([rise[key] for rise in ahead]),
            -np.array([rise[key] for rise in behind]),
            noise[key],
            float(np.sum(np.abs(start[key] * weights[key]))),
        )
        for key in start
    }


def _moved(values: Values, seed: int) -> list[Values]:
    """The values with every number off by `_UNSEEN` ulps, several times: for rounding inside of compiled code."""
    rng = np.random.default_rng(seed)
    return [
        {x: value + (_UNSEEN * (perturb_by_ulp(value, rng) - value)).astype(value.dtype) for x, value in values.items()}
        for _ in range(_DRAWS)
    ]


def _noise(point: Point, reference: Reference, execution: Execution) -> dict[str, float]:
    """The rounding error of ⟨ȳ, y⟩, estimated by a change of every value by one ulp, times a safety factor."""
    d = execution.derivatives
    is_compiled = execution is not reference
    targets = d.outputs if is_compiled else reference.path
    draws: list[dict[str, Array | None]]
    if point.has_reference:
        known = point.values if is_compiled else reference.values_of(point.values)
        draws = [_nearby(targets, known, point.seed + draw) for draw in range(_DRAWS)]
    else:
        first_input = next(iter(d.inputs.values()))
        draws = [{**execution.evaluate_shifted(x, first_input, 0.0)} for x in _moved(point.values, point.seed)]
    noise = {}
    for key, y in targets.items():
        spread = _spread([_along(draw[key], point.cotangents[key]) for draw in draws])
        first = draws[0][key]
        size = _along(None if first is None else np.abs(first), point.cotangents[key])
        noise[key] = (16 if is_compiled else 8) * spread + 4 * epsilon(y.dtype) * size
    return noise


def _complex_step(point: Point, reference: Reference, key: str, name: str, x: Variable) -> float | None:
    """Im ⟨ȳ, y(x + i·h·d)⟩/h, or None if the graph is not analytic."""
    try:
        found = reference.continued(key, point.values, x, _COMPLEX_STEP * point.directions[name])
    except AotensorError:
        return None
    return float(np.sum(found.imag * point.cotangents[key])) / _COMPLEX_STEP


def _judge_duality(derivative: Derivative, forward: float, tolerance: float) -> Judgement:
    difference, size = abs(derivative.value - forward), max(derivative.scale, abs(forward))
    if not np.isfinite(difference):
        return Judgement(Verdict.NOISY, f"the derivatives are {derivative.value} and {forward}")
    if difference <= tolerance * size + np.nan_to_num(derivative.noise):
        return Judgement.right(difference, size)
    return Judgement(Verdict.WRONG, f"pullback gives {derivative.value:.9g}, pushforward {forward:.9g}")


def _judge_step(derivative: Derivative, step: float, tolerance: float) -> Judgement:
    difference, size = abs(derivative.value - step), max(derivative.scale, abs(step))
    if not np.isfinite(difference):
        return Judgement(Verdict.NOISY, f"the derivative is {derivative.value}, the complex step gives {step}")
    if derivative.noise > 1e-2 * size:
        return Judgement(
            Verdict.NOISY,
            f"rounding hides the derivative: an ulp on each value moves it by {derivative.noise / 16:.1g}",
        )
    if difference <= tolerance * size + np.nan_to_num(derivative.noise) + _COMPLEX_ERROR:
        return Judgement.right(difference, size)
    return Judgement(Verdict.WRONG, f"{derivative.value:.9g}, but the complex step gives {step:.9g}")
