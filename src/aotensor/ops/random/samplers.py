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
    return v.compare("lt", uniform(v, words[0], words[1], "float64"), p)


def geometric(v: ScalarBuilder, position: Position, p: Any) -> Any:
    """Trials up to the first success: ⌈log u / log(1 − p)⌉, at least 1.   Source: Devroye (1986), X.2."""
    words = block(v, position)
    failures = v.math("log1p", v.neg(p))
    count = v.math("ceil", v.div(v.math("log", inner(v, words[0], words[1], "float64")), failures))
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
            v.add(attempt, v.constant(1, "uint64")),
            v.or_(is_all, v.compare("ge", low, threshold)),
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
    is_small = v.compare("lt", shape, one)
    d = v.sub(v.select(is_small, v.add(shape, one), shape), v.constant(1 / 3, "float64"))
    c = v.div(one, v.math("sqrt", v.mul(v.constant(9.0, "float64"), d)))

    def step(v: ScalarBuilder, attempt: Any, done: Any, found: Any, *fixed: Any) -> list[Any]:
        *where, d, c = fixed
        position, one, next_ = (where[0], where[1], where[2]), v.constant(1, "uint64"), v.constant(2, "uint64")
        x = normal(v, block(v, position, attempt), "float64")
        words = block(v, position, v.add(attempt, one))
        unit = v.constant(1.0, "float64")
        root = v.add(unit, v.mul(c, x))
        is_positive = v.compare("gt", root, v.constant(0.0, "float64"))
        cube = v.select(is_positive, v.mul(v.mul(root, root), root), unit)
        bound = v.add(
            v.mul(v.mul(v.constant(0.5, "float64"), x), x),
            v.mul(d, v.add(v.sub(unit, cube), v.math("log", cube))),
        )
        u = v.math("log", inner(v, words[0], words[1], "float64"))
        is_good = v.and_(is_positive, v.compare("lt", u, bound))
        return [v.add(attempt, next_), is_good, v.mul(d, cube)]

    start = [v.constant(0, "uint64"), v.constant(False, "bool"), v.constant(0.0, "float64")]
    attempt, _, found = v.iterate(start, [*position, d, c], _is_pending, step)
    words = block(v, position, v.sub(attempt, v.constant(1, "uint64")))
    power = v.div(v.math("log", inner(v, words[2], words[3], "float64")), shape)
    return v.mul(found, v.select(is_small, v.math("exp", power), one))


def poisson(v: ScalarBuilder, position: Position, mean: Any) -> Any:
    """A Poisson draw: by sequential search for a mean below 10, else by transformed rejection.

    Sources: Devroye, "Non-uniform random variate generation" (1986), X.3; Hörmann, "The transformed rejection method
    for generating Poisson random variables" (1993), algorithm PTRS.
    """
    is_small = v.compare("lt", mean, v.constant(SMALL_MEAN, "float64"))

    def ratio(v: ScalarBuilder, k: Any, mean: Any) -> Any:
        return v.div(mean, k)

    first = v.math("exp", v.neg(mean))
    none, limit = v.constant(0.0, "float64"), v.constant(math.inf, "float64")
    few = _search_from_mode(
        v, position, is_small, first, (none, v.constant(LARGEST_SEARCHED, "float64")), [mean], ratio
    )
    spread = v.math("sqrt", mean)
    b = _linear(v, 2.53, spread, 0.931)
    a = _linear(v, 0.02483, b, -0.059)
    inverse = v.add(v.constant(1.1239, "float64"), _over(v, 1.1328, _linear(v, 1.0, b, -3.4)))
    quick = v.sub(v.constant(0.9277, "float64"), _over(v, 3.6224, _linear(v, 1.0, b, -2.0)))
    shape = (a, b, _linear(v, 1.0, mean, 0.43), inverse, quick)
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
    is_flipped = v.compare("gt", p, half)
    p = v.select(is_flipped, v.sub(one, p), p)
    q = v.sub(one, p)
    mean, odds = v.mul(n, p), v.div(p, q)
    is_small = v.compare("lt", mean, v.constant(SMALL_MEAN, "float64"))
    log_none = v.mul(n, v.math("log1p", v.neg(p)))
    first, least, most = v.math("exp", log_none), none, n
    if is_positive:  # counts from 1, or failures that are not all
        some = v.neg(v.math("expm1", v.select(is_flipped, v.mul(n, v.math("log", p)), log_none)))
        first = v.div(v.select(is_flipped, first, v.mul(v.mul(n, odds), first)), some)
        least, most = v.select(is_flipped, none, one), v.select(is_flipped, v.sub(n, one), n)

    def ratio(v: ScalarBuilder, k: Any, top: Any, odds: Any) -> Any:
        return v.sub(v.div(top, k), odds)

    bounds = least, v.minimum(most, v.constant(LARGEST_SEARCHED, "float64"))
    few = _search_from_mode(v, position, is_small, first, bounds, [v.mul(v.add(n, one), odds), odds], ratio)
    spread = v.math("sqrt", v.mul(mean, q))
    b = _linear(v, 2.53, spread, 1.15)
    a = v.add(_linear(v, 0.0248, b, -0.0873), v.mul(v.constant(0.01, "float64"), p))
    height = v.mul(v.add(v.constant(2.83, "float64"), _over(v, 5.1, b)), spread)
    quick = v.sub(v.constant(0.92, "float64"), _over(v, 4.2, b))
    mode = v.math("floor", v.mul(v.add(n, one), p))
    shape = (a, b, _linear(v, 1.0, mean, 0.5), height, quick)
    many = _transformed_rejection(
        v, position, is_small, shape, (least, most), [mode, n, mean, v.mul(n, q)], log_binomial
    )
    found = v.select(is_small, few, many)
    return v.cast(v.select(is_flipped, v.sub(n, found), found), "int64")


def gap(v: ScalarBuilder, position: Position, left: Any, picks: Any) -> Any:
    """The number of elements among `left` that precede the first of `picks` chosen ones, 1 … left.

    Source: Vitter, "An efficient algorithm for sequential random sampling" (1987): algorithm A, a search, where more
    than one of 13 is chosen; else algorithm D, a rejection, with the density itself instead of a product.
    """
    none, one = v.constant(0.0, "float64"), v.constant(1.0, "float64")
    n, m = v.cast(left, "float64"), v.maximum(v.cast(picks, "float64"), one)
    others = v.sub(n, m)
    is_dense = v.compare("gt", v.mul(v.constant(13.0, "float64"), m), n)

    def ratio(v: ScalarBuilder, k: Any, n: Any, others: Any) -> Any:
        return v.div(v.add(v.sub(others, k), v.constant(1.0, "float64")), v.sub(n, k))

    few = _search_from_mode(v, position, is_dense, v.div(m, n), (none, others), [n, others], ratio)

    def step(v: ScalarBuilder, attempt: Any, done: Any, found: Any, *fixed: Any) -> list[Any]:
        *where, n, m = fixed
        words = block(v, (where[0], where[1], where[2]), attempt)
        one = v.constant(1.0, "float64")
        before = v.sub(m, one)
        share = v.div(v.math("log", inner(v, words[0], words[1], "float64")), m)
        k = v.math("floor", v.neg(v.mul(n, v.math("expm1", share))))
        hat = v.add(v.math("log", v.div(n, v.sub(n, before))), v.mul(before, share))
        level = v.add(v.math("log", inner(v, words[2], words[3], "float64")), hat)
        stands = v.or_(v.compare("eq", m, one), v.compare("le", level, log_gap(v, k, n, m)))
        return [v.add(attempt, v.constant(1, "uint64")), v.and_(stands, v.compare("le", k, v.sub(n, m))), k]

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
    total = v.add(g, b)
    taken = v.sub(total, rest)
    marked, others, picks = v.minimum(g, b), v.maximum(g, b), v.minimum(taken, rest)
    share = v.div(marked, total)
    mean, most = v.mul(picks, share), v.minimum(marked, picks)
    is_small = v.not_(v.compare("ge", mean, v.constant(SMALL_MEAN, "float64")))  # also where there is nothing: nan

    def ratio(v: ScalarBuilder, k: Any, marked: Any, picks: Any, spare: Any) -> Any:
        before = v.sub(k, v.constant(1.0, "float64"))
        return v.div(v.mul(v.sub(marked, before), v.sub(picks, before)), v.mul(k, v.add(spare, k)))

    log_all = log_choices(v, picks, total, v.div(picks, total))
    first = v.math("exp", v.sub(log_hypergeometric(v, none, marked, others, picks), log_all))
    bounds = none, v.minimum(most, v.constant(LARGEST_SEARCHED, "float64"))
    few = _search_from_mode(v, position, is_small, first, bounds, [marked, picks, v.sub(others, picks)], ratio)
    spread = v.mul(v.div(v.mul(mean, v.sub(one, share)), v.sub(total, one)), v.sub(total, picks))
    width = _linear(v, 2 * math.sqrt(2 / math.e), v.math("sqrt", v.add(spread, half)), 3 - 2 * math.sqrt(3 / math.e))
    peak = v.div(v.mul(v.add(picks, one), v.add(marked, one)), _linear(v, 1.0, total, 2.0))
    highest = log_hypergeometric(v, v.math("floor", peak), marked, others, picks)

    def step(v: ScalarBuilder, attempt: Any, done: Any, found: Any, *fixed: Any) -> list[Any]:
        *where, centre, width, highest, most, marked, others, picks = fixed
        words = block(v, (where[0], where[1], where[2]), attempt)
        u, side = inner(v, words[0], words[1], "float64"), inner(v, words[2], words[3], "float64")
        away = v.div(v.mul(width, v.sub(side, v.constant(0.5, "float64"))), u)
        k = v.math("floor", v.add(centre, away))
        inside = v.maximum(v.minimum(k, most), v.constant(0.0, "float64"))
        level = v.sub(log_hypergeometric(v, inside, marked, others, picks), highest)
        stands = v.compare("le", v.mul(v.constant(2.0, "float64"), v.math("log", u)), level)
        return [v.add(attempt, v.constant(1, "uint64")), v.and_(stands, v.compare("eq", k, inside)), inside]

    fixed = [*position, v.add(mean, half), width, highest, most, marked, others, picks]
    many = v.iterate([v.constant(0, "uint64"), is_small, none], fixed, _is_pending, step)[2]
    found = v.select(is_small, few, many)
    found = v.select(v.compare("gt", g, b), v.sub(picks, found), found)
    return v.cast(v.select(v.compare("lt", rest, taken), v.sub(g, found), found), "int64")


def vonmises(v: ScalarBuilder, position: Position, kappa: Any) -> Any:
    """An angle about 0 in [−π, π] of concentration kappa, by rejection from a wrapped Cauchy distribution.

    Source: Best & Fisher, "Efficient simulation of the von Mises distribution" (1979). A kappa below `FLAT` is uniform,
    one above `NARROW` normal, to within rounding.
    """
    one, two = v.constant(1.0, "float64"), v.constant(2.0, "float64")
    is_flat = v.compare("lt", kappa, v.constant(FLAT, "float64"))
    is_narrow = v.compare("gt", kappa, v.constant(NARROW, "float64"))
    k = v.select(v.or_(is_flat, is_narrow), one, kappa)
    # s = (1 + ρ²)/2ρ of ρ = (r − √2r)/2κ, r = 1 + √(1 + 4κ²), written so that nothing cancels for small κ
    r = v.add(one, v.math("sqrt", v.add(one, v.mul(v.constant(4.0, "float64"), v.mul(k, k)))))
    rho = v.div(v.mul(two, k), v.add(r, v.math("sqrt", v.mul(two, r))))
    s = v.div(v.add(one, v.mul(rho, rho)), v.mul(two, rho))

    def step(v: ScalarBuilder, attempt: Any, done: Any, found: Any, *fixed: Any) -> list[Any]:
        *where, s, k = fixed
        words = block(v, (where[0], where[1], where[2]), attempt)
        one, two = v.constant(1.0, "float64"), v.constant(2.0, "float64")
        side = v.sub(v.mul(two, inner(v, words[0], words[1], "float64")), one)
        level = inner(v, words[2], words[3], "float64")
        z = v.math("cos", v.mul(v.constant(math.pi, "float64"), v.abs(side)))
        w = v.div(v.add(one, v.mul(s, z)), v.add(s, z))
        y = v.mul(k, v.sub(s, w))
        stands = v.compare("le", v.math("log", v.div(level, y)), v.sub(one, y))
        angle = v.math("arccos", v.maximum(v.minimum(w, one), v.neg(one)))
        is_left = v.compare("lt", side, v.constant(0.0, "float64"))
        return [v.add(attempt, v.constant(1, "uint64")), stands, v.select(is_left, v.neg(angle), angle)]

    start = [v.constant(0, "uint64"), v.or_(is_flat, is_narrow), v.constant(0.0, "float64")]
    accepted = v.iterate(start, [*position, s, k], _is_pending, step)[2]
    words = block(v, position)
    share = v.sub(inner(v, words[0], words[1], "float64"), v.constant(0.5, "float64"))
    anywhere = v.mul(v.constant(2 * math.pi, "float64"), share)
    spread = v.div(normal(v, words, "float64"), v.math("sqrt", v.select(is_narrow, kappa, one)))
    return v.select(is_flat, anywhere, v.select(is_narrow, spread, accepted))


# --- loops -----------------------------------------------------------------------------------------------------------


def _is_pending(v: ScalarBuilder, attempt: Any, done: Any, *others: Any) -> Any:
    """Loop condition of rejection sampling: has no round accepted a draw yet?"""
    return v.and_(v.not_(done), v.compare("lt", attempt, v.constant(LIMIT, "uint64")))


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
        return v.and_(v.and_(is_wanted, v.compare("ge", u, share)), v.compare("lt", k, most))

    def step(v: ScalarBuilder, k: Any, u: Any, share: Any, is_wanted: Any, most: Any, *fixed: Any) -> list[Any]:
        following = v.add(k, v.constant(1.0, "float64"))
        return [following, v.sub(u, share), v.mul(share, ratio(v, following, *fixed))]

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
        u, w = (v.sub(inner(v, words[0], words[1], "float64"), half), inner(v, words[2], words[3], "float64"))
        s = v.sub(half, v.abs(u))
        scaled = v.mul(v.add(v.div(v.add(a, a), s), b), u)
        k = v.math("floor", v.add(scaled, centre))
        is_wide = v.compare("ge", s, v.constant(0.07, "float64"))
        stands = v.and_(is_wide, v.compare("le", w, quick))
        is_inside = v.and_(v.compare("ge", k, least), v.compare("le", k, most))
        is_open = v.and_(is_inside, v.not_(stands))

        def test(v: ScalarBuilder, is_open: Any, stands: Any, k: Any, w: Any, s: Any, *given: Any) -> list[Any]:
            a, b, height, *fixed = given
            bound = v.math("log", v.div(v.mul(w, height), v.add(v.div(a, v.mul(s, s)), b)))
            return [v.constant(False, "bool"), v.compare("le", bound, log_density(v, k, *fixed))]

        stands = v.iterate([is_open, stands], [k, w, s, a, b, height, *fixed], lambda v, is_open, *_: is_open, test)[1]
        return [v.add(attempt, v.constant(1, "uint64")), v.and_(stands, is_inside), k]

    start = [v.constant(0, "uint64"), is_done, v.constant(0.0, "float64")]
    return v.iterate(start, [*position, *shape, *bounds, *fixed], _is_pending, step)[2]


def _product(v: ScalarBuilder, x: Any, y: Any) -> tuple[Any, Any]:
    """(high, low) 64 bits of the product of two uint64."""
    shift, mask = v.constant(32, "uint64"), v.constant(0xFFFFFFFF, "uint64")
    (a, b), (c, d) = ((v.shift_right(one, shift), v.and_(one, mask)) for one in (x, y))
    low, first, second = v.mul(b, d), v.mul(a, d), v.mul(b, c)
    middle = v.add(v.add(v.shift_right(low, shift), v.and_(first, mask)), v.and_(second, mask))
    high = v.add(v.mul(a, c), v.add(v.shift_right(first, shift), v.shift_right(second, shift)))
    return v.add(high, v.shift_right(middle, shift)), v.mul(x, y)


def _linear(v: ScalarBuilder, slope: float, x: Any, offset: float) -> Any:
    return v.add(v.mul(v.constant(slope, "float64"), x), v.constant(offset, "float64"))


def _over(v: ScalarBuilder, value: float, x: Any) -> Any:
    return v.div(v.constant(value, "float64"), x)
