"""Products: result types, named dims, what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import aotensor.tensor as at
from aotensor.core.types import TensorType
from aotensor.gradient import grad
from aotensor.graph.variable import Variable


def symbol(*dims: Any, dtype: str = "float64") -> Variable:
    return Variable(TensorType(dtype, dims), name="x")


def test_names_pass_through() -> None:
    assert at.dot(symbol("n", "k"), symbol("k", "m")).type.shape == ("n", "m")
    assert (symbol("b", "n", 3) @ symbol("b", 3, None)).type.shape == ("b", "n", None)
    assert (symbol(1, "n", "k") @ symbol(None, "k", 2)).type.shape == (None, "n", 2)
    assert at.outer(symbol("n"), symbol("m")).type.shape == ("n", "m")
    assert at.tensordot(symbol("a", "b", 2), symbol(2, "c"), 1).type.shape == ("a", "b", "c")


@pytest.mark.parametrize(
    ("x", "y", "expected"),
    [("int8", "int8", "int8"), ("int8", "uint8", "int16"), ("bool", "bool", "bool"), ("int32", "float32", "float64")],
)
def test_result_dtypes(x: str, y: str, expected: str) -> None:
    assert at.dot(symbol(3, dtype=x), symbol(3, dtype=y)).dtype == expected


@pytest.mark.parametrize(
    ("build", "error", "text"),
    [
        (lambda: at.dot(symbol(3, 4), symbol(5)), ValueError, "dot: inner dimensions differ, 4 and 5"),
        (lambda: symbol(2, 3, 4) @ symbol(5, 4, 3), ValueError, "dot: batch dimensions differ, 2 and 5"),
        (lambda: at.dot(symbol(2, 3, 4), symbol(4)), TypeError, "use matmul or tensordot"),
        (lambda: symbol(3) @ 2.0, TypeError, r"use x \* y"),
        (lambda: at.tensordot(symbol(2, 3), symbol(3), 2), ValueError, "2 axes of ranks 2 and 1"),
        (lambda: at.tensordot(symbol(2, 3), symbol(3), [[0, 1], [0]]), ValueError, "2 axes of x for 1 of y"),
        (lambda: at.tensordot(symbol(2, 3), symbol(3), [[0], [0]]), ValueError, "inner dimensions differ, 2 and 3"),
    ],
)
def test_what_is_refused_when_built(build: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        build()


def test_what_is_refused_at_run_time() -> None:
    x, y = symbol(None, None), symbol(None)
    with pytest.raises(ValueError, match="inner dimensions differ, 3 and 2"):
        at.dot(x, y).eval({x: np.zeros((2, 3)), y: np.zeros(2)})


def test_errors_name_the_operands() -> None:
    with pytest.raises(ValueError) as caught:
        at.dot(symbol(3, 4), symbol(5))
    assert str(caught.value).startswith("dot: inner dimensions differ, 4 and 5\n  x: float64[3, 4]   made at ")


def test_gradients_of_products_are_products() -> None:
    """No transposition is materialised: the cotangent meets the operand with other letters."""
    x, w = symbol("n", "k"), symbol("k")
    slope = grad(at.sum(at.dot(x, w)), w)
    assert str(slope.owner.op) == "dot{spec=ik,i->k}"
    assert slope.owner.inputs[0] is x
