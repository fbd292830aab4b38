"""General matrices, real and complex: Schur forms, equations, functions, eigenvalues, bands, pivoted factors.

A complex matrix is made of two real inputs, and a complex result is a pair of real ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.linalg
from case import Case, kink, normal, value
from cases_decompositions import LESS_EXACT, Draw, fixed, single, spread, symmetric

import aotensor.tensor as at
from aotensor.core.types import Array
from aotensor.gradient import grad
from aotensor.graph.variable import Variable


def pair(z: Variable) -> list[Variable]:
    """The parts of a complex result."""
    return [at.real(z), at.imag(z)]


def both_parts(z: Variable) -> list[Variable]:
    """The parts of what may be complex."""
    return pair(z) if z.dtype.startswith("complex") else [z]


def of_parts(fn: Callable[..., Any], count: int = 1) -> Callable[..., list[Variable]]:
    """fn on complex matrices, whose parts alternate: x₁, y₁, x₂, y₂, …"""

    def build(*xs: Variable) -> list[Variable]:
        found = fn(*(at.complex(xs[2 * k], xs[2 * k + 1]) for k in range(count)))
        results = found if isinstance(found, list | tuple) else [found]
        return [part for z in results for part in both_parts(z)]

    return build


def parts(fn: Callable[..., Any]) -> Callable[..., list[Variable]]:
    """The parts of complex results of real matrices."""

    def build(*xs: Variable) -> list[Variable]:
        found = fn(*xs)
        return [part for z in (found if isinstance(found, list) else [found]) for part in pair(z)]

    return build


def rows(id: str, build: Callable[..., Any], draw: Draw, **options: Any) -> list[Case]:
    """A row, and one for second derivatives: those of the sum of all cubes, not compiled again."""

    def first(*xs: Variable) -> list[Variable]:
        built = build(*xs)
        outputs = built if isinstance(built, list | tuple) else [built]
        cost = sum((y**3).sum() for y in outputs if y.dtype.startswith("float"))
        return [grad(cost, x) for x in xs]

    return [
        fixed(id, build, draw, **options),
        fixed(f"{id}-derivatives", first, draw),
    ]


def near_one(*shape: int) -> Draw:
    """Matrices whose eigenvalues are about 1, 2, …, and not symmetric."""

    def draw(rng: np.random.Generator) -> Sequence[Array]:
        return [rng.normal(size=shape) / 8 + np.diag(1 + np.arange(float(shape[-1])))]

    return draw


def both(*draws: Draw) -> Draw:
    """The inputs of all."""
    return lambda rng: [x for draw in draws for x in draw(rng)]


def control(rng: np.random.Generator) -> Sequence[Array]:
    """a, b, q, r of a Riccati equation."""
    q, r = rng.normal(size=(3, 3)), rng.normal(size=(2, 2))
    return [rng.normal(size=(3, 3)), rng.normal(size=(3, 2)), q @ q.T + np.eye(3), r @ r.T + np.eye(2)]


def halved(fn: Callable[..., Any]) -> Callable[..., Any]:
    """fn of a smaller first matrix."""
    return lambda a, *others: fn(a / 4, *others)


TURN = np.array([[0.0, -1.0], [1.0, 0.0]])
EYE = np.eye(2)
SYLVESTER = [
    *rows("solve_sylvester", at.solve_sylvester, normal((3, 3), (2, 2), (3, 2))),
    Case(
        id="solve_sylvester-batch",
        build=at.solve_sylvester,
        inputs=normal((2, 3, 3), (2, 2), (2, 3, 2)),
        **LESS_EXACT,
    ),
    fixed("solve_sylvester-float32", at.solve_sylvester, single(both(near_one(3, 3), near_one(2, 2), normal((3, 2))))),
    *rows("solve_sylvester-complex", of_parts(at.solve_sylvester, 3), normal(*[(2, 2)] * 6)),
    fixed(
        "solve_sylvester-mixed",
        lambda a, b, x, y: pair(at.solve_sylvester(a, b, at.complex(x, y))),
        normal((2, 2), (2, 2), (2, 2), (2, 2)),
    ),
    value(
        "solve_sylvester-nothing", at.solve_sylvester, [np.eye(2), np.zeros((0, 0)), np.zeros((2, 0))], np.zeros((2, 0))
    ),
    value("solve_sylvester-1-by-1", at.solve_sylvester, [[[2.0]], [[1.0]], [[6.0]]], [[2.0]]),
    *rows("solve_continuous_lyapunov", at.solve_continuous_lyapunov, normal((3, 3), (3, 3))),
    fixed("solve_continuous_lyapunov-complex", of_parts(at.solve_continuous_lyapunov, 2), normal(*[(2, 2)] * 4)),
    *rows("solve_discrete_lyapunov-direct", halved(at.solve_discrete_lyapunov), normal((3, 3), (3, 3))),
    *rows(
        "solve_discrete_lyapunov-bilinear",
        halved(lambda a, q: at.solve_discrete_lyapunov(a, q, "bilinear")),
        normal((3, 3), (3, 3)),
    ),
    Case(
        id="solve_discrete_lyapunov-dynamic",
        build=halved(of_parts(at.solve_discrete_lyapunov, 2)),
        inputs=normal(*[(2, 2)] * 4),
        **LESS_EXACT,
    ),
    fixed(
        "solve_discrete_lyapunov-complex",
        halved(of_parts(lambda a, q: at.solve_discrete_lyapunov(a, q, "direct"), 2)),
        normal(*[(2, 2)] * 4),
    ),
    *rows("solve_discrete_are", at.solve_discrete_are, control),
    Case(id="solve_discrete_are-dynamic", build=at.solve_discrete_are, inputs=control, **LESS_EXACT),
    value(  # of one number: x² − x − 1 = 0
        "solve_discrete_are-1-by-1", at.solve_discrete_are, [np.eye(1)] * 4, [[(1 + np.sqrt(5)) / 2]], rtol=1e-9
    ),
]

SCHUR = [
    fixed("schur", at.schur, normal((4, 4)), wrt=()),
    Case(id="schur-batch", build=at.schur, inputs=normal((2, 3, 3)), wrt=(), **LESS_EXACT),
    fixed("schur-complex", of_parts(at.schur), normal((3, 3), (3, 3)), wrt=()),
    fixed("schur-of-real", lambda x: parts(lambda m: at.schur(m, "complex"))(x), near_one(3, 3), wrt=()),
    value("schur-of-a-turn", lambda x: at.schur(x)[0], [TURN], TURN),
    fixed("schur-sorted", lambda x: at.schur(x, sort="lhp"), normal((4, 4)), wrt=()),
    Case(
        id="schur-sorted-batch", build=lambda x: at.schur(x, sort="ouc"), inputs=normal((2, 3, 3)), wrt=(), **LESS_EXACT
    ),
    fixed("schur-sorted-complex", of_parts(lambda z: at.schur(z, sort="iuc")), normal((3, 3), (3, 3)), wrt=()),
    value("schur-sorted-count", lambda x: at.schur(x, sort="rhp")[2], [np.diag([-1.0, 0.0, 2.0])], 2),
    value("schur-nothing", lambda x: at.schur(x)[1], [np.zeros((0, 0))], np.zeros((0, 0))),
]

QZ = [
    fixed("qz", at.qz, normal((4, 4), (4, 4)), wrt=()),
    Case(id="qz-batch", build=at.qz, inputs=normal((2, 3, 3), (3, 3)), wrt=(), **LESS_EXACT),
    fixed("qz-complex", of_parts(at.qz, 2), normal(*[(3, 3)] * 4), wrt=()),
    fixed("qz-of-real", parts(lambda a, b: at.qz(a, b, "complex")), normal((3, 3), (3, 3)), wrt=()),
    fixed("qz-float32", at.qz, single(normal((3, 3), (3, 3))), wrt=()),
    value("qz-nothing", lambda a, b: at.qz(a, b)[1], [np.zeros((0, 0))] * 2, np.zeros((0, 0))),
    fixed(
        "ordqz", lambda a, b: [y for x in at.ordqz(a, b, "ouc") for y in both_parts(x)], normal((4, 4), (4, 4)), wrt=()
    ),
    fixed("ordqz-complex", of_parts(lambda a, b: at.ordqz(a, b, "iuc"), 2), normal(*[(3, 3)] * 4), wrt=()),
    value(
        "ordqz-values", lambda a, b: at.real(at.ordqz(a, b, "rhp")[2]), [np.diag([-6.0, 4.0]), np.eye(2)], [4.0, -6.0]
    ),
]

ROOT = np.array([[1.0, 2.0], [0.0, 3.0]])
LEADING = np.sqrt(0.5)
KNOWN: dict[str, Any] = {"rtol": 1e-9, "atol": 1e-12, "keeps_places": True}
FUNCTIONS = [
    *rows("sqrtm", at.sqrtm, near_one(3, 3)),
    Case(id="sqrtm-batch", build=at.sqrtm, inputs=near_one(2, 3, 3), **LESS_EXACT),
    fixed("sqrtm-float32", at.sqrtm, single(near_one(3, 3))),
    *rows("sqrtm-complex", of_parts(at.sqrtm), both(near_one(2, 2), normal((2, 2)))),
    value("sqrtm-known", at.sqrtm, [ROOT @ ROOT], ROOT, **KNOWN),
    value("sqrtm-of-a-turn", at.sqrtm, [TURN], LEADING * (EYE + TURN), **KNOWN),
    value("sqrtm-of-zeros", at.sqrtm, [np.zeros((2, 2))], np.zeros((2, 2))),
    value("sqrtm-of-a-negative", lambda x: at.sqrtm(x, "nan"), [-np.eye(2)], np.full((2, 2), np.nan)),
    value("sqrtm-nothing", at.sqrtm, [np.zeros((0, 0))], np.zeros((0, 0))),
    replace(kink("sqrtm-at-1", lambda x: at.sqrtm(x).trace(), [EYE], x0=EYE / 2), keeps_places=True),
    *rows("logm", at.logm, near_one(3, 3)),
    Case(id="logm-batch", build=at.logm, inputs=near_one(2, 2, 2), **LESS_EXACT),
    fixed("logm-float32", at.logm, single(near_one(2, 2))),
    *rows("logm-complex", of_parts(at.logm), both(near_one(2, 2), normal((2, 2)))),
    value("logm-known", at.logm, [scipy.linalg.expm(ROOT)], ROOT, **KNOWN),
    value("logm-of-a-turn", at.logm, [TURN], np.pi / 2 * TURN, **KNOWN),
    value("logm-of-1", at.logm, [EYE], np.zeros((2, 2)), keeps_places=True),
    value("logm-far", at.logm, [np.diag([1e-200, 1e200])], np.diag(np.log([1e-200, 1e200])), **KNOWN),
    value("logm-singular", lambda x: at.logm(x, "nan"), [np.diag([1.0, 0.0])], np.full((2, 2), np.nan)),
    value("logm-nothing", at.logm, [np.zeros((0, 0))], np.zeros((0, 0))),
    replace(kink("logm-at-1", lambda x: at.logm(x).trace(), [EYE], x0=EYE), keeps_places=True),
]

EIG = [
    *rows("eig", parts(at.eig), near_one(3, 3)),
    fixed("eig-of-a-pair", parts(at.eig), lambda rng: [TURN + rng.normal(size=(2, 2)) / 8]),
    Case(id="eig-batch", build=parts(at.eig), inputs=near_one(2, 3, 3), **LESS_EXACT),
    fixed("eig-float32", parts(at.eig), single(near_one(2, 2))),
    *rows("eig-complex", of_parts(at.eig), both(near_one(2, 2), normal((2, 2)))),
    *rows("eigvals", parts(at.eigvals), near_one(3, 3)),
    fixed("eigvals-complex", of_parts(at.eigvals), both(near_one(2, 2), normal((2, 2)))),
    value("eig-of-a-turn", lambda x: at.imag(at.eig(x)[1]), [TURN], [[0, 0], [-LEADING, LEADING]], rtol=1e-9),
    value("eigvals-of-a-turn", lambda x: at.imag(at.eigvals(x)), [TURN], [1.0, -1.0]),
    value("eig-nothing", lambda x: at.real(at.eig(x)[1]), [np.zeros((0, 0))], np.zeros((0, 0))),
    value("eigvals-1-by-1", lambda x: at.real(at.eigvals(x)), [[[-3.0]]], [-3.0]),
    kink("eigvals-equal-derivatives", lambda x: at.real(at.eigvals(x).sum()), [EYE], x0=EYE),
]


def solves(kind: str, **options: Any) -> Callable[..., Variable]:
    return lambda a, b: at.solve(a, b, assume_a=kind, **options)


BANDS = [
    *rows("solve-diagonal", solves("diagonal"), both(near_one(3, 3), normal((3, 2)))),
    *rows("solve-tridiagonal", solves("tridiagonal"), both(near_one(4, 4), normal((4, 2)))),
    fixed("solve-tridiagonal-vector", solves("tridiagonal", transposed=True), both(near_one(3, 3), normal((3,)))),
    Case(
        id="solve-tridiagonal-batch",
        build=solves("tridiagonal", transposed=True),
        inputs=both(near_one(2, 3, 3), normal((3, 2))),
        **LESS_EXACT,
    ),
    fixed("solve-diagonal-float32", solves("diagonal"), single(both(near_one(2, 2), normal((2,))))),
    fixed("solve-banded", solves("banded"), both(near_one(3, 3), normal((3,)))),
    value("solve-diagonal-alone", solves("diagonal"), [np.full((2, 2), 2.0), [4.0, np.inf]], [2.0, np.inf]),
    value("solve-tridiagonal-1-by-1", solves("tridiagonal"), [[[2.0]], [4.0]], [2.0]),
    value("solve-tridiagonal-nothing", solves("tridiagonal"), [np.zeros((0, 0)), np.zeros((0, 2))], np.zeros((0, 2))),
    value(
        "solve-tridiagonal-pivots",
        solves("tridiagonal"),
        [[[0.0, 1.0], [1.0, 0.0]], [2.0, 3.0]],
        [3.0, 2.0],
        keeps_places=True,
    ),
    value(
        "solve-tridiagonal-singular", solves("tridiagonal", on_error="nan"), [np.ones((2, 2)), [1.0, 1.0]], [np.nan] * 2
    ),
    value("solve-diagonal-singular", solves("diagonal", on_error="nan"), [np.diag([1.0, 0]), [1.0, 1.0]], [np.nan] * 2),
]


def pivoted(x: Variable) -> list[Variable]:
    return at.qr(x, pivoting=True)[:2]  # type: ignore[no-any-return]


PIVOTED = [
    *rows("qr-pivoted", pivoted, spread(3, 3)),
    fixed("qr-pivoted-tall", pivoted, spread(4, 2)),
    Case(id="qr-pivoted-wide", build=pivoted, inputs=spread(2, 4), **LESS_EXACT),
    fixed("qr-pivoted-batch", lambda x: at.qr(x, "r", pivoting=True)[0], spread(2, 3, 2)),
    fixed("qr-pivoted-complete", lambda x: at.qr(x, "complete", pivoting=True), spread(3, 2), wrt=()),
    fixed("qr-pivoted-complete-r", lambda x: at.qr(x, "full", pivoting=True)[1], spread(3, 2)),
    value("qr-pivoted-order", lambda x: at.qr(x, pivoting=True)[2], [np.diag([1.0, 3.0, 2.0])], [1, 2, 0]),
    value("qr-pivoted-no-rows", lambda x: at.qr(x, pivoting=True)[2], [np.zeros((0, 2))], [0, 1]),
    value("qr-pivoted-no-columns", lambda x: at.qr(x, "full", pivoting=True)[0], [np.zeros((2, 0))], np.eye(2)),
]

Z2, Z3 = normal((2, 2), (2, 2)), normal((3, 3), (3, 3))
FACTORS = [
    *rows("eigh-complex", of_parts(at.eigh), both(symmetric(3, 3), normal((3, 3)))),
    fixed("eigh-complex-upper", of_parts(lambda z: at.eigh(z, "U")), Z3),
    fixed("eigh-complex-of-two", of_parts(lambda a, b: at.eigh(a, b=at.eye(2) + b / 8), 2), normal(*[(2, 2)] * 4)),
    *rows("svd-complex", of_parts(lambda z: at.svd(z, full_matrices=False)), Z3),
    fixed("svd-complex-tall", of_parts(lambda z: at.svd(z, full_matrices=False)), normal((4, 2), (4, 2))),
    fixed("svd-complex-wide", of_parts(lambda z: at.svd(z, full_matrices=False)), normal((2, 4), (2, 4))),
    fixed("svd-complex-full", of_parts(at.svd), normal((3, 2), (3, 2)), wrt=()),
    *rows("norm-complex-nuclear", of_parts(lambda z: at.norm(z, "nuc")), normal((3, 2), (3, 2))),
    *rows("qr-complex", of_parts(at.qr), Z3),
    fixed("qr-complex-tall", of_parts(at.qr), normal((4, 2), (4, 2))),
    fixed("qr-complex-wide", of_parts(lambda z: at.qr(z, pivoting=True)[:2]), normal((2, 4), (2, 4))),
    fixed("qr-complex-complete", of_parts(lambda z: at.qr(z, "complete", True)), normal((3, 2), (3, 2)), wrt=()),
    *rows("lu-complex", of_parts(lambda z: at.lu(z)[1:]), Z3),
    fixed("lu_solve-complex", of_parts(lambda z, b: at.lu_solve(at.lu_factor(z), b, 2), 2), normal(*[(2, 2)] * 4)),
    *rows("det-complex", of_parts(at.det), Z3),
    kink(
        "det-complex-singular",
        lambda x: at.real(at.det(at.complex(x, 0 * x))),
        [np.diag([2.0, 0.0])],
        x0=np.diag([0, 2]),
    ),
    *rows("slogdet-complex", of_parts(at.slogdet), Z3),
    fixed(
        "solve_triangular-complex",
        of_parts(lambda z, b: at.solve_triangular(z + 2 * at.eye(2), b, trans="C"), 2),
        normal(*[(2, 2)] * 4),
    ),
    fixed(
        "cho_solve-complex", of_parts(lambda z, b: at.cho_solve((z + 2 * at.eye(2), True), b), 2), normal(*[(2, 2)] * 4)
    ),
]

COMPILED = {
    "det-complex",
    "solve_sylvester", "solve_discrete_are", "sqrtm", "logm", "eig", "eig-complex", "eigvals", "solve-diagonal",
    "solve-tridiagonal", "solve-tridiagonal-batch", "qr-pivoted-wide", "qr-pivoted-complete",
}  # fmt: skip
"""Rows that are compiled with their derivatives; test_general.py compiles the values of all ops, in one library."""
ROWS = [*SYLVESTER, *SCHUR, *QZ, *FUNCTIONS, *EIG, *BANDS, *PIVOTED, *FACTORS]
CASES: list[Case] = [replace(case, compiles=case.id in COMPILED) for case in ROWS]
