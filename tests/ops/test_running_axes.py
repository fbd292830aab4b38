"""Running sums, products and recurrences along an axis with others inside of it, forwards and backwards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import aotensor as aot
import aotensor.tensor as at
from aotensor.ops.reduce.cumulate import CumProd, CumSum
from aotensor.ops.reduce.recurrence import LinearRecurrence

WIDTHS = (0, 1, 2, 7, 8, 9, 17, 40, 1023, 1024, 1025, 2500)


def _functions(shape: tuple[Any, ...]) -> list[aot.Function]:
    """Along the middle axis, and backwards along the first one."""
    x, c = at.tensor("x", "float64", shape), at.tensor("c", "float64", shape)
    return [
        aot.function([x], [at.cumsum(x, axis=1), CumSum(0, "float64", reverse=True)(x)], name="sums"),
        aot.function([x], [CumProd(1, "float64", reverse=True)(x), at.cumprod(x, axis=0)], name="products"),
        aot.function([x], CumProd(1, "float64", exclusive=True, reverse=True)(x), name="exclusive"),
        aot.function([x, c], [LinearRecurrence(1)(x, c), LinearRecurrence(0, reverse=True)(x, c)], name="recurrences"),
    ]


def _recurrence(a: Any, c: Any) -> Any:
    y = np.zeros_like(c)
    for k in range(len(y)):
        y[k] = a[k] * (y[k - 1] if k else 0) + c[k]
    return y


def _check(library: Any, x: Any, c: Any) -> None:
    with np.errstate(all="ignore"):
        expected = {
            "sums": [np.cumsum(x, 1), np.cumsum(x[::-1], 0)[::-1]],
            "products": [np.cumprod(x[:, ::-1], 1)[:, ::-1], np.cumprod(x, 0)],
            "exclusive": [np.concatenate([np.cumprod(x[:, :0:-1], 1)[:, ::-1], np.ones_like(x[:, :1])], 1)],
            "recurrences": [
                _recurrence(x.swapaxes(0, 1), c.swapaxes(0, 1)).swapaxes(0, 1),
                _recurrence(x[::-1], c[::-1])[::-1],
            ],
        }
    for name, wanted in expected.items():
        found = getattr(library, name)(*([x, c] if name == "recurrences" else [x]))
        for one, other in zip(found if isinstance(found, list) else [found], wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-13, equal_nan=True)


@pytest.fixture(scope="module", params=[("host", 3, "contract"), ("x86-64-v2", 3, "strict"), ("host", 0, "contract")])
def library(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    cpu, level, fp = request.param
    folder = tmp_path_factory.mktemp("running")
    return aot.compile(_functions(("a", "b", "c")), folder, cpu=cpu, opt_level=level, fp=fp).load()


def test_any_number_of_columns(library: Any) -> None:
    rng = np.random.default_rng(0)
    for width in WIDTHS:
        for a, b in ((2, 3), (1, 4), (5, 1), (0, 3), (3, 0)):
            _check(library, *rng.uniform(0.5, 1.5, (2, a, b, width)))


def test_special_values(library: Any) -> None:
    rng = np.random.default_rng(1)
    x, c = rng.choice([0.0, -0.0, 1.0, -2.0, np.inf, -np.inf, np.nan, 5e-324, 1e300], (2, 3, 4, 20))
    _check(library, x, c)


@pytest.mark.parametrize("width", [7, 8, 40])
def test_known_extents(width: int, tmp_path: Path) -> None:
    library = aot.compile(_functions((3, 4, width)), tmp_path).load()
    _check(library, *np.random.default_rng(width).uniform(0.5, 1.5, (2, 3, 4, width)))


def test_columns_are_split_among_cores(tmp_path: Path) -> None:
    x = at.matrix("x", dtype="float64", shape=("m", "n"))
    library = aot.compile(aot.function([x], [at.cumsum(x, axis=0), at.cumprod(x, axis=0)], name="f"), tmp_path).load()
    value = np.random.default_rng(2).uniform(0.9, 1.1, (20, 9001))
    results = []
    for threads in (1, 3):
        library.num_threads = threads
        results.append(library.f(value))
    for one, other in zip(*results, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_allclose(results[0][0], np.cumsum(value, 0), rtol=1e-13)


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8", "float16", "complex128"])
def test_dtypes(dtype: str, tmp_path: Path) -> None:
    x = at.matrix("x", dtype=dtype, shape=("m", "n"))
    f = aot.function([x], [at.cumsum(x, axis=0), at.cumprod(x, axis=0)], name="f")
    value = np.random.default_rng(3).integers(1, 3, (6, 19)).astype(dtype)
    for one, other in zip(aot.compile(f, tmp_path).load().f(value), f.reference(value), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=1e-3 if dtype == "float16" else 1e-6)


def test_derivatives_to_second_order(tmp_path: Path) -> None:
    x = at.matrix("x", dtype="float64", shape=("m", "n"))
    loss = (at.sin(at.cumsum(x, axis=0)) * at.cumprod(x, axis=0)).sum()
    gradient = aot.grad(loss, x)
    second = aot.grad((gradient * at.cos(x)).sum(), x)
    library = aot.compile(aot.function([x], [loss, gradient, second], name="f"), tmp_path).load()
    rng = np.random.default_rng(4)
    value, direction, h = rng.uniform(0.5, 1.5, (4, 11)), rng.normal(size=(4, 11)), 1e-5

    def first(at_value: Any) -> float:
        return float(library.f(at_value)[0])

    def along(at_value: Any) -> float:
        return float((library.f(at_value)[1] * np.cos(at_value)).sum())

    _, found, again = library.f(value)
    for derivative, function in ((found, first), (again, along)):
        difference = (function(value + h * direction) - function(value - h * direction)) / (2 * h)
        np.testing.assert_allclose((derivative * direction).sum(), difference, rtol=1e-7)
