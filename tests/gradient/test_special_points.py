"""Values, derivatives and second derivatives at special points, as docs/special_points.md says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from special_points import TABLE, Point, page

import aotensor as aot
import aotensor.tensor as at
from aotensor.core.types import Array
from aotensor.errors import LinAlgError
from aotensor.gradient import Rop, grad
from aotensor.graph.variable import Variable

ROOT = Path(__file__).parents[2]
POINTS = [point for _, points in TABLE for point in points]
NAMES = [f"{point.text} at {point.at}" for point in POINTS]
MODES = ("reverse over reverse", "forward over reverse", "reverse over forward", "forward over forward")


def program(point: Point) -> tuple[list[Variable], list[Variable]]:
    """Operands; value, derivatives in both modes, second derivatives in all four."""
    xs, one = [at.dscalar(f"x{k}") for k in range(len(point.at))], at.constant(1.0)
    y = point.build(*xs)

    def back(of: Variable) -> list[Variable]:
        return [grad(of, x, disconnected_inputs="ignore") for x in xs]

    def ahead(of: Variable) -> list[Variable]:
        return [Rop(of, x, one, disconnected_outputs="ignore") for x in xs]

    pulled, pushed = back(y), ahead(y)
    seconds = [
        outer(derivative) for derivatives in (pulled, pushed) for outer in (back, ahead) for derivative in derivatives
    ]
    return xs, [y, *pulled, *pushed, *(x for row in seconds for x in row)]


def check(point: Point, found: Sequence[Any]) -> None:
    values, n = [float(x) for x in found], len(point.at)
    np.testing.assert_allclose(values[0], point.value, rtol=1e-14, err_msg="value")
    np.testing.assert_allclose(values[1 : n + 1], point.first, rtol=1e-13, atol=1e-15, err_msg="reverse")
    np.testing.assert_allclose(values[n + 1 : 2 * n + 1], point.first, rtol=1e-13, atol=1e-15, err_msg="forward")
    second = np.array(values[2 * n + 1 :]).reshape(4, n, n)
    for mode, matrix in zip(MODES, second, strict=True):
        np.testing.assert_allclose(matrix, point.second, rtol=1e-12, atol=1e-14, err_msg=mode)
        np.testing.assert_allclose(matrix, matrix.T, rtol=1e-12, atol=1e-14, err_msg=f"{mode}: not symmetric")


@pytest.mark.shows("gradient/11-choose-kink", "tensor/0-kinks", "tensor/11-ties")
@pytest.mark.parametrize("point", POINTS, ids=NAMES)
def test_reference_at_a_special_point(point: Point) -> None:
    xs, outputs = program(point)
    check(point, aot.function(xs, outputs, on_unused_input="ignore").reference(*map(float, point.at)))


@pytest.mark.shows("tensor/0-kinks", "tensor/11-ties")
def test_library_at_special_points(tmp_path: Path) -> None:
    """All programs in one library; points of one program share it."""
    functions: dict[int, Any] = {}
    for k, point in enumerate(POINTS):
        if k and point.text == POINTS[k - 1].text:
            functions[k] = functions[k - 1]
        else:
            functions[k] = aot.function(*program(point), on_unused_input="ignore", name=f"point{k}")
    library = aot.compile(list(dict.fromkeys(functions.values())), tmp_path, name="points").load()
    for k, point in enumerate(POINTS):
        check(point, getattr(library, functions[k].name)(*map(float, point.at)))


@pytest.mark.parametrize(
    "point", [p for p in POINTS if p.exact], ids=[n for p, n in zip(POINTS, NAMES, strict=True) if p.exact]
)
def test_what_is_said_is_the_limit(point: Point) -> None:
    """The table against mpmath: at the point, or just inside of the domain."""
    n = len(point.at)
    exact: Callable[..., Any] = point.exact  # type: ignore[assignment]
    with mp.workdps(80):
        steps = [mp.mpf(10) ** -16 * step for step in (point.inward or [0] * n)]
        place = [mp.mpf(x) + step for x, step in zip(point.at, steps, strict=True)]
        radius = mp.mpf(10) ** (-24 if any(steps) else -12)

        def derivative(*orders: int) -> Any:
            return mp.re(
                mp.diff(exact, tuple(place), orders, h=radius)
                if n > 1
                else mp.diff(exact, place[0], orders[0], h=radius)
            )

        def unit(*at_one: int) -> list[int]:
            return [sum(k == one for one in at_one) for k in range(n)]

        for k in range(n):
            _compare(point.first[k], derivative(*unit(k)))
            for other in range(n):
                _compare(point.second[k][other], derivative(*unit(k, other)))


def _compare(said: float, exact: Any) -> None:
    if np.isinf(said):
        assert abs(exact) > 10 and mp.sign(exact) == np.sign(said)
    else:
        assert abs(said - exact) < 1e-6 * max(1, abs(said)), f"{said} instead of {mp.nstr(exact, 10)}"


def test_the_page_says_it(golden: Callable[[Path, str], None]) -> None:
    golden(ROOT / "docs" / "special_points.md", page())


# --- matrices --------------------------------------------------------------------------------------------------------

A, X = at.dmatrix("A"), at.dmatrix("X")


def _seconds(y: Variable) -> Any:
    """The derivative of the gradient of y along X in three modes."""
    derivative = grad(y, A)
    outputs = [grad((derivative * X).sum(), A), Rop(derivative, A, X), grad(Rop(y, A, X), A)]
    return aot.function([A, X], outputs)


def _of_rank(rank: int, n: int, rng: np.random.Generator) -> Array:
    return rng.normal(size=(n, rank)) @ rng.normal(size=(rank, n))


def _minor(a: Array, rows: Sequence[int], columns: Sequence[int]) -> float:
    return float(np.linalg.det(np.delete(np.delete(a, rows, 0), columns, 1))) if len(a) > len(rows) else 1.0


def _second_of_det(a: Array, x: Array) -> Array:
    """Σ over k ≠ i, l ≠ j of the second cofactors times x[k, l]: the determinant is linear in each element."""
    n, result = len(a), np.zeros(a.shape)
    for i, j in np.ndindex(n, n):
        for k, m in np.ndindex(n, n):
            if k != i and m != j:
                sign = (-1) ** (i + j + k - (k > i) + m - (m > j))
                result[i, j] += sign * _minor(a, [i, k], [j, m]) * x[k, m]
    return result


def test_second_derivatives_of_the_determinant(rng: np.random.Generator) -> None:
    f = _seconds(at.linalg.det(A))
    for n in (1, 2, 3, 4):
        for rank in range(n + 1):
            a, x = _of_rank(rank, n, rng), rng.normal(size=(n, n))
            expected = _second_of_det(a, x)
            for run in (f, f.reference):
                for found in run(a, x):
                    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-11)


def test_third_derivatives_of_the_determinant(rng: np.random.Generator) -> None:
    """Those of a 3×3 determinant do not depend on the matrix; for a singular one they are not known."""
    derivative = grad(at.linalg.det(A), A)
    second = grad((derivative * X).sum(), A)
    f = aot.function([A, X], grad((second * X).sum(), A))
    a, x = rng.normal(size=(3, 3)), rng.normal(size=(3, 3))
    expected = 2 * np.linalg.inv(x).T * np.linalg.det(x)
    for run in (f, f.reference):
        np.testing.assert_allclose(run(a, x), expected, rtol=1e-9, atol=1e-10)
        assert np.isnan(run(np.zeros((3, 3)), x)).all()


def test_second_derivatives_of_the_log_determinant_and_the_inverse(rng: np.random.Generator) -> None:
    """−A⁻ᵀ·Xᵀ·A⁻ᵀ, and for wᵀ·A⁻¹·w the derivative of −A⁻ᵀ·w·wᵀ·A⁻ᵀ; at singular matrices nan, and an error."""
    a, x, w = rng.normal(size=(3, 3)), rng.normal(size=(3, 3)), np.array([1.0, -2.0, 0.5])
    y = np.linalg.inv(a)
    f = _seconds(at.linalg.slogdet(A)[1])
    g = _seconds(at.dot(w, at.linalg.inv(A) @ w))
    outer = np.outer(w, w)
    of_inverse = (y @ x @ y @ outer @ y + y @ outer @ y @ x @ y).T
    for run, expected in (
        (f, -(y @ x @ y).T),
        (f.reference, -(y @ x @ y).T),
        (g, of_inverse),
        (g.reference, of_inverse),
    ):
        for found in run(a, x):
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-10)
    singular = np.ones((3, 3))
    derivative = aot.function([A], [at.linalg.slogdet(A)[1], grad(at.linalg.slogdet(A)[1], A)])
    for execute in (derivative, derivative.reference):
        value, derivatives = execute(singular)
        assert value == -np.inf and np.isnan(derivatives).all()
    for execute in (g, g.reference):
        with pytest.raises(LinAlgError):
            execute(singular, x)


def _polar(a: Array) -> Array:
    left, _, right = np.linalg.svd(a)
    return np.asarray(left @ right)


def test_equal_singular_values_leave_the_polar_factor_exact() -> None:
    """The gradient of the nuclear norm is U·Vᵀ, which is smooth for regular matrices."""
    f = _seconds(at.linalg.norm(A, "nuc"))
    x, step = np.array([[0.3, 0.7], [-0.4, -0.2]]), 1e-6
    for a in (np.eye(2), 2 * np.eye(2), np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([[2.0, 0.5], [0.3, 1.0]])):
        expected = (_polar(a + step * x) - _polar(a - step * x)) / (2 * step)
        for run in (f, f.reference):
            for found in run(a, x):
                np.testing.assert_allclose(found, expected, atol=1e-8)


def test_equal_eigenvalues_leave_their_vectors_as_they_are() -> None:
    weights = np.array([1.0, 2.0])
    w, v = at.linalg.eigh(A)
    f = aot.function([A], [grad((w * weights).sum(), A), grad((v * np.arange(4.0).reshape(2, 2)).sum(), A)])
    g = _seconds((w * weights).sum())
    for run in (f, f.reference):
        np.testing.assert_allclose(run(np.eye(2)), [np.diag(weights), np.zeros((2, 2))])
    for run in (g, g.reference):
        for found in run(np.eye(2), np.array([[1.0, 0.5], [0.5, -1.0]])):
            np.testing.assert_allclose(found, np.zeros((2, 2)))


def test_norms_of_the_zero_matrix_are_flat() -> None:
    orders: list[Any] = ["fro", 2, "nuc", 1, np.inf]
    derivatives = [grad(at.linalg.norm(A, ord), A) for ord in orders]
    seconds = [grad((derivative * X).sum(), A, disconnected_inputs="ignore") for derivative in derivatives]
    f = aot.function([A, X], [*derivatives, *seconds])
    for run in (f, f.reference):
        for found in run(np.zeros((2, 2)), np.ones((2, 2))):
            np.testing.assert_array_equal(found, np.zeros((2, 2)))


def test_the_pseudoinverse_along_directions_that_keep_the_rank() -> None:
    """a(t)·b(t)ᵀ of rank 1 has the pseudoinverse b·aᵀ/(|a|²·|b|²): its first and second derivative along t."""
    t = at.dscalar("t")
    a, b = np.array([1.0, 2.0, -1.0]), np.array([0.5, 1.0])
    da, db = np.array([0.3, -0.2, 0.7]), np.array([-1.0, 0.4])
    y = at.linalg.pinv(at.outer(a + t * da, b + t * db))
    along = Rop(y, t, at.constant(1.0))
    f = aot.function([t], [along, Rop(along, t, at.constant(1.0))])

    def exact(s: float) -> Array:
        p, q = a + s * da, b + s * db
        return np.asarray(np.outer(q, p) / (p @ p * (q @ q)))

    step = 1e-4
    nearby = [exact(s * step) for s in (-2, -1, 0, 1, 2)]
    first = (8 * (nearby[3] - nearby[1]) - (nearby[4] - nearby[0])) / (12 * step)
    second = (nearby[3] - 2 * nearby[2] + nearby[1]) / step**2
    for run in (f, f.reference):
        found = run(0.0)
        np.testing.assert_allclose(found[0], first, atol=1e-9)
        np.testing.assert_allclose(found[1], second, atol=1e-5)


@pytest.mark.shows("tensor/11-ties")
def test_ties_of_a_vector_have_the_derivatives_of_the_table() -> None:
    """Elements next to each other, so that no rule depends on where a tie stands."""
    x = at.dvector("x")
    f = aot.function([x], [grad(at.max(x), x), grad(at.sort(x)[0] * 2 + at.sort(x)[1], x)])
    for run in (f, f.reference):
        for values in ([1.0, 3.0, 3.0], [3.0, 1.0, 3.0], [3.0, 3.0, 1.0]):
            array = np.array(values)
            most, order = run(array)
            np.testing.assert_array_equal(most, array == 3.0)
            assert sorted(order) == [0, 1, 2]
            assert all(a >= b for a, b in pairwise(order[array == 3.0]))
