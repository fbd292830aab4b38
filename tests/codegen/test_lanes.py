"""Functions that the machine has instructions for, in vectors of any number of lanes: the values of the reference.

LLVM 22 turned positions of lanes that nobody reads into those of others, where rows have two or three elements.
"""

from __future__ import annotations

import platform
import re

import numpy as np
import pytest

import aotensor as aot
import aotensor.tensor as at
from aotensor.driver.build import Build
from aotensor.driver.recipe import Options


@pytest.mark.parametrize("columns", [1, 2, 3, 4, 5, 6, 7, 9, 17])
def test_exponentials_of_short_rows(columns: int) -> None:
    x = at.matrix("x", shape=("n", columns))
    outputs = {
        "exp": at.exp(x),
        "sum": at.exp(x).sum(axis=1),
        "logsumexp": at.logsumexp(x, axis=1),
        "softmax": at.softmax(x, axis=1),
        "power": 2.0**x,
        "softplus": at.softplus(x),
    }
    f = aot.function([x], outputs, name="f")
    alone = (
        [aot.function([x], {key: value}, name=f"f_{key}") for key, value in outputs.items()]
        if columns in (2, 3)
        else []
    )
    for rows in (0, 1, 2, 3, 4, 5, 7, 8, 9, 17):
        values = np.random.default_rng(rows).normal(scale=10, size=(rows, columns))
        for g in (f, *alone):
            found, expected = g(values), g.reference(values)
            for key, value in found.items():
                np.testing.assert_allclose(value, expected[key], rtol=1e-13, atol=1e-14, err_msg=f"{key}, {rows} rows")


@pytest.mark.skipif(platform.machine() != "x86_64", reason="they are of x86-64")
def test_loops_call_none_of_them() -> None:
    x = at.vector("x", shape=("n",))
    build = Build([aot.function([x], at.exp(x).sum(), name="f")], None, Options(cpu="x86-64-v4", threads=False))
    text = build.content("asm").decode()
    assert "vscalefpd" in text and "vpermi2pd" in text
    assert not re.search(r"call\w*\s+\S*aot\.", text)


def test_reductions_of_large_angles_are_a_part() -> None:
    """Code for a sine does not contain them: their object is made once per machine."""
    x = at.vector("x", shape=("n",))
    f = aot.function([x], at.sin(x), name="f")
    library = Build([f], None, Options(threads=False)).library
    assert "rare aot.far_angle.f64" in [part.name for part in library.parts]
    assert re.search(r"^define .*far_angle", library.program, re.MULTILINE) is None
    values = np.array([1e6, -3e9, 1e22, 2.0**1000, 0.5] * 5)
    np.testing.assert_allclose(f(values), np.sin(values), rtol=1e-14)
