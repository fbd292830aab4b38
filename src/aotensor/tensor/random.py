"""Random draws: streams, explicit states, and distributions as functions (state, …) → (next state, draw)."""

from __future__ import annotations

from aotensor.ops.random.arrangements import categorical, choice, multinomial, multinomial_in_groups, permutation
from aotensor.ops.random.cells import binomial_cells, subset
from aotensor.ops.random.continuous import (
    beta,
    cauchy,
    chisquare,
    exponential,
    gamma,
    gengamma,
    gumbel,
    halfcauchy,
    halfnormal,
    invgamma,
    laplace,
    logistic,
    lognormal,
    normal,
    pareto,
    standard_normal,
    t,
    triangular,
    truncexpon,
    uniform,
    vonmises,
    wald,
    weibull,
)
from aotensor.ops.random.discrete import (
    bernoulli,
    betabinom,
    binomial,
    geometric,
    hypergeometric,
    integers,
    negative_binomial,
    poisson,
)
from aotensor.ops.random.philox import Philox
from aotensor.ops.random.state import first_state
from aotensor.ops.random.stream import Generator, RandomStream, default_rng
from aotensor.ops.random.vectors import dirichlet, multivariate_normal

__all__ = [
    "Generator", "Philox", "RandomStream", "bernoulli", "beta", "betabinom", "binomial", "binomial_cells",
    "categorical", "cauchy", "chisquare", "choice", "default_rng", "dirichlet", "exponential", "first_state", "gamma",
    "gengamma", "geometric", "gumbel", "halfcauchy", "halfnormal", "hypergeometric", "integers", "invgamma", "laplace",
    "logistic", "lognormal", "multinomial", "multinomial_in_groups", "multivariate_normal", "negative_binomial",
    "normal", "pareto", "permutation", "poisson", "standard_normal", "subset", "t", "triangular", "truncexpon",
    "uniform", "vonmises", "wald", "weibull",
]  # fmt: skip
