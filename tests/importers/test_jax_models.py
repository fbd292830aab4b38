"""Models in plain JAX, with gradients by JAX and by aotensor: compiled, both are what JAX computes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed")

import jax.numpy as jnp  # noqa: E402  (they need JAX)
from jax_models import layers, perceptron, predators, transformer, weights  # noqa: E402

import aotensor as aot  # noqa: E402
from aotensor.errors import NullTypeGradError  # noqa: E402
from aotensor.importers.jax import from_jax  # noqa: E402

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_disable_most_optimizations", True)  # XLA compiles for one call only

TOKENS = np.array([1, 2, 3, 10, 0, 4], "int32")
RATES, FIRST = np.array([1.1, 0.4, 0.4, 0.1]), np.array([10.0, 5.0])


def agree(found: Any, wanted: Any, dtype: str) -> None:
    """All leaves, to 1e-12 or 1e-5 of the largest element."""
    tolerance = 1e-12 if dtype == "float64" else 1e-5
    for x, y in zip(found, jax.tree.leaves(wanted), strict=True):
        y = np.asarray(y)
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        np.testing.assert_allclose(x, y, tolerance, tolerance * np.abs(y).max(initial=1))


def run(is_compiled: bool, f: aot.Function, *inputs: Any) -> list[Any]:
    """The results of a function in order: compiled, or by the reference."""
    found = f(*inputs) if is_compiled else f.reference(*inputs)
    return list(found.values()) if isinstance(found, dict) else found


@pytest.mark.parametrize("is_compiled", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_perceptron_over_all_sizes_of_a_batch(dtype: str, is_compiled: bool) -> None:
    """One library for every n, also none and one; JAX compiles anew for each."""
    (n,) = jax.export.symbolic_shape("n")
    params = layers((3, 4, 2), dtype)
    x, y = (jax.ShapeDtypeStruct((n, k), dtype) for k in (3, 2))
    step = jax.jit(jax.value_and_grad(perceptron))
    before, after = from_jax(step, params, x, y), from_jax(perceptron, params, x, y, grad="params")
    assert list(after.keys.values())[:2] == ["out", "grad_params_0_b"]
    for count in (5, 1, 0):
        rng = np.random.default_rng(count)
        data = [rng.normal(size=(count, k)).astype(dtype) for k in (3, 2)]
        inputs = [*jax.tree.leaves(params), *data]
        wanted = step(params, *data)
        agree(run(False, before, *inputs), wanted, dtype)
        agree(run(is_compiled, after, *inputs), wanted, dtype)


@pytest.mark.parametrize("is_compiled", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_transformer(dtype: str, is_compiled: bool) -> None:
    params = weights(8, 11, 8, 2, dtype)
    tokens = TOKENS if dtype == "float64" else TOKENS[:1]
    step = jax.jit(jax.value_and_grad(transformer))
    inputs = [*jax.tree.leaves(params), tokens, np.roll(tokens, -1)]
    wanted = step(params, tokens, np.roll(tokens, -1))
    for f in (from_jax(transformer, params, tokens, tokens, grad="params"), from_jax(step, params, tokens, tokens)):
        agree(run(is_compiled, f, *inputs), wanted, dtype)


@pytest.mark.parametrize("is_compiled", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_an_equation_of_motion(dtype: str, is_compiled: bool) -> None:
    rates, first = RATES.astype(dtype), FIRST.astype(dtype)
    step = jax.jit(jax.value_and_grad(predators, has_aux=True))
    wanted = step(rates, first)
    agree(run(False, from_jax(step, rates, first), rates, first), wanted, dtype)
    agree(run(is_compiled, from_jax(predators, rates, first, grad="rates"), rates, first), wanted, dtype)


def test_a_loop_that_counts_has_a_gradient_here_another_one_has_none() -> None:
    """JAX refuses to differentiate both."""

    def power(x: Any, n: Any) -> Any:
        return jax.lax.fori_loop(0, n, lambda i, y: y * x, 1.0)

    f = from_jax(power, 3.0, jax.ShapeDtypeStruct((), "int64"), grad="x")
    assert f.reference(3.0, 4) == {"out": 81, "grad_x": 108}
    assert f.reference(3.0, 0) == {"out": 1, "grad_x": 0}

    def root(x: Any) -> Any:
        return jax.lax.while_loop(lambda y: jnp.abs(y * y - x) > 1e-13 * x, lambda y: (y + x / y) / 2, x)

    np.testing.assert_allclose(from_jax(root, 1.0)(9.0), 3, 1e-12)
    with pytest.raises(NullTypeGradError, match="undefined"):
        from_jax(root, 1.0, grad="x")
