"""Batches of matrices that LAPACK works on, on several cores: the same bits, NumPy's values, the same errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import aotensor as aot
import aotensor.tensor as at
import aotensor_runtime as runtime
from aotensor.driver.recipe import Options, lower

A, B = at.tensor3("A", shape=("b", "n", "n")), at.tensor3("B", shape=("b", "n", "k"))
FUNCTIONS: dict[str, aot.Function] = {
    name: aot.function([A, B], results, name=name, on_unused_input="ignore")
    for name, results in {
        "cholesky": at.linalg.cholesky(A),
        "inverse": at.linalg.inv(A),
        "solve": at.linalg.solve(A, B),
        "triangular": at.linalg.qr(A)[1],
        "eigenvalues": at.linalg.eigh(A)[0],
        "determinant": at.linalg.det(A),
        "complex_values": at.linalg.svd(at.complex(A, at.sin(A)), compute_uv=False),
    }.items()
}  # fmt: skip
EXPECTED: dict[str, Callable[[Any, Any], Any]] = {
    "cholesky": lambda a, _: np.linalg.cholesky(a),
    "inverse": lambda a, _: np.linalg.inv(a),
    "solve": np.linalg.solve,
    "triangular": lambda a, _: np.linalg.qr(a)[1],
    "eigenvalues": lambda a, _: np.linalg.eigvalsh(a),
    "determinant": lambda a, _: np.linalg.det(a),
    "complex_values": lambda a, _: np.linalg.svd(a + 1j * np.sin(a), compute_uv=False),
}
SIZES = [(0, 20, 1), (1, 20, 1), (3, 0, 1), (131, 13, 3), (70, 32, 2), (41, 48, 9), (9, 70, 1)]
"""Matrices, their rows, columns of B: none, one, empty, in chunks, and on the threads of LAPACK."""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> runtime.Library:
    return aot.compile(list(FUNCTIONS.values()), tmp_path_factory.mktemp("lapack"), name="matrices").load()


def arguments(b: int, n: int, k: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(b + n)
    a = rng.normal(size=(b, n, n))
    return a @ a.transpose(0, 2, 1) / max(n, 1) + np.eye(n), rng.normal(size=(b, n, k))


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_same_bits_and_the_values_of_numpy(library: runtime.Library, name: str, size: tuple[int, int, int]) -> None:
    a, b = arguments(*size)
    one, *others = (library.functions[name](a, b, num_threads=count) for count in (1, 2, 3, 7))
    assert all(other.tobytes() == one.tobytes() for other in others)
    if a.size:
        np.testing.assert_allclose(one, EXPECTED[name](a, b), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize(("name", "bad"), [("cholesky", -np.eye(20)), ("solve", np.zeros((20, 20)))])
def test_a_matrix_that_fails_is_told_alike(library: runtime.Library, name: str, bad: Any) -> None:
    a, b = arguments(300, 20, 1)
    a[170], a[250] = bad, bad
    said = set()
    for count in (1, 2, 3, 7):
        with pytest.raises(np.linalg.LinAlgError) as caught:
            library.functions[name](a, b, num_threads=count)
        said.add(str(caught.value))
    assert len(said) == 1


@pytest.mark.parametrize(
    ("rows", "build", "said"),
    [
        (None, at.linalg.cholesky, "over its batch, for matrices of"),
        (None, lambda a: at.linalg.svd(at.complex(a, a))[1], "over its batch, for matrices of"),
        (65, at.linalg.cholesky, "it uses LAPACK's own threads"),
        (None, lambda a: aot.grad(at.linalg.cholesky(a).sum(), a), "it uses LAPACK's own threads"),
    ],
)
def test_remarks_say_who_works_on_matrices(rows: int | None, build: Callable[[Any], Any], said: str) -> None:
    a = at.tensor3("a", shape=("b", rows, rows) if rows else ("b", "n", "n"))
    found = lower([aot.function([a], build(a), name="f")], Options(), texts=()).remarks
    assert [remark for remark in found if said in str(remark)]
