"""Gradient control: what a derivative sees of zero_grad, grad_clip and the others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import aotensor.tensor as at
from aotensor.errors import DisconnectedInputError, NullTypeGradError
from aotensor.gradient import (
    GradClip,
    GradScale,
    Rop,
    consider_constant,
    disconnected_grad,
    grad,
    grad_clip,
    grad_not_implemented,
    grad_scale,
    grad_undefined,
    undefined_grad,
    zero_grad,
    zero_grad_,
)
from aotensor.graph.variable import Variable

X = at.dscalar("x")


def derivative(cost: Variable, at_point: float) -> Any:
    """dcost/dX at a point."""
    return grad(cost, X).eval({X: at_point})


def test_values_pass() -> None:
    for op in (zero_grad, disconnected_grad, undefined_grad, lambda x: grad_clip(x, -1, 1), lambda x: grad_scale(x, 3)):
        y = op(X)
        assert y.type == X.type
        assert y.eval({X: 2.5}) == 2.5


@pytest.mark.shows("gradient/13-disconnected", "gradient/13-zero")
def test_reverse() -> None:
    assert derivative(zero_grad(X) ** 2, 3.0) == 0.0
    assert derivative(X * disconnected_grad(X), 3.0) == 3.0
    assert derivative(grad_clip(X, -1, 1) ** 2, 2.0) == 1.0
    assert derivative(grad_clip(X, -1, 1) * 5, 2.0) == 1.0
    assert derivative(grad_scale(X, -1.0) ** 2, 3.0) == -6.0
    with pytest.raises(DisconnectedInputError):
        grad(disconnected_grad(X) ** 2, X)
    with pytest.raises(NullTypeGradError):
        grad(undefined_grad(X), X)


@pytest.mark.shows("gradient/4-grad-clip", "gradient/4-grad-scale", "gradient/4-zero-grad")
def test_second_order() -> None:
    assert derivative(grad(grad_clip(X, -1, 1) ** 3, X), 0.1) == pytest.approx(0.6)
    assert derivative(grad(grad_scale(X, 2.0) ** 3, X), 1.0) == 24.0
    assert derivative(grad(zero_grad(X) * X**2, X), 3.0) == 6.0


@pytest.mark.shows("gradient/4-zero-grad", "gradient/4-disconnected-grad", "gradient/4-grad-clip")
@pytest.mark.shows("gradient/4-grad-scale")
def test_forward() -> None:
    one = np.float64(1.0)
    assert Rop(zero_grad(X), X, one).eval({X: 2.0}) == 0.0
    assert Rop(grad_clip(X * 5, -1, 1), X, one).eval({}) == 5.0
    assert Rop(grad_scale(X, 3.0), X, one).eval({}) == 3.0
    with pytest.raises(DisconnectedInputError):
        Rop(disconnected_grad(X), X, one)


@pytest.mark.shows("gradient/4-clip-bounds", "gradient/4-clip-nan")
def test_clip_bounds() -> None:
    with pytest.raises(ValueError, match="below"):
        grad_clip(X, 1, -1)
    with pytest.raises(ValueError, match="nan"):
        grad_clip(X, float("nan"), 1)
    assert derivative(grad_clip(X, 2, 2) ** 2, 5.0) == 2.0
    bound = at.dscalar("bound")
    assert grad(grad_clip(X, -bound, bound) ** 2, X).eval({X: 5.0, bound: 3.0}) == 3.0
    assert np.isnan(derivative(grad_clip(X, -1, 1) * np.float64("nan"), 1.0))


@pytest.mark.shows("gradient/4-scale-dtype", "gradient/4-scale-integer", "gradient/13-scale")
def test_scale_keeps_the_dtype_and_serves_integers() -> None:
    f, i, v = at.fscalar("f"), at.iscalar("i"), at.dvector("v")
    found = grad(at.sin(grad_scale(f, np.float64(-1.0))), f)
    assert found.dtype == "float32"
    assert found.eval({f: 2.0}) == pytest.approx(0.41614681, rel=1e-6)
    assert grad(grad_scale(i, 3) * X, i).eval({X: 2.0}) == 6.0
    np.testing.assert_array_equal(grad(at.sum(grad_scale(v, np.array([1.0, 2.0]))), v).eval({v: [0.0, 0.0]}), [1, 2])
    with pytest.raises(ValueError, match="must broadcast to the shape of x"):
        grad_scale(X, np.ones(2))


def test_ops_are_equal_by_what_they_are() -> None:
    assert GradClip() == GradClip()
    assert zero_grad_ != GradScale()
    assert grad_clip(X, 0, 1).owner.inputs[1] is not X


@pytest.mark.shows("gradient/1-consider-constant")
def test_consider_constant_is_deprecated() -> None:
    with pytest.warns(DeprecationWarning, match="zero_grad"):
        y = consider_constant(X)
    assert derivative(y**2 + X, 3.0) == 1.0


@pytest.mark.shows("gradient/9-grad-undefined", "gradient/9-grad-not-implemented")
def test_reasons_of_null_gradients() -> None:
    assert "input 1 (x) is undefined: an index" in grad_undefined(zero_grad_, 1, X, "an index").type.why_null
    assert "not implemented" in grad_not_implemented(zero_grad_, 0, X).type.why_null
