"""Reverse mode: grad, Lop and subgraph_grad, built on the pullback sweep."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from aotensor.core import dtypes
from aotensor.core.garbage import rare_collections
from aotensor.errors import GraphTypeError, GraphValueError, NullTypeGradError
from aotensor.gradient.options import (
    as_constants,
    as_variables,
    check_like,
    disconnected_result,
    disconnected_value,
    float_of,
    is_float,
    like,
    on_disconnection,
    report_disconnection,
)
from aotensor.gradient.origins import remembers
from aotensor.gradient.sweep import Sweep
from aotensor.graph.coercion import check_choice, coerced
from aotensor.graph.op import has_value, is_disconnected, is_null, sum_terms
from aotensor.graph.substitute import pairs_of
from aotensor.graph.variable import Variable, constant
from aotensor.graph.walk import leaves
from aotensor.ops.elementwise.arithmetic import add
from aotensor.ops.elementwise.compare import cast
from aotensor.sparse.op import as_sparse_or_tensor


@remembers("cost")
@coerced
def grad(
    cost: Variable | None,
    wrt: Any,
    consider_constant: Iterable[Variable] | None = None,
    disconnected_inputs: str = "raise",
    add_names: bool = True,
    known_grads: Mapping[Variable, Variable] | None = None,
    return_disconnected: str | None = "zero",
    null_gradients: str = "raise",
) -> Any:
    """∂cost/∂x for each x in wrt: a variable for a variable, a tuple for a tuple, a list for another sequence.

    cost: a scalar, or None if `known_grads` alone drive the sweep.
    wrt: inputs, constants or intermediate variables; each is differentiated with the rest of the graph held fixed.
    consider_constant: variables at which propagation ends; they still receive their own gradient.
    disconnected_inputs: "raise", "warn" or "ignore" an x that cost does not depend on.
    add_names: call the gradient of x `(dcost/dx)` where cost and x have names.
    known_grads: variable → its cotangent, which replaces what the sweep would compute for it.
    return_disconnected: "zero", "none" or "disconnected", for an x that cost does not depend on.
    null_gradients: "raise", or "return" the null variable where a gradient is undefined.

    A gradient has the dtype of its x if that is floating or complex; else it is floating, as if x were real. Discrete
    values in between send exact zeros. The gradient of a complex x = u + iv is ∂cost/∂u − i·∂cost/∂v, as in JAX: cost
    changes by Re(gradient·dx), and the conjugate of the gradient points uphill.

    Raises: GraphTypeError unless cost is a real scalar variable and wrt are variables; GraphValueError for a bad
    option; DisconnectedInputError and NullTypeGradError as the options say.
    """
    policy = on_disconnection("disconnected_inputs", disconnected_inputs)
    kind = disconnected_value(return_disconnected)
    nulls = check_choice("null_gradients", null_gradients, ("raise", "return"))
    known = _checked_known(known_grads)
    if cost is None and known_grads is None:
        raise GraphValueError("grad: give cost, known_grads or both")
    if cost is not None:
        _check_cost(cost)
    targets = as_variables(wrt, "wrt")
    seeds = [(cost, _unit_cotangent(cost))] if cost is not None and cost not in known else []
    sweep = Sweep(seeds, known, targets, as_constants(consider_constant), cost if add_names else None)
    return like(wrt, _collect(sweep, targets, policy, kind, nulls))


def _check_cost(cost: object) -> None:
    if not isinstance(cost, Variable):
        raise GraphTypeError(f"cost must be a variable, not {type(cost).__name__} {cost!r:.40}")
    if is_null(cost):
        raise GraphValueError(f"cost has no gradient: {cost.type.why_null}")
    if cost.ndim != 0:
        raise GraphTypeError("cost must be a scalar", lines=[cost.describe()], hint="take the sum or the mean")
    if dtypes.is_complex(cost.dtype):
        hint = "take its real part, imaginary part or size: real(cost), imag(cost), abs(cost)"
        raise GraphTypeError("cost must be real, but it is complex", lines=[cost.describe()], hint=hint)


def _unit_cotangent(cost: Variable) -> Variable:
    return constant(1, dtype=float_of(cost))


def _checked_known(known_grads: Any) -> dict[Variable, Variable]:
    if known_grads is None:
        return {}
    for x, cotangent in known_grads.items():
        for what, value in (("key", x), ("value", cotangent)):
            if not isinstance(value, Variable):
                raise GraphTypeError(f"known_grads: {what} {value!r:.40} is not a variable")
        if not has_value(cotangent):
            continue
        if not is_float(cotangent):
            raise GraphTypeError(
                f"known_grads: a cotangent must have a floating dtype, not {cotangent.type}", lines=[x.describe()]
            )
        if dtypes.is_complex(cotangent.dtype) and not dtypes.is_complex(x.dtype):
            raise GraphTypeError(
                f"known_grads: a cotangent of a real variable must be real, not {cotangent.type}", lines=[x.describe()]
            )
        check_like(cotangent, x, "known_grads: a cotangent")
    return dict(known_grads)


@rare_collections
def _collect(
    sweep: Sweep, targets: Sequence[Variable], policy: str, kind: str, nulls: str = "raise"
) -> list[Variable | None]:
    """The gradients of the targets; disconnected and null gradients are handled as the options of `grad` say."""
    for x in dict.fromkeys(targets):
        if not sweep.is_connected(x):
            _report(policy, x, sweep)
    sweep.run()
    results: list[Variable | None] = []
    for x in targets:
        total = sweep.total(x)
        if is_null(total) and nulls == "raise":
            raise NullTypeGradError(
                f"the gradient with respect to {x} has no value: {total.type.why_null}",
                lines=[line for line in (x.describe(), total.type.where) if line],
            )
        if is_disconnected(total):
            if sweep.is_connected(x):
                _report(policy, x, sweep)
            results.append(disconnected_result(kind, x))
        else:
            results.append(total)
    return results


def _report(policy: str, x: Variable, sweep: Sweep) -> None:
    if policy == "ignore":
        return
    end = sweep.obstacle(x)
    lines = [] if end is None else [f"influence ends at {end.describe()}"]
    report_disconnection(policy, f"grad: the cost does not depend on the input {x}, or only on its shape", x, lines)


@remembers("f")
@coerced
def pullback(
    f: Any,
    wrt: Any,
    eval_points: Any,
    consider_constant: Iterable[Variable] | None = None,
    disconnected_inputs: str = "raise",
    return_disconnected: str | None = "zero",
) -> Any:
    """out[j] = Σᵢ eval_points[i]·∂f[i]/∂wrt[j], the product of a cotangent with the Jacobian; container as wrt.

    eval_points: one cotangent per f, variables or arrays, of the shape of that f; integers are read as floats.

    Raises: GraphValueError for a wrong number, rank or static extent of eval_points; the other errors of `grad`.
    """
    policy = on_disconnection("disconnected_inputs", disconnected_inputs)
    kind = disconnected_value(return_disconnected)
    outputs = as_variables(f, "f")
    targets = as_variables(wrt, "wrt")
    points = as_points(eval_points, outputs, "f")
    sweep = Sweep(list(zip(outputs, points, strict=True)), {}, targets, as_constants(consider_constant))
    return like(wrt, _collect(sweep, targets, policy, kind))


Lop = pullback


def as_points(eval_points: Any, variables: Sequence[Variable], what: str) -> list[Variable]:
    """One floating cotangent or tangent per variable.   Raises: GraphValueError for a wrong number or shape."""
    given = list(eval_points) if isinstance(eval_points, list | tuple) else [eval_points]
    if len(given) != len(variables):
        raise GraphValueError(f"{len(given)} eval_points for {len(variables)} variables in {what}")
    points: list[Variable] = []
    for position, (value, x) in enumerate(zip(given, variables, strict=True)):
        point = as_sparse_or_tensor(value)
        check_like(point, x, f"eval_points[{position}]")
        if is_float(x) or not is_float(point):
            point = cast(point, float_of(x))
        points.append(point)
    return points


@remembers("cost")
@coerced
def subgraph_grad(
    wrt: list[Variable],
    end: list[Variable],
    start: Mapping[Variable, Variable] | None = None,
    cost: Variable | None = None,
    details: bool = False,
) -> Any:
    """Gradients of one section of a graph, from `cost` and the cotangents in `start` down to `end`.

    Returns (gradients of wrt, gradients of end); propagation stops at `end`. With `details`, also the parts
    of the first that come from `start` and from `cost` (None for a source that is absent). Disconnected gradients are
    zero. The caller makes sure that `cost` does not contribute to cotangents in `start`: these would count twice.

    Raises: GraphValueError without cost and start, GraphTypeError unless wrt and end are lists and start a mapping.
    """
    if cost is None and start is None:
        raise GraphValueError("subgraph_grad: give cost, start or both")
    for what, value in (("wrt", wrt), ("end", end)):
        if not isinstance(value, list):
            raise GraphTypeError(f"{what} must be a list of variables, not {type(value).__name__}")
    both = [*wrt, *end]
    parts: list[list[Variable] | None] = [None, None]
    if start is not None:
        parts[0] = grad(None, both, end, "ignore", known_grads=start)
    if cost is not None:
        parts[1] = grad(cost, both, end, "ignore")
    present = [part for part in parts if part is not None]
    total = [sum_terms(terms, add) for terms in zip(*present, strict=True)]
    result = total[: len(wrt)], total[len(wrt) :]
    if not details:
        return result
    return (*result, *(None if part is None else part[: len(wrt)] for part in parts))


@coerced
def grad_sources_inputs(
    sources: Iterable[tuple[Variable, Variable]], inputs: Sequence[Variable] | None = None
) -> dict[Variable, Variable]:
    """Cotangents of `inputs` (by default all leaves) from (variable, cotangent) pairs: `grad` with known_grads."""
    known = dict(pairs_of(sources))
    targets = leaves(known) if inputs is None else list(inputs)
    return dict(zip(targets, grad(None, targets, targets, known_grads=known), strict=True))
