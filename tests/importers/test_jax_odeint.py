"""`jax.experimental.ode.odeint` in imported programs: values and derivatives are JAX's, and those of closed forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed")

import jax.numpy as jnp  # noqa: E402  (they need JAX)
from jax.experimental.ode import odeint  # noqa: E402

import aotensor as aot  # noqa: E402
from aotensor.importers.jax import from_jax  # noqa: E402

jax.config.update("jax_enable_x64", True)

TIMES = np.array([0.0, 0.4, 1.0])


def decay(y0: Any, k: Any, ts: Any) -> Any:
    """y₀·exp(−k·(t − t₀)) at the last time, by steps."""
    return odeint(lambda y, t, k: {"x": -k * y["x"]}, {"x": y0}, ts, k)["x"][-1]


def turn(y0: Any, mu: Any) -> Any:
    """The sum of squares of van der Pol's oscillator at three times."""
    return (odeint(lambda y, t: jnp.stack([y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]]), y0, TIMES, rtol=1e-6) ** 2).sum()


@pytest.mark.level("ci", "compiles the loops of the adjoint, 7 s of processor time")
def test_values_and_derivatives_are_those_of_the_closed_form() -> None:
    f = from_jax(decay, 1.5, 0.7, TIMES, grad=["y0", "k", "ts"])
    found = f(1.5, 0.7, TIMES)
    last, end = 1.5 * np.exp(-0.7), 0.7 * 1.5 * np.exp(-0.7)
    np.testing.assert_allclose(found["out"], last, rtol=1e-7)
    np.testing.assert_allclose([found["grad_y0"], found["grad_k"]], [last / 1.5, -last], rtol=1e-6)
    np.testing.assert_allclose(found["grad_ts"], [end, 0.0, -end], rtol=1e-6, atol=1e-9)


@pytest.mark.level("ci", "interprets the loops of the adjoint, 5 s of processor time")
def test_values_and_derivatives_are_those_of_jax() -> None:
    y0 = np.array([1.0, 0.5])
    found = from_jax(turn, y0, 1.3, grad=["y0", "mu"]).reference(y0, 1.3)
    value, slopes = jax.value_and_grad(turn, (0, 1))(y0, 1.3)
    np.testing.assert_allclose(found["out"], value, rtol=1e-12)
    np.testing.assert_allclose(found["grad_y0"], slopes[0], rtol=1e-10)
    np.testing.assert_allclose(found["grad_mu"], slopes[1], rtol=1e-10)


def test_second_derivatives_are_those_of_the_closed_form() -> None:
    f = from_jax(decay, 1.5, 0.7, TIMES, grad="k")
    second = aot.grad(f.results["grad_k"], f.arguments["k"])
    h = aot.function(f.inputs, second, on_unused_input="ignore")
    np.testing.assert_allclose(h.reference(1.5, 0.7, TIMES), 1.5 * np.exp(-0.7), rtol=1e-5)
