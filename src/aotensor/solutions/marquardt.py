"""Least squares by the method of Levenberg and Marquardt."""

from __future__ import annotations

from collections.abc import Callable

from aotensor.graph.variable import Variable
from aotensor.ops.contract import dot
from aotensor.ops.create import ones_like, zeros_like
from aotensor.ops.diagonal import diag
from aotensor.ops.elementwise.arithmetic import maximum
from aotensor.ops.elementwise.compare import and_, gt, invert, isfinite, le, or_, switch
from aotensor.ops.elementwise.elementary import sqrt
from aotensor.ops.linalg.solve import solve
from aotensor.ops.reduce.sums import sum as sum_of
from aotensor.solutions.formulas import (
    default_tolerance,
    ending,
    first,
    is_all_finite,
    is_short,
    iterate,
    largest,
    number,
    rounding,
    solve_or_nan,
    started,
)
from aotensor.solutions.results import Ending
from aotensor.sparse.construct.diagonal import square_diagonal
from aotensor.sparse.csm import parts_of
from aotensor.sparse.functions import add as sparse_add
from aotensor.sparse.functions import dot as sparse_dot
from aotensor.sparse.functions import mul as sparse_mul
from aotensor.sparse.functions import sum as sparse_sum
from aotensor.sparse.product.sparse_result import true_dot

START, LEAST, LARGEST = 1e-3, 1e-15, 1e15
"""Damping relative to the diagonal of JᵀJ: at the start, and its bounds."""


def levenberg_marquardt(
    residuals: Callable[[Variable], Variable],
    slopes: Callable[[Variable], Variable],
    x0: Variable,
    tolerance: Variable,
    max_steps: int,
) -> tuple[Variable, Variable, Variable, Variable]:
    """x with a small |r(x)|², the number of steps, Jᵀr there, and the status.

    Source: Moré (1978), Nielsen (1999). It is done where r is orthogonal to the columns of J up to the tolerance, or
    with a step that is short relative to x.
    """

    def step(*states: Variable) -> tuple[list[Variable], Variable]:
        x, r, _, damping, growth, scale = states
        matrix = slopes(x)
        slope, squares = pulled(matrix, r), _squares(matrix)
        scale = maximum(scale, squares)
        weights = switch(gt(scale, 0), scale, ones_like(scale))
        p = _solved(matrix, damping * weights, -slope)
        new_x = x + p
        new_r = residuals(new_x)
        old_cost, new_cost = sum_of(r * r), sum_of(new_r * new_r)
        foretold = sum_of(p * (damping * weights * p - slope))
        is_lost = le(foretold, rounding(x, 100) * old_cost)
        gain = switch(is_lost, number(1, x), (old_cost - new_cost) / foretold)
        is_better = and_(isfinite(new_cost), gt(gain, number(1e-4, x)))
        cosine = largest(slope / sqrt(weights)) / sqrt(old_cost)
        is_orthogonal = le(cosine, tolerance)
        is_close = is_short(p, x, tolerance)
        is_accurate = le(cosine, number(default_tolerance(x.dtype), x))
        status = first(
            (invert(is_all_finite(parts_of(matrix).data if matrix.is_sparse else matrix)), ending(Ending.NOT_FINITE)),
            (or_(is_orthogonal, and_(is_better, le(new_cost, number(0, x)))), ending(Ending.CONVERGED)),
            (
                and_(is_close, or_(is_accurate, and_(is_better, le(damping, number(START, x))))),
                ending(Ending.CONVERGED),
            ),
            (or_(is_better, le(damping, number(LARGEST, x))), ending(Ending.RUNNING)),
            (is_all_finite(p), ending(Ending.NO_PROGRESS)),
            otherwise=ending(Ending.SINGULAR),
        )
        cubic = 1 - (2 * gain - 1) ** 3
        lower = damping * maximum(number(1 / 3, x), cubic)
        new_damping = maximum(switch(is_better, lower, damping * growth), number(LEAST, x))
        new_growth = switch(is_better, number(2, x), 2 * growth)
        return [
            switch(is_better, new_x, x),
            switch(is_better, new_r, r),
            slope,
            new_damping,
            new_growth,
            scale,
        ], status

    r0 = residuals(x0)
    nothing = zeros_like(x0)
    states = [x0, r0, nothing, number(START, x0), number(2, x0), nothing]
    (x, r, *_), count, status = iterate("lm", step, states, started(r0), max_steps)
    return x, count, pulled(slopes(x), r), status


def pulled(matrix: Variable, r: Variable) -> Variable:
    """Jᵀ·r, (n,), of a dense or sparse J."""
    return sparse_dot(matrix.T, r) if matrix.is_sparse else dot(matrix.T, r)


def _squares(matrix: Variable) -> Variable:
    """The diagonal of JᵀJ, (n,)."""
    if matrix.is_sparse:
        return sparse_sum(sparse_mul(matrix, matrix), axis=0)
    return diag(dot(matrix.T, matrix))


def _solved(matrix: Variable, damping: Variable, b: Variable) -> Variable:
    """p with (JᵀJ + diag(damping))·p = b; nan if the matrix is singular."""
    if matrix.is_sparse:
        return solve_or_nan(sparse_add(true_dot(matrix.T, matrix), square_diagonal(damping, "csr")), b)
    normal = dot(matrix.T, matrix) + diag(damping)
    return solve(normal, b, assume_a="pos", lower=True, b_ndim=1, on_error="nan")
