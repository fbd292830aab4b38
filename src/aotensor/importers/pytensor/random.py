"""Random variables on our streams: the distributions are PyTensor's, the numbers are ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import aotensor.tensor as at
from aotensor.importers.pytensor.rules import Walk, rule, unsupported
from aotensor.importers.pytensor.values import number_of

Drawn = tuple[Any, Any]
_PLAIN: Final[Mapping[str, Callable[..., Drawn]]] = {
    "UniformRV": at.random.uniform, "TriangularRV": at.random.triangular, "BetaRV": at.random.beta,
    "NormalRV": at.random.normal, "HalfNormalRV": at.random.halfnormal, "LogNormalRV": at.random.lognormal,
    "GammaRV": at.random.gamma, "GumbelRV": at.random.gumbel, "ExponentialRV": at.random.exponential,
    "WeibullRV": at.random.weibull, "LogisticRV": at.random.logistic, "VonMisesRV": at.random.vonmises,
    "DirichletRV": at.random.dirichlet, "PoissonRV": at.random.poisson,
    "GeometricRV": at.random.geometric, "CauchyRV": at.random.cauchy, "InvGammaRV": at.random.invgamma,
    "WaldRV": at.random.wald, "TruncExponentialRV": at.random.truncexpon, "StudentTRV": at.random.t,
    "BernoulliRV": at.random.bernoulli, "LaplaceRV": at.random.laplace, "BinomialRV": at.random.binomial,
    "NegBinomialRV": at.random.negative_binomial, "MultinomialRV": at.random.multinomial,
    "CategoricalRV": at.random.categorical, "IntegersRV": at.random.integers,
}  # fmt: skip
"""Class → our distribution, whose parameters are the same in the same order."""


def _pareto(state: Any, b: Any, scale: Any, size: Any, dtype: Any) -> Drawn:
    """scale · (1 + Lomax(b))"""
    after, drawn = at.random.pareto(state, b, size=size, dtype=dtype)
    return after, scale * (drawn + 1)


def _halfcauchy(state: Any, loc: Any, scale: Any, size: Any, dtype: Any) -> Drawn:
    after, drawn = at.random.cauchy(state, at.zeros_like(loc), scale, size=size, dtype=dtype)
    return after, loc + at.abs(drawn)


def _beta_binomial(state: Any, n: Any, a: Any, b: Any, size: Any, dtype: Any) -> Drawn:
    between, p = at.random.beta(state, a, b, size=_spread(size, n, a, b))
    after, drawn = at.random.binomial(between, n, p, size=size)
    return after, drawn


def _gengamma(state: Any, alpha: Any, p: Any, scale: Any, size: Any, dtype: Any) -> Drawn:
    """scale · Gamma(alpha / p)^(1/p)"""
    after, drawn = at.random.gamma(state, alpha / p, at.ones_like(scale), size=size, dtype=dtype)
    return after, scale * drawn ** (1 / p)


def _multivariate_normal(state: Any, mean: Any, cov: Any, size: Any, dtype: Any) -> Drawn:
    """mean + L·z for cov = L·Lᵀ, for batches of means and covariances too."""
    whole = mean + at.zeros_like(cov[..., 0])
    extents = (*_spread(size, whole[..., 0]), whole.shape[-1])
    after, z = at.random.normal(state, at.constant(0, dtype=mean.dtype), 1.0, size=extents, dtype=dtype)
    return after, mean + at.matvec(at.cholesky(cov), z)


def _spread(size: Any, *parameters: Any) -> Any:
    """The extents of a draw: `size`, else what the parameters broadcast to."""
    if size is not None:
        return size
    whole = at.broadcast_arrays(*parameters)[0] if len(parameters) > 1 else parameters[0]
    return tuple(whole.shape[k] for k in range(whole.ndim))


_COMPOSED: Final[Mapping[str, Callable[..., Drawn]]] = {
    "ParetoRV": _pareto,
    "HalfCauchyRV": _halfcauchy,
    "BetaBinomialRV": _beta_binomial,
    "GenGammaRV": _gengamma,
    "MvNormalRV": _multivariate_normal,
}


@rule("RandomVariable")
def random_variable(walk: Walk, node: Any, state: Any, size: Any, *parameters: Any) -> Drawn:
    """(the next state, the draw)   Raises: NoCounterpart for a distribution that has none"""
    name = type(node.op).__name__
    extents = None if size is None else _extents(walk, node)
    dtype = node.outputs[1].type.dtype
    if name in _COMPOSED:
        return _COMPOSED[name](state, *parameters, extents, dtype if dtype.startswith("float") else None)
    if name == "PermutationRV" and extents in (None, ()) and parameters[0].ndim == node.op.ndims_params[0]:
        return at.random.permutation(state, parameters[0])
    if name not in _PLAIN:
        raise unsupported(node, "no such distribution")
    options = {"dtype": dtype} if dtype.startswith("float") else {}
    return _PLAIN[name](state, *parameters, size=extents, **options)


def _extents(walk: Walk, node: Any) -> Any:
    """`size` as a tuple of numbers and scalars."""
    known = walk.extents(node.inputs[1])
    if not isinstance(known, list):
        rank = node.outputs[1].type.ndim - node.op.ndim_supp
        known = [known[k] for k in range(rank)]
    return tuple(number_of(x) for x in known)
