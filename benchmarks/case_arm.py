"""(h) A robot arm with seven links: how far its dynamics are from measured torques; for one motion, a graph of scalars
only, and mapped over many.

The recursive Newton-Euler algorithm in the frames of Denavit and Hartenberg; Luh, Walker & Paul (1980). The same Python
function serves every contender, as well as complex numbers for the reference.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from contenders import Array, Model, value_and_gradient

LINKS = 7
INPUTS = ("q", "qd", "qdd", "tau")


class Arm(Model):
    """loss = ½·Σ (torque - tau)² for the torques that the motion (q, qd, qdd) takes; gradient by q, qd and qdd."""

    tolerance = 1e-10

    def __init__(self) -> None:
        self.title = "(h) robot arm, 7 links, scalars float64"
        rng = np.random.default_rng(0)
        self.values = {name: rng.normal(size=LINKS) for name in INPUTS}

    def reference(self) -> list[Array]:
        step = 1e-30  # complex step: exact to rounding
        point = {name: x.T.astype(complex) for name, x in self.values.items()}  # links first, then samples if any
        gradients = []
        for name in INPUTS[:3]:
            derivatives = np.empty_like(self.values[name].T)
            for i in range(LINKS):
                moved = point[name].copy()
                moved[i] += 1j * step
                derivatives[i] = loss(*(point | {name: moved}).values(), np.cos, np.sin).imag / step
            gradients.append(derivatives.T)
        return [np.asarray(loss(*point.values(), np.cos, np.sin).real), *gradients]

    def aotensor(self, aot: Any) -> Any:
        inputs, outputs = _aotensor_graph(aot)
        return aot.function(inputs, _named(outputs), name="arm")

    def jax(self, jax: Any) -> Callable[..., Any]:
        return _jax_function(jax)

    def torch(self, torch: Any) -> Callable[..., Any]:
        return value_and_gradient(torch, lambda *inputs: loss(*inputs, torch.cos, torch.sin), by=range(3))

    def pytensor(self, pt: Any) -> tuple[list[Any], list[Any]]:
        inputs = [pt.tensor.dvector() for _ in INPUTS]
        value = loss(*inputs, pt.tensor.cos, pt.tensor.sin)
        return inputs, [value, *pt.grad(value, inputs[:3])]

    def casadi(self, ca: Any) -> Any:
        return _casadi_function(ca)


class MappedArm(Arm):
    """The loss and its gradients for each of many motions."""

    def __init__(self, samples: int = 1000) -> None:
        self.title = f"(h) robot arm, 7 links, mapped over {samples} samples float64"
        rng = np.random.default_rng(0)
        self.samples = samples
        self.values = {name: rng.normal(size=(samples, LINKS)) for name in INPUTS}

    def aotensor(self, aot: Any) -> Any:
        at = aot.tensor
        inputs, outputs = _aotensor_graph(aot)
        mapped = [at.matrix(name, shape=("n", LINKS)) for name in INPUTS]
        results = at.vectorize_graph(outputs, dict(zip(inputs, mapped, strict=True)))
        return aot.function(mapped, _named(results), name="arms")

    def jax(self, jax: Any) -> Callable[..., Any]:
        mapped: Callable[..., Any] = jax.vmap(_jax_function(jax))
        return mapped

    def torch(self, torch: Any) -> Callable[..., Any]:
        """The loss written for vectors over the samples, which is faster than `vmap` in PyTorch."""

        def losses(*inputs: Any) -> Any:
            return loss(*(x.T for x in inputs), torch.cos, torch.sin)

        program = value_and_gradient(torch, lambda *inputs: losses(*inputs).sum(), by=range(3))
        return lambda *inputs: [losses(*inputs), *program(*inputs)[1:]]

    def pytensor(self, pt: Any) -> tuple[list[Any], list[Any]]:
        inputs = [pt.tensor.dmatrix() for _ in INPUTS]
        values = loss(*(x.T for x in inputs), pt.tensor.cos, pt.tensor.sin)
        return inputs, [values, *pt.grad(values.sum(), inputs[:3])]

    def casadi(self, ca: Any) -> Any:
        return _casadi_function(ca)


def _aotensor_graph(aot: Any) -> tuple[list[Any], list[Any]]:
    at = aot.tensor
    inputs = [at.vector(name, shape=(LINKS,)) for name in INPUTS]
    value = loss(*inputs, at.cos, at.sin)
    return inputs, [value, *aot.grad(value, inputs[:3])]


def _named(outputs: Sequence[Any]) -> dict[str, Any]:
    return dict(zip(("loss", *(f"grad_{name}" for name in INPUTS[:3])), outputs, strict=True))


def _jax_function(jax: Any) -> Callable[..., Any]:
    """The loss by small matrices and loops over the links; XLA does not finish compiling the graph of scalars."""
    gradient = jax.value_and_grad(lambda *inputs: _loss_by_matrices(jax, *inputs), argnums=(0, 1, 2))

    def flat(*inputs: Any) -> Any:
        value, derivatives = gradient(*inputs)
        return (value, *derivatives)

    return flat


def _casadi_function(ca: Any) -> Any:
    inputs = [ca.SX.sym(name, LINKS) for name in INPUTS]
    value = loss(*inputs, ca.cos, ca.sin)
    derivatives = ca.vertsplit(ca.jtimes(value, ca.veccat(*inputs[:3]), 1, True), LINKS)  # one reverse sweep for all
    return ca.Function("arm", inputs, [value, *derivatives])


def loss(q: Any, qd: Any, qdd: Any, tau: Any, cos: Callable[[Any], Any], sin: Callable[[Any], Any]) -> Any:
    """½·Σ (torque - tau)² of elements of four vectors."""
    torques = newton_euler(*([x[i] for i in range(LINKS)] for x in (q, qd, qdd)), cos, sin)
    total = 0.0
    for i, torque in enumerate(torques):
        total = total + (torque - tau[i]) * (torque - tau[i])
    return 0.5 * total


def newton_euler(
    q: Sequence[Any], qd: Sequence[Any], qdd: Sequence[Any], cos: Callable[[Any], Any], sin: Callable[[Any], Any]
) -> list[Any]:
    """Torques of all joints: velocities and forces from the base outwards, then moments back to it."""
    omega, alpha, acceleration = [0.0] * 3, [0.0] * 3, [0.0, 0.0, 9.81]
    rotations, offsets, forces, moments = [], [], [], []
    for i in range(LINKS):
        link = ARM[i]
        c, s, ct, st = cos(q[i]), sin(q[i]), *link.turn
        rotation = [[c, -s * ct, s * st], [s, c * ct, -c * st], [0.0, st, ct]]  # from this frame to the one before
        offset, centre = link.offset, link.centre
        spin = _add(omega, [0.0, 0.0, qd[i]])
        alpha = _rotate_back(rotation, _add(_add(alpha, [0.0, 0.0, qdd[i]]), _cross(omega, [0.0, 0.0, qd[i]])))
        omega = _rotate_back(rotation, spin)
        acceleration = _add(_rotate_back(rotation, acceleration), _swing(omega, alpha, offset))
        at_centre = _add(acceleration, _swing(omega, alpha, centre))
        forces.append([link.mass * x for x in at_centre])
        momentum = _rotate(link.inertia, omega)
        moments.append(_add(_rotate(link.inertia, alpha), _cross(omega, momentum)))
        rotations.append(rotation)
        offsets.append((offset, centre))
    force, moment, torques = [0.0] * 3, [0.0] * 3, [0.0] * LINKS
    for i in reversed(range(LINKS)):
        offset, centre = offsets[i]
        total = _add(force, forces[i])
        arm_and_centre = [x + y for x, y in zip(offset, centre, strict=True)]
        moment = _add(_add(moment, moments[i]), _add(_cross(offset, force), _cross(arm_and_centre, forces[i])))
        force, moment = _rotate(rotations[i], total), _rotate(rotations[i], moment)
        torques[i] = moment[2]
    return torques


@dataclass(frozen=True)
class Link:
    """Cosine and sine of the twist of a joint, origin and centre of mass in the frame, mass, inertia: plain numbers."""

    turn: list[float]
    offset: list[float]
    centre: list[float]
    mass: float
    inertia: list[list[float]]


def _random_links() -> list[Link]:
    rng = np.random.default_rng(7)
    turns, lengths, drops = (rng.uniform(*r, LINKS) for r in ((-1.5, 1.5), (0.1, 0.5), (0.1, 0.4)))
    offsets = np.stack([lengths, drops * np.sin(turns), drops * np.cos(turns)], axis=1)
    factors = rng.uniform(-0.2, 0.2, (LINKS, 3, 3))
    inertias = factors @ factors.transpose(0, 2, 1) + 0.05 * np.eye(3)
    centres, masses = rng.uniform(-0.2, 0.2, (LINKS, 3)), rng.uniform(1, 5, LINKS)
    twists = np.stack([np.cos(turns), np.sin(turns)], axis=1)
    return [Link(*(x[i].tolist() for x in (twists, offsets, centres, masses, inertias))) for i in range(LINKS)]


ARM: Final = _random_links()


def _loss_by_matrices(jax: Any, q: Any, qd: Any, qdd: Any, tau: Any) -> Any:
    """`loss` in arrays of three numbers."""
    jnp = jax.numpy
    offsets, centres, masses, inertias = (
        np.array([getattr(link, name) for link in ARM]) for name in ("offset", "centre", "mass", "inertia")
    )
    c, s, zero, up = jnp.cos(q), jnp.sin(q), jnp.zeros_like(q), jnp.array([0.0, 0.0, 1.0])
    ct, st = np.array([link.turn for link in ARM]).T
    rows = [[c, -s * ct, s * st], [s, c * ct, -c * st], [zero, zero + st, zero + ct]]
    rotations = jnp.stack([jnp.stack(row, axis=1) for row in rows], axis=1)

    def outwards(state: Any, link: Any) -> Any:
        omega, alpha, acceleration = state
        R, qd, qdd, offset, centre, mass, inertia = link

        def swing(x: Any) -> Any:
            return jnp.cross(alpha, x) + jnp.cross(omega, jnp.cross(omega, x))

        alpha = R.T @ (alpha + qdd * up + jnp.cross(omega, qd * up))
        omega = R.T @ (omega + qd * up)
        acceleration = R.T @ acceleration + swing(offset)
        force, moment = mass * (acceleration + swing(centre)), inertia @ alpha + jnp.cross(omega, inertia @ omega)
        return (omega, alpha, acceleration), (force, moment)

    def inwards(state: Any, link: Any) -> Any:
        force, moment = state
        R, own, turn, offset, centre = link
        moment = R @ (moment + turn + jnp.cross(offset, force) + jnp.cross(offset + centre, own))
        return (R @ (force + own), moment), moment[2]

    still = jnp.zeros(3), jnp.zeros(3), jnp.array([0.0, 0.0, 9.81])
    links = rotations, qd, qdd, offsets, centres, masses, inertias
    own = jax.lax.scan(outwards, still, links)[1]
    outer = rotations, *own, offsets, centres
    torques = jax.lax.scan(inwards, (jnp.zeros(3), jnp.zeros(3)), outer, reverse=True)[1]
    return 0.5 * ((torques - tau) ** 2).sum()


def _swing(omega: Sequence[Any], alpha: Sequence[Any], arm: Sequence[Any]) -> list[Any]:
    """alpha x arm + omega x (omega x arm)"""
    return _add(_cross(alpha, arm), _cross(omega, _cross(omega, arm)))


def _add(x: Sequence[Any], y: Sequence[Any]) -> list[Any]:
    return [_plus(a, b) for a, b in zip(x, y, strict=True)]


def _cross(x: Sequence[Any], y: Sequence[Any]) -> list[Any]:
    pairs = ((1, 2), (2, 0), (0, 1))
    return [_plus(_times(x[i], y[j]), _times(-1.0, _times(x[j], y[i]))) for i, j in pairs]


def _rotate(matrix: Sequence[Sequence[Any]], x: Sequence[Any]) -> list[Any]:
    return [_plus(_plus(_times(r[0], x[0]), _times(r[1], x[1])), _times(r[2], x[2])) for r in matrix]


def _rotate_back(matrix: Sequence[Sequence[Any]], x: Sequence[Any]) -> list[Any]:
    return _rotate([[row[i] for row in matrix] for i in range(3)], x)


def _times(x: Any, y: Any) -> Any:
    """x·y; structural zeros of the arm are left out of the graph."""
    return 0.0 if _is_zero(x) or _is_zero(y) else x * y


def _plus(x: Any, y: Any) -> Any:
    return y if _is_zero(x) else x if _is_zero(y) else x + y


def _is_zero(x: Any) -> bool:
    return isinstance(x, float) and x == 0.0
