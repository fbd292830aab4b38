"""The results of solvers, and the statuses with which a search ends."""

from __future__ import annotations

from enum import IntEnum
from typing import Final, NamedTuple

from aotensor.graph.variable import Variable


class Ending(IntEnum):
    """The `status` of a solution: how the search ended."""

    RUNNING = -1
    CONVERGED = 0
    TOO_MANY_STEPS = 1
    SINGULAR = 2
    NOT_FINITE = 3
    NO_PROGRESS = 4
    NO_BRACKET = 5
    EVENT_AT_START = 6
    TOO_MANY_EVENTS = 7


REASONS: Final = {
    Ending.TOO_MANY_STEPS: "no solution after the largest number of steps",
    Ending.SINGULAR: "the derivative is singular or not finite",
    Ending.NOT_FINITE: "the function is not finite",
    Ending.NO_PROGRESS: "no step makes progress any more",
    Ending.NO_BRACKET: "the ends do not bracket a solution",
    Ending.EVENT_AT_START: "an event is 0 at the start",
    Ending.TOO_MANY_EVENTS: "an event has more sign changes than max_events",
}
"""Ending → what it means, for messages."""


class Solution(NamedTuple):
    """The result of a solver.

    solution: like x0; the last iterate if `success` is false. success: bool scalar. iterations: int64 scalar.
    residual: floating scalar, the largest magnitude of what shall be 0. status: int64 scalar, an `Ending`.
    """

    solution: Variable
    success: Variable
    iterations: Variable
    residual: Variable
    status: Variable


class Minimum(NamedTuple):
    """A `Solution` of a minimisation, with the value of the function there, which is differentiable too."""

    solution: Variable
    success: Variable
    iterations: Variable
    residual: Variable
    status: Variable
    fun: Variable
