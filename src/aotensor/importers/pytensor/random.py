"""Random variables: PyTensor's distributions, with numbers of aotensor's generator, which differ from NumPy's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

import aotensor.tensor as at
from aotensor.extension import distinct
from aotensor.importers.base import Unsuited
from aotensor.importers.check import checked
from aotensor.importers.pytensor.rules import Walk, rule
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
    between, p = at.random.beta(state, a, b, size=_draw_extents(size, n, a, b))
    after, drawn = at.random.binomial(between, n, p, size=size)
    return after, drawn


def _gengamma(state: Any, alpha: Any, p: Any, scale: Any, size: Any, dtype: Any) -> Drawn:
    """scale · Gamma(alpha / p)^(1/p)"""
    after, drawn = at.random.gamma(state, alpha / p, at.ones_like(scale), size=size, dtype=dtype)
    return after, scale * drawn ** (1 / p)


def _multivariate_normal(state: Any, mean: Any, cov: Any, size: Any, dtype: Any, method: str = "cholesky") -> Drawn:
    """mean + A·z for cov = A·Aᵀ, for batches of means and covariances too."""
    whole = mean + at.zeros_like(cov[..., 0])
    extents = (*_draw_extents(size, whole[..., 0]), whole.shape[-1])
    after, z = at.random.normal(state, at.constant(0, dtype=mean.dtype), 1.0, size=extents, dtype=dtype)
    return after, mean + at.matvec(_root(cov, method), z)


def _root(cov: Any, method: str) -> Any:
    """A with cov = A·Aᵀ: the Cholesky factor, or by eigh or svd, which also factor singular matrices. Negative
    eigenvalues give nan, as in PyTensor; those within rounding errors count as 0.
    """
    if method == "cholesky":
        return at.cholesky(cov)
    vectors, values = at.svd(cov)[:2] if method == "svd" else reversed(at.eigh(cov))
    rounding = np.finfo(values.dtype).eps * values.shape[-1] * at.abs(values).max(axis=-1, keepdims=True)
    return vectors * at.sqrt(at.where(at.abs(values) <= rounding, 0, values))[..., None, :]


def _draw_extents(size: Any, *parameters: Any) -> Any:
    """The extents of a draw: `size`, else the broadcast shape of the parameters."""
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
    """(the next state, the draw)   Raises: NoCounterpart for an unsupported distribution"""
    name = type(node.op).__name__
    extents = None if size is None else _extents(walk, node)
    dtype = node.outputs[1].type.dtype
    if name in _COMPOSED:
        options = {"method": node.op.method} if name == "MvNormalRV" and hasattr(node.op, "method") else {}
        return _COMPOSED[name](state, *parameters, extents, dtype if dtype.startswith("float") else None, **options)
    if name == "PermutationRV":
        return _choose_rows(node, state, extents, parameters[0], None, None)
    if name == "ChoiceWithoutReplacement":
        rows, *weights, _ = parameters
        return _choose_rows(node, state, extents, rows, weights[0] if weights else None, _core_shape(walk, node))
    if name not in _PLAIN:
        raise Unsuited("its distribution is not supported")
    options = {"dtype": dtype} if dtype.startswith("float") else {}
    return _PLAIN[name](state, *parameters, size=extents, **options)


def _choose_rows(node: Any, state: Any, size: Any, rows: Any, p: Any, shape: list[Any] | None) -> Drawn:
    """Choose distinct rows, or numbers below a scalar, in the order in which they are drawn; without a shape, all of
    them.

    Batches of rows and of weights broadcast together, and to `size` where that is given.
    """
    rank = node.op.ndims_params[0]
    lead = rows.ndim - rank
    if lead and not rank:
        if any(extent != 1 for extent in rows.static_shape):
            raise Unsuited("the number of elements to permute differs from sample to sample")
        rows, lead = at.squeeze(rows, tuple(range(lead))), 0
    batches = [*([rows[(..., *[0] * rank)]] if lead else []), *([] if p is None or p.ndim == 1 else [p[..., 0]])]
    batch = list(_draw_extents(size, *batches)) if batches or size is not None else []
    count = _length(rows, lead) if rank else number_of(rows)
    following, order = distinct(state, batch, count, [count] if shape is None else shape, p)
    if p is not None:
        number = at.prod(at.stack([at.as_tensor(n) for n in shape or [1]]))
        enough = at.all(at.ge(at.sum(at.gt(p, 0), axis=-1), number))
        order = checked("choice: fewer rows have a weight above 0 than are drawn", order, enough)
    if not rank:
        return following, order
    if not lead:
        return following, at.take(rows, order, axis=0)
    whole = at.alloc(rows, *batch, *(_length(rows, axis) for axis in range(lead, rows.ndim)))
    one = at.tensor(dtype=rows.dtype, shape=rows.static_shape[lead:])
    own = at.tensor(dtype="int64", shape=order.static_shape[len(batch) :])
    return following, at.vectorize_graph(at.take(one, own, axis=0), {one: whole, own: order})


def _length(x: Any, axis: int) -> Any:
    return x.shape[axis] if x.static_shape[axis] is None else x.static_shape[axis]


def _core_shape(walk: Walk, node: Any) -> list[Any]:
    """The number of rows chosen for each sample."""
    shape = node.inputs[-1]
    if shape.owner is not None and type(shape.owner.op).__name__ == "DimShuffle":
        shape = shape.owner.inputs[0]
    if shape.type.ndim == 1:
        return [number_of(n) for n in walk.extents(shape)]
    *batch, count = shape.type.shape
    if any(extent != 1 for extent in batch):
        raise Unsuited("the number of chosen elements differs from sample to sample")
    return [number_of(walk.value(shape)[(*[0] * len(batch), k)]) for k in range(count)]


def _extents(walk: Walk, node: Any) -> Any:
    """`size` as a tuple of numbers and scalars."""
    known = walk.extents(node.inputs[1])
    if not isinstance(known, list):
        rank = node.outputs[1].type.ndim - node.op.ndim_supp
        known = [known[k] for k in range(rank)]
    return tuple(number_of(x) for x in known)
