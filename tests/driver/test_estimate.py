"""Counts of floating point operations, against counts by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.api.cost.work import flops_of
from aotensor.core.dtypes import itemsize
from aotensor.core.polynomial import Polynomial
from aotensor.driver.function_spec import work_of
from aotensor.driver.recipe import Options, lower
from aotensor.graph.variable import Variable
from aotensor.passes.estimate import count_flops
from aotensor.passes.target import Target


def _flops(inputs: list[Variable], output: Variable, facts: Target) -> str:
    f = aot.function(inputs, output, name="f")
    shapes = [x.tensor_type.shape for x in (*inputs, output)]
    found = count_flops(lower([f], Options(facts=facts), texts=()).module, "f.kernel", shapes)
    assert found.is_exact
    return str(found)


def _vector(name: str) -> Variable:
    return at.vector(name, shape=("n",))


def _square(name: str) -> Variable:
    return at.matrix(name, shape=("n", "n"))


CASES: dict[str, tuple[Callable[[], tuple[list[Variable], Variable]], str]] = {
    "add": (lambda: (lambda x, y: ([x, y], x + y))(_vector("x"), _vector("y")), "n"),
    "two ops in one loop": (lambda: (lambda x, y: ([x, y], x * y - x))(_vector("x"), _vector("y")), "2*n"),
    "inner product": (lambda: (lambda x, y: ([x, y], at.dot(x, y)))(_vector("x"), _vector("y")), "2*n"),
    "outer product": (
        lambda: (lambda x, y: ([x, y], at.outer(x, y)))(_vector("x"), at.vector("y", shape=("m",))),
        "m*n",
    ),
    "matrix by vector": (
        lambda: (lambda X, y: ([X, y], X @ y))(at.matrix("X", shape=("m", "n")), _vector("y")),
        "2*m*n",
    ),
    "products": (
        lambda: (lambda X, Y: ([X, Y], X @ Y))(at.matrix("X", shape=("m", "n")), at.matrix("Y", shape=("n", "k"))),
        "2*k*m*n",
    ),
    "static": (lambda: (lambda x: ([x], x + 1))(at.vector("x", shape=(12,))), "12"),
    "triangular system": (
        lambda: (lambda X, Y: ([X, Y], at.solve_triangular(X, Y)))(_square("X"), at.matrix("Y", shape=("n", "k"))),
        "k*n*n",
    ),
    "triangular system of a vector": (
        lambda: (lambda X, y: ([X, y], at.solve_triangular(X, y)))(_square("X"), _vector("y")),
        "n*n",
    ),
    "Cholesky factor": (lambda: (lambda X: ([X], at.cholesky(X)))(_square("X")), "0.333333333333*n*n*n"),
    "inverse": (lambda: (lambda X: ([X], at.inv(X)))(_square("X")), "2*n*n*n"),
    "copy": (lambda: (lambda X: ([X], X.T))(at.matrix("X", shape=("m", "n"))), "0"),
}


@pytest.mark.parametrize("facts", [Target(), Target(loops_together=0, smallest_function=1)], ids=["usual", "outlined"])
@pytest.mark.parametrize("name", CASES)
def test_counts(name: str, facts: Target) -> None:
    make, expected = CASES[name]
    assert _flops(*make(), facts) == expected


def test_functions_count_where_they_are_called() -> None:
    """Of a number first, then of each element: those in the loop are none of those outside of loops."""
    x, c = _vector("x"), at.scalar("c")
    f = aot.function([x, c], at.exp(x) * at.exp(c), name="f")
    module = lower([f], Options(), texts=()).module
    parts = count_flops(module, "f.kernel", [x.tensor_type.shape, (), x.tensor_type.shape]).parts
    assert parts["scalar"].number() and "n" in str(parts["f64"])


def test_parts_of_chunks_are_not_taken_from_the_sum() -> None:
    """Adding them up begins with the second one, of which there may be none."""
    A, x = sp.csr_matrix("A", shape=("m", "n")), at.vector("x", shape=("m",))
    module = lower([aot.function([A, x], A.T @ x, name="f")], Options(), texts=()).module
    found = count_flops(module, "f.kernel", [("m", "n"), ("A_nnz",), ("A_nnz",), (None,), ("m",), ("n",)])
    assert not found.is_exact and all(factor >= 0 for factor in found.flops.terms.values())


def test_polynomials() -> None:
    n, m = Polynomial.from_value("n"), Polynomial.from_value("m")
    assert str(n * n * Polynomial.from_value(3) + m * n + Polynomial.from_value(2)) == "m*n + 3*n*n + 2"
    assert str(n - n) == "0"
    quotient = (n * m).divide(m)
    assert quotient is not None and str(quotient) == "n"
    assert n.divide(n + m) is None
    assert (n - n).number() == 0 and n.number() is None
    block = Polynomial.from_value("#1")
    assert (n * block).has_unknowns() and str((n * block).without_unknowns()) == "n"


def test_powers_of_a_number_are_no_extents() -> None:
    """2^y of integers by squaring: the estimate squared a number that no extent reaches, and never came back."""
    y = at.vector("y", dtype="int64", shape=("n",))
    f = aot.function([y], at.pow(at.constant(2, dtype="int64"), y), name="powers")
    np.testing.assert_array_equal(f(np.array([0, 1, 10, 62])), [1, 2, 1024, 1 << 62])


def test_a_loop_over_a_number_is_counted_by_that_number(tmp_path: Path) -> None:
    """T is an input, not an extent; without its value a step is what a call does at least."""
    T, h0, W = at.lscalar("T"), at.vector("h0", shape=("k",)), at.matrix("W", shape=("k", "k"))
    states = aot.scan(lambda h, W: W @ h, outputs_info=[h0], non_sequences=[W], n_steps=T, return_updates=False)
    library = aot.compile(aot.function([T, h0, W], states[-1], name="steps"), tmp_path, opt_level=0).load()
    assert json.loads(library.section("work")) == {"steps": "2*T*k*k"}
    assert flops_of(library, "steps", {"T": 7, "k": 3}) == (2 * 7 * 9, True)
    assert flops_of(library, "steps", {"k": 3}) == (2 * 9, False)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int8", "int16", "int64"])
def test_bytes_are_those_of_the_dtype(dtype: str) -> None:
    x, y = (at.vector(name, dtype=dtype, shape=("n",)) for name in "xy")
    f = aot.function([x, y], at.maximum(x, y), name="f")
    module = lower([f], Options(), texts=()).module
    found = count_flops(module, "f.kernel", [("n",)] * 3)
    assert str(found.parts["bytes"]) == f"{3 * itemsize(dtype)}*n"


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_bytes_of_masked_stores_are_those_of_their_lanes(dtype: str) -> None:
    """A row of three numbers is one masked vector, which is stored as a whole."""
    S, Y = sp.csr_matrix("S", dtype=dtype), at.matrix("Y", dtype=dtype, shape=(None, 3))
    lowered = lower([aot.function([S, Y], S @ Y, name="f")], Options(cpu="x86-64-v4"), texts=())
    assert "vector.maskedstore" in str(lowered.module)
    found = work_of(lowered.module, lowered.specs()[0]).parts["bytes"]
    assert found.terms[(("S_0", 1),)] >= 3 * itemsize(dtype)
