"""Hierarchical regressions, counts and Gaussian processes of posteriordb: functions of data `d` and parameters `p`."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import numpy as np
from tools.judges.posteriordb.densities import (
    bernoulli_logit,
    beta,
    binomial_logit,
    cauchy,
    dirichlet,
    gamma,
    inverse_gamma,
    lkj_factor,
    lognormal,
    normal,
    poisson_log,
    student_t,
    weibull,
)
from tools.judges.posteriordb.parameters import Parameters
from tools.judges.posteriordb.regressions import Model
from tools.judges.posteriordb.symbols import at

from aotensor.graph.variable import Variable


def eight_schools(d: Any, p: Parameters, is_centred: bool) -> Variable:
    """Effects of coaching in eight schools."""
    effects, mu, tau = p.real(d.J), p.real(), p.positive()
    priors = normal(mu, 0.0, 5.0) + cauchy(tau, 0.0, 5.0)
    if is_centred:
        return priors + normal(effects, mu, tau) + normal(d.y, effects, d.sigma)
    return priors + normal(effects) + normal(d.y, mu + tau * effects, d.sigma)


def radon(d: Any, p: Parameters, intercepts: bool, slopes: bool, is_centred: bool) -> Variable:
    """Radon in houses by county, with a common or an own intercept, and no, a common or an own slope of the floor."""
    a = b = 0.0
    if intercepts and slopes:
        sigma, sa, sb = p.positive(), p.positive(), p.positive()
        a, b, ma, mb = p.real(d.J), p.real(d.J), p.real(), p.real()
    elif slopes:
        a, b, mb, sb, sigma = p.real(), p.real(d.J), p.real(), p.positive(), p.positive()
    else:
        a = p.real(d.J)
        b = p.real() if slopes is not None else 0.0
        ma, sa, sigma = p.real(), p.positive(), p.positive()
    density = normal(sigma)
    if intercepts:
        density = density + normal(sa) + normal(ma, 0.0, 10.0) + (normal(a, ma, sa) if is_centred else normal(a))
        a = (a if is_centred else ma + sa * a)[d.county_idx - 1]
    else:
        density = density + normal(a, 0.0, 10.0)
    if slopes:
        density = density + normal(sb) + normal(mb, 0.0, 10.0) + (normal(b, mb, sb) if is_centred else normal(b))
        b = (b if is_centred else mb + sb * b)[d.county_idx - 1]
    elif slopes is not None:
        density = density + normal(b, 0.0, 10.0)
    mean = a if slopes is None else a + b * d.floor_measure
    return density + normal(d.log_radon, mean, sigma)


def radon_hierarchical(d: Any, p: Parameters, is_centred: bool) -> Variable:
    """Radon by county, with uranium as its predictor."""
    a, b, mu, tau, sigma = p.real(d.J), p.real(2), p.real(), p.positive(), p.positive()
    priors = normal(tau) + normal(sigma) + normal(mu, 0.0, 10.0) + normal(b, 0.0, 10.0)
    priors = priors + (normal(a, mu, tau) if is_centred else normal(a))
    a = a if is_centred else mu + tau * a
    return priors + normal(d.log_radon, a[d.county_idx - 1] + b[0] * d.log_uppm + b[1] * d.floor_measure, sigma)


def radon_county(d: Any, p: Parameters) -> Variable:
    """An intercept for each county."""
    a, mu, tau, sigma = p.real(d.J), p.real(), p.between(0.0, 100.0), p.between(0.0, 100.0)
    return normal(mu) + normal(a, mu, tau) + normal(d.y, a[d.county - 1], sigma)


def radon_county_intercept(d: Any, p: Parameters) -> Variable:
    """An intercept for each county and a common slope, without pooling."""
    a, b, sigma = p.real(d.J), p.real(), p.positive()
    mean = a[d.county_idx - 1] + b * d.floor_measure
    return normal(sigma) + normal(a, 0.0, 10.0) + normal(b, 0.0, 10.0) + normal(d.log_radon, mean, sigma)


def radon_pooled(d: Any, p: Parameters) -> Variable:
    """One line for all counties."""
    a, b, sigma = p.real(), p.real(), p.positive()
    priors = normal(sigma) + normal(a, 0.0, 10.0) + normal(b, 0.0, 10.0)
    return priors + normal(d.log_radon, a + b * d.floor_measure, sigma)


def rats(d: Any, p: Parameters) -> Variable:
    """Weights of rats: a line each."""
    a, b, ma, mb = p.real(d.N), p.real(d.N), p.real(), p.real()
    sigma, sa, sb = p.positive(), p.positive(), p.positive()
    priors = normal(ma, 0.0, 100.0) + normal(mb, 0.0, 100.0) + normal(a, ma, sa) + normal(b, mb, sb)
    return priors + normal(d.y, a[d.rat - 1] + b[d.rat - 1] * (d.x - d.xbar), sigma)


def pilots(d: Any, p: Parameters) -> Variable:
    """Groups of pilots in scenarios."""
    a, b, ma, mb = p.real(d.n_groups), p.real(d.n_scenarios), p.real(), p.real()
    sa, sb, sigma = (p.between(0.0, 100.0) for _ in range(3))
    priors = normal(ma) + normal(mb) + normal(a, 10.0 * ma, sa) + normal(b, 10.0 * mb, sb)
    return priors + normal(d.y, a[d.group_id - 1] + b[d.scenario_id - 1], sigma)


def seeds(d: Any, p: Parameters, kind: str) -> Variable:
    """Germination of seeds on plates."""
    a = [p.real() for _ in range(4)]
    if kind == "precision":
        tau, b = p.positive(), p.real(d.I)
        sigma, scale = 1 / at.sqrt(tau), 1e3
        prior = gamma(tau, 1e-3, 1e-3)
    else:
        b, sigma, scale = p.real(d.I), p.positive(), 1.0
        prior = cauchy(sigma)
    effects = b - b.mean() if kind == "centred" else b
    logits = a[0] + a[1] * d.x1 + a[3] * d.x2 + a[2] * d.x1 * d.x2 + effects
    return prior + normal(at.stack(a), 0.0, scale) + normal(b, 0.0, sigma) + binomial_logit(d.n, d.N, logits)


def surgical(d: Any, p: Parameters) -> Variable:
    """Mortality in hospitals."""
    mu, variance, b = p.real(), p.positive(), p.real(d.N)
    priors = normal(mu, 0.0, 1000.0) + inverse_gamma(variance, 0.001, 0.001) + normal(b, mu, at.sqrt(variance))
    return priors + binomial_logit(d.r, d.n, b)


def election(d: Any, p: Parameters) -> Variable:
    """Polls by age, education, state and region."""
    names = ("age", "edu", "age_edu", "state", "region_full")
    effects = [p.real(d["n_" + name]) for name in names]
    b, sigmas = p.real(5), [p.between(0.0, 100.0) for _ in names]
    logits = b[0] + b[1] * d.black + b[2] * d.female + b[4] * d.female * d.black + b[3] * d.v_prev_full
    density = normal(b, 0.0, 100.0)
    for name, effect, sigma in zip(names, effects, sigmas, strict=True):
        density = density + normal(effect, 0.0, sigma)
        logits = logits + effect[d[name] - 1]
    return density + bernoulli_logit(d.y, logits)


def glmm(d: Any, p: Parameters) -> Variable:
    """Counts at sites, with a random effect of each."""
    a, mu, sigma = p.real(d.nsite), p.real(), p.between(0.0, 5.0)
    return normal(a, mu, sigma) + normal(mu, 0.0, 10.0) + poisson_log(d.obs, a[d.obssite - 1])


def glmm_poisson(d: Any, p: Parameters) -> Variable:
    """A cubic trend of counts with a random effect of each year."""
    a, b1, b2, b3 = p.between(-20.0, 20.0), p.between(-10.0, 10.0), p.between(-10.0, 20.0), p.between(-10.0, 10.0)
    eps, sigma = p.real(d.n), p.between(0.0, 5.0)
    log_rate = a + b1 * d.year + b2 * d.year**2 + b3 * d.year**3 + eps
    return poisson_log(d.C, log_rate) + normal(eps, 0.0, sigma)


def spatial(d: Any, p: Parameters) -> Variable:
    """Accidents by district: a BYM2 model, whose spatial effects are smooth over the edges of a map."""
    b, sigma, rho, theta, phi = p.real(), p.positive(), p.between(0.0, 1.0), p.real(d.N), p.real(d.N)
    effects = at.sqrt(1 - rho) * theta + at.sqrt(rho / d.scaling_factor) * phi
    priors = normal(b) + normal(theta) + normal(sigma) + beta(rho, 0.5, 0.5) + normal(phi.sum(), 0.0, 0.001 * d.N)
    smooth = -0.5 * ((phi[d.node1 - 1] - phi[d.node2 - 1]) ** 2).sum()
    return priors + smooth + poisson_log(d.y, np.log(d.E) + b + effects * sigma)


def curves(d: Any, p: Parameters) -> Variable:
    """Losses of insurers: growth curves of cohorts."""
    omega, theta, ratio, mu, tau, sigma = (
        p.positive(), p.positive(), p.positive(d.n_cohort), p.real(), p.positive(), p.positive()
    )  # fmt: skip
    growth = -at.expm1(-((d.t_value / theta) ** omega))
    cohort, priors = d.cohort_id - 1, normal(mu, 0.0, 0.5) + lognormal(ratio, mu, tau) + lognormal(sigma, 0.0, 0.7)
    priors = priors + sum(lognormal(x, 0.0, 0.5) for x in (tau, omega, theta))
    mean = ratio[cohort] * d.premium[cohort] * growth[d.t_idx - 1]
    return priors + normal(d.loss, mean, sigma * d.premium[cohort])


def dugongs(d: Any, p: Parameters) -> Variable:
    """Growth of dugongs."""
    a, b, rate, tau = p.real(), p.real(), p.between(0.5, 1.0), p.positive()
    priors = normal(a, 0.0, 1000.0) + normal(b, 0.0, 1000.0) + gamma(tau, 1e-4, 1e-4)
    return priors + normal(d.Y, a - b * rate**d.x, 1 / at.sqrt(tau))


def squared_exponential(x: Any, deviation: Any, length: Any) -> Variable:
    """deviation² exp(−(xᵢ − xⱼ)² / 2 length²).   x: (n,) → (n, n)"""
    return deviation**2 * at.exp(-0.5 * (x[:, None] - x[None, :]) ** 2 / length**2)


def gaussian_process(d: Any, p: Parameters) -> Variable:
    """A Gaussian process with noise."""
    rho, alpha, sigma = p.positive(), p.positive(), p.positive()
    factor = at.linalg.cholesky(squared_exponential(d.x, alpha, rho) + sigma * np.eye(d.N))
    z = at.linalg.solve_triangular(factor, d.y, lower=True)
    density = -0.5 * (z**2).sum() - at.log(at.diagonal(factor)).sum()
    return density + gamma(rho, 25.0, 4.0) + normal(alpha, 0.0, 2.0) + normal(sigma)


def latent_process(d: Any, p: Parameters) -> Variable:
    """Counts whose log rate is a Gaussian process."""
    rho, alpha, z = p.positive(), p.positive(), p.real(d.N)
    factor = at.linalg.cholesky(squared_exponential(d.x, alpha, rho) + 1e-10 * np.eye(d.N))
    return gamma(rho, 25.0, 4.0) + normal(alpha, 0.0, 2.0) + normal(z) + poisson_log(d.k, factor @ z)


def motorcycle_process(d: Any, p: Parameters) -> Variable:
    """Accelerations, mean and deviation by Gaussian processes in a Laplacian eigenbasis."""
    density, parts = 0.0, []
    for basis, roots, mean, scale in (
        (d.Xgp_1, d.slambda_1, -13.0, 36.0), (d.Xgp_sigma_1, d.slambda_sigma_1, 0.0, 10.0)
    ):  # fmt: skip
        a, sd, length, z = p.real(), p.positive(), p.positive(), p.real(basis.shape[1])
        # the square root of the spectral density by itself: that underflows, where the derivative of a root is infinite
        spectrum = sd * at.sqrt(np.sqrt(2 * np.pi) * length) * at.exp(-0.25 * (length * roots[:, 0]) ** 2)
        parts.append(a + basis @ (spectrum * z))
        density = density + student_t(a, 3.0, mean, scale) + student_t(sd, 3.0, 0.0, 36.0) + normal(z)
        density = density + inverse_gamma(length, 1.124909, 0.0177)
    return density + normal(d.Y, parts[0], at.exp(parts[1]))


def motorcycle_splines(d: Any, p: Parameters) -> Variable:
    """Accelerations, mean and deviation by splines."""
    density, parts = 0.0, []
    for x, basis, mean, scale in (
        (d.Xs, d.Zs_1_1, -13.0, 36.0), (d.Xs_sigma, d.Zs_sigma_1_1, 0.0, 10.0)
    ):  # fmt: skip
        a, b, z, sd = p.real(), p.real(x.shape[1]), p.real(basis.shape[1]), p.positive()
        parts.append(a + x @ b + basis @ (sd * z))
        density = density + student_t(a, 3.0, mean, scale) + student_t(sd, 3.0, 0.0, 36.0) + normal(z)
    return density + normal(d.Y, parts[0], at.exp(parts[1]))


def votes(d: Any, p: Parameters) -> Variable:
    """Votes by state, region and year, with Gaussian processes over the years."""
    years, regions, states = d.N_years, d.N_regions, d.N_states
    by_region, by_state = p.matrix(years, regions), p.matrix(years, states)
    year, state, region = p.real(d.N_years_obs), p.real(states), p.real(regions)
    total, shares, mu, lengths = p.positive(), p.simplex(17), p.real(), [p.positive() for _ in range(4)]
    sigma = at.sqrt(17 * shares * total)
    t = np.arange(1.0, years + 1)

    def process(k: int, z: Variable) -> Variable:
        covariance = squared_exponential(t, sigma[12 + k], lengths[k])
        covariance = covariance + squared_exponential(t, sigma[14 + k], lengths[2 + k])
        return at.linalg.cholesky(covariance + 1e-6 * np.eye(years)) @ z

    r, s, y = d.region_ind - 1, d.state_ind - 1, d.year_ind - 1
    mean = mu + (sigma[0] * year)[y] + (sigma[2:12][d.state_region_ind - 1] * state)[s] + (sigma[1] * region)[r]
    mean = mean + process(0, by_region)[y, r] + process(1, by_state)[y, s]
    priors = sum(normal(z) for z in (by_region, by_state, year, state, region))
    priors = priors + normal(mu, 0.5, 0.5) + gamma(total, 3.0, 3.0) + dirichlet(shares, 2.0)
    priors = priors + weibull(at.stack(lengths[:2]), 30.0, 8.0) + weibull(at.stack(lengths[2:]), 30.0, 3.0)
    return priors + normal(d.y, mean, sigma[16])


def kronecker(d: Any, p: Parameters) -> Variable:
    """A Gaussian process on a grid, by the eigenvectors of both factors of its covariance."""
    variance, rate, factor, sigma = p.positive(), p.positive(), p.correlation_factor(d.n2), p.above(1e-5)
    n = d.n1
    squares = -((d.x1[:, None] - d.x1[None, :]) ** 2)
    rows, u = at.linalg.eigh(variance * at.exp(squares * rate) + 1e-5 * np.eye(n))
    columns, v = at.linalg.eigh(factor @ factor.T)
    eigenvalues = columns[:, None] * rows[None, :] + sigma
    inner = v.T @ d.y @ u / eigenvalues
    density = -0.5 * (d.y * (v @ inner @ u.T)).sum() - 0.5 * at.log(eigenvalues).sum()
    return density + lognormal(variance) + cauchy(rate, 0.0, 2.5) + lognormal(sigma) + lkj_factor(factor, d.n2, 2.0)


MODELS: Final[dict[str, Model]] = {
    "eight_schools_centered": partial(eight_schools, is_centred=True),
    "eight_schools_noncentered": partial(eight_schools, is_centred=False),
    "radon_pooled": radon_pooled,
    "radon_county": radon_county,
    "radon_county_intercept": radon_county_intercept,
    "radon_hierarchical_intercept_centered": partial(radon_hierarchical, is_centred=True),
    "radon_hierarchical_intercept_noncentered": partial(radon_hierarchical, is_centred=False),
    **{
        f"radon_{name}_{kind}": partial(radon, intercepts=a, slopes=b, is_centred=kind == "centered")
        for name, a, b in (
            ("partially_pooled", True, None), ("variable_intercept", True, False), ("variable_slope", False, True),
            ("variable_intercept_slope", True, True),
        )
        for kind in ("centered", "noncentered")
    },
    "rats_model": rats,
    "pilots": pilots,
    "seeds_model": partial(seeds, kind="precision"),
    "seeds_centered_model": partial(seeds, kind="centred"),
    "seeds_stanified_model": partial(seeds, kind="plain"),
    "surgical_model": surgical,
    "election88_full": election,
    "GLMM1_model": glmm,
    "GLMM_Poisson_model": glmm_poisson,
    "bym2_offset_only": spatial,
    "losscurve_sislob": curves,
    "dugongs_model": dugongs,
    "gp_regr": gaussian_process,
    "gp_pois_regr": latent_process,
    "accel_gp": motorcycle_process,
    "accel_splines": motorcycle_splines,
    "hierarchical_gp": votes,
    "kronecker_gp": kronecker,
}  # fmt: skip
"""Models by their names in posteriordb."""
