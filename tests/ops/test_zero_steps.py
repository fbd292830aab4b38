"""Loops of no steps: extents come from the types and extents of the body, and no step runs on made-up values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.core.types import Array
from aotensor.errors import GraphError, GraphValueError
from aotensor.graph.variable import Variable
from aotensor.verification.verify import verify_function
from aotensor_runtime.errors import ArgumentError

RNG: Final = np.random.default_rng(4)
N: Final = 3


def spread(row: Variable, n: int = N) -> Variable:
    """A matrix that is regular and symmetric positive definite unless the row is 0."""
    return at.outer(row, row) + at.diag(row * row)


STEPS: Final[dict[str, tuple[Callable[[Variable, Variable, Variable], Any], list[tuple[int, ...]]]]] = {
    "solve": (lambda x, A, k: at.solve(spread(x), x), [(N,)]),
    "lu": (lambda x, A, k: at.lu_solve(at.lu_factor(A * x[0]), x), [(N,)]),
    "inverse": (lambda x, A, k: at.inv(A + at.diag(x)), [(N, N)]),
    "determinant": (lambda x, A, k: [at.det(at.outer(x, x)), *at.slogdet(A * x)], [(), (), ()]),
    "cholesky": (lambda x, A, k: at.cho_solve((at.cholesky(spread(x)), True), x), [(N,)]),
    "triangular": (lambda x, A, k: at.solve_triangular(at.outer(x, x), A @ x, lower=True), [(N,)]),
    "qr": (lambda x, A, k: at.qr(x[:, None] * A[:, :2], pivoting=True), [(N, 2), (2, 2), (2,)]),
    "svd": (lambda x, A, k: at.svd(at.outer(x, x)[:2], full_matrices=False), [(2, 2), (2,), (2, N)]),
    "eigh": (lambda x, A, k: at.eigh(spread(x)), [(N,), (N, N)]),
    "schur": (lambda x, A, k: at.schur(A * x), [(N, N), (N, N)]),
    "qz": (lambda x, A, k: at.qz(A * x, spread(x)), [(N, N)] * 4),
    "lstsq": (lambda x, A, k: at.pinv(x[:, None] * A[:, :2]), [(2, N)]),
    "expm": (lambda x, A, k: [at.expm(A * x), at.sqrtm(spread(x))], [(N, N), (N, N)]),
    "sylvester": (lambda x, A, k: at.solve_sylvester(spread(x), A, A), [(N, N)]),
    "lyapunov": (lambda x, A, k: at.solve_discrete_lyapunov(spread(x), A), [(N, N)]),
    "power": (lambda x, A, k: at.matrix_power(spread(x), -2), [(N, N)]),
    "random": (lambda x, A, k: at.RandomStream(3).normal(x[0], abs(x[1]), size=(k, 2)), [(4, 2)]),
    "sizes": (
        lambda x, A, k: [
            at.arange(k) * x[0], at.zeros((k, A.shape[0])) + x[0], A[: k // 2] * x, at.eye(k) * x[0], x[x.shape[0] - 1],
            at.reshape(at.outer(x, x), (-1, k - 3)), at.concatenate([x, at.ones((k,))]), *at.split(x, [1, 2], 2),
        ],
        [(4,), (4, N), (2, N), (4, 4), (), (9, 1), (7,), (1,), (2,)],
    ),
    "sparse": (
        lambda x, A, k: [
            sp.dot(sp.csr_from_dense(A), x[:, None]),
            sp.structured_dot(sp.CSR(x, np.arange(N, dtype="int32"), np.arange(N + 1, dtype="int32"), (N, N)), A),
        ],
        [(N, 1), (N, N)],
    ),
    "nested": (
        lambda x, A, k: [
            aot.scan(lambda y, A, x: at.solve(A * x, x) * y, [at.arange(k) * x[0]], None, [A, x], return_updates=False),
            aot.scan(lambda y, x: at.inv(spread(x) * y), [x[:0]], None, [x], return_updates=False),
        ],
        [(4, N), (0, N, N)],
    ),
    "branch": (
        lambda x, A, k: [
            aot.ifelse(x[0] > 0, at.solve(A * x[0], x), x),
            aot.ifelse(k > 9, at.zeros((k,)), at.inv(spread(x))[0]),
        ],
        [(N,), (N,)],
    ),
}  # fmt: skip


VALUES_ONLY: Final = ("svd", "schur", "qz", "random", "sparse")
"""Steps without a compiled derivative of all results, or none to speak of."""


def loop(name: str, has_gradient: bool = True) -> aot.Function:
    """Rows x, a matrix A and a number k → everything that the step of a row gives, for all rows."""
    x, A, k = at.matrix("x"), at.matrix("A", shape=(N, N)), at.scalar("k", dtype="int64")
    step, _ = STEPS[name]
    found = aot.scan(lambda row, A, k: step(row, A, k), [x], None, [A, k], return_updates=False)
    outputs = found if isinstance(found, list) else [found]
    floats = [y for y in outputs if y.dtype == "float64"]
    gradient = (
        []
        if name in VALUES_ONLY or not has_gradient
        else at.grad(at.add(0.0, *(y.sum() for y in floats)), [x, A], disconnected_inputs="ignore")
    )
    return aot.function([x, A, k], [*outputs, *gradient], name=name, on_unused_input="ignore")


def check(call: Callable[..., Any], name: str) -> None:
    found = call(np.zeros((0, N)), RNG.normal(size=(N, N)), 4)
    shapes = [(0, *shape) for shape in STEPS[name][1]]
    assert [np.shape(y) for y in found[: len(shapes)]] == shapes
    for y, wanted in zip(found[len(shapes) :], ((0, N), (N, N)), strict=False):
        np.testing.assert_array_equal(y, np.zeros(wanted))


@pytest.mark.parametrize("name", STEPS)
def test_the_reference_of_no_steps(name: str) -> None:
    check(loop(name).reference, name)


FEW: Final = ["solve", "cholesky", "sizes", "sparse", "nested"]


@pytest.mark.parametrize(("level", "names"), [(0, FEW), (0, [*STEPS]), (3, [*STEPS])], ids=["few", "all", "all-O3"])
def test_compiled_loops_of_no_steps(level: int, names: list[str], tmp_path: Path) -> None:
    functions = [loop(name, has_gradient=name in ("solve", "nested", "branch")) for name in names]
    library = aot.compile(functions, tmp_path, name="steps", opt_level=level).load()
    for name in names:
        check(getattr(library, name), name)


# --- a Kalman filter -------------------------------------------------------------------------------------------------


def filtered(ys: Any, m: Any, P: Any, F: Any, H: Any, R: Any) -> Any:
    """|m|² + tr P of the last state, and the log-likelihood, by NumPy, also at complex arguments."""
    cost = 0.0
    for y in ys:
        m, P = F @ m, F @ P @ F.T + np.eye(len(m))
        S, v = H @ P @ H.T + R, y - H @ m
        cost = cost - 0.5 * (v @ np.linalg.solve(S, v) + np.log(np.linalg.det(S)))
        K = np.linalg.solve(S, H @ P).T
        m, P = m + K @ v, P - K @ H @ P
    return cost + m @ m + np.trace(P)


def kalman() -> aot.Function:
    """The same, its gradient by m, F and R; second derivatives by m and R, along ones in m and the identity in R."""
    ys, m0 = at.matrix("ys"), at.vector("m", shape=(2,))
    P0, F, H, R = at.matrix("P", shape=(2, 2)), at.matrix("F", shape=(2, 2)), at.matrix("H"), at.matrix("R")

    def step(y: Variable, m: Variable, P: Variable, F: Variable, H: Variable, R: Variable) -> list[Variable]:
        m, P = F @ m, F @ P @ F.T + at.eye(2)
        S, v = H @ P @ H.T + R, y - H @ m
        gain = at.solve(S, H @ P).T
        cost = -0.5 * (v @ at.solve(S, v) + at.log(at.det(S)))
        return [m + gain @ v, P - gain @ H @ P, cost]

    ms, Ps, costs = aot.scan(step, [ys], [m0, P0, None], [F, H, R], return_updates=False)
    m, P = at.concatenate([m0[None], ms])[-1], at.concatenate([P0[None], Ps])[-1]
    cost = costs.sum() + m @ m + at.trace(P)
    gradient = at.grad(cost, [m0, F, R])
    curved = at.grad(gradient[0].sum() + at.trace(gradient[2]), [m0, R])
    return aot.function([ys, m0, P0, F, H, R], [cost, *gradient, *curved], name="kalman")


def gradient_of(arguments: list[Array], position: int, moved: float = 0.0) -> Array:
    """By the complex step, with m moved along ones and R along the identity."""
    given = [x + moved * {1: np.ones(2), 5: np.eye(3)}.get(k, 0) for k, x in enumerate(arguments)]
    x = given[position]
    units = np.eye(x.size).reshape(-1, *x.shape)
    steps = [[x + 1e-30j * unit if k == position else y for k, y in enumerate(given)] for unit in units]
    return np.array([np.imag(filtered(*step)) / 1e-30 for step in steps]).reshape(x.shape)


def expected(arguments: list[Array]) -> list[Array]:
    h = 1e-5
    curved = [(gradient_of(arguments, k, h) - gradient_of(arguments, k, -h)) / (2 * h) for k in (1, 5)]
    return [np.asarray(filtered(*arguments)), *(gradient_of(arguments, k) for k in (1, 3, 5)), *curved]


@pytest.mark.parametrize("level", [None, 0, 3])
def test_a_kalman_filter_of_no_steps(level: int | None, tmp_path: Path) -> None:
    f = kalman()
    call = f.reference if level is None else aot.compile(f, tmp_path, opt_level=level).load().kalman
    for steps in (0, 1, 4):
        spd = RNG.normal(size=(2, 2))
        arguments = [
            RNG.normal(size=(steps, 3)), RNG.normal(size=2), spd @ spd.T, RNG.normal(size=(2, 2)),
            RNG.normal(size=(3, 2)), np.eye(3) + 0.1 * np.ones((3, 3)),
        ]  # fmt: skip
        for found, wanted in zip(call(*arguments), expected(arguments), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-8)


def test_verification_of_a_loop_around_a_factorisation() -> None:
    """Among its samples are loops of no steps."""
    x, A = at.matrix("x", shape=("t", 2)), at.matrix("A", shape=(2, 2))
    f = aot.function([x, A], aot.scan(lambda row, A: at.solve(A, row), [x], None, [A], return_updates=False), name="f")
    report = verify_function(f, samples=4, seed=0, gradients=False)
    assert report, report


# --- what does not fit -----------------------------------------------------------------------------------------------


def test_extents_that_do_not_fit_are_refused_without_a_step() -> None:
    x, w, h = at.matrix("x"), at.vector("w"), at.vector("h")
    no_rows = np.zeros((0, 3))
    differing = aot.function([x, w], aot.scan(lambda row, w: row * w, [x], None, [w], return_updates=False), name="f")
    growing = aot.function(
        [x, h], aot.scan(lambda row, h: at.concatenate([h, row]), [x], [h], return_updates=False), name="g"
    )
    outside = aot.function([x, w], aot.scan(lambda row, w: row * w[3], [x], None, [w], return_updates=False), name="o")
    for f in (differing, growing, outside):
        for call in (f.reference, f):
            with pytest.raises((GraphError, ArgumentError)):
                call(no_rows, np.ones(1))
    for call in (differing.reference, differing):
        assert np.shape(call(no_rows, np.ones(3))) == (0, 3)


def test_checks_of_values_wait_for_a_step() -> None:
    """A matrix that cannot be factorised, a position that is none: no step looks at them."""
    x, A, k = at.matrix("x"), at.matrix("A", shape=(2, 2)), at.scalar("k", dtype="int64")
    f = aot.function(
        [x, A, k],
        aot.scan(lambda row, A, k: at.cholesky(A * row[0])[k], [x], None, [A, k], return_updates=False),
        name="f",
    )
    for call in (f.reference, f):
        assert np.shape(call(np.zeros((0, 2)), -np.eye(2), 7)) == (0, 2)


def test_a_size_that_values_of_a_row_decide() -> None:
    x = at.matrix("x")
    f = aot.function([x], aot.scan(lambda row: at.nonzero(row)[0], [x], return_updates=False), name="f")
    with pytest.raises(GraphValueError, match="the shape of a stacked result is computed in the step"):
        f.reference(np.zeros((0, 3)))


@pytest.mark.parametrize("shape", [("k",), (3,), ()])
@pytest.mark.parametrize("has_condition", [False, True])
def test_a_branch_reads_the_last_row_of_a_loop_that_others_need(shape: tuple[Any, ...], has_condition: bool) -> None:
    """No steps are an error where the row is read, not where the loop runs."""
    n, x = at.scalar("n", dtype="int64"), at.tensor("x", dtype="float64", shape=shape)

    def step(s: Variable, t: Variable) -> Any:
        return ([2 * s, t + s], aot.until(s.sum() > 100)) if has_condition else [2 * s, t + s]

    (s, t), _ = aot.scan(step, outputs_info=[x, 3 * x], n_steps=n)
    last = aot.ifelse(n > 0, t[-1], x)
    f = aot.function([n, x], [s, last, aot.grad(last.sum(), x)])
    value = np.ones([3] * len(shape))
    for found, expected in zip(f(0, value), (np.zeros((0, *value.shape)), value, value), strict=True):
        np.testing.assert_array_equal(found, expected)
    for found, expected in zip(f(2, value), (np.stack([2 * value, 4 * value]), 6 * value, 6 * value), strict=True):
        np.testing.assert_array_equal(found, expected)
    g = aot.function([n, x], [s, t[-1]])
    with pytest.raises(IndexError, match="the loop has 0 steps"):
        g(0, value)
