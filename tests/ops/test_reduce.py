"""Reductions: result types, and what is refused, when built and at run time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import aotensor.tensor as at
from aotensor import function
from aotensor.core.types import TensorType
from aotensor.gradient import DisconnectedInputError, grad
from aotensor.graph.variable import Variable
from aotensor.graph.vectorize import vectorize_graph
from aotensor.ops.linalg.norms import norm
from aotensor.ops.reduce.extremum import argmax, max, max_or_limit, min, min_or_limit
from aotensor.ops.reduce.moments import std, var
from aotensor.ops.reduce.normalise import logsumexp, softmax
from aotensor.ops.reduce.quantiles import median
from aotensor.ops.reduce.sort import sort


def symbol(dtype: str, *dims: Any) -> Variable:
    return Variable(TensorType(dtype, dims), name="x")


@pytest.mark.shows("tensor/4-axes", "tensor/11-cumsum")
@pytest.mark.parametrize(
    ("dtype", "total", "average", "largest", "soft"),
    [
        ("bool", "int64", "float64", "bool", "float32"),
        ("int8", "int64", "float64", "int8", "float32"),
        ("int32", "int64", "float64", "int32", "float64"),
        ("uint8", "uint64", "float64", "uint8", "float32"),
        ("uint64", "uint64", "float64", "uint64", "float64"),
        ("float32", "float32", "float32", "float32", "float32"),
        ("float64", "float64", "float64", "float64", "float64"),
    ],
)
def test_result_dtypes(dtype: str, total: str, average: str, largest: str, soft: str) -> None:
    x = symbol(dtype, None)
    assert [f(x).dtype for f in (at.sum, at.prod, at.cumsum, at.cumprod)] == [total] * 4
    assert [f(x).dtype for f in (at.mean, var, std, norm, median)] == [average] * 5
    assert [f(x).dtype for f in (max, min, sort)] == [largest] * 3
    assert [f(x).dtype for f in (softmax, logsumexp)] == [soft] * 2
    assert at.any(x).dtype == at.all(x).dtype == "bool"
    assert argmax(x).dtype == "int64"


def test_names_of_the_other_dims_stay() -> None:
    x = symbol("float64", "n", 3, None)
    assert x.sum(axis=1).type.shape == ("n", None)
    assert x.mean(axis=-1, keepdims=True).type.shape == ("n", 3, 1)
    assert max(x, axis=(0, 2)).type.shape == (3,)
    assert logsumexp(x, axis=0).type.shape == (3, None)
    assert softmax(x, axis=0).type.shape == ("n", 3, None)
    assert x.cumsum(axis=0).type.shape == ("n", 3, None)


REDUCTIONS = [at.sum, at.prod, at.mean, at.any, at.all, max, min, argmax, var, std, norm, logsumexp, softmax, median]


@pytest.mark.shows("tensor/4-axes")
@pytest.mark.parametrize("reduce", REDUCTIONS, ids=lambda f: f.__name__)
def test_axes_are_checked(reduce: Any) -> None:
    x = symbol("float64", 2, 3)
    with pytest.raises(ValueError, match="axis 2 is out of range for rank 2"):
        reduce(x, axis=2)
    with pytest.raises(ValueError, match="names one axis twice"):
        reduce(x, axis=(0, -2))
    with pytest.raises(TypeError, match="axis must be an int, a sequence of ints or None"):
        reduce(x, axis=[0.5])


@pytest.mark.shows("tensor/0-zero-size")
@pytest.mark.parametrize("kind", [max, min, argmax], ids=lambda f: f.__name__)
def test_the_extremum_of_nothing(kind: Any) -> None:
    with pytest.raises(ValueError, match="axis 1 is empty"):
        kind(symbol("float64", 2, 0), axis=1)
    x = symbol("float64", None, None)
    with pytest.raises(ValueError, match="axis 0 is empty"):
        kind(x, axis=0).eval({x: np.zeros((0, 3))})


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("op", ["median", "quantile", "percentile"])
def test_a_quantile_of_nothing(op: str, axis: int | None) -> None:
    """Named by op, axis and line, compiled too; a batch counts the axes of its elements."""
    call = getattr(at, op)
    build = call if op == "median" else lambda x, axis: call(x, 0.3, axis=axis)
    extents = [(0, 3), (0, 3), (3, 0)][0 if axis is None else axis + 1]
    message = rf"x at test_reduce\.py:\d+: {op}: axis {axis or 0} is empty"
    x = at.matrix("x", shape=("n", "m"))
    f = function([x], build(x, axis=axis), name="f")
    for run in (f.reference, f):
        with pytest.raises(ValueError, match=message):
            run(np.zeros(extents))
    np.testing.assert_allclose(f.reference(np.ones((2, 2))), np.ones(() if axis is None else 2))
    with pytest.raises(ValueError, match=rf"{op}: axis {axis or 0} is empty"):
        build(symbol("float64", *extents), axis=axis)
    rows = at.tensor3("rows")
    batch = vectorize_graph(build(x, axis=axis), {x: rows})
    with pytest.raises(ValueError, match=rf"{op}: axis {axis or 0} is empty"):
        batch.eval({rows: np.zeros((2, *extents))})
    assert batch.eval({rows: np.zeros((0, 2, 2))}).shape[0] == 0


def test_interpolation_between_no_points() -> None:
    xp = at.vector("xp", shape=("n",))
    f = function([xp], at.interp(0.5, xp, xp), name="f")
    for run in (f.reference, f):
        with pytest.raises(ValueError, match=r"interp: xp: axis 0 is empty"):
            run(np.zeros(0))


def test_positions_have_no_gradient() -> None:
    x = symbol("float64", None)
    with pytest.raises(DisconnectedInputError):
        grad(at.cast(argmax(x), "float64"), x)


def test_norms_that_do_not_fit() -> None:
    x = symbol("float64", 2, 3, 4)
    with pytest.raises(ValueError, match="needs one axis or two"):
        norm(x, 1)
    with pytest.raises(ValueError, match="not defined for a vector"):
        norm(x, "fro", axis=1)
    with pytest.raises(ValueError, match="not defined for a matrix"):
        norm(x, 3, axis=(0, 1))


@pytest.mark.shows("tensor/11-logsumexp")
def test_logsumexp_in_higher_order(rng: np.random.Generator) -> None:
    """The Hessian of logsumexp is diag(s) − s·sᵀ."""
    x = symbol("float64", None)
    point = rng.normal(size=4)
    s = np.exp(point) / np.exp(point).sum()
    derivative = grad(logsumexp(x), x)
    rows = [grad(derivative[k], x).eval({x: point}) for k in range(4)]
    np.testing.assert_allclose(rows, np.diag(s) - np.outer(s, s), rtol=1e-12, atol=1e-15)


@pytest.mark.shows("tensor/11-prod-second")
def test_second_derivative_of_a_product_with_zeros() -> None:
    x = symbol("float64", None)
    derivative = grad(at.prod(x), x)
    rows = [grad(derivative[k], x).eval({x: [2.0, 0.0, 4.0]}) for k in range(3)]
    np.testing.assert_array_equal(rows, [[0, 4, 0], [4, 0, 2], [0, 2, 0]])


@pytest.mark.shows("tensor/11-lengths")
def test_lengths_are_flat_at_0_in_every_order() -> None:
    x = symbol("float64", None)
    first = grad(norm(x), x)
    np.testing.assert_array_equal(first.eval({x: np.zeros(2)}), [0, 0])
    np.testing.assert_array_equal(grad(at.sum(first), x).eval({x: np.zeros(2)}), [0, 0])


def test_derivatives_of_a_running_product_take_linear_time() -> None:
    """No n × n table: for a line of 300,000 elements that would be 720 GB."""
    x = at.dvector("x")
    derivatives = grad(at.cumprod(x).sum(), x)
    line = np.ones(300_000)
    line[200_000] = 0
    found = derivatives.eval({x: line})
    assert (found[0], found[199_999], found[200_000], found[200_001]) == (199_999 + 1, 1, 100_000, 0)


def test_options_may_be_constants_of_the_graph() -> None:
    """A static extent is a number; what is known at the call only is refused by name."""
    x, k = at.matrix("x", shape=(3, 5)), at.lscalar("k")
    assert at.tril_indices(x.shape[0])[0].type.shape == (6,)
    assert at.sum(x, axis=at.constant(1)).type.shape == (3,)
    for axis, shown in ((k, "k"), (at.constant(1.0), "1.0")):
        with pytest.raises(TypeError, match=f"sum: axis must be an int, a sequence of ints or None, not {shown}"):
            at.sum(x, axis=axis)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "uint16"])
def test_extremes_of_nothing_for_importers(dtype: str) -> None:
    """−inf and inf, or the ends of an integer dtype, along axes of 0 elements; vectors of them, too."""
    x = symbol(dtype, "n", "m")
    ends = (-np.inf, np.inf) if dtype.startswith("f") else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    total = max_or_limit(x)
    f = function([x], [total, min_or_limit(x), max_or_limit(x, axis=1), min_or_limit(x, axis=0, keepdims=True)])
    for call in (f, f.reference):
        for shape in ((0, 0), (0, 2), (2, 0)):
            found = call(np.zeros(shape, dtype))
            assert (found[0], found[1]) == ends
            np.testing.assert_array_equal(found[2], np.full(shape[0], ends[0]))
            np.testing.assert_array_equal(found[3], np.full((1, shape[1]), ends[1]))
        assert [np.ravel(y).tolist() for y in call(np.array([[3, 1], [2, 5]], dtype))] == [[5], [1], [3, 5], [2, 1]]
    if dtype.startswith("f"):
        slope = function([x], grad(total, x))
        assert slope(np.zeros((0, 2), dtype)).shape == (0, 2)
        assert slope(np.array([[3, 1], [2, 5]], dtype)).tolist() == [[0, 0], [0, 1]]
