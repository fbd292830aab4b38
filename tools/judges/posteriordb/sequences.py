"""Time series, hidden Markov models, state spaces and differential equations of posteriordb.

Each model is a function of its data `d` and parameters `p`. Loops over time are `aot.scan`.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import numpy as np
from tools.judges.posteriordb.densities import (
    beta,
    cauchy,
    dirichlet,
    double_exponential,
    exponential,
    gamma,
    lognormal,
    negative_binomial,
    normal,
    student_t,
)
from tools.judges.posteriordb.latent import log_normal_density
from tools.judges.posteriordb.parameters import Parameters
from tools.judges.posteriordb.regressions import Model
from tools.judges.posteriordb.symbols import at

from aotensor.graph.variable import Variable


def autoregression(d: Any, p: Parameters) -> Variable:
    """An AR(K) process."""
    a, b, sigma, k = p.real(), p.real(d.K), p.positive(), d.K
    before = np.stack([d.y[k - i - 1 : len(d.y) - i - 1] for i in range(k)], axis=1)
    priors = normal(a, 0.0, 10.0) + normal(b, 0.0, 10.0) + cauchy(sigma, 0.0, 2.5)
    return priors + normal(d.y[k:], a + before @ b, sigma)


def arma(d: Any, p: Parameters) -> Variable:
    """An ARMA(1, 1) process."""
    mu, phi, theta, sigma = p.real(), p.real(), p.real(), p.positive()
    known = d.y - mu - phi * at.concatenate([mu[None], d.y[:-1]])
    errors, _ = at.scan(lambda x, e, c: x - c * e, [known], [at.zeros(())], [theta])
    priors = normal(mu, 0.0, 10.0) + normal(at.stack([phi, theta]), 0.0, 2.0) + cauchy(sigma, 0.0, 2.5)
    return priors + normal(errors, 0.0, sigma)


def garch(d: Any, p: Parameters) -> Variable:
    """A GARCH(1, 1) process."""
    mu, a0, a1 = p.real(), p.positive(), p.between(0.0, 1.0)
    b1 = p.between(0.0, 1 - a1)
    news = a0 + a1 * (d.y[:-1] - mu) ** 2
    first = at.as_tensor(float(d.sigma1) ** 2)
    variances, _ = at.scan(lambda x, v, c: x + c * v, [news], [first], [b1])
    return normal(d.y, mu, at.sqrt(at.concatenate([first[None], variances])))


def _forward(first: Variable, steps: Any, transition: Variable) -> Variable:
    """The forward algorithm.   first: (K,) log densities with those of the first state; steps: (T, K); (K, K) logs"""

    def step(x: Variable, before: Variable, moves: Variable) -> Variable:
        return at.logsumexp(before[:, None] + moves, axis=0) + x

    each, _ = at.scan(step, [steps], [first], [transition])
    return at.logsumexp(each[-1])


def hidden_example(d: Any, p: Parameters) -> Variable:
    """Two states with normal emissions of deviation 1."""
    moves, mu = at.stack([p.simplex(2), p.simplex(2)]), p.positive_ordered(2)
    each = log_normal_density(d.y[:, None], mu, 1.0)
    return normal(mu, np.array([3.0, 10.0])) + _forward(each[0], each[1:], at.log(moves))


def hidden_drive(d: Any, p: Parameters, is_normal: bool) -> Variable:
    """Drives of basketball players, by speed and distance to the hoop."""
    moves = at.stack([p.simplex(2), p.simplex(2)])
    speed, hoop = (p.ordered(2) if is_normal else p.positive_ordered(2) for _ in range(2))
    u, v = d.u[:, None], d.v[:, None]
    if is_normal:
        each = log_normal_density(u, speed, d.tau) + log_normal_density(v, hoop, d.rho)
    else:
        each = at.log(speed) - u * speed + at.log(hoop) - v * hoop
    means = np.array([0.0, 3.0])
    priors = dirichlet(moves, d.alpha) + normal(speed, means) + normal(hoop, means)
    return priors + _forward(each[0], each[1:], at.log(moves))


def hidden_normal(d: Any, p: Parameters) -> Variable:
    """K states with normal emissions, all priors flat."""
    start, moves, mu, sigma = p.simplex(d.K), p.simplex(d.K, d.K), p.ordered(d.K), p.positive(d.K)
    each = log_normal_density(d.y[:, None], mu, sigma)
    # the first density of the published program is the sum over all states
    return _forward(at.log(start) + each[0].sum(), each[1:], at.log(moves))


def hidden_driven(d: Any, p: Parameters) -> Variable:
    """A hidden Markov model whose transitions depend on inputs, with a regression per state."""
    start, w, b, sigma = p.simplex(d.K), p.real(d.K, d.M), p.real(d.K, d.M), p.positive(d.K)
    chosen = d.u @ w.T
    chosen = chosen - at.logsumexp(chosen, axis=1, keepdims=True)
    each = log_normal_density(d.y[:, None], d.u @ b.T, sigma)

    def step(x: Variable, log_a: Variable, before: Variable) -> Variable:
        return at.logsumexp(before + log_a) + x

    states, _ = at.scan(step, [each[1:], chosen[1:]], [at.log(start) + each[0]])
    priors = normal(w, 0.0, 5.0) + normal(b, 0.0, 5.0) + normal(sigma, 0.0, 3.0)
    return priors + at.logsumexp(states[-1])


def seasons(d: Any, p: Parameters) -> Variable:
    """Road deaths: a level and a season that both move."""
    n, middle, reach = d.n, d.y.mean(), 3 * d.y.std(ddof=1)
    mu, season = p.between(middle - reach, middle + reach, n), p.real(n)
    b, c, sigma = p.real(), p.real(), p.positive_ordered(3)
    others = sum(season[k : n - 11 + k] for k in range(11))
    priors = normal(season[11:], -others, sigma[0]) + normal(mu[1:], mu[:-1], sigma[1]) + student_t(sigma, 4.0)
    return priors + normal(d.y, mu + b * d.x + c * d.w + season, sigma[2])


def trend(d: Any, p: Parameters) -> Variable:
    """Downloads of a package: Prophet's piecewise linear trend with seasons."""
    k, m, delta, sigma, b = p.real(), p.real(), p.real(d.S), p.positive(), p.real(d.K)
    changed = 1.0 * (d.t[:, None] >= d.t_change)
    line = (k + changed @ delta) * d.t + (m + changed @ (-d.t_change * delta))
    priors = normal(k, 0.0, 5.0) + normal(m, 0.0, 5.0) + double_exponential(delta, d.tau)
    priors = priors + normal(sigma, 0.0, 0.5) + normal(b, 0.0, d.sigmas)
    return priors + normal(d.y, line * (1 + d.X @ (b * d.s_m)) + d.X @ (b * d.s_a), sigma)


def predators(d: Any, p: Parameters) -> Variable:
    """Lynxes and hares: the equations of Lotka and Volterra."""
    theta, start, sigma = p.positive(4), p.positive(2), p.positive(2)

    def change(_: Variable, z: Variable) -> list[Variable]:
        return [(theta[0] - theta[1] * z[1]) * z[0], (theta[3] * z[0] - theta[2]) * z[1]]

    z = at.integrate.solve_ivp(
        change, (0.0, float(d.ts[-1])), start, t_eval=d.ts, method="DOP853", rtol=1e-9, atol=1e-9
    ).y.T  # fmt: skip
    priors = normal(theta, np.array([1.0, 0.05, 1.0, 0.05]), np.array([0.5, 0.05, 0.5, 0.05]))
    priors = priors + lognormal(sigma, -1.0, 1.0) + lognormal(start, np.log(10.0), 1.0)
    return priors + lognormal(d.y_init, at.log(start), sigma) + lognormal(d.y, at.log(z), sigma)


def elimination(d: Any, p: Parameters) -> Variable:
    """A drug that is absorbed and eliminated, by Michaelis and Menten."""
    absorbed, half, most, sigma = p.positive(), p.positive(), p.positive(), p.positive()

    def change(t: Variable, y: Variable) -> list[Variable]:
        return [at.exp(-absorbed * t) * d.D * absorbed / d.V - (most / d.V) * y[0] / (half + y[0])]

    y = at.integrate.solve_ivp(
        change, (float(d.t0), float(d.times[-1])), np.zeros(1), t_eval=d.times, method="Rodas5P", rtol=1e-10, atol=1e-10
    ).y[0]  # fmt: skip
    return cauchy(at.stack([absorbed, half, most, sigma])) + lognormal(d.C_hat, at.log(y), sigma)


def soil(d: Any, p: Parameters) -> Variable:
    """Carbon in two pools, which exchange it."""
    k1, k2, a21, a12, share, sigma = (
        p.positive(), p.positive(), p.positive(), p.positive(), p.between(0.0, 1.0), p.positive()
    )  # fmt: skip

    def change(_: Variable, c: Variable) -> list[Variable]:
        return [a12 * k2 * c[1] - k1 * c[0], a21 * k1 * c[0] - k2 * c[1]]

    start = d.totalC_t0 * at.stack([share, 1 - share])
    pools = at.integrate.solve_ivp(
        change, (float(d.t0), float(d.ts[-1])), start, t_eval=d.ts, method="DOP853", rtol=1e-10, atol=1e-10
    ).y  # fmt: skip
    priors = beta(share, 10.0, 1.0) + normal(at.stack([k1, k2, a21, a12])) + cauchy(sigma)
    return priors + normal(d.eCO2mean, d.totalC_t0 - pools.sum(axis=0), sigma)


def epidemic(d: Any, p: Parameters) -> Variable:
    """Deaths in 14 countries: infections by renewal, with the effects of measures."""
    m, n, n0 = d.M, d.N2, d.N0
    mu, effects, kappa, y = p.positive(m), p.positive(d.P), p.positive(), p.positive(m)
    phi, tau, noise = p.positive(), p.positive(), p.positive(m)
    rates = mu[:, None] * at.exp(-(d.X @ (effects - np.log(1.05) / 6.0)))  # country, day
    lags = np.arange(n)[:, None] - np.arange(n) - 1
    weights = np.where(lags >= 0, d.SI[lags], 0.0)  # by day, of each earlier day
    start = at.set_subtensor(at.zeros((n, m))[:n0], y)

    def step(day: Variable, weight: Variable, rate: Variable, infected: Variable) -> Variable:
        left = 1 - infected.sum(axis=0) / d.pop
        return at.set_subtensor(infected[day], left * rate * (weight @ infected))

    days, _ = at.scan(step, [np.arange(n0, n), weights[n0:], rates.T[n0:]], [start])
    infected = days[-1]
    dying = np.where((lags >= 0)[:, :, None], d.f[lags], 0.0)
    deaths = at.concatenate([1e-15 * infected[:1], (noise * (dying * infected).sum(axis=1))[1:]])
    observed = (np.arange(1, n + 1)[:, None] >= d.EpidemicStart) & (np.arange(1, n + 1)[:, None] <= d.N)
    day, country = np.nonzero(observed)
    priors = exponential(tau, 0.03) + exponential(y, 1 / tau) + normal(phi, 0.0, 5.0) + normal(kappa, 0.0, 0.5)
    priors = priors + normal(mu, 3.28, kappa) + gamma(effects, 0.1667, 1.0) + normal(noise, 1.0, 0.1)
    return priors + negative_binomial(d.deaths[day, country], deaths[day, country], phi)


MODELS: Final[dict[str, Model]] = {
    "arK": autoregression,
    "arma11": arma,
    "garch11": garch,
    "hmm_example": hidden_example,
    "hmm_drive_0": partial(hidden_drive, is_normal=False),
    "hmm_drive_1": partial(hidden_drive, is_normal=True),
    "hmm_gaussian": hidden_normal,
    "iohmm_reg": hidden_driven,
    "state_space_stochastic_level_stochastic_seasonal": seasons,
    "prophet": trend,
    "lotka_volterra": predators,
    "one_comp_mm_elim_abs": elimination,
    "soil_incubation": soil,
    "covid19imperial_v2": epidemic,
    "covid19imperial_v3": epidemic,
}
"""Models by their names in posteriordb."""
