"""Optimal control by shooting: the least effort that swings a pendulum up, and how it changes.

    python examples/shooting.py

A pendulum hangs at rest; a motor must bring it to rest upright after a given time, with the least ∫ torque²/2 dt. By
Pontryagin's principle the best torque is −q, where (p, q) are the costates of angle and speed, which have differential
equations of their own. Only their values at the start are unknown: `root` finds those for which `solve_ivp` ends
upright. Both run inside of one library, which also has the derivatives of the least effort.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import scipy.integrate
from numpy.typing import NDArray

import aotensor as aot
import aotensor.tensor as at
from aotensor.tensor import Variable

DAMPING, DURATION = 0.1, 3.0  # in units of the pendulum: mass, length and gravity are 1
SHARES = np.linspace(0.0, 1.0, 21)  # of the duration, when the torque is given

damping, duration = at.scalars("damping", "duration", dtype="float64")


def motion(t: Variable, z: Variable) -> list[Variable]:
    """Rates of change of angle, speed, their costates p and q, and the effort."""
    angle, speed, p, q = (z[k] for k in range(4))
    return [speed, -q - at.sin(angle) - damping * speed, q * at.cos(angle), damping * q - p, q**2 / 2]


def swing(costates: Variable, times: Variable) -> Variable:
    """Angle, speed, costates and effort at the times, from the costates at the start.   (2,), (m,) → (5, m)"""
    start = at.concatenate([at.zeros(2), costates, at.zeros(1)])
    return at.integrate.solve_ivp(
        motion, (0.0, duration), start, t_eval=times, method="Tsit5", rtol=1e-10, atol=1e-10, max_steps=2000
    ).y


def missed(costates: Variable) -> Variable:
    """By how much the pendulum is not at rest upright at the end.   (2,) → (2,)"""
    return swing(costates, at.stack([duration]))[:2, 0] - np.array([np.pi, 0.0])


found = at.optimize.root(missed, at.zeros(2))
path = swing(found.solution, duration * SHARES)
effort = path[4, -1]
slopes = dict(zip(("by_damping", "by_duration"), aot.grad(effort, [damping, duration]), strict=True))
steer = aot.function(
    [damping, duration],
    {"torque": -path[3], "effort": effort, **slopes, "success": found.success, "steps": found.iterations},
    name="steer",
)


def by_scipy(damping: float, duration: float) -> tuple[NDArray[np.float64], float]:
    """Torque at the shares of the duration, and effort, by collocation: solve_bvp.   (21,), ()"""

    def rates(t: NDArray[np.float64], z: NDArray[np.float64]) -> NDArray[np.float64]:
        angle, speed, p, q = z[:4]
        moved = [speed, -q - np.sin(angle) - damping * speed, q * np.cos(angle), damping * q - p, q**2 / 2]
        return duration * np.array(moved)

    def ends(first: NDArray[np.float64], last: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.array([first[0], first[1], first[4], last[0] - np.pi, last[1]])

    guess = np.zeros((5, len(SHARES)))
    guess[0] = np.pi * SHARES
    solved = scipy.integrate.solve_bvp(rates, ends, SHARES, guess, tol=1e-9, max_nodes=10_000)
    return -solved.sol(SHARES)[3], float(solved.y[4, -1])


def main() -> None:
    with TemporaryDirectory() as folder:
        library = aot.compile([steer], folder, malloc=False).load()
        best = library.steer(DAMPING, DURATION)
        size = Path(library.path).stat().st_size
    print(f"success {bool(best['success'])} after {best['steps']} steps, in a library of {size // 1024} KB")
    torque, effort = by_scipy(DAMPING, DURATION)
    largest = np.abs(best["torque"] - torque).max()
    print(f"effort {best['effort']:.8f}, by solve_bvp {effort:.8f}; largest difference of the torques {largest:.1e}")
    step = 1e-3
    slope = (by_scipy(DAMPING + step, DURATION)[1] - by_scipy(DAMPING - step, DURATION)[1]) / (2 * step)
    print(f"derivative of the effort by damping {best['by_damping']:.6f}, by differences of solve_bvp {slope:.6f}")
    last = -(best["torque"][-1] ** 2) / 2  # Pontryagin: the Hamiltonian, at rest upright
    print(f"derivative of the effort by duration {best['by_duration']:.6f}, by Pontryagin {last:.6f}")
    print("torque", *(f"{x:.3f}" for x in best["torque"][::4]))


if __name__ == "__main__":
    main()
