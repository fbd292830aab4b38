"""Whole problems: optimal control, reaction networks, finite elements, a Kalman filter, a transformer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from growing.kind import Kind


def _control(z: Sequence[Any], f: Any, size: int) -> list[Any]:
    """The Lagrangian of swinging a pendulum up: trapezoidal collocation over N = (size − 2)/3 intervals."""
    z, multipliers = z
    N = (size - 2) // 3
    angle, speed, torque = z[: N + 1], z[N + 1 : 2 * N + 2], z[2 * N + 2 :]
    acceleration = f.sin(angle[:-1]) * -9.81 - 0.1 * speed[:-1] * speed[:-1] + torque
    end = f.sin(angle[1:]) * -9.81 - 0.1 * speed[1:] * speed[1:] + torque
    step = 2.0 / N
    defects = angle[1:] - angle[:-1] - step / 2 * (speed[1:] + speed[:-1])
    others = speed[1:] - speed[:-1] - step / 2 * (acceleration + end)
    return [f.sum(torque * torque) * step + f.sum(multipliers[:N] * defects) + f.sum(multipliers[N:] * others)]


def _trajectory(size: int) -> list[NDArray[np.float64]]:
    return [np.linspace(0.1, 0.9, size), np.linspace(-1.0, 1.0, 2 * ((size - 2) // 3))]


def _network(x: Sequence[Any], f: Any, size: int) -> list[Any]:
    """Rates of change of `size` species in three times as many random reactions a + b → c, an equation each."""
    rng = np.random.default_rng(size)
    concentrations = [x[0][i] for i in range(size)]
    changes: list[Any] = [0.0 * c for c in concentrations]
    for a, b, c in rng.integers(size, size=(3 * size, 3)).tolist():
        rate = rng.uniform(0.5, 2.0) * concentrations[a] * concentrations[b]
        changes[a], changes[b], changes[c] = changes[a] - rate, changes[b] - rate, changes[c] + rate
    return [f.stack(changes)]


def _elements(u: Sequence[Any], f: Any, size: int) -> list[Any]:
    """The energy of a neo-Hookean square of 2·size² triangles.   u: displacements of the (size + 1)² nodes, x then y"""
    nodes = (size + 1) ** 2
    i, j = np.meshgrid(np.arange(size), np.arange(size), indexing="ij")
    corner = (i * (size + 1) + j).ravel()
    right, above = corner + size + 1, corner + 1
    triangles = np.concatenate([np.stack([corner, right, above]), np.stack([right + 1, above, right])], axis=1)
    sign = np.repeat([1.0, -1.0], size * size) * size
    (x, y) = u[0][:nodes], u[0][nodes:]
    a, b, c = triangles
    F11, F12 = 1.0 + (x[b] - x[a]) * sign, (x[c] - x[a]) * sign
    F21, F22 = (y[b] - y[a]) * sign, 1.0 + (y[c] - y[a]) * sign
    J = F11 * F22 - F12 * F21
    density = 0.5 * (F11**2 + F12**2 + F21**2 + F22**2 - 2.0) - f.log(J) + 2.0 * f.log(J) ** 2
    return [f.sum(density) * (0.5 / size**2)]


def _displacements(size: int) -> list[NDArray[np.float64]]:
    return [np.random.default_rng(3).uniform(-0.02, 0.02, 2 * (size + 1) ** 2) / size]


def _kalman(x: Sequence[Any], f: Any, size: int) -> list[Any]:
    """Log-likelihood of 100 observations by a filter of `size` states; two numbers are observed at a time."""
    import jax

    transition, noise, observations = x
    H, Q, R = f.eye(2, size), f.diag(f.exp(noise)), 0.1 * f.eye(2)

    def step(state: tuple[Any, Any, Any], seen: Any) -> tuple[tuple[Any, Any, Any], None]:
        mean, cov, total = state
        mean, cov = transition @ mean, transition @ cov @ transition.T + Q
        S, error = H @ cov @ H.T + R, seen - H @ mean
        gain = f.linalg.solve(S, H @ cov).T
        total = total - 0.5 * (f.linalg.slogdet(S)[1] + error @ f.linalg.solve(S, error))
        return (mean + gain @ error, cov - gain @ H @ cov, total), None

    return [jax.lax.scan(step, (f.zeros(size), f.eye(size), 0.0), observations)[0][2]]


def _observations(size: int) -> list[NDArray[np.float64]]:
    rng = np.random.default_rng(4)
    return [0.9 * np.eye(size) + rng.normal(size=(size, size)) / 20, np.zeros(size), rng.normal(size=(100, 2))]


WIDTH, HEADS, TOKENS = 64, 4, 32


def _transformer(x: Sequence[Any], f: Any, size: int) -> list[Any]:
    """Mean square of the output of `size` layers of attention and two products each."""
    import jax

    y, *weights = x
    for layer in range(size):
        q, k, v, out, up, down = weights[6 * layer : 6 * layer + 6]
        normed = (y - y.mean(-1, keepdims=True)) / f.sqrt(y.var(-1, keepdims=True) + 1e-5)
        heads = [(normed @ w).reshape(TOKENS, HEADS, WIDTH // HEADS).transpose(1, 0, 2) for w in (q, k, v)]
        scores = heads[0] @ heads[1].transpose(0, 2, 1) / (WIDTH // HEADS) ** 0.5
        scores = f.where(f.tril(f.ones((TOKENS, TOKENS), bool)), scores, -1e9)
        y = y + (jax.nn.softmax(scores) @ heads[2]).transpose(1, 0, 2).reshape(TOKENS, WIDTH) @ out
        normed = (y - y.mean(-1, keepdims=True)) / f.sqrt(y.var(-1, keepdims=True) + 1e-5)
        y = y + jax.nn.gelu(normed @ up) @ down
    return [f.mean(y**2)]


def _weights(size: int) -> list[NDArray[np.float64]]:
    rng = np.random.default_rng(5)
    shapes = [(WIDTH, WIDTH)] * 4 + [(WIDTH, 4 * WIDTH), (4 * WIDTH, WIDTH)]
    return [rng.normal(size=(TOKENS, WIDTH)), *(rng.normal(size=s) / s[0] ** 0.5 for _ in range(size) for s in shapes)]


PROBLEMS: Final = {
    "control": Kind(
        "sparse Hessian of the Lagrangian of optimal control, by variables", (98, 152, 422, 5000), _control,
        _trajectory, "hessian", wrt=1, is_static=True, casadi=True,
    ),
    "network": Kind(
        "sparse Jacobian of a reaction network in scalar equations, by species", (50, 150, 500), _network,
        lambda size: [np.linspace(0.1, 1.0, size)], "jacobian", is_static=True, casadi=True,
    ),
    "elements": Kind(
        "sparse Hessian of the energy of a grid of finite elements", (4, 8, 16), _elements, _displacements, "hessian",
        is_static=True,
    ),
    "kalman": Kind(
        "gradient of a Kalman filter's log-likelihood, imported from JAX, by states", (4, 8), _kalman, _observations,
        wrt=2, is_static=True, is_imported=True,
    ),
    "transformer": Kind(
        "gradient of layers of a transformer, imported from JAX", (1, 2, 4), _transformer, _weights, is_static=True,
        is_imported=True,
    ),
}  # fmt: skip
