"""Finite differences: the checker is checked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import aotensor as aot
import aotensor.tensor as at
from aotensor.errors import GradientError, NullTypeGradError
from aotensor.gradient import grad_scale, numeric_grad, undefined_grad, verify_grad


@pytest.mark.shows("gradient/1-numeric-grad", "gradient/8.1-method", "gradient/8.1-point", "gradient/8.1-integer")
@pytest.mark.shows("gradient/8.1-out-type", "gradient/8.1-sample")
def test_numeric_grad() -> None:
    def squares(a: Any) -> Any:
        return np.sum(a**2)

    np.testing.assert_allclose(numeric_grad(squares, np.array([1.0, 2.0])).gf, [2.0000001, 4.00000009], rtol=1e-7)
    found = numeric_grad(lambda a, b: np.sum(a**2 * b), [np.array([1.0, 2]), np.array([3, 4], "float32")])
    assert isinstance(found.gf, list)
    np.testing.assert_allclose(found.gf[0], [6.0009, 16.0012], rtol=1e-9)
    with pytest.raises(TypeError, match="int64"):
        numeric_grad(squares, np.array([1, 2]))
    with pytest.raises(TypeError, match="complex"):
        numeric_grad(squares, np.array([1.0]), out_type="complex128")


@pytest.mark.shows("gradient/8.1-abs-rel-err")
@pytest.mark.parametrize(("a", "b", "expected"), [(1, 1.1, (0.1, 0.047619)), (0, 0, (0, 0)), (1e-10, 0, (1e-10, 0.01))])
def test_abs_rel_err(a: float, b: float, expected: tuple[float, float]) -> None:
    np.testing.assert_allclose(numeric_grad.abs_rel_err(a, b), expected, rtol=1e-5)


@pytest.mark.shows("gradient/8.1-max-err", "gradient/8.1-abs-rel-errors")
def test_max_err() -> None:
    found = numeric_grad(lambda a, b: np.sum(a) + 2 * np.sum(b), [np.zeros(2), np.zeros((2, 2))])
    exact = [np.ones(2), np.full((2, 2), 2.0)]
    exact[1][1, 0] = 3.0
    argument, position, absolute, relative = found.max_err(exact, 1e-4, 1e-4)
    assert (argument, position) == (1, 2)
    assert (absolute, relative) == pytest.approx((1.0, 0.2), rel=1e-5)
    with pytest.raises(ValueError, match="1 gradients for 2"):
        found.abs_rel_errors(exact[:1])
    with pytest.raises(ValueError, match="shape"):
        found.abs_rel_errors([exact[0], exact[0]])
    with pytest.raises(ValueError, match="not finite"):
        found.max_err([exact[0] * np.nan, exact[1]], 1, 1)


@pytest.mark.shows("gradient/8.2-discrete", "gradient/8.2-empty", "gradient/8.2-forward")
def test_verify_grad_accepts_what_is_right(rng: np.random.Generator) -> None:
    verify_grad(lambda x, y: at.dot(x, at.tanh(y)), [rng.normal(size=(2, 3)), rng.normal(size=3)], rng=rng)
    verify_grad(at.exp, (rng.normal(size=2).astype("float32"),), rng=rng, cast_to_output_type=True)
    verify_grad(lambda x: at.cast(x, "int32"), [rng.normal(size=2)], rng=rng)
    verify_grad(at.exp, [np.zeros((0, 2))], rng=rng)
    verify_grad(lambda x: x**2, [rng.normal(size=2)], rng=rng, mode=aot.function)


@pytest.mark.shows("gradient/8.2-failure", "gradient/8.2-error", "gradient/8.2-no-tests")
def test_verify_grad_finds_what_is_wrong(rng: np.random.Generator) -> None:
    with pytest.raises(GradientError) as caught:
        verify_grad(lambda x: grad_scale(x, 2.0) ** 2, [np.array([1.0, 3.0])], rng=rng)
    error = caught.value
    assert error.arg == 0
    assert error.shape == (2,)
    assert error.val1 == pytest.approx(2 * error.val2, rel=1e-5)
    assert "analytic" in str(error)
    verify_grad(lambda x: grad_scale(x, 2.0) ** 2, [np.array([1.0, 3.0])], n_tests=0)


@pytest.mark.shows("gradient/8.2-point", "gradient/8.2-result", "gradient/8.2-non-finite", "gradient/8.2-null")
@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: verify_grad(at.exp, np.ones(2)), TypeError, "list or tuple"),
        (lambda: verify_grad(at.exp, [np.ones(2), np.ones(2, int)]), TypeError, r"pt\[1\]"),
        (lambda: verify_grad(lambda x: [x], [np.ones(2)]), NotImplementedError, "list"),
        (lambda: verify_grad(lambda x: (x,), [np.ones(2)]), TypeError, "tuple"),
        (lambda: verify_grad(at.sqrt, [np.zeros(2)]), ValueError, "not finite"),
        (lambda: verify_grad(undefined_grad, [np.zeros(2)]), NullTypeGradError, "undefined"),
    ],
)
def test_verify_grad_checks_its_arguments(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()
