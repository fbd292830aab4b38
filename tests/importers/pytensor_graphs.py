"""Graphs of PyTensor, by family: what they read, and named outputs."""

# ruff: noqa: E741

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytensor
import pytensor.tensor as pt
from pytensor.ifelse import ifelse
from pytensor.scan.utils import until
from pytensor.tensor import special

Outputs = dict[str, Any]


def elementwise(x: Any, y: Any) -> Outputs:
    """Vectors x, y."""
    z = pt.abs(x) + 0.5
    return {
        "add": x + y + 1,
        "mul": x * y * 3,
        "sub": x - y,
        "div": x / z,
        "intdiv": x // z,
        "mod": x % z,
        "pow": z**y,
        "max": pt.maximum(x, y),
        "min": pt.minimum(x, 0.25),
        "clip": pt.clip(x, -0.5, 0.5),
        "clip turned": pt.clip(x, y, -y),
        "switch": pt.switch(x > y, x, y * 2),
        "logic": (x > 0) & (y > 0) | ~(x < y) ^ (x >= y),
        "neq": pt.neq(x, y),
        "second": pt.second(x, pt.constant(2.5)),
        "cast": pt.cast(x * 3, "int32"),
        "to bool": pt.cast(x, "bool"),
        "isnan": pt.isnan(x / pt.abs(x)),
        "isinf": pt.isinf(1 / (x - x)),
        "sign": pt.sign(x),
        "round": pt.round(x * 4),
        "away": pt.round(x * 4, mode="half_away_from_zero"),
        "floor": pt.floor(x) + pt.ceil(y) + pt.trunc(x * 3),
        "log": pt.log(z) + pt.log2(z) + pt.log10(z) + pt.log1p(z),
        "exp": pt.exp(x) + pt.exp2(y) + pt.expm1(x),
        "sqr": pt.sqr(x) + pt.sqrt(z) + pt.reciprocal(z) - pt.neg(y),
        "deg": pt.deg2rad(x) + pt.rad2deg(y),
        "trig": pt.sin(x) + pt.cos(y) + pt.tan(x) + pt.arctan(y),
        "atan2": pt.arctan2(x, y),
        "inverse": pt.arcsin(x / 9) + pt.arccos(y / 9) + pt.arctanh(x / 9) + pt.arccosh(z + 1) + pt.arcsinh(x),
        "hyperbolic": pt.sinh(x) + pt.cosh(y) + pt.tanh(x),
        "ints": pt.cast(x * 9, "int64") // 4 % 3,
        "composed": pt.sigmoid(x) * pt.softplus(y),
    }


def special_functions(x: Any, y: Any) -> Outputs:
    """Vectors x, y."""
    z, u = pt.abs(x) + 0.5, pt.sigmoid(y)
    return {
        "erf": pt.erf(x) + pt.erfc(y) + pt.erfcx(x),
        "erfinv": pt.erfinv(u) + pt.erfcinv(u),
        "gamma": pt.gamma(z) + pt.gammaln(z) + pt.psi(z) + pt.tri_gamma(z),
        "polygamma": pt.polygamma(2, z),
        "gammainc": pt.gammainc(z, z + 1) + pt.gammaincc(z, 0.5),
        "gammaincinv": pt.gammaincinv(z, u),
        "betainc": pt.betainc(z, z + 1, u),
        "owens": pt.owens_t(x, y),
        "log1mexp": pt.log1mexp(-z),
        "bessel": pt.j0(x) + pt.j1(y) + pt.i0(x) + pt.i1(y),
        "jv": pt.jv(1.5, z) + pt.kve(0.5, z) + pt.ive(0.5, z),
        "hyp2f1": pt.hyp2f1(0.5, 1.5, 2.5, u * 0.5),
        "logaddexp": pt.logaddexp(x, y),
        "gammainc by k": pytensor.grad(pt.gammainc(z, pt.constant(1.5)).sum(), x),
    }


def shapes(x: Any, m: Any, t: Any) -> Outputs:
    """A vector, a matrix, a tensor of rank 3."""
    return {
        "shape": m.shape,
        "size": t.size,
        "dimshuffle": m.dimshuffle(1, "x", 0),
        "transpose": t.transpose(2, 0, 1),
        "reshape": m.reshape((m.shape[1], m.shape[0])),
        "flatten": t.flatten(2),
        "ravel": t.ravel(),
        "rest": m.reshape((-1, 1)),
        "expand": pt.expand_dims(x, 0),
        "squeeze": pt.squeeze(m[:, None], 1),
        "join": pt.concatenate([m, m * 2], axis=1),
        "stack": pt.stack([x, x + 1]),
        "alloc": pt.alloc(x, 3, x.shape[0]),
        "zeros": pt.zeros_like(m) + pt.ones((m.shape[1],)),
        "eye": pt.eye(m.shape[0], m.shape[1], 1),
        "arange": pt.arange(x.shape[0]) * 2,
        "arange by": pt.arange(1, 7, 2),
        "diagonal": pt.diagonal(m),
        "diag": pt.diag(x),
        "tile": pt.tile(x, 2),
        "repeat": pt.repeat(m, 2, axis=0),
        "flip": m[::-1, ::-1],
        "roll": pt.roll(x, 1),
        "vector": pt.as_tensor([x.shape[0], 2]),
        "split": pt.split(m, [1, m.shape[0] - 1], n_splits=2)[1],
        "specify": pt.specify_shape(m, (None, None)),
        "tril": pt.tril(m),
        "broadcast": pt.broadcast_to(x, (2, x.shape[0])),
        "pad": pt.pad(x, 1),
        "swap": pt.swapaxes(t, 0, 2),
        "moveaxis": pt.moveaxis(t, 0, 2),
        "full": pt.full((2, 2), 7.0),
    }


def indexing(x: Any, m: Any, i: Any, k: Any) -> Outputs:
    """A vector and a matrix of at least 2 rows, a vector of positions, a position."""
    return {
        "int": x[1],
        "negative": x[-1],
        "slice": x[1:],
        "step": x[::2],
        "back": x[::-1],
        "symbolic": m[k],
        "both": m[:, k],
        "bounds": x[k : k + 1],
        "rows": m[i],
        "columns": m[:, i],
        "pairs": m[i, i],
        "mixed": m[i, :1],
        "mask": x[x > 0],
        "matrix of positions": x[i[None, :]],
        "new": x[i][:, None],
        "set": x[1:].set(0.5),
        "inc": m[:, k].inc(x[k]),
        "set rows": m[i].set(1.0),
        "inc rows": m[i].inc(2.0),
        "inc pairs": m[i, i].inc(3.0),
        "whole": x[:].inc(1.0),
        "whole set": x[:].set(4.0),
        "take": pt.take(x, i),
        "nonzero": pt.nonzero(x)[0],
        "searchsorted": pt.searchsorted(pt.sort(x), x),
        "unravel": pt.unravel_index(i, (2, 3))[1],
        "ravel": pt.ravel_multi_index((i, i), (2, 3)),
        "fill diagonal": pt.fill_diagonal(m, 9.0),
        "gradient of rows": pytensor.grad((m[i] ** 2).sum(), m),
        "gradient of a slice": pytensor.grad((x[1:] * x[:-1]).sum(), x),
    }


def reductions(x: Any, m: Any, t: Any) -> Outputs:
    """No extent is 0."""
    return {
        "sum": m.sum(),
        "sum 0": m.sum(axis=0),
        "keep": m.sum(axis=1, keepdims=True),
        "two": t.sum(axis=(0, 2)),
        "prod": m.prod(axis=1),
        "mean": m.mean(axis=0),
        "var": m.var(axis=0),
        "std": m.std(),
        "max": m.max(axis=1),
        "min": t.min(axis=(0, 1)),
        "all": (m > 0).all(axis=0),
        "any": (m > 0).any(),
        "argmax": m.argmax(axis=1),
        "argmax of all": m.argmax(),
        "argmin": m.argmin(axis=0),
        "cumsum": pt.cumsum(m, axis=1),
        "cumprod": pt.cumprod(x),
        "sort": pt.sort(m, axis=0),
        "argsort": pt.argsort(x),
        "logsumexp": pt.logsumexp(m, axis=1),
        "softmax": special.softmax(m, axis=1),
        "log_softmax": special.log_softmax(m, axis=0),
        "softmax of all": special.softmax(t),
        "norm": pt.sqrt((x**2).sum()),
        "ptp": pt.ptp(m, axis=0),
        "unique": pt.unique(pt.cast(x * 2, "int64")),
        "int sum": pt.cast(m * 3, "int8").sum(axis=0),
        "median": pt.median(x),
        "gradient": pytensor.grad(m.prod(), m),
        "gradient of max": pytensor.grad(pt.logsumexp(m, axis=1).sum(), m),
        "count": (m > 0).sum(),
    }


def linalg(a: Any, b: Any, v: Any, batch: Any) -> Outputs:
    """A positive definite matrix, a matrix and a vector as high, a batch of positive definite matrices."""
    l = pt.linalg.cholesky(a)
    return {
        "dot": pt.dot(a, v),
        "matmul": a @ b,
        "inner": v @ v,
        "outer": pt.outer(v, v),
        "tensordot": pt.tensordot(a, b, [[0], [0]]),
        "batched": batch @ batch,
        "batch of vectors": batch @ v,
        "einsum": pt.einsum("bij,j->bi", batch, v),
        "cholesky": l,
        "upper": pt.linalg.cholesky(a, lower=False),
        "solve": pt.linalg.solve(a, b),
        "solve pos": pt.linalg.solve(a, v, assume_a="pos"),
        "triangular": pt.linalg.solve_triangular(l, b, lower=True),
        "cho_solve": pt.linalg.cho_solve((l, True), b),
        "inv": pt.linalg.inv(a),
        "det": pt.linalg.det(a),
        "slogdet": pt.linalg.slogdet(a)[1],
        "pinv": pt.linalg.pinv(b),
        "expm": pt.linalg.expm(a / 4),
        "eigh": pt.linalg.eigh(a)[0],
        "svd": pt.linalg.svd(b, compute_uv=False),
        "kron": pt.linalg.kron(a, b),
        "qr": pt.abs(pt.linalg.qr(b)[1]),
        "block": pt.linalg.block_diag(a, b),
        "trace": pt.linalg.trace(a),
        "batch cholesky": pt.linalg.cholesky(batch),
        "batch solve": pt.linalg.solve(batch, b, b_ndim=2),
        "batch det": pt.linalg.det(batch),
        "batch inv": pt.linalg.inv(batch),
        "lu solve": pt.linalg.lu_solve(pt.linalg.lu_factor(a), v),
        "lu": pt.linalg.lu(a)[2],
        "gradient": pytensor.grad(pt.log(pt.diag(l)).sum() + (pt.linalg.solve(a, v) ** 2).sum(), a),
        "nan": pt.linalg.cholesky(-a),
        "gradient of batch": pytensor.grad(pt.linalg.cholesky(batch).sum(), batch),
    }


def control(x: Any, m: Any, c: Any) -> Outputs:
    """A vector, a square matrix, a scalar; no extent is 0."""
    last = pt.zeros_like(x[0])

    def scanned(fn: Callable[..., Any], **options: Any) -> Any:
        return pytensor.scan(fn, return_updates=False, **options)

    running = scanned(lambda x, s: s * c + x, sequences=[x], outputs_info=[last])
    fibonacci = scanned(
        lambda a, b: a + b, outputs_info=[{"initial": pt.stack([c, c + 1]), "taps": [-2, -1]}], n_steps=6
    )
    mapped = scanned(lambda row: (row**2).sum(), sequences=[m])
    power = scanned(lambda p, b: p @ b, outputs_info=[pt.eye(m.shape[0])], non_sequences=[m / 4], n_steps=4)
    shifted = scanned(lambda now, before: now - before, sequences=[{"input": x, "taps": [0, -1]}])
    limited = scanned(
        lambda s: (s * 2, until(s > 8)),
        outputs_info=[pt.ones_like(c)],
        n_steps=20,
    )
    back = scanned(lambda x, s: s + x, sequences=[x], outputs_info=[last], go_backwards=True)
    return {
        "running": running,
        "last": running[-1],
        "fibonacci": fibonacci,
        "mapped": mapped,
        "power": power[-1],
        "shifted": shifted,
        "until": limited,
        "backwards": back,
        "gradient": pytensor.grad(running[-1] ** 2, x),
        "gradient of c": pytensor.grad(running.sum(), c),
        "gradient of taps": pytensor.grad(fibonacci[-1], c),
        "gradient of powers": pytensor.grad(power[-1].sum(), m),
        "branch": ifelse(c > 0, x * 2, x * 3),
        "branch gradient": pytensor.grad(ifelse(c > 0, (x**2).sum(), x.sum()), x),
    }


FAMILIES: Final = {
    f.__name__: f for f in (elementwise, special_functions, shapes, indexing, reductions, linalg, control)
}


def values(family: str, n: int, dtype: str, rng: Any) -> list[Any]:
    """Arguments of a family: vectors of n elements, matrices and more of about as many rows."""
    k = max(n, 1)
    x, m, t = (rng.normal(size=s).astype(dtype) for s in ((n,), (n, n + 1), (2, n, 3)))
    if family in ("elementwise", "special_functions"):
        return [x, rng.normal(size=n).astype(dtype)]
    if family == "shapes":
        return [x, rng.normal(size=(k, n)).astype(dtype), t]
    if family == "indexing":
        return [x, rng.normal(size=(n, n)).astype(dtype), np.array([0, 1, 1]), np.int64(1)]
    if family == "linalg":
        square = rng.normal(size=(3, n, n))
        batch = (square @ square.swapaxes(1, 2) + n * np.eye(n)).astype(dtype)
        return [batch[0], rng.normal(size=(n, 2)).astype(dtype), x, batch]
    if family == "control":
        return [x, rng.normal(size=(n, n)).astype(dtype), np.asarray(0.75, dtype)]
    return [x, m, t]


def symbols(arguments: list[Any]) -> list[Any]:
    """Inputs of PyTensor for arguments, nothing known of their extents."""
    return [
        pt.tensor(f"v{k}", dtype=np.asarray(x).dtype.name, shape=(None,) * np.ndim(x)) for k, x in enumerate(arguments)
    ]
