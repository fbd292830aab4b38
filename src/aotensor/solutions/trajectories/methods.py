"""One step of each integration method, and interpolation within a step, as graphs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from aotensor.core.frozen import frozen_dataclass
from aotensor.graph.variable import Variable
from aotensor.ops.create import zeros_like
from aotensor.ops.diagonal import eye
from aotensor.ops.elementwise.arithmetic import maximum
from aotensor.ops.elementwise.compare import cast, eq, switch
from aotensor.ops.elementwise.elementary import sqrt
from aotensor.ops.reduce.sums import sum as sum_of
from aotensor.ops.shape.extents import extent_of, shape_i
from aotensor.solutions.formulas import number, solve_or_nan
from aotensor.solutions.jacobians.slopes import Slopes
from aotensor.solutions.trajectories import dop853
from aotensor.solutions.trajectories.system import System
from aotensor.solutions.trajectories.tableaus import METHODS, Rosenbrock, RungeKutta
from aotensor.sparse.compressed_axes import major_of_entries
from aotensor.sparse.csm import matrix_of, parts_of


@frozen_dataclass
class Step:
    """The results of one step of size h from (t, y).

    y: the new point, (n,). carry: what the next step begins with. errors: estimates of the error of y, (n,) each.
    stages: what values inside of the step follow from, (n,) each.
    """

    y: Variable
    carry: list[Variable]
    errors: list[Variable]
    stages: list[Variable]


@frozen_dataclass
class Stepper(ABC):
    """Base of integration methods, applied to a system."""

    system: System

    @property
    @abstractmethod
    def order(self) -> int:
        """The order of the error estimate."""

    @property
    @abstractmethod
    def stages(self) -> int:
        """The number of vectors in `Step.stages`."""

    @abstractmethod
    def begin(self, t: Variable, y: Variable) -> list[Variable]:
        """The `carry` of the first step."""

    @abstractmethod
    def step(self, t: Variable, y: Variable, carry: Sequence[Variable], h: Variable) -> Step:
        """One step; of size 0, it gives y again."""

    @abstractmethod
    def inside(
        self, t: Variable, y: Variable, h: Variable, new: Variable, stages: Sequence[Variable], share: Variable
    ) -> Variable:
        """y at t + share·h, of a step from y to `new`.   share: scalar in [0, 1]"""


@frozen_dataclass
class Explicit(Stepper):
    """An explicit Runge-Kutta method; its `carry` is f at the current point."""

    table: RungeKutta

    @property
    def order(self) -> int:
        return self.table.order

    @property
    def stages(self) -> int:
        return len(self.table.a) + 2

    def begin(self, t: Variable, y: Variable) -> list[Variable]:
        return [self.system.rate(t, y)]

    def step(self, t: Variable, y: Variable, carry: Sequence[Variable], h: Variable) -> Step:
        stages = list(carry)
        for row, c in zip(self.table.a, self.table.c, strict=True):
            stages.append(self.system.rate(t + h * number(c, t), y + h * combined(row, stages)))
        new = y + h * combined(self.table.b, stages)
        stages.append(self.system.rate(t + h, new))
        return Step(new, stages[-1:], [h * combined(row, stages) for row in self.table.errors], stages)

    def inside(
        self, t: Variable, y: Variable, h: Variable, new: Variable, stages: Sequence[Variable], share: Variable
    ) -> Variable:
        if not self.table.dense:
            return self._inside_of_eighth_order(t, y, h, new, stages, share)
        powers = [share]
        for _ in self.table.dense[0][1:]:
            powers.append(powers[-1] * share)
        terms = [
            sum_terms([number(x, y) * power for x, power in zip(row, powers, strict=True) if x]) * stage
            for row, stage in zip(self.table.dense, stages, strict=True)
            if any(row)
        ]
        return y + h * sum_terms(terms)

    def _inside_of_eighth_order(
        self, t: Variable, y: Variable, h: Variable, new: Variable, stages: Sequence[Variable], share: Variable
    ) -> Variable:
        """y at t + share·h by three further stages, of seventh order."""
        known = list(stages)
        for row, c in zip(dop853.FURTHER, dop853.C[13:], strict=True):
            known.append(self.system.rate(t + h * number(c, t), y + h * combined(row, known)))
        rise = new - y
        first = h * known[0] - rise
        terms = [rise, first, rise + rise - h * (known[12] + known[0]), *(h * combined(row, known) for row in dop853.D)]
        rest, found = number(1, y) - share, zeros_like(y)
        for k, term in enumerate(reversed(terms)):
            found = (found + term) * (share if k % 2 == 0 else rest)
        return y + found


@frozen_dataclass
class Implicit(Stepper):
    """A Rosenbrock method: one Jacobian and one factorisation in a step, no iteration."""

    table: Rosenbrock
    slopes: Slopes

    @property
    def order(self) -> int:
        return self.table.order

    @property
    def stages(self) -> int:
        return len(self.table.e) + 1

    def begin(self, t: Variable, y: Variable) -> list[Variable]:
        return []

    def step(self, t: Variable, y: Variable, carry: Sequence[Variable], h: Variable) -> Step:
        rate, matrix, by_time = self.system.linear(t, y, self.slopes)
        table = self.table
        shifted = _shifted(number(1 / table.gamma, y), h, matrix)
        drift = h * h * by_time
        stages: list[Variable] = []
        place = y
        for k in range(self.stages):
            right = h * rate if not k else h * self.system.rate(t + h * number(table.c[k - 1], t), place)
            if k:
                right = right + combined(table.e[k - 1], stages)
            if k < len(table.d):
                right = right + number(table.d[k], y) * drift
            stages.append(solve_or_nan(shifted, right))
            place = y + combined(table.a[k], stages) if k < len(table.a) else place + stages[-1]
        return Step(place, [], stages[-1:], stages)

    def inside(
        self, t: Variable, y: Variable, h: Variable, new: Variable, stages: Sequence[Variable], share: Variable
    ) -> Variable:
        rest, found = number(1, y) - share, zeros_like(y)
        for row in reversed(self.table.dense):
            found = share * found + combined(row, stages)
        return rest * y + share * (new + rest * found)


def _shifted(diagonal: Variable, h: Variable, matrix: Variable) -> Variable:
    """diagonal·I − h·matrix   (n, n); a sparse matrix must store its diagonal."""
    if not matrix.is_sparse:
        return eye(extent_of(matrix, 0), dtype=matrix.dtype) * diagonal - h * matrix
    p = parts_of(matrix)
    on_diagonal = eq(p.indices, major_of_entries(p))
    return matrix_of(replace(p, data=switch(on_diagonal, diagonal, number(0, h)) - h * p.data))


def combined(row: Mapping[int, float], stages: Sequence[Variable]) -> Variable:
    """Σ of stages times coefficients, without zero coefficients."""
    return sum_terms([number(x, stages[k]) * stages[k] for k, x in row.items()])


def sum_terms(terms: Sequence[Variable]) -> Variable:
    """The sum of one or more terms, from the first to the last."""
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def stepper(system: System, method: str, slopes: Slopes) -> Stepper:
    """The method of that name, applied to a system."""
    table = METHODS[method]
    return Explicit(system, table) if isinstance(table, RungeKutta) else Implicit(system, table, slopes)


def scaled_size(errors: Sequence[Variable], scale: Variable) -> Variable:
    """The error relative to its tolerance: the root of the mean square of error / scale, 0 for n = 0.

    Of two estimates, those of order 5 and 3 of DOP853, both count (Hairer, Nørsett & Wanner 1993, section II.10).
    """
    squares = [sum_of((error / scale) ** 2) for error in errors]
    n = count_of(scale)
    if len(squares) == 1:
        return sqrt(squares[0] / n)
    fifth, third = squares
    return fifth / sqrt((fifth + number(0.01, scale) * third + tiny(scale)) * n)


def count_of(x: Variable) -> Variable:
    """The number of elements of a vector, at least 1, in its dtype."""
    return maximum(cast(shape_i(x, 0), x.dtype), number(1, x))


def tiny(x: Variable) -> Variable:
    """The smallest normal number of the dtype of x."""
    return number(float(np.finfo(x.dtype).tiny), x)
