"""Initial value problems of ordinary differential equations, integrated inside of the library.

The names are those of scipy.integrate where it has them.
"""

from __future__ import annotations

from aotensor.solutions.results import Ending
from aotensor.solutions.trajectories.solve_ivp import Trajectory, solve_ivp

__all__ = ["Ending", "Trajectory", "solve_ivp"]
