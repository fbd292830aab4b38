"""Small models of all kinds, which C source must compute to the last bit of the strict library."""

from __future__ import annotations

from typing import Any

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.gradient import grad


def functions() -> list[aot.Function]:
    """Dense and sparse functions; gradients; scans; sums, sorts and special functions; integers; complex numbers."""
    return [
        *_dense(), *_special("float64"), *_special("float32"), *_integers(), *_lines(), *_loops(), *_sparse(),
        *_linear(),
    ]  # fmt: skip


def _dense() -> list[aot.Function]:
    X, y, w = at.matrix("X", shape=("n", "p")), at.vector("y", shape=("n",)), at.vector("w", shape=("p",))
    loss = at.softplus(-y * (X @ w)).mean()
    E = at.matrix("E", dtype="float32", shape=("n", 20))
    V, W = (at.matrix(name, dtype="float32", shape=shape) for name, shape in (("V", (20, 16)), ("W", (16, 4))))
    hidden = at.tanh(E @ V)
    square = ((hidden @ W) ** 2).sum()
    M = at.matrix("M", dtype="float64", shape=("n", "p"))
    return [
        aot.function([X, y, w], {"loss": loss, "grad_w": grad(loss, w)}, name="logistic"),
        aot.function([E, V, W], {"loss": square, "gV": grad(square, V), "gW": grad(square, W)}, name="layers"),
        aot.function([M], {"product": M.T @ M, "rows": M @ M.T}, name="products"),
    ]


def _special(dtype: str) -> list[aot.Function]:
    x, y = at.vector("x", dtype=dtype, shape=("n",)), at.vector("y", dtype=dtype, shape=("n",))
    outputs = {
        "floor": at.floor(x), "ceil": at.ceil(x), "round": at.round(x), "trunc": at.trunc(x), "mod": x % 3,
        "root": at.sqrt(x), "larger": at.maximum(x, y), "smaller": at.minimum(x, y), "power": abs(x) ** y,
        "sin": at.sin(1e6 * x), "erf": at.erf(x), "gammaln": at.gammaln(x), "exp": at.exp(x), "log1p": at.log1p(x),
        "angle": at.arctan2(y, x), "psi": at.psi(x), "gammainc": at.gammainc(abs(y), abs(x)),
        "int64": at.where(abs(x) < 1e6, x, 0).astype("int64"), "sign": at.sign(x), "isnan": at.isnan(x),
    }  # fmt: skip
    return [aot.function([x, y], outputs, name=f"special_{dtype}")]


def _integers() -> list[aot.Function]:
    a, b = (at.vector(name, dtype="int64", shape=("n",)) for name in "ab")
    c, d = (at.vector(name, dtype="int8", shape=("n",)) for name in "cd")
    wrap = a * 6364136223846793005 + b
    outputs = {
        "wrap": wrap, "down": wrap // (abs(b) + 1), "rest": wrap % (abs(b) + 1), "left": a << (b & 63),
        "right": wrap >> (b & 63), "bits": wrap ^ ~b, "less": wrap < b, "narrow": wrap.astype("int32"),
    }  # fmt: skip
    small = {"sum": c + d, "product": c * d, "widened": (c * d).astype("float32"), "unsigned": c.astype("uint8") // 3}
    return [aot.function([a, b], outputs, name="integers"), aot.function([c, d], small, name="bytes")]


def _lines() -> list[aot.Function]:
    X = at.matrix("X", dtype="float64", shape=("n", "p"))
    x = at.vector("x", dtype="float64", shape=("n",))
    outputs = {
        "max": X.max(axis=0), "argmin": X.argmin(axis=1), "prod": X.prod(axis=1), "var": X.var(axis=0),
        "sorted": at.sort(X, axis=1), "order": at.argsort(X, axis=0), "running": at.cumsum(X, axis=0),
        "lse": at.logsumexp(X, axis=1), "any": at.any(X > 1, axis=0), "norm": at.sqrt((X**2).sum()),
    }  # fmt: skip
    return [
        aot.function([X], outputs, name="reductions"),
        aot.function([x], {"positive": x[x > 0], "where": at.nonzero(x > 0)[0]}, name="chosen"),
        aot.function([x], {"shifted": x[1:] - x[:-1], "again": at.concatenate([x[::-1], 2 * x])}, name="windows"),
    ]


def _loops() -> list[aot.Function]:
    U, h = at.matrix("U", dtype="float64", shape=("p", "p")), at.vector("h", dtype="float64", shape=("p",))
    x = at.matrix("x", dtype="float64", shape=("n", "p"))
    states = aot.scan(lambda row, state: at.tanh(row + U @ state), [x], [h], name="recurrent")
    every: Any = states[0] if isinstance(states, tuple) else states
    loss = (every**2).sum()
    s = at.scalar("s", dtype="float64")
    grown = aot.scan(lambda p: (p * 2 + 1, aot.until(p > 100)), None, [abs(s)], n_steps=50)
    doubled: Any = grown[0] if isinstance(grown, tuple) else grown
    return [
        aot.function([x, h, U], {"states": every, "gU": grad(loss, U), "gh": grad(loss, h)}, name="recurrent"),
        aot.function([s], doubled[-1], name="until"),
    ]


def _sparse() -> list[aot.Function]:
    A = sp.csr_matrix("A", dtype="float64", shape=("n", "p"))
    B = sp.csc_matrix("B", dtype="float32", shape=("n", "p"))
    w, v = at.vector("w", dtype="float64", shape=("p",)), at.vector("v", dtype="float32", shape=("n",))
    loss = (at.tanh(A @ w) ** 2).sum()
    return [
        aot.function([A, w], {"loss": loss, "gw": grad(loss, w)}, name="sparse_loss"),
        aot.function([A], {"gram": A.T @ A, "twice": 2 * A}, name="sparse_products"),
        aot.function([B, v], {"Bv": B.T @ v}, name="sparse_columns"),
    ]


def _linear() -> list[aot.Function]:
    S, T = (at.matrix(name, dtype="float64", shape=(n, n)) for name, n in (("S", 3), ("T", "n")))
    b = at.vector("b", dtype="float64", shape=(3,))
    z = at.vector("z", dtype="complex128", shape=("n",))
    positive = T @ T.T + at.eye(T.shape[0])
    return [
        aot.function([S, b], {"x": at.linalg.solve(S @ S.T + at.eye(3), b)}, name="small_solve"),
        aot.function([T], {"L": at.linalg.cholesky(positive)}, name="factors"),
        aot.function([z], {"F": at.fft(z), "size": abs(z)}, name="spectrum"),
    ]
