"""Find the op that causes a wrong gradient: check every node alone, at its values in the computation."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

import numpy as np

from aotensor.core.dtypes import is_float
from aotensor.errors import AotensorError
from aotensor.graph.op import Apply
from aotensor.graph.subgraph import subgraphs
from aotensor.graph.unify import constant_key
from aotensor.graph.variable import Constant, Variable
from aotensor.graph.walk import evaluate_all, toposort
from aotensor.sampling.dense_view import DenseView, dense_value
from aotensor.verification.derivatives.measure import Point, findings_at
from aotensor.verification.derivatives.program import Derivatives, Reference, Values
from aotensor.verification.derivatives.verdict import CONCLUSIVE, Finding, Verdict


def first_culprit(outputs: Sequence[Variable], wrt: Iterable[Variable], values: Values, seed: int) -> str | None:
    """Describe the first op, from the inputs on, with a wrong derivative: its name, inputs, line and derivatives.

    None if each one alone is right. Ops that change gradients on purpose are skipped.
    """
    moving = set(wrt)
    nodes = toposort(outputs)
    with np.errstate(all="ignore"):
        known = dict(values)
        inner = [x for node in nodes for x in (*node.inputs, *node.outputs) if x not in known]
        known.update(zip(inner, evaluate_all(inner, values), strict=True))
    for node in nodes:
        if not moving.intersection(node.inputs):
            continue
        moving.update(x for x in node.outputs if is_float(x.dtype))
        wrong = _wrong(node, known, moving, seed) if _is_faithful(node) else []
        if wrong:
            return _described(node, wrong)
    return None


def intended_change(output: Variable, wrt: Variable) -> Variable | None:
    """An output of an op on the path from `wrt` to `output` that changes gradients on purpose, or None."""
    moving, known = {wrt}, dict[Hashable, bool]()
    for node in toposort([output]):
        if moving.intersection(node.inputs):
            if not _is_faithful(node, known):
                return node.outputs[0]
            moving.update(node.outputs)
    return None


def _is_faithful(node: Apply, known: dict[Hashable, bool] | None = None) -> bool:
    """Are the derivatives of the node those of its value, also in its bodies and its expansion?

    known: results for equal ops on inputs of equal types, which expansions contain by the thousand
    """
    known = {} if known is None else known
    key = (node.op, *(constant_key(x) if isinstance(x, Constant) else x.tensor_type for x in node.inputs))
    if key not in known:
        inner = [x for _, body in subgraphs(node.op) for x in body.nodes]
        inner += toposort(node.op.expand(node.inputs) or (), stop=node.inputs)
        known[key] = node.op.is_faithful() and all(_is_faithful(x, known) for x in inner)
    return known[key]


def _wrong(node: Apply, known: Values, moving: set[Variable], seed: int) -> list[Finding]:
    """The findings of one node that are wrong, with respect to its varying inputs."""
    inputs = [x if isinstance(x, Constant) else Variable(x.tensor_type, name=str(x)) for x in node.inputs]
    symbols = {str(k): x for k, x in enumerate(inputs) if not isinstance(x, Constant)}
    try:
        copies = node.op.apply(*inputs).outputs
        view = DenseView.from_graph(
            node.op.name, symbols, {str(k): y for k, y in enumerate(copies) if is_float(y.dtype)}
        )
        arrays = view.split({key: known[node.inputs[int(key)]] for key in symbols})
        values = {view.arguments[key]: x for key, x in arrays.items()}
        wrt = {
            key: x for key, x in view.arguments.items() if is_float(x.dtype) and node.inputs[_position(key)] in moving
        }
        reference = Reference(Derivatives(view.results, wrt))
        found = {str(k): dense_value(known[y]) for k, y in enumerate(node.outputs) if is_float(y.dtype)}
        point = Point.at(reference, values, found, seed)
        return [x for x in findings_at(point, reference, reference) if x.verdict is Verdict.WRONG]
    except (AotensorError, NotImplementedError, ValueError):
        return []  # the rule refuses these types or values in isolation: no wrong finding


def _position(key: str) -> int:
    """The position of the node's input to which an argument of its dense view belongs."""
    return int(key.partition("_")[0])


def _described(node: Apply, wrong: Sequence[Finding]) -> str:
    """The description of a wrong node: `pullback of cube(x), made at model.py:12: by x: 3.15, but the function says
    3`
    """
    methods = {x.method for x in wrong}
    rules = [
        rule
        for rule, is_wrong in (("pullback", methods & set(CONCLUSIVE)), ("pushforward", "duality" in methods))
        if is_wrong
    ]
    if rules == ["pullback"]:
        rules = ["pullback", "pushforward"]  # both agree, and differ from the function
    elif len(rules) == 2:
        rules = ["pullback"]  # both differ, and the pullback is known to be wrong
    first = next((x for x in wrong if x.method in CONCLUSIVE), wrong[0])
    site = node.outputs[0].site
    made = f", made at {site}" if site else ""
    x = node.inputs[_position(first.input)]
    names = ", ".join(map(str, node.inputs))
    return f"{' and '.join(rules)} of {node.op}({names}){made}: by {x}: {first.judgement.detail}"
