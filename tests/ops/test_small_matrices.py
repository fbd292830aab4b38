"""Factorisations and solves of small matrices, which are generated: the same as NumPy's, alone and in batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import aotensor as aot
import aotensor.tensor as at
from aotensor.core.types import Array
from aotensor.driver.recipe import Options, stage_text
from aotensor.gradient import grad
from aotensor.graph.passes.pipeline import DEFAULT
from aotensor.graph.variable import Variable

SIZES = (1, 3, 4, 5, 10, 12)
BATCHES: list[tuple[tuple[Any, ...], tuple[int, ...]]] = [
    ((), ()), ((3,), (3,)), (("k",), (1,)), (("k",), (8,)), (("k",), (19,)), ((2, "k"), (2, 9)),
]  # fmt: skip
MANY = str(DEFAULT).replace("parallelize", "parallelize{chunk-work=1}")
"""Every loop has several chunks, if it has the rows."""


def triangles(b: Callable[..., Any], a: Any, x: Any) -> list[Any]:
    """Solutions with both triangles and with both of their transposes."""
    kinds = [(lower, trans) for lower in (True, False) for trans in (0, 1)]
    return [b(a, x, lower=lower, trans=trans) for lower, trans in kinds]


@cache
def program(dtype: str, batch: tuple[Any, ...], n: int, columns: int, passes: str | None = None) -> aot.Function:
    """Everything that is generated: of a matrix, of one that is positive definite, and of right-hand sides."""
    A, S, B = (at.tensor(name, dtype=dtype, shape=(*batch, n, c)) for name, c in (("A", n), ("S", n), ("B", columns)))
    outputs = [at.solve(A, B), at.inv(A), at.det(A), at.cholesky(S), *triangles(at.solve_triangular, S, B)]
    return aot.function([A, S, B], outputs, name="small", passes=passes)


def expected(A: Array, S: Array, B: Array) -> list[Array]:
    A, S, B = (x.astype("float64") for x in (A, S, B))

    def each(rule: Callable[..., Any]) -> Array:
        flat = [rule(*x) for x in zip(*(x.reshape(-1, *x.shape[-2:]) for x in (S, B)), strict=True)]
        return np.reshape(flat, (*A.shape[:-2], *np.shape(flat)[1:]))

    solved = [
        each(lambda s, b, lower=lower, trans=trans: scipy.linalg.solve_triangular(s, b, trans, lower))  # type: ignore[misc]
        for lower in (True, False) for trans in (0, 1)
    ]  # fmt: skip
    return [np.linalg.solve(A, B), np.linalg.inv(A), np.linalg.det(A), np.linalg.cholesky(S), *solved]


def given(rng: np.random.Generator, dtype: str, batch: Sequence[int], n: int, columns: int) -> list[Array]:
    """A matrix whose pivots are not where they stand, one that is positive definite, and right-hand sides."""
    order = np.argsort(rng.normal(size=(*batch, n)), axis=-1)
    A = rng.uniform(-0.5, 0.5, size=(*batch, n, n)) / n + np.eye(n)[order]
    half = rng.normal(size=(*batch, n, n))
    S = half @ np.swapaxes(half, -1, -2) / n + 2 * np.eye(n)
    return [x.astype(dtype) for x in (A, S, rng.normal(size=(*batch, n, columns)))]


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize(("batch", "real"), BATCHES)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_they_are_those_of_numpy(
    dtype: str, batch: tuple[Any, ...], real: tuple[int, ...], n: int, rng: np.random.Generator
) -> None:
    columns = 1 + n % 6
    arrays = given(rng, dtype, real, n, columns)
    tolerance = {"rtol": 0, "atol": 1e-12} if dtype == "float64" else {"rtol": 1e-4, "atol": 2e-5}
    for found, right in zip(program(dtype, batch, n, columns)(*arrays), expected(*arrays), strict=True):
        np.testing.assert_allclose(found, right, **tolerance)


@pytest.mark.parametrize("n", [3, 6, 12])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_threads_do_not_change_a_bit(dtype: str, n: int, rng: np.random.Generator) -> None:
    f = program(dtype, ("k",), n, 2, MANY)
    arrays = given(rng, dtype, (1003,), n, 2)
    first = f(*arrays, num_threads=1)
    for threads in (2, 3, 7):
        for found, right in zip(f(*arrays, num_threads=threads), first, strict=True):
            np.testing.assert_array_equal(found, right)
    few = f(*(x[:5] for x in arrays))
    for found, right in zip(few, first, strict=True):
        np.testing.assert_array_equal(found, right[:5], "a matrix is computed alike wherever it stands")


def test_a_batch_may_be_empty() -> None:
    found = program("float64", ("k",), 3, 2)(*(np.ones((0, 3, c)) for c in (3, 3, 2)))
    assert [x.shape for x in found] == [(0, 3, 2), (0, 3, 3), (0,), (0, 3, 3)] + [(0, 3, 2)] * 4


@pytest.mark.parametrize("n", [2, 6])
def test_no_function_of_lapack_is_needed(n: int) -> None:
    for batch in ((), ("k",)):
        f = program("float64", batch, n, 2)
        assert "aot_lapack" not in stage_text([f], "loops", Options())
    large = at.matrix("A", shape=(13, 13))
    assert "aot_lapack_potrf" in aot.function([large], at.cholesky(large), name="large").ir("loops")


@pytest.mark.parametrize("n", [3, 6])
@pytest.mark.parametrize("count", [0, 1, 20])
def test_the_first_failure_of_a_batch_is_told(n: int, count: int) -> None:
    """count: of matrices in front of the one that fails; 0 for one alone, which is no batch."""
    batch: tuple[Any, ...] = ("k",) if count else ()
    A = at.tensor("A", shape=(*batch, n, n))
    bad, worse = np.eye(n), np.eye(n)
    bad[n - 1, n - 1], worse[0, 0] = -1, -1
    given = np.stack([*[np.eye(n)] * count, bad, worse]) if count else bad
    with pytest.raises(np.linalg.LinAlgError, match=f"leading minor of order {n} is not positive"):
        aot.function([A], at.cholesky(A), name="f")(given)
    bad[n - 1, n - 1] = worse[0, 0] = 0
    given = np.stack([*[np.eye(n)] * count, bad, worse]) if count else bad
    with pytest.raises(np.linalg.LinAlgError, match=f"singular: pivot {n} is zero"):
        aot.function([A], at.inv(A), name="f")(given)
    with pytest.raises(np.linalg.LinAlgError, match=f"entry {n} of its diagonal is zero"):
        aot.function([A], at.solve_triangular(A, np.ones((n, 1)), lower=True), name="f")(given)


@pytest.mark.parametrize("n", [3, 6])
@pytest.mark.parametrize("batch", [(), (11,)], ids=str)
def test_what_fails_leaves_nan_where_that_is_asked_for(n: int, batch: tuple[int, ...]) -> None:
    A = at.tensor("A", shape=(*["k"] * len(batch), n, n))
    f = aot.function([A], at.cholesky(A, on_error="nan"), name="f")
    arrays = np.broadcast_to(4 * np.eye(n), (*batch, n, n)).copy()
    wanted = np.sqrt(arrays)
    arrays[(3,) * len(batch)][1, 1] = -1
    wanted[(3,) * len(batch)] = np.nan
    np.testing.assert_array_equal(f(arrays), wanted)
    arrays[(3,) * len(batch)][1, 1] = np.nan
    np.testing.assert_array_equal(f(arrays), wanted)


@pytest.mark.parametrize("n", [3, 6])
def test_nan_and_infinity_spread_in_their_matrix_alone(n: int, rng: np.random.Generator) -> None:
    f = program("float64", ("k",), n, 1)
    arrays = given(rng, "float64", (9,), n, 1)
    right = expected(*arrays)
    arrays[0][4, 0, n - 1] = np.nan
    solution, inverse, determinant, *_ = f(*arrays)
    for found, wanted in ((solution, right[0]), (inverse, right[1]), (determinant, right[2])):
        np.testing.assert_allclose(np.delete(found, 4, 0), np.delete(wanted, 4, 0), rtol=0, atol=1e-12)
        assert np.isnan(found[4]).any()


@pytest.mark.parametrize("batch", [(), ("k",)], ids=str)
def test_pivots_may_be_tiny_or_huge(batch: tuple[Any, ...]) -> None:
    A = at.tensor("A", shape=(*batch, 5, 5))
    f = aot.function([A], [at.det(A), at.inv(A)], name="f")
    for scale in (1e-60, 1e60):
        a = np.flip(np.eye(5), 0) * scale + np.tril(np.ones((5, 5)), -1)[:, ::-1] * scale
        for found, right in zip(
            f(np.stack([a] * 3) if batch else a), (np.linalg.det(a), np.linalg.inv(a)), strict=True
        ):
            np.testing.assert_allclose(found[0] if batch else found, right, rtol=1e-12, atol=1e-12 / scale)
    a = np.array([[3e-310, 1e-310], [1e-310, 2e-310]])  # 1 / 3e-310 is not a number
    factors = at.tensor("A", shape=(*batch, 2, 2))
    g = aot.function([factors], at.lu(factors, permute_l=True), name="g")
    lower, upper = (np.asarray(x).reshape(-1, 2, 2)[0] for x in g(np.stack([a] * 3) if batch else a))
    np.testing.assert_allclose(lower @ upper, a, rtol=1e-12, atol=0)


@pytest.mark.parametrize("n", [1, 3, 6, 11])
@pytest.mark.parametrize("batch", [(), ("k",)])
def test_derivatives_are_those_of_lapack(batch: tuple[Any, ...], n: int, rng: np.random.Generator) -> None:
    A, S, B = (at.tensor(name, shape=(*batch, n, c)) for name, c in (("A", n), ("S", n), ("B", 2)))
    groups: list[tuple[list[Variable], Sequence[Variable]]] = [
        ([A, B], [(at.solve(A, B) ** 2).sum(), (at.inv(A) * A**2).sum(), at.det(A).sum()]),
        ([S, B], [(at.cholesky(S) ** 3).sum(), (at.solve_triangular(S, B, lower=True) ** 2).sum()]),
    ]
    a, s, b = given(rng, "float64", (10,) if batch else (), n, 2)
    for (inputs, parts), arrays in zip(groups, ([a, b], [s, b]), strict=True):
        gradients = [grad(sum(parts[1:], parts[0]), x) for x in inputs]
        called = aot.function(inputs, gradients, name="f", disable_passes=["small-matrices"])(*arrays)
        for found, right in zip(aot.function(inputs, gradients, name="f")(*arrays), called, strict=True):
            np.testing.assert_allclose(found, right, rtol=1e-9, atol=1e-9)


def test_steps_of_a_loop_factorise_without_calls(rng: np.random.Generator) -> None:
    """A Kalman filter's step, more or less: matrices that are rows of a sequence."""
    A = at.tensor("A", shape=("t", 3, 3))
    f = aot.function([A], at.scan(lambda a, s: at.solve(a, s), sequences=A, outputs_info=np.eye(3))[0], name="f")
    (arrays, *_) = given(rng, "float64", (7,), 3, 1)
    state, right = np.eye(3), []
    for a in arrays:
        state = np.linalg.solve(a, state)
        right.append(state)
    np.testing.assert_allclose(f(arrays), right, rtol=1e-9, atol=1e-10)
    assert "aot_lapack" not in f.ir("loops")


def test_equal_solves_of_a_line_share_a_function(rng: np.random.Generator) -> None:
    """A kernel has one function for them; a solve with the transposed matrix, or on another line, has another one."""
    A, x = at.tensor("A", shape=(6, 6)), at.vector("b", shape=(6,))
    b = x
    for _ in range(4):
        x = at.solve(A, x)
    y = at.solve(A.T, b)
    z = at.solve(A, y)
    f = aot.function([A, b], [x, y, z], name="repeated")
    text = f.ir("loops")
    defined = [line for line in text.splitlines() if "func.func private @repeated.lu_solve" in line]
    called = [line for line in text.splitlines() if "call @repeated.lu_solve" in line]
    assert (len(defined), len(called)) == (3, 6)
    matrix, vector = given(rng, "float64", (), 6, 1)[0], rng.normal(size=6)
    inverse = np.linalg.inv(matrix)
    right = [np.linalg.matrix_power(inverse, 4) @ vector, inverse.T @ vector, inverse @ inverse.T @ vector]
    for found, value in zip(f(matrix, vector), right, strict=True):
        np.testing.assert_allclose(found, value, rtol=1e-11)
