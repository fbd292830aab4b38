"""Eigenvalues, singular values, orthogonal factors, pseudoinverses, exponentials, norms by singular values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.linalg
from case import Case, kink, normal, slope, value
from cases_linalg import of_lower, transposed

import aotensor.tensor as at
from aotensor.core.types import Array
from aotensor.gradient import grad
from aotensor.graph.variable import Variable

LESS_EXACT: dict[str, Any] = {
    "rtol": 1e-9,
    "atol": 1e-10,
    "reason": "LAPACK's errors grow with the condition of the matrix",
    "keeps_places": True,
}

Draw = Callable[[np.random.Generator], Sequence[Array]]


def symmetric(*shape: int) -> Draw:
    """Symmetric matrices with eigenvalues about 1 apart."""

    def draw(rng: np.random.Generator) -> Sequence[Array]:
        x = rng.normal(size=shape)
        return [(x + np.swapaxes(x, -1, -2)) / 8 + np.diag(np.arange(float(shape[-1])))]

    return draw


def spread(*shape: int) -> Draw:
    """Matrices with singular values about 1 apart, and away from 0."""

    def draw(rng: np.random.Generator) -> Sequence[Array]:
        k = min(shape[-2:])
        u, _, vt = np.linalg.svd(rng.normal(size=shape), full_matrices=False)
        return [(u * (1 + np.arange(k) + rng.uniform(0, 0.2, k))) @ vt]

    return draw


def weights(rng: np.random.Generator) -> Array:
    """A positive definite matrix near the identity."""
    x = rng.normal(size=(3, 3)) / 8
    return np.eye(3) + x + x.T


def single(draw: Draw) -> Draw:
    """The same in float32."""
    return lambda rng: [x.astype("float32") for x in draw(rng)]


def rebuilt(factors: Sequence[Variable]) -> Variable:
    """u·diag(s)·vt, or v·diag(w)·vᵀ."""
    if len(factors) == 2:
        w, v = factors
        return (v * w[..., None, :]) @ v.mT
    u, s, vt = factors
    return (u * s[..., None, :]) @ vt


SWAP = np.array([[0.0, 1.0], [1.0, 0.0]])
RANK_1 = np.outer([1.0, 2.0, 2.0], [2.0, 1.0])
ROOT = np.sqrt(0.5)


def fixed(id: str, build: Callable[..., Any], draw: Draw, **options: Any) -> Case:
    """A row whose extents are known when it is compiled: that takes a fifth of the time."""
    shapes = [x.shape for x in draw(np.random.default_rng(0))]
    return Case(id=id, build=build, inputs=draw, dims=shapes, **(LESS_EXACT | options))


def dynamic(id: str, build: Callable[..., Any], draw: Draw, **options: Any) -> Case:
    """A row whose extents are known at run time."""
    return Case(id=id, build=build, inputs=draw, **(LESS_EXACT | options))


def second(id: str, build: Callable[[Variable], Variable], draw: Draw, expected: Any = None) -> Case:
    """A row for the second derivative: the derivatives of Σ build(x)³, not compiled again."""
    return fixed(f"{id}-derivatives", lambda x: grad((build(x) ** 3).sum(), x), draw, expected=expected, compiles=False)


# --- what factors are, whatever their signs --------------------------------------------------------------------------

Pairs = list[tuple[Any, Any]]


def orthonormal(v: Array) -> Pairs:
    """The columns of v are."""
    return [(transposed(v) @ v, np.broadcast_to(np.eye(v.shape[-1]), (*v.shape[:-2], *v.shape[-1:] * 2)))]


def diagonalises(x: Array, w: Array, v: Array) -> Pairs:
    """v·diag(w)·vᵀ is the matrix with the lower triangle of x, the eigenvalues ascend."""
    return [((v * w[..., None, :]) @ transposed(v), of_lower(x)), (w, np.sort(w)), *orthonormal(v)]


def is_svd(x: Array, u: Array, s: Array, vt: Array) -> Pairs:
    k = s.shape[-1]
    product = (u[..., :k] * s[..., None, :]) @ vt[..., :k, :]
    return [(product, x), (s, -np.sort(-np.abs(s))), *orthonormal(u), *orthonormal(transposed(vt))]


def is_r(x: Array, r: Array) -> Pairs:
    """r is upper triangular, and rᵀ·r = xᵀ·x."""
    return [(transposed(r) @ r, transposed(x) @ x), (np.tril(r, -1), np.zeros(r.shape))]


def is_qr(x: Array, q: Array, r: Array) -> Pairs:
    return [(q @ r, x), *orthonormal(q), (np.tril(r, -1), np.zeros(r.shape))]


def is_pinv(x: Array, p: Array) -> Pairs:
    """Penrose's conditions."""
    return [(x @ p @ x, x), (p @ x @ p, p), (x @ p, transposed(x @ p)), (p @ x, transposed(p @ x))]


def stretches(x: Array) -> Array:
    """Singular values, descending."""
    return np.asarray(np.sqrt(np.linalg.eigvalsh(x @ transposed(x))[..., ::-1][..., : min(x.shape[-2:])]))


EIGH = [
    dynamic("eigh", at.eigh, symmetric(4, 4), identities=diagonalises),
    dynamic("eigh-named", at.eigh, symmetric(3, 3), dims=[("n", "n")], identities=diagonalises, compiles=False),
    fixed("eigh-upper", lambda x: at.eigh(x, "U"), spread(3, 3), identities=lambda x, *wv: diagonalises(x.T, *wv)),
    fixed(
        "eigh-lower-of-any",
        lambda x: at.eigh(x)[1],
        spread(3, 3),
        identities=lambda x, v: diagonalises(x, np.diag(v.T @ of_lower(x) @ v), v),
    ),
    fixed(
        "eigh-of-two",
        lambda x, b: at.eigh(x, "U", b),
        lambda rng: [*symmetric(3, 3)(rng), weights(rng)],
        identities=lambda x, b, w, v: [(x @ v, b @ v * w), (v.T @ b @ v, np.eye(3)), (w, np.sort(w))],
    ),
    value(
        "eigh-of-two-values",
        lambda x, b: at.eigvalsh(x, b=b),
        [SWAP, np.array([[2.0, 0.0], [0.5, 1.0]])],
        scipy.linalg.eigh(SWAP, [[2.0, 0.5], [0.5, 1.0]], eigvals_only=True),
        rtol=1e-9,
        keeps_places=True,
    ),
    fixed("eigh-batch", at.eigh, symmetric(2, 3, 3), identities=diagonalises),
    fixed("eigh-float32", at.eigh, single(symmetric(3, 3)), identities=diagonalises),
    fixed(
        "eigh-function",
        lambda x: rebuilt([at.exp(at.eigh(x)[0]), at.eigh(x)[1]]),
        symmetric(3, 3),
        compiles=False,
        expected=scipy.linalg.expm,
    ),
    second("eigh", lambda x: at.eigh(x)[1], symmetric(3, 3)),
    fixed("eigvalsh", at.eigvalsh, symmetric(4, 4), expected=np.linalg.eigvalsh),
    fixed("eigvalsh-upper-batch", lambda x: at.eigvalsh(x, "U"), symmetric(2, 3, 3), expected=np.linalg.eigvalsh),
    second("eigvalsh", at.eigvalsh, symmetric(3, 3), slope(lambda x: np.trace(np.linalg.matrix_power(of_lower(x), 3)))),
    value("eigh-signs", lambda x: at.eigh(x)[1], [SWAP], [[ROOT, ROOT], [-ROOT, ROOT]], rtol=1e-9, atol=1e-12),
    value("eigh-int", at.eigvalsh, [np.array([[2, 0], [0, 1]])], [1.0, 2.0]),
    value("eigh-1-by-1", at.eigh, [np.array([[-3.0]])], ([-3.0], [[1.0]])),
    value("eigh-nothing", lambda x: at.eigh(x)[1], [np.zeros((0, 0))], np.zeros((0, 0))),
    value("eigvalsh-no-samples", at.eigvalsh, [np.zeros((0, 2, 2))], np.zeros((0, 2))),
    value("eigvalsh-equal", at.eigvalsh, [np.eye(3)], [1.0, 1.0, 1.0]),
    kink("eigvalsh-equal-derivatives", lambda x: at.eigvalsh(x).sum(), [np.eye(3)], 3.0, x0=np.eye(3)),
    kink("eigh-equal-derivatives", lambda x: rebuilt(at.eigh(x)).trace(), [2 * np.eye(2)], 4.0, x0=np.eye(2)),
]

SHAPES = {"square": (3, 3), "tall": (4, 2), "wide": (2, 4), "batch": (2, 3, 2)}


def thin(x: Variable) -> Any:
    return at.svd(x, full_matrices=False)


def of_cubes(x: Array) -> Array:
    """The derivative of the sum of cubes of singular values."""
    u, s, vt = np.linalg.svd(x, full_matrices=False)
    return np.asarray((u * 3 * s**2) @ vt)


def values(x: Variable) -> Any:
    return at.svd(x, compute_uv=False)


SVD = [
    *(fixed(f"svd-{name}", thin, spread(*shape), identities=is_svd) for name, shape in SHAPES.items()),
    dynamic("svd-dynamic-tall", thin, spread(3, 2), identities=is_svd),
    dynamic("svd-dynamic-wide", thin, spread(2, 3), identities=is_svd, compiles=False),
    fixed("svd-float32", thin, single(spread(3, 2)), identities=is_svd),
    dynamic("svd-full-square", at.svd, spread(3, 3), dims=[("n", "n")], identities=is_svd, compiles=False),
    fixed("svd-full-tall-values", lambda x: at.svd(x)[1], spread(4, 2), expected=stretches),
    dynamic("svd-full-wide-values", lambda x: at.svd(x)[1], spread(2, 4), expected=stretches, compiles=False),
    fixed("svd-full-tall", at.svd, spread(3, 2), identities=is_svd, wrt=()),
    dynamic("svd-full-wide", at.svd, spread(2, 3), identities=is_svd, wrt=()),
    fixed("svd-rebuilt", lambda x: rebuilt(thin(x)), normal((3, 5)), expected=np.asarray, compiles=False),
    second("svd", lambda x: thin(x)[0], spread(3, 2)),
    fixed("singular-values", values, spread(3, 4), expected=stretches),
    fixed("singular-values-batch", values, spread(2, 4, 3), expected=stretches),
    second("singular-values", values, spread(3, 2), of_cubes),
    value("svd-signs", lambda x: at.svd(x)[0], [-np.diag([2.0, 1.0])], np.eye(2)),
    value("svd-no-rows", lambda x: at.svd(x), [np.zeros((0, 2))], (np.zeros((0, 0)), [], np.eye(2))),
    value("svd-no-rows-vt", lambda x: at.svd(x)[2], [np.zeros((0, 2))], np.eye(2)),
    value("svd-no-columns", lambda x: at.svd(x)[0], [np.zeros((3, 0))], np.eye(3)),
    value("svd-thin-no-columns", lambda x: thin(x)[0], [np.zeros((3, 0))], np.zeros((3, 0))),
    value("singular-values-1-by-1", values, [np.array([[-3.0]])], [3.0]),
    kink("singular-values-of-zeros", lambda x: values(x).sum(), [np.zeros((2, 2))], 0.0, x0=np.eye(2)),
    kink("singular-values-equal", lambda x: values(x).sum(), [np.eye(2)], 2.0, x0=np.eye(2)),
    kink("svd-equal", lambda x: rebuilt(thin(x)).trace(), [np.eye(2)], 2.0, x0=np.eye(2)),
]

QR = [
    *(fixed(f"qr-{name}", at.qr, spread(*shape), identities=is_qr) for name, shape in SHAPES.items()),
    dynamic("qr-dynamic-tall", at.qr, spread(4, 2), identities=is_qr, compiles=False),
    dynamic("qr-dynamic-wide", at.qr, spread(2, 4), identities=is_qr),
    dynamic(
        "qr-q-of-wide",
        lambda x: at.qr(x)[0],
        spread(2, 4),
        compiles=False,
        identities=lambda x, q: is_qr(x, q, np.triu(q.T @ x)),
    ),
    fixed("qr-float32", at.qr, single(spread(3, 2)), identities=is_qr),
    fixed("qr-r", lambda x: at.qr(x, "r"), spread(4, 3), identities=is_r),
    dynamic("qr-r-wide", lambda x: at.qr(x, "r"), spread(2, 3), identities=is_r, compiles=False),
    dynamic("qr-complete", lambda x: at.qr(x, "complete"), spread(4, 2), identities=is_qr, wrt=()),
    fixed("qr-complete-r", lambda x: at.qr(x, "full")[1], spread(4, 2), identities=is_r),
    dynamic("qr-complete-r-wide", lambda x: at.qr(x, "complete")[1], spread(2, 4), identities=is_r, compiles=False),
    fixed("qr-complete-fixed-wide", lambda x: at.qr(x, "complete"), spread(2, 3), identities=is_qr),
    second("qr", lambda x: at.qr(x)[0], spread(3, 2)),
    value("qr-no-columns", lambda x: at.qr(x, "complete")[0], [np.zeros((2, 0))], np.eye(2)),
    value("qr-no-rows", lambda x: at.qr(x)[1], [np.zeros((0, 2))], np.zeros((0, 2))),
    value("qr-1-by-1", lambda x: at.qr(x), [np.array([[3.0]])], ([[1.0]], [[3.0]])),
]

PINV = [
    *(fixed(f"pinv-{name}", at.pinv, spread(*shape), identities=is_pinv) for name, shape in SHAPES.items()),
    dynamic("pinv-dynamic", at.pinv, spread(2, 3), identities=is_pinv),
    fixed("pinv-float32", lambda x: at.pinv(x, 1e-6), single(spread(3, 2)), identities=is_pinv),
    fixed(
        "pinv-hermitian",
        lambda x: at.pinv(x, hermitian=True),
        spread(3, 3),
        identities=lambda x, p: is_pinv(of_lower(x), p),
    ),
    second("pinv", at.pinv, spread(3, 2), slope(lambda x: np.linalg.solve(x.T @ x, x.T) ** 3)),
    fixed(
        "pinv-rank-1",
        lambda x, y: at.pinv(at.outer(x, y), 1e-10),
        normal((3,), (2,)),
        compiles=False,
        expected=lambda x, y: np.outer(y, x) / (x @ x * (y @ y)),
    ),
    value("pinv-of-rank-1", lambda x: at.pinv(x, 1e-10), [RANK_1], RANK_1.T / 45, rtol=1e-9, atol=1e-12),
    value("pinv-of-zeros", at.pinv, [np.zeros((2, 3))], np.zeros((3, 2))),
    value("pinv-nothing", at.pinv, [np.zeros((0, 3))], np.zeros((3, 0))),
]

ROUGH: dict[str, Any] = {"rtol": 1e-10, "atol": 1e-10, "reason": "each of s squarings doubles the error"}
SKEW = np.array([[0.0, -1.0], [1.0, 0.0]])
FAR_APART = np.array([[[0.1]], [[30.0]]])

EXPM = [
    dynamic("expm", at.expm, normal((3, 3)), expected=scipy.linalg.expm),
    fixed(
        "expm-large",
        lambda x: at.expm(20 * x),
        symmetric(3, 3),
        compiles=False,
        expected=lambda x: scipy.linalg.expm(20 * x),
    ),
    fixed(
        "expm-batch",
        lambda x: at.expm(x * FAR_APART),
        normal((2, 2, 2)),
        expected=lambda x: scipy.linalg.expm(x * FAR_APART),
    ),
    fixed("expm-float32", at.expm, single(normal((3, 3))), expected=lambda x: scipy.linalg.expm(x.astype("float64"))),
    second("expm", at.expm, normal((2, 2)), slope(lambda x: scipy.linalg.expm(x) ** 3)),
    fixed(
        "expm-large-derivatives",
        lambda x: 1e6 * at.expm(x),
        normal((3, 3)),
        compiles=False,
        expected=lambda x: 1e6 * scipy.linalg.expm(x),
    ),
    value("expm-of-zeros", at.expm, [np.zeros((2, 2))], np.eye(2)),
    value("expm-of-a-rotation", at.expm, [100 * SKEW], np.cos(100) * np.eye(2) + np.sin(100) * SKEW, **ROUGH),
    value("expm-nilpotent", at.expm, [np.array([[0.0, 1e4], [0.0, 0.0]])], [[1, 1e4], [0, 1]], **ROUGH),
    value("expm-1-by-1", at.expm, [np.array([[3.0]])], [[np.exp(3.0)]]),
    value("expm-nothing", at.expm, [np.zeros((0, 0))], np.zeros((0, 0))),
    value("expm-int", at.expm, [np.array([[0, 1], [0, 0]])], [[1.0, 1.0], [0.0, 1.0]]),
    kink("expm-at-0", lambda x: at.expm(x).trace(), [np.zeros((2, 2))], 2.0, x0=np.eye(2)),
]

NORMS = [
    fixed("norm-spectral", lambda x: at.norm(x, 2), spread(3, 4), expected=lambda x: np.linalg.norm(x, 2)),
    fixed("norm-least-stretch", lambda x: at.norm(x, -2), spread(4, 3), expected=lambda x: np.linalg.norm(x, -2)),
    fixed(
        "norm-nuclear",
        lambda x: at.norm(x, "nuc", axis=(2, 0)),
        normal((3, 2, 4)),
        expected=lambda x: np.linalg.norm(x, "nuc", axis=(2, 0)),
    ),
    fixed(
        "norm-nuclear-kept",
        lambda x: at.norm(x, "nuc", axis=(0, 1), keepdims=True),
        normal((3, 2)),
        compiles=False,
        expected=lambda x: np.linalg.norm(x, "nuc", keepdims=True),
    ),
    value("norm-nuclear-of-nothing", lambda x: at.norm(x, "nuc"), [np.zeros((0, 2))], 0.0),
    kink("norm-spectral-derivative", lambda x: at.norm(x, 2), [np.diag([3.0, 1.0])], 3.0, x0=np.diag([1.0, 0.0])),
    kink("norm-spectral-at-0", lambda x: at.norm(x, 2), [np.zeros((2, 2))], 0.0, x0=np.zeros((2, 2))),
    kink("norm-nuclear-at-0", lambda x: at.norm(x, "nuc"), [np.zeros((2, 2))], 0.0, x0=np.zeros((2, 2))),
    kink("norm-least-stretch-at-0", lambda x: at.norm(x, -2), [np.zeros((2, 2))], 0.0, x0=np.zeros((2, 2))),
]

CASES: list[Case] = [*EIGH, *SVD, *QR, *PINV, *EXPM, *NORMS]
