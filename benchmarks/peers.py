"""How each contender is set up and called: inputs where it wants them, results complete when the call returns."""

from __future__ import annotations

import importlib
import tempfile
from collections.abc import Callable
from typing import Any

from contenders import Array, Comparison

import aotensor as aot


def add_aotensor(c: Comparison, f: aot.Function, values: dict[str, Array]) -> None:
    """The compiled library, called with arrays (new outputs each time) and bound (the same outputs each time)."""
    compiled = getattr(aot.compile(f, tempfile.mkdtemp()).load(), f.name)
    arguments = tuple(values.values())
    c.add("aotensor", lambda: compiled(*arguments), lambda result: list(result.values()))
    bound = compiled.bind(**values)
    c.add("aotensor, bound", bound, lambda result: list(result.values()))


def find_jax(c: Comparison) -> Any:
    """The module jax with 64-bit numbers switched on; None if it is not installed."""
    jax = _find(c, "JAX", "jax")
    if jax is not None:
        jax.config.update("jax_enable_x64", True)
    return jax


def add_jax(c: Comparison, jax: Any, function: Callable[..., Any], values: list[Array]) -> None:
    compiled, arguments = jax.jit(function), [jax.numpy.asarray(x) for x in values]
    c.add("JAX", lambda: jax.block_until_ready(compiled(*arguments)), lambda result: list(result))


def find_pytensor(c: Comparison) -> Any:
    """The module pytensor; None if it is not installed."""
    return _find(c, "PyTensor", "pytensor")


def add_pytensor(c: Comparison, pt: Any, inputs: list[Any], outputs: list[Any], values: list[Array]) -> None:
    compiled = pt.function(inputs, outputs, mode="NUMBA", trust_input=True)
    c.add("PyTensor", lambda: compiled(*values), lambda result: list(result))


def _find(c: Comparison, title: str, module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        c.missing[title] = str(error)
        return None
