"""Gradient control in detail: forward rules, connection, parameters, what is accepted, compiled code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import aotensor as aot
import aotensor.tensor as at
from aotensor.errors import DisconnectedInputError, NullTypeGradError
from aotensor.gradient import (
    ConsiderConstant,
    GradClip,
    GradScale,
    Rop,
    consider_constant,
    disconnected_grad,
    grad,
    grad_clip,
    grad_scale,
    hessian,
    undefined_grad,
    zero_grad,
)
from aotensor.gradient.terms import connection_pattern

X, Y = at.dscalars("x", "y")
V = at.dvector("v")
E = np.array([1.0, 2.0, 3.0])

pytestmark = pytest.mark.filterwarnings("ignore:consider_constant")


# --- values ----------------------------------------------------------------------------------------------------------

ALL: dict[str, Any] = {
    "zero_grad": zero_grad,
    "disconnected_grad": disconnected_grad,
    "undefined_grad": undefined_grad,
    "consider_constant": consider_constant,
    "grad_clip": lambda x: grad_clip(x, -1, 1),
    "grad_scale": lambda x: grad_scale(x, 3),
}


@pytest.mark.shows("gradient/4-identity")
@pytest.mark.parametrize("name", ALL)
def test_is_an_identity_of_the_same_type(name: str) -> None:
    m = at.fmatrix("m", shape=("n", 2))
    y = ALL[name](m)
    assert y.type == m.type
    value = np.arange(4, dtype="float32").reshape(2, 2)
    np.testing.assert_array_equal(y.eval({m: value}), value)


@pytest.mark.shows("gradient/4-convert")
@pytest.mark.parametrize("name", ALL)
def test_accepts_what_is_no_variable(name: str) -> None:
    for value in (3.0, np.float32(3.0), np.array([1.0, 2.0]), [1.0, 2.0]):
        np.testing.assert_array_equal(ALL[name](value).eval({}), value)


@pytest.mark.shows("gradient/4-identity")
def test_leaves_no_trace_in_compiled_code() -> None:
    y = V * 2
    for name, apply in ALL.items():
        plain, controlled = (aot.function([V], at.exp(z), name="f").ir("tensor-opt") for z in (y, apply(y)))
        assert plain == controlled, name


@pytest.mark.parametrize("name", ALL)
def test_works_in_a_batch(name: str) -> None:
    m = at.dmatrix("m")
    value = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(at.vectorize_graph(ALL[name](V), {V: m}).eval({m: value}), value)


# --- zero_grad, disconnected_grad, undefined_grad, consider_constant -------------------------------------------------


@pytest.mark.shows("gradient/4-zero-grad", "gradient/4-consider-constant")
def test_zero_grad_forward_has_the_shape_of_x() -> None:
    for apply in (zero_grad, consider_constant):
        np.testing.assert_array_equal(Rop(apply(V), V, E).eval({V: E}), np.zeros(3))
        with pytest.raises(DisconnectedInputError):
            Rop(apply(V), X, np.float64(1.0))


@pytest.mark.shows("gradient/4-zero-grad", "gradient/4-consider-constant")
def test_zero_grad_is_connected() -> None:
    for apply in (zero_grad, consider_constant):
        assert connection_pattern(apply(X).owner) == [[True]]
        assert grad(apply(X) ** 2, X).eval({X: 3.0}) == 0.0
        np.testing.assert_array_equal(hessian(at.sum(apply(V) * V**2), V).eval({V: E}), np.diag(2 * E))


@pytest.mark.shows("gradient/4-disconnected-grad", "gradient/13-disconnected")
def test_disconnected_grad_is_not_connected() -> None:
    assert connection_pattern(disconnected_grad(X).owner) == [[False]]
    with pytest.raises(DisconnectedInputError):
        grad(disconnected_grad(X) ** 2, X)
    with pytest.raises(DisconnectedInputError):
        Rop(disconnected_grad(X), X, np.float64(1.0))
    assert grad(X * disconnected_grad(X), X).eval({X: 3.0}) == 3.0
    assert Rop(X * disconnected_grad(X), X, np.float64(2.0)).eval({X: 3.0}) == 6.0


@pytest.mark.shows("gradient/4-undefined-grad")
def test_undefined_grad_is_null_in_both_modes() -> None:
    assert connection_pattern(undefined_grad(X).owner) == [[True]]
    with pytest.raises(NullTypeGradError, match="undefined"):
        grad(undefined_grad(X) ** 2, X)
    with pytest.raises(NullTypeGradError, match="undefined"):
        Rop(undefined_grad(X) ** 2, X, np.float64(1.0))
    with pytest.raises(DisconnectedInputError):
        Rop(undefined_grad(X) ** 2, Y, np.float64(1.0))


@pytest.mark.shows("gradient/1-consider-constant")
def test_consider_constant_warns_that_it_is_deprecated() -> None:
    with pytest.warns(DeprecationWarning, match="use zero_grad"):
        y = consider_constant(X)
    assert y.owner.op == ConsiderConstant()


# --- grad_clip -------------------------------------------------------------------------------------------------------


@pytest.mark.shows("gradient/4-clip-where", "gradient/4-clip-nan", "gradient/13-clip")
def test_grad_clip_acts_on_the_cotangent_that_arrives() -> None:
    compiled = aot.function(
        [X],
        [
            grad(grad_clip(X, -1, 1) ** 2, X),
            grad(X**2, X),
            grad(grad_clip(X, -1, 1) * 5, X),
            grad(grad_clip(X, 2, 2) ** 2, X),
            grad(grad_clip(X, -1, 1) * np.nan, X),
            grad(grad(grad_clip(X * 0.05, -1, 1) ** 3, X), X),
        ],
    )
    for run in (compiled, compiled.reference):
        found = [float(x) for x in run(2.0)]
        assert found[:4] == [1.0, 4.0, 1.0, 2.0]
        assert np.isnan(found[4])
        assert found[5] == pytest.approx(0.6 * 0.05**2)


@pytest.mark.shows("gradient/4-grad-clip")
def test_grad_clip_second_order_number() -> None:
    assert grad(grad(grad_clip(X, -1, 1) ** 3, X), X).eval({X: 0.1}) == pytest.approx(0.6)


@pytest.mark.shows("gradient/4-grad-clip", "gradient/12-GradClip")
def test_grad_clip_forward_is_the_identity() -> None:
    np.testing.assert_array_equal(Rop(grad_clip(V * 5, -1, 1), V, E).eval({}), 5 * E)


@pytest.mark.shows("gradient/4-clip-bounds")
@pytest.mark.parametrize(
    ("lower", "upper"), [(1, -1), (1.0, 0.5), (np.nan, 1), (0, np.nan), (np.float64(2), np.float32(1))]
)
def test_grad_clip_bounds_are_checked(lower: Any, upper: Any) -> None:
    with pytest.raises(ValueError, match=r"below|nan"):
        grad_clip(X, lower, upper)
    with pytest.raises(ValueError, match=r"below|nan"):
        GradClip(lower, upper)


@pytest.mark.shows("gradient/4-clip-bounds")
def test_grad_clip_bounds_may_be_symbolic_and_get_no_gradient() -> None:
    low, high = at.dscalars("low", "high")
    cost = grad_clip(X, low, high) ** 2
    assert grad(cost, X).eval({X: 5.0, low: -3.0, high: 3.0}) == 3.0
    with pytest.raises(DisconnectedInputError):
        grad(cost, low)


@pytest.mark.shows("gradient/4-clip-equality")
def test_grad_clip_ops_are_equal_by_their_bounds() -> None:
    assert GradClip(-1, 1) == GradClip(-1, 1)
    assert hash(GradClip(-1, 1)) == hash(GradClip(-1, 1))
    assert GradClip(-1, 1) != GradClip(-2, 1) != GradClip(-2, 2)
    derivatives = [grad(GradClip(-b, b)(X) ** 2, X) for b in (1, 2)]
    assert aot.function([X], derivatives)(5.0) == [1.0, 2.0]
    derivatives = [grad(grad_clip(X, -b, b) ** 2, X) for b in (1, 2)]
    assert aot.function([X], derivatives)(5.0) == [1.0, 2.0]


def test_grad_clip_op_counts_its_inputs() -> None:
    with pytest.raises(TypeError, match="grad_clip: expected 3 inputs, found 2"):
        GradClip()(X, 1)
    with pytest.raises(TypeError, match="expected 3 inputs, found 1"):
        GradClip()(X)


# --- grad_scale ------------------------------------------------------------------------------------------------------


@pytest.mark.shows("gradient/4-grad-scale")
def test_grad_scale_multiplies_cotangent_and_tangent() -> None:
    assert grad(grad_scale(X, -1.0) ** 2, X).eval({X: 3.0}) == -6.0
    assert Rop(grad_scale(X, 3.0) ** 2, X, np.float64(1.0)).eval({X: 1.0}) == 6.0
    assert grad(grad(grad_scale(X, 2.0) ** 3, X), X).eval({X: 1.0}) == 24.0
    assert grad(GradScale(4.0)(X), X).eval({}) == 4.0


@pytest.mark.shows("gradient/13-scale")
def test_grad_scale_example_in_float32() -> None:
    f = at.fscalar("f")
    scaled, plain = aot.function([f], [grad(at.sin(grad_scale(f, -1)), f), grad(at.sin(f), f)])(2.0)
    assert (scaled.dtype, plain.dtype) == ("float32", "float32")
    assert [float(scaled), float(plain)] == pytest.approx([0.41614681, -0.41614681], rel=1e-6)


@pytest.mark.shows("gradient/4-scale-dtype")
@pytest.mark.parametrize("multiplier", [2, 2.0, np.float64(2.0), np.float32(2.0), np.int8(2)])
def test_grad_scale_keeps_the_dtype_of_x(multiplier: Any) -> None:
    f = at.fscalar("f")
    found = grad(grad_scale(f, multiplier) * 1, f)
    assert (found.dtype, found.eval({})) == ("float32", 2.0)


@pytest.mark.shows("gradient/4-scale-multiplier")
def test_grad_scale_multiplier_may_be_an_array_or_symbolic_and_gets_no_gradient() -> None:
    cost = at.sum(grad_scale(V, np.array([1.0, 2.0, 3.0])) ** 2)
    np.testing.assert_array_equal(grad(cost, V).eval({V: E}), 2 * E * E)
    cost = at.sum(grad_scale(V, Y) ** 2)
    np.testing.assert_array_equal(grad(cost, V).eval({V: E, Y: 3.0}), 6 * E)
    with pytest.raises(DisconnectedInputError):
        grad(cost, Y)
    with pytest.raises(ValueError, match="must broadcast to the shape of x"):
        grad_scale(X, V)
    with pytest.raises(TypeError, match="a number, not ndarray"):
        GradScale(E)  # type: ignore[arg-type]


@pytest.mark.shows("gradient/4-scale-integer")
def test_grad_scale_on_an_integer_gives_a_scaled_float() -> None:
    i = at.iscalar("i")
    found = grad(grad_scale(i, 3) * X, i)
    assert found.dtype == "float64"
    assert found.eval({X: 2.0}) == 6.0
