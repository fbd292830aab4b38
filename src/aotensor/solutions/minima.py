"""Minima of functions that users write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.gradient.reverse import grad
from aotensor.gradient.subgraphs import pushed_terms
from aotensor.graph.coercion import check_choice, coerced
from aotensor.graph.variable import Variable
from aotensor.graph.walk import replace
from aotensor.ops.elementwise.compare import ge, le, switch
from aotensor.ops.reduce.sums import sum as sum_of
from aotensor.ops.shape.reshape import reshape
from aotensor.solutions.bounds import bounds_of, bounds_or_pair
from aotensor.solutions.driver import Options, solution_of, symbol
from aotensor.solutions.formulas import ending, number
from aotensor.solutions.jacobians.slopes import MATRICES, chosen_slopes, slopes
from aotensor.solutions.marquardt import levenberg_marquardt
from aotensor.solutions.problem import Problem, Unknown, arguments, scalar_output, traced, unknown
from aotensor.solutions.projected_trust_region import (
    Box,
    Curvature,
    ExactHessian,
    GaussNewton,
    LimitedMemory,
    bounded_minimum,
)
from aotensor.solutions.quasi_newton import Matrix, Memory, quasi_newton
from aotensor.solutions.results import Ending, Minimum, Solution
from aotensor.solutions.roots import ends_of
from aotensor.solutions.scalar_minima import bracket_minimum, brent_minimum, polish_minimum
from aotensor.solutions.trust_region import trust_region

METHODS = ("trust-ncg", "BFGS", "L-BFGS", "L-BFGS-B")
BOUNDED = ("trust-ncg", "L-BFGS-B")
"""Methods of `minimize` that accept bounds."""
MEMORY = 10
"""Steps that L-BFGS remembers."""


@coerced
def minimize(
    fun: Callable[..., Any],
    x0: Any,
    args: Any = (),
    *,
    method: str | None = None,
    bounds: Any = None,
    tol: float | None = None,
    maxiter: int = 500,
    raise_on_failure: bool = False,
) -> Minimum:
    """x with a local minimum of fun(x, *args), found inside of the library, starting at x0.

    fun: a function of symbols that returns a scalar. It may read other variables. x0: a dense real tensor of any rank.
    method: "trust-ncg", the default, Newton's method in a trust region with products of the exact Hessian; "BFGS" and
    "L-BFGS", with gradients only, in memory n² and 20·n; "L-BFGS-B", which is L-BFGS with bounds.
    bounds: of the elements of x, for "trust-ncg" and "L-BFGS-B": `Bounds(lb, ub)` of this module or of SciPy, whose
    parts are like x0 or broadcast to it; or a pair (min, max) for each element of a vector x0, with None for no bound.
    They may be variables. The search begins at the point of the box next to x0.
    tol: the length of a last step relative to that of x. By default √ε for trust-ncg, whose error is then far smaller,
    and ε^¾ for the others.
    maxiter: the largest number of steps. raise_on_failure: a call that does not converge fails, with status
    AOTENSOR_NOT_CONVERGED.

    Returns a named tuple of solution (like x0), success, iterations, residual (the largest element of the gradient),
    status (an `Ending`) and fun, the value there. Without success the solution is the last iterate, and its
    derivatives are nan. They are those of the equation gradient = 0, by the implicit function theorem, forward and in
    reverse, to any order, in all that fun reads; x0 gets zeros. An element at a bound moves with its bound only, and
    `residual` is without the elements of the gradient that push x out of the bounds.

    Raises: GraphTypeError, GraphValueError for arguments of another kind, a fun that is not a scalar or does not depend
    on x, bounds in the wrong order; if these are not known before the call, the status is `Ending.NO_BRACKET`. Cost:
    of derivatives, one Hessian and its factorisation.
    """
    options = Options("minimize", tol, maxiter, raise_on_failure)
    method = "trust-ncg" if method is None else method
    check_choice("minimize: method", method, METHODS)
    if bounds is not None and method not in BOUNDED:
        hint = " or ".join(f'method="{other}"' for other in BOUNDED)
        raise GraphValueError(f'minimize: method "{method}" does not support bounds', hint=hint)
    given = unknown("minimize", "x0", x0)
    problem, given = traced("minimize", "fun", fun, given, arguments(args), scalar_output("minimize: fun"))
    x, output = problem.slot, problem.output
    gradient = grad(output, x)
    start, tolerance = symbol(given.flat, "x0"), options.tolerance(x, 0.5 if method == "trust-ncg" else 0.75)

    def value(at: Variable) -> Variable:
        return problem.at(output, at)

    def gradient_at(at: Variable) -> Variable:
        return problem.at(gradient, at)

    if bounds is not None:
        curvature = ExactHessian(_products(gradient, x)) if method == "trust-ncg" else LimitedMemory(MEMORY)
        solution = _within(options, problem, gradient, given, bounds, curvature, start, tolerance)
        return Minimum(*given.restored(solution), _value_there(problem, solution))
    if method == "trust-ncg":
        found = trust_region(value, gradient_at, _products(gradient, x), start, tolerance, maxiter)
    else:
        inverse = Matrix() if method == "BFGS" else Memory(MEMORY)
        found = quasi_newton(value, gradient_at, start, tolerance, maxiter, inverse)
    solution = solution_of(options, problem, [(given.flat, start)], found, (gradient, slopes(gradient, x)))
    return Minimum(*given.restored(solution), _value_there(problem, solution))


@coerced
def least_squares(
    fun: Callable[..., Any],
    x0: Any,
    args: Any = (),
    *,
    method: str | None = None,
    bounds: Any = None,
    jacobian: str | None = None,
    jac_sparsity: Any = None,
    tol: float | None = None,
    maxiter: int = 200,
    raise_on_failure: bool = False,
) -> Minimum:
    """x with a local minimum of |r|²/2 for the residuals r = fun(x, *args), starting at x0.

    fun: a function of symbols that returns a vector, or a list for one. method: "lm", Levenberg and Marquardt's, the
    default; "trf", steps of Gauss and Newton in a trust region, the default with bounds.
    bounds: `Bounds(lb, ub)`, or a pair (lb, ub), as in SciPy: each like x0 or broadcast to it; they may be variables.
    jacobian, jac_sparsity: as of `root`, "dense" or, with "lm", "sparse", with a row for each residual: steps and
    derivatives then factorise sparse matrices with the pattern of JᵀJ.
    tol: the length of a last step relative to that of x, of "lm" also the cosine between r and the columns of its
    Jacobian; ε^¾ by default. The field `fun` is |r|²/2, `residual` the largest element of Jᵀ·r. Else as `minimize`:
    derivatives hold the second derivatives of r, too.

    Raises: as `minimize`. Cost: a Cholesky factorisation of JᵀJ per step of "lm"; two products of J with vectors per
    conjugate gradient iteration of "trf", at most 2·n + 10 iterations per step.
    """
    options = Options("least_squares", tol, maxiter, raise_on_failure)
    if method is None:
        method = "lm" if bounds is None else "trf"
    check_choice("least_squares: method", method, ("lm", "trf"))
    if bounds is not None and method == "lm":
        raise GraphValueError('least_squares: bounds are given, and method "lm" has none', hint='method="trf"')
    given = unknown("least_squares", "x0", x0)

    def vector(x: Variable, found: Variable) -> Variable:
        if found.ndim == 0:
            raise GraphValueError("least_squares: fun must return a vector of residuals", lines=[found.describe()])
        return found if found.ndim == 1 else reshape(found, [-1])

    problem, given = traced("least_squares", "fun", fun, given, arguments(args), vector)
    x, residuals = problem.slot, problem.output
    kind = chosen_slopes("least_squares", "x0", given.flat, jacobian, jac_sparsity, MATRICES, residuals)
    if kind.kind != "dense" and method != "lm":
        raise GraphValueError(f'least_squares: jacobian={kind.kind!r} needs method "lm", not {method!r}')
    matrix = kind.of(residuals, x)
    cost = number(0.5, x) * sum_of(residuals * residuals)
    gradient = grad(cost, x)
    start, tolerance = symbol(given.flat, "x0"), options.tolerance(x, 0.75)
    scalar = Problem(x, problem.slots, cost, problem.parameters)

    def matrix_at(at: Variable) -> Variable:
        return problem.at(matrix, at)

    if method == "trf":
        limits, curvature = bounds_or_pair("least_squares", bounds), GaussNewton(matrix_at)
        solution = _within(options, scalar, gradient, given, limits, curvature, start, tolerance)
    else:
        found = levenberg_marquardt(lambda at: problem.at(residuals, at), matrix_at, start, tolerance, maxiter)
        curvature_there = kind.of_normal_equations().of(gradient, x)
        solution = solution_of(options, problem, [(given.flat, start)], found, (gradient, curvature_there))
    return Minimum(*given.restored(solution), _value_there(scalar, solution))


@coerced
def minimize_scalar(
    fun: Callable[..., Any],
    args: Any = (),
    *,
    bracket: Any = None,
    bounds: Any = None,
    method: str | None = None,
    tol: float | None = None,
    maxiter: int = 200,
    raise_on_failure: bool = False,
) -> Minimum:
    """The number x with a local minimum of fun(x, *args).

    method: "brent", downhill from the two points of `bracket`, (0, 1) by default, until three points hold a minimum;
    "bounded", between two `bounds`, which is the default with them. A minimum at a bound is the bound, and so are its
    derivatives. tol: √ε by default; the last digits are found with f' and f". Else as `minimize`.

    Returns what `minimize` returns. A function that falls on and on has no success, and status `Ending.NO_BRACKET`.
    Raises: as `minimize`, and for bounds with "brent".
    """
    options = Options("minimize_scalar", tol, maxiter, raise_on_failure)
    if method is None:
        method = "brent" if bounds is None else "bounded"
    check_choice("minimize_scalar: method", method, ("brent", "bounded"))
    is_bounded = method == "bounded"
    what, pair = ("bounds", bounds) if is_bounded else ("bracket", (0.0, 1.0) if bracket is None else bracket)
    if (bounds is not None) != is_bounded or (is_bounded and bracket is not None):
        raise GraphTypeError('minimize_scalar: method="bounded" needs bounds and "brent" accepts a bracket only')
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise GraphTypeError(f"minimize_scalar: {what} must be a pair (a, b), not {pair!r:.60}")
    low, high = ends_of("minimize_scalar", what, pair)
    check = scalar_output("minimize_scalar: fun")
    problem, low = traced("minimize_scalar", "fun", fun, low, arguments(args), check, True)
    _, high = ends_of("minimize_scalar", what, (low.given, high.given))
    a, b = symbol(low.given, "a"), symbol(high.given, "b")
    x, output = problem.slot, problem.output
    slope = grad(output, x)
    curve = grad(slope, x, disconnected_inputs="ignore")

    def value(at: Variable) -> Variable:
        return problem.at(output, at)

    tolerance = options.tolerance(x)
    running, no_bracket = ending(Ending.RUNNING), ending(Ending.NO_BRACKET)
    if is_bounded:
        left, right = a, b
        middle = a + number(0.381966011250105, x) * (b - a)
        status = switch(le(a, b), running, no_bracket)
    else:
        left, middle, right, is_found = bracket_minimum(value, a, b)
        status = switch(is_found, running, no_bracket)
    best, count, status = brent_minimum(value, left, middle, right, status, tolerance, options.maxiter)
    best = polish_minimum(lambda at: problem.at(slope, at), lambda at: problem.at(curve, at), best)
    starts = [(low.given, a), (high.given, b)]
    if not is_bounded:
        found = best, count, problem.at(slope, best), status
        solution = solution_of(options, problem, starts, found, (slope, curve))
        return Minimum(*solution, _value_there(problem, solution))
    best = switch(le(value(a), value(best)), a, best)
    best = switch(le(value(b), value(best)), b, best)
    at_end = Problem(x, (*problem.slots, a, b), output, (*problem.parameters, low.given, high.given))
    equation = switch(le(x, a), x - a, switch(ge(x, b), x - b, slope))
    found = best, count, replace([equation], {x: best})[0], status
    solution = solution_of(options, at_end, [], found, (equation, grad(equation, x)))
    return Minimum(*solution, _value_there(problem, solution))


def _within(
    options: Options,
    problem: Problem,
    gradient: Variable,
    given: Unknown,
    bounds: Any,
    curvature: Curvature,
    start: Variable,
    tolerance: Variable,
) -> Solution:
    """The minimum of a problem within bounds, as a vector.   Raises: as `bounds_of`"""
    x, parts = problem.slot, bounds_of(options.name, bounds, given)
    box = Box(symbol(parts[0], "lower"), symbol(parts[1], "upper"))
    found = bounded_minimum(
        lambda at: problem.at(problem.output, at), lambda at: problem.at(gradient, at), curvature, start, box,
        tolerance, options.maxiter,
    )  # fmt: skip
    inside = Problem(x, (*problem.slots, box.lower, box.upper), problem.output, (*problem.parameters, *parts))
    equation = box.equation(x, gradient)
    return solution_of(options, inside, [(given.flat, start)], found, (equation, slopes(equation, x)))


def _products(gradient: Variable, x: Variable) -> Callable[[Variable, Variable], Variable]:
    """(x, v) → the derivative of the gradient along v."""
    direction = Variable(x.type, name="v")
    (image,) = pushed_terms([gradient], [x], [direction])
    return lambda at, v: replace([image], {x: at, direction: v})[0]


def _value_there(problem: Problem, solution: Solution) -> Variable:
    """The function's value at the solution, as a node of the user's graph."""
    found = solution.solution
    return problem.graph(problem.output).inlined([found, *problem.parameters])[0]
