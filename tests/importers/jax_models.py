"""Small models in plain JAX: a multilayer perceptron, a transformer with two blocks, an equation of motion."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


def perceptron(params: Any, x: Any, y: Any) -> Any:
    """The mean squared error of a network with relu.   x: (n, p), y: (n, k)"""
    for layer in params[:-1]:
        x = jax.nn.relu(x @ layer["w"] + layer["b"])
    return jnp.mean((x @ params[-1]["w"] + params[-1]["b"] - y) ** 2)


def layers(sizes: tuple[int, ...], dtype: str, seed: int = 0) -> Any:
    """First values of the parameters of `perceptron`."""
    rng = np.random.default_rng(seed)
    return [
        {"w": rng.normal(size=(a, b)).astype(dtype), "b": rng.normal(size=b).astype(dtype)} for a, b in pairwise(sizes)
    ]


def _normalised(x: Any, gain: Any) -> Any:
    centred = x - x.mean(-1, keepdims=True)
    return centred / jnp.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * gain


def _attention(block: Any, x: Any, heads: int) -> Any:
    q, k, v = (jnp.reshape(x @ block[name], (x.shape[0], heads, -1)) for name in "qkv")
    scores = jnp.einsum("ihd,jhd->hij", q, k) / np.sqrt(q.shape[-1]).astype(x.dtype)
    scores = jnp.where(jnp.tril(jnp.ones(scores.shape[1:], bool)), scores, -jnp.inf)
    return jnp.einsum("hij,jhd->ihd", jax.nn.softmax(scores), v).reshape(x.shape) @ block["o"]


def transformer(params: Any, tokens: Any, targets: Any) -> Any:
    """The cross entropy of the next token.   tokens, targets: (t,) integers"""
    x = params["tokens"][tokens] + params["places"][: tokens.shape[0]]
    for block in params["blocks"]:
        x = x + _attention(block, _normalised(x, block["gain"]), 2)
        x = x + jax.nn.gelu(_normalised(x, block["gain"]) @ block["up"]) @ block["down"]
    logits = jax.nn.log_softmax(x @ params["tokens"].T)
    return -jnp.mean(jnp.take_along_axis(logits, targets[:, None], 1))


def weights(width: int, words: int, length: int, blocks: int, dtype: str) -> Any:
    """First values of the parameters of `transformer`."""
    rng = np.random.default_rng(1)

    def draw(*shape: int) -> Any:
        return (0.3 * rng.normal(size=shape)).astype(dtype)

    def block() -> Any:
        square = {name: draw(width, width) for name in "qkvo"}
        return {**square, "gain": 1 + draw(width), "up": draw(width, 2 * width), "down": draw(2 * width, width)}

    return {"tokens": draw(words, width), "places": draw(length, width), "blocks": [block() for _ in range(blocks)]}


def predators(rates: Any, first: Any, steps: int = 50) -> Any:
    """Σ y² over the steps of Lotka and Volterra's equations by the classical Runge-Kutta method, and the last y."""

    def slope(y: Any) -> Any:
        prey, hunters = y[0], y[1]
        return jnp.stack([(rates[0] - rates[1] * hunters) * prey, (rates[3] * prey - rates[2]) * hunters])

    def step(y: Any, _: None) -> Any:
        h = 0.02
        a = slope(y)
        b = slope(y + h / 2 * a)
        c = slope(y + h / 2 * b)
        d = slope(y + h * c)
        y = y + h / 6 * (a + 2 * b + 2 * c + d)
        return y, y

    last, path = lax.scan(step, first, None, length=steps)
    return jnp.sum(path**2), last
