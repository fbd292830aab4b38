"""Long bodies in vectors: right at every rest, for sums along and across, beside loops that are jammed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from optimisation_programs import many_functions
from switches import OPTIONS

import aotensor as aot
import aotensor.tensor as at
from aotensor.driver.recipe import lower, stage_text

SHAPES = [(0, 3), (3, 0), (1, 1), (5, 7), (9, 31), (4, 32), (6, 33), (2, 65)]
PROGRAMS: dict[str, Callable[[Any, Any], list[Any]]] = {
    "elementwise": lambda X, w: [many_functions(X * w)],
    "sums of rows": lambda X, w: [many_functions(X * w).sum(axis=1)],  # jam around lanes
    "sums of columns": lambda X, w: [many_functions(X * w).sum(axis=0)],
    "value and gradient": lambda X, w: [many_functions(X * w).sum(), aot.grad(many_functions(X * w).sum(), w)],
    "a choice": lambda X, w: [at.switch(at.gt(X, w), many_functions(X), many_functions(w)).sum(axis=1)],
}


def program(name: str, dtype: str) -> aot.Function:
    X, w = at.matrix("X", dtype=dtype), at.vector("w", dtype=dtype)
    return aot.function([X, w], PROGRAMS[name](X, w), name="f")


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_vectors_agree_with_the_reference(name: str, dtype: str) -> None:
    f, rng = program(name, dtype), np.random.default_rng(0)
    for shape in SHAPES:
        arrays = rng.normal(size=shape).astype(dtype), rng.normal(size=shape[1]).astype(dtype)
        for found, expected in zip(f(*arrays), f.reference(*arrays), strict=True):
            rtol = 1e-10 if dtype == "float64" else 1e-3
            np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_program_has_vectors(name: str) -> None:
    f = program(name, "float64")
    assert " lanes 32 parallel masked" in stage_text([f], "nest", OPTIONS)
    lower([f], OPTIONS)


def test_sums_that_keep_their_order_have_none() -> None:
    assert "lanes" not in stage_text([program("sums of rows", "float64")], "nest", replace(OPTIONS, fp="strict"))
