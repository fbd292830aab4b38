"""Log densities, summed over all elements, without terms that depend on constants only, as in Stan's `~` statements.

x, and the parameters behind it, broadcast against each other. Parameters that are numbers, not symbols, are constants.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from tools.judges.posteriordb.symbols import at, is_symbolic

from aotensor.graph.variable import Variable


def normal(x: Any, mean: Any = 0.0, deviation: Any = 1.0) -> Variable:
    """N(mean, deviation²)."""
    return _scaled(-0.5 * ((x - mean) / deviation) ** 2, deviation)


def lognormal(x: Any, mean: Any = 0.0, deviation: Any = 1.0) -> Variable:
    """exp of N(mean, deviation²)."""
    return normal(at.log(x), mean, deviation) - at.log(x).sum()


def student_t(x: Any, degrees: float, mean: Any = 0.0, scale: Any = 1.0) -> Variable:
    """Student's t of constant degrees of freedom."""
    return _scaled(-0.5 * (degrees + 1) * at.log1p(((x - mean) / scale) ** 2 / degrees), scale)


def cauchy(x: Any, mean: Any = 0.0, scale: Any = 1.0) -> Variable:
    """Cauchy, Student's t of one degree of freedom."""
    return student_t(x, 1.0, mean, scale)


def exponential(x: Any, rate: Any) -> Variable:
    """rate · exp(−rate x)."""
    return _scaled(-rate * x, 1.0 / rate)


def gamma(x: Any, shape: float, rate: float) -> Variable:
    """Of constant shape and rate."""
    return ((shape - 1) * at.log(x) - rate * x).sum()


def inverse_gamma(x: Any, shape: float, scale: float) -> Variable:
    """Of constant shape and scale."""
    return (-(shape + 1) * at.log(x) - scale / x).sum()


def weibull(x: Any, shape: float, scale: float) -> Variable:
    """Of constant shape and scale."""
    return ((shape - 1) * at.log(x) - (x / scale) ** shape).sum()


def beta(x: Any, a: float, b: float) -> Variable:
    """Of constant parameters."""
    return ((a - 1) * at.log(x) + (b - 1) * at.log1p(-x)).sum()


def dirichlet(x: Any, a: Any) -> Variable:
    """Of constant parameters, along the last axis."""
    return ((a - 1) * at.log(x)).sum()


def double_exponential(x: Any, scale: float) -> Variable:
    """Laplace around 0, of a constant scale."""
    return -at.abs(x).sum() / scale


def logistic(x: Any) -> Variable:
    """Of mean 0 and scale 1."""
    return -(x + 2 * at.softplus(-x)).sum()


def uniform(x: Any, lower: float, upper: float) -> Variable:
    """0 where all elements are between constant bounds, −∞ elsewhere."""
    return at.switch(at.all((x >= lower) & (x <= upper)), 0.0, -np.inf)


def bernoulli_logit(y: Any, logits: Any) -> Variable:
    """P(y = 1) = sigmoid(logits)."""
    return (y * logits - at.softplus(logits)).sum()


def bernoulli(y: Any, p: Any) -> Variable:
    """P(y = 1) = p."""
    return at.log(at.switch(at.eq(y, 1), p, 1 - p)).sum()


def binomial_logit(k: Any, n: Any, logits: Any) -> Variable:
    """k of n with probability sigmoid(logits)."""
    return (k * logits - n * at.softplus(logits)).sum()


def binomial(k: Any, n: Any, p: Any) -> Variable:
    """k of n with probability p."""
    return (k * at.log(p) + (n - k) * at.log1p(-p)).sum()


def poisson_log(k: Any, log_rate: Any) -> Variable:
    """Counts with rate exp(log_rate)."""
    return (k * log_rate - at.exp(log_rate)).sum()


def negative_binomial(k: Any, mean: Any, precision: Any) -> Variable:
    """Counts with a mean and the variance mean + mean²/precision."""
    return (
        at.gammaln(k + precision)
        - at.gammaln(precision)
        + k * at.log(mean)
        + precision * at.log(precision)
        - (k + precision) * at.log(mean + precision)
    ).sum()


def lkj_factor(factor: Any, n: int, shape: float) -> Variable:
    """The LKJ density of the correlation matrix with this Cholesky factor, by the factor.   factor: (n, n)"""
    powers = n - 1 - np.arange(n) + 2 * shape - 2
    return (powers * at.log(at.diagonal(factor))).sum()


def _scaled(terms: Any, scale: Any) -> Variable:
    return (terms - at.log(scale)).sum() if is_symbolic(scale) else terms.sum()
