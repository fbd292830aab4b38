"""(i) Sweeps of a five-point stencil over a grid, and the gradient of the final state."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
from contenders import Array, Contender, Model, value_and_gradient
from native import prepared_call

SWEEPS = 10


class Stencil(Model):
    """u = (up + down + left + right) / 4 inside, ten times; or the gradient of Σ u² of the end by the start."""

    tolerance = 1e-12

    def __init__(self, is_gradient: bool, n: int = 1000) -> None:
        self.title = f"(i) {'gradient of ' if is_gradient else ''}{SWEEPS} stencil sweeps, {n}x{n} float64"
        self.is_gradient = is_gradient
        self.values = {"u": np.random.default_rng(0).normal(size=(n, n))}
        self.operations = 4.0 * SWEEPS * (n - 2) ** 2 * (2 if is_gradient else 1)

    def reference(self) -> list[Array]:
        u = self.values["u"].copy()
        for _ in range(SWEEPS):
            u[1:-1, 1:-1] = _mean(u)
        if not self.is_gradient:
            return [u]
        g = 2 * u
        for _ in range(SWEEPS):
            inside, g[1:-1, 1:-1] = g[1:-1, 1:-1] / 4, 0.0
            for window in (g[:-2, 1:-1], g[2:, 1:-1], g[1:-1, :-2], g[1:-1, 2:]):
                window += inside
        return [g]

    def aotensor(self, aot: Any) -> Any:
        at = aot.tensor
        u = at.matrix("u", shape=("n", "m"))
        end = u
        for _ in range(SWEEPS):
            end = at.set_subtensor(end[1:-1, 1:-1], _mean(end))
        result = aot.grad((end**2).sum(), u) if self.is_gradient else end
        return aot.function([u], {"result": result}, name="stencil")

    def jax(self, jax: Any) -> Callable[..., Any]:
        def sweeps(u: Any) -> Any:
            for _ in range(SWEEPS):
                u = u.at[1:-1, 1:-1].set(_mean(u))
            return u

        gradient = jax.grad(lambda u: (sweeps(u) ** 2).sum())
        return (lambda u: (gradient(u),)) if self.is_gradient else (lambda u: (sweeps(u),))

    def torch(self, torch: Any) -> Callable[..., Any]:
        def sweeps(u: Any) -> Any:
            for _ in range(SWEEPS):
                rows = u[1:-1].slice_scatter(_mean(u), 1, 1, -1)
                u = u.slice_scatter(rows, 0, 1, -1)
            return u

        program = value_and_gradient(torch, lambda u: (sweeps(u) ** 2).sum(), by=[0])
        return (lambda u: program(u)[1:]) if self.is_gradient else (lambda u: [sweeps(u)])

    def pytensor(self, pt: Any) -> tuple[list[Any], list[Any]]:
        u = pt.tensor.dmatrix()
        end = u
        for _ in range(SWEEPS):
            end = pt.tensor.set_subtensor(end[1:-1, 1:-1], _mean(end))
        return [u], [pt.grad((end**2).sum(), u) if self.is_gradient else end]

    def numpy(self) -> Contender:
        return self.reference

    def c(self, kernels: ctypes.CDLL) -> tuple[Contender, list[Array]]:
        u = self.values["u"]
        result, work = np.empty_like(u), np.empty_like(u)
        kernel = kernels.stencil_gradient if self.is_gradient else kernels.stencil
        return prepared_call(kernel, *u.shape, SWEEPS, u, result, work), [result]


def _mean(u: Any) -> Any:
    return (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) / 4
