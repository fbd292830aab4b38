"""Loops of few iterations in vectors: right for every number of them, for sums, jammed loops and updates in place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from switches import OPTIONS
from xdsl.utils.exceptions import VerifyException

import aotensor as aot
import aotensor.tensor as at
from aotensor.driver.recipe import stage_text
from aotensor.ir.context import parse_module
from aotensor.ir.nest.verify import verify_nests

SOME, OTHERS = (4, 5, 8, 15, 17, 32), (7, 9, 10, 16, 23, 31)
PROGRAMS: dict[str, Callable[[Any, Any], list[Any]]] = {
    "elementwise": lambda X, W: [at.sqr(X[:, None, :] - W)],
    "updates": lambda X, W: [(at.sqr(X[:, None, :] - W)).sum(axis=0)],
    "sums of sums": lambda X, W: [at.sqr((X[:, None, :] * W).sum(axis=2)).sum(axis=1)],
    "a choice": lambda X, W: [at.switch(at.gt(X[:, None, :], W), X[:, None, :], W)],
    "value and gradient": lambda X, W: [loss(X, W), *aot.grad(loss(X, W), [X, W])],
}


def loss(X: Any, W: Any) -> Any:
    return at.sqr((at.sqr(X[:, None, :] - W)).sum(axis=2)).sum()


def program(name: str, extent: int, dtype: str = "float64") -> aot.Function:
    X, W = at.matrix("X", dtype=dtype, shape=("n", extent)), at.matrix("W", dtype=dtype, shape=(9, extent))
    return aot.function([X, W], PROGRAMS[name](X, W), name="f")


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("extents", [SOME, OTHERS], ids=["some", "others"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_vectors_agree_with_the_reference(name: str, extents: tuple[int, ...], dtype: str) -> None:
    rng = np.random.default_rng(0)
    for extent in extents:
        f = program(name, extent, dtype)
        for rows in (0, 1, 6):
            arrays = rng.normal(size=(rows, extent)).astype(dtype), rng.normal(size=(9, extent)).astype(dtype)
            for found, expected in zip(f(*arrays), f.reference(*arrays), strict=True):
                rtol = 1e-12 if dtype == "float64" else 1e-4
                np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_program_has_vectors(name: str) -> None:
    assert "lanes 8 parallel {" in stage_text([program(name, 10)], "nest", OPTIONS)


def test_sums_that_keep_their_order_have_none() -> None:
    assert "lanes" not in stage_text([program("sums of sums", 10)], "nest", replace(OPTIONS, fp="strict"))


def test_what_llvm_does_better_is_left_to_it() -> None:
    X, W = at.matrix("X", shape=("n", 10)), at.matrix("W", shape=(9, 10))
    for y in ((X * X).sum(axis=1), (X[:, None, :] * W).sum(axis=2)):  # a long loop around, and sums side by side
        assert "lanes" not in stage_text([aot.function([X, W], y, name="f", on_unused_input="ignore")], "nest", OPTIONS)
    for extent in (3, 5, 17):  # less than half a vector, a rest of one, more than two vectors
        assert "lanes" not in stage_text([program("elementwise", extent)], "nest", OPTIONS)


def test_checking_builds_look_at_one_element_at_a_time(tmp_path: Path) -> None:
    library = aot.compile(program("elementwise", 10), tmp_path, check=True).load()
    X, W = np.arange(30.0).reshape(3, 10), np.ones((9, 10))
    np.testing.assert_allclose(library.f(X, W)[0], (X[:, None, :] - W) ** 2)
    assert "lanes" not in stage_text([program("elementwise", 10)], "nest", replace(OPTIONS, check=True))


PARTS = """
func.func @f(%x: tensor<6xf64>) -> tensor<6xf64> attributes {{dims = [[""]], results = ["out0"]}} {{
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c6 = arith.constant 6 : index
  %a = nest.value : tensor<6xf64>
  nest.for %i in %c6 {{
    nest.do(%v = %x[%i] : tensor<6xf64>) -> (%o = %a[%i] : tensor<6xf64>) {{
      %e = math.exp %v : f64
      nest.yield %e : f64
    }}
  }}
  %b = nest.value over %a : tensor<6xf64> : tensor<6xf64>
  nest.for %i in %c4 {{
    nest.do(%v = %a[%i] : tensor<6xf64>) -> (%o = %b[%i] : tensor<6xf64>) {{
      nest.yield %v : f64
    }}
  }}
  nest.for %i = %{start} to %c6 {{
    nest.do(%v = %a[%i] : tensor<6xf64>) -> (%o = %b[%i] : tensor<6xf64>) {{
      nest.yield %v : f64
    }}
  }}
  func.return %b : tensor<6xf64>
}}
"""


def test_parts_of_a_loop_may_write_over_what_they_read() -> None:
    verify_nests(parse_module(PARTS.format(start="c4"), "parts.mlir"))
    with pytest.raises(VerifyException, match="overwritten before it is read for the last time"):
        verify_nests(parse_module(PARTS.format(start="c2"), "parts.mlir"))
