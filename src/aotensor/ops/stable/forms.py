"""The stable form of a node, and of all nodes of a graph.

    log(Σ exp(x))   →  logsumexp(x)          exp(x)/Σ exp(x)  →  softmax(x)        log(softmax(x))  →  log_softmax(x)
    log(erfc(x))    →  log 2 + log_ndtr(…)   1/(1 + exp(−x))  →  sigmoid(x)        log(exp(x))      →  x

One table, `RULES`, has two uses. Stable forms are differentiated (`stable_order`): a formula whose value is
fixed only at compile time has a derivative that is still nan. Values get those that the pass `stabilize`, which
works on scalars, lacks (`use_stable_forms`, the pass `stable-forms`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from aotensor.core import dtypes
from aotensor.graph.op import Apply, Op, tracing
from aotensor.graph.passes.remarks import applied
from aotensor.graph.passes.run import GraphPass, graph_pass
from aotensor.graph.site import replacement_site, variables_at
from aotensor.graph.variable import Variable
from aotensor.graph.walk import toposort
from aotensor.ops.elementwise.arithmetic import identity
from aotensor.ops.elementwise.base import Elementwise, Row
from aotensor.ops.elementwise.compare import and_, cast, eq, lt, switch
from aotensor.ops.elementwise.elementary import log1p, sech_squared
from aotensor.ops.elementwise.special import erf, erfc, sigmoid
from aotensor.ops.index import Subtensor
from aotensor.ops.integer_indexing import AdvancedSubtensor
from aotensor.ops.reduce.sums import Sum
from aotensor.ops.shape.axes import DimShuffle
from aotensor.ops.shape.broadcast import SpecifyShape
from aotensor.ops.shape.reshape import Reshape
from aotensor.ops.stable.differences import difference_form, is_difference
from aotensor.ops.stable.functions import gompertz, log1p_square
from aotensor.ops.stable.inverse_hyperbolic import inverse_hyperbolic
from aotensor.ops.stable.logarithms import log1mexp_of_exponential, log_of_one_plus, stable_logarithm
from aotensor.ops.stable.match import FAR, SOURCES, Look, kind_of
from aotensor.ops.stable.products import stable_product
from aotensor.ops.stable.quotients import is_quotient, quotient_form
from aotensor.ops.stable.roots import is_root_quotient, root_form, root_quotient

_OF_SCALARS: Final = frozenset({"cast", "log", "log1mexp", "neg", "softplus", "sub"})
"""Ops for which the pass `stabilize` has rules of logarithms: it sees the same formulas with more context."""


_DIRECT: Final = frozenset({"exp", "logit", "pow", "sqrt"})
"""Roots of formulas that contain no overflowing function."""

_LINEAR: Final = frozenset(
    {"add", "cast", "mul", "neg", "sub", "switch", "true_div"}
    | {AdvancedSubtensor, DimShuffle, Reshape, SpecifyShape, Subtensor, Sum}
)
"""Ops with possibly constant derivatives."""

_one = Elementwise(
    Row(
        "one_like",
        "1, with a derivative of exact zeros",
        np.ones_like,
        lambda s, x: s.constant(1.0, x.dtype),
        (None,),
        notation="ones_like",
    )
)
_linear_view = Elementwise(
    Row(
        "linear_view",
        "x, which took the place of what is not linear: its derivative is 1, but depends on x as that of the other",
        np.array,
        lambda s, x: x,
        (lambda g, x, y: g * _one(x),),
        notation="{0}",
    )
)


_root_of_square = Elementwise(
    Row(
        "root_of_square",
        "√(x²) without overflow; as that it has no derivative at 0",
        np.abs,
        lambda s, x: s.abs(x),
        (lambda g, x, y: g * (x / y),),
        notation="abs",
    )
)


def stable_form(node: Apply, look: Look) -> tuple[Variable, list[Apply]] | None:
    """The stable form of a node's result, with its new nodes; None if it is stable already."""
    rule, y = RULES[kind_of(node)], node.outputs[0]
    with tracing() as made, variables_at(replacement_site(node)):
        found = rule(look, node)
        if found is None or found is y or not dtypes.is_float(y.dtype):
            return None
        found = found if found.dtype == y.dtype else cast(found, y.dtype)
    return (found, _used_nodes(found, made)) if found.broadcastable == y.broadcastable else None


def _used_nodes(x: Variable, made: Sequence[Apply]) -> list[Apply]:
    """The nodes among `made` that x depends on: rules also create unused ones."""
    needed = {x}
    for node in reversed(made):
        if not needed.isdisjoint(node.outputs):
            needed.update(node.inputs)
    return [node for node in made if not needed.isdisjoint(node.outputs)]


def stable_order(outputs: Iterable[Variable], stop: Collection[Variable], kept: Collection[Variable]) -> list[Apply]:
    """The nodes that `outputs` need, each after those it depends on, for sweeps that differentiate them.

    A node with a stable form is there as a copy of that, with the outputs of the node: variables stay what they are,
    and the derivative is that of the stable form. No node before a variable in `stop` is included, and no formula
    reaches over one in `kept`, as its own derivative counts.
    """
    order: list[Apply] = []
    for node, found in _stable_forms(toposort(outputs, stop=stop), Look(kept)):
        if found is None:
            order.append(node)
        else:
            form, made = found
            view = _linear_view if all(kind_of(one) in _LINEAR for one in made) else identity
            order += [*made, _giving(view, form, node.outputs)]
    return order


def _giving(op: Op, x: Variable, outputs: Sequence[Variable]) -> Apply:
    """An alternative computation of `outputs` by `op(x)`: a node for lists of nodes, which does not own its outputs."""
    made = Apply.__new__(Apply)
    made.op, made.inputs, made.outputs = op, (x,), tuple(outputs)
    return made


@graph_pass("stable-forms", topic="arithmetic", reference="decisions/0066-derivatives-are-of-stable-forms.md")
def use_stable_forms(outputs: Sequence[Variable], stop: Collection[Variable]) -> list[Variable]:
    """Replaces formulas that overflow, underflow or cancel by stable functions: `log(sum(exp(x)))` →
    `logsumexp(x)`, `exp(x)/sum(exp(x))` → softmax.
    """
    nodes = toposort(outputs, stop=stop)
    readers = Counter(x for node in nodes for x in set(node.inputs))
    return _rewritten(outputs, nodes, Look(set(stop), is_value=True, readers=readers))


def in_stable_forms(outputs: Sequence[Variable], stop: Collection[Variable]) -> list[Variable]:
    """The graph with all stable forms, also in bodies of loops, as the reference evaluates it."""
    return GraphPass("stable-forms", _all_stable_forms).run(outputs, stop)


def _all_stable_forms(outputs: Sequence[Variable], stop: Collection[Variable]) -> list[Variable]:
    return _rewritten(outputs, toposort(outputs, stop=stop), Look(set(stop)))


def _stable_forms(nodes: Sequence[Apply], look: Look) -> Iterator[tuple[Apply, tuple[Variable, list[Apply]] | None]]:
    """(node, its stable form) in order. Only formulas with functions that overflow or underflow are searched."""
    distance = look.distance
    for node in nodes:
        kind = kind_of(node)
        nearest = min((distance[x] for x in node.inputs if x in distance), default=FAR + 1)
        near = look.at(node) if kind in RULES else look
        is_candidate = kind in RULES and (nearest <= FAR or kind in _DIRECT or _is_local(near, node))
        yield node, stable_form(node, near) if is_candidate else None
        own = 0 if kind in SOURCES else nearest + 1
        if own <= FAR:
            distance.update((y, own) for y in node.outputs)


def _is_local(look: Look, node: Apply) -> bool:
    """May a node have a stable form although no function in the formula overflows?"""
    kind = kind_of(node)
    if kind in ("add", "sub"):
        return is_difference(look, node)
    if kind in ("mul", "true_div") and is_root_quotient(look, node):
        return True
    if kind == "true_div":
        return not look.is_value and is_quotient(look, node.inputs)
    if kind not in ("log", "log1p", "log2", "log10"):
        return False
    return square_in_logarithm(look, node) is not None or _plain_logarithm(look, node.inputs[0]) is not None


def _rewritten(outputs: Sequence[Variable], nodes: Sequence[Apply], look: Look) -> list[Variable]:
    """The graph with stable forms, which are found in the old graph and built on the new one."""
    new: dict[Variable, Variable] = {}
    for node, found in _stable_forms(nodes, look):
        is_used = found is not None and not (look.at(node).is_value and _is_of_scalars(node, found[1]))
        for one in found[1] if found is not None and is_used else [node]:
            _map_outputs(one, new)
        if found is not None and is_used:
            applied("replaced {} by a formula without overflow and cancellation", node.outputs[0])
            new[node.outputs[0]] = new.get(found[0], found[0])
    return [new.get(x, x) for x in outputs]


def _map_outputs(node: Apply, new: dict[Variable, Variable]) -> None:
    """Map the outputs of a node to those of a copy with replaced inputs, if an input was replaced."""
    if new.keys().isdisjoint(node.inputs):
        return
    copies = node.on([new.get(x, x) for x in node.inputs]).outputs
    if copies is not node.outputs:
        for old, copy in zip(node.outputs, copies, strict=True):
            copy.name, copy.origins = old.name, old.origins
            new[old] = copy


def _is_of_scalars(node: Apply, made: Sequence[Apply]) -> bool:
    """Do these nodes form a logarithm that the pass `stabilize` recognises on scalars?"""
    kinds = {kind_of(one) for one in made}
    return kind_of(node) in ("log", "log1p") and kinds <= _OF_SCALARS and not kinds.isdisjoint(_OF_SCALARS - {"neg"})


# --- rules -----------------------------------------------------------------------------------------------------------


def _logarithm(base: float) -> Callable[[Look, Apply], Variable | None]:
    def rule(look: Look, node: Apply) -> Variable | None:
        u = square_in_logarithm(look, node)
        if u is not None:
            return log1p_square()(u) / (1.0 if base == math.e else math.log(base))
        (x,) = node.inputs
        found = stable_logarithm(look, x)
        value = _plain_logarithm(look, x) if found is None else found.value
        return value if base == math.e or value is None else value / math.log(base)

    return rule


def _plain_logarithm(look: Look, x: Variable) -> Variable | None:
    """log x if that is an inverse hyperbolic function, or log(1 ± u), which the pass `stabilize` turns into log1p."""
    found = inverse_hyperbolic(look, x)
    if found is not None or look.is_value:
        return found
    if (u := look.one_plus(x)) is not None:
        return log1p(u) if u.dtype == x.dtype else None
    u = look.one_minus(x)
    return log1p(-u) if u is not None and u.dtype == x.dtype else None


def square_in_logarithm(look: Look, node: Apply) -> Variable | None:
    """u where a node is log1p(u²) or log(1 + u²), u² with a positive number as factor, too."""
    x = node.inputs[0]
    square = x if kind_of(node) == "log1p" else look.one_plus(x)
    return None if square is None else look.scaled_square(square)


def _log1p(look: Look, node: Apply) -> Variable | None:
    u = square_in_logarithm(look, node)
    if u is not None:
        return log1p_square()(u)
    found = log_of_one_plus(look, node.inputs[0])
    return None if found is None else found.value


def _xlogy(look: Look, node: Apply) -> Variable | None:
    """x·log y, and 0 for x = 0 = y."""
    x, y = node.inputs
    found = stable_logarithm(look, y)
    if found is None:
        return None
    return switch(and_(eq(x, 0), eq(found.value, -np.inf)), 0.0, x * found.value)


def _product(look: Look, node: Apply) -> Variable | None:
    found = root_quotient(look, node)
    return stable_product(look, node, _value_of_logarithm) if found is None else found


def _quotient(look: Look, node: Apply) -> Variable | None:
    found = None if look.is_value else quotient_form(look, node)
    return _product(look, node) if found is None else found


def _value_of_logarithm(look: Look, x: Variable) -> Variable | None:
    found = stable_logarithm(look, x)
    return None if found is None else found.value


def _exp(look: Look, node: Apply) -> Variable | None:
    """exp(log x) has the derivative 1 at 0, too; exp(−exp v) has one where eᵛ overflows."""
    opposite = None if look.is_value else look.opposite(node.inputs[0])
    if opposite is not None and (v := look.argument(opposite, "exp")) is not None:
        return gompertz(0)(v)
    x = None if look.is_value else look.argument(node.inputs[0], "log")
    return None if x is None else switch(lt(x, 0), np.nan, x)


def _sqrt(look: Look, node: Apply) -> Variable | None:
    """√(x²) = |x|, and √(1 + x²)"""
    (y,) = node.inputs
    x, made = look.argument(y, "sqr"), look.node(y)
    if x is None and made is not None and kind_of(made) == "mul" and len(made.inputs) == 2:
        x = made.inputs[0] if made.inputs[0] is made.inputs[1] else None
    return _root_of_square(x) if x is not None and dtypes.is_float(x.dtype) else root_form(look, node)


def _logit(look: Look, node: Apply) -> Variable | None:
    return look.argument(node.inputs[0], "sigmoid")


def _arctanh(look: Look, node: Apply) -> Variable | None:
    return look.argument(node.inputs[0], "tanh")


def _log1mexp(look: Look, node: Apply) -> Variable | None:
    return log1mexp_of_exponential(look, node.inputs[0])


def _complement(look: Look, node: Apply) -> Variable | None:
    """1 − erf(x), 1 + erf(x), erf(x) − 1 and 1 − erfc(x); of tanh x, and 1 − tanh² x; those of `differences`"""
    y = node.outputs[0]
    found = _complement_of_tanh(look, y)
    if found is not None:
        return found
    for u, sign in ((look.one_minus(y), 1), (look.one_plus(y), -1)):
        if u is not None and (x := look.argument(u, "erf")) is not None:
            return erfc(x if sign > 0 else -x)
        if u is not None and sign > 0 and (x := look.argument(u, "erfc")) is not None:
            return erf(x)
    pair, is_sum = node.inputs, kind_of(node) == "add"
    for u, one in () if len(pair) != 2 else (pair, pair[::-1]) if is_sum else (pair,):
        if look.number(one) == (-1 if is_sum else 1) and (x := look.argument(u, "erf")) is not None:
            return -erfc(x)
    return difference_form(look, node)


def _complement_of_tanh(look: Look, y: Variable) -> Variable | None:
    """1 ± tanh x = 2·sigmoid(±2x) and 1 − tanh² x = 1/cosh² x"""
    for u, sign in ((look.one_minus(y), -2), (look.one_plus(y), 2)):
        if u is None:
            continue
        if sign < 0 and (v := look.square_base(u)) is not None and (x := look.argument(v, "tanh")) is not None:
            return sech_squared(x)
        is_shared = look.is_value and look.readers.get(u, 0) > 1  # there it would cost an exponential
        if not is_shared and (x := look.argument(u, "tanh")) is not None:
            return 2 * sigmoid(sign * x)
    return None


RULES: Final[Mapping[str | type, Callable[[Look, Apply], Variable | None]]] = {
    "log": _logarithm(math.e),
    "log2": _logarithm(2.0),
    "log10": _logarithm(10.0),
    "log1p": _log1p,
    "xlogy": _xlogy,
    "true_div": _quotient,
    "mul": _product,
    "reciprocal": _product,
    "exp": _exp,
    "sqrt": _sqrt,
    "pow": root_form,
    "logit": _logit,
    "arctanh": _arctanh,
    "log1mexp": _log1mexp,
    "add": _complement,
    "sub": _complement,
}
"""The name of the elementwise op at the root of a formula → its stable form."""
