"""Roots and fixed points of functions that users write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.gradient.reverse import grad
from aotensor.graph.coercion import check_choice, coerced
from aotensor.graph.variable import Constant, Variable
from aotensor.solutions.anderson import anderson
from aotensor.solutions.broyden import broyden
from aotensor.solutions.driver import Options, finite_number, solution_of, symbol
from aotensor.solutions.formulas import number, solve_or_nan
from aotensor.solutions.jacobians.gmres import gmres
from aotensor.solutions.jacobians.matrix_free import MatrixFree
from aotensor.solutions.jacobians.slopes import Slopes, chosen_slopes
from aotensor.solutions.newton import newton
from aotensor.solutions.problem import Unknown, arguments, scalar_output, traced, unknown, vector_like
from aotensor.solutions.results import Solution
from aotensor.solutions.scalar_roots import brent_root, secant

ROOT_METHODS = ("newton", "broyden")
SCALAR_METHODS = ("newton", "halley", "secant", "brentq")
MEMORY = 5
"""Steps that Anderson's method combines."""


@coerced
def root(
    F: Callable[..., Any],
    x0: Any,
    args: Any = (),
    *,
    method: str = "newton",
    jacobian: str | None = None,
    jac_sparsity: Any = None,
    tol: float | None = None,
    maxiter: int = 100,
    raise_on_failure: bool = False,
) -> Solution:
    """x with F(x, *args) = 0, found inside of the library, starting at x0.

    F: a function of symbols that returns as many elements as x has, in the shape of x, or a list of them for a vector.
    It may read other variables. x0: a dense real tensor of any rank. method: "newton", with the exact Jacobian and a
    line search; "broyden", with a Jacobian at the start and the end, which steps improve. jacobian: "dense", the
    default; of Newton's method also "sparse", for an x of known extents: the pattern follows from the graph, entries by
    colouring, and steps and derivatives factorise a sparse matrix; and "matrix-free": by GMRES, from products of the
    Jacobian with vectors. jac_sparsity: a SciPy matrix (n, n) whose stored entries are the pattern of a sparse one,
    for the n elements of x in C order. tol: the length of a last
    full step relative to that of x, √ε by default: the error is far smaller. maxiter: the largest number of steps.
    raise_on_failure: a call that does not converge fails, with status AOTENSOR_NOT_CONVERGED.

    Returns a named tuple of solution (like x0), success, iterations, residual (max |F|), and status (an `Ending`).
    Without success the solution is the last iterate, and its derivatives are nan. They are those of the equation, by
    the implicit function theorem, forward and in reverse, to any order, in all that F reads; x0 gets zeros.

    Raises: GraphTypeError, GraphValueError for arguments of another kind, and an F that does not depend on x or gives
    another number of elements, and a jacobian that does not fit. Cost: a factorisation of the Jacobian per Newton step,
    one for all derivatives.
    """
    options = Options("root", tol, maxiter, raise_on_failure)
    check_choice("root: method", method, ROOT_METHODS)
    given = unknown("root", "x0", x0)

    def vector(x: Variable, found: Variable) -> Variable:
        return vector_like("root: F", x, found)

    problem, given = traced("root", "F", F, given, arguments(args), vector)
    kind = chosen_slopes("root", "x0", given.flat, jacobian, jac_sparsity)
    if kind.kind != "dense" and method != "newton":
        raise GraphValueError(f'root: jacobian={kind.kind!r} needs method "newton"; {method!r} improves a dense one')
    equations = _equations(kind, problem.output, problem.slot)
    start, tolerance = symbol(given.flat, "x0"), options.tolerance(problem.slot)

    def residual(x: Variable) -> Variable:
        return problem.at(problem.output, x)

    def matrix_at(x: Variable) -> Variable:
        return problem.at(equations[1], x)

    products = MatrixFree(problem.graph(problem.output))

    def direction(x: Variable, f: Variable) -> Variable:
        if kind.kind == "matrix-free":
            return -gmres(lambda v: products.product([x, *problem.slots], v), f)
        return -solve_or_nan(matrix_at(x), f)

    if method == "newton":
        found = newton(residual, direction, start, tolerance, maxiter)
    else:
        found = broyden(residual, matrix_at, start, tolerance, maxiter)
    return given.restored(solution_of(options, problem, [(given.flat, start)], found, equations))


def _equations(kind: Slopes, output: Variable, x: Variable) -> list[Variable]:
    """[G, ∂G/∂x], or [G] for a Jacobian that is known by its products."""
    return [output] if kind.kind == "matrix-free" else [output, kind.of(output, x)]


@coerced
def root_scalar(
    f: Callable[..., Any],
    args: Any = (),
    *,
    x0: Any = None,
    x1: Any = None,
    bracket: Any = None,
    method: str | None = None,
    tol: float | None = None,
    maxiter: int = 100,
    raise_on_failure: bool = False,
) -> Solution:
    """The number x with f(x, *args) = 0, by a bracket (a, b) or from x0.

    method: "brentq", which needs a bracket whose ends give different signs, and is the default with one; "newton",
    "halley" with exact derivatives, from x0; "secant" from x0 and x1, which is near x0 by default.
    tol: of brentq half the width of the last bracket, 10 ε by default; else as in `root`, like all other options.

    Returns what `root` returns. Without a change of sign, `success` is false and `status` is `Ending.NO_BRACKET`.
    Raises: GraphTypeError, GraphValueError as `root`, and for a method that lacks its start.
    """
    options = Options("root_scalar", tol, maxiter, raise_on_failure)
    if method is None:
        method = "newton" if bracket is None else "brentq"
    check_choice("root_scalar: method", method, SCALAR_METHODS)
    if method == "brentq":
        return _by_bracket(options, f, bracket, args)
    if x0 is None:
        raise GraphTypeError(f"root_scalar: method {method!r} needs a start x0")
    given = _scalar("root_scalar", "x0", x0)
    problem, given = traced("root_scalar", "f", f, given, arguments(args), scalar_output("root_scalar: f"), True)
    output, x = problem.output, problem.slot
    slope = grad(output, x)
    start, tolerance = symbol(given.given, "x0"), options.tolerance(x)
    starts = [(given.given, start)]

    def value(x: Variable) -> Variable:
        return problem.at(output, x)

    if method == "secant":
        near = given.given * number(1 + 1e-4, x) + number(1e-4, x)
        second = near if x1 is None else _scalar("root_scalar", "x1", x1, x.dtype).given
        starts.append((second, symbol(second, "x1")))
        found = secant(value, start, starts[1][1], tolerance, maxiter)
    else:
        curve = grad(slope, x, disconnected_inputs="ignore") if method == "halley" else None

        def direction(x: Variable, f: Variable) -> Variable:
            d = problem.at(slope, x)
            return -solve_or_nan(d, f) if curve is None else -2 * f * d / (2 * d * d - f * problem.at(curve, x))

        found = newton(value, direction, start, tolerance, maxiter)
    return solution_of(options, problem, starts, found, (output, slope))


def _by_bracket(options: Options, f: Callable[..., Any], bracket: Any, args: Any) -> Solution:
    if not isinstance(bracket, tuple | list) or len(bracket) != 2:
        raise GraphTypeError("root_scalar: brentq needs a bracket, a pair (a, b)")
    a, b = ends_of("root_scalar", "bracket", bracket)
    problem, low = traced("root_scalar", "f", f, a, arguments(args), scalar_output("root_scalar: f"), True)
    high = _scalar("root_scalar", "an end of bracket", b.given, low.given.dtype).given
    starts = [(low.given, symbol(low.given, "a")), (high, symbol(high, "b"))]
    tolerance = options.tolerance(low.given, 1.0)
    found = brent_root(lambda x: problem.at(problem.output, x), starts[0][1], starts[1][1], tolerance, options.maxiter)
    return solution_of(options, problem, starts, found, (problem.output, grad(problem.output, problem.slot)))


@coerced
def fixed_point(
    g: Callable[..., Any],
    x0: Any,
    args: Any = (),
    *,
    method: str = "anderson",
    jacobian: str | None = None,
    jac_sparsity: Any = None,
    tol: float | None = None,
    maxiter: int = 500,
    raise_on_failure: bool = False,
) -> Solution:
    """x with g(x, *args) = x, by repetition from x0.

    g: as F of `root`. method: "anderson", which combines the last 5 steps, or "iteration", which does not. tol: the
    length of g(x) − x relative to that of x, ε^¾ by default. jacobian, jac_sparsity: as in `root`, of x − g(x), for the
    derivatives alone. Other options, results and derivatives: as in `root`.

    Raises: as `root`. Cost: products of vectors only in each step; one factorisation of the Jacobian for derivatives.
    """
    options = Options("fixed_point", tol, maxiter, raise_on_failure)
    check_choice("fixed_point: method", method, ("anderson", "iteration"))
    given = unknown("fixed_point", "x0", x0)

    def vector(x: Variable, found: Variable) -> Variable:
        return vector_like("fixed_point: g", x, found)

    problem, given = traced("fixed_point", "g", g, given, arguments(args), vector)
    start, tolerance = symbol(given.flat, "x0"), options.tolerance(problem.slot, 0.75)
    found = anderson(
        lambda x: problem.at(problem.output, x), start, tolerance, maxiter, MEMORY if method == "anderson" else 0
    )
    distance = problem.slot - problem.output
    kind = chosen_slopes("fixed_point", "x0", given.flat, jacobian, jac_sparsity)
    equations = _equations(kind, distance, problem.slot)
    return given.restored(solution_of(options, problem, [(given.flat, start)], found, equations))


def _scalar(name: str, what: str, value: Any, dtype: str | None = None) -> Unknown:
    """Check and convert a finite scalar.   Raises: GraphValueError"""
    finite_number(name, what, value)
    given = unknown(name, what, value, dtype)
    if given.given.ndim != 0:
        raise GraphValueError(f"{name}: {what} must be a scalar", lines=[given.given.describe()])
    return given


def ends_of(name: str, what: str, pair: Any) -> tuple[Unknown, Unknown]:
    """Convert two ends to scalars of one dtype.   Raises: GraphValueError if they are equal or not finite."""
    a, b = (_scalar(name, f"an end of {what}", end) for end in pair)
    a, b = (_scalar(name, f"an end of {what}", end.given, other.given.dtype) for end, other in ((a, b), (b, a)))
    if isinstance(a.given, Constant) and isinstance(b.given, Constant) and a.given.data == b.given.data:
        raise GraphValueError(f"{name}: the two ends of {what} must differ, found {a.given.data} twice")
    return a, b
