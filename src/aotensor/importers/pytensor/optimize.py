"""Solvers of pytensor.tensor.optimize, which calls SciPy at run time; here the library contains the solver.

| here | SciPy's methods |
|---|---|
| `root`, "newton" | hybr, lm, krylov, df-sane |
| `root`, "broyden" | broyden1, broyden2, anderson, linearmixing, diagbroyden, excitingmixing |
| `root_scalar` | newton, halley, secant; "brentq" for brentq, brenth, bisect, ridder, toms748 |
| `minimize`, "trust-ncg" | Newton-CG, trust-ncg, trust-krylov, trust-exact, dogleg |
| `minimize`, "L-BFGS-B" | L-BFGS-B, also with bounds |
| `minimize`, "BFGS" | all other methods, those without derivatives among them |
| `minimize_scalar` | "brent" for brent and golden, "bounded" |

A solution is the same up to the tolerances, unless there are several. Constraints are refused, and bounds of other
methods. Derivatives of a minimum at a bound are those of the bound; PyTensor's are those of gradient = 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import aotensor.tensor as at
from aotensor.importers.base import Unsuited
from aotensor.importers.pytensor.rules import Walk, rule

_BROYDEN: Final = ("broyden1", "broyden2", "anderson", "linearmixing", "diagbroyden", "excitingmixing")
_NEWTON: Final = ("newton-cg", "trust-ncg", "trust-krylov", "trust-exact", "dogleg")
_FROM_START: Final = ("newton", "halley", "secant")
_TOLERANCES: Final = ("tol", "xtol", "ftol", "gtol", "rtol", "xatol", "fatol", "eps", "catol", "barrier_tol")
_IGNORED: Final = ("disp", "full_output", *_TOLERANCES[2:], "maxfev", "maxfun", "maxls", "maxcor", "norm", "workers")
"""Options that change how SciPy searches and what it prints, not what is found."""


@rule("RootOp")
def root(walk: Walk, node: Any, x0: Any, *args: Any) -> Any:
    """The root of a system of equations, and success."""
    method = "broyden" if node.op.method in _BROYDEN else "newton"
    return at.optimize.root(_inner(walk, node), x0, args, method=method, **_options(node, node.op.optimizer_kwargs))[:2]


@rule("RootScalarOp")
def root_scalar(walk: Walk, node: Any, x0: Any, *args: Any) -> Any:
    """The root of one equation, and success."""
    given = dict(node.op.optimizer_kwargs)
    places = {key: given.pop(key) for key in ("x1", "bracket") if given.get(key) is not None}
    options = _options(node, given)
    if node.op.method in _FROM_START:
        places.pop("bracket", None)
        return at.optimize.root_scalar(_inner(walk, node), args, x0=x0, method=node.op.method, **places, **options)[:2]
    if "bracket" not in places:
        raise Unsuited(f"its method {node.op.method!r} needs a bracket")
    bracket = tuple(float(end) for end in places["bracket"])
    return at.optimize.root_scalar(_inner(walk, node), args, bracket=bracket, **options)[:2]


@rule("MinimizeOp")
def minimize(walk: Walk, node: Any, x0: Any, *args: Any) -> Any:
    """The minimiser of a function of a vector, and success."""
    name, given = node.op.method.lower(), dict(node.op.optimizer_kwargs)
    method = "trust-ncg" if name in _NEWTON else "L-BFGS-B" if name == "l-bfgs-b" else "BFGS"
    bounds = given.pop("bounds", None) if method == "L-BFGS-B" else None
    return at.optimize.minimize(_inner(walk, node), x0, args, method=method, bounds=bounds, **_options(node, given))[:2]


@rule("MinimizeScalarOp")
def minimize_scalar(walk: Walk, node: Any, x0: Any, *args: Any) -> Any:
    """The minimiser of a function of one number, and success. As in SciPy, x0 is not used."""
    given = dict(node.op.optimizer_kwargs)
    bounds, bracket = given.pop("bounds", None), given.pop("bracket", None)
    options = _options(node, given)
    is_bounded = node.op.method.lower() == "bounded"
    if is_bounded and bounds is None:
        raise Unsuited("its method 'bounded' needs bounds")
    pair = [at.constant(end, dtype=x0.dtype) for end in (bounds if is_bounded else bracket or (0.0, 1.0))[:2]]
    where: dict[str, Any] = {"bounds" if is_bounded else "bracket": tuple(pair)}
    return at.optimize.minimize_scalar(_inner(walk, node), args, **where, **options)[:2]


def _inner(walk: Walk, node: Any) -> Callable[..., Any]:
    """The inner function of a solver op, of the unknown and the other inputs."""
    graph = node.op.fgraph
    return lambda *values: walk.inner(graph.inputs, graph.outputs[:1], values)[0]


def _options(node: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Translate SciPy's options.   Raises: NoCounterpart for an unsupported one"""
    flat = dict(given)
    flat |= flat.pop("options", None) or {}
    options: dict[str, Any] = {}
    tolerances = [flat.pop(key) for key in _TOLERANCES[:2] if flat.get(key) is not None]
    if tolerances and 0 < float(tolerances[0]) < 1:
        options["tol"] = float(tolerances[0])
    if flat.get("maxiter") is not None:
        options["maxiter"] = int(flat["maxiter"])
    others = [
        key for key, value in flat.items() if key not in (*_IGNORED, "maxiter", "tol", "xtol") and value is not None
    ]
    if others:
        raise Unsuited(f"its option {others[0]!r} is not supported")
    return options
