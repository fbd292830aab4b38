"""Flows in a cavity and a channel, and gravitating bodies. Arguments and results are NPBench's."""

from __future__ import annotations

from dataclasses import dataclass

from tools.judges.npbench.loops import repeated, rows

import aotensor as aot
import aotensor.tensor as at
from aotensor.tensor import Variable

Results = tuple[Variable, ...]


@dataclass(frozen=True)
class Grid:
    """Neighbours of inner points, in rows 1 to -1; periodic along x, or in columns 1 to -1."""

    dx: float
    dy: float
    is_periodic: bool

    def centre(self, x: Variable) -> Variable:
        """x at the inner points."""
        return x[1:-1] if self.is_periodic else x[1:-1, 1:-1]

    def east(self, x: Variable) -> Variable:
        """x at the neighbours in the direction +x."""
        return at.roll(x[1:-1], -1, axis=1) if self.is_periodic else x[1:-1, 2:]

    def west(self, x: Variable) -> Variable:
        """x at the neighbours in the direction -x."""
        return at.roll(x[1:-1], 1, axis=1) if self.is_periodic else x[1:-1, :-2]

    def north(self, x: Variable) -> Variable:
        """x at the neighbours in the direction +y."""
        return x[2:] if self.is_periodic else x[2:, 1:-1]

    def south(self, x: Variable) -> Variable:
        """x at the neighbours in the direction -y."""
        return x[:-2] if self.is_periodic else x[:-2, 1:-1]

    def put(self, x: Variable, value: Variable) -> Variable:
        """x with new values at the inner points."""
        return at.set_subtensor(self.centre(x), value)

    def source(self, rho: float, dt: float, u: Variable, v: Variable) -> Variable:
        """The right side of the equation of the pressure."""
        ux, uy = (self.east(u) - self.west(u)) / (2 * self.dx), (self.north(u) - self.south(u)) / (2 * self.dy)
        vx, vy = (self.east(v) - self.west(v)) / (2 * self.dx), (self.north(v) - self.south(v)) / (2 * self.dy)
        return rho * (1 / dt * (ux + vy) - ux**2 - 2 * (uy * vx) - vy**2)

    def relaxed(self, p: Variable, source: Variable) -> Variable:
        """A step of Jacobi's method for the pressure."""
        dx2, dy2 = self.dx**2, self.dy**2
        around = (self.east(p) + self.west(p)) * dy2 + (self.north(p) + self.south(p)) * dx2
        return self.put(p, around / (2 * (dx2 + dy2)) - dx2 * dy2 / (2 * (dx2 + dy2)) * source)

    def moved(self, x: Variable, u: Variable, v: Variable, pressure: Variable, dt: float, nu: float) -> Variable:
        """A velocity after a step of advection, pressure and diffusion."""
        centre, u, v = self.centre(x), self.centre(u), self.centre(v)
        advected = centre - u * dt / self.dx * (centre - self.west(x)) - v * dt / self.dy * (centre - self.south(x))
        spread = dt / self.dx**2 * (self.east(x) - 2 * centre + self.west(x))
        spread = spread + dt / self.dy**2 * (self.north(x) - 2 * centre + self.south(x))
        return advected - pressure + nu * spread

    def stepped(
        self, u: Variable, v: Variable, p: Variable, rho: float, dt: float, nu: float, force: float = 0.0
    ) -> Results:
        """Both velocities after a step with the pressure p, before the boundary conditions at the walls."""
        push_x = dt / (2 * rho * self.dx) * (self.east(p) - self.west(p))
        push_y = dt / (2 * rho * self.dy) * (self.north(p) - self.south(p))
        new_u = self.moved(u, u, v, push_x, dt, nu)
        return self.put(u, new_u + force * dt if force else new_u), self.put(v, self.moved(v, u, v, push_y, dt, nu))


def cavity_flow(
    nx: int, ny: int, nt: int, nit: int, u: Variable, v: Variable, dt: float, dx: float, dy: float,
    p: Variable, rho: float, nu: float,
) -> Results:  # fmt: skip
    """Flow in a cavity below a moving lid.   (ny, nx)"""
    grid = Grid(dx, dy, is_periodic=False)

    def step(u: Variable, v: Variable, p: Variable) -> Results:
        source = grid.source(rho, dt, u, v)

        def relax(p: Variable) -> Variable:
            p = grid.relaxed(p, source)
            p = at.set_subtensor(p[:, -1], p[:, -2])
            p = at.set_subtensor(p[0], p[1])
            p = at.set_subtensor(p[:, 0], p[:, 1])
            return at.set_subtensor(p[-1], 0.0)

        [p] = repeated(relax, [p], nit)
        u, v = grid.stepped(u, v, p, rho, dt, nu)
        for side in (0, (slice(None), 0), (slice(None), -1)):
            u, v = at.set_subtensor(u[side], 0.0), at.set_subtensor(v[side], 0.0)
        return at.set_subtensor(u[-1], 1.0), at.set_subtensor(v[-1], 0.0), p

    return tuple(repeated(step, [u, v, p], nt))


def channel_flow(
    nit: int, u: Variable, v: Variable, dt: float, dx: float, dy: float, p: Variable, rho: float, nu: float, F: float
) -> Results:
    """Steps until the flow along a periodic channel is nearly steady, and the flow.   (ny, nx)"""
    grid = Grid(dx, dy, is_periodic=True)

    def step(count: Variable, u: Variable, v: Variable, p: Variable) -> tuple[Results, aot.until]:
        source = grid.source(rho, dt, u, v)

        def relax(p: Variable) -> Variable:
            p = grid.relaxed(p, source)
            p = at.set_subtensor(p[-1], p[-2])
            return at.set_subtensor(p[0], p[1])

        [p] = repeated(relax, [p], nit)
        new_u, new_v = grid.stepped(u, v, p, rho, dt, nu, F)
        for wall in (0, -1):
            new_u, new_v = at.set_subtensor(new_u[wall], 0.0), at.set_subtensor(new_v[wall], 0.0)
        change = (new_u.sum() - u.sum()) / new_u.sum()
        return (count + 1, new_u, new_v, p), aot.until(change <= 0.001)

    count = at.constant(0, dtype="int64")
    return tuple(repeated(step, [count, u, v, p], MOST_STEPS))


MOST_STEPS = 2000
"""More steps than the flow needs at any size: gradients keep the states of all of them."""


def nbody(
    mass: Variable, pos: Variable, vel: Variable, N: int, Nt: int, dt: float, G: float, softening: float
) -> Results:
    """Kinetic and potential energy at each time.   mass: (N, 1), pos, vel: (N, 3)"""

    index = at.arange(N)
    pairs = index[:, None] < index

    def apart(pos: Variable) -> Variable:
        """Differences of positions.   → (3, N, N)"""
        x = pos.T
        return x[:, None, :] - x[:, :, None]

    def acceleration(pos: Variable) -> Variable:
        difference = apart(pos)
        squares = (difference**2).sum(axis=0) + softening**2
        return G * ((difference * squares**-1.5) @ mass)[:, :, 0].T

    def energies(pos: Variable, vel: Variable) -> Results:
        squares = at.where(pairs, (apart(pos) ** 2).sum(axis=0), 1.0)
        inverse = at.where(pairs, 1.0 / at.sqrt(squares), 0.0)
        return 0.5 * (mass * vel**2).sum(), -G * (mass * mass.T * inverse).sum()

    def step(pos: Variable, vel: Variable, pull: Variable) -> Results:
        vel = vel + pull * (dt / 2.0)
        pos = pos + vel * dt
        pull = acceleration(pos)
        vel = vel + pull * (dt / 2.0)
        return pos, vel, pull, *energies(pos, vel)

    vel = vel - (mass * vel).mean(axis=0) / mass.mean()
    first = energies(pos, vel)
    found = rows(step, [], [pos, vel, acceleration(pos), None, None], n_steps=Nt)
    return tuple(at.concatenate([one[None], later]) for one, later in zip(first, found[3:], strict=True))
