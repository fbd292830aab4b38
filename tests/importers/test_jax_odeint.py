"""`jax.experimental.ode.odeint`, imported as `solve_ivp`: values and gradients are JAX's within the tolerances."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed")

import jax.numpy as jnp  # noqa: E402  (they need JAX)
from jax.experimental.ode import odeint  # noqa: E402

import aotensor as aot  # noqa: E402
from aotensor.importers.jax import from_jax  # noqa: E402

jax.config.update("jax_enable_x64", True)

TIMES = np.array([0.0, 0.4, 1.1, 2.0])


def _state(seed: float) -> dict[str, Any]:
    return {"a": np.array([1.0, 0.5]) * seed, "b": np.array([0.3, -0.2])}


def _rates(y: Any, t: Any, k: Any, m: Any) -> dict[str, Any]:
    return {"a": -k * y["a"] * y["b"], "b": m @ jnp.sin(y["a"]) - 0.1 * y["b"] * t}


def _cost(y0: Any, times: Any, k: Any, m: Any) -> Any:
    found = odeint(_rates, y0, times, k, m)
    return (found["a"] ** 2).sum() + found["b"][-1].sum()


def _graph(function: Callable[..., Any], *args: Any) -> str:
    return str(from_jax(function, *args, name="f").ir("graph"))


def test_values_and_gradients_are_those_of_jax() -> None:
    """A state that is a tree, rates that depend on time, and derivatives in the start, the times and arguments."""
    args = (_state(1.0), TIMES, 1.3, np.array([[0.5, 1.0], [-1.0, 0.2]]))
    f = from_jax(_cost, *args, grad=["y0", "times", "k", "m"], name="cost")
    assert "= solve_ivp(" in f.ir("graph") and "while" not in f.ir("graph")
    found = list(f(*args[0].values(), *args[1:]).values())
    value, slopes = jax.value_and_grad(_cost, argnums=(0, 1, 2, 3))(*map(jax.tree.map, [jnp.asarray] * 4, args))
    for mine, wanted in zip(found, [value, *jax.tree.leaves(slopes)], strict=True):
        np.testing.assert_allclose(mine, wanted, rtol=1e-5, atol=2e-6)


def test_closures_options_and_narrow_dtypes() -> None:
    """Values that the function reads from outside; in float32 the default rtol counts as 100 roundings."""

    def decay(k: Any, y: Any) -> Any:
        return odeint(lambda y, t: -k * y, y, jnp.asarray(TIMES, y.dtype), hmax=0.25, mxstep=1000)

    for dtype, rtol in (("float64", 1e-7), ("float32", 1e-4)):
        y = np.array([1.0, 2.0], dtype)
        found = from_jax(decay, np.array(0.7, dtype), y, name=f"decay_{dtype}").reference(np.array(0.7, dtype), y)
        assert found.dtype == dtype
        np.testing.assert_allclose(found, y * np.exp(-0.7 * TIMES[:, None]), rtol=rtol)


def test_what_stays_a_loop_of_jax() -> None:
    """Complex states; calls under vmap, which have steps in common."""
    assert "solve_ivp" in _graph(lambda y: odeint(lambda y, t: -y, y, TIMES), np.ones(1))
    assert "solve_ivp" not in _graph(lambda y: odeint(lambda y, t: 1j * y, y, TIMES), np.ones(1, "complex128"))
    many = jax.vmap(lambda y: odeint(lambda y, t: -y, y, TIMES))
    assert "solve_ivp" not in _graph(many, np.ones((3, 1)))


def test_more_steps_than_mxstep_are_nan() -> None:
    y = np.array([1.0])
    f = from_jax(lambda y: odeint(lambda y, t: -50 * y, y, TIMES, mxstep=2), y, name="short")
    assert np.isnan(f.reference(y)[-1]).all()


def _last(y0: Any, k: Any, ts: Any) -> Any:
    """y₀·exp(−k·(t − t₀)) at the last time."""
    return odeint(lambda y, t, k: {"x": -k * y["x"]}, {"x": y0}, ts, k)["x"][-1]


def test_derivatives_to_second_order_are_those_of_the_closed_form() -> None:
    times = np.array([0.0, 0.4, 1.0])
    f = from_jax(_last, 1.5, 0.7, times, grad=["y0", "k", "ts"])
    found = f.reference(1.5, 0.7, times)
    last, end = 1.5 * np.exp(-0.7), 0.7 * 1.5 * np.exp(-0.7)
    np.testing.assert_allclose([found["out"], found["grad_y0"], found["grad_k"]], [last, last / 1.5, -last], rtol=1e-6)
    np.testing.assert_allclose(found["grad_ts"], [end, 0.0, -end], rtol=1e-6, atol=1e-8)
    second = aot.grad(f.results["grad_k"], f.arguments["k"])
    h = aot.function(f.inputs, second, on_unused_input="ignore")
    np.testing.assert_allclose(h.reference(1.5, 0.7, times), last, rtol=1e-5)
