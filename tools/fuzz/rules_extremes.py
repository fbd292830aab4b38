"""Steps with intermediate values of extreme magnitude, in tails, and in float16; results have moderate size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from tools.fuzz.oracle import Array
from tools.fuzz.rules import Rule, Shape, axis, both, rank, same


def _scale(rng: np.random.Generator, *_: Shape) -> dict[str, Any]:
    """{h}: a power of 2 whose square overflows or underflows float64; {r}: its inverse."""
    power = int(rng.choice([-900, -600, 600, 900]))
    return {"h": f"2.0 ** {power}", "r": f"2.0 ** {-power}"}


def _scale_and_axis(rng: np.random.Generator, first: Shape, *_: Shape) -> dict[str, Any]:
    return _scale(rng) | axis(rng, first)


def _is_long(x: Array, *_: Any) -> bool:
    """A condition: all vectors along the axes are far from 0, and so are their deviations from the mean."""
    return all(min(x.std(axis=a).min(initial=1.0), np.abs(x).max(axis=a).min(initial=1.0)) > 0.1 for a in range(x.ndim))


def _is_off_axes(x: Array, y: Array) -> bool:
    return bool((np.hypot(x, y) > 0.1).all())


_LINES: Final = both(rank(1, 2), lambda x: min(x) > 1)
_WIDE: Final = "at.cast({0}, 'float64') * {h}"
_HALF: Final = "at.cast(aot.gradient.zero_grad(256.0 * {0}), 'float16')"

EXTREMES: Sequence[Rule] = [
    Rule(f"at.linalg.norm({_WIDE}, axis={{a}}) * {{r}}", "np.sqrt((({0}) ** 2).sum(axis={a}))", "f", _LINES, _is_long,
         _scale_and_axis),
    Rule(f"at.std({_WIDE}, axis={{a}}) * {{r}}", "np.std({0}, axis={a})", "f", _LINES, _is_long, _scale_and_axis),
    Rule(f"at.hypot({_WIDE}, at.cast({{1}}, 'float64') * {{h}}) * {{r}}", "np.hypot({0}, {1})", "ff", same,
         _is_off_axes, _scale),
    Rule(f"at.arctan2({_WIDE}, (1.5 + at.sqr(at.cast({{1}}, 'float64'))) * {{h}})",
         "np.arctan2({0}, 1.5 + np.square({1}))", "ff", same, parameters=_scale),
    Rule("at.hypot(1e25 * {0}, 1e25 * {1}) * 1e-25", "np.hypot({0}, {1})", "ff", same, _is_off_axes),
    Rule("at.arctan2(1e25 * {0}, 1e25 * (1.5 + at.sqr({1})))", "np.arctan2({0}, 1.5 + np.square({1}))", "ff", same),
    Rule("1e16 * at.softplus({0} - 37.0)", "1e16 * o.softplus({0} - 37.0)"),
    Rule("1e16 * at.sigmoid({0} - 37.0)", "1e16 * o.sigmoid({0} - 37.0)"),
    Rule("at.log1p(1e16 * at.sigmoid(-37.0 - {0}))", "np.log1p(1e16 * o.sigmoid(-37.0 - {0}))"),
    Rule("at.logaddexp({0}, {1} - 30.0)", kinds="ff", fits=same),
    Rule(f"at.cast(at.std({_HALF}, axis={{a}}), 'float64') / 256.0",
         "o.half(np.std(o.half(256.0 * {0}), axis={a})) / 256.0", "f", _LINES, _is_long, axis),
    Rule(f"at.cast(at.mean({_HALF}, axis={{a}}), 'float64') / 256.0",
         "o.half(np.mean(o.half(256.0 * {0}), axis={a})) / 256.0", "f", _LINES, parameters=axis),
    Rule(f"at.cast(at.linalg.norm({_HALF}, axis={{a}}), 'float64') / 256.0",
         "o.half(np.sqrt((o.half(256.0 * {0}) ** 2).sum(axis={a}))) / 256.0", "f", _LINES, _is_long, axis),
]  # fmt: skip
