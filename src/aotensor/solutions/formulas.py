"""Formulas shared by solvers: norms, linear solves, loops that keep states once the search has ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from aotensor.graph.variable import Variable, as_tensor, constant
from aotensor.ops.create import zeros
from aotensor.ops.elementwise.arithmetic import abs, maximum
from aotensor.ops.elementwise.compare import cast, eq, invert, isfinite, le, neq, switch
from aotensor.ops.linalg.solve import solve
from aotensor.ops.reduce.extremum import max as max_of
from aotensor.ops.reduce.sums import all as all_of
from aotensor.ops.scan.frontend import Loop
from aotensor.ops.scan.step import until
from aotensor.ops.shape.join import join
from aotensor.ops.shape.reshape import reshape
from aotensor.solutions.results import Ending
from aotensor.sparse.csm import parts_of
from aotensor.sparse.linear.direct import DirectSolve


def number(value: float, like: Variable) -> Variable:
    """A constant scalar of the dtype of another variable."""
    return constant(value, dtype=like.dtype)


def rounding(x: Variable, times: int = 1) -> Variable:
    """ε of the dtype of x, times a factor."""
    return number(times * float(np.finfo(x.dtype).eps), x)


def ending(value: Ending) -> Variable:
    """A status as an int64 scalar."""
    return constant(int(value), dtype="int64")


def default_tolerance(dtype: str) -> float:
    """√ε of a dtype: a Newton step of this relative length leaves an error of about ε."""
    return float(np.sqrt(np.finfo(dtype).eps))


def largest(x: Variable) -> Variable:
    """max |x[i]|, 0 for an x without elements, nan if there is one.   () or (n,) → ()"""
    if x.ndim == 0:
        return abs(x)
    extent = x.tensor_type.shape[0]
    if extent == 1:
        return abs(reshape(x, []))
    if isinstance(extent, int) and extent > 0:
        return max_of(abs(x))
    return max_of(join(0, abs(x), zeros([1], x.dtype)))


def is_short(step: Variable, x: Variable, tolerance: Variable, floor: Variable | None = None) -> Variable:
    """Is a step short relative to x, or to `floor` (by default the tolerance) if x is shorter?"""
    return le(largest(step), tolerance * maximum(largest(x), tolerance if floor is None else floor))


def is_rounding(step: Variable, x: Variable) -> Variable:
    """Is a step too short, relative to x or 1, to make progress beyond rounding?"""
    return is_short(step, x, number(default_tolerance(x.dtype), x), number(1, x))


def is_all_finite(x: Variable) -> Variable:
    """Are all elements finite?"""
    return all_of(isfinite(x))


def is_zero(x: Variable) -> Variable:
    """Are all elements 0?"""
    return all_of(eq(x, 0))


def solve_or_nan(matrix: Variable, b: Variable, is_transposed: bool = False) -> Variable:
    """x with matrix·x = b, or matrixᵀ·x = b, nan if the matrix is singular or not finite.

    (n, n), (n,) → (n,), or two scalars. The matrix may be sparse; one of rank 1 holds the diagonal of a diagonal one.
    """
    if matrix.is_sparse:
        p = parts_of(matrix)
        op = DirectSolve(p.format, is_transposed=is_transposed, on_error="nan")
        return switch(is_all_finite(p.data), op(p.data, p.indices, p.indptr, b), number(float("nan"), b))
    if matrix.ndim < 2 or matrix.tensor_type.shape == (1, 1):
        diagonal = matrix if matrix.ndim < 2 else reshape(matrix, [1])
        return switch(isfinite(diagonal), b / diagonal, number(float("nan"), b))
    return solve(matrix, b, transposed=is_transposed, b_ndim=1, on_error="nan")


def first(*cases: tuple[Variable, Variable], otherwise: Variable) -> Variable:
    """The value of the first case whose condition holds."""
    found = otherwise
    for condition, value in reversed(cases):
        found = switch(condition, value, found)
    return found


def started(f: Variable) -> Variable:
    """The status at the start of a search for F = 0: converged, not finite, or running, from F at the start."""
    return first(
        (invert(is_all_finite(f)), ending(Ending.NOT_FINITE)),
        (is_zero(f), ending(Ending.CONVERGED)),
        otherwise=ending(Ending.RUNNING),
    )


def iterate(
    name: str,
    step: Callable[..., tuple[list[Variable], Variable]],
    states: Sequence[Variable],
    status: Variable,
    max_steps: Variable | int,
) -> tuple[list[Variable], Variable, Variable]:
    """Loop over a step until the status says that the search ended: (last states, number of steps, last status).

    step: states → (new states, status after the step). A search that is not running any more keeps its states, which
    matters where it had ended before its first step, and for samples of a batch that end one by one.
    """

    def guarded(*values: Variable) -> tuple[list[Variable], until]:
        *old, count, before = values
        is_open = eq(before, ending(Ending.RUNNING))
        new, after = step(*old)
        kept = [switch(is_open, now, then) for now, then in zip(new, old, strict=True)]
        after = switch(is_open, after, before)
        return [*kept, count + cast(is_open, "int64"), after], until(neq(after, ending(Ending.RUNNING)))

    zero = constant(0, dtype="int64")
    steps = as_tensor(max_steps)
    (*found, count, last), _ = Loop(guarded, None, [*states, zero, status], None, steps).run(-1, name, keep_last=True)
    is_running = eq(last, ending(Ending.RUNNING))
    return found, count, switch(is_running, ending(Ending.TOO_MANY_STEPS), last)
