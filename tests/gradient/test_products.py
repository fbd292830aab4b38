"""Lop, Rop, hessian_vector_product and subgraph_grad in detail: containers, shapes, dtypes, sums, disconnection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from executions import both

import aotensor as aot
import aotensor.tensor as at
from aotensor.errors import DisconnectedInputError
from aotensor.gradient import Lop, Rop, grad, hessian_vector_product, subgraph_grad
from aotensor.graph.variable import Variable

X, Y = at.dscalars("x", "y")
V, W, U = at.dvectors("v", "w", "u")
M = at.dmatrix("m")
E = np.array([1.0, 2.0, 3.0])
VALUES = {V: E, W: 2 * E, U: E, M: np.arange(6.0).reshape(2, 3), X: 2.0, Y: 3.0}


# --- Lop -------------------------------------------------------------------------------------------------------------


@pytest.mark.shows("gradient/5-lop-formula", "gradient/5-points", "gradient/5-numpy-points", "gradient/5-repeated-f")
@pytest.mark.shows("gradient/5-adds", "gradient/5-identical", "gradient/13-lop", "gradient/13-lop-two")
def test_lop_numbers() -> None:
    f = V**2
    found = both(
        [
            Lop(f, V, E),
            Lop([f, 3 * V], V, [E, E]),
            Lop([f, f], V, [E, E]),
            Lop([f, 2 * f], V, [E, E]),
            Lop(V, V, E),
            Lop(M @ V, V, np.array([1.0, 10.0])),
            Lop(f, V, U),
        ],
        VALUES,
    )
    expected = [[2, 8, 18], [5, 14, 27], [4, 16, 36], [6, 24, 54], E, [30, 41, 52], [2, 8, 18]]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.shows("gradient/5-adds")
def test_lop_of_one_variable_listed_with_another_that_depends_on_it() -> None:
    """Contributions add up, also where one f is on the way to another; known_grads alone replaces."""
    f = V**2
    g = at.sum(f * W)
    (found,) = both([Lop([g, f], V, [np.float64(2.0), E])], VALUES)
    np.testing.assert_array_equal(found, 2 * (2 * E) * (2 * E) + E * 2 * E)


@pytest.mark.shows("gradient/5-container", "gradient/5-lop-formula")
def test_lop_container_and_shape_follow_wrt() -> None:
    f = V**2 * X
    assert isinstance(Lop([f], V, [E]), Variable)
    assert isinstance(Lop(f, [V], E), list)
    assert isinstance(Lop(f, (V, X), E), tuple)
    assert [x.ndim for x in Lop(f, [V, X], E)] == [1, 0]
    assert Lop(f, [], E) == []


@pytest.mark.shows("gradient/5-length", "gradient/5-rank", "gradient/5-points")
@pytest.mark.parametrize(
    ("f", "points", "text"),
    [
        (V**2, [E, E], "2 eval_points for 1"),
        ([V**2, V], [E], "1 eval_points for 2"),
        (V**2, np.float64(1.0), r"eval_points\[0\]"),
        (V**2, np.ones((3, 3)), r"eval_points\[0\]"),
        ([V, V.sum()], [E, E], r"eval_points\[1\]"),
        (at.dvector(shape=(3,)) * 2, np.ones(2), r"eval_points\[0\]"),
    ],
)
def test_lop_checks_number_and_shape_of_eval_points(f: Any, points: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        Lop(f, V, points, disconnected_inputs="ignore")


@pytest.mark.shows("gradient/5-run-time-shape")
def test_extents_that_differ_at_run_time() -> None:
    for expression in (Lop(V**2, V, W), Rop(V**2, V, W)):
        f = aot.function([V, W], expression)
        for call in (f, f.reference):
            with pytest.raises(ValueError, match="extent"):
                call(E, np.ones(2))


@pytest.mark.shows("gradient/5-integer-points")
def test_integer_eval_points_are_read_as_floats() -> None:
    ones = np.array([1, 2, 3])
    found = both([Lop(V**2, V, ones), Rop(V**2, V, ones), Lop(V**2, V, at.constant(ones))], VALUES)
    for one in found:
        np.testing.assert_array_equal(one, [2, 8, 18])


@pytest.mark.shows("gradient/5-empty", "gradient/5-nothing-connects")
def test_lop_disconnection() -> None:
    for f, points in (([], []), (W**2, E), ([W], [E])):
        with pytest.raises(DisconnectedInputError):
            Lop(f, V, points)
        found = Lop(f, V, points, disconnected_inputs="ignore")
        np.testing.assert_array_equal(found.eval({V: E}), np.zeros(3))
    f = V**2
    with pytest.raises(DisconnectedInputError):
        Lop(f * W, V, E, consider_constant=[f])
    assert Lop(W, V, E, disconnected_inputs="ignore", return_disconnected="none") is None


def test_lop_consider_constant() -> None:
    f = V**2
    np.testing.assert_array_equal(Lop(f * V, V, E, consider_constant=[f]).eval({V: E}), E**3)


# --- Rop -------------------------------------------------------------------------------------------------------------


@pytest.mark.shows("gradient/5-rop-formula", "gradient/5-points", "gradient/5-numpy-points")
@pytest.mark.shows("gradient/5-rop-intermediate", "gradient/5-identical", "gradient/13-rop", "gradient/13-rop-two")
@pytest.mark.shows("gradient/13-rop-matrix", "gradient/13-rop-integer")
def test_rop_numbers() -> None:
    u = 3 * V
    i = at.constant(np.array([1, 2, 3]))
    found = both(
        [
            Rop(V**2, V, E),
            Rop(V * W, [V, W], [np.ones(3), np.ones(3)]),
            Rop(M @ V, M, np.eye(2, 3)),
            Rop(V, V, E),
            Rop(u**2 * V, u, np.ones(3)),
            Rop(2.5 * i, i, np.array([1.5, 2.5, 3.5])),
            Rop(V**2, [V, V], [E, E]),
            Rop(at.set_subtensor(V[1:], W[:-1] ** 2), [V, W], [np.ones(3), np.ones(3)]),
        ],
        VALUES,
    )
    expected: list[Any] = [
        [2, 8, 18], [3, 6, 9], [1, 2], E, [6, 24, 54], [3.75, 6.25, 8.75], [4, 16, 36], [1, 4, 8],
    ]  # fmt: skip
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.shows("gradient/5-container", "gradient/5-rop-formula", "gradient/5-empty")
def test_rop_container_and_shape_follow_f() -> None:
    f, g = V**2 * X, V.sum()
    assert isinstance(Rop(f, [V], [E]), Variable)
    assert isinstance(Rop([f], V, E), list)
    assert isinstance(Rop((f, g), V, E), tuple)
    assert [x.ndim for x in Rop([f, g], V, E)] == [1, 0]
    assert Rop([], V, E) == []


@pytest.mark.shows("gradient/5-length", "gradient/5-rank", "gradient/5-points")
@pytest.mark.parametrize(
    ("wrt", "points", "text"),
    [
        (V, [E, E], "2 eval_points for 1"),
        ([V, W], [E], "1 eval_points for 2"),
        (V, np.eye(3), r"eval_points\[0\]"),
        ([V, X], [E, E], r"eval_points\[1\]"),
    ],
)
def test_rop_checks_number_and_shape_of_eval_points(wrt: Any, points: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        Rop(V**2 * W * X, wrt, points)


@pytest.mark.shows("gradient/5-reachable", "gradient/5-per-output", "gradient/5-nothing-connects")
def test_rop_judges_each_output_by_itself() -> None:
    with pytest.raises(DisconnectedInputError, match="does not depend on any wrt"):
        Rop([V**2, W**2], V, E)
    with pytest.raises(DisconnectedInputError):
        Rop(at.zeros_like(V), V, E)
    first, second = Rop([V**2, W[:2] ** 2], V, E, disconnected_outputs="ignore")
    assert both([first, second], VALUES)[1].shape == (2,)
    with pytest.warns(UserWarning, match="does not depend") as caught:
        Rop([V**2, W**2], V, E, disconnected_outputs="warn")
    assert len(caught) == 1


@pytest.mark.shows("gradient/5-rop-zero")
def test_rop_zero_has_shape_and_dtype_of_the_output() -> None:
    f = at.fmatrix("f")
    zero = Rop(f, V, E, disconnected_outputs="ignore")
    assert (zero.dtype, zero.eval({f: np.ones((2, 2), "float32")}).shape) == ("float32", (2, 2))


@pytest.mark.shows("gradient/5-direct")
def test_rop_of_a_linear_function_is_the_function() -> None:
    for f in (2 * V, V[::-1], V.sum(), at.concatenate([V, V]), M @ V):
        (tangent, value) = both([Rop(f, V, E), f], VALUES)
        np.testing.assert_array_equal(tangent, value)


@pytest.mark.shows("gradient/5-integer-points", "gradient/13-rop-integer")
def test_rop_keeps_float_tangents_of_integers() -> None:
    i = at.ivector("i")
    points = np.array([1.5, 2.5, 3.5])
    np.testing.assert_array_equal(Rop(2.5 * i, i, points).eval({}), [3.75, 6.25, 8.75])
    np.testing.assert_array_equal(Rop(i, i, points).eval({}), points)


# --- hessian_vector_product ------------------------------------------------------------------------------------------


@pytest.mark.shows("gradient/6-hvp", "gradient/6-hvp-linear", "gradient/13-hvp")
def test_hessian_vector_product_numbers_and_containers() -> None:
    single = hessian_vector_product(at.sum(V**3), V, np.ones(3))
    linear = hessian_vector_product(at.sum(2 * V), V, np.ones(3))
    pair = hessian_vector_product(at.sum(V**2 * W), (V, W), (np.ones(3), np.zeros(3)))
    matrix = hessian_vector_product(at.sum(M**3), M, np.ones((2, 3)))
    scalar = hessian_vector_product(X**3, [X], [np.float64(2.0)])
    assert isinstance(pair, tuple)
    assert isinstance(scalar, list)
    found = both([single, linear, *pair, matrix, *scalar], VALUES)
    expected = [6 * E, 0 * E, 4 * E, 2 * E, 6 * VALUES[M], 24.0]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.shows("gradient/6-hvp")
def test_hessian_vector_product_takes_options_of_grad() -> None:
    u = V * W
    cost = at.sum(u**2 * V)
    found = hessian_vector_product(cost, V, np.ones(3), consider_constant=[u])
    np.testing.assert_array_equal(found.eval({V: E, W: E}), 2 * E**2 * E)
    with pytest.raises(DisconnectedInputError):
        hessian_vector_product(cost, U, np.ones(3))
    with pytest.raises(ValueError, match="2 directions for 1"):
        hessian_vector_product(cost, V, [E, E])
    with pytest.raises(ValueError, match=r"eval_points\[0\]"):
        hessian_vector_product(cost, V, M)


# --- subgraph_grad ---------------------------------------------------------------------------------------------------

W1, W2 = at.dscalars("w1", "w2")
H = W1 * X
COST = (W2 * H) ** 2
POINT = {X: 2.0, W1: 3.0, W2: 5.0}


def at_point(variables: Sequence[Variable]) -> list[float]:
    """Values at x = 2, w1 = 3, w2 = 5."""
    return [float(x) for x in aot.function(list(POINT), list(variables), on_unused_input="ignore")(*POINT.values())]


@pytest.mark.shows("gradient/7-purpose", "gradient/7-returns", "gradient/7-numbers", "gradient/13-subgraph")
def test_subgraph_grad_numbers() -> None:
    (for_w2,), (for_h,) = subgraph_grad([W2], [H], cost=COST)
    assert at_point([for_w2, for_h]) == [360, 300]
    wrt, end = subgraph_grad([W1], [X], start={H: for_h})
    assert at_point([*wrt, *end]) == [600, 900]


@pytest.mark.shows("gradient/7-total", "gradient/7-twice")
def test_subgraph_grad_adds_start_and_cost_as_told() -> None:
    """Also where the caller counts a part twice: that is his to avoid."""
    _, (for_h,) = subgraph_grad([W2], [H], cost=COST)
    wrt, end = subgraph_grad([W1], [X], start={H: for_h}, cost=COST)
    assert at_point([*wrt, *end]) == [1200, 1800]
    wrt, end = subgraph_grad([W1], [X], start={H: for_h}, cost=W1**2)
    assert at_point([*wrt, *end]) == [606, 900]


@pytest.mark.shows("gradient/7-details")
def test_subgraph_grad_details_are_fresh_lists_aligned_with_wrt() -> None:
    _, (for_h,) = subgraph_grad([W2], [H], cost=COST)
    wrt, end, from_start, from_cost = subgraph_grad([W1], [X], start={H: for_h}, cost=W1**2, details=True)
    assert at_point([*wrt, *end, *from_start, *from_cost]) == [606, 900, 600, 6]
    *_, from_start, from_cost = subgraph_grad([W2], [H], cost=COST, details=True)
    assert from_start is None
    assert at_point(from_cost) == [360]
    *_, from_start, from_cost = subgraph_grad([W1], [X], start={H: for_h}, details=True)
    assert from_cost is None
    assert at_point(from_start) == [600]


@pytest.mark.shows("gradient/7-behind", "gradient/7-both", "gradient/7-disconnected")
def test_subgraph_grad_cuts_behind_end() -> None:
    wrt, end = subgraph_grad([W1, W2], [H], cost=COST)
    assert at_point([*wrt, *end]) == [0, 360, 300]
    wrt, end = subgraph_grad([H, W2], [H], cost=COST)
    assert at_point([*wrt, *end]) == [300, 360, 300]
    wrt, end = subgraph_grad([Y], [], cost=COST)
    assert (at_point(wrt), end) == ([0], [])


@pytest.mark.shows("gradient/7-purpose")
def test_subgraph_grad_is_the_whole_gradient() -> None:
    _, (for_h,) = subgraph_grad([W2], [H], cost=COST)
    (for_w1,), _ = subgraph_grad([W1], [X], start={H: for_h})
    assert at_point([for_w1]) == at_point([grad(COST, W1)])


@pytest.mark.shows("gradient/7-nothing", "gradient/7-types")
@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: subgraph_grad([W1], [X]), ValueError),
        (lambda: subgraph_grad((W1,), [X], cost=COST), TypeError),  # type: ignore[arg-type]
        (lambda: subgraph_grad(W1, [X], cost=COST), TypeError),  # type: ignore[arg-type]
        (lambda: subgraph_grad([W1], (X,), cost=COST), TypeError),  # type: ignore[arg-type]
        (lambda: subgraph_grad([W1], [X], start=[(H, H)]), TypeError),  # type: ignore[arg-type]
        (lambda: subgraph_grad([W1], [X], cost=V), TypeError),
    ],
)
def test_subgraph_grad_checks_its_arguments(call: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        call()
