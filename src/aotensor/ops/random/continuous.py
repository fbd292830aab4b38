"""Real distributions: base noise, shifted and scaled by graph expressions, which have derivatives.

Every function takes the state first and gives (next state, draw). Parameters broadcast together, and to `size` where it
is given; the draw has the dtype that is asked for, by default floatX. A derivative with respect to a parameter is that
of the draw for fixed noise (reparameterisation); the shape of a gamma, and of distributions made of gammas, has none.

All raise GraphTypeError for a dtype that is not floating, and GraphValueError for a parameter outside of its range: at
once where it is a constant, else at run time.
"""

from __future__ import annotations

import math
from typing import Any, Final

from aotensor.core import dtypes
from aotensor.graph.variable import Variable
from aotensor.ops.elementwise.arithmetic import abs as absolute
from aotensor.ops.elementwise.arithmetic import mod, sqr
from aotensor.ops.elementwise.compare import cast, floor, ge, le, switch
from aotensor.ops.elementwise.elementary import exp, expm1, log, log1p, sqrt, tan
from aotensor.ops.elementwise.powers import pow as power
from aotensor.ops.elementwise.special import logit
from aotensor.ops.random.parameter import parameter
from aotensor.ops.random.sizes import extents_for, noise, real, rounded_draw, sample_op
from aotensor.ops.random.state import Drawn, after, as_state

LARGEST_SHAPE: Final = 2.0**53
"""Least shape of a gamma whose draw is its mean to within rounding."""


def _location_scale(
    kind: str, name: str, state: Any, loc: Any, scale: Any, size: Any, dtype: Any
) -> tuple[Variable, ...]:
    """(next state, loc, scale, noise) of a location-scale family: the draw is loc + scale·noise, or nearly."""
    state, dtype = as_state(state), real(dtype)
    loc = parameter(f"{name}: loc", loc, dtype)
    scale = parameter(f"{name}: scale", scale, dtype, low=0)
    return after(state), loc, scale, noise(kind, state, extents_for(size, [loc, scale]), dtype)


def uniform(state: Any, low: Any = 0.0, high: Any = 1.0, size: Any = None, dtype: Any = None) -> Drawn:
    """Uniform in [low, high): low + (high − low)·u; u has 53 bits, 24 in float32, 11 in float16, 8 in bfloat16."""
    state, wanted = as_state(state), real(dtype)
    dtype = dtypes.compute_of(wanted)
    low, high = parameter("uniform: low", low, dtype), parameter("uniform: high", high, dtype)
    u = noise("uniform", state, extents_for(size, [low, high]), dtype)
    if dtypes.is_half(wanted):  # 1 − 2⁻²⁴ would be rounded to 1
        unit = dtypes.epsilon(wanted) / 2
        u = floor(u * (1 / unit)) * unit
    return after(state), cast(low + (high - low) * u, wanted)


@rounded_draw
def normal(state: Any, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, dtype: Any = None) -> Drawn:
    """Normal with mean loc and standard deviation scale ≥ 0: loc + scale·z."""
    following, loc, scale, z = _location_scale("normal", "normal", state, loc, scale, size, dtype)
    return following, loc + scale * z


@rounded_draw
def standard_normal(state: Any, size: Any = (), dtype: Any = None) -> Drawn:
    """Normal with mean 0 and standard deviation 1."""
    state = as_state(state)
    return after(state), noise("normal", state, extents_for(size, []), real(dtype))


@rounded_draw
def halfnormal(state: Any, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, dtype: Any = None) -> Drawn:
    """loc + scale·|z| for a standard normal z."""
    following, loc, scale, z = _location_scale("normal", "halfnormal", state, loc, scale, size, dtype)
    return following, loc + scale * absolute(z)


@rounded_draw
def lognormal(state: Any, mean: Any = 0.0, sigma: Any = 1.0, size: Any = None, dtype: Any = None) -> Drawn:
    """exp(mean + sigma·z) for a standard normal z."""
    following, x = normal(state, mean, sigma, size, dtype)
    return following, exp(x)


@rounded_draw
def exponential(state: Any, scale: Any = 1.0, size: Any = None, dtype: Any = None) -> Drawn:
    """Exponential with mean scale ≥ 0."""
    state, dtype = as_state(state), real(dtype)
    scale = parameter("exponential: scale", scale, dtype, low=0)
    return after(state), scale * noise("exponential", state, extents_for(size, [scale]), dtype)


@rounded_draw
def laplace(state: Any, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, dtype: Any = None) -> Drawn:
    """Laplace: loc ∓ scale·log of twice the distance of u to the nearer end of (0, 1)."""
    following, loc, scale, u = _location_scale("inner", "laplace", state, loc, scale, size, dtype)
    low, high = log(2 * u), -log(2 * (1 - u))
    return following, loc + scale * switch(le(u, 0.5), low, high)


@rounded_draw
def logistic(state: Any, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, dtype: Any = None) -> Drawn:
    """Logistic: loc + scale·log(u/(1 − u))."""
    following, loc, scale, u = _location_scale("inner", "logistic", state, loc, scale, size, dtype)
    return following, loc + scale * logit(u)


@rounded_draw
def gumbel(state: Any, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, dtype: Any = None) -> Drawn:
    """Gumbel of maxima: loc − scale·log(−log u)."""
    following, loc, scale, u = _location_scale("inner", "gumbel", state, loc, scale, size, dtype)
    return following, loc - scale * log(-log(u))


@rounded_draw
def cauchy(state: Any, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, dtype: Any = None) -> Drawn:
    """Cauchy: loc + scale·tan(π·(u − ½))."""
    following, loc, scale, u = _location_scale("inner", "cauchy", state, loc, scale, size, dtype)
    return following, loc + scale * tan(math.pi * (u - 0.5))


@rounded_draw
def halfcauchy(state: Any, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, dtype: Any = None) -> Drawn:
    """loc + scale·|c| for a standard Cauchy c: the tangent of an angle below π/2."""
    following, loc, scale, u = _location_scale("inner", "halfcauchy", state, loc, scale, size, dtype)
    return following, loc + scale * tan(0.5 * math.pi * u)


@rounded_draw
def weibull(state: Any, a: Any, size: Any = None, dtype: Any = None) -> Drawn:
    """Weibull of scale 1 and shape a > 0: an exponential to the power 1/a."""
    state, dtype = as_state(state), real(dtype)
    a = parameter("weibull: a", a, dtype, low=0, is_open=True)
    return after(state), power(noise("exponential", state, extents_for(size, [a]), dtype), 1 / a)


@rounded_draw
def pareto(state: Any, a: Any, size: Any = None, dtype: Any = None) -> Drawn:
    """Pareto II (Lomax) of scale 1 and shape a > 0, as NumPy has it: exp(e/a) − 1 for an exponential e."""
    state, dtype = as_state(state), real(dtype)
    a = parameter("pareto: a", a, dtype, low=0, is_open=True)
    return after(state), expm1(noise("exponential", state, extents_for(size, [a]), dtype) / a)


@rounded_draw
def truncexpon(state: Any, b: Any, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, dtype: Any = None) -> Drawn:
    """Exponential below b > 0, moved and scaled: loc − scale·log(1 + u·(e^−b − 1)), in [loc, loc + scale·b]."""
    state, dtype = as_state(state), real(dtype)
    b = parameter("truncexpon: b", b, dtype, low=0, is_open=True)
    loc, scale = parameter("truncexpon: loc", loc, dtype), parameter("truncexpon: scale", scale, dtype, low=0)
    u = noise("uniform", state, extents_for(size, [b, loc, scale]), dtype)
    return after(state), loc - scale * log1p(u * expm1(-b))


@rounded_draw
def vonmises(state: Any, mu: Any = 0.0, kappa: Any = 1.0, size: Any = None, dtype: Any = None) -> Drawn:
    """Von Mises: angles about mu in [−π, π], of concentration kappa ≥ 0. mu has the derivative 1, kappa none."""
    state, dtype = as_state(state), real(dtype)
    mu = parameter("vonmises: mu", mu, dtype)
    kappa = parameter("vonmises: kappa", kappa, "float64", low=0)
    rotated = mu + cast(sample_op("vonmises", state, extents_for(size, [mu, kappa]), [kappa]), dtype)
    return after(state), mod(rotated + math.pi, 2 * math.pi) - math.pi


@rounded_draw
def triangular(state: Any, left: Any, mode: Any, right: Any, size: Any = None, dtype: Any = None) -> Drawn:
    """Triangular between left ≤ mode ≤ right, left < right, by the inverse of its distribution function.

    The caller checks the order of the three; out of order they give nan.
    """
    state, dtype = as_state(state), real(dtype)
    left, mode, right = (
        parameter(f"triangular: {name}", x, dtype) for name, x in (("left", left), ("mode", mode), ("right", right))
    )
    u = noise("uniform", state, extents_for(size, [left, mode, right]), dtype)
    whole, below, above = right - left, mode - left, right - mode
    rising = left + sqrt(u * whole * below)
    falling = right - sqrt((1 - u) * whole * above)
    return after(state), switch(ge(u * whole, below), falling, rising)


# --- the gamma family ------------------------------------------------------------------------------------------------


@rounded_draw
def gamma(state: Any, shape: Any, scale: Any = 1.0, size: Any = None, dtype: Any = None) -> Drawn:
    """Gamma with mean shape·scale; shape ≥ 0, scale ≥ 0. The shape has no derivative, the scale has."""
    state, dtype = as_state(state), real(dtype)
    shape = parameter("gamma: shape", shape, "float64", low=0, high=LARGEST_SHAPE)
    scale = parameter("gamma: scale", scale, dtype, low=0)
    drawn = sample_op("gamma", state, extents_for(size, [shape, scale]), [shape])
    return after(state), scale * cast(drawn, dtype)


@rounded_draw
def invgamma(state: Any, shape: Any, scale: Any = 1.0, size: Any = None, dtype: Any = None) -> Drawn:
    """scale over a gamma of scale 1."""
    dtype = real(dtype)
    scale = parameter("invgamma: scale", scale, dtype, low=0)
    shape = parameter("invgamma: shape", shape, "float64", low=0, high=LARGEST_SHAPE)
    following, x = gamma(state, shape, 1.0, extents_for(size, [shape, scale]), dtype)
    return following, scale / x


@rounded_draw
def gengamma(
    state: Any, alpha: Any = 1.0, p: Any = 1.0, lambd: Any = 1.0, size: Any = None, dtype: Any = None
) -> Drawn:
    """Generalised gamma: lambd·g^(1/p) for a gamma g of shape alpha/p; all > 0.

    Its density is proportional to x^(alpha − 1)·exp(−(x/lambd)^p). lambd has a derivative, the others none.
    """
    wanted = real(dtype)
    alpha, p = (parameter(f"gengamma: {n}", x, "float64", 0, is_open=True) for n, x in (("alpha", alpha), ("p", p)))
    lambd = parameter("gengamma: lambd", lambd, wanted, low=0)
    following, drawn = gamma(state, alpha / p, 1.0, extents_for(size, [alpha, p, lambd]), "float64")
    return following, lambd * cast(power(drawn, 1 / p), wanted)


@rounded_draw
def chisquare(state: Any, df: Any, size: Any = None, dtype: Any = None) -> Drawn:
    """χ² of df degrees of freedom: twice a gamma of shape df/2."""
    df = parameter("chisquare: df", df, "float64", 0, LARGEST_SHAPE, is_open=True)
    return gamma(state, df / 2, 2.0, size, dtype)


@rounded_draw
def t(state: Any, df: Any, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, dtype: Any = None) -> Drawn:
    """Student's t of df degrees of freedom, moved and scaled: loc + scale·z·√(df/χ²)."""
    dtype = real(dtype)
    df = parameter("t: df", df, dtype, 0, LARGEST_SHAPE, is_open=True)
    loc, scale = parameter("t: loc", loc, dtype), parameter("t: scale", scale, dtype, low=0)
    extents = extents_for(size, [df, loc, scale])
    following, z = standard_normal(state, extents, dtype)
    following, x = chisquare(following, df, extents, dtype)
    return following, loc + scale * z * sqrt(df / x)


@rounded_draw
def beta(state: Any, a: Any, b: Any, size: Any = None, dtype: Any = None) -> Drawn:
    """Beta: x/(x + y) for gammas x of shape a and y of shape b. Neither has a derivative."""
    a, b = (parameter(f"beta: {name}", x, "float64", low=0, high=LARGEST_SHAPE) for name, x in (("a", a), ("b", b)))
    extents, dtype = extents_for(size, [a, b]), real(dtype)
    following, x = gamma(state, a, 1.0, extents, "float64")
    following, y = gamma(following, b, 1.0, extents, "float64")
    return following, cast(x / (x + y), dtype)


@rounded_draw
def wald(state: Any, mean: Any, scale: Any, size: Any = None, dtype: Any = None) -> Drawn:
    """Inverse Gaussian.

    Source: Michael, Schucany & Haas, "Generating random variates using transformations with multiple roots" (1976).
    """
    dtype = real(dtype)
    mean, scale = (
        parameter(f"wald: {name}", x, dtype, low=0, is_open=True) for name, x in (("mean", mean), ("scale", scale))
    )
    extents = extents_for(size, [mean, scale])
    following, z = standard_normal(state, extents, dtype)
    following, u = uniform(following, 0.0, 1.0, extents, dtype)
    y = mean * sqr(z)
    # the smaller root of a quadratic equation, as a quotient that does not cancel
    root = mean * 2 * scale / (2 * scale + y + sqrt(y * (4 * scale + y)))
    return following, switch(le(u * (mean + root), mean), root, sqr(mean) / root)
