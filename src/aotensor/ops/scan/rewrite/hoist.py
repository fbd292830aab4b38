"""Hoist computations that do not depend on the states out of a loop.

    scan(h ↦ tanh(f(W)·h + x_t·U), x, h0, W, U)     →     scan(h ↦ tanh(v·h + y_t), y = x·U, h0, v = f(W))

Loop-invariant values are computed before the loop; values that depend on rows of sequences alone are computed for all
rows at once where that makes one large product of many small ones.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from aotensor.core.types import TensorType
from aotensor.errors import UnsupportedError
from aotensor.graph.op import Apply
from aotensor.graph.subgraph import subgraphs
from aotensor.graph.variable import Constant, Variable
from aotensor.graph.vectorize import batch
from aotensor.graph.walk import replace, toposort
from aotensor.ops.contract import Contract
from aotensor.ops.create import Alloc, FullLike
from aotensor.ops.diagonal import Band
from aotensor.ops.elementwise.base import Elementwise
from aotensor.ops.scan.extents import spans
from aotensor.ops.scan.rewrite.draft import Draft
from aotensor.ops.scan.rewrite.product import as_products
from aotensor.ops.scan.rewrite.sums import accumulators, is_product, product_node
from aotensor.ops.scan.rows import FirstRows
from aotensor.ops.scan.sides import must_stay
from aotensor.ops.shape.extents import Shape, ShapeI

_REMATERIALIZED: Final = (Alloc, Band, FullLike, Shape, ShapeI)
"""Ops whose results are cheaper to recompute than to load."""


def hoist(draft: Draft) -> None:
    """Hoist loop-invariant values, then values that depend on rows of sequences only."""
    fixed = _fixed_parts(draft)
    outside = dict(zip(draft.slots.constants, draft.given.constants, strict=True))
    _replace_in_body(draft, dict(zip(fixed, replace(fixed, outside), strict=True)))
    if draft.made.last is None and not draft.op.is_frugal:  # a loop that may stop early may not read all rows
        rows = _row_parts(draft)
        _replace_in_body(draft, dict(zip(rows, for_all_rows(draft, rows, {}, draft.given.n_steps), strict=True)))


def _replace_in_body(draft: Draft, values: Mapping[Variable, Variable]) -> None:
    """Replace values of the body by outer ones: per row, or loop-invariant."""
    if values:
        slots = {x: draft.row(y) if y.ndim > x.ndim else draft.constant(y) for x, y in values.items()}
        draft.made = draft.results_like(replace(draft.made.flat(), slots))


def for_all_rows(
    draft: Draft, parts: Sequence[Variable], more: Mapping[Variable, Variable], steps: Variable
) -> list[Variable]:
    """Compute values of the body that do not depend on its states for all rows at once, outside of the loop.

    more: values of the body → (steps, …) variables with their rows, from which others are computed.
    """
    if not parts:
        return []
    wholes = {slot: read_rows(x, steps) for slot, x in zip(draft.slots.sequences, draft.given.sequences, strict=True)}
    wholes.update(more)
    symbols = {x: Variable(TensorType(whole.dtype, whole.tensor_type.shape)) for x, whole in wholes.items()}
    whole_parts = batch(parts, symbols)
    fixed = dict(zip(draft.slots.constants, draft.given.constants, strict=True))
    outside = replace(whole_parts, {**fixed, **{symbols[x]: whole for x, whole in wholes.items()}})
    return as_products(outside, [*fixed.values(), *wholes.values()])


def read_rows(x: Variable, steps: Variable) -> Variable:
    """The rows of the sequence x that a loop with `steps` steps reads: x[:steps]."""
    return x if spans(steps, x) else FirstRows()(x, steps)


def body_nodes(draft: Draft) -> list[Apply]:
    """The nodes of the body in the order in which they are computed."""
    return toposort(draft.made.flat(), stop=draft.slots.flat())


def depends_only_on(nodes: Sequence[Apply], sources: Collection[Variable]) -> set[Variable]:
    """The sources, and the values computed from them and constants."""
    found = set(sources)
    for node in nodes:
        if all(x in found or isinstance(x, Constant) for x in node.inputs):
            found.update(node.outputs)
    return found


def _fixed_parts(draft: Draft) -> list[Variable]:
    """The largest loop-invariant values that are worth hoisting."""
    nodes = body_nodes(draft)
    slots = set(draft.slots.constants)
    fixed = depends_only_on(nodes, slots)
    wanted = set(draft.made.flat()) | {x for node in nodes if node.outputs[0] not in fixed for x in node.inputs}
    real, sided = _dependents(nodes, slots), must_stay(nodes, draft.made.flat())
    parts: list[Variable] = []
    for node in reversed(nodes):
        if node.outputs[0] not in fixed or not any(x in wanted for x in node.outputs):
            continue
        if isinstance(node.op, _REMATERIALIZED) or node.outputs[0] not in real or node.outputs[0] in sided:
            wanted.update(node.inputs)
        else:
            parts += [x for x in node.outputs if x in wanted]
    return parts[::-1]


def _dependents(nodes: Sequence[Apply], sources: Collection[Variable]) -> set[Variable]:
    found = set(sources)
    for node in nodes:
        if any(x in found for x in node.inputs):
            found.update(node.outputs)
    return found - set(sources)


def _row_parts(draft: Draft) -> list[Variable]:
    """The values to compute for all rows at once: products of rows, and mapped values that do not depend on states."""
    nodes = body_nodes(draft)
    pushable = _pushable(draft, nodes)
    summed = {product_node(x) for terms in accumulators(draft, nodes).values() for x in terms if is_product(x)}
    pushed: set[Variable] = set()
    for node in nodes:
        if node.outputs[0] not in pushable or node in summed:
            continue
        is_follower = isinstance(node.op, Elementwise) and any(x in pushed for x in node.inputs)
        if isinstance(node.op, Contract) or is_follower:
            pushed.update(node.outputs)
    inside = [node for node in nodes if node.outputs[0] not in pushed]
    read = {x for node in inside for x in node.inputs} | set(draft.made.states)
    parts = [x for node in nodes for x in node.outputs if x in pushed and x in read]
    mapped = [x for x in draft.made.mapped if x in pushable and x not in draft.slots.sequences]
    return list(dict.fromkeys([*parts, *mapped]))


def _pushable(draft: Draft, nodes: Sequence[Apply]) -> set[Variable]:
    """Values that depend on rows and invariants only, along paths on which no value has a higher rank than any row."""
    rows = depends_only_on(nodes, [*draft.slots.sequences, *draft.slots.constants])
    real = _dependents(nodes, draft.slots.sequences) & rows
    found, limit = set(draft.slots.sequences), highest_rank(draft)
    sided = must_stay(nodes, draft.made.flat())
    for node in nodes:
        if not sided.isdisjoint((*node.inputs, *node.outputs)):
            continue
        moving = [x for x in node.inputs if x in real or x in draft.slots.sequences]
        if node.outputs[0] in real and all(x in found for x in moving) and can_be_batched(node, moving, limit):
            found.update(node.outputs)
    return found


def highest_rank(draft: Draft) -> int:
    """The largest rank among the rows of the loop: no value of a higher rank is stored for all steps."""
    stacked = [x for x, on in zip(draft.made.states, draft.is_stacked, strict=True) if on]
    return max((x.ndim for x in [*draft.slots.sequences, *draft.made.mapped, *stacked]), default=0)


def can_be_batched(node: Apply, moving: Sequence[Variable], limit: int) -> bool:
    """Is there a batch rule for a node with these batched inputs, and is its result not too large?"""
    if subgraphs(node.op) or any(out.ndim > limit for out in node.outputs):
        return False
    symbols = [Variable(TensorType(x.dtype, (None, *x.tensor_type.shape))) if x in moving else x for x in node.inputs]
    try:
        node.op.batch(node, symbols, [x in moving for x in node.inputs])
    except UnsupportedError:
        return False
    return True
