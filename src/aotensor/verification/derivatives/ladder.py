"""Judge one derivative by values of the function only, over a ladder of step sizes.

φ is a scalar function of one variable, s its claimed derivative at 0. Three cases are distinguished: φ(h) − φ(0)
− h·s falls as h² (s is right), falls as h (s is wrong, or φ has a kink), or does not fall (a jump, or rounding).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from aotensor.core.types import Array
from aotensor.verification.derivatives.verdict import Judgement, Verdict

RATIO: Final = 4.0
STEPS: Final = tuple(RATIO ** -(k + 2) for k in range(16))
"""Steps from 1/16, inside the domains of samples, to 6e-11: steep functions need small ones."""

_SECOND: Final = 1.6
"""Orders from this on count as 2: the error of a right derivative falls faster than h, as h² where φ is smooth."""

_FIRST: Final = 1.4
"""Orders up to this count as 1."""

_SUDDEN: Final = 5.0
"""An error that falls faster than this vanishes: smaller steps no longer reach the kink or jump."""

_CLEAR: Final = 16.0
"""Multiple of the rounding error from which an error is measured to 10 %."""


@dataclass(frozen=True)
class Derivative:
    """A claimed derivative.   noise: its possible rounding error; scale: Σ of the magnitudes of its terms"""

    value: float
    noise: float
    scale: float


@dataclass(frozen=True)
class Ladder:
    """φ around 0.   ahead: φ(h) − φ(0), behind: φ(0) − φ(−h), per step.

    noise: their possible rounding error; scale: Σ of the magnitudes of the terms of φ(0).
    """

    steps: Array
    ahead: Array
    behind: Array
    noise: float
    scale: float

    def finite(self) -> Ladder:
        """The ladder without steps at which φ is not finite."""
        kept = np.isfinite(self.ahead) & np.isfinite(self.behind)
        return Ladder(self.steps[kept], self.ahead[kept], self.behind[kept], self.noise, self.scale)

    @property
    def central(self) -> Array:
        """The central differences (φ(h) − φ(−h))/2h, per step."""
        return np.asarray((self.ahead + self.behind) / (2 * self.steps))


def judge_order(ladder: Ladder, derivative: Derivative) -> Judgement:
    """Judge by order: does the error of the first-order model fall as h², ahead and behind?"""
    ladder = ladder.finite()
    reason = _unusable(ladder, derivative)
    if reason:
        return Judgement(Verdict.NOISY, reason)
    floor = ladder.noise + ladder.steps * derivative.noise
    errors = [np.abs(rise - ladder.steps * derivative.value) for rise in (ladder.ahead, ladder.behind)]
    orders = [_order(error, floor) for error in errors]
    if all(order is None for order in orders):
        if derivative.scale and floor[0] > 1e-2 * ladder.steps[0] * max(abs(derivative.value), 1e-3 * derivative.scale):
            return Judgement(Verdict.NOISY, "rounding hides the derivative at every step")
        return Judgement(Verdict.RIGHT, "linear")
    order = min(order for order in orders if order is not None)
    if order >= _SECOND:
        text = f"order {order:.2f}" if order < _SUDDEN else "no error at small steps"
        return Judgement(Verdict.RIGHT, text, 1 / order)
    if order > _FIRST:
        return Judgement(
            Verdict.NOISY, f"the error falls with order {order:.2f}: the derivative itself changes too fast"
        )
    clear = [k for k in range(len(floor)) if max(error[k] for error in errors) > _CLEAR * floor[k]]
    if not clear:
        return Judgement(Verdict.NOISY, "rounding hides the order of the error")
    return _judge_step_size(ladder, derivative, clear[-1], f"order {order:.2f}: ")


def judge_differences(ladder: Ladder, derivative: Derivative, tolerance: float) -> Judgement:
    """Judge by central differences, extrapolated, at the steps where they agree best with each other.

    tolerance: relative.
    """
    ladder = ladder.finite()
    reason = _unusable(ladder, derivative)
    if reason:
        return Judgement(Verdict.NOISY, reason)
    central = ladder.central
    extrapolated = (RATIO**2 * central[1:] - central[:-1]) / (RATIO**2 - 1)
    rounding = 2 * ladder.noise / ladder.steps[1:]
    doubt = np.abs(np.diff(extrapolated)) + rounding[1:]
    best = int(np.argmin(doubt))
    numeric, error = float(extrapolated[best]), float(doubt[best]) + derivative.noise
    size = _size(ladder, derivative, numeric)
    difference = abs(derivative.value - numeric)
    if difference <= tolerance * size:
        return Judgement.right(difference, size)
    if difference <= 8 * error:
        return Judgement(
            Verdict.NOISY, f"rounding: differences give {numeric:.3g} ± {error:.1g}, not {derivative.value:.3g}"
        )
    return _judge_step_size(ladder, derivative, best + 1, "", numeric)


def _unusable(ladder: Ladder, derivative: Derivative) -> str | None:
    if not np.isfinite(derivative.value):
        return f"the derivative is {derivative.value}"
    if not (np.isfinite(ladder.noise) and np.isfinite(derivative.noise)):
        return "the function is not defined, or has other extents, where values are off by an ulp"
    if len(ladder.steps) < 4:
        return "the function is not finite, or has other extents, around the point"
    if derivative.noise > 1e-2 * derivative.scale:
        return f"rounding hides the derivative: an ulp on each value moves it by {derivative.noise / 16:.1g}"
    return None


def _size(ladder: Ladder, derivative: Derivative, numeric: float) -> float:
    """The size to which errors are relative: the derivative, but at least 1e-3 of the magnitudes of its terms."""
    return max(abs(derivative.value), abs(numeric), 1e-3 * derivative.scale, 1e-3 * ladder.scale)


def _order(error: Array, floor: Array) -> float | None:
    """p of error ~ hᵖ over the smallest steps with an error above rounding; None without such steps.

    Steps dominated by rounding are left out; but an error that falls directly below rounding counts as falling.
    """
    low = np.flatnonzero(error <= floor)
    end = int(low[0]) if low.size else len(error)
    if end == 0:
        return None
    shown = np.append(error[:end], floor[end : end + 1])
    local = np.log(shown[:-1] / shown[1:]) / np.log(RATIO)
    above = local[: end - 1]
    fitted = [float(np.median(above[-3:]) if len(above) > 2 else above.max())] if len(above) else []
    return max(fitted + [float(local[-1])] * (low.size > 0))


def _judge_step_size(
    ladder: Ladder, derivative: Derivative, k: int, prefix: str, numeric: float | None = None
) -> Judgement:
    """The verdict `wrong`; `noisy` if φ has a kink or a jump at 0, or changes faster than step k resolves."""
    step, larger = ladder.steps[k], max(k - 1, 0)
    ahead, behind = float(ladder.ahead[k] / step), float(ladder.behind[k] / step)
    found = (ahead + behind) / 2 if numeric is None else numeric
    rounding = 2 * ladder.noise / step
    gap, gap_before = (abs(ladder.ahead[j] - ladder.behind[j]) / ladder.steps[j] for j in (k, larger))
    if gap > max(0.25 * abs(found - derivative.value), 4 * rounding) and gap > 0.5 * gap_before:
        if gap > 2 * gap_before and larger != k:
            return Judgement(Verdict.NOISY, "discontinuity: the function jumps at the point")
        return Judgement(Verdict.NOISY, f"kink: derivative {ahead:.4g} on one side, {behind:.4g} on the other")
    if numeric is None and gap > 2 * abs(found - derivative.value):
        return Judgement(Verdict.NOISY, "curvature hides the order at the steps that rounding allows")
    before, here = float(ladder.central[larger]), float(ladder.central[k])
    is_settled = abs(before - here) <= 0.1 * max(abs(before), abs(here)) + rounding or abs(here) < 0.5 * abs(before)
    if not is_settled:
        return Judgement(Verdict.NOISY, "the function changes faster than any step that rounding allows")
    return Judgement(Verdict.WRONG, f"{prefix}{derivative.value:.7g}, but the function says {found:.7g}")
