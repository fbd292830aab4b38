"""Draws against their distributions: compiled, from fixed states, so that a verdict is the same in every run."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.stats as stats

import aotensor as aot
import aotensor.tensor as at
from aotensor.core.types import Array

COUNT = 20_000
LOWEST = 1e-4
"""Of a p-value: for fixed states this is a verdict once and for all; 60 right samplers pass it at first sight."""
R = at.random

REAL: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "uniform": (lambda s: R.uniform(s, -1, 3, COUNT), stats.uniform(-1, 4)),
    "uniform32": (lambda s: R.uniform(s, 2, 3, COUNT, "float32"), stats.uniform(2, 1)),
    "normal": (lambda s: R.normal(s, 1, 2, COUNT), stats.norm(1, 2)),
    "normal32": (lambda s: R.normal(s, size=COUNT, dtype="float32"), stats.norm()),
    "standard_normal": (lambda s: R.standard_normal(s, COUNT), stats.norm()),
    "halfnormal": (lambda s: R.halfnormal(s, 1, 2, COUNT), stats.halfnorm(1, 2)),
    "lognormal": (lambda s: R.lognormal(s, 0.5, 0.7, COUNT), stats.lognorm(0.7, scale=np.exp(0.5))),
    "exponential": (lambda s: R.exponential(s, 3.0, COUNT), stats.expon(scale=3)),
    "exponential32": (lambda s: R.exponential(s, 1.0, COUNT, "float32"), stats.expon()),
    "laplace": (lambda s: R.laplace(s, 1, 2, COUNT), stats.laplace(1, 2)),
    "logistic": (lambda s: R.logistic(s, 1, 2, COUNT), stats.logistic(1, 2)),
    "gumbel": (lambda s: R.gumbel(s, 1, 2, COUNT), stats.gumbel_r(1, 2)),
    "cauchy": (lambda s: R.cauchy(s, 1, 2, COUNT), stats.cauchy(1, 2)),
    "halfcauchy": (lambda s: R.halfcauchy(s, 1, 2, COUNT), stats.halfcauchy(1, 2)),
    "gengamma": (lambda s: R.gengamma(s, 2.0, 1.6, 3.0, COUNT), stats.gengamma(2.0 / 1.6, 1.6, scale=3)),
    "weibull": (lambda s: R.weibull(s, 1.7, COUNT), stats.weibull_min(1.7)),
    "pareto": (lambda s: R.pareto(s, 2.5, COUNT), stats.lomax(2.5)),
    "triangular": (lambda s: R.triangular(s, -1.0, 0.5, 2.0, COUNT), stats.triang(0.5, -1, 3)),
    "truncexpon": (lambda s: R.truncexpon(s, 1.7, 1.0, 2.0, COUNT), stats.truncexpon(1.7, 1, 2)),
    "vonmises": (lambda s: R.vonmises(s, 0.0, 1.3, COUNT), stats.vonmises(1.3)),
    "vonmises_wide": (lambda s: R.vonmises(s, 0.0, 0.01, COUNT), stats.vonmises(0.01)),
    "vonmises_narrow": (lambda s: R.vonmises(s, 0.0, 3e4, COUNT), stats.norm(0, 3e4**-0.5)),
    "wald": (lambda s: R.wald(s, 2.0, 3.0, COUNT), stats.invgauss(2 / 3, scale=3)),
    "gamma_tiny": (lambda s: R.gamma(s, 0.02, 1.0, COUNT), stats.gamma(0.02)),
    "gamma_small": (lambda s: R.gamma(s, 0.6, 2.0, COUNT), stats.gamma(0.6, scale=2)),
    "gamma_one": (lambda s: R.gamma(s, 1.0, 1.0, COUNT), stats.gamma(1)),
    "gamma_large": (lambda s: R.gamma(s, 1e5, 1.0, COUNT), stats.gamma(1e5)),
    "invgamma": (lambda s: R.invgamma(s, 2.5, 2.0, COUNT), stats.invgamma(2.5, scale=2)),
    "chisquare": (lambda s: R.chisquare(s, 3.0, COUNT), stats.chi2(3)),
    "t": (lambda s: R.t(s, 3.5, 1.0, 2.0, COUNT), stats.t(3.5, 1, 2)),
    "beta": (lambda s: R.beta(s, 0.5, 3.0, COUNT), stats.beta(0.5, 3)),
}  # fmt: skip

WHOLE: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "bernoulli": (lambda s: R.bernoulli(s, 0.3, COUNT), stats.bernoulli(0.3)),
    "geometric": (lambda s: R.geometric(s, 0.2, COUNT), stats.geom(0.2)),
    "poisson_small": (lambda s: R.poisson(s, 0.4, COUNT), stats.poisson(0.4)),
    "poisson_below": (lambda s: R.poisson(s, 9.99, COUNT), stats.poisson(9.99)),
    "poisson_above": (lambda s: R.poisson(s, 10.0, COUNT), stats.poisson(10)),
    "poisson_large": (lambda s: R.poisson(s, 250.0, COUNT), stats.poisson(250)),
    "binomial_few": (lambda s: R.binomial(s, 4, 0.3, COUNT), stats.binom(4, 0.3)),
    "binomial_rare": (lambda s: R.binomial(s, 10**6, 2e-6, COUNT), stats.binom(10**6, 2e-6)),
    "binomial_below": (lambda s: R.binomial(s, 99, 0.1, COUNT), stats.binom(99, 0.1)),
    "binomial_above": (lambda s: R.binomial(s, 21, 0.5, COUNT), stats.binom(21, 0.5)),
    "binomial_flipped": (lambda s: R.binomial(s, 400, 0.9, COUNT), stats.binom(400, 0.9)),
    "binomial_nearly_all": (lambda s: R.binomial(s, 50, 0.98, COUNT), stats.binom(50, 0.98)),
    "negative_binomial": (lambda s: R.negative_binomial(s, 2.5, 0.3, COUNT), stats.nbinom(2.5, 0.3)),
    "betabinom": (lambda s: R.betabinom(s, 12, 0.7, 2.0, COUNT), stats.betabinom(12, 0.7, 2.0)),
    "hypergeometric": (lambda s: R.hypergeometric(s, 15, 5, 8, COUNT), stats.hypergeom(20, 15, 8)),
    "hypergeometric_rest": (lambda s: R.hypergeometric(s, 9, 300, 250, COUNT), stats.hypergeom(309, 9, 250)),
    "hypergeometric_all": (lambda s: R.hypergeometric(s, 500, 60, 400, COUNT), stats.hypergeom(560, 500, 400)),
    "hypergeometric_large": (lambda s: R.hypergeometric(s, 300, 10**6, 10**5, COUNT),
                             stats.hypergeom(10**6 + 300, 300, 10**5)),
    "hypergeometric_half": (lambda s: R.hypergeometric(s, 42, 41, 41, COUNT), stats.hypergeom(83, 42, 41)),
    "integers": (lambda s: R.integers(s, -3, 8, COUNT), stats.randint(-3, 8)),
    "integers_wide": (lambda s: R.integers(s, 2**63, size=COUNT)[1] // 2**59, stats.randint(0, 16)),
    "integers_rejecting": (lambda s: R.integers(s, 3 * 2**61, size=COUNT)[1] // 2**61, stats.randint(0, 3)),
    "categorical": (lambda s: R.categorical(s, np.array([2.0, 0.0, 1, 5]), COUNT),
                    stats.rv_discrete(values=([0, 1, 2, 3], [0.25, 0, 0.125, 0.625]))),
    "choice_weighted": (lambda s: R.choice(s, 3, COUNT, p=np.array([0.5, 0.2, 0.3])),
                        stats.rv_discrete(values=([0, 1, 2], [0.5, 0.2, 0.3]))),
}  # fmt: skip


def drawn(build: Callable[[Any], Any], state: Any) -> Any:
    """The draw of (next state, draw), or what is made of it."""
    built = build(state)
    return built[1] if isinstance(built, tuple) else built


@cache
def samples() -> dict[str, Array]:
    """All of them, from a state of their own each, by one library."""
    outputs = {}
    for number, (name, (build, _)) in enumerate({**REAL, **WHOLE}.items()):
        outputs[name] = drawn(build, at.constant(R.first_state(20240229, number)))
    found: dict[str, Array] = aot.function([], outputs, name="samples")()
    return found


@pytest.mark.shows("tensor/9-real")
@pytest.mark.parametrize("name", REAL)
def test_real_draws_have_their_distribution(name: str) -> None:
    """By Kolmogorov and Smirnov's test."""
    found = samples()[name]
    assert found.shape == (COUNT,)
    assert stats.kstest(found.astype("float64"), REAL[name][1].cdf).pvalue > LOWEST


@pytest.mark.shows("tensor/9-whole")
@pytest.mark.parametrize("name", WHOLE)
def test_whole_draws_have_their_distribution(name: str) -> None:
    """By the χ² test over all values that are expected at least ten times, the others together."""
    values, counts = np.unique(samples()[name].astype("int64"), return_counts=True)
    found = dict(zip(values.tolist(), counts.tolist(), strict=True))
    law = WHOLE[name][1]
    low, high = int(law.ppf(1e-9)), int(law.ppf(1 - 1e-9))
    expected = {k: COUNT * law.pmf(k) for k in range(min(low, *values), max(high, *values) + 1)}
    assert all(expected[k] > 0 for k in found), "a value of probability 0"
    common = [k for k, number in expected.items() if number >= 10]
    rest = max(COUNT - sum(expected[k] for k in common), 0.0)
    terms = [(found.get(k, 0) - expected[k]) ** 2 / expected[k] for k in common]
    if rest >= 5:
        terms.append((COUNT - sum(found.get(k, 0) for k in common) - rest) ** 2 / rest)
    assert len(terms) > 1
    assert stats.chi2.sf(sum(terms), len(terms) - 1) > LOWEST


@pytest.mark.parametrize("mean", [1e4, 1e9, 1e15])
def test_counts_of_large_means(mean: float) -> None:
    """(k − m)/√m is nearly normal; sampled where m·log m has lost all digits below √m."""
    state = at.constant(R.first_state(5))
    outputs = [R.poisson(state, mean, COUNT)[1], R.binomial(state, int(4 * mean), 0.5, COUNT)[1]]
    few, many = aot.function([], outputs, name="large")()
    for found, centre in ((few, mean), (many, 2 * mean)):
        standard = (found - centre) / np.sqrt(mean)
        assert stats.kstest(standard + 1e-9, stats.norm.cdf).pvalue > LOWEST
        np.testing.assert_allclose([standard.mean(), standard.std()], [0, 1], atol=0.03)


def test_degenerate_parameters() -> None:
    state = at.constant(R.first_state(5))
    outputs = {
        "poisson": R.poisson(state, 0.0, 9), "none": R.binomial(state, 0, 0.3, 9),
        "never": R.binomial(state, 9, 0.0, 9), "always": R.binomial(state, 9, 1.0, 9),
        "one": R.integers(state, 7, 8, 9), "gamma": R.gamma(state, 0.0, 1.0, 9),
        "normal": R.normal(state, 3.0, 0.0, 9), "sure": R.geometric(state, 1.0, 9),
        "nothing": R.hypergeometric(state, 0, 0, 0, 9), "good": R.hypergeometric(state, 7, 0, 4, 9),
        "whole": R.hypergeometric(state, 7, 2, 9, 9), "empty": R.hypergeometric(state, 100, 100, 0, 9),
    }  # fmt: skip
    found = aot.function([], {name: x[1] for name, x in outputs.items()}, name="degenerate")()
    expected = {"poisson": 0, "none": 0, "never": 0, "always": 9, "one": 7, "gamma": 0, "normal": 3, "sure": 1,
                "nothing": 0, "good": 4, "whole": 7, "empty": 0}  # fmt: skip
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], np.full(9, value), name)


@pytest.mark.shows("tensor/9-several")
def test_multinomial_counts() -> None:
    """They add up to the trials; each category is binomial, two together have their covariance."""
    p, trials = np.array([0.2, 0.0, 0.5, 0.3, 0.0]), 30
    state = at.constant(R.first_state(6))
    found = aot.function([], R.multinomial(state, trials, p, COUNT)[1], name="multinomial")()
    np.testing.assert_array_equal(found.sum(axis=1), trials)
    np.testing.assert_allclose(found.mean(axis=0), trials * p, atol=0.1)
    np.testing.assert_allclose(np.cov(found.T), trials * (np.diag(p) - np.outer(p, p)), atol=0.15)


def test_multinomial_in_groups_is_one_multinomial_per_group() -> None:
    n, groups = np.array([10, 7, 1000, 4]), np.array([0, 0, 0, 2, 2, 3])
    p = np.array([1.0, 2.0, 1.0, 0.25, 0.75, 9.0])
    state, trials, weights = at.constant(R.first_state(6)), at.lvector("n"), at.dvector("p")
    f = aot.function([trials, weights], R.multinomial_in_groups(state, trials, weights, groups)[1], name="groups")
    found = f(n, p)
    assert found.dtype == "int64"
    assert [found[groups == g].sum() for g in range(4)] == [10, 0, 1000, 4]
    assert abs(found[3] - 250) < 5 * np.sqrt(1000 * 0.25 * 0.75)
    np.testing.assert_array_equal(f(n, np.array([0, 0, 1, 0, 0, 0.0])), [0, 0, 10, 0, 0, 0])
    g = at.lvector("g")
    none = aot.function([trials, weights, g], R.multinomial_in_groups(state, trials, weights, g)[1], name="none")
    assert none(n, np.zeros(0), np.zeros(0, "int64")).shape == (0,)


@pytest.mark.shows("tensor/9-several")
def test_orders_are_equally_likely() -> None:
    """All 24 of four elements, from many states at once."""
    states = np.stack([R.first_state(9, number) for number in range(4800)])
    state, many = (at.tensor("state", dtype="uint64", shape=shape) for shape in ((2,), (None, 2)))
    orders = at.vectorize_graph(R.permutation(state, 4)[1], {state: many})
    found = aot.function([many], orders, name="orders")(states)
    np.testing.assert_array_equal(np.sort(found, axis=1), np.tile(np.arange(4), (4800, 1)))
    counts = np.unique(found @ [64, 16, 4, 1], return_counts=True)[1]
    assert counts.size == 24 and stats.chisquare(counts).pvalue > LOWEST


@pytest.mark.shows("tensor/9-several")
def test_choices_without_replacement() -> None:
    """The first of a weighted choice has the probability of its weight; no element comes twice."""
    p = np.array([0.1, 0.0, 0.6, 0.3])
    states = np.stack([R.first_state(10, number) for number in range(4000)])
    state, many = (at.tensor("state", dtype="uint64", shape=shape) for shape in ((2,), (None, 2)))
    drawn = at.vectorize_graph(R.choice(state, 4, 3, replace=False, p=p)[1], {state: many})
    found = aot.function([many], drawn, name="chosen")(states)
    assert all(set(row) == {0, 2, 3} for row in found.tolist())
    counts = [np.count_nonzero(found[:, 0] == k) for k in (0, 2, 3)]
    assert stats.chisquare(counts, 4000 * p[[0, 2, 3]]).pvalue > LOWEST


@pytest.mark.shows("tensor/9-several")
def test_vectors_have_their_moments() -> None:
    mean, cov, alpha = np.array([1.0, -2.0]), np.array([[2.0, 0.6], [0.6, 0.5]]), np.array([0.5, 2.0, 3.5])
    state = at.constant(R.first_state(11))
    outputs = [R.multivariate_normal(state, mean, cov, COUNT)[1], R.dirichlet(state, alpha, COUNT)[1]]
    points, shares = aot.function([], outputs, name="vectors")()
    np.testing.assert_allclose(points.mean(axis=0), mean, atol=0.03)
    np.testing.assert_allclose(np.cov(points.T), cov, atol=0.05)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    for k in range(3):
        assert stats.kstest(shares[:, k], stats.beta(alpha[k], 6 - alpha[k]).cdf).pvalue > LOWEST
