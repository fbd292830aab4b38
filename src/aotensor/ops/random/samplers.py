"""Samplers in scalar operations: from the random words of an element to one draw, by exact, bounded loops.

All compute in float64. Each loop reads a block of the generator per round, so the draw of an element depends on its own
position only. Every method here accepts a round with a probability of at least ½, so that its loop ends
long before `LIMIT`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

from aotensor.core.builders import ScalarBuilder
from aotensor.ops.random.densities import log_binomial, log_choices, log_gap, log_hypergeometric, log_poisson
from aotensor.ops.random.noise import inner, normal, uniform
from aotensor.ops.random.philox import Position, block, join_words

LIMIT: Final = 256
"""Most blocks of a loop, so most rounds, or half of them if a round uses two; bounds loops even for nan parameters."""
SMALL_MEAN: Final = 10.0
"""Largest mean for which counts are found by sequential search: as many steps as the count, and one block."""
FLAT: Final = 1e-8
NARROW: Final = 1e6
"""Concentrations of angles below which they are uniform, and above which they are normal."""
LARGEST_SEARCHED: Final = 200.0
"""Counts of a mean below `SMALL_MEAN` exceed it with a probability of at most 2**-53."""


def bernoulli(v: ScalarBuilder, position: Position, p: Any) -> Any:
    """True with probability p."""
    words = block(v, position)
    return uniform(v, words[0], words[1], "float64") < p


def geometric(v: ScalarBuilder, position: Position, p: Any) -> Any:
    """Trials up to the first success: ⌈log u / log(1 − p)⌉, at least 1.   Source: Devroye (1986), X.2."""
    words = block(v, position)
    failures = v.math("log1p", -p)
    count = v.math("ceil", v.math("log", inner(v, words[0], words[1], "float64")) / failures)
    return v.cast(v.maximum(count, v.constant(1.0, "float64")), "int64")


def integers(v: ScalarBuilder, position: Position, span: Any, threshold: Any) -> Any:
    """0 … span − 1, all equally likely; a span of 0 is 2**64. threshold: 2**64 mod span.

    The high half of a product of 64 random bits and span, drawn again where the low half is below the threshold.
    Source: Lemire, "Fast random integer generation in an interval" (2019).
    """

    def step(v: ScalarBuilder, attempt: Any, done: Any, found: Any, *fixed: Any) -> list[Any]:
        *where, span, threshold = fixed
        words = block(v, (where[0], where[1], where[2]), attempt)
        bits = join_words(v, words[0], words[1])
        high, low = _product(v, bits, span)
        is_all = v.compare("eq", span, v.constant(0, "uint64"))
        return [
            attempt + 1,
            is_all | (low >= threshold),
            v.select(is_all, bits, high),
        ]

    start = [v.constant(0, "uint64"), v.constant(False, "bool"), v.constant(0, "uint64")]
    return v.iterate(start, [*position, span, threshold], _is_pending, step)[2]


def gamma(v: ScalarBuilder, position: Position, shape: Any) -> Any:
    """A gamma draw of scale 1 and the given shape.

    Source: Marsaglia & Tsang, "A simple method for generating gamma variables" (2000). A shape a below 1 uses
    Gamma(a) = Gamma(a + 1)·u^(1/a).
    """
    one = v.constant(1.0, "float64")
    is_small = shape < one
    d = v.select(is_small, shape + one, shape) - 1 / 3
    c = one / v.math("sqrt", 9.0 * d)

    def step(v: ScalarBuilder, attempt: Any, done: Any, found: Any, *fixed: Any) -> list[Any]:
        *where, d, c = fixed
        position, one, next_ = (where[0], where[1], where[2]), v.constant(1, "uint64"), v.constant(2, "uint64")
        x = normal(v, block(v, position, attempt), "float64")
        words = block(v, position, attempt + one)
        unit = v.constant(1.0, "float64")
        root = unit + c * x
        is_positive = root > 0.0
        cube = v.select(is_positive, root * root * root, unit)
        bound = 0.5 * x * x + d * (unit - cube + v.math("log", cube))
        u = v.math("log", inner(v, words[0], words[1], "float64"))
        is_good = is_positive & (u < bound)
        return [attempt + next_, is_good, d * cube]

    start = [v.constant(0, "uint64"), v.constant(False, "bool"), v.constant(0.0, "float64")]
    attempt, _, found = v.iterate(start, [*position, d, c], _is_pending, step)
    words = block(v, position, attempt - 1)
    power = v.math("log", inner(v, words[2], words[3], "float64")) / shape
    return found * v.select(is_small, v.math("exp", power), one)


def poisson(v: ScalarBuilder, position: Position, mean: Any) -> Any:
    """A Poisson draw: by sequential search for a mean below 10, else by transformed rejection.

    Sources: Devroye, "Non-uniform random variate generation" (1986), X.3; Hörmann, "The transformed rejection method
    for generating Poisson random variables" (1993), algorithm PTRS.
    """
    is_small = mean < SMALL_MEAN

    def ratio(v: ScalarBuilder, k: Any, mean: Any) -> Any:
        return mean / k

    first = v.math("exp", -mean)
    none, limit = v.constant(0.0, "float64"), v.constant(math.inf, "float64")
    few = _search_from_mode(
        v, position, is_small, first, (none, v.constant(LARGEST_SEARCHED, "float64")), [mean], ratio
    )
    spread = v.math("sqrt", mean)
    b = 2.53 * spread + 0.931
    a = 0.02483 * b + -0.059
    inverse = v.constant(1.1239, "float64") + 1.1328 / (1.0 * b + -3.4)
    quick = v.constant(0.9277, "float64") - 3.6224 / (1.0 * b + -2.0)
    shape = (a, b, 1.0 * mean + 0.43, inverse, quick)
    many = _transformed_rejection(v, position, is_small, shape, (none, limit), [mean], log_poisson)
    return v.cast(v.select(is_small, few, many), "int64")


def binomial(v: ScalarBuilder, position: Position, count: Any, p: Any) -> Any:
    """Number of successes in `count` trials: by sequential search for a mean below 10, else by transformed
    rejection.

    Sources: Kachitvichyanukul & Schmeiser, "Binomial random variate generation" (1988), algorithm BINV; Hörmann, "The
    generation of binomial random variates" (1993), algorithm BTRS. A p above ½ counts failures.
    """
    return _binomial(v, position, count, p, is_positive=False)


def positive_binomial(v: ScalarBuilder, position: Position, count: Any, p: Any) -> Any:
    """A binomial draw, conditioned on at least one success; `count` and p are above 0."""
    return _binomial(v, position, count, p, is_positive=True)


def _binomial(v: ScalarBuilder, position: Position, count: Any, p: Any, is_positive: bool) -> Any:
    n, one, half, none = v.cast(count, "float64"), *(v.constant(x, "float64") for x in (1.0, 0.5, 0.0))
    is_flipped = p > half
    p = v.select(is_flipped, one - p, p)
    q = one - p
    mean, odds = n * p, p / q
    is_small = mean < SMALL_MEAN
    log_none = n * v.math("log1p", -p)
    first, least, most = v.math("exp", log_none), none, n
    if is_positive:  # counts from 1, or failures that are not all
        some = -v.math("expm1", v.select(is_flipped, n * v.math("log", p), log_none))
        first = v.select(is_flipped, first, n * odds * first) / some
        least, most = v.select(is_flipped, none, one), v.select(is_flipped, n - one, n)

    def ratio(v: ScalarBuilder, k: Any, top: Any, odds: Any) -> Any:
        return top / k - odds

    bounds = least, v.minimum(most, v.constant(LARGEST_SEARCHED, "float64"))
    few = _search_from_mode(v, position, is_small, first, bounds, [(n + one) * odds, odds], ratio)
    spread = v.math("sqrt", mean * q)
    b = 2.53 * spread + 1.15
    a = 0.0248 * b + -0.0873 + 0.01 * p
    height = (v.constant(2.83, "float64") + 5.1 / b) * spread
    quick = v.constant(0.92, "float64") - 4.2 / b
    mode = v.math("floor", (n + one) * p)
    shape = (a, b, 1.0 * mean + 0.5, height, quick)
    many = _transformed_rejection(v, position, is_small, shape, (least, most), [mode, n, mean, n * q], log_binomial)
    found = v.select(is_small, few, many)
    return v.cast(v.select(is_flipped, n - found, found), "int64")


def gap(v: ScalarBuilder, position: Position, left: Any, picks: Any) -> Any:
    """The number of elements among `left` that precede the first of `picks` chosen ones, 1 … left.

    Source: Vitter, "An efficient algorithm for sequential random sampling" (1987): algorithm A, a search, where more
    than one of 13 is chosen; else algorithm D, a rejection, with the density itself instead of a product.
    """
    none, one = v.constant(0.0, "float64"), v.constant(1.0, "float64")
    n, m = v.cast(left, "float64"), v.maximum(v.cast(picks, "float64"), one)
    others = n - m
    is_dense = 13.0 * m > n

    def ratio(v: ScalarBuilder, k: Any, n: Any, others: Any) -> Any:
        return (others - k + 1.0) / (n - k)

    few = _search_from_mode(v, position, is_dense, m / n, (none, others), [n, others], ratio)

    def step(v: ScalarBuilder, attempt: Any, done: Any, found: Any, *fixed: Any) -> list[Any]:
        *where, n, m = fixed
        words = block(v, (where[0], where[1], where[2]), attempt)
        one = v.constant(1.0, "float64")
        before = m - one
        share = v.math("log", inner(v, words[0], words[1], "float64")) / m
        k = v.math("floor", -(n * v.math("expm1", share)))
        hat = v.math("log", n / (n - before)) + before * share
        level = v.math("log", inner(v, words[2], words[3], "float64")) + hat
        stands = v.compare("eq", m, one) | (level <= log_gap(v, k, n, m))
        return [attempt + 1, stands & (k <= n - m), k]

    many = v.iterate([v.constant(0, "uint64"), is_dense, none], [*position, n, m], _is_pending, step)[2]
    return v.cast(v.select(is_dense, few, many), "int64")


def hypergeometric(v: ScalarBuilder, position: Position, good: Any, bad: Any, left: Any) -> Any:
    """Number of good elements in a draw without replacement that leaves `left` elements of all.

    A search below a mean of 10, a ratio of uniforms above. Fewer than half are marked, and fewer than half are chosen:
    else the others are counted. Source: Stadlober, "The ratio of uniforms approach for generating discrete random
    variates" (1990), algorithm HRUA.
    """
    g, b, rest = (v.cast(x, "float64") for x in (good, bad, left))
    none, one, half = (v.constant(x, "float64") for x in (0.0, 1.0, 0.5))
    total = g + b
    taken = total - rest
    marked, others, picks = v.minimum(g, b), v.maximum(g, b), v.minimum(taken, rest)
    share = marked / total
    mean, most = picks * share, v.minimum(marked, picks)
    is_small = ~(mean >= SMALL_MEAN)  # also where there is nothing: nan

    def ratio(v: ScalarBuilder, k: Any, marked: Any, picks: Any, spare: Any) -> Any:
        before = k - 1.0
        return (marked - before) * (picks - before) / (k * (spare + k))

    log_all = log_choices(v, picks, total, picks / total)
    first = v.math("exp", log_hypergeometric(v, none, marked, others, picks) - log_all)
    bounds = none, v.minimum(most, v.constant(LARGEST_SEARCHED, "float64"))
    few = _search_from_mode(v, position, is_small, first, bounds, [marked, picks, others - picks], ratio)
    spread = mean * (one - share) / (total - one) * (total - picks)
    width = 2 * math.sqrt(2 / math.e) * v.math("sqrt", spread + half) + (3 - 2 * math.sqrt(3 / math.e))
    peak = (picks + one) * (marked + one) / (1.0 * total + 2.0)
    highest = log_hypergeometric(v, v.math("floor", peak), marked, others, picks)

    def step(v: ScalarBuilder, attempt: Any, done: Any, found: Any, *fixed: Any) -> list[Any]:
        *where, centre, width, highest, most, marked, others, picks = fixed
        words = block(v, (where[0], where[1], where[2]), attempt)
        u, side = inner(v, words[0], words[1], "float64"), inner(v, words[2], words[3], "float64")
        away = width * (side - 0.5) / u
        k = v.math("floor", centre + away)
        inside = v.maximum(v.minimum(k, most), v.constant(0.0, "float64"))
        level = log_hypergeometric(v, inside, marked, others, picks) - highest
        stands = v.constant(2.0, "float64") * v.math("log", u) <= level
        return [attempt + 1, stands & v.compare("eq", k, inside), inside]

    fixed = [*position, mean + half, width, highest, most, marked, others, picks]
    many = v.iterate([v.constant(0, "uint64"), is_small, none], fixed, _is_pending, step)[2]
    found = v.select(is_small, few, many)
    found = v.select(g > b, picks - found, found)
    return v.cast(v.select(rest < taken, g - found, found), "int64")


def vonmises(v: ScalarBuilder, position: Position, kappa: Any) -> Any:
    """An angle about 0 in [−π, π] of concentration kappa, by rejection from a wrapped Cauchy distribution.

    Source: Best & Fisher, "Efficient simulation of the von Mises distribution" (1979). A kappa below `FLAT` is uniform,
    one above `NARROW` normal, to within rounding.
    """
    one, two = v.constant(1.0, "float64"), v.constant(2.0, "float64")
    is_flat = kappa < FLAT
    is_narrow = kappa > NARROW
    k = v.select(is_flat | is_narrow, one, kappa)
    # s = (1 + ρ²)/2ρ of ρ = (r − √2r)/2κ, r = 1 + √(1 + 4κ²), written so that nothing cancels for small κ
    r = one + v.math("sqrt", one + v.constant(4.0, "float64") * (k * k))
    rho = two * k / (r + v.math("sqrt", two * r))
    s = (one + rho * rho) / (two * rho)

    def step(v: ScalarBuilder, attempt: Any, done: Any, found: Any, *fixed: Any) -> list[Any]:
        *where, s, k = fixed
        words = block(v, (where[0], where[1], where[2]), attempt)
        one, two = v.constant(1.0, "float64"), v.constant(2.0, "float64")
        side = two * inner(v, words[0], words[1], "float64") - one
        level = inner(v, words[2], words[3], "float64")
        z = v.math("cos", v.constant(math.pi, "float64") * v.abs(side))
        w = (one + s * z) / (s + z)
        y = k * (s - w)
        stands = v.math("log", level / y) <= one - y
        angle = v.math("arccos", v.maximum(v.minimum(w, one), -one))
        is_left = side < 0.0
        return [attempt + 1, stands, v.select(is_left, -angle, angle)]

    start = [v.constant(0, "uint64"), is_flat | is_narrow, v.constant(0.0, "float64")]
    accepted = v.iterate(start, [*position, s, k], _is_pending, step)[2]
    words = block(v, position)
    share = inner(v, words[0], words[1], "float64") - 0.5
    anywhere = 2 * math.pi * share
    spread = normal(v, words, "float64") / v.math("sqrt", v.select(is_narrow, kappa, one))
    return v.select(is_flat, anywhere, v.select(is_narrow, spread, accepted))


# --- loops -----------------------------------------------------------------------------------------------------------


def _is_pending(v: ScalarBuilder, attempt: Any, done: Any, *others: Any) -> Any:
    """Loop condition of rejection sampling: has no round accepted a draw yet?"""
    return ~done & (attempt < LIMIT)


def _search_from_mode(
    v: ScalarBuilder,
    position: Position,
    is_wanted: Any,
    first: Any,
    bounds: tuple[Any, Any],
    fixed: Sequence[Any],
    ratio: Callable[..., Any],
) -> Any:
    """The smallest k with u < P(least) + … + P(k), at most `most`, by sequential search; bounds are (least, most).

    P(least) is `first`, P(k) = P(k − 1)·ratio(v, k, *fixed).
    """
    words = block(v, position)
    u = uniform(v, words[0], words[1], "float64")

    def goes_on(v: ScalarBuilder, k: Any, u: Any, share: Any, is_wanted: Any, most: Any, *fixed: Any) -> Any:
        return is_wanted & (u >= share) & (k < most)

    def step(v: ScalarBuilder, k: Any, u: Any, share: Any, is_wanted: Any, most: Any, *fixed: Any) -> list[Any]:
        following = k + 1.0
        return [following, u - share, share * ratio(v, following, *fixed)]

    least, most = bounds
    return v.iterate([least, u, first], [is_wanted, most, *fixed], goes_on, step)[0]


def _transformed_rejection(
    v: ScalarBuilder,
    position: Position,
    is_done: Any,
    shape: tuple[Any, Any, Any, Any, Any],
    bounds: tuple[Any, Any],
    fixed: Sequence[Any],
    log_density: Callable[..., Any],
) -> Any:
    """Transformed rejection with a squeeze: k = ⌊(2a/s + b)·u + centre⌋ for u in (−½, ½) and s = ½ − |u|.

    shape: a, b, centre, the height of the hat's inverse, the level below which no density is needed.
    bounds: the smallest and the largest k.

    k is accepted if w·height/(a/s² + b) ≤ density(k), w uniform; log_density(v, k, *fixed) is its logarithm, without
    the constant in the height.
    """

    def step(v: ScalarBuilder, attempt: Any, done: Any, found: Any, *others: Any) -> list[Any]:
        key, draw, element, a, b, centre, height, quick, least, most, *fixed = others
        words = block(v, (key, draw, element), attempt)
        half = v.constant(0.5, "float64")
        u, w = (inner(v, words[0], words[1], "float64") - half, inner(v, words[2], words[3], "float64"))
        s = half - v.abs(u)
        scaled = ((a + a) / s + b) * u
        k = v.math("floor", scaled + centre)
        is_wide = s >= 0.07
        stands = is_wide & (w <= quick)
        is_inside = (k >= least) & (k <= most)
        is_open = is_inside & ~stands

        def test(v: ScalarBuilder, is_open: Any, stands: Any, k: Any, w: Any, s: Any, *given: Any) -> list[Any]:
            a, b, height, *fixed = given
            bound = v.math("log", w * height / (a / (s * s) + b))
            return [v.constant(False, "bool"), bound <= log_density(v, k, *fixed)]

        stands = v.iterate([is_open, stands], [k, w, s, a, b, height, *fixed], lambda v, is_open, *_: is_open, test)[1]
        return [attempt + 1, stands & is_inside, k]

    start = [v.constant(0, "uint64"), is_done, v.constant(0.0, "float64")]
    return v.iterate(start, [*position, *shape, *bounds, *fixed], _is_pending, step)[2]


def _product(v: ScalarBuilder, x: Any, y: Any) -> tuple[Any, Any]:
    """(high, low) 64 bits of the product of two uint64."""
    shift, mask = v.constant(32, "uint64"), v.constant(0xFFFFFFFF, "uint64")
    (a, b), (c, d) = ((one >> shift, one & mask) for one in (x, y))
    low, first, second = b * d, a * d, b * c
    middle = (low >> shift) + (first & mask) + (second & mask)
    high = a * c + ((first >> shift) + (second >> shift))
    return high + (middle >> shift), x * y
