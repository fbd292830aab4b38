"""Functions over rows: those that can be split, each with arrays for its inputs, and those that cannot, with why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.gradient import Rop, grad

N: Final = 23
P: Final = 3


def symbols() -> dict[str, Any]:
    """Inputs with rows: X, Z, y, k (labels), flag, S; and without: w, B, C."""
    return {
        "X": at.matrix("X", dtype="float64", shape=("n", "p")),
        "F": at.matrix("F", dtype="float32", shape=("n", "p")),
        "T": at.tensor3("T", dtype="float64", shape=("n", 2, "p")),
        "y": at.vector("y", dtype="float64", shape=("n",)),
        "k": at.vector("k", dtype="int64", shape=("n",)),
        "w": at.vector("w", dtype="float64", shape=("p",)),
        "B": at.matrix("B", dtype="float64", shape=("p", "p")),
        "S": sp.csr_matrix("S", dtype="float64", shape=("n", "p")),
        "v": at.vector("v", dtype="float64", shape=("p",)),
    }


def arrays(seed: int = 0, n: int = N) -> dict[str, Any]:
    """Values for all of them."""
    import scipy.sparse

    rng = np.random.default_rng(seed)
    b = rng.normal(size=(P, P))
    return {
        "X": rng.normal(size=(n, P)),
        "F": rng.normal(size=(n, P)).astype(np.float32),
        "T": rng.normal(size=(n, 2, P)),
        "y": rng.normal(size=n),
        "k": rng.integers(0, P, n),
        "w": rng.normal(size=P),
        "B": b @ b.T + P * np.eye(P),
        "S": scipy.sparse.random(n, P, 0.4, "csr", rng=rng),
        "v": rng.normal(size=P),
    }


def _logistic(s: Any) -> Any:
    loss = at.softplus(-s.y * (s.X @ s.w)).mean() + 0.1 * (s.w**2).sum()
    g = grad(loss, s.w)
    return [loss, g, Rop(loss, s.w, s.v), Rop(g, s.w, s.v)]


def _batch_norm(s: Any) -> Any:
    z = (s.X - s.X.mean(axis=0)) / at.sqrt(s.X.var(axis=0) + 1e-3)
    loss = (z @ s.w).std()
    return [z, loss, grad(loss, s.w), grad((z**3).sum(), s.X)]


def _mixture(s: Any) -> Any:
    d = s.X[:, None, :] - s.B[None, :, :]
    loss = at.logsumexp(-0.5 * (d**2).sum(axis=2), axis=1).mean()
    return [loss, grad(loss, s.B)]


def _cross_entropy(s: Any) -> Any:
    picked = at.log_softmax(s.X @ s.B, axis=1)[at.arange(s.k.shape[0]), s.k]
    return [picked.mean(), grad(picked.mean(), s.B)]


def _sparse(s: Any) -> Any:
    eta = sp.dot(s.S, s.w)
    loss = (at.exp(eta) - s.y * eta).mean()
    return [loss, grad(loss, s.w), grad(loss, s.S), sp.dot(s.S, s.B)]


def _stacked(s: Any) -> Any:
    """Columns of two matrices: the stack interleaves rows, its products need no stack."""
    both = sp.hstack([s.S, 2 * s.S])
    loss = ((both @ at.concatenate([s.w, s.v]) - s.y) ** 2).mean()
    return [loss, grad(loss, s.w), sp.sp_sum(both, axis=1), sp.hstack([s.S, s.S], "csr").T @ s.y]


def _whitened(s: Any) -> Any:
    root = at.linalg.cholesky(s.B)
    z = at.linalg.solve_triangular(root, (s.X - s.w).T, lower=True)
    loss = (z**2).sum()
    return [loss, grad(loss, s.B), z]


def _row_wise(s: Any) -> Any:
    """Sparse ops that a chunk applies as a whole."""
    part, thin = s.S[:, 1:], sp.csr_from_dense(at.switch(s.X > 0, s.X, 0))
    both = s.S + thin
    loss = at.exp(part @ s.w[1:]).mean() + ((both @ s.w - s.y) ** 2).sum()
    products = [s.S.T @ s.S, (s.S * s.S).T @ both, s.S.T @ s.X]
    kept = [both, s.S * thin, s.S[:, [2, 0]], s.S * s.X, sp.sampling_dot(s.X, s.B, s.S), sp.remove0(s.S * 0)]
    return [*products, *kept, s.S + s.X, sp.true_dot(s.S, sp.csr_from_dense(s.B)), loss, grad(loss, s.w)]


class Names:
    """Symbols as attributes."""

    def __init__(self, values: dict[str, Any]) -> None:
        vars(self).update(values)


CASES: Final[dict[str, Callable[[Any], Any]]] = {
    "logistic": _logistic,
    "batch_norm": _batch_norm,
    "mixture": _mixture,
    "cross_entropy": _cross_entropy,
    "sparse": _sparse,
    "whitened": _whitened,
    "sums": lambda s: [s.X.sum(), s.F.sum(axis=0), s.X.prod(axis=0), s.k.sum(), s.X.sum(axis=1), s.T.sum(axis=(0, 2))],
    "means": lambda s: [s.X.mean(), s.F.mean(axis=0), s.F.var(), s.X.std(axis=0, ddof=1), s.k.mean(), s.T.mean(axis=1)],
    "extrema": lambda s: [s.X.max(), s.X.min(axis=0), s.k.max(), at.argmax(s.X @ s.w), at.argmin(s.X, axis=0)],
    "max_gradient": lambda s: [grad((s.X @ s.w).max() ** 2, s.w), grad(s.X.max(axis=0) @ s.w, s.X)],
    "quantifiers": lambda s: [at.any(s.X > 2), at.all(s.X < 2, axis=0), (s.y > 0).sum(), at.gt(s.y, 0).max()],
    "logsumexp": lambda s: [at.logsumexp(s.X), at.logsumexp(s.F, axis=0), grad(at.logsumexp(s.X @ s.w), s.w)],
    "softmax": lambda s: [
        at.softmax(s.X @ s.w),
        at.log_softmax(s.X, axis=0),
        grad((at.softmax(s.X, axis=0) ** 2).sum(), s.X),
    ],
    "products": lambda s: [
        s.X.T @ s.X,
        s.X @ s.B,
        at.outer(s.y, s.w),
        s.y @ s.y,
        at.tensordot(s.T, s.T, [[0, 1], [0, 1]]),
    ],
    "labels": lambda s: [
        s.w[s.k],
        s.B[s.k, 1],
        at.inc_subtensor(at.zeros(P)[s.k], s.y),
        grad((s.w[s.k] * s.y).sum(), s.w),
    ],
    "windows": lambda s: [
        s.X[:, 1],
        s.X[:, ::-1],
        at.set_subtensor(s.X[:, 0], s.y),
        grad((s.X[:, 0] * s.y).sum(), s.X),
    ],
    "shapes": lambda s: [
        s.X.ravel(),
        s.T.reshape((s.T.shape[0], 2, -1)).sum(),
        (s.X.ravel() ** 2).mean(),
        s.X.shape[0],
    ],
    "within_rows": lambda s: [
        at.sort(s.X, axis=1),
        at.cumsum(s.X, axis=1),
        at.concatenate([s.X, s.y[:, None]], axis=1),
    ],
    "positions": lambda s: [at.arange(s.y.shape[0]) * 2, (at.arange(s.y.shape[0]) * s.y).sum()],
    "global": lambda s: [s.w * 2, s.y + 1],
    "stacked": _stacked,
    "row_wise": _row_wise,
}
"""Outputs by symbols."""

REFUSED: Final[dict[str, tuple[Callable[[Any], Any], str]]] = {
    "sort": (lambda s: at.sort(s.y), "a place that depends on all rows"),
    "cumsum": (lambda s: at.cumsum(s.y), "all rows before it"),
    "gram": (lambda s: s.X @ s.X.T, "it multiplies every row of one factor by every row of the other"),
    "gather": (lambda s: s.y[s.k], "in other chunks"),
    "position": (lambda s: s.y[0], "indexes the rows by position"),
    "reverse": (lambda s: s.y[::-1], "indexes the rows by position"),
    "set": (lambda s: at.set_subtensor(at.zeros(P)[s.k], s.y), "no order"),
    "solve": (
        lambda s: at.linalg.solve(s.X.T @ s.X + at.diag(s.w), s.w) @ s.X.T @ at.linalg.inv(s.X @ s.X.T),
        "every row",
    ),
    "nonzero": (lambda s: s.y[s.y > 0], "depends on the values of all rows"),
    "join": (lambda s: at.concatenate([s.y, s.y]), "concatenates along the rows"),
    "product_gradient": (lambda s: grad(s.y.prod(), s.y), "before it"),
    "scan": (
        lambda s: aot.scan(lambda a, b: a + b, sequences=[s.y], outputs_info=[at.zeros(())])[0],
        "from one row to the next",
    ),
    "broadcast": (lambda s: at.broadcast_to(at.vector("u"), (s.y.shape[0],)), "name its dim"),
    "narrow": (lambda s: s.X[at.cast(at.arange(s.y.shape[0]), "int8"), s.k], "in other chunks"),
    "unnamed": (lambda s: s.y * at.vector("u"), "name its dim"),
    "transposed_sparse": (lambda s: sp.true_dot(s.S.T, s.S), "pattern of a sum of sparse products depends on all rows"),
    "sparse_gram": (lambda s: sp.dot(s.S, s.S.T), "each element of the product needs all rows"),
    "sparse_rows": (lambda s: s.S[1:], "it indexes the rows by position"),
    "csc": (lambda s: s.S.tocsc(), "sorts the stored entries of all rows"),
}
"""Outputs by symbols, and words of the reason."""
