"""The Jacobian of bundle adjustment: two residuals of fifteen inputs for each observation."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as ss
from contenders import DENSE_PEERS, Array, Contender, value_and_gradient
from native import prepared_call

from sparse_cases.model import SparseModel


class BundleAdjustment(SparseModel):
    """Sparse Jacobian of the residuals r, two per observation, by all inputs p, fifteen per observation.

    Inputs: rotation vector (3), centre (3), focal length, principal point (2) and two radial distortions of a camera,
    a point in space (3), a weight; r = weight·(projection - seen).
    """

    peers = DENSE_PEERS

    def __init__(self, n: int = 5000) -> None:
        self.title = f"bundle adjustment, {n} observations: Jacobian, 2 residuals by 15 inputs each"
        rng = np.random.default_rng(5)
        camera = np.hstack([rng.normal(size=(n, 3)), rng.normal(size=(n, 3)), 500 + 10 * rng.normal(size=(n, 1)),
                            rng.normal(size=(n, 2)), 1e-2 * rng.normal(size=(n, 2))])  # fmt: skip
        ahead = _rotated(np, -camera[:, :3].T, [*rng.normal(size=(2, n)), 4 + rng.random(n)])
        point = camera[:, 3:6] + np.stack(ahead, axis=1)
        self.samples = n
        self.values = {
            "p": np.hstack([camera, point, 0.5 + rng.random((n, 1))]).ravel(),
            "seen": rng.normal(size=(n, 2)),
        }

    def reference(self) -> list[Any]:
        """By complex steps: exact to rounding."""
        p, seen = self.values["p"].reshape(-1, 15), self.values["seen"]
        blocks = np.empty((len(p), 2, 15))
        for number in range(15):
            step = p.astype(complex)
            step[:, number] += 1e-30j
            blocks[:, :, number] = np.stack(_residuals(np, list(step.T), list(seen.T)), axis=1).imag / 1e-30
        return [_jacobian(blocks)]

    def collect(self, values: list[Any]) -> list[Any]:
        """Collect the blocks, which every contender computes by two reverse sweeps for all observations at once."""
        return [value if hasattr(value, "indptr") else _jacobian(np.asarray(value)) for value in values]

    def aotensor(self, aot: Any) -> Any:
        at, n = aot.tensor, len(self.values["seen"])
        p, seen = at.vector("p", shape=(15 * n,)), at.matrix("seen", shape=(n, 2))
        table = p.reshape((n, 15))
        inputs = [table[:, i] for i in range(15)]
        pair = _residuals(at, inputs, [seen[:, 0], seen[:, 1]])
        sweeps = [aot.grad(r.sum(), inputs, disconnected_inputs="ignore") for r in pair]
        blocks = at.stack([at.stack(derivatives, axis=1) for derivatives in sweeps], axis=1)
        return aot.function([p, seen], {"J": blocks}, name="bundle")

    def jax(self, jax: Any) -> Callable[..., Any]:
        jnp = jax.numpy

        def one(p: Any, seen: Any) -> Any:
            return jnp.stack(_residuals(jnp, [p[i] for i in range(15)], [seen[0], seen[1]]))

        return lambda p, seen: (jax.vmap(jax.jacrev(one))(p.reshape(-1, 15), seen),)

    def torch(self, torch: Any) -> Callable[..., Any]:
        """The Jacobian by two reverse sweeps for all observations at once."""

        def sweep(which: int) -> Callable[..., Any]:
            def total(p: Any, seen: Any) -> Any:
                inputs = list(p.reshape(-1, 15).T)
                return _residuals(torch, inputs, list(seen.T))[which].sum()

            return value_and_gradient(torch, total, by=[0])

        return lambda p, seen: [torch.stack([sweep(i)(p, seen)[1].reshape(-1, 15) for i in range(2)], dim=1)]

    def casadi(self, ca: Any) -> Any:
        """A function of one observation, its Jacobian row by row."""
        p, seen = ca.SX.sym("p", 15), ca.SX.sym("seen", 2)
        pair = ca.vertcat(*_residuals(ca, ca.vertsplit(p), ca.vertsplit(seen)))
        return ca.Function("bundle", [p, seen], [ca.vec(ca.densify(ca.jacobian(pair, p)).T)])

    def pytensor(self, pt: Any) -> tuple[list[Any], list[Any]]:
        p, seen = pt.tensor.dvector(), pt.tensor.dmatrix()
        inputs = p.reshape((-1, 15))
        pair = _residuals(pt.tensor, [inputs[:, i] for i in range(15)], [seen[:, 0], seen[:, 1]])
        blocks = pt.tensor.stack([pt.grad(r.sum(), inputs) for r in pair], axis=1)
        return [p, seen], [blocks]

    def c(self, kernels: ctypes.CDLL) -> tuple[Contender, list[Any]]:
        p, seen = self.values.values()
        blocks = np.empty((len(seen), 2, 15))
        return prepared_call(kernels.bundle, len(seen), p, seen, blocks), [blocks]


def _residuals(np: Any, p: list[Any], seen: list[Any]) -> list[Any]:
    """The residuals for arrays of any shape, by functions that all contenders have."""
    x, y, z = _rotated(np, p[:3], [p[11 + i] - p[3 + i] for i in range(3)])
    u, v = x / z, y / z
    square = u * u + v * v
    scale = p[6] * (1 + p[9] * square + p[10] * square * square)
    return [p[14] * (u * scale + p[7] - seen[0]), p[14] * (v * scale + p[8] - seen[1])]


def _rotated(np: Any, r: Any, x: list[Any]) -> list[Any]:
    """x turned around the axis r by the angle |r| (Rodrigues' formula)."""
    angle = np.sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2])
    cos, sin = np.cos(angle), np.sin(angle)
    a = [r[0] / angle, r[1] / angle, r[2] / angle]
    cross = [a[1] * x[2] - a[2] * x[1], a[2] * x[0] - a[0] * x[2], a[0] * x[1] - a[1] * x[0]]
    along = (a[0] * x[0] + a[1] * x[1] + a[2] * x[2]) * (1 - cos)
    return [x[i] * cos + cross[i] * sin + a[i] * along for i in range(3)]


def _jacobian(blocks: Array) -> Any:
    """Blocks of 2 x 15 on the diagonal of a CSR matrix."""
    n = len(blocks)
    columns = (15 * np.arange(n)[:, None, None] + np.arange(15)[None, None, :]).repeat(2, axis=1)
    return ss.csr_matrix((blocks.ravel(), columns.ravel(), np.arange(0, 30 * n + 1, 15)), (2 * n, 15 * n))
