"""A program in JAX, an equation of motion with the gradient of its path, as a library without JAX.

Lotka and Volterra's predators and prey by the classical Runge-Kutta method; needs `pip install 'aotensor[doors]'`.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

import aotensor as aot
from aotensor.importers.jax import from_jax

jax.config.update("jax_enable_x64", True)
RATES, FIRST = np.array([1.1, 0.4, 0.4, 0.1]), np.array([10.0, 5.0])


def predators(rates: jax.Array, first: jax.Array, steps: int) -> jax.Array:
    """The mean number of predators.   rates: (4,), first: (2,)"""

    def slope(y: jax.Array) -> jax.Array:
        return jnp.stack([(rates[0] - rates[1] * y[1]) * y[0], (rates[3] * y[0] - rates[2]) * y[1]])

    def step(y: jax.Array, _: None) -> tuple[jax.Array, jax.Array]:
        h = 0.01
        a = slope(y)
        b = slope(y + h / 2 * a)
        c = slope(y + h / 2 * b)
        d = slope(y + h * c)
        y = y + h / 6 * (a + 2 * b + 2 * c + d)
        return y, y[1]

    return jax.lax.scan(step, first, None, length=steps)[1].mean()


f = from_jax(predators, RATES, FIRST, static={"steps": 2000}, grad="rates")

if __name__ == "__main__":
    found = f(RATES, FIRST)
    value, slope = jax.value_and_grad(predators)(RATES, FIRST, 2000)
    difference = max(abs(found["out"] / value - 1), np.abs(found["grad_rates"] / slope - 1).max())
    print(f"mean number of predators {found['out']:.6f}, gradient by rates {found['grad_rates'].round(4)}")
    print(f"largest relative difference from JAX: {difference:.1e}")
    print("written:", aot.compile(f, "build").header.name)
