"""Products: result types, named dims, what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import aotensor as aot
import aotensor.tensor as at
from aotensor.core.types import TensorType
from aotensor.gradient import grad
from aotensor.graph.variable import Variable
from aotensor.graph.walk import toposort


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
        (
            lambda: at.tensordot(symbol(2, 3), symbol(3), 2),
            ValueError,
            "axes is 2, but the operands have ranks 2 and 1",
        ),
        (lambda: at.tensordot(symbol(2, 3), symbol(3), [[0, 1], [0]]), ValueError, "2 axes of x for 1 of y"),
        (lambda: at.tensordot(symbol(2, 3), symbol(3), [[0], [0]]), ValueError, "inner dimensions differ, 2 and 3"),
        (lambda: at.einsum(symbol(2), symbol(3)), TypeError, "subscripts must be a str"),
        (lambda: at.einsum("i,j", symbol(2)), ValueError, "2 terms in 'i,j' for 1 operands"),
        (lambda: at.einsum("i1", symbol(2, 3)), ValueError, "'i1' is not a list of letters"),
        (lambda: at.einsum("......", symbol(2, 3)), ValueError, "at most one '...'"),
        (lambda: at.einsum("ij", symbol(2)), ValueError, "'ij' does not fit an operand of rank 1"),
        (lambda: at.einsum("i", symbol(2, 3)), ValueError, "'i' does not fit an operand of rank 2"),
        (lambda: at.einsum("i->j", symbol(2)), ValueError, "has one that no operand has"),
        (lambda: at.einsum("i->ii", symbol(2)), ValueError, "repeats a letter"),
        (lambda: at.einsum("...i->i", symbol(2, 3)), ValueError, "so the result must have it too"),
        (lambda: at.einsum("ii", symbol(2, 3)), ValueError, "extent 3 along axis 1 instead of 2"),
        (lambda: at.einsum("ij,jk", symbol(2, 3), symbol(4, 5)), ValueError, "inner dimensions differ, 3 and 4"),
        (lambda: at.batched_dot(symbol(3), symbol(3)), TypeError, "expected operands of rank 2 or 3"),
        (
            lambda: at.matrix_dot(symbol(2, 3), symbol(3), symbol(3, 2)),
            TypeError,
            "first and the last operand may be vectors",
        ),
        (lambda: at.matrix_dot(), TypeError, "expected matrices"),
        (lambda: at.matrix_power(symbol(2, 3), 2), ValueError, "expected a square matrix, found 2 by 3"),
        (lambda: at.matrix_power(symbol(2), 2), TypeError, "expected a rank of at least 2"),
        (lambda: at.matrix_power(symbol(2, 2), 0.5), TypeError, "n must be an int, not 0.5"),
    ],
)
def test_what_is_refused_when_built(build: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        build()


def test_what_is_refused_at_run_time() -> None:
    x, y = symbol(None, None), symbol(None)
    with pytest.raises(ValueError, match="inner dimensions differ, 3 and 2"):
        at.dot(x, y).eval({x: np.zeros((2, 3)), y: np.zeros(2)})


@pytest.mark.parametrize(
    ("formula", "shapes", "text"),
    [
        ("ii", [(2, 3)], "extent 3 along axis 1 instead of 2"),
        ("ij,jk", [(2, 3), (4, 5)], "inner dimensions differ, 3 and 4"),
        ("bi,bi->b", [(2, 3), (1, 3)], "batch dimensions differ, 2 and 1"),
    ],
)
def test_what_einsum_refuses_at_run_time(formula: str, shapes: list[tuple[int, ...]], text: str) -> None:
    xs = [symbol(*(None for _ in shape)) for shape in shapes]
    with pytest.raises(ValueError, match=text):
        at.einsum(formula, *xs).eval({x: np.ones(shape) for x, shape in zip(xs, shapes, strict=True)})


def test_einsum_contracts_what_shrinks_most_first() -> None:
    """A chain of matrices is multiplied from the thin end, and two vectors never make a matrix on the way."""
    shapes = [(1000, 10), (10, 1000), (1000, 10)]
    chain = at.matrix_dot(*(symbol(*shape) for shape in shapes))
    assert chain.owner.inputs[1].type.shape == (10, 10)
    form = at.einsum("i,j,ij->", symbol("n"), symbol("m"), symbol("n", "m"))
    assert [x.ndim for x in form.owner.inputs] == [1, 1]


def test_a_chain_may_be_longer_than_the_alphabet() -> None:
    x = symbol(2, 2)
    found = at.matrix_dot(*[x] * 60).eval({x: [[1.0, 1.0], [0.0, 1.0]]})
    np.testing.assert_array_equal(found, [[1, 60], [0, 1]])


def test_powers_square_repeatedly() -> None:
    power = at.matrix_power(symbol("n", "n"), 1000)
    assert len(toposort([power])) == 14  # nine squares, five products


def test_errors_name_the_operands() -> None:
    with pytest.raises(ValueError) as caught:
        at.dot(symbol(3, 4), symbol(5))
    assert str(caught.value).startswith("dot: inner dimensions differ, 4 and 5\n  x: float64[3, 4]   made at ")


@pytest.mark.parametrize("formula", ["abc,cd->abd", "abc,bd->adc", "abc,dcb->ad", "abc,cbd->da", "cab,bc->a"])
def test_groups_of_axes_make_a_product_of_matrices(formula: str) -> None:
    """Kernels, and BLAS, see them as one axis; there is none where a group is empty."""
    left, right = formula.split("->")[0].split(",")
    x, y = symbol(*left), symbol(*right)
    loops = aot.function([x, aot.In(y, name="y")], at.einsum(formula, x, y), name="grouped").ir("loops")
    assert ("aot_gemm" in loops) == (formula != "cab,bc->a")


def test_gradients_of_products_are_products() -> None:
    """No transposition is materialised: the cotangent meets the operand with other letters."""
    x, w = symbol("n", "k"), symbol("k")
    derivative = grad(at.sum(at.dot(x, w)), w)
    assert str(derivative.owner.op) == "dot{spec=ik,i->k}"
    assert derivative.owner.inputs[0] is x
