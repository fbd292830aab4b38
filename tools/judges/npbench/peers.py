"""The NumPy, JAX and Numba versions of a kernel: their results, and their times on one core."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Sequence
from time import perf_counter, process_time
from typing import Any, Final

import numpy as np
from tools.judges.npbench.checkout import Described
from tools.judges.npbench.ours import Values, inputs_of
from tools.judges.workers import shortest

STEPS: Final = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11)
"""Steps of central differences, relative to the root mean square of the array."""
ENOUGH: Final = 1e-8
"""An error of differences for which no further step is tried."""


def time_in_place(function: Callable[..., Any], values: Values, seconds: float) -> float:
    """The shortest call of a function that may change its arguments: each gets fresh copies, which are not timed."""
    best, end, spent = float("inf"), perf_counter() + 4 * seconds, 0.0
    while best == float("inf") or (spent < seconds and perf_counter() < end):
        given = list(copy.deepcopy(values).values())
        start = perf_counter()
        function(*given)
        took = perf_counter() - start
        best, spent = min(best, took), spent + took
    return best


def differences(
    sums: Callable[[Values], complex], values: Values, wrt: Sequence[str], gradient: Sequence[Any]
) -> float:
    """The least error of Re(g·d) by differences along a direction d, relative to it, over all steps.

    sums: the sum of all results, of which real and imaginary parts are added.
    """
    rng = np.random.default_rng(2)
    direction = {}
    for name, slope in zip(wrt, gradient, strict=True):
        x, size = values[name], float(np.sqrt(np.mean(np.abs(slope) ** 2))) or 1.0
        drawn = rng.normal(size=x.shape) + (1j * rng.normal(size=x.shape) if x.dtype.kind == "c" else 0.0)
        scale = float(np.sqrt(np.mean(np.abs(x) ** 2))) or 1.0
        direction[name] = scale * (drawn + np.conj(slope) / size)
    expected = sum(float(np.real(np.sum(slope * direction[name]))) for name, slope in zip(wrt, gradient, strict=True))
    errors = []
    if all(x.dtype.kind == "f" for x in direction.values()):
        errors.append(_by_complex_step(sums, values, direction, expected))
    for step in STEPS:
        if errors and errors[-1] < ENOUGH:
            break
        ahead, behind = (
            sums({name: x + side * step * direction[name] if name in direction else x for name, x in values.items()})
            for side in (1, -1)
        )
        change = (ahead - behind) / (2 * step)
        errors.append(abs(change.real + change.imag - expected) / max(abs(expected), 1e-300))
    return float(np.nanmin(errors))


def _by_complex_step(
    sums: Callable[[Values], complex], values: Values, direction: dict[str, Any], expected: float
) -> float:
    """The error by a step along the imaginary axis, which does not cancel; nan where NumPy's version refuses it."""
    given = {name: x + 1e-30j * direction[name] if name in direction else x for name, x in values.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("error", np.exceptions.ComplexWarning)
        try:
            return abs(sums(given).imag / 1e-30 - expected) / max(abs(expected), 1e-300)
        except (TypeError, ValueError, np.exceptions.ComplexWarning):
            return float("nan")


class Jax:
    """A JAX version, for the sizes of its arguments; arrays and NumPy's scalars are its inputs, the rest is static."""

    def __init__(self, one: Described, suffix: str, values: Values) -> None:
        import jax

        self.values = values
        self.given = {name: jax.numpy.asarray(x) for name, x in inputs_of(values).items()}
        version = one.version(suffix)
        function = getattr(version, "__wrapped__", version)

        def program(given: Any) -> list[Any]:
            found = function(*(given.get(name, x) for name, x in values.items()))
            return list(found) if isinstance(found, (tuple, list)) else [found]

        self.program, self.facts = program, dict[str, float]()
        start = process_time()
        self._call = jax.jit(program).lower(self.given).compile()
        self.facts["compile"] = process_time() - start

    def values_of(self) -> list[Any]:
        """The results of the JAX version."""
        return [np.asarray(x) for x in self._call(self.given)]

    def time(self, seconds: float) -> None:
        """Measure a call."""
        import jax

        self.facts["call"] = shortest(lambda: jax.block_until_ready(self._call(self.given)), seconds)

    def gradient(self, wrt: Sequence[str], chosen: Sequence[int], seconds: float) -> list[Any]:
        """The gradient of the sum of the chosen results, real and imaginary parts, and its times.

        Raises: what JAX raises where it does not differentiate, ValueError where its gradient is not finite
        """
        import jax
        import jax.numpy as jnp

        def cost(slopes: Any, given: Any) -> Any:
            results = self.program({**given, **slopes})
            return sum(jnp.real(results[k]).sum() + jnp.imag(results[k]).sum() for k in chosen)

        slopes = {name: self.given[name] for name in wrt}
        start = process_time()
        call = jax.jit(jax.grad(cost)).lower(slopes, self.given).compile()
        self.facts["compile_gradient"] = process_time() - start

        def gradient_at(values: Values) -> list[Any]:
            given = {name: jnp.asarray(x) for name, x in inputs_of(values).items()}
            found = call({name: given[name] for name in wrt}, given)
            return [np.asarray(found[name]) for name in wrt]

        self.gradient_at = gradient_at
        arrays = gradient_at(self.values)
        if not all(np.isfinite(x).all() for x in arrays):
            raise ValueError("JAX's gradient is not finite")
        self.facts["gradient"] = shortest(lambda: jax.block_until_ready(call(slopes, self.given)), seconds)
        return arrays
