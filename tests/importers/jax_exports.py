"""Exports of JAX for tests that run without it: texts, inputs, and what JAX computes of them.

python tests/importers/jax_exports.py       writes tests/importers/stablehlo anew
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax import lax
from jax_cases import PROGRAMS
from jax_models import layers, perceptron, predators, transformer, weights

FOLDER = Path(__file__).parent / "stablehlo"
_FAMILIES = (
    "batches",
    "convolutions",
    "factorisations",
    "gathers",
    "loops",
    "pools",
    "reductions",
    "scatters",
    "sorts",
)


def draws(words: Any) -> Any:
    """Random numbers."""
    return jr.normal(words, (3,)), jr.permutation(words, 6), jr.split(words, 2)


def embedded(x: Any) -> Any:
    """Constants: bytes in hexadecimal digits, lists, one number for all."""
    table = np.random.default_rng(3).normal(size=(5, 20)).astype("float32")
    flags = np.arange(40) % 3 == 0
    return {
        "rows": x @ table, "flags": jnp.where(flags, x[0], jnp.float32(np.inf)), "few": jnp.array([[1, -2]], "int8"),
        "many": jnp.ones((100, 100), "float32") * x[0], "odd": x[:, None] * jnp.zeros((0,), "float32"),
        "complex": x * jnp.array([1 + 2j, 0, 0, -1j, 3], "complex64"),
    }  # fmt: skip


def shapes(x: Any, y: Any) -> Any:
    """What depends on extents.   x: (n, m), y: (2n,)"""
    joined = jnp.concatenate([x[1:], x[:-1]])
    return {
        "sums": lax.scan(lambda c, row: (c + row.sum(), c), 0.0, x), "mean": x.mean(0), "flat": x.reshape(-1),
        "joined": joined, "last": x[-1], "padded": jnp.pad(x[:, 0], 2), "steps": jnp.arange(x.shape[0] // 2 + 1),
        "y": y + 1, "max": lax.max(x, 0.0).max(), "best": x[:, 0].argmax(), "sorted": jnp.sort(y),
    }  # fmt: skip


def pooled(x: Any) -> Any:
    """A loss of the largest of windows that overlap, some of whose elements are equal."""
    return (lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 2), (1, 2, 1), "SAME") ** 2).sum()


def _text(function: Any, specs: Any, is_named: bool) -> str:
    text = jax.export.export(jax.jit(function))(*specs).mlir_module()
    if is_named:
        return re.sub(r'loc\("[^"]*/([^"/]*)":', r'loc("\1":', text)
    text = re.sub(r' loc\((?:#\w+|unknown|"[^"]*"(?:\(#\w+\))?)\)', "", text)
    return "".join(line + "\n" for line in text.splitlines() if not line.startswith("#loc"))


def _write(name: str, function: Any, inputs: Any, specs: Any = None, wrt: tuple[int, ...] = ()) -> None:
    """wrt: arguments with respect to which the first result is differentiated"""
    leaves = {f"x{k}": np.asarray(x) for k, x in enumerate(jax.tree.leaves(inputs))}
    found = {f"y{k}": np.asarray(y) for k, y in enumerate(jax.tree.leaves(jax.jit(function)(*inputs)))}
    if wrt:
        slopes = jax.grad(lambda *args: jax.tree.leaves(function(*args))[0], wrt)(*inputs)
        found |= {f"g{k}": np.asarray(g) for k, g in enumerate(jax.tree.leaves(slopes))}
    (FOLDER / f"{name}.mlir").write_text(_text(function, specs or inputs, bool(wrt)), encoding="utf-8")
    np.savez_compressed(FOLDER / f"{name}.npz", **leaves, **found)


def main() -> None:
    """Write all."""
    jax.config.update("jax_enable_x64", True)
    FOLDER.mkdir(exist_ok=True)
    spec, rng = jax.ShapeDtypeStruct, np.random.default_rng(0)
    n, m = jax.export.symbolic_shape("n, m")
    params = layers((3, 4, 2), "float64")
    x, y = rng.normal(size=(5, 3)), rng.normal(size=(5, 2))
    specs = (params, spec((n, 3), "float64"), spec((n, 2), "float64"))
    _write("perceptron", perceptron, (params, x, y), specs, (0,))
    _write("perceptron_gradient", jax.value_and_grad(perceptron), (params, x, y), specs)
    tokens = np.array([1, 2, 3, 10, 0, 4], "int32")
    inputs = (weights(8, 11, 8, 1, "float32"), tokens, np.roll(tokens, -1))
    _write("transformer", transformer, inputs, wrt=(0,))
    _write("transformer_gradient", jax.value_and_grad(transformer), inputs)
    rates, first = np.array([1.1, 0.4, 0.4, 0.1]), np.array([10.0, 5.0])
    _write("predators", predators, (rates, first), wrt=(0, 1))
    _write("draws", draws, (np.array([0, 42], "uint32"),))
    _write("embedded", embedded, (np.arange(5, dtype="float32"),))
    _write("shapes", shapes, (x, rng.normal(size=10)), (spec((n, m), "float64"), spec((2 * n,), "float64")))
    _write("pooled_gradient", jax.value_and_grad(pooled), (np.round(rng.normal(size=(2, 7, 6))),))
    for program in PROGRAMS:
        if program.id in _FAMILIES:
            _write(program.id, program.function, program.inputs)


if __name__ == "__main__":
    main()
