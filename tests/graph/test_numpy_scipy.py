"""Functions of `scipy.special` on symbols, and functions of NumPy that need extents or give dtypes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special
from numpy_calls import G, J, U, W, check

import aotensor as aot
import aotensor.tensor as at
from aotensor.graph.public import NUMPY

SCIPY_SAMPLES: dict[str, list[np.ndarray]] = {
    **{name: [W, W + 0.5, U] for name in ("betainc", "betaincinv")},
    **{name: [W, U] for name in ("gammaincinv", "gammainccinv")},
    **{name: [U] for name in ("logit", "ndtri", "erfinv", "erfcinv")},
    "hyp2f1": [W, W + 0.5, W + 1, U / 2],
    "kn": [J, W],
}


OF_SCIPY = {name.removeprefix("scipy.special.") for name in NUMPY if name.startswith("scipy.special.")}


@pytest.mark.parametrize("name", sorted(OF_SCIPY))
def test_functions_of_scipy_do_what_they_say(name: str, pytestconfig: pytest.Config) -> None:
    ufunc = getattr(scipy.special, name)
    check(ufunc, *SCIPY_SAMPLES.get(name, [U, W][: ufunc.nin]), compiles=pytestconfig.getoption("--all"))


@pytest.mark.shows("tensor/2-aliases")
def test_functions_of_one_name_stand_for_those_of_scipy() -> None:
    theirs = {f.__name__ for f in vars(scipy.special).values() if isinstance(f, np.ufunc)}
    assert theirs & set(at.__all__) <= OF_SCIPY | {"round"}, "round is not the function of NumPy's name"


@pytest.mark.parametrize(
    "call",
    [
        lambda x, y: [np.cross(x, y), np.cross(x, y[0]), np.cross(x[0], y, axisc=0), np.cross(x[:, 0], y)],
        lambda x, y: [np.cross(x, y, axis=0), np.cross(x, y, 0, 1), np.cross(x, y, 1, 0, 0)],
        lambda x, y: [np.linalg.cross(x, y), np.linalg.cross(x, y, axis=0)],
        lambda x, y: [*np.array_split(x, 2), *np.array_split(y, 5, axis=1), *np.array_split(y[0], 4)],
    ],
)
def test_functions_of_known_extents(call: Callable[..., Any]) -> None:
    x, y = at.matrix("x", shape=(3, 3)), at.matrix("y", shape=(3, 3))
    for found, wanted in zip(aot.function([x, y], call(x, y)).reference(G, G.T - 1), call(G, G.T - 1), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-14, atol=1e-14)


def test_products_of_vectors_in_the_plane() -> None:
    x, y = at.matrix("x", shape=(3, 2)), at.matrix("y", shape=(3, 3))
    f = aot.function([x, y], [np.cross(x, x[::-1]), np.cross(x, y)])
    padded = np.concatenate([G[:, :2], np.zeros((3, 1))], axis=1)
    plane, space = f.reference(G[:, :2], G)
    np.testing.assert_allclose(plane, np.cross(padded, padded[::-1])[:, 2])
    np.testing.assert_allclose(space, np.cross(padded, G))


def test_the_dtype_of_a_sum() -> None:
    assert np.result_type(at.vector("x", dtype="float32"), at.vector("i", dtype="int64"), np.int8) == "float64"
    assert np.result_type(at.zvector("z")) == "complex128"
