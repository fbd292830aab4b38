"""(p) A rigid body in free motion under a force and a torque: how far its accelerations are from measured ones; for one
state, a graph of scalars only, and mapped over many.

Newton's and Euler's equations with roll, pitch and yaw (Z-Y-X). The same Python function serves every contender, as
well as complex numbers for the reference.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from contenders import Array, Contender, Model, value_and_gradient
from native import prepared_call

SIZES: Final = {"angles": 3, "spin": 3, "push": 6, "seen": 9}
"""Inputs: angles of the body, its angular velocity, force and torque in the frame of the body; nine measured rates."""
MASS: Final = 1.3
INERTIA: Final = (0.021, 0.027, 0.039)
GRAVITY: Final = 9.81
_GRADIENTS: Final = ("angles", "spin", "push")


class RigidBody(Model):
    """loss = ½·Σ (rate - seen)² for nine rates: of velocity, angles and angular velocity; its gradient."""

    tolerance = 1e-10

    def __init__(self) -> None:
        self.title = "(p) rigid body, scalars float64"
        rng = np.random.default_rng(0)
        self.values = {name: 0.5 * rng.normal(size=n) for name, n in SIZES.items()}

    def reference(self) -> list[Array]:
        """By complex steps: exact to rounding."""
        step = 1e-30
        point = {name: x.T.astype(complex) for name, x in self.values.items()}
        gradients = []
        for name in _GRADIENTS:
            derivatives = np.empty_like(self.values[name].T)
            for i in range(len(derivatives)):
                moved = point[name].copy()
                moved[i] += 1j * step
                derivatives[i] = loss(*(point | {name: moved}).values(), np).imag / step
            gradients.append(derivatives.T)
        return [np.asarray(loss(*point.values(), np).real), *gradients]

    def aotensor(self, aot: Any) -> Any:
        inputs, outputs = _aotensor_graph(aot)
        return aot.function(inputs, _named(outputs), name="rigid")

    def jax(self, jax: Any) -> Callable[..., Any]:
        return _jax_function(jax)

    def torch(self, torch: Any) -> Callable[..., Any]:
        return value_and_gradient(torch, lambda *inputs: loss(*inputs, torch), by=range(3))

    def pytensor(self, pt: Any) -> tuple[list[Any], list[Any]]:
        inputs = [pt.tensor.dvector() for _ in SIZES]
        value = loss(*inputs, pt.tensor)
        return inputs, [value, *pt.grad(value, inputs[:3])]

    def casadi(self, ca: Any) -> Any:
        inputs = [ca.SX.sym(name, n) for name, n in SIZES.items()]
        value = loss(*inputs, ca)
        gradient = ca.jtimes(value, ca.veccat(*inputs[:3]), 1, True)  # one reverse sweep for all
        return ca.Function("rigid", inputs, [value, *ca.vertsplit(gradient, [0, 3, 6, 12])])

    def c(self, kernels: ctypes.CDLL) -> tuple[Contender, list[Any]]:
        """The kernel of many samples, for as many as there are."""
        lead = self.values["angles"].shape[:-1]
        results = [np.empty(lead), *(np.empty((*lead, SIZES[name])) for name in _GRADIENTS)]
        constants = np.array([MASS, GRAVITY, *INERTIA])
        samples = int(np.prod(lead))
        return prepared_call(kernels.rigid_body, samples, constants, *self.values.values(), *results), results


class MappedRigidBody(RigidBody):
    """The loss and its gradients for each of many states."""

    def __init__(self, samples: int = 1000) -> None:
        self.title = f"(p) rigid body, mapped over {samples} samples float64"
        rng = np.random.default_rng(0)
        self.samples = samples
        self.values = {name: 0.5 * rng.normal(size=(samples, n)) for name, n in SIZES.items()}

    def aotensor(self, aot: Any) -> Any:
        at = aot.tensor
        inputs, outputs = _aotensor_graph(aot)
        mapped = [at.matrix(name, shape=("n", size)) for name, size in SIZES.items()]
        results = at.vectorize_graph(outputs, dict(zip(inputs, mapped, strict=True)))
        return aot.function(mapped, _named(results), name="rigid_bodies")

    def jax(self, jax: Any) -> Callable[..., Any]:
        mapped: Callable[..., Any] = jax.vmap(_jax_function(jax))
        return mapped

    def torch(self, torch: Any) -> Callable[..., Any]:
        """The loss written for vectors over the samples, which is faster than `vmap` in PyTorch."""

        def losses(*inputs: Any) -> Any:
            return loss(*(x.T for x in inputs), torch)

        program = value_and_gradient(torch, lambda *inputs: losses(*inputs).sum(), by=range(3))
        return lambda *inputs: [losses(*inputs), *program(*inputs)[1:]]

    def pytensor(self, pt: Any) -> tuple[list[Any], list[Any]]:
        inputs = [pt.tensor.dmatrix() for _ in SIZES]
        values = loss(*(x.T for x in inputs), pt.tensor)
        return inputs, [values, *pt.grad(values.sum(), inputs[:3])]


def loss(angles: Any, spin: Any, push: Any, seen: Any, np: Any) -> Any:
    """½·Σ (rate - seen)² of elements of four vectors.   np: a module with sin and cos"""
    total = 0.0
    for i, rate in enumerate(rates([angles[i] for i in range(3)], [spin[i] for i in range(3)], push, np)):
        total = total + (rate - seen[i]) * (rate - seen[i])
    return 0.5 * total


def rates(angles: Sequence[Any], spin: Sequence[Any], push: Any, np: Any) -> list[Any]:
    """Acceleration in space, rates of roll, pitch and yaw, angular acceleration in the frame of the body."""
    (sr, sp, sy), (cr, cp, cy) = ([f(x) for x in angles] for f in (np.sin, np.cos))
    p, q, r = spin
    fx, fy, fz = (push[i] / MASS for i in range(3))
    ixx, iyy, izz = INERTIA
    turned = sr * fy + cr * fz  # the force after the roll
    across = cr * fy - sr * fz
    ahead = cp * fx + sp * turned
    swing = (sr * q + cr * r) / cp
    return [
        cy * ahead - sy * across,
        sy * ahead + cy * across,
        cp * turned - sp * fx - GRAVITY,
        p + sp * swing,
        cr * q - sr * r,
        swing,
        (push[3] - (izz - iyy) * q * r) / ixx,
        (push[4] - (ixx - izz) * r * p) / iyy,
        (push[5] - (iyy - ixx) * p * q) / izz,
    ]


def _aotensor_graph(aot: Any) -> tuple[list[Any], list[Any]]:
    inputs = [aot.tensor.vector(name, shape=(n,)) for name, n in SIZES.items()]
    value = loss(*inputs, aot.tensor)
    return inputs, [value, *aot.grad(value, inputs[:3])]


def _named(outputs: Sequence[Any]) -> dict[str, Any]:
    return dict(zip(("loss", *(f"grad_{name}" for name in _GRADIENTS)), outputs, strict=True))


def _jax_function(jax: Any) -> Callable[..., Any]:
    gradient = jax.value_and_grad(lambda *inputs: loss(*inputs, jax.numpy), argnums=(0, 1, 2))

    def flat(*inputs: Any) -> Any:
        value, derivatives = gradient(*inputs)
        return (value, *derivatives)

    return flat
