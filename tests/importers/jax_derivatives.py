"""First and second derivatives of a program of JAX, by JAX and by us."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import aotensor as aot
import aotensor.tensor as at
from aotensor.importers.jax import from_jax


def weighted(values: Sequence[Any], total: Callable[[Any], Any]) -> Any:
    """A number in which every element of some arrays has a weight of its own."""
    return sum(total(x * np.arange(1.0, 1.0 + np.size(x)).reshape(np.shape(x))) for x in values)


def by_jax(loss: Callable[..., Any], xs: Sequence[Any]) -> list[Any]:
    """First derivatives, and those of a weighted sum of them."""
    places = tuple(range(len(xs)))
    second = jax.grad(lambda *a: weighted(jax.grad(loss, places)(*a), jnp.sum), places)
    return [*jax.grad(loss, places)(*xs), *second(*xs)]


def by_us(loss: Callable[..., Any], xs: Sequence[Any], is_compiled: bool = False) -> list[Any]:
    """The same, differentiated here."""
    imported = from_jax(loss, *xs)
    inputs, (cost,) = list(imported.arguments.values()), imported.results.values()
    first = aot.grad(cost, inputs, disconnected_inputs="ignore")
    weights = [np.arange(1.0, 1.0 + np.size(x)).reshape(np.shape(x)) for x in xs]
    again = sum((at.sum(g * w) for g, w in zip(first, weights, strict=True)), at.constant(0.0))
    second = aot.grad(again, inputs, disconnected_inputs="ignore")
    f = aot.function(inputs, [*first, *second], on_unused_input="ignore")
    found: list[Any] = (f if is_compiled else f.reference)(*xs)
    return found


def assert_same(
    loss: Callable[..., Any], *xs: Any, is_compiled: bool = False, like: Callable[..., Any] | None = None
) -> None:
    """Both orders agree.   like: what JAX is to differentiate, if that is not the loss"""
    wanted = by_jax(like or loss, xs)
    for position, (x, y) in enumerate(zip(by_us(loss, xs, is_compiled), wanted, strict=True)):
        np.testing.assert_allclose(x, y, 1e-11, 1e-11, err_msg=f"derivative {position}")
