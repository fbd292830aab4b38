"""Fourier transforms of lengths known only at run time.

jk = (j² + k² − (j − k)²)/2 makes a transform of length n a convolution with chirps, of a power of 2 from 2n − 1 on
(L. Bluestein, 1970). That is transformed in steps of radix 2 (Stockham, decimation in frequency), a loop whose count is
computed from the length, as are its roots of unity.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import numpy as np

from aotensor.graph.variable import Variable, constant
from aotensor.ops.complex.formulas import Pair, times
from aotensor.ops.create import zeros
from aotensor.ops.elementwise.arithmetic import maximum, minimum
from aotensor.ops.elementwise.bits import left_shift, right_shift
from aotensor.ops.elementwise.compare import cast, lt, or_, switch
from aotensor.ops.elementwise.elementary import cos, sin
from aotensor.ops.ranges import arange
from aotensor.ops.reduce.sums import sum as total
from aotensor.ops.scan.folds import reduce
from aotensor.ops.shape.extents import extent_of
from aotensor.ops.shape.join import stack
from aotensor.ops.shape.reshape import reshape
from aotensor.ops.updates import set_subtensor

_POWERS: Final = np.left_shift(np.int64(1), np.arange(62))


def chirped(n: Variable, sign: int, dtype: str) -> Callable[[Pair], Pair]:
    """The Fourier transform of rows of length n by a convolution with chirps; (real, imaginary) parts of (batch, n)."""
    size = _power_of_two(2 * n - 1)
    steps = arange(total(cast(lt(constant(_POWERS), size), "int64")))
    positions = arange(size)
    distances = minimum(positions, size - positions)
    chirp = _chirp(arange(n), n, sign, dtype)
    forward, backward = (_roots(arange(size // 2), size, s, dtype) for s in (-1, 1))
    kernel = tuple(switch(lt(distances, n), part, 0.0)[None] for part in _chirp(distances, n, -sign, dtype))
    spectrum = _by_halves((kernel[0], kernel[1]), steps, forward)
    factor = cast(1.0 / cast(size, "float64"), dtype)
    weights = spectrum[0] * factor, spectrum[1] * factor

    def transform(x: Pair) -> Pair:
        re, im = times(x, chirp)
        wide = zeros([extent_of(re, 0), size], dtype)
        found = _by_halves((set_subtensor(wide[:, :n], re), set_subtensor(wide[:, :n], im)), steps, forward)
        re, im = _by_halves(times(found, weights), steps, backward)
        return times((re[:, :n], im[:, :n]), chirp)

    return transform


def _power_of_two(n: Variable) -> Variable:
    """The smallest power of two that is at least n."""
    bits = maximum(n - 1, 0)
    for shift in (1, 2, 4, 8, 16, 32):
        bits = or_(bits, right_shift(bits, shift))
    return bits + 1


def _chirp(k: Variable, n: Variable, sign: int, dtype: str) -> Pair:
    """exp(sign·πi·k²/n) for integers k below 2³¹, as (real, imaginary) parts."""
    return _roots(k * k % (2 * maximum(n, 1)), 2 * n, sign, dtype)


def _roots(k: Variable, n: Variable, sign: int, dtype: str) -> Pair:
    """exp(sign·2πi·k/n) for 0 ≤ k < n, computed in float64."""
    angle = 2 * math.pi * cast(k, "float64") / cast(n, "float64")
    return cast(cos(angle), dtype), cast(sign * sin(angle), dtype)


def _by_halves(x: Pair, steps: Variable, roots: Pair) -> Pair:
    """The transform of rows of a power of two, the size, with exp(±2πi·k/size) for the first half of k.

    steps: 0, 1, … below the logarithm of the size.
    m = 2^step: (batch, 2, p, m) → (batch, p, 2, m): y[q, j, s] = w^(jq)·(x[0, q, s] ± x[1, q, s]), w = exp(±πi/p).
    """

    def step(k: Variable, re: Variable, im: Variable) -> list[Variable]:
        size, rows = extent_of(re, 1), extent_of(re, 0)
        m = left_shift(1, k)
        pairs = [reshape(part, [rows, 2, right_shift(size, k + 1), m]) for part in (re, im)]
        a, b = ([part[:, side] for part in pairs] for side in range(2))
        w = [part[::m][:, None] for part in roots]
        twiddled = times((a[0] - b[0], a[1] - b[1]), (w[0], w[1]))
        return [reshape(stack([a[q] + b[q], twiddled[q]], axis=2), [rows, size]) for q in range(2)]

    re, im = reduce(step, [steps], list(x), return_updates=False)
    return re, im
