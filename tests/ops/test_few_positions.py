"""Convolutions of few positions, whose filters are read in place: all extents, options and levels of a library."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import aotensor as aot
import aotensor.tensor as at

OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "padded": {"padding": ((2, 1),), "dilation": 3},
    "strided": {"stride": 2, "padding": 1, "groups": 2},
}


def convolved(x: Any, w: Any, stride: int, padding: tuple[int, int], dilation: int, groups: int) -> Any:
    """The sums as they are defined, in float64."""
    x = np.pad(x.astype("float64"), ((0, 0), (0, 0), padding))
    (o, c, k), places = w.shape, (x.shape[2] - (w.shape[2] - 1) * dilation - 1) // stride + 1
    y = np.zeros((len(x), o, places))
    for i, p in np.ndindex(o, places):
        first = i // (o // groups) * c
        window = x[:, first : first + c, p * stride : p * stride + (k - 1) * dilation + 1 : dilation]
        y[:, i, p] = np.einsum("nck,ck->n", window, w[i].astype("float64"))
    return y


def relation(name: str) -> tuple[int, tuple[int, int], int, int]:
    """The numbers of an entry of OPTIONS."""
    given = OPTIONS[name]
    before, after = given["padding"][0] if name == "padded" else (given.get("padding", 0),) * 2
    return given.get("stride", 1), (before, after), given.get("dilation", 1), given.get("groups", 1)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Any:
    functions = []
    for name, given in OPTIONS.items():
        x, w = at.tensor("x", "float32", ("n", None, "s")), at.tensor("w", "float32", ("o", None, "k"))
        functions.append(aot.function([x, w], at.relu(at.conv1d(x, w, **given)), name=name))
    x, v = at.tensor("x", "float64", ("n", 5, 9)), np.random.default_rng(5).normal(size=(37, 5, 3))
    functions.append(aot.function([x], at.conv1d(x, at.constant(v), padding=1), name="known"))
    return v, aot.compile(functions, Path(tmp_path_factory.mktemp("few")), name="few").load()


@pytest.mark.parametrize("name", OPTIONS)
def test_extents_of_few_positions(library: Any, name: str, rng: np.random.Generator) -> None:
    f, numbers = library[1].functions[name], relation(name)
    for _ in range(40):
        n, c, o, k, places = (int(rng.integers(1, most)) for most in (4, 21, 21, 8, 41))
        groups, s = numbers[3], max(numbers[0] * places + (k - 1) * numbers[2] - sum(numbers[1]), 1)
        if s + sum(numbers[1]) < (k - 1) * numbers[2] + 1:
            continue
        x, w = (rng.normal(size=shape).astype("float32") for shape in ((n, c * groups, s), (o * groups, c, k)))
        wanted = np.maximum(convolved(x, w, *numbers), 0)
        found = f(x, w)
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5 * np.abs(wanted).max(initial=1))
        assert f(x, w, num_threads=3).tobytes() == found.tobytes()


def test_constant_filters_and_special_values(library: Any, rng: np.random.Generator) -> None:
    v, loaded = library
    for n in (0, 1, 2, 5):
        x = rng.normal(size=(n, 5, 9))
        wanted = convolved(x, v, 1, (1, 1), 1, 1)
        np.testing.assert_allclose(loaded.functions["known"](x), wanted, rtol=1e-12, atol=1e-12)
    x[1, 2, 4], x[3, 0, 0] = np.nan, np.inf
    found = loaded.functions["known"](x)
    is_changed = np.zeros((n, 37, 9), bool)
    is_changed[1, :, 3:6] = is_changed[3, :, :2] = True
    assert np.all(np.isfinite(found) == ~is_changed)
    np.testing.assert_allclose(found[~is_changed], wanted[~is_changed], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("cpu", "opt_level"), [("x86-64-v2", 3), ("x86-64-v3", 0), ("x86-64-v4", 0)])
def test_levels_of_cpus(cpu: str, opt_level: int, tmp_path: Path, rng: np.random.Generator) -> None:
    x, w = at.tensor("x", "float32", (1, 24, 6)), rng.normal(size=(33, 24, 3)).astype("float32")
    f = aot.function([x], at.conv1d(x, at.constant(w)), name="level")
    try:
        made = aot.compile(f, tmp_path, cpu=cpu, opt_level=opt_level).load()
    except aot.errors.AotensorError as error:
        assert "CPU" in str(error)
        pytest.skip(f"this machine is below {cpu}")
    value = rng.normal(size=(1, 24, 6)).astype("float32")
    wanted = convolved(value, w, 1, (0, 0), 1, 1)
    np.testing.assert_allclose(made.level(value), wanted, rtol=1e-5, atol=1e-5 * np.abs(wanted).max())
