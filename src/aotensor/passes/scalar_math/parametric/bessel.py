"""The Bessel function J_v of real order and its derivatives in the order, in float64.

    x < 30      the power series 10.2.2 of DLMF at an order from which on its terms fall, μ + 1 ≥ x²/4, and the
                recurrence J_{μ−1} = (2μ/x)·J_μ − J_{μ+1} downwards, which is stable, to v, below 0 too
    x ≥ 30      Hankel's expansion 10.17.3 at the orders f and f + 1 with 0 ≤ f < 1, f = v − ⌊v⌋, and the recurrence
                upwards to the largest order below x, or downwards to v < 0; beyond x quotients J_{k+1}/J_k, by the
                recurrence downwards from where they are small (Miller's algorithm; Gautschi, 1967)

Source: NIST Digital Library of Mathematical Functions, chapter 10 and 3.6.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from aotensor.passes.scalar_math.parametric.control import Item, branch, repeat, sum_terms
from aotensor.passes.scalar_math.parametric.gamma_parts import floor, log_gamma_of_successor, psi_series
from aotensor.passes.scalar_math.parametric.jet import Jet, choose
from aotensor.passes.scalar_math.parametric.modified_bessel import cosine_pi, is_odd, is_whole, sine_pi
from aotensor.passes.scalar_math.value import Value, where

_HANKEL_FROM: Final = 30.0
_HANKEL_TERMS: Final = 24
_LARGEST_ORDER: Final = 1e7
"""Beyond it, and above x, the function is 0 for all x ≤ 10⁶."""


def jv(v: Value, x: Value, order: int = 0) -> Value:
    """J_v(x), or a derivative in v; for x < 0 only for integer v, else nan; at ±∞ as in SciPy.

    Needs about |v| + x²/4 steps for x < 30 and |v| otherwise. Bound: 1e-13 of the larger of |J_v| and, for x > v, of
    √(2/(πx)), times 1 + |ln|; derivatives 1e-12.
    """
    size, whole = abs(x), is_whole(v)
    is_inside = (size > 0.0) & (size < math.inf) & (abs(v) < _LARGEST_ORDER) & ((x > 0.0) | whole)
    # for negative integer order by symmetry: the recurrence would continue from a 0 with rounding errors
    own = v if order else where(whole, abs(v), v)
    (parameter,) = Jet.parameters([where(is_inside, own, 1.0)], (order,))
    point = where(is_inside, size, 1.0)
    is_direct = (point < 1.0) & (v < 0.0) & ~whole
    found = branch(
        is_direct,
        lambda: _by_powers(parameter, point).dense(),
        lambda: branch(
            point < _HANKEL_FROM, lambda: _near(parameter, point).dense(), lambda: _far(parameter, point).dense()
        ),
    ).derivative
    has_limit = x.eq(0.0) & v.eq(v) & (abs(v) < math.inf)
    if order:
        found = where(x < 0.0, math.nan, found)
        at_zero = where(v > 0.0, x.like(0.0), where(v.eq(0.0), x.like((-1.0) ** order * math.inf), math.nan))
    else:
        is_mirrored = ((x < 0.0) ^ ((v < 0.0) & whole)) & is_odd(v)
        found = where(is_mirrored, -found, found)
        pole = where(is_odd(floor(v)), x.like(math.inf), -math.inf)
        at_zero = where(v.eq(0.0), x.like(1.0), where((v > 0.0) | whole, x.like(0.0), pole))
    is_high = (v >= _LARGEST_ORDER) & (size < v)
    at_zero, has_limit = where(is_high, 0.0, at_zero), has_limit | is_high
    return where(is_inside, found, where(has_limit, at_zero, math.nan))


def length(v: Value, x: Value) -> Value:
    """A number from 0 to 1 that grows with the steps of the recurrence: x²/4 − v for |x| < 30, else |v|."""
    size = abs(v)
    return where(abs(x) < _HANKEL_FROM, (x * x * 0.25 - v) * (1.0 / 256.0), size / (size + 32.0))


def _by_powers(v: Jet, x: Value) -> Jet:
    """J_v(x) for v < 0, not whole, and x < 1: (x/2)ᵛ/Γ(v + 1)·Σ (−x²/4)ᵏ/(k!·(v + 1)ₖ)."""

    def log_gamma(u: Value) -> Iterable[Value]:
        yield u.call("gammaln_apart")
        yield from psi_series(u, v.order)

    half = 0.5 * x
    series = sum_terms(v.constant(1.0), lambda k: -(half * half) / ((v + k) * k))
    size = (v * half.call("log") - (v + 1.0).compose(log_gamma)).exp() * series
    # Γ(v + 1) < 0 where ⌊v⌋ is even
    return choose(is_odd(floor(v.value)), size, -size)


def _near(v: Jet, x: Value) -> Jet:
    """J_v(x) for 0 < x < 30."""
    half = 0.5 * x
    square = half * half
    bound = where(square > 1.0, square, 1.0) - 1.0
    steps = where(v.value < bound, -floor(v.value - bound), 0.0)
    top = v + steps
    # both without the factor (x/2)^top/Γ(top + 1), which multiplies the result
    at_top = sum_terms(v.constant(1.0), lambda k: -square / ((top + k) * k))
    above = sum_terms(v.constant(1.0), lambda k: -square / ((top + (k + 1.0)) * k)) * half / (top + 1.0)
    lowest = _downwards(v, x, top, steps, at_top, above)
    exponent = top * half.call("log") - log_gamma_of_successor(top)
    # if a power of x/2 underflows, the recurrence may have brought the result back into range
    part = (exponent * 0.5).exp()
    return lowest * part * part


def _far(v: Jet, x: Value) -> Jet:
    """J_v(x) for x ≥ 30."""
    whole = floor(v.value)
    low = v - whole
    first, second = _hankel(low, x), _hankel(low + 1.0, x)
    below = where(x < 2.0**52, floor(x - low.value), x)
    upwards = where(whole < below, whole, below)

    def step(k: Value, one: Jet, two: Jet) -> Sequence[Item]:
        # J_{μ+1} from J_μ = two and J_{μ−1} = one, with μ = low + k
        return k + 1.0, two, ((low + k) * two * (2.0 / x) - one).dense()

    def rising() -> Jet:
        found = repeat((x.like(1.0), first.dense(), second.dense()), lambda k, *_: k <= upwards, step)[1]
        assert isinstance(found, Jet)
        return found

    def beyond() -> Jet:
        return (rising() * _quotients(low, x, upwards, whole)).dense()

    def falling() -> Jet:
        return _downwards(v, x, low, -whole, first, second).dense()

    return branch(whole < 0.0, falling, lambda: branch(whole > upwards, beyond, rising))


def _downwards(v: Jet, x: Value, top: Jet, steps: Value, at_top: Jet, above: Jet) -> Jet:
    """J of order `top` − `steps`, by downward recurrence from orders `top` and `top` + 1 (`at_top`, `above`)."""

    def step(k: Value, one: Jet, two: Jet) -> Sequence[Item]:
        return k + 1.0, ((top - k) * one * (2.0 / x) - two).dense(), one

    found = repeat((x.like(0.0), at_top.dense(), above.dense()), lambda k, *_: k < steps, step)[1]
    assert isinstance(found, Jet)
    return found


def _quotients(low: Jet, x: Value, first: Value, last: Value) -> Jet:
    """J_{low + last}(x)/J_{low + first}(x) for orders near and above x."""
    cube_root = x.call("cbrt")
    start = floor(where(last > x, last, x) + 8.0 * cube_root) + 12.0

    def descend(keep: Callable[[Jet, Jet, Value], Jet]) -> Callable[..., Sequence[Item]]:
        def step(k: Value, quotient: Jet, product: Jet) -> Sequence[Item]:
            # J_k/J_{k−1} = 1/(2k/x − J_{k+1}/J_k)
            following = (1.0 / ((low + k) * (2.0 / x) - quotient)).dense()
            return k - 1.0, following, keep(product, following, k).dense()

        return step

    zero, one = low.constant(0.0).dense(), low.constant(1.0).dense()
    k, quotient, _ = repeat((start, zero, one), lambda k, *_: k > last, descend(lambda product, following, k: product))
    _, _, product = repeat(
        (k, quotient, one), lambda k, *_: k > first, descend(lambda product, following, k: product * following)
    )
    assert isinstance(product, Jet)
    return product


def _hankel(v: Jet, x: Value) -> Jet:
    """J_v(x) for 0 ≤ v < 2 and x ≥ 30: √(2/(πx))·(P·cos χ − Q·sin χ), χ = x − (v/2 + ¼)·π."""
    square = v * v * 4.0
    term = v.constant(1.0)
    even, odd = term, v.constant(0.0)
    for k in range(1, _HANKEL_TERMS):
        term = term * (square - (2.0 * k - 1.0) ** 2) * (1.0 / (8.0 * k) / x)
        sign = -1.0 if k % 4 in (2, 3) else 1.0
        if k % 2:
            odd = odd + term * sign
        else:
            even = even + term * sign
    sine, cosine = x.call("sin_apart"), x.call("cos_apart")
    angle = v * 0.5 + 0.25
    turned_cosine, turned_sine = cosine_pi(angle), sine_pi(angle)
    cos_chi = turned_cosine * cosine + turned_sine * sine
    sin_chi = turned_cosine * sine - turned_sine * cosine
    return (even * cos_chi - odd * sin_chi) * (2.0 / (math.pi * x)).sqrt()
