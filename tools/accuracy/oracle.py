"""Derivatives in mpmath: central differences, with digits increased until the result stays the same."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import mpmath as mp

_DIFFERENCES: Final = {
    0: ((0, mp.mpf(1)),),
    1: ((-1, mp.mpf(-1) / 2), (1, mp.mpf(1) / 2)),
    2: ((-1, mp.mpf(1)), (0, mp.mpf(-2)), (1, mp.mpf(1))),
}
_DIGITS: Final = (60, 100, 170, 290, 480, 800)
_STEPS: Final = (mp.mpf(10) ** -25, mp.mpf(10) ** -24)
"""In turns: what depends on them is no derivative, as that of a function whose derivative is 0."""
_AGREEMENT: Final = mp.mpf(10) ** -20


def derivative(function: Callable[..., Any], orders: Sequence[int], operands: Sequence[float]) -> Any | None:
    """∂^orders of a function at a point; None where no number of digits is enough.

    The step is 1e-25 or 1e-24 of the operand, or that above 1.
    """
    before = None
    for number, digits in enumerate(_DIGITS):
        with mp.workdps(digits):
            found = _difference(function, orders, operands, _STEPS[number % 2])
            if found is None or (before is not None and abs(found - before) <= abs(found) * _AGREEMENT and found):
                return found
            before = found
    return None


def _difference(
    function: Callable[..., Any], orders: Sequence[int], operands: Sequence[float], share: Any
) -> Any | None:
    points = [mp.mpf(float(x)) for x in operands]
    sums: list[tuple[Any, list[Any]]] = [(mp.mpf(1), [])]
    size = mp.mpf(1)
    for x, order in zip(points, orders, strict=True):
        step = min(abs(x), mp.mpf(1)) * share
        sums = [(w * weight, [*xs, x + k * step]) for w, xs in sums for k, weight in _DIFFERENCES[order]]
        size *= step**order
    values = [weight * function(*xs) for weight, xs in sums]
    if any(isinstance(v, mp.mpc) or not mp.isfinite(v) for v in values):
        return None
    return mp.fsum(values) / size


class TooSlow(Exception):
    """Evaluating a value exceeded its time limit."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Within: TooSlow is raised after this time."""

    def stop(*_: Any) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def exact(function: Callable[..., Any], orders: Sequence[int], operands: Sequence[float], seconds: float) -> str | None:
    """`derivative` with 30 digits as text; None where mpmath has no value in that time."""
    try:
        with time_limit(seconds):
            found = derivative(function, orders, operands)
    except (TooSlow, ValueError, ZeroDivisionError, OverflowError, mp.libmp.NoConvergence, NotImplementedError):
        return None
    return None if found is None else str(mp.nstr(found, 30))
