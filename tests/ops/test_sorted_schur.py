"""Schur forms that are sorted, and of two matrices: by their defining equations, beside SciPy, at borders."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import aotensor as aot
import aotensor.tensor as at
from aotensor.core.types import Array, TensorType
from aotensor.errors import NullTypeGradError
from aotensor.gradient import Rop, grad
from aotensor.graph.variable import Variable

pytestmark = pytest.mark.level(
    "ci", "the library of four dtypes takes 8 s to compile; rows of the op tables have its ops"
)

DTYPES = ("float32", "float64", "complex64", "complex128")
SORTS = ("lhp", "rhp", "iuc", "ouc")
SHAPES = [(2, 0, 0), (0, 3, 3), (3, 1, 1), (3, 2, 2), (4, 5, 5), (1, 40, 40)]
TURN = np.array([[0.0, -1.0], [1.0, 0.0]])


def symbol(*dims: Any, dtype: str = "float64", name: str = "x") -> Variable:
    return Variable(TensorType(dtype, dims), name=name)


def outputs(a: Variable, b: Variable) -> dict[str, Variable]:
    made = dict(zip(("qz_aa", "qz_bb", "qz_q", "qz_z"), at.qz(a, b), strict=True))
    for sort in (None, *SORTS):
        names = ["aa", "bb", "alpha", "beta", "q", "z"] + (["t", "vectors", "count"] if sort else [])
        factors = at.ordqz(a, b, sort) + (at.schur(a, sort=sort) if sort else [])
        made |= {f"{sort}_{name}": x for name, x in zip(names, factors, strict=True)}
    return made


@pytest.fixture(scope="module")
def functions() -> dict[str, aot.Function]:
    made = {}
    for dtype in DTYPES:
        a, b = (symbol(None, None, None, dtype=dtype, name=name) for name in "ab")
        made[dtype] = aot.function([a, b], outputs(a, b), name=dtype)
    return made


@pytest.fixture(scope="module")
def library(functions: dict[str, aot.Function], tmp_path_factory: pytest.TempPathFactory) -> Any:
    return aot.compile(list(functions.values()), tmp_path_factory.mktemp("sorted"), name="sorted", opt_level=0).load()


def both(functions: dict[str, aot.Function], library: Any, dtype: str) -> Iterator[Callable[..., dict[str, Array]]]:
    yield functions[dtype].reference
    yield library[dtype]


def drawn(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> list[Array]:
    """Two matrices whose eigenvalues lie on both sides of every border."""
    found = rng.normal(size=(2, *shape)) + (1j * rng.normal(size=(2, *shape)) if dtype.startswith("c") else 0)
    return [(found[0] / np.sqrt(max(shape[-1], 1))).astype(dtype), found[1].astype(dtype)]


def close(dtype: str) -> dict[str, float]:
    return {"rtol": 0, "atol": 1e-4 if dtype in ("float32", "complex64") else 1e-11}


def is_chosen(sort: str, values: Array) -> Array:
    """The documented conditions, away from borders."""
    return {"lhp": values.real < 0, "rhp": values.real > 0, "iuc": abs(values) < 1, "ouc": abs(values) > 1}[sort]


def check_form(x: Array, t: Array, left: Array, right: Array, dtype: str) -> None:
    """x = left·t·rightᴴ of unitary matrices, where t has no more below its diagonal than blocks of two."""
    for vectors in (left, right):
        np.testing.assert_allclose(vectors @ vectors.conj().T, np.eye(len(x)), **close(dtype))
    np.testing.assert_allclose(left @ t @ right.conj().T, x, **close(dtype))
    assert not np.tril(t, -1 if dtype.startswith("c") else -2).any()
    below = np.diagonal(t, -1) != 0
    assert not (below[1:] & below[:-1]).any()


def values_of(t: Array) -> Array:
    """Of a Schur form, block by block."""
    found, k = [], 0
    while k < len(t):
        size = 2 if k + 1 < len(t) and t[k + 1, k] != 0 else 1
        found += list(np.linalg.eigvals(t[k : k + size, k : k + size]))
        k += size
    return np.array(found, np.result_type(t.dtype, np.complex64))


@pytest.mark.shows("tensor/7-schur")
@pytest.mark.shows("tensor/7-qz")
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_forms_hold_what_defines_them(
    dtype: str, shape: tuple[int, ...], functions: dict[str, aot.Function], library: Any, rng: np.random.Generator
) -> None:
    a, b = drawn(rng, shape, dtype)
    complexes = np.result_type(dtype, np.complex64)
    for call in both(functions, library, dtype):
        found = call(a, b)
        for key, value in found.items():
            part = key.split("_")[1]
            assert value.shape == {"alpha": shape[:-1], "beta": shape[:-1], "count": shape[:-2]}.get(part, shape), key
            assert value.dtype == {"alpha": complexes, "count": np.int64}.get(part, np.dtype(dtype)), key
        for k in range(shape[0] if shape[-1] else 0):
            one = {key: value[k] for key, value in found.items()}
            check_form(a[k], one["qz_aa"], one["qz_q"], one["qz_z"], dtype)
            check_form(b[k], one["qz_bb"], one["qz_q"], one["qz_z"], dtype)
            for sort in SORTS:
                check_sorted_schur(a[k], sort, one, dtype)
            for sort in (None, *SORTS):
                check_sorted_pencil(a[k], b[k], sort, one, dtype)


def check_sorted_schur(a: Array, sort: str, found: dict[str, Array], dtype: str) -> None:
    t, z, count = (found[f"{sort}_{key}"] for key in ("t", "vectors", "count"))
    check_form(a, t, z, z, dtype)
    assert count == scipy.linalg.schur(a, sort=sort)[2]
    flags = is_chosen(sort, values_of(t))
    assert flags[:count].all() and not flags[count:].any()


def check_sorted_pencil(a: Array, b: Array, sort: str | None, found: dict[str, Array], dtype: str) -> None:
    aa, bb, alpha, beta, q, z = (found[f"{sort}_{key}"] for key in ("aa", "bb", "alpha", "beta", "q", "z"))
    check_form(a, aa, q, z, dtype)
    check_form(b, bb, q, z, dtype)
    assert not np.tril(bb, -1).any() and (beta.real >= 0).all()
    scale = 100 * close(dtype)["atol"]
    values = alpha / beta
    expected = scipy.linalg.eigvals(a.astype("complex128"), b.astype("complex128"))
    np.testing.assert_allclose(np.sort(abs(values)), np.sort(abs(expected)), rtol=scale)
    if dtype.startswith("c"):
        np.testing.assert_array_equal(np.diagonal(aa), alpha)
    if sort:
        flags = is_chosen(sort, values)
        assert (np.diff(flags.astype(int)) <= 0).all()
        _, _, their_alpha, their_beta, _, _ = scipy.linalg.ordqz(a, b, sort)
        assert flags.sum() == is_chosen(sort, their_alpha / their_beta).sum()


@pytest.mark.parametrize("dtype", DTYPES)
def test_borders_are_those_of_scipy(dtype: str, functions: dict[str, aot.Function], library: Any) -> None:
    values = [1, -1, 0, 2, 0.5]
    a = (np.diag(values) + np.triu(np.ones((5, 5)), 1)).astype(dtype)
    counts = {"lhp": 1, "rhp": 4, "iuc": 4, "ouc": 1}
    pencil = {"lhp": {-1}, "rhp": {1, 2, 0.5}, "iuc": {0, 0.5}, "ouc": {2}}
    for call in both(functions, library, dtype):
        found = call(a[None], np.eye(5, dtype=dtype)[None])
        for sort, count in counts.items():
            assert found[f"{sort}_count"].tolist() == [count] == [scipy.linalg.schur(a, sort=sort)[2]]
            ratios = (found[f"{sort}_alpha"] / found[f"{sort}_beta"])[0]
            first = {round(float(x.real), 3) for x in ratios[: len(pencil[sort])]}
            assert first == pencil[sort]


@pytest.mark.parametrize("dtype", DTYPES)
def test_pairs_on_the_circle(dtype: str, functions: dict[str, aot.Function], library: Any) -> None:
    """i and −i are inside for one matrix and on neither side for two; those of a real form move together."""
    a = scipy.linalg.block_diag(2.0, TURN, 0.5, 3 * TURN).astype(dtype)
    for call in both(functions, library, dtype):
        found = call(a[None], np.eye(6, dtype=dtype)[None])
        assert found["iuc_count"] == 3 and found["ouc_count"] == 3
        sizes = {sort: abs(found[f"{sort}_alpha"] / found[f"{sort}_beta"])[0] for sort in ("iuc", "ouc")}
        np.testing.assert_allclose(sizes["iuc"][0], 0.5, rtol=1e-6)
        np.testing.assert_allclose(np.sort(sizes["ouc"][:3]), [2, 3, 3], rtol=1e-6)
        np.testing.assert_allclose(np.sort(abs(values_of(found["ouc_t"][0])[:3])), [2, 3, 3], rtol=1e-6)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_singular_matrix_has_infinite_eigenvalues(
    dtype: str, functions: dict[str, aot.Function], library: Any
) -> None:
    """They are outside of the circle and in neither half; 0/0 is nowhere."""
    a, b = np.diag([1, -1, 2, 0.5, 0]).astype(dtype), np.diag([1, 1, 0, 1, 0]).astype(dtype)
    for call in both(functions, library, dtype):
        found = call(a[None], b[None])
        for sort, first in {"lhp": [(-1, 1)], "rhp": [(0.5, 1), (1, 1)], "iuc": [(0.5, 1)], "ouc": [(2, 0)]}.items():
            alpha, beta = found[f"{sort}_alpha"][0], found[f"{sort}_beta"][0]
            pairs = sorted((float(x.real), float(y.real)) for x, y in zip(alpha, beta, strict=True))
            assert pairs == [(-1, 1), (0, 0), (0.5, 1), (1, 1), (2, 0)]
            assert sorted(zip(alpha.real[: len(first)], beta.real[: len(first)], strict=True)) == first
            check_form(a, found[f"{sort}_aa"][0], found[f"{sort}_q"][0], found[f"{sort}_z"][0], dtype)
            check_form(b, found[f"{sort}_bb"][0], found[f"{sort}_q"][0], found[f"{sort}_z"][0], dtype)


@pytest.mark.parametrize("dtype", ["float64", "complex64"])
def test_what_is_not_finite_gives_nan(dtype: str, functions: dict[str, aot.Function], library: Any) -> None:
    """Matrix by matrix, in either place; no eigenvalue comes first."""
    good = np.stack([np.diag([1.0, -2.0])] * 3).astype(dtype)
    bad = good.copy()
    bad[1, 0, 1], bad[2, 1, 0] = np.nan, np.inf
    for call in both(functions, library, dtype):
        for a, b in ((bad, good), (good, bad)):
            found = call(a, b)
            for key, value in found.items():
                part = key.split("_")[1]
                if part == "count":
                    assert value.tolist() == ([1, 0, 0] if a is bad else [1, 1, 1])  # 1 or -2
                elif part in ("t", "vectors") and a is good:
                    assert np.isfinite(value).all()
                else:
                    assert np.isfinite(value[0]).all() and np.isnan(value[1:]).all(), key


def test_output_complex_and_one_complex_matrix(rng: np.random.Generator) -> None:
    a, b = rng.normal(size=(2, 4, 4))
    x, y = symbol(4, 4), symbol(4, 4, name="y")
    t, z, count = (v.eval({x: a}) for v in at.schur(x, "complex", sort="iuc"))
    check_sorted_schur(a.astype(complex), "iuc", {"iuc_t": t, "iuc_vectors": z, "iuc_count": count}, "complex128")
    for program, factor in ((at.qz(x, y, output="complex"), 1), (at.qz(x, at.complex(y, y)), 1 + 1j)):
        aa, bb, q, z = (v.eval({x: a, y: b}) for v in program)
        check_form(a, aa, q, z, "complex128")
        check_form(factor * b, bb, q, z, "complex128")


def test_matrices_are_repeated_to_a_common_batch(rng: np.random.Generator) -> None:
    a, b = rng.normal(size=(3, 1, 4, 4)), rng.normal(size=(2, 4, 4))
    x, y = symbol(3, 1, 4, 4), symbol(2, 4, 4, name="y")
    aa, bb, q, z = (v.eval({x: a, y: b}) for v in at.qz(x, y))
    np.testing.assert_allclose(q @ aa @ z.mT, np.broadcast_to(a, (3, 2, 4, 4)), atol=1e-12)
    np.testing.assert_allclose(q @ bb @ z.mT, np.broadcast_to(b, (3, 2, 4, 4)), atol=1e-12)


def test_what_cannot_be_sorted_is_told(functions: dict[str, aot.Function], library: Any) -> None:
    """Eigenvalues on the circle that rounding moves over it; pairs that are too close to each other to be exchanged."""
    rng = np.random.default_rng(0)
    turns = np.linalg.qr(rng.normal(size=(20, 100, 100)))[0]
    close = np.kron(np.eye(6), TURN) + 1000 * np.kron(np.eye(6, k=1), rng.normal(size=(150, 2, 2)))
    bases = np.linalg.qr(rng.normal(size=(150, 12, 12)))[0]
    x = symbol(None, None, None)
    programs = {"turns": at.schur(x, sort="iuc")[0], "pairs": at.ordqz(x, at.eye(12) + 0 * x, sort="lhp")[0]}
    for name, value in {"turns": turns, "pairs": bases @ close @ bases.mT}.items():
        f = aot.function([x], programs[name], name=name)
        for call in (f, f.reference):
            with pytest.raises(
                np.linalg.LinAlgError, match="cannot be sorted: some are too close to others or the bor"
            ):
                call(value)


@pytest.mark.shows("tensor/7-qz")
def test_there_is_no_derivative() -> None:
    x, y = symbol(2, 2), symbol(2, 2, name="y")
    for result in (at.schur(x, sort="lhp")[1], at.qz(x, y)[0], at.ordqz(x, y)[3]):
        with pytest.raises(NullTypeGradError, match="its blocks come in an order that may jump"):
            grad(result.sum(), x)
        with pytest.raises(NullTypeGradError, match="its blocks come in an order that may jump"):
            Rop(result, x, at.ones_like(x))


@pytest.mark.parametrize(
    ("build", "error", "text"),
    [
        (
            lambda: at.schur(symbol(2, 2), sort=lambda x: x.real > 0),
            TypeError,
            "schur: sort must be a str or None, not <func",
        ),
        (
            lambda: at.schur(symbol(2, 2), sort="up"),
            ValueError,
            "schur: sort must be one of None, 'lhp', 'rhp', 'iuc', 'ouc'",
        ),
        (
            lambda: at.ordqz(symbol(2, 2), symbol(2, 2), sort=max),
            ValueError,
            "ordqz: sort must be one of None, 'lhp', ",
        ),
        (lambda: at.qz(symbol(2, 2), symbol(3, 3)), ValueError, "qz: rows of both matrices differ, 2 and 3"),
        (lambda: at.qz(symbol(2, 2), symbol(2, 3)), ValueError, "qz: expected a square matrix, found 2 by 3"),
        (lambda: at.qz(symbol(2, 2), symbol(2)), TypeError, "qz: expected a matrix"),
        (
            lambda: at.ordqz(symbol(2, 2), symbol(2, 2), "lhp", "imag"),
            ValueError,
            "ordqz: output must be one of 'real'",
        ),
    ],
)
def test_what_is_refused(build: Callable[[], Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        build()


def test_extents_that_differ_at_run_time(functions: dict[str, aot.Function], library: Any) -> None:
    for call in both(functions, library, "float64"):
        with pytest.raises(ValueError, match="extent 3 along axis 1 instead of 2"):
            call(np.ones((1, 2, 2)), np.ones((1, 3, 3)))
