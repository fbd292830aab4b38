"""Forward mode: the pushforward sweep, Rop and the product of a Hessian with a vector."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from aotensor.core.types import TensorType
from aotensor.errors import GraphValueError, NullTypeGradError
from aotensor.gradient.options import (
    as_variables,
    disconnected_result,
    disconnected_value,
    float_of,
    is_float,
    like,
    on_disconnection,
    report_disconnection,
)
from aotensor.gradient.origins import remembers
from aotensor.gradient.reverse import as_points, grad
from aotensor.gradient.sweep import Sweep
from aotensor.gradient.terms import Pattern, checked_terms, connection_pattern, has_zero_cotangent
from aotensor.graph.coercion import coerced
from aotensor.graph.expansion import Expansion
from aotensor.graph.op import (
    FORWARD_RULES,
    REVERSE_RULES,
    Apply,
    call_pullback,
    call_pushforward,
    chosen_rule,
    connected,
    disconnected,
    has_value,
    is_disconnected,
    is_null,
    sum_terms,
)
from aotensor.graph.site import differentiating
from aotensor.graph.variable import Variable, Variables
from aotensor.graph.walk import replace
from aotensor.ops.create import is_zeros, zeros_like
from aotensor.ops.elementwise.arithmetic import add
from aotensor.ops.elementwise.compare import cast
from aotensor.ops.linear import zero_gradient
from aotensor.ops.stable.forms import stable_order


@remembers("f")
@coerced
def pushforward(
    f: Any, wrt: Any, eval_points: Any, disconnected_outputs: str = "raise", return_disconnected: str | None = "zero"
) -> Any:
    """out[i] = Σⱼ ∂f[i]/∂wrt[j]·eval_points[j], the product of the Jacobian with a tangent; container as f.

    eval_points: one tangent per wrt, variables or arrays, of the shape of that wrt.
    disconnected_outputs: "raise", "warn" or "ignore" an f that does not depend on any wrt.
    return_disconnected: "zero", "none" or "disconnected", for such an f.

    Raises: GraphValueError for a wrong number, rank or static extent of eval_points, DisconnectedInputError and
    NullTypeGradError as in `grad`.
    """
    policy = on_disconnection("disconnected_outputs", disconnected_outputs)
    kind = disconnected_value(return_disconnected)
    outputs = as_variables(f, "f")
    inputs = as_variables(wrt, "wrt")
    tangents = push(outputs, inputs, as_points(eval_points, inputs, "wrt"))
    results: list[Variable | None] = []
    for x, tangent in zip(outputs, tangents, strict=True):
        if is_null(tangent):
            raise NullTypeGradError(
                f"the derivative of {x} has no value: {tangent.type.why_null}",
                lines=[line for line in (x.describe(), tangent.type.where) if line],
            )
        if is_disconnected(tangent):
            report_disconnection(policy, f"Rop: {x} does not depend on any wrt, or only on its shape", x)
            results.append(disconnected_result(kind, x))
        else:
            results.append(tangent)
    return like(f, results)


Rop = pushforward


def push(outputs: Sequence[Variable], wrt: Sequence[Variable], points: Sequence[Variable]) -> list[Variable]:
    """The tangents of `outputs`, which may be disconnected or null, in time linear in the graph."""
    collected: dict[Variable, list[Variable]] = {}
    for x, point in zip(wrt, points, strict=True):
        collected.setdefault(x, []).append(point)
    tangents = {x: sum_terms(terms, add) for x, terms in collected.items()}
    for node in stable_order(outputs, tangents, tangents):
        with differentiating(node):
            pushed = _node_tangents(node, tangents)
        for x, tangent in zip(node.outputs, pushed, strict=True):
            if not is_disconnected(tangent):
                tangents.setdefault(x, tangent)
    return [tangents[x] if x in tangents else disconnected() for x in outputs]


def _node_tangents(node: Apply, known: dict[Variable, Variable]) -> list[Variable]:
    """Tangents of the outputs of one node; `known` has the tangents of the variables before it."""
    results = [disconnected() for _ in node.outputs]
    if not any(x in known for x in node.inputs):
        return results
    pattern, is_faithful = connection_pattern(node), node.op.is_faithful()
    given = {k: known[x] for k, x in enumerate(node.inputs) if x in known and any(pattern[k])}
    real = {k: tangent for k, tangent in given.items() if has_value(tangent)}
    # zero tangents of discrete values add nothing, even where the derivative is infinite
    is_still = is_faithful and all(has_zero_cotangent(node, x) for x in node.outputs)
    moving = {k: t for k, t in real.items() if not (is_still or (is_faithful and is_zeros(t)))}
    if moving:
        results = _by_rule(node, pattern, [moving.get(k, disconnected()) for k in range(len(node.inputs))])
    for k, x in enumerate(node.outputs if len(results) > 1 or not moving else ()):
        sources = {position for position, row in enumerate(pattern) if row[k]}
        if sources and not sources & moving.keys():
            results[k] = zero_gradient(x) if sources & real.keys() else disconnected()
    for position, tangent in given.items():
        if is_null(tangent):
            results = [tangent if on else result for on, result in zip(pattern[position], results, strict=True)]
    return [_as_output(tangent, x) for tangent, x in zip(results, node.outputs, strict=True)]


def push_through(graph: Expansion, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
    """Tangents of the outputs of a node by a forward sweep through its expansion."""
    live = [(graph.slots[k], Variable(t.type), t) for k, t in connected(tangents).items()]
    found = push(graph.outputs, [x for x, _, _ in live], [slot for _, slot, _ in live])
    return graph.outside(found, inputs, outputs, ((slot, t) for _, slot, t in live))


def _by_rule(node: Apply, pattern: Pattern, tangents: Sequence[Variable]) -> list[Variable]:
    """The tangents of the outputs by the forward rule; without one by two pullbacks, or by the expansion of the op.

    Raises: MissingRuleError
    """
    op = type(node.op)
    if chosen_rule(op, FORWARD_RULES) is None:
        if chosen_rule(op, REVERSE_RULES) is not None:
            return _by_two_pullbacks(node, pattern, tangents)
        graph = Expansion.for_op(node.op, node.inputs)
        if graph is not None:
            return push_through(graph, node.inputs, node.outputs, tangents)
    found = call_pushforward(node.op, node.inputs, node.outputs, tangents)
    return checked_terms(node, FORWARD_RULES, found, node.outputs)


def _by_two_pullbacks(node: Apply, pattern: Pattern, tangents: Sequence[Variable]) -> list[Variable]:
    """The tangents of the outputs of a node by transposing its reverse rule."""

    def pull(cotangents: Sequence[Variable]) -> list[Variable]:
        found = call_pullback(node.op, node.inputs, node.outputs, cotangents)
        return checked_terms(node, REVERSE_RULES, found, node.inputs)

    return push_by_pullback(pull, node.outputs, pattern, tangents)


def push_by_pullback(
    pull: Callable[[Sequence[Variable]], Sequence[Variable]],
    outputs: Sequence[Variable],
    pattern: Pattern,
    tangents: Sequence[Variable],
) -> list[Variable]:
    """J·ẋ from Jᵀ: `pull` gives g(u) = Jᵀ·u, which is linear in u, so the pullback of g maps ẋ to J·ẋ.

    u is a symbol. If it remains in the result, its value does not matter and is replaced by zero.
    """
    slots = [Variable(TensorType(float_of(x), x.tensor_type.shape)) for x in outputs]
    live = [
        (term, tangent, row)
        for term, tangent, row in zip(pull(slots), tangents, pattern, strict=True)
        if not is_disconnected(term) and not is_disconnected(tangent)
    ]
    sweep = Sweep([(term, cast(tangent, term.dtype)) for term, tangent, _ in live if not is_null(term)], {}, slots, ())
    sweep.run()
    zeros = {slot: zeros_like(x, slot.dtype) for slot, x in zip(slots, outputs, strict=True)}
    results: list[Variable] = []
    for position, (slot, x) in enumerate(zip(slots, outputs, strict=True)):
        terms = [term for term, _, row in live if row[position]]
        null = next((term for term in terms if is_null(term)), None)
        total = sweep.total(slot) if null is None else null
        if is_disconnected(total) and terms:
            total = zero_gradient(x)
        results.append(replace([total], zeros)[0] if has_value(total) else total)
    return results


def _as_output(tangent: Variable, x: Variable) -> Variable:
    """Cast a tangent to the dtype of its variable, if that is floating."""
    if not has_value(tangent) or not is_float(x) or tangent.dtype == x.dtype:
        return tangent
    return cast(tangent, x.dtype)


@remembers("cost")
@coerced
def hessian_vector_product(cost: Variable, wrt: Any, p: Any, **grad_options: Any) -> Any:
    """H·p for the Hessian H of cost, without building H: the tangent of the gradient along p; container as wrt.

    p: one vector per wrt, of its shape. A linear cost gives zeros. `grad_options` go to `grad`.

    Raises: GraphValueError if p and wrt differ in number or shape; the errors of `grad`.
    """
    inputs = as_variables(wrt, "wrt")
    directions = list(p) if isinstance(p, list | tuple) else [p]
    if len(directions) != len(inputs):
        raise GraphValueError(f"{len(directions)} directions for {len(inputs)} variables in wrt")
    derivatives = grad(cost, inputs, **grad_options)
    return like(wrt, pushforward(derivatives, inputs, directions, disconnected_outputs="ignore"))
