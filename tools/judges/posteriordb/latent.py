"""Mixtures, topics, item response, capture and recapture of posteriordb: functions of data `d` and parameters `p`."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import numpy as np
from tools.judges.posteriordb.densities import (
    bernoulli,
    bernoulli_logit,
    beta,
    binomial,
    cauchy,
    exponential,
    lkj_factor,
    logistic,
    lognormal,
    normal,
    student_t,
    uniform,
)
from tools.judges.posteriordb.parameters import Parameters
from tools.judges.posteriordb.regressions import Model
from tools.judges.posteriordb.symbols import at

from aotensor.graph.variable import Variable


def log_normal_density(x: Any, mean: Any, deviation: Any) -> Variable:
    """The normal log density of each element of x, with its constant."""
    return -0.5 * ((x - mean) / deviation) ** 2 - at.log(deviation) - 0.5 * np.log(2 * np.pi)


def _pair(d: Any, theta: Variable, mu: Any, sigma: Any) -> Variable:
    first, second = (log_normal_density(d.y, mu[k], sigma[k]) for k in (0, 1))
    return at.logaddexp(at.log(theta) + first, at.log1p(-theta) + second).sum()


def two_normals(d: Any, p: Parameters, is_ordered: bool) -> Variable:
    """A mixture of two normal densities."""
    mu, sigma, theta = p.ordered(2) if is_ordered else p.real(2), p.positive(2), p.between(0.0, 1.0)
    return normal(sigma, 0.0, 2.0) + normal(mu, 0.0, 2.0) + beta(theta, 5.0, 5.0) + _pair(d, theta, mu, sigma)


def two_means(d: Any, p: Parameters) -> Variable:
    """A mixture of two normal densities of deviation 1."""
    theta, mu = p.between(0.0, 1.0), p.real(2)
    return normal(mu, 0.0, 10.0) + _pair(d, theta, mu, [1.0, 1.0])


def k_normals(d: Any, p: Parameters) -> Variable:
    """A mixture of K normal densities."""
    theta, mu, sigma = p.simplex(d.K), p.real(d.K), p.between(0.0, 10.0, d.K)
    each = at.log(theta) + log_normal_density(d.y[:, None], mu, sigma)
    return normal(mu, 0.0, 10.0) + at.logsumexp(each, axis=1).sum()


def topics(d: Any, p: Parameters, count: int) -> Variable:
    """Words of documents by topics; all Dirichlet priors are flat."""
    theta, phi = p.simplex(count, d.M), p.simplex(d.V, count)
    prior = 0.0
    if count == 5:
        prior = ((d.alpha - 1) * at.log(theta)).sum() + ((d.beta - 1) * at.log(phi)).sum()
    return prior + at.logsumexp(at.log(theta[d.doc - 1]) + at.log(phi.T[d.w - 1]), axis=1).sum()


def rate(d: Any, p: Parameters, k: tuple[str, ...], n: tuple[str, ...], count: int) -> Variable:
    """Binomial rates with flat priors: `count` of them, for as many counts, or one for all."""
    thetas = [p.between(0.0, 1.0) for _ in range(count)]
    return sum(
        binomial(float(d[a]), float(d[b]), thetas[min(i, count - 1)]) for i, (a, b) in enumerate(zip(k, n, strict=True))
    )


def one_of_two_rates(d: Any, p: Parameters) -> Variable:
    """The rate of one count, and a second rate without observations."""
    theta, free = p.between(0.0, 1.0), p.between(0.0, 1.0)
    return binomial(float(d.k), float(d.n), theta) + beta(free, 1.0, 1.0)


def survey(d: Any, p: Parameters) -> Variable:
    """Counts of returned surveys, with an unknown number of sent ones."""
    theta = p.between(0.0, 1.0)
    sent = np.arange(d.k.max(), d.nmax + 1.0)
    ways = at.gammaln(sent[:, None] + 1) - at.gammaln(sent[:, None] - d.k + 1) - at.gammaln(d.k + 1.0)
    each = ways.sum(axis=1) + d.k.sum() * at.log(theta) + (d.m * sent - d.k.sum()) * at.log1p(-theta)
    return at.logsumexp(each)


def _captured(seen: Any, omega: Variable, each: Variable) -> Variable:
    """The log density of captures of animals in an augmented data set. seen: whether an animal was captured; each: log
    probability of an animal's history, if there
    """
    there = at.log(omega) + each
    return at.switch(seen, there, at.logaddexp(there, at.log1p(-omega))).sum()


def recapture(d: Any, p: Parameters, kind: str) -> Variable:
    """Capture-recapture with one detection probability, one per occasion, or another one after a capture."""
    omega = p.between(0.0, 1.0)
    if kind == "behaviour":
        first, again = p.between(0.0, 1.0), p.between(0.0, 1.0)
        before = np.concatenate([np.zeros((d.M, 1)), d.y[:, :-1]], axis=1)
        q = (1 - before) * first + before * again
    else:
        q = p.between(0.0, 1.0, d.T) if kind == "time" else p.between(0.0, 1.0)
    each = (d.y * at.log(q) + (1 - d.y) * at.log1p(-q)).sum(axis=1)
    return _captured(d.y.sum(axis=1) > 0, omega, each)


def recapture_logit(d: Any, p: Parameters, kind: str) -> Variable:
    """Detection with a random effect of each animal, and effects of occasions and of the last capture."""
    omega = p.between(0.0, 1.0)
    q = p.between(0.0, 1.0) if kind == "animal" else p.between(0.0, 1.0, d.T)
    slope = p.real() if kind == "behaviour" else 0.0
    sigma, z = p.between(0.0, 3.0 if kind == "behaviour" else 5.0), p.real(d.M)
    priors = normal(z) + (normal(slope, 0.0, 10.0) if kind == "behaviour" else 0.0)
    if kind == "animal":
        logits = at.logit(q) + sigma * z
        return priors + _captured(d.y > 0, omega, d.y * logits - d.T * at.softplus(logits))
    logits = at.logit(q) + (sigma * z)[:, None]
    if kind == "behaviour":
        logits = logits + slope * np.concatenate([np.zeros((d.M, 1)), d.y[:, :-1]], axis=1)
    return priors + _captured(d.y.sum(axis=1) > 0, omega, (d.y * logits - at.softplus(logits)).sum(axis=1))


def occupancy(d: Any, p: Parameters) -> Variable:
    """Occupancy of sites by many species, with imperfect detection."""
    a, b, omega, rho = p.real(), p.real(), p.between(0.0, 1.0), p.between(-1.0, 1.0)
    sigma, u, v = p.positive(2), p.real(d.S), p.real(d.S)
    x, y, rest = u / sigma[0], v / sigma[1], 1 - rho**2
    pairs = -0.5 * ((x**2 - 2 * rho * x * y + y**2) / rest).sum()
    pairs = pairs - d.S * (at.log(sigma).sum() + 0.5 * at.log(rest))
    lives, found = u + a, v + b
    absent = at.logaddexp(-at.softplus(-lives) - d.K * at.softplus(found), -at.softplus(lives))
    present = -at.softplus(-lives[: d.n, None]) + d.X * found[: d.n, None] - d.K * at.softplus(found[: d.n, None])
    seen = at.switch(d.X > 0, present, absent[: d.n, None]).sum()
    never = at.logaddexp(at.log1p(-omega), at.log(omega) + d.J * absent[d.n :]).sum()
    priors = cauchy(at.stack([a, b]), 0.0, 2.5) + cauchy(sigma, 0.0, 2.5) + beta(omega, 2.0, 2.0)
    priors = priors + beta((rho + 1) / 2, 2.0, 2.0) + d.n * at.log(omega)
    return priors + pairs + seen + never


def _shocks(d: Any) -> tuple[Any, Any]:
    """Earlier shocks and escapes of each dog, at each trial.   → (dogs, trials) each"""
    before = np.concatenate([np.zeros((len(d.y), 1)), d.y[:, :-1]], axis=1).cumsum(axis=1)
    return before, np.arange(d.y.shape[1]) - before


def dogs(d: Any, p: Parameters) -> Variable:
    """Dogs that learn to escape: a logistic regression on what happened before."""
    b = p.real(3)
    shocks, escapes = _shocks(d)
    return normal(b, 0.0, 100.0) + bernoulli_logit(d.y, b[0] + b[1] * escapes + b[2] * shocks)


def dogs_log(d: Any, p: Parameters) -> Variable:
    """Dogs that learn to escape: a log-linear model without an intercept."""
    b = p.real(2)
    shocks, escapes = _shocks(d)
    return uniform(b[0], -100.0, 0.0) + uniform(b[1], 0.0, 100.0) + bernoulli_logit(d.y, b[0] * escapes + b[1] * shocks)


def dogs_powers(d: Any, p: Parameters) -> Variable:
    """Probabilities of shocks that fall by a factor each time."""
    a, b = p.between(0.0, 1.0), p.between(0.0, 1.0)
    shocks, escapes = _shocks(d)
    return bernoulli(d.y, a**shocks * b**escapes)


def dogs_each(d: Any, p: Parameters) -> Variable:
    """Probabilities of shocks that fall by factors of each dog, which are correlated."""
    mu, sigma, factor, z = p.real(2), p.positive(2), p.correlation_factor(2), p.matrix(d.n_dogs, 2)
    factors = at.sigmoid(mu + z @ (sigma[:, None] * factor))
    shocks, escapes = _shocks(d)
    density = bernoulli(d.y, factors[:, :1] ** shocks * factors[:, 1:] ** escapes)
    return density + logistic(mu) + normal(sigma) + lkj_factor(factor, 2, 2.0) + normal(z)


def two_parameters(d: Any, p: Parameters) -> Variable:
    """Item response with discrimination and difficulty."""
    st, theta, sa, a = p.positive(), p.real(d.J), p.positive(), p.positive(d.I)
    mb, sb, b = p.real(), p.positive(), p.real(d.I)
    priors = normal(theta, 0.0, st) + lognormal(a, 0.0, sa) + normal(mb, 0.0, 5.0) + normal(b, mb, sb)
    priors = priors + sum(cauchy(x, 0.0, 2.0) for x in (st, sa, sb))
    return priors + bernoulli_logit(d.y, a[:, None] * (theta[None, :] - b[:, None]))


def correlated_items(d: Any, p: Parameters) -> Variable:
    """Item response, with discrimination and difficulty of an item correlated."""
    theta, x, b, mu, tau = p.real(d.J), p.real(d.I), p.real(d.I), p.real(2), p.positive(2)
    factor = p.correlation_factor(2)
    u = (x - mu[0]) / tau[0]
    v = ((b - mu[1]) / tau[1] - factor[1, 0] * u) / factor[1, 1]
    items = normal(u) + normal(v) - d.I * (at.log(tau).sum() + at.log(factor[1, 1]))
    priors = normal(theta) + lkj_factor(factor, 2, 4.0) + normal(mu[0]) + normal(mu[1], 0.0, 5.0)
    item = d.ii - 1
    logits = at.exp(x)[item] * (theta[d.jj - 1] - b[item])
    return items + priors + exponential(tau, 0.1) + bernoulli_logit(d.y, logits)


def law_school(d: Any, p: Parameters) -> Variable:
    """Item response: the five items of the law school admission test."""
    a, theta, slope = p.real(d.T), p.real(d.N), p.positive()
    answers = np.repeat(d.response, np.diff(d.culm, prepend=0), axis=0)
    density = bernoulli_logit(answers, slope * theta[:, None] - a)
    return density + normal(a, 0.0, 100.0) + normal(theta) + normal(slope, 0.0, 100.0)


def bones(d: Any, p: Parameters) -> Variable:
    """Ages of bones: graded items of known difficulties."""
    theta = p.real(d.nChild)
    density = normal(theta, 0.0, 36.0)
    child, item = np.nonzero(d.grade != -1)
    grade, last = d.grade[child, item], d.ncat[item]
    slope, edges = d.delta[item], np.nan_to_num(d.gamma)
    above = at.sigmoid(slope * (theta[child] - edges[item, np.maximum(grade - 2, 0)]))
    below = at.sigmoid(slope * (theta[child] - edges[item, np.minimum(grade - 1, 3)]))
    each = at.switch(grade == 1, 1 - below, at.switch(grade == last, above, above - below))
    return density + at.log(each).sum()


def _adjusted(d: Any) -> Any:
    """Columns of the persons after the first, centred and divided by two deviations."""
    w = np.array(d.W, dtype=float)
    w[:, 1:] = (w[:, 1:] - w[:, 1:].mean(axis=0)) / (2 * w[:, 1:].std(axis=0, ddof=1))
    return w


def _centred_last(free: Variable) -> Variable:
    return at.concatenate([free, -free.sum(keepdims=True)])


def latent_regression(d: Any, p: Parameters) -> Variable:
    """Item response with two parameters, and a regression of the persons."""
    a, b, theta, slopes = p.positive(d.I), _centred_last(p.real(d.I - 1)), p.real(d.J), p.real(d.K)
    priors = lognormal(a, 1.0, 1.0) + normal(b, 0.0, 3.0) + student_t(slopes, 3.0)
    priors = priors + normal(theta, _adjusted(d) @ slopes)
    item = d.ii - 1
    return priors + bernoulli_logit(d.y, a[item] * theta[d.jj - 1] - b[item])


def partial_credit(d: Any, p: Parameters, is_rating: bool) -> Variable:
    """Graded items: own steps of each, or the same steps of all."""
    item, person = d.ii - 1, d.jj - 1
    last = np.zeros(d.I, int)
    np.maximum.at(last, item, d.y)
    steps = last.max()
    a = p.positive(d.I)
    if is_rating:
        b, kappa = _centred_last(p.real(d.I - 1)), _centred_last(p.real(steps - 1))
        last[:] = steps
        theta, slopes = p.real(d.J), p.real(d.K)
        prior, difficulty = normal(b, 0.0, 3.0) + normal(kappa, 0.0, 3.0), b[:, None] + kappa
    else:
        b = _centred_last(p.real(last.sum() - 1))
        theta, slopes = p.real(d.J), p.real(d.K)
        first = np.cumsum(last) - last
        where = np.minimum(first[:, None] + np.arange(steps), last.sum() - 1)
        prior, difficulty = normal(b, 0.0, 3.0), b[where]
    prior = prior + lognormal(a, 1.0, 1.0) + student_t(slopes, 3.0) + normal(theta, _adjusted(d) @ slopes)
    sums = at.cumsum((a[item] * theta[person])[:, None] - difficulty[item], axis=1)
    sums = at.concatenate([at.zeros((d.N, 1)), sums], axis=1)
    allowed = np.arange(steps + 1) <= last[item][:, None]
    total = at.logsumexp(at.switch(allowed, sums, -np.inf), axis=1)
    return prior + (sums[np.arange(d.N), d.y] - total).sum()


MODELS: Final[dict[str, Model]] = {
    "low_dim_gauss_mix": partial(two_normals, is_ordered=True),
    "low_dim_gauss_mix_collapse": partial(two_normals, is_ordered=False),
    "normal_mixture": two_means,
    "normal_mixture_k": k_normals,
    "ldaK2": partial(topics, count=2),
    "ldaK5": partial(topics, count=5),
    "Rate_1_model": partial(rate, k=("k",), n=("n",), count=1),
    "Rate_2_model": partial(rate, k=("k1", "k2"), n=("n1", "n2"), count=2),
    "Rate_3_model": partial(rate, k=("k1", "k2"), n=("n1", "n2"), count=1),
    "Rate_4_model": one_of_two_rates,
    "Rate_5_model": partial(rate, k=("k1", "k2"), n=("n1", "n2"), count=1),
    "Survey_model": survey,
    "M0_model": partial(recapture, kind="same"),
    "Mb_model": partial(recapture, kind="behaviour"),
    "Mt_model": partial(recapture, kind="time"),
    "Mh_model": partial(recapture_logit, kind="animal"),
    "Mth_model": partial(recapture_logit, kind="time"),
    "Mtbh_model": partial(recapture_logit, kind="behaviour"),
    "multi_occupancy": occupancy,
    "dogs": dogs,
    "dogs_log": dogs_log,
    "dogs_hierarchical": dogs_powers,
    "dogs_nonhierarchical": dogs_each,
    "irt_2pl": two_parameters,
    "hier_2pl": correlated_items,
    "lsat_model": law_school,
    "bones_model": bones,
    "2pl_latent_reg_irt": latent_regression,
    "gpcm_latent_reg_irt": partial(partial_credit, is_rating=False),
    "grsm_latent_reg_irt": partial(partial_credit, is_rating=True),
}
"""Models by their names in posteriordb."""
