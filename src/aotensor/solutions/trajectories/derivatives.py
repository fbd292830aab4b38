"""An integration as an op, and its derivatives: of the accepted steps, or by an equation that is integrated backward.

The second one is the continuous adjoint: with ȳ_i the cotangents of y at the times t_i,

    dλ/dt = −(∂f/∂y)ᵀ·λ      dμ/dt = −(∂f/∂p)ᵀ·λ      λ(t_i) grows by ȳ_i      ȳ₀ = λ(t₀)      p̄ = μ(t₀)

integrated from each time to the one before, together with y, which starts anew from the stored solution at each time
(Pontryagin; Cao, Li, Petzold & Serban 2003; Chen et al. 2018).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from aotensor.core import dtypes
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import TensorType
from aotensor.errors import UnsupportedError
from aotensor.gradient.composite import OpFromGraph
from aotensor.gradient.forward import push_through
from aotensor.gradient.subgraphs import pulled_terms
from aotensor.gradient.sweep import pull_through
from aotensor.graph.expansion import Expansion
from aotensor.graph.op import disconnected, has_value
from aotensor.graph.subgraph import Subgraph
from aotensor.graph.variable import Variable, Variables, constant
from aotensor.graph.walk import replace as replaced
from aotensor.ops.create import zeros, zeros_like
from aotensor.ops.elementwise.compare import cast, eq, ge, switch
from aotensor.ops.reduce.extremum import min as min_of
from aotensor.ops.reduce.sums import sum as sum_of
from aotensor.ops.scan.frontend import Loop
from aotensor.ops.shape.axes import expand_dims, matrix_transpose
from aotensor.ops.shape.extents import extent_of, extents_of, shape_i
from aotensor.ops.shape.join import join
from aotensor.ops.shape.reshape import reshape
from aotensor.ops.updates import set_subtensor
from aotensor.solutions.driver import symbol
from aotensor.solutions.formulas import ending, number
from aotensor.solutions.jacobians.slopes import Slopes
from aotensor.solutions.results import Ending
from aotensor.solutions.trajectories.control import Control
from aotensor.solutions.trajectories.loops import attempted, integrated, repeated
from aotensor.solutions.trajectories.methods import stepper
from aotensor.solutions.trajectories.system import System

NAME: Final = "solve_ivp"
NAMES: Final = ("t0", "t1", "y0", "t_eval", "rtol", "atol", "max_step", "first_step")
"""Of the inputs of an integration before the values that its function reads."""
ADJOINTS: Final = ("discrete", "continuous")
_OTHERS: Final = 5
"""Outputs without derivatives: status, steps, attempts, ends, count."""


@frozen_dataclass
class Problem:
    """The static part of an integration: system, method, options.

    has_first: is the first step size given? is_continuous: is reverse mode the continuous adjoint?
    """

    system: System
    method: str
    slopes: Slopes
    max_steps: int
    has_first: bool
    is_continuous: bool = False

    def control(self, values: Sequence[Variable]) -> Control:
        """The step size control for the values of the op's inputs."""
        start, end, _, _, rtol, atol, longest, *first = values
        direction = switch(ge(end, start), number(1, start), number(-1, start))
        size = first[0] if self.has_first else None
        method = stepper(self.system, self.method, self.slopes)
        return Control(method, start, end, direction, rtol, atol, longest, size, self.max_steps)


def integration(problem: Problem, given: Sequence[Variable]) -> OpFromGraph:
    """The integration as an op with derivatives: (*given, *parameters) → (y, status, steps, attempts, ends, count).

    ends, count: of `attempted`, by which derivatives repeat the steps.
    """
    slots = [symbol(x, name) for x, name in zip(given, NAMES, strict=False)]
    control, inputs = problem.control(slots), [*slots, *problem.system.slots]
    values, last = integrated(control, slots[2], slots[3])
    status = switch(eq(last.status, ending(Ending.RUNNING)), ending(Ending.CONVERGED), last.status)
    outputs = [matrix_transpose(values), status, last.steps, last.attempts, *attempted(control, slots[2])]
    taken = [symbol(x, name) for x, name in zip(outputs[-2:], ("ends", "count"), strict=True)]
    steps = Expansion([*inputs, *taken], [matrix_transpose(repeated(control, slots[2], slots[3], *taken))])
    rules = ContinuousRules(steps, problem) if problem.is_continuous else Rules(steps)
    (source,) = rules.sources
    return OpFromGraph(
        inputs,
        outputs,
        pullback=rules.pullback,
        pushforward=rules.pushforward,
        connection_pattern=[[k in source, *[False] * _OTHERS] for k in range(len(inputs))],
        name=NAME,
    )


@frozen_dataclass
class Rules:
    """Derivatives along the steps; nan where the integration failed.   steps: inputs of the op, ends, count → y"""

    steps: Expansion

    @property
    def sources(self) -> tuple[frozenset[int], ...]:
        """For each output of `steps`, the positions of the inputs on which it depends."""
        return Subgraph(tuple(self.steps.slots), tuple(self.steps.outputs)).influences

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        """Cotangents of all inputs."""
        given = [_if_found(outputs[1], cotangents[0])]
        terms = pull_through(self.steps, [*inputs, *outputs[-2:]], outputs[:1], given)
        return [_if_found(outputs[1], term) for term in terms[:-2]]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        """The tangent of y; the other outputs have none."""
        (moved,) = push_through(self.steps, [*inputs, *outputs[-2:]], outputs[:1], [*tangents, *[disconnected()] * 2])
        return [_if_found(outputs[1], moved), *[disconnected()] * _OTHERS]


def _if_found(status: Variable, term: Variable) -> Variable:
    if not has_value(term) or term.is_sparse or not dtypes.is_float(term.dtype):
        return term
    return switch(eq(status, ending(Ending.CONVERGED)), term, number(float("nan"), term))


@frozen_dataclass
class ContinuousRules(Rules):
    """Reverse mode by the continuous adjoint; forward mode along the steps."""

    problem: Problem

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        """Cotangents of all inputs, from one integration backward between two times."""
        start, _, y0, times, rtol, atol, longest, *_ = inputs
        first = len(inputs) - len(self.problem.system.slots)
        parameters, rate = inputs[first:], self.problem.system.rate_of
        adjoint = _Adjoint.of(self.problem, y0)
        given = [rtol, adjoint.tolerance(atol, parameters), longest]

        def back(here: Variable, there: Variable, y: Variable, new: Variable, z: Variable) -> list[Variable]:
            n = extent_of(y, 0)
            z = _with_parts(z, y, z[n:][:n] + new)
            values = [here, there, z, expand_dims(there, 0), *given]
            found = integration(adjoint.problem, values).apply(*values, *parameters, y0).outputs[0]
            return [found[:, 0], sum_of(new * rate(here, y, parameters))]

        rows = [times, join(0, expand_dims(start, 0), times)[:-1], matrix_transpose(outputs[0])]
        rows.append(matrix_transpose(_if_found(outputs[1], cotangents[0])))
        nothing = zeros([2 * shape_i(y0, 0) + adjoint.size(parameters)], y0.dtype)
        (z, by_times), _ = Loop(back, rows, [nothing, None], None, None, go_backwards=True).run(
            -1, "adjoint", keep_last=True
        )
        n = extent_of(y0, 0)
        total, sums = z[n:][:n], z[n:][n:]
        terms = {0: -sum_of(total * rate(start, y0, parameters)), 2: total, 3: by_times[::-1]}
        terms.update((first + k, term) for k, term in adjoint.terms(sums, parameters).items())
        return [_if_found(outputs[1], terms[k]) if k in terms else disconnected() for k in range(len(inputs))]


@frozen_dataclass
class _Adjoint:
    """The system of y, λ and μ, joined to one vector.

    problem: its integration; the function of the system reads the parameters of f, and y0 for the number of elements.
    by_slots: the cotangents of the parameters in one step; μ leaves null and disconnected ones out.
    """

    problem: Problem
    by_slots: tuple[Variable, ...]

    @classmethod
    def of(cls, problem: Problem, y0: Variable) -> _Adjoint:
        """The adjoint of an integration from y0."""
        system, start = problem.system, symbol(y0, "y0")
        n, z = extent_of(start, 0), Variable(TensorType(y0.dtype, (None,)), name="z")
        slot = symbol(system.y, "cotangent")
        by_y, *by_slots = pulled_terms([system.output], [system.y, *system.slots], [slot])
        total = -by_y if has_value(by_y) else zeros_like(slot)
        flat = [-reshape(cast(term, y0.dtype), [-1]) for term in by_slots if has_value(term)]
        output = _with_parts(zeros_like(z), system.output, total, join(0, *flat) if flat else None)
        output = replaced([output], {system.y: z[:n], slot: z[n:][:n]})[0]
        joint = System(system.t, z, output, (*system.slots, start), ())
        return cls(replace(problem, system=joint, has_first=False), tuple(by_slots))

    def size(self, parameters: Sequence[Variable]) -> Variable:
        """The number of elements of μ, an int64 scalar."""
        total: Variable = constant(0, dtype="int64")
        for x, term in zip(parameters, self.by_slots, strict=True):
            total = total + _elements(x) if has_value(term) else total
        return total

    def terms(self, sums: Variable, parameters: Sequence[Variable]) -> dict[int, Variable]:
        """Position of a parameter → its cotangent: a part of μ, or null or disconnected."""
        found = dict(enumerate(self.by_slots))
        place: Variable = constant(0, dtype="int64")
        for k, x in enumerate(parameters):
            if has_value(found[k]):
                end = place + _elements(x)
                found[k] = cast(reshape(sums[place:end], extents_of(x), ndim=x.ndim), found[k].dtype)
                place = end
        return found

    def tolerance(self, atol: Variable, parameters: Sequence[Variable]) -> Variable:
        """The absolute tolerances of y, λ and μ; those of μ are the least of y."""
        if atol.ndim == 0:
            return atol
        return join(0, atol, atol, zeros([self.size(parameters)], atol.dtype) + min_of(atol))


def _with_parts(z: Variable, y: Variable, total: Variable, sums: Variable | None = None) -> Variable:
    """A vector of y, λ and μ with other parts, but for μ if it is None; its extent is that of z."""
    n = extent_of(y, 0)
    rest = set_subtensor(z[n:][:n], total)
    rest = rest if sums is None else set_subtensor(rest[n:], sums)
    return set_subtensor(set_subtensor(z[:n], y)[n:], rest)


def _elements(x: Variable) -> Variable:
    total: Variable = constant(1, dtype="int64")
    for axis in range(x.ndim):
        total = total * shape_i(x, axis)
    return total


def check_continuous(system: System) -> None:
    """Check that the cotangents of all values that f reads are dense and real.   Raises: UnsupportedError"""
    for x in system.parameters:
        if x.is_sparse or dtypes.is_complex(x.dtype):
            raise UnsupportedError(
                f'{NAME}: adjoint="continuous" integrates dense real cotangents, but fun reads another value',
                lines=[x.describe()],
                hint='adjoint="discrete", or pass the stored values, or the real and the imaginary part',
            )
