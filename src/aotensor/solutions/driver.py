"""Build the op of a solution from a problem and a search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from aotensor.core.frozen import frozen_dataclass
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.subgraph import Subgraph
from aotensor.graph.variable import Variable
from aotensor.ops.elementwise.compare import eq
from aotensor.solutions.convergence_check import check_converged
from aotensor.solutions.formulas import ending, largest, number
from aotensor.solutions.implicit import as_op
from aotensor.solutions.problem import Problem
from aotensor.solutions.results import Ending, Solution

ROUNDINGS = 10
"""A tolerance is not below so many of them."""


@frozen_dataclass
class Options:
    """Tolerance and number of steps of the solver `name`, and whether a call fails if it does not converge."""

    name: str
    tol: float | None
    maxiter: int
    raise_on_failure: bool

    def __post_init__(self) -> None:
        """Check the tolerance and the number of steps.   Raises: GraphTypeError, GraphValueError"""
        tol, steps = self.tol, self.maxiter
        if tol is not None:
            if isinstance(tol, bool) or not isinstance(tol, int | float | np.floating | np.integer):
                raise GraphTypeError(f"{self.name}: tol must be a number, not {type(tol).__name__}")
            if not 0 < tol < 1:
                raise GraphValueError(f"{self.name}: tol must be between 0 and 1, not {tol}")
        if isinstance(steps, bool) or not isinstance(steps, int | np.integer):
            raise GraphTypeError(f"{self.name}: maxiter must be a number of steps, not {type(steps).__name__}")
        if steps < 1:
            raise GraphValueError(f"{self.name}: maxiter must be at least 1, not {steps}")

    def tolerance(self, x: Variable, default: float = 0.5) -> Variable:
        """The tolerance in the dtype of x, not below its rounding.   default: exponent of ε if no tolerance was
        given
        """
        epsilon = float(np.finfo(x.dtype).eps)
        return number(max(epsilon**default if self.tol is None else self.tol, ROUNDINGS * epsilon), x)


def solution_of(
    options: Options,
    problem: Problem,
    starts: Sequence[tuple[Variable, Variable]],
    found: tuple[Variable, Variable, Variable, Variable],
    equations: Sequence[Variable],
) -> Solution:
    """The outputs of an op that runs a search, with derivatives by the equations.

    starts: pairs of what the search reads first, and the symbol for it. found: x, steps, the residual, status.
    equations: G and ∂G/∂x, on the slots of the problem, or G alone for GMRES.
    """
    x, count, value, status = found
    outputs = (x, eq(status, ending(Ending.CONVERGED)), count, largest(value), status)
    search = Subgraph((*(symbol for _, symbol in starts), *problem.slots), outputs)
    made = as_op(options.name, [given for given, _ in starts], problem.parameters, search, problem.graph(*equations))
    if options.raise_on_failure:
        made[0] = check_converged(options.name, made[0], made[-1])
    return Solution(*made)


def symbol(x: Variable, name: str) -> Variable:
    """A symbol with the type of x, which represents x inside a search."""
    return Variable(x.type, name=name)


def finite_number(name: str, what: str, value: Any) -> None:
    """Check that a Python number is finite; other values are not checked.   Raises: GraphValueError"""
    if isinstance(value, float | np.floating) and not np.isfinite(value):
        raise GraphValueError(f"{name}: {what} must be a finite number, not {value}")
