"""Elementary functions that are called have the bits of those that are inlined, of numbers and of vectors."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import scipy.special

import aotensor as aot
import aotensor.tensor as at
from aotensor.graph.passes.pipeline import DEFAULT

ALWAYS = str(DEFAULT).replace("outline-math", "outline-math{operations=0}")
ONE = (
    at.exp, at.exp2, at.expm1, at.log, at.log2, at.log10, at.log1p, at.sin, at.cos, at.tan, at.arcsin, at.arccos,
    at.arctan, at.sinh, at.cosh, at.tanh, at.arcsinh, at.arccosh, at.arctanh, at.erf, at.erfc, at.gammaln, at.psi,
    at.sigmoid, at.softplus, at.log1mexp, at.i0, at.i1, at.j0, at.j1,
)  # fmt: skip
LEVELS = ("x86-64-v2", "x86-64-v3", "x86-64-v4")
SPECIAL = (0.0, -0.0, 1.0, -1.0, 1e-300, 1e300, 2.0**21, -1e22, np.inf, -np.inf, np.nan)


def numbers(dtype: str) -> np.ndarray[Any, Any]:
    """Of all magnitudes, angles that are far among them; 83 fill no whole number of vectors."""
    rng = np.random.default_rng(3)
    with np.errstate(over="ignore", under="ignore"):
        return np.concatenate(
            [SPECIAL, rng.normal(size=40), rng.normal(size=32) * 10.0 ** rng.integers(-20, 20, 32)]
        ).astype(dtype)


def program(x: Any, passes: str) -> aot.Function:
    return aot.function([x], [*(f(x) for f in ONE), x**1.7, at.arctan2(x, 1 - x)], name="f", passes=passes)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("cpu", LEVELS)
def test_calls_have_the_bits_of_inlined_code(dtype: str, cpu: str, tmp_path: Any) -> None:
    """With --fp strict: elsewhere LLVM contracts products and sums by what stands beside them."""
    x, given = at.vector("x", dtype=dtype, shape=("n",)), numbers(dtype)
    results = []
    for name, passes in (("inlined", str(DEFAULT)), ("called", ALWAYS)):
        made = aot.compile(program(x, passes), tmp_path / name, cpu=cpu, fp="strict")
        results.append(made.load().f(given))
    for function, inlined, called in zip([*ONE, "pow", "arctan2"], *results, strict=True):
        np.testing.assert_array_equal(inlined, called, err_msg=str(function))


def test_numbers_and_vectors_agree_with_scipy() -> None:
    x, s, given = at.dvector("x"), at.dscalar("s"), numbers("float64")
    chosen = [at.sin, at.tanh, at.erf, at.exp]
    f = aot.function([x, s], [g(v) for g in chosen for v in (x, s)], name="f", passes=ALWAYS)
    with np.errstate(all="ignore"):
        wanted = [g(v) for g in (np.sin, np.tanh, scipy.special.erf, np.exp) for v in (given, 0.7)]
    for result, value in zip(f(given, 0.7), wanted, strict=True):
        np.testing.assert_allclose(result, value, rtol=1e-15)


def test_a_loop_calls_functions_of_vectors() -> None:
    x = at.dvector("x")
    f = aot.function([x], at.sin(x) * at.exp(x), name="f", passes=ALWAYS)
    text = f.ir("llvm-opt")
    lanes = {int(n) for n in re.findall(r"call <\d+ x double> @aot\.sin\.f64\.x(\d+)\(", text)}
    assert len(lanes) == 1 and lanes <= {2, 4, 8}
    assert re.search(r"call (fastcc )?double @aot\.sin\.f64\.outlined\(", text), "of what is left"


def test_short_programs_inline() -> None:
    x, s = at.dvector("x"), at.dscalar("s")
    for f in (aot.function([x], at.sin(at.exp(x)), name="f"), aot.function([s], at.sin(at.exp(s)), name="f")):
        assert "outlined" not in f.ir("llvm")


def test_vectors_that_share_nothing_have_loops_of_their_own() -> None:
    """A loop through all of many vectors costs LLVM the square of their number, and saves nothing."""
    xs = [at.vector(f"x{k}", dtype="float64", shape=("n",)) for k in range(40)]
    f = aot.function(xs, sum((x * x).sum() for x in xs), name="f")
    assert len(set(re.findall(r"private @f\.chunk\d+", f.ir("loops")))) in range(2, 8)
    values = [np.full(5, float(k)) for k in range(40)]
    np.testing.assert_allclose(f(*values), sum(5.0 * k * k for k in range(40)))
