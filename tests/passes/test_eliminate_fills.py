"""Fills that slices overwrite: values and gradients stay those of the reference, for any slices, in any number of
chunks.
"""

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


def _row(x: Any) -> Any:
    """A number of a vector of four, of which the last one is not read."""
    return x[0] * at.sin(x[1]) / x[2]


def _set(x: Any, *positions: int) -> Any:
    """Columns of a tensor of twos, set one by one."""
    made = at.zeros_like(x) + 2.0
    for number, position in enumerate(positions):
        made = at.set_subtensor(made[:, position], x[:, number] * 3.0)
    return made


PROGRAMS: dict[str, Callable[[Any], list[Any]]] = {
    "gradient by columns": lambda x: [aot.grad((x[:, 0] * at.sin(x[:, 1]) / x[:, 2]).sum(), x)],
    "gradients of rows": lambda x: [
        at.vectorize_graph(aot.grad(_row(row), row), {row: x}) for row in [at.vector("row", shape=(4,))]
    ],
    "set in any order, one twice": lambda x: [_set(x, 3, 1, 0), _set(x, 2, 2, 3), _set(x, 1)],
    "set in tensors that are set": lambda x: [
        at.set_subtensor(
            at.set_subtensor(at.zeros((x.shape[0], 2, 4))[:, 1], _set(x, 0, 1, 2, 3))[:, 0], _set(x, 1, 3, 0)
        )
    ],
    "read again": lambda x: [_set(x, 0, 1, 2, 3) * x + _set(x, 0, 1, 3).sum(axis=1, keepdims=True)],
    "columns that are read before all are set": lambda x: [
        at.set_subtensor((early := _set(x, 0, 1, 3))[:, 2], early[:, 0] + early[:, 2]), early
    ],
}  # fmt: skip


def _function(name: str) -> aot.Function:
    x = at.matrix("x", shape=("n", 4))
    return aot.function([x], PROGRAMS[name](x), name="f")


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_are_those_of_the_reference(name: str, tmp_path: Path) -> None:
    """On a machine on which every loop has several chunks."""
    f, path = _function(name), tmp_path / "libf.so"
    path.write_bytes(make_library(lower([f], Options(facts=TINY), texts=()), "f").shared())
    library, rng = aotensor_runtime.load(path), np.random.default_rng(0)
    for n in (0, 1, 3, 40):
        x = rng.normal(size=(n, 4))
        x[n // 2 : n // 2 + 1, 1] = np.inf
        with np.errstate(invalid="ignore"):
            expected = f.reference(x)
        for found, value in zip(library.f(x), expected, strict=True):
            np.testing.assert_allclose(found, value, rtol=1e-12, atol=1e-12)


def test_gradients_of_scalars_need_no_workspace() -> None:
    """Elements of a vector are stored where they are computed, too."""
    x = at.vector("x", shape=(4,))
    f = aot.function([x], aot.grad(_row(x), x), name="f")
    text = stage_text([f], "loops", Options())
    assert text.count("memref.view") == 0
    x0 = np.array([0.7, 0.3, 1.9, np.nan])
    s, c = np.sin(0.3), np.cos(0.3)
    np.testing.assert_allclose(f(x0), [s / 1.9, 0.7 * c / 1.9, -0.7 * s / 1.9**2, 0.0], rtol=1e-14)
