"""Derivatives of a function's outputs: the two modes against each other, and against finite differences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

import numpy as np

from aotensor.core.dtypes import is_float
from aotensor.core.types import Array
from aotensor.driver.function import Function
from aotensor.driver.samples import Arrays, Sampler, reference_values
from aotensor.driver.verify_report import CheckFailed, CheckSkipped
from aotensor.errors import AotensorError
from aotensor.gradient.numeric import check_duality
from aotensor.gradient.reverse import pullback
from aotensor.graph.variable import Variable
from aotensor.graph.walk import evaluate_all, replace, toposort

_DUALITY: Final = {"float64": 1e-9, "float32": 1e-3}
"""Relative: both sides are sums of the same products in another order, and may cancel."""

_STEP: Final = {"float64": 1e-5, "float32": 2e-2}
"""Central differences at h and h/2, extrapolated: an error of h⁴ + eps/h, with about 10 and 4 good digits."""

_SLOPE: Final = {"float64": 1e-6, "float32": 5e-2}
"""Relative tolerance of the slope, from the above with room for curvature, and for the many kinks of a wide layer that
a large step meets."""

_ROUNDED_SLOPE: Final = 1e-3
"""The same for a slope that is computed in float32 and compared with differences in float64."""

_FINER: Final = 64
"""A slope counts as wrong only if a step so much smaller confirms the finite differences."""

_SHOWN: Final = 4
"""Outputs that the table names."""

_DOMAINS: Final = ("normal", "unit")


class Verdict(Enum):
    """Of one slope against its finite difference."""

    RIGHT = "right"
    WRONG = "wrong"
    NOISY = "too noisy"


@dataclass(frozen=True)
class _Point:
    """One output at one sample, with the floating inputs that it may depend on.   dtype: the least precise of them"""

    key: str
    output: Variable
    wrt: tuple[Variable, ...]
    values: dict[Variable, Array]
    dtype: str


@dataclass(frozen=True)
class _Path:
    """An output as a function of the floating inputs, for differences: in float64 wherever the graph allows."""

    output: Variable
    values: dict[Variable, Array]
    inputs: dict[Variable, Variable]
    dtype: str

    @staticmethod
    def of(point: _Point) -> _Path:
        inputs = {x: Variable(x.tensor_type.with_dtype("float64"), name=x.name) for x in point.wrt}
        try:
            (output,) = replace([point.output], inputs)
        except AotensorError:
            output = point.output
        nodes = toposort([output], stop=inputs.values())
        if output is point.output or any(y.dtype == "float32" for node in nodes for y in node.outputs):
            return _Path(point.output, point.values, {x: x for x in point.wrt}, point.dtype)
        widened = {inputs[x]: array.astype(float) for x, array in point.values.items() if x in inputs}
        return _Path(output, point.values | widened, inputs, "float64")

    def value(self, x: Variable | None = None, change: Array | float = 0) -> Array:
        """⟨output⟩ where input x is moved."""
        values = self.values
        if x is not None:
            moved = self.inputs[x]
            values = values | {moved: np.asarray(values[moved] + change, dtype=moved.dtype)}
        return evaluate_all([self.output], values)[0].astype(float)


def check_modes(f: Function, seed: int) -> str:
    """⟨ȳ, J·ẋ⟩ = ⟨Jᵀ·ȳ, ẋ⟩ for every output.   Raises: CheckFailed, CheckSkipped"""
    rng, done, left = np.random.default_rng(seed), [], []
    for point in _points(f, seed):
        try:
            with np.errstate(all="ignore"):
                forward, backward = check_duality([point.output], point.values, point.wrt, rng)
        except (AotensorError, NotImplementedError) as error:
            left.append(f"{point.key} ({_reason(error)})")
            continue
        scale = max(abs(forward), abs(backward), 1e-3)
        if not abs(forward - backward) <= _DUALITY[point.dtype] * scale and np.isfinite(forward - backward):
            raise CheckFailed(f"{point.key}: pushforward gives {forward:.9g}, pullback {backward:.9g}")
        done.append(point.key)
    return _summary(done, left)


def check_slopes(f: Function, seed: int) -> str:
    """Pullbacks of every output against finite differences in random directions.   Raises: CheckFailed, CheckSkipped"""
    rng = np.random.default_rng(seed + 1)
    done: list[str] = []
    left: list[str] = []
    verdicts: list[Verdict] = []
    for point in _points(f, seed):
        try:
            found = list(_slopes(point, rng))
        except (AotensorError, NotImplementedError) as error:
            left.append(f"{point.key} ({_reason(error)})")
            continue
        for verdict, detail in found:
            if verdict is Verdict.WRONG:
                raise CheckFailed(f"{point.key} by {detail}")
        verdicts += [verdict for verdict, _ in found]
        is_told = not found or any(verdict is Verdict.RIGHT for verdict, _ in found)
        (done if is_told else left).append(point.key if is_told else f"{point.key} (too noisy)")
    noisy = verdicts.count(Verdict.NOISY)
    return _summary(done, left) + (f"; {noisy} of {len(verdicts)} slopes too noisy to tell" if noisy else "")


def _summary(done: Sequence[str], left: Sequence[str]) -> str:
    right = list(dict.fromkeys(done))
    rest = [text for text in dict.fromkeys(left) if text.split(" (")[0] not in right]
    if not right:
        raise CheckSkipped("; ".join(rest) or "no floating output depends on a floating input")
    shown = ", ".join(right[:_SHOWN]) + (f" and {len(right) - _SHOWN} more" if len(right) > _SHOWN else "")
    return shown + (f"; not checked: {'; '.join(rest)}" if rest else "")


def _reason(error: Exception) -> str:
    text = error.diagnostic.title if isinstance(error, AotensorError) else str(error)
    return text.splitlines()[0] if text else type(error).__name__


def _points(f: Function, seed: int) -> Iterator[_Point]:
    """Every floating output at a small sample of each domain where it is finite."""
    wrt = tuple(x for x in f.arguments.values() if is_float(x.dtype))
    outputs = {key: x for key, x in f.results.items() if is_float(x.dtype)}
    if not wrt or not outputs:
        return
    sampler = Sampler(f, seed)
    for domain in _DOMAINS:
        arrays = sampler.small(domain).arrays
        try:
            results = dict(zip(f.results, reference_values(f, arrays), strict=True))
        except (AotensorError, ValueError, IndexError):
            continue
        for key, x in outputs.items():
            if np.isfinite(results[key]).all():
                yield _point(f, key, x, wrt, arrays)


def _point(f: Function, key: str, x: Variable, wrt: tuple[Variable, ...], arrays: Arrays) -> _Point:
    coarsest = "float32" if any(v.dtype == "float32" for v in (x, *wrt)) else "float64"
    return _Point(key, x, wrt, {f.arguments[name]: array for name, array in arrays.items()}, coarsest)


def _slopes(point: _Point, rng: np.random.Generator) -> Iterator[tuple[Verdict, str]]:
    """One verdict per input: the derivative of ⟨ȳ, y⟩ along a random direction in that input."""
    with np.errstate(all="ignore"):
        path = _Path.of(point)
        weights = rng.uniform(0.5, 1.5, path.value().shape).astype(point.output.dtype)
        slopes = pullback(point.output, list(point.wrt), weights, disconnected_inputs="ignore")
        for x, slope in zip(point.wrt, evaluate_all(slopes, point.values), strict=True):
            if slope.size == 0:
                continue
            direction = rng.choice([-1.0, 1.0], slope.shape) * rng.uniform(0.5, 1.0, slope.shape)
            symbolic = float(np.sum(slope.astype(float) * direction))
            is_rounded = path.dtype != point.dtype
            yield _judge(path, x, direction, weights, symbolic, _ROUNDED_SLOPE if is_rounded else _SLOPE[path.dtype])


def _judge(
    path: _Path, x: Variable, direction: Array, weights: Array, symbolic: float, tolerance: float
) -> tuple[Verdict, str]:
    """Right where the two agree; noisy where differences at several steps do not agree with each other."""
    step = _STEP[path.dtype]
    coarse, scale = _difference(path, x, direction, weights, step)
    fine, _ = _difference(path, x, direction, weights, step / 2)
    numeric = (4 * fine - coarse) / 3
    rounding = 4 * float(np.finfo(path.dtype).eps) * scale / step
    size = max(abs(symbolic), abs(numeric), 1e-6)
    detail = f"{x}: {symbolic:.7g} but finite differences {numeric:.7g}"
    if not np.isfinite(numeric) or not np.isfinite(symbolic):
        return Verdict.NOISY, str(x)
    if abs(symbolic - numeric) <= tolerance * size:
        return Verdict.RIGHT, detail
    if abs(symbolic - numeric) <= 4 * (abs(fine - coarse) + rounding):
        return Verdict.NOISY, str(x)
    finest, _ = _difference(path, x, direction, weights, step / _FINER)
    is_steep = abs(finest - numeric) > 0.1 * abs(numeric) + _FINER * rounding  # the function turns within one step
    return Verdict.NOISY if is_steep else Verdict.WRONG, str(x) if is_steep else detail


def _difference(path: _Path, x: Variable, direction: Array, weights: Array, step: float) -> tuple[float, float]:
    """(φ(x + h·d) − φ(x − h·d))/2h for φ = ⟨ȳ, y⟩, and Σ|ȳ·y| as the scale of its rounding."""
    ahead, behind = (path.value(x, sign * step * direction) for sign in (1, -1))
    return float(np.sum((ahead - behind) * weights)) / (2 * step), float(np.sum(np.abs(ahead * weights)))
