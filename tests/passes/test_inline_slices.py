"""Windows as reads, in split loops: right for every place of a window, for empty ones, and in any number of chunks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_target import TINY

import aotensor as aot
import aotensor.tensor as at
import aotensor_runtime
from aotensor.driver.recipe import Options, lower, make_library, stage_text

Program = Callable[[Any], list[Any]]


def mean(u: Any) -> Any:
    """Of the four neighbours, inside."""
    return (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) * 0.25


def sweeps(u: Any) -> Any:
    for _ in range(2):
        u = at.set_subtensor(u[1:-1, 1:-1], mean(u))
    return u


def far(u: Any) -> Any:
    """Windows that do not meet in many shapes: there is no middle."""
    return at.inc_subtensor(at.set_subtensor(at.zeros_like(u)[7:], u[:-7])[:, 5:], u[:, :-5] * 3.0)


PROGRAMS: dict[str, Program] = {
    "sweeps": lambda u: [sweeps(u)],
    "gradient of sweeps": lambda u: [aot.grad((sweeps(u) ** 2).sum(), u)],
    "gradient of a second difference": lambda u: [aot.grad(((u[2:] - 2 * u[1:-1] + u[:-2]) ** 3).sum(), u)],
    "far apart": lambda u: [far(u), aot.grad((far(u) ** 2).sum(), u)],
    "columns alone": lambda u: [
        at.set_subtensor(u[:, 2:], 1.0),
        u + at.set_subtensor(at.zeros_like(u)[:, :-1], u[:, 1:]),
    ],
    "a sum of sums": lambda u: [(u + at.set_subtensor(at.zeros_like(u)[1:], u[:-1])).sum(), (sweeps(u) ** 2).sum()],
    "a number of rows": lambda u: [u * at.inc_subtensor(at.zeros_like(u)[: u.shape[1]], u[: u.shape[1]])],
    "of integers": lambda u: [at.set_subtensor((u * 10).astype("int32")[1:], 7)],
    "of comparisons": lambda u: [at.set_subtensor(at.gt(u, 0)[1:, 1:], at.lt(u[1:, 1:], u[:-1, :-1]))],
}
SHAPES = ((0, 0), (0, 4), (1, 1), (2, 3), (3, 3), (4, 1), (5, 9), (8, 8), (17, 23), (40, 19))


def function(name: str, dtype: str = "float64") -> aot.Function:
    u = at.matrix("u", dtype=dtype, shape=("n", "m"))
    return aot.function([u], PROGRAMS[name](u), name="f")


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_windows_agree_with_the_reference(name: str, dtype: str) -> None:
    f, rng = function(name, dtype), np.random.default_rng(0)
    for shape in SHAPES:
        u = rng.normal(size=shape).astype(dtype)
        for array in (u, np.asfortranarray(u), np.repeat(u, 2, axis=1)[:, ::2]):
            for found, expected in zip(f(array), f.reference(array), strict=True):
                rtol = 1e-12 if dtype == "float64" else 1e-4
                np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("name", PROGRAMS)
def test_chunks_change_no_bit(name: str, tmp_path: Path) -> None:
    """On a machine on which every loop has several chunks, so that windows begin and end anywhere in them."""
    f, rng = function(name), np.random.default_rng(1)
    path = tmp_path / "libf.so"
    path.write_bytes(make_library(lower([f], Options(facts=TINY), texts=()), "f").shared())
    library = aotensor_runtime.load(path)
    for shape in SHAPES:
        u = rng.normal(size=shape)
        one, three = (_listed(library.f.with_threads(count)(u)) for count in (1, 3))
        for a, b, expected in zip(one, three, f.reference(u), strict=True):
            np.testing.assert_array_equal(a, b)
            np.testing.assert_allclose(a, expected, rtol=1e-12, atol=1e-12)


def _listed(found: Any) -> list[np.ndarray]:
    return list(found) if isinstance(found, list | tuple) else [found]


@pytest.mark.parametrize("name", ["sweeps", "gradient of sweeps", "gradient of a second difference"])
def test_nothing_is_kept_between_sweeps(name: str) -> None:
    """Each sweep reads the values of the one before, and writes its own."""
    u = at.matrix("u", shape=("n", "m"))
    text = stage_text([aot.function([u], PROGRAMS[name](u), name="f")], "tensor-opt", Options())
    assert "tensor.insert_slice" not in text
