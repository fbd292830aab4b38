"""Sweeps that follow each other: right for tiles and windows of any size, with the same bits on any number of cores."""

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
from aotensor.ir.build import Program, build
from aotensor.ir.interpreter.interpret import interpret
from aotensor.passes.pipeline import NEST, TENSOR_RECIPE, PassRunner, recipe

SHAPES = ((0, 0), (0, 4), (1, 1), (2, 3), (3, 3), (4, 1), (5, 9), (8, 8), (17, 5), (40, 3))


def swept(u: Any, count: int) -> Any:
    for _ in range(count):
        u = at.set_subtensor(u[1:-1, 1:-1], (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) / 4)
    return u


def downwards(u: Any) -> Any:
    """Each row takes from the one three above it."""
    for _ in range(4):
        u = at.set_subtensor(u[3:], u[:-3] * 0.5 + u[3:])
    return u


def upwards(u: Any) -> Any:
    """From below, by another distance each time."""
    for distance in (1, 2, 5, 1):
        u = at.set_subtensor(u[:-distance], u[distance:] - u[:-distance])
    return u


def waves(u: Any) -> Any:
    """Each sweep reads the last two."""
    before = u
    for _ in range(3):
        inside = 2 * u[1:-1] - before[1:-1] + 0.25 * (u[2:] - 2 * u[1:-1] + u[:-2])
        before, u = u, at.set_subtensor(u[1:-1], inside)
    return u


PROGRAMS: dict[str, Callable[[Any], list[Any]]] = {
    "seven sweeps": lambda u: [swept(u, 7)],
    "their gradient": lambda u: [aot.grad((swept(u, 3) ** 2).sum(), u)],
    "value and gradient": lambda u: [(swept(u, 4) ** 2).sum(), aot.grad((swept(u, 4) ** 2).sum(), u)],
    "downwards": lambda u: [downwards(u), aot.grad((downwards(u) ** 3).sum(), u)],
    "upwards": lambda u: [upwards(u)],
    "waves": lambda u: [waves(u)],
    "one in the middle is needed, too": lambda u: [swept(u, 2), swept(swept(u, 2) * 3.0, 2)],
    "of integers": lambda u: [swept((u * 100).astype("int32") * 4, 0)[1:], downwards((u * 100).astype("float32"))],
}


def function(name: str) -> aot.Function:
    u = at.matrix("u", shape=("n", "m"))
    return aot.function([u], PROGRAMS[name](u), name="f")


def listed(found: Any) -> list[np.ndarray]:
    return list(found) if isinstance(found, list | tuple) else [found]


@pytest.mark.parametrize("name", PROGRAMS)
def test_sweeps_agree_with_the_reference(name: str, tmp_path: Path) -> None:
    """On this machine, and on one where tiles are of few rows, on one core and on three."""
    f, rng = function(name), np.random.default_rng(0)
    path = tmp_path / "libf.so"
    path.write_bytes(make_library(lower([f], Options(facts=TINY), texts=()), "f").shared())
    tiny = aotensor_runtime.load(path).f
    for shape in SHAPES:
        u = rng.normal(size=shape)
        usual, one, three = (listed(call(u)) for call in (f, tiny.with_threads(1), tiny.with_threads(3)))
        for a, b, c, expected in zip(usual, one, three, listed(f.reference(u)), strict=True):
            np.testing.assert_array_equal(b, c)
            rtol = 1e-12 if expected.dtype == "float64" else 1e-4
            np.testing.assert_allclose(a, expected, rtol=rtol, atol=rtol)
            np.testing.assert_allclose(b, expected, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("shape", [(1, 2), (3, 3), (9, 4), (17, 3)])
@pytest.mark.parametrize("name", ["seven sweeps", "their gradient", "downwards", "upwards"])
def test_no_row_is_read_whose_place_another_one_has(name: str, shape: tuple[int, int]) -> None:
    """The interpreter knows which row lies where."""
    u, f = np.random.default_rng(1).normal(size=shape), function(name)
    x = at.matrix("u", shape=("n", "m"))
    outputs = tuple((f"y{number}", y) for number, y in enumerate(PROGRAMS[name](x)))
    module, _ = build([Program("f", (("u", x),), outputs)])
    PassRunner().run(module, [*TENSOR_RECIPE, *recipe(NEST, TINY)])
    assert "folded" in str(module)
    for found, expected in zip(interpret(module, "f", u), listed(f.reference(u)), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["waves", "one in the middle is needed, too"])
def test_what_is_needed_elsewhere_stays_whole(name: str) -> None:
    text = stage_text([function(name)], "nest", Options(), generic=False)
    assert text.count("folded") == (1 if name == "waves" else 2)  # what the last sweep alone reads
