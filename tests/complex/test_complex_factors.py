"""Factors of complex matrices in compiled code, against NumPy and SciPy, at all shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg

import aotensor as aot
import aotensor.tensor as at
from aotensor.core.types import Array, TensorType
from aotensor.graph.variable import Variable

SHAPES = [(0, 0), (1, 1), (3, 3), (4, 2), (2, 4), (0, 2), (70, 70)]


def drawn(*shape: int) -> Array:
    pair = np.random.default_rng(sum(shape)).normal(size=(2, *shape))
    return np.asarray(pair[0] + 1j * pair[1])


def symbol(*dims: Any, dtype: str = "complex128") -> Variable:
    return Variable(TensorType(dtype, dims), name="z")


@pytest.fixture(scope="module")
def functions() -> dict[str, aot.Function]:
    z, square = symbol(None, None), symbol("n", "n")
    b = at.tensor("b", dtype="complex128", shape=("n", 2))
    outputs = {
        "qr": ([z], at.qr(z)),
        "qr_complete": ([z], at.qr(z, "complete", pivoting=True)),
        "svd": ([z], at.svd(z, full_matrices=False)),
        "svd_full": ([z], at.svd(z)),
        "norms": ([z], [at.norm(z, "nuc")]),
        "eigh": ([square], at.eigh(square)),
        "eigvalsh": ([square], [at.eigvalsh(square, "U")]),
        "lu": ([square], list(at.lu(square))),
        "det": ([square], [at.det(square), *at.slogdet(square)]),
        "triangular": ([square, b], [at.solve_triangular(square, b, trans="C", lower=True)]),
    }
    return {name: aot.function(inputs, built, name=name) for name, (inputs, built) in outputs.items()}


@pytest.fixture(scope="module")
def library(functions: dict[str, aot.Function], tmp_path_factory: pytest.TempPathFactory) -> Any:
    return aot.compile(list(functions.values()), tmp_path_factory.mktemp("factors"), name="factors", opt_level=0).load()


@pytest.mark.shows("tensor/12-matrices")
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.unlimited("compiled complex factors are shown by it alone", "ci")
def test_compiled_is_reference(shape: tuple[int, int], functions: dict[str, aot.Function], library: Any) -> None:
    z = drawn(*shape)
    for name, f in functions.items():
        if len(set(shape)) > 1 and next(iter(f.arguments.values())).tensor_type.shape[0] == "n":
            continue
        inputs = [z, drawn(shape[0], 2)] if name == "triangular" else [z]
        found, expected = library[name](*inputs), f.reference(*inputs)
        for x, y in zip(_list(found), _list(expected), strict=True):
            assert x.dtype == y.dtype
            np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-9 * np.abs(y).max(initial=1), err_msg=name)


def _list(x: Any) -> list[Array]:
    return list(x) if isinstance(x, list | tuple) else [x]


@pytest.mark.shows("tensor/12-matrices")
def test_values_are_those_of_numpy_and_scipy(functions: dict[str, aot.Function]) -> None:
    z, wide = drawn(4, 4), drawn(2, 4)
    for found, wanted in (
        (functions["qr"].reference(wide), np.linalg.qr(wide)),
        (functions["lu"].reference(z), scipy.linalg.lu(z)),
        (functions["det"].reference(z), [np.linalg.det(z), *np.linalg.slogdet(z)]),
        (functions["qr_complete"].reference(wide), scipy.linalg.qr(wide, pivoting=True)),
    ):
        for x, y in zip(found, wanted, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-10, atol=1e-12)
    u, s, vh = functions["svd_full"].reference(wide)
    np.testing.assert_allclose((u * s) @ vh[:2], wide, atol=1e-12)
    leading = u[np.argmax(np.abs(u) >= 0.37 * np.abs(u).max(axis=0), axis=0), [0, 1]]
    np.testing.assert_allclose(leading, np.abs(leading), atol=1e-12)


def test_least_squares() -> None:
    a, b = drawn(5, 3), drawn(5, 2)
    x, y = symbol(5, 3), at.tensor("y", dtype="complex128", shape=(5, 2))
    results = aot.function([x, y], at.linalg.lstsq(x, y), name="least").reference(a, b)
    for found, wanted in zip(results, np.linalg.lstsq(a, b), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-9)


def test_equal_eigenvalues_have_unitary_vectors(functions: dict[str, aot.Function], library: Any) -> None:
    w, v = library["eigh"](np.eye(3) * (1 + 0j))
    np.testing.assert_allclose(v.conj().T @ v, np.eye(3), atol=1e-12)
    assert w.tolist() == [1, 1, 1]


def test_what_is_not_finite_gives_nan(functions: dict[str, aot.Function], library: Any) -> None:
    z = np.array([[1.0, 2.0], [np.inf, 1.0]], complex)
    for name in ("eigh", "svd"):
        for call in (library[name], functions[name].reference):
            assert all(np.isnan(x).all() for x in call(z))


def test_a_matrix_that_is_not_square_is_refused() -> None:
    z = symbol(None, None)
    f = aot.function([z], at.eigvalsh(z), name="eigvalsh")
    for call in (f, f.reference):
        with pytest.raises(ValueError, match=r"rows and columns of a square matrix differ: .*2.* and .*3"):
            call(drawn(2, 3))
