"""Primitives of JAX by their rules: values, dtypes and shapes as JAX's, by the reference and compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed")

from jax_cases import PROGRAMS, Program  # noqa: E402  (they need JAX)

from aotensor.importers.jax import from_jax  # noqa: E402

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_disable_most_optimizations", True)  # XLA compiles for one call only


def listed(result: Any) -> list[Any]:
    """Results in order."""
    if isinstance(result, dict):
        return list(result.values())
    return result if isinstance(result, list) else [result]


def check(program: Program, found: Any) -> None:
    wanted = [np.asarray(x) for x in jax.tree.leaves(jax.jit(program.function)(*program.inputs))]
    for position, (x, y) in enumerate(zip(listed(found), wanted, strict=True)):
        assert (np.shape(x), np.asarray(x).dtype) == (y.shape, y.dtype), position
        rtol = 2e-6 if y.dtype == np.float32 else program.rtol
        np.testing.assert_allclose(x, y, rtol, rtol * 0.1, err_msg=f"output {position}")


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.id)
def test_the_reference_gives_what_jax_gives(program: Program) -> None:
    check(program, from_jax(program.function, *program.inputs).reference(*program.inputs))


@pytest.mark.again
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.id)
def test_compiled_code_gives_what_jax_gives(program: Program) -> None:
    check(program, from_jax(program.function, *program.inputs)(*program.inputs))


def test_fewer_elements_than_a_window_has() -> None:
    """No windows are no results, whatever the stride."""
    (n,) = jax.export.symbolic_shape("n")
    spec = jax.ShapeDtypeStruct((n,), "float32")

    def sums(x: Any) -> Any:
        return jax.lax.reduce_window(x, np.float32(0), jax.lax.add, (3,), (2,), [(0, 0)])

    f = from_jax(sums, spec)
    for count in (1, 2, 3, 4, 7):
        x = np.arange(count, dtype="float32")
        np.testing.assert_array_equal(f(x), np.asarray(sums(x)))
