"""Exports of JAX made anew: what goes through every rule of its importer, through StableHLO."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed")

import jax.numpy as jnp  # noqa: E402  (they need JAX)
from jax import lax  # noqa: E402
from jax_cases import PROGRAMS, Program  # noqa: E402

from aotensor.importers.stablehlo import from_stablehlo  # noqa: E402

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_disable_most_optimizations", True)  # XLA compiles for one call only


def text_of(function: Any, *specs: Any) -> str:
    """The module that JAX exports."""
    return str(jax.export.export(jax.jit(function))(*specs).mlir_module())


def listed(found: Any) -> list[Any]:
    """Results in order."""
    return list(found.values()) if isinstance(found, dict) else found if isinstance(found, list) else [found]


def check(program: Program, found: Any) -> None:
    """As JAX computes it, at least as close as the program asks for."""
    wanted = [np.asarray(x) for x in jax.tree.leaves(jax.jit(program.function)(*program.inputs))]
    for position, (x, y) in enumerate(zip(listed(found), wanted, strict=True)):
        assert (np.shape(x), np.asarray(x).dtype) == (y.shape, y.dtype), position
        rtol = 2e-6 if y.dtype == np.float32 else program.rtol
        np.testing.assert_allclose(x, y, rtol, rtol, err_msg=f"output {position}")


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.id)
def test_the_reference_gives_what_jax_gives(program: Program) -> None:
    with np.errstate(all="ignore"):
        check(program, from_stablehlo(text_of(program.function, *program.inputs)).reference(*program.inputs))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.id)
def test_compiled_code_gives_what_jax_gives(program: Program) -> None:
    check(program, from_stablehlo(text_of(program.function, *program.inputs))(*program.inputs))


def test_the_text_of_a_function_that_was_lowered() -> None:
    """Without names of arguments, and with locations in another form."""
    lowered = jax.jit(lambda p, x: {"loss": (x @ p["w"]).sum(), "n": [x, x]}).lower(
        {"w": jnp.ones((3, 2))}, jnp.ones(3)
    )
    for text in (lowered.as_text(), lowered.as_text(debug_info=True)):
        f = from_stablehlo(text, name="f")
        assert list(f.keys.values()) == ["loss", "n_0", "n_1"]
        assert f.reference(np.ones((3, 2)), np.ones(3))["loss"] == 6


@pytest.mark.parametrize("extents", [(5, 3), (3, 5), (4, 4), (1, 1)])
@pytest.mark.parametrize("mode", ["reduced", "complete", "r"])
def test_orthogonal_factors(extents: tuple[int, int], mode: str) -> None:
    """JAX has LAPACK find reflections, and then multiply them."""
    x = np.random.default_rng(1).normal(size=extents)
    found = listed(from_stablehlo(text_of(lambda x: jnp.linalg.qr(x, mode=mode), x)).reference(x))
    for ours, theirs in zip(found, jax.tree.leaves(jnp.linalg.qr(x, mode=mode)), strict=True):
        np.testing.assert_allclose(np.abs(ours), np.abs(theirs), 1e-12, 1e-12)
    if mode != "r":
        np.testing.assert_allclose(found[0] @ found[1], x, 1e-12, 1e-12)


def test_derivatives_through_loops_and_factors() -> None:
    """Ours after the import, as JAX's."""

    def loss(x: Any, s: Any) -> Any:
        spd = s @ s.T + 4 * jnp.eye(3)
        path = lax.scan(lambda c, row: (jnp.tanh(c + row), c * row), x, s)[1]
        return (path**2).sum() + jnp.linalg.slogdet(spd)[1] + jnp.linalg.solve(spd, x).sum() + jnp.sort(x)[-1]

    x, s = np.array([0.3, -1.0, 2.0]), np.random.default_rng(2).normal(size=(3, 3))
    f = from_stablehlo(text_of(loss, x, s), grad=["x", "s"])
    found, wanted = f.reference(x, s), jax.grad(loss, (0, 1))(x, s)
    np.testing.assert_allclose(found["grad_x"], wanted[0], 1e-11)
    np.testing.assert_allclose(found["grad_s"], wanted[1], 1e-11)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_gradients_of_pooling_go_to_the_first_of_equal_elements(padding: str) -> None:
    def loss(x: Any) -> Any:
        least = lax.reduce_window(x, jnp.inf, lax.min, (3, 2), (1, 2), padding)
        return (lax.reduce_window(x, -jnp.inf, lax.max, (2, 3), (2, 1), padding) ** 2).sum() + (least**3).sum()

    x = np.round(np.random.default_rng(0).normal(size=(6, 7)))
    slope = jax.grad(loss)
    found = from_stablehlo(text_of(slope, x)).reference(x)
    np.testing.assert_array_equal(found, slope(x))
