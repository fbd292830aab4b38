"""Linear and generalised linear regressions of posteriordb.

Each model is a function of its data `d`, with posteriordb's names, and of its parameters `p`: a log density.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np
from tools.judges.posteriordb.densities import (
    bernoulli_logit,
    binomial_logit,
    cauchy,
    inverse_gamma,
    normal,
    poisson_log,
    student_t,
)
from tools.judges.posteriordb.parameters import Parameters
from tools.judges.posteriordb.symbols import at

from aotensor.graph.variable import Variable

Model = Callable[[Any, Parameters], Variable]
"""A function of data and parameters that returns a log density."""


def _ones(columns: list[Any], n: int) -> Any:
    return np.stack([np.ones(n), *columns], axis=1)


def _centred(x: Any) -> Any:
    return x - x.mean()


def _standard(x: Any, deviations: float = 1.0) -> Any:
    return _centred(x) / (deviations * x.std(ddof=1))


def linear(d: Any, p: Parameters, response: Any, columns: Any, scale: float | None = None) -> Variable:
    """Normal regression with an intercept and flat coefficients. scale: of a Cauchy prior of the deviation, or flat"""
    y, columns = response(d), columns(d)
    b, sigma = p.real(len(columns) + 1), p.positive()
    density = normal(y, _ones(columns, len(y)) @ b, sigma)
    return density if scale is None else density + cauchy(sigma, 0.0, scale)


def logit(d: Any, p: Parameters, columns: Any, response: str = "switched") -> Variable:
    """Logistic regression with an intercept and flat coefficients."""
    columns = columns(d)
    a, b = p.real(), p.real(len(columns))
    return bernoulli_logit(d[response], a + np.stack(columns, axis=1) @ b)


def blr(d: Any, p: Parameters) -> Variable:
    """A Bayesian linear regression."""
    b, sigma = p.real(d.D), p.positive()
    return normal(b, 0.0, 10.0) + normal(sigma, 0.0, 10.0) + normal(d.y, d.X @ b, sigma)


def diamonds(d: Any, p: Parameters) -> Variable:
    """Prices of diamonds on 24 centred columns."""
    b, a, sigma = p.real(d.K - 1), p.real(), p.positive()
    x = d.X[:, 1:] - d.X[:, 1:].mean(axis=0)
    priors = normal(b) + student_t(a, 3.0, 8.0, 10.0) + student_t(sigma, 3.0, 0.0, 10.0)
    return priors + normal(d.Y, a + x @ b, sigma)


def kilpisjarvi(d: Any, p: Parameters) -> Variable:
    """Summer temperatures by year."""
    a, b, sigma = p.real(), p.real(), p.positive()
    return normal(a, d.pmualpha, d.psalpha) + normal(b, d.pmubeta, d.psbeta) + normal(d.y, a + b * d.x, sigma)


def wells_dist(d: Any, p: Parameters) -> Variable:
    """Logistic regression on one column."""
    b = p.real(2)
    return bernoulli_logit(d.switched, b[0] + b[1] * d.dist)


def glm_binomial(d: Any, p: Parameters) -> Variable:
    """A quadratic trend of binomial counts."""
    a, b, c = p.real(), p.real(), p.real()
    logits = a + b * d.year + c * d.year**2
    return normal(at.stack([a, b, c]), 0.0, 100.0) + binomial_logit(d.C, d.N, logits)


def glm_poisson(d: Any, p: Parameters) -> Variable:
    """A cubic trend of counts."""
    a, b = p.between(-20.0, 20.0), [p.between(-10.0, 10.0) for _ in range(3)]
    return poisson_log(d.C, a + sum(b[k] * d.year ** (k + 1) for k in range(3)))


def horseshoe(d: Any, p: Parameters) -> Variable:
    """Logistic regression with a regularised horseshoe prior, on far more columns than rows."""
    a, z, tau, local, aux = p.real(), p.real(d.d), p.positive(), p.positive(d.d), p.positive()
    c2 = d.slab_scale**2 * aux
    b = z * tau * at.sqrt(c2 * local**2 / (c2 + tau**2 * local**2))
    priors = normal(z) + student_t(local, d.nu_local) + student_t(tau, d.nu_global, 0.0, 2 * d.scale_global)
    priors = priors + inverse_gamma(aux, 0.5 * d.slab_df, 0.5 * d.slab_df) + normal(a, 0.0, d.scale_icept)
    return priors + bernoulli_logit(d.y, a + d.x @ b)


def network(d: Any, p: Parameters) -> Variable:
    """A network of one hidden layer with 10 units and a softmax."""
    hidden, classes, n = 10, d.K, d.N
    s, t = p.positive(), p.positive()
    w, v, w0, v0 = p.matrix(d.M, hidden), p.matrix(hidden, classes - 1), p.real(hidden), p.real(classes - 1)
    logits = at.concatenate([at.ones((n, 1)), v0 + at.tanh(w0 + d.x @ w) @ v], axis=1)
    priors = normal(w0) + normal(v0) + normal(w, 0.0, at.sqrt(s)) + normal(v, 0.0, at.sqrt(t))
    priors = priors + inverse_gamma(s, 0.25, 0.25 * (0.05 / d.M**2) ** 2)
    priors = priors + inverse_gamma(t, 0.25, 0.25 * (0.05 / hidden**2) ** 2)
    return priors + (logits[np.arange(n), d.y - 1] - at.logsumexp(logits, axis=1)).sum()


def _iq(center: Any) -> Any:
    def columns(d: Any) -> list[Any]:
        school, iq = center(d.mom_hs, 0.5), center(d.mom_iq, 100.0)
        return [school, iq, school * iq]

    return columns


def _kid(d: Any) -> Any:
    return d.kid_score


def _earn(d: Any) -> Any:
    return np.log(d.earn)


def _weight(d: Any) -> Any:
    return np.log(d.weight)


def _mesquite(*names: str) -> Any:
    """Logs of sizes of bushes, and the group."""

    def columns(d: Any) -> list[Any]:
        area = d.diam1 * d.diam2
        known = {"volume": area * d.canopy_height, "area": area, "shape": d.diam1 / d.diam2}
        return [d.group if name == "group" else np.log(known[name] if name in known else d[name]) for name in names]

    return columns


def _wells(*names: str) -> Any:
    """Columns of the wells, centred for names that end in "c", and products of them."""

    def one(d: Any, name: str) -> Any:
        if "*" in name:
            a, b = name.split("*")
            return one(d, a) * one(d, b)
        scale = {"dist": 100.0, "educ": 4.0}.get(name.removesuffix(".c"), 1.0)
        x = d[name.removesuffix(".c")] / scale
        return _centred(x) if name.endswith(".c") else x

    return lambda d: [one(d, name) for name in names]


def _ages(d: Any) -> list[Any]:
    ages = [1.0 * (d.age_discrete == k) for k in (2, 3, 4)]
    return [d.real_ideo, d.race_adj, *ages, d.educ1, d.gender, d.income]


_SIZES: Final = ("diam1", "diam2", "canopy_height", "total_height", "density")
_DA: Final = ("dist.c", "arsenic.c", "dist.c*arsenic.c")

MODELS: Final[dict[str, Model]] = {
    "blr": blr,
    "diamonds": diamonds,
    "kilpisjarvi": kilpisjarvi,
    "GLM_Binomial_model": glm_binomial,
    "GLM_Poisson_model": glm_poisson,
    "logistic_regression_rhs": horseshoe,
    "nn_rbm1bJ10": network,
    "earn_height": partial(linear, response=lambda d: d.earn, columns=lambda d: [d.height]),
    "log10earn_height": partial(linear, response=lambda d: np.log10(d.earn), columns=lambda d: [d.height]),
    "logearn_height": partial(linear, response=_earn, columns=lambda d: [d.height]),
    "logearn_height_male": partial(linear, response=_earn, columns=lambda d: [d.height, d.male]),
    "logearn_interaction": partial(linear, response=_earn, columns=lambda d: [d.height, d.male, d.height * d.male]),
    "logearn_interaction_z": partial(
        linear, response=_earn, columns=lambda d: [_standard(d.height), d.male, _standard(d.height) * d.male]
    ),
    "logearn_logheight_male": partial(linear, response=_earn, columns=lambda d: [np.log(d.height), d.male]),
    "kidscore_interaction": partial(linear, response=_kid, columns=_iq(lambda x, _: x), scale=2.5),
    "kidscore_interaction_c": partial(linear, response=_kid, columns=_iq(lambda x, _: _centred(x))),
    "kidscore_interaction_c2": partial(linear, response=_kid, columns=_iq(lambda x, center: x - center)),
    "kidscore_interaction_z": partial(linear, response=_kid, columns=_iq(lambda x, _: _standard(x, 2.0))),
    "kidscore_mom_work": partial(
        linear, response=_kid, columns=lambda d: [1.0 * (d.mom_work == k) for k in (2, 3, 4)]
    ),
    "kidscore_momhs": partial(linear, response=_kid, columns=lambda d: [d.mom_hs], scale=2.5),
    "kidscore_momhsiq": partial(linear, response=_kid, columns=lambda d: [d.mom_hs, d.mom_iq], scale=2.5),
    "kidscore_momiq": partial(linear, response=_kid, columns=lambda d: [d.mom_iq], scale=2.5),
    "mesquite": partial(
        linear, response=lambda d: d.weight, columns=lambda d: [d[name] for name in (*_SIZES, "group")]
    ),
    "logmesquite": partial(linear, response=_weight, columns=_mesquite(*_SIZES, "group")),
    "logmesquite_logva": partial(linear, response=_weight, columns=_mesquite("volume", "area", "group")),
    "logmesquite_logvas": partial(
        linear,
        response=_weight,
        columns=_mesquite("volume", "area", "shape", "total_height", "density", "group"),
    ),
    "logmesquite_logvash": partial(
        linear, response=_weight, columns=_mesquite("volume", "area", "shape", "total_height", "group")
    ),
    "logmesquite_logvolume": partial(linear, response=_weight, columns=_mesquite("volume")),
    "nes": partial(linear, response=lambda d: d.partyid7, columns=_ages),
    "sesame_one_pred_a": partial(linear, response=lambda d: d.watched, columns=lambda d: [d.encouraged]),
    "nes_logit_model": partial(logit, columns=lambda d: [d.income], response="vote"),
    "wells_dist": wells_dist,
    "wells_dist100_model": partial(logit, columns=_wells("dist")),
    "wells_dist100ars_model": partial(logit, columns=_wells("dist", "arsenic")),
    "wells_interaction_model": partial(logit, columns=_wells("dist", "arsenic", "dist*arsenic")),
    "wells_interaction_c_model": partial(logit, columns=_wells(*_DA)),
    "wells_dae_model": partial(logit, columns=_wells("dist", "arsenic", "educ")),
    "wells_dae_c_model": partial(logit, columns=_wells(*_DA, "educ")),
    "wells_daae_c_model": partial(logit, columns=_wells(*_DA, "assoc", "educ")),
    "wells_dae_inter_model": partial(
        logit,
        columns=_wells(
            "dist.c", "arsenic.c", "educ.c", "dist.c*arsenic.c", "dist.c*educ.c", "arsenic.c*educ.c"
        ),
    ),
}  # fmt: skip
"""Models by their names in posteriordb."""
