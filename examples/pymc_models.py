"""Four models of PyMC on real data: eight schools, radon in Minnesota, CO2 on Mauna Loa, lip cancer in Scotland.

`aotensor compile examples/pymc_models.py -o build` makes one library of them all. Needs pip install 'aotensor[pymc]'.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pymc as pm
import scipy.sparse

DATA = Path(__file__).parent / "data"


def columns(name: str) -> dict[str, list[str]]:
    """The columns of a file of ours by their names."""
    with (DATA / name).open(encoding="utf-8") as file:
        names, *rows = csv.reader(file)
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


def numbers(table: dict[str, list[str]], name: str) -> np.ndarray:
    return np.array(table[name], dtype="float64")


def eight_schools() -> pm.Model:
    """Effects of coaching, not centred (Rubin, 1981): 10 parameters."""
    effects = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
    errors = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
    with pm.Model() as model:
        mu, tau = pm.Normal("mu", 0, 5), pm.HalfCauchy("tau", 5)
        z = pm.Normal("z", 0, 1, shape=8)
        theta = pm.Deterministic("theta", mu + tau * z)
        pm.Normal("y", theta, sigma=errors, observed=effects)
    return model


def radon() -> pm.Model:
    """919 houses in 85 counties: an intercept per county, which uranium in its soil explains in part
    (Gelman and Hill, 2006): 90 parameters."""
    table = columns("radon.csv")
    county = numbers(table, "county").astype(int) - 1
    uranium = np.zeros(85)
    uranium[county] = numbers(table, "log_uranium")
    with pm.Model() as model:
        level, slope = pm.Normal("level", 0, 10), pm.Normal("slope", 0, 10)
        spread = pm.HalfNormal("spread", 1)
        z = pm.Normal("z", 0, 1, shape=85)
        ground = pm.Normal("ground", 0, 10)
        noise = pm.HalfNormal("noise", 1)
        of_county = level + slope * uranium + spread * z
        mean = of_county[county] + ground * numbers(table, "floor")
        pm.Normal("y", mean, noise, observed=numbers(table, "log_radon"))
    return model


def mauna_loa() -> pm.Model:
    """Monthly CO2 of 12 years: a trend and a season, as a Gaussian process of 144 points (Keeling and Whorf, 2004):
    6 parameters."""
    table = columns("mauna_loa.csv")
    years = numbers(table, "year") + (numbers(table, "month") - 0.5) / 12
    values = numbers(table, "co2")
    years, values = years - years.mean(), values - values.mean()
    with pm.Model() as model:
        slope = pm.Normal("slope", 1.5, 1)
        season, trend = pm.HalfNormal("season", 5), pm.HalfNormal("trend", 5)
        smooth = pm.LogNormal("smooth", 0, 0.5)
        scale = pm.LogNormal("scale", 1, 0.5)
        noise = pm.HalfNormal("noise", 1)
        covariance = trend**2 * pm.gp.cov.Matern52(1, scale)
        covariance += season**2 * pm.gp.cov.Periodic(1, period=1, ls=smooth)
        process = pm.gp.Marginal(mean_func=pm.gp.mean.Linear(slope), cov_func=covariance)
        process.marginal_likelihood("y", X=years[:, None], y=values, sigma=noise)
    return model


def lip_cancer() -> pm.Model:
    """Cases in 56 districts beside those that were expected, by outdoor work and a field on the sparse graph of
    neighbours, conditionally autoregressive (Clayton and Kaldor, 1987): 60 parameters."""
    table = columns("lip_cancer.csv")
    rows = [(k, int(other) - 1) for k, text in enumerate(table["neighbours"]) for other in text.split()]
    places = np.array(rows).T
    graph = scipy.sparse.csr_matrix((np.ones(len(rows)), places), shape=(56, 56))
    with pm.Model() as model:
        level, outdoor = pm.Normal("level", 0, 3), pm.Normal("outdoor", 0, 1)
        tau, alpha = pm.Gamma("tau", 2, 1), pm.Beta("alpha", 2, 1)
        field = pm.CAR("field", mu=np.zeros(56), W=graph, alpha=alpha, tau=tau, shape=56)
        log_rate = np.log(numbers(table, "expected")) + level + outdoor * numbers(table, "outdoor") / 10 + field
        pm.Poisson("y", pm.math.exp(log_rate), observed=numbers(table, "cases"))
    return model


MODELS = {made.__name__: made for made in (eight_schools, radon, mauna_loa, lip_cancer)}
