"""Derivatives of imported programs are JAX's at ties, kinks, zeros and the edges of domains."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed")

import jax.numpy as jnp  # noqa: E402  (they need JAX)
from jax import lax  # noqa: E402
from jax_derivatives import assert_same, weighted  # noqa: E402

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_disable_most_optimizations", True)  # XLA compiles for one call only

ACTIVATIONS = (
    "relu relu6 softplus silu gelu elu celu selu log_sigmoid leaky_relu hard_tanh hard_sigmoid hard_silu squareplus "
    "mish sparse_plus sparse_sigmoid soft_sign logsumexp softmax log_softmax standardize glu"
)


@pytest.mark.parametrize("name", ACTIVATIONS.split())
def test_functions_of_neural_networks_at_kinks(name: str) -> None:
    function = getattr(jax.nn, name)
    x = np.array([0.0, 1.0, -1.0, 3.0, -3.0, 6.0, 0.0, 2.0])
    assert_same(lambda x: jnp.sum(function(x) * jnp.arange(1.0, 9.0)[: function(x).size]), x)


def of_special_functions(x: Any) -> Any:
    s = jax.scipy.special
    return s.logit(x / 4 + 0.5) + s.xlogy(x, x + 2) + s.xlog1py(x, x + 1) + s.entr(x + 1) + s.kl_div(x + 2, x + 1.5)


def test_special_functions_that_carry_rules() -> None:
    assert_same(lambda x: jnp.sum(of_special_functions(x)), np.array([0.0, 0.5, 1.0]))


TIES = np.array([[1.0, 2.0, 2.0], [0.0, 0.0, 0.0], [3.0, 3.0, 1.0]])
PLACES = np.array([0, 1, 1, 2, 0], "int32")
UPDATES = np.array([[1.0] * 3, [0.0] * 3, [2.0] * 3, [3.0] * 3, [1.0] * 3])

KINKS: dict[str, Callable[..., Any]] = {
    "max": lambda x, y: lax.max(x, y),
    "min": lambda x, y: lax.min(x, y),
    "reduce_max": lambda x, y: lax.reduce_max(x, (1,)) * lax.reduce_max(y, (0,)),
    "reduce_min": lambda x, y: lax.reduce_min(x, (0, 1)) + y,
    "cummax": lambda x, y: lax.cummax(x, 1) * lax.cummax(y, 0, reverse=True),
    "cummin": lambda x, y: lax.cummin(x, 0) * lax.cummin(y, 1, reverse=True),
    "clamp": lambda x, y: lax.clamp(0.0, x, 2.0) + lax.clamp(y, x, y),
    "abs": lambda x, y: abs(x - y),
    "sign": lambda x, y: lax.sign(x - y) * x,
    "rem": lambda x, y: lax.rem(x, 2.0) * lax.rem(y + 1, x + 1),
    "pow": lambda x, y: lax.pow(x, 2.0 + 0 * y) + lax.pow(x + 1, y),
    "integer_pow": lambda x, y: lax.integer_pow(x, 0) + lax.integer_pow(y, 1) * lax.integer_pow(x - y, 3),
    "scatter-max": lambda x, y: x.at[PLACES].max(y[PLACES] + 0 * UPDATES) + x.at[PLACES].max(UPDATES * y[0]),
    "scatter-min": lambda x, y: x.at[PLACES].min(UPDATES + 0 * y[0]) + x.at[1].min(y[1]),
    "sort": lambda x, y: lax.sort((x, y), num_keys=1)[1] + lax.sort(x),
    "reduce_prod": lambda x, y: lax.reduce_prod(x, (0,)) * lax.reduce_prod(y, (1,)),
    "cumprod": lambda x, y: lax.cumprod(x, 1) + lax.cumprod(y, 0, reverse=True),
    "floor": lambda x, y: jnp.floor(x) * lax.round(y) + jnp.ceil(y),
    "top_k": lambda x, y: lax.top_k(x, 2)[0] * lax.top_k(-y, 2)[0],
    "a pool": lambda x, y: lax.reduce_window(x, -np.inf, lax.max, (2, 2), (1, 1), "SAME") * y,
    "a median": lambda x, y: jnp.median(x, axis=1) * jnp.max(jnp.abs(y), axis=1),
}


@pytest.mark.parametrize("name", KINKS)
def test_kinks_and_ties(name: str) -> None:
    x, y = TIES, np.array([[1.0, 0.0, 3.0], [0.0, 1.0, 0.0], [3.0, 3.0, 2.0]])
    assert_same(lambda x, y: weighted([KINKS[name](x, y)], jnp.sum), x, y, is_compiled=name in ("max", "clamp"))


@pytest.mark.parametrize("is_compiled", [False, True])
def test_products_at_positions_that_repeat(is_compiled: bool) -> None:
    """JAX differentiates by the operand only, so the expected derivatives are those of successive products in JAX."""

    def at_once(x: Any, y: Any) -> Any:
        return weighted([x.at[PLACES].mul(UPDATES + y[PLACES])], jnp.sum)

    def one_by_one(x: Any, y: Any) -> Any:
        for place, row in zip(PLACES, UPDATES + y[PLACES], strict=True):
            x = x.at[place].mul(row)
        return weighted([x], jnp.sum)

    assert_same(at_once, TIES + 1, TIES.T - 1, is_compiled=is_compiled, like=one_by_one)


@pytest.mark.parametrize("mode", ["clip", "fill", "promise_in_bounds"])
def test_windows_that_are_the_whole_array_at_many_positions(mode: str) -> None:
    """Also where some lie outside."""
    x, starts = TIES[:, 0] + 0.25, np.array([[0], [0 if mode == "promise_in_bounds" else 1]])
    read = lax.GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(), start_index_map=(0,))
    write = lax.ScatterDimensionNumbers(
        update_window_dims=(1,), inserted_window_dims=(), scatter_dims_to_operand_dims=(0,)
    )

    def loss(x: Any) -> Any:
        values = jnp.stack([x * x, x + 1])
        found = [lax.gather(x, starts, read, x.shape, mode=mode, fill_value=2.0)]
        found += [lax.scatter_add(x, starts, values, write, mode=mode)]
        found += [lax.scatter(x, starts[1:], values[:1], write, mode=mode)]
        return weighted(found, lambda y: jnp.sum(jnp.sin(y)))

    assert_same(loss, x)


def test_maxima_at_positions_outside_have_the_derivatives_of_jax() -> None:
    """Its program of derivatives promises that they lie inside."""
    write = lax.ScatterDimensionNumbers(
        update_window_dims=(1,), inserted_window_dims=(), scatter_dims_to_operand_dims=(0,)
    )
    places = np.array([[9], [1], [1]])
    for combine in (lax.scatter_max, lax.scatter_min):
        assert_same(
            lambda x, y, f=combine: jnp.sum(jnp.sin(f(x, places, y, write))), np.linspace(-1, 1, 10), TIES[:, :2]
        )


def test_complex_functions() -> None:
    """By real and imaginary parts: the derivatives of the logistic function, and of sums of different ranks."""

    def loss(x: Any, y: Any) -> Any:
        z = lax.complex(x, y)
        return jnp.sum(jnp.abs(lax.logistic(z) + z[0]) ** 2)

    assert_same(loss, np.array([0.3, -1.0]), np.array([0.5, 2.0]))


def test_edges_of_domains() -> None:
    x = np.array([0.0, -0.0, np.inf, 1.0])
    for function in (lax.rsqrt, lax.cbrt, lambda x: lax.integer_pow(x, -2), lambda x: lax.pow(x, 0.5), jnp.sqrt):
        assert_same(lambda x, f=function: jnp.sum(f(x)), x)


def test_the_table_of_the_docs_tells_what_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("optax", reason="optax is not installed")
    from tools.derivatives.jax import compared
    from tools.derivatives.jax_cases import Case

    x, y = np.array([0.0, 1.0, -1.0]), np.array([0.0, 2.0, -2.0])
    case = Case("", "max", lax.max, (x, y), is_elementwise=True)
    assert compared(case).different == (0, 0, 0)
    monkeypatch.setattr("aotensor.importers.jax.interpret.keeps_rule", lambda equation: False)
    row = compared(case)
    assert row.different == (0, 2, 0)
    assert row.is_wrong and row.first.startswith("first ") and row.first.endswith(" at 0, 0")
