"""Running sums of a long line: the same bits for every number of threads, near to NumPy's, and they never fall."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import aotensor as aot
import aotensor.tensor as at
import aotensor_runtime as runtime
from aotensor.driver.recipe import Options, lower

Build = Callable[[Any], Any]
FUNCTIONS: dict[str, Build] = {
    "forwards": at.cumsum,
    "gradient": lambda x: aot.grad((at.cumsum(x) * x).sum(), x),
    "of_a_product": lambda x: at.cumsum(x * 2.0) + 1.0,
    "product": at.cumprod,
}
CASES = [*((name, dtype) for name in FUNCTIONS for dtype in ("float64", "float32")), ("forwards", "int64")]
SIZES = (0, 1, 7, 8, 9, 16, 1001, 131_071, 131_073, 262_149, 524_287, 524_288, 524_289, 1_200_007)
"""Around groups of eight, chunks, and blocks of 2¹⁹."""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> runtime.Library:
    functions = []
    for name, dtype in CASES:
        x = at.vector("x", dtype=dtype)
        functions.append(aot.function([x], FUNCTIONS[name](x), name=f"{name}_{dtype}"))
    return aot.compile(functions, tmp_path_factory.mktemp("sums"), name="sums").load()


def on_threads(f: Any, x: Any) -> Any:
    """What all numbers of threads give."""
    one, *others = (f(x, num_threads=count) for count in (1, 2, 3, 7))
    assert all(other.tobytes() == one.tobytes() for other in others)
    return one


def expected(name: str, x: Any) -> Any:
    line = x.astype("float64" if x.dtype.kind == "f" else x.dtype)
    match name:
        case "forwards":
            return np.cumsum(line)
        case "gradient":
            return np.cumsum(line) + np.cumsum(line[::-1])[::-1]
        case "of_a_product":
            return np.cumsum(line * 2) + 1
        case _:
            return np.cumprod(line)


@pytest.mark.parametrize(("name", "dtype"), CASES)
@pytest.mark.parametrize("size", SIZES)
def test_same_bits_and_near_to_numpy(library: runtime.Library, name: str, dtype: str, size: int) -> None:
    x = np.random.default_rng(size).normal(size=size)
    x = (x * 100 if dtype == "int64" else 1 + x * 1e-6 if name == "product" else x).astype(dtype)
    found, wanted = on_threads(library.functions[f"{name}_{dtype}"], x), expected(name, x)
    if dtype == "int64":
        assert (found == wanted).all()
    else:
        scale = 1 + np.abs(x.astype("float64")).sum()
        np.testing.assert_allclose(found, wanted, rtol=1e-3 if dtype == "float32" else 1e-10,
                                   atol=np.finfo(dtype).eps * 8 * scale)  # fmt: skip


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_sums_of_what_is_not_negative_never_fall(library: runtime.Library, dtype: str) -> None:
    rng = np.random.default_rng(3)
    for scale in (1e-3, 1e3):
        x = (np.exp(rng.normal(size=1_300_003)) * scale).astype(dtype)
        x[rng.random(len(x)) < 0.3] = 0
        found = on_threads(library.functions[f"forwards_{dtype}"], x)
        assert (np.diff(found) >= 0).all()
        assert (np.diff(found)[x[1:] == 0] == 0).all()


def test_values_that_are_no_numbers_stay(library: runtime.Library) -> None:
    x = np.ones(700_001)
    x[200_000], x[600_000] = np.inf, np.nan
    found = on_threads(library.functions["forwards_float64"], x)
    assert np.array_equal(found, np.cumsum(x), equal_nan=True)


def test_in_order_where_fp_is_strict(tmp_path_factory: pytest.TempPathFactory) -> None:
    x = at.vector("x")
    f = aot.function([x], at.cumsum(x), name="strict")
    lib = aot.compile(f, tmp_path_factory.mktemp("strict"), fp="strict").load()
    values = np.random.default_rng(0).normal(size=600_000)
    assert on_threads(lib.strict, values).tobytes() == np.cumsum(values).tobytes()


@pytest.mark.parametrize(
    ("build", "dtype", "fp", "said"),
    [
        (at.cumsum, "float64", "contract", "over its lines or rows"),
        (at.cumprod, "float64", "contract", "partial products may overflow where the whole does not"),
        (at.cumsum, "int64", "contract", "adding integers is bound by memory"),
        (at.cumsum, "float64", "strict", "--fp strict fixes the order of its additions"),
    ],
)
def test_remarks_say_what_goes_on_several_cores(build: Build, dtype: str, fp: str, said: str) -> None:
    x = at.vector("x", dtype=dtype)
    found = lower([aot.function([x], build(x), name="f")], Options(fp=fp), texts=()).remarks
    assert [remark for remark in found if said in str(remark)]
