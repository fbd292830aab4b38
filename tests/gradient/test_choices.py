"""Single promises of the gradient module that stand in no other file, and what the ops choose among."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from executions import both

import aotensor as aot
import aotensor.tensor as at
from aotensor.errors import DisconnectedInputError, GradientError
from aotensor.gradient import (
    Rop,
    disconnected_grad,
    disconnected_type,
    grad,
    null_type,
    verify_grad,
)
from aotensor.gradient.terms import connection_pattern
from aotensor.graph.variable import Variable

X, Y, G = at.dscalars("x", "y", "g")
V, W = at.dvectors("v", "w")
M = at.dmatrix("m")
E = np.array([1.0, 2.0, 3.0])


@pytest.mark.shows("gradient/13-rop-differences")
def test_tangents_agree_with_central_differences(rng: np.random.Generator) -> None:
    """Through set_subtensor and products of matrices, where forward mode is easily forgotten."""
    f = at.set_subtensor(M[1:, 0], at.tanh(M[:-1, 1])) @ M.T @ at.outer(V, V)[: M.shape[0]]
    m, v, direction = rng.normal(size=(3, 3)), rng.normal(size=3), rng.normal(size=(3, 3))
    (tangent,) = both([Rop(f, M, direction)], {M: m, V: v})
    step = 1e-5
    ahead, behind = (f.eval({M: m + sign * step * direction, V: v}) for sign in (1, -1))
    np.testing.assert_allclose(tangent, (ahead - behind) / (2 * step), rtol=1e-7, atol=1e-9)


@pytest.mark.shows("gradient/3.4-float-cost")
def test_the_seed_has_the_dtype_of_a_floating_cost() -> None:
    f = at.fscalar("f")
    assert grad(f, f).dtype == "float32"
    assert both([grad(f * f, f)], {f: np.float32(3.0)})[0].dtype == "float32"


@pytest.mark.shows("gradient/3.4-no-zero")
@pytest.mark.parametrize("make", [null_type, disconnected_type])
def test_what_has_no_zero_cannot_be_replaced_by_one(make: Any) -> None:
    x = make("state")
    with pytest.raises(TypeError, match="state has no value, so its gradient cannot be zero") as caught:
        grad(X, x, disconnected_inputs="ignore")
    assert "return_disconnected='none'" in str(caught.value)
    assert grad(X, x, disconnected_inputs="ignore", return_disconnected="none") is None


@pytest.mark.shows("gradient/8.2-cost")
def test_the_cost_of_verify_grad_is_a_weighted_sum_of_all_elements() -> None:
    """An element whose derivative is wrong is found, whichever it is."""
    for place in np.ndindex(2, 2):
        wrong = np.ones((2, 2))
        wrong[place] = 2.0

        def fun(x: Variable, wrong: Any = wrong) -> Variable:
            return x * wrong + disconnected_grad(x) * (1 - wrong)

        with pytest.raises(GradientError, match=r"element \d"):
            verify_grad(fun, [np.ones((2, 2))], rng=np.random.default_rng(0))


@pytest.mark.shows("gradient/11-connection-pattern")
def test_elements_are_connected_by_default() -> None:
    assert connection_pattern(at.true_div(X, Y).owner) == [[True], [True]]
    ordered, order = at.sort(V).owner.outputs
    assert connection_pattern(ordered.owner) == [[True, False]]
    assert order.dtype == "int64"


@pytest.mark.shows("gradient/11-choose-discrete", "gradient/11-choose-input", "gradient/11-choose-index")
@pytest.mark.shows("gradient/11-choose-shape")
def test_what_the_built_in_ops_choose() -> None:
    """Rounding: zeros. Real formula of an integer: its derivative. Positions and extents: disconnected."""
    i, n = at.lvector("i"), at.lscalar("n")
    zeros, scaled = both([grad(at.sum(at.cast(V, "int64")), V), grad(at.sum(i * 2.5), i)], {V: E, i: np.arange(3)})
    np.testing.assert_array_equal(zeros, np.zeros(3))
    np.testing.assert_array_equal(scaled, np.full(3, 2.5))
    for cost, wrt in ((at.sum(V[i]), i), (V[n], n), (at.sum(at.alloc(X, n)), n), (at.sum(at.ones_like(V)), V)):
        with pytest.raises(DisconnectedInputError):
            grad(cost, wrt)
        with pytest.raises(DisconnectedInputError):
            Rop(cost, wrt, np.ones(wrt.ndim * (3,)))


@pytest.mark.shows("gradient/12-MaxAndArgmax-place")
def test_the_position_of_an_extremum_is_disconnected() -> None:
    value, place = at.max_and_argmax(M, axis=1)
    by_m, tangent = both(
        [grad(at.sum(value**2), M), Rop(value, M, np.arange(6.0).reshape(2, 3))], {M: [[1, 5, 2], [7, 0, 3]]}
    )
    np.testing.assert_array_equal(by_m, [[0, 10, 0], [14, 0, 0]])
    np.testing.assert_array_equal(tangent, [1, 3])
    for cost in (at.sum(at.cast(place, "float64")), at.sum(at.cast(at.argmin(M), "float64"))):
        with pytest.raises(DisconnectedInputError):
            grad(cost, M)
        with pytest.raises(DisconnectedInputError):
            Rop(cost, M, np.ones((2, 3)))


@pytest.mark.shows("gradient/12-ScalarFromTensor")
def test_a_scalar_is_a_tensor_of_rank_0() -> None:
    """No conversion stands between them, in value or derivative."""
    element = V[0]
    assert element.type == X.type
    found = both([grad(element * X, V), Rop(element * X, V, E)], {V: E, X: 2.0})
    np.testing.assert_array_equal(found[0], [2, 0, 0])
    assert found[1] == 2


@pytest.mark.shows("gradient/8.2-projection")
def test_weights_of_verify_grad() -> None:
    """From 0.5 to 1.5, in float64; in float32 where that is asked for and the output is of it."""
    seen: list[Any] = []

    def spy(inputs: Any, outputs: Any, **options: Any) -> Any:
        f = aot.function(inputs, outputs, mode="FAST_COMPILE", **options)

        def call(*arrays: Any) -> Any:
            seen.extend(zip((x.name for x in inputs), arrays, strict=True))
            return f(*arrays)

        return call

    cases: list[tuple[str, bool, str]] = [
        ("float64", False, "float64"),
        ("float64", True, "float64"),
        ("float32", False, "float64"),
        ("float32", True, "float32"),
    ]
    for dtype, is_cast, expected in cases:
        seen.clear()
        verify_grad(
            lambda x: 2 * x, [np.ones((20, 5), dtype)], n_tests=1, cast_to_output_type=is_cast, mode=spy, abs_tol=9
        )
        weights = next(array for name, array in seen if name == "weights")
        assert (weights.dtype, weights.shape) == (expected, (20, 5))
        assert 0.5 <= weights.min() < 0.6 < 1.4 < weights.max() < 1.5
