"""Vectorise a graph over a batch of samples: each node by the batch rule of its op."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from aotensor.core.types import TensorType
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.coercion import coerced
from aotensor.graph.expansion import Expansion, has_sparse, without_sparse
from aotensor.graph.op import Apply, Op
from aotensor.graph.operations import sparse
from aotensor.graph.substitute import listed_variables
from aotensor.graph.variable import Variable
from aotensor.graph.walk import leaves, toposort
from aotensor.graph.walk import replace as replaced


def batch(outputs: Sequence[Variable], batched: Mapping[Variable, Variable]) -> list[Variable]:
    """`outputs` for all samples of a batch: row i has the values for row i of the replacements.

    batched: variable → its samples along one new leading axis, of the same extent for all.
    Outputs that are the same for all samples keep their rank, and their graph is shared. A sparse output
    that differs from sample to sample is dense, as a batch of matrices has three axes: (samples, m, n).

    Raises: GraphValueError for a replacement that does not have one axis more, or where a dim of 1 is lost;
    UnsupportedError for an op without a batch rule, or with a non-differentiable operand that differs between samples.
    """
    for x, samples in batched.items():
        _check(x, samples)
    known = dict(batched)
    if any(has_sparse(node) for node in toposort(outputs, stop=batched)):
        outputs = without_sparse([_dense_if_batched(x, batched) for x in outputs], batched)
    for node in toposort(outputs, stop=batched):
        if any(x in known for x in node.inputs):
            for old, new in zip(node.outputs, _batched(node, known), strict=True):
                known.setdefault(old, new)
    return [known.get(x, x) for x in outputs]


def _dense_if_batched(x: Variable, batched: Mapping[Variable, Variable]) -> Variable:
    """x as a dense tensor if it is sparse and differs by sample, since only dense tensors have an axis of samples."""
    if not x.is_sparse or not any(leaf in batched for leaf in leaves([x], stop=batched)):
        return x
    return sparse.dense_from_sparse(x, structured=False)


@coerced
def vectorize_graph(outputs: Any, replace: Mapping[Variable, Variable]) -> Any:
    """`outputs` with variables replaced by others that have any number of new leading axes; container as outputs.

    The new axes of different replacements align at the right, and have the same extents. Outputs that no
    replacement with a new axis influences keep their rank. Influenced sparse outputs become dense: (…, m, n).

    Raises: GraphValueError for a replacement of lower rank; the errors of `batch`.
    """
    single = isinstance(outputs, Variable)
    for x in [*replace.keys(), *replace.values(), *([outputs] if single else listed_variables(outputs))]:
        if not isinstance(x, Variable):
            raise GraphTypeError(f"vectorize_graph: expected a symbolic variable, found {type(x).__name__} {x!r:.60}")
    results = replaced([outputs] if single else outputs, {x: new for x, new in replace.items() if new.ndim == x.ndim})
    current = {x: x for x, new in replace.items() if new.ndim != x.ndim}
    while current:
        further = {x: _with_one_axis_more(current[x], replace[x]) for x in current}
        results = batch(results, {current[x]: further[x] for x in current})
        current = {x: new for x, new in further.items() if new is not replace[x]}
    return results[0] if single else tuple(results) if isinstance(outputs, tuple) else results


def _with_one_axis_more(x: Variable, last: Variable) -> Variable:
    """`last` if its rank exceeds the rank of x by at most 1; else a symbol with one more axis, for the next round."""
    if last.ndim <= x.ndim + 1:
        return last
    return Variable(TensorType(last.dtype, last.tensor_type.shape[last.ndim - x.ndim - 1 :]))


def _batched(node: Apply, known: Mapping[Variable, Variable]) -> Sequence[Variable]:
    """The outputs of one node for replaced inputs."""
    inputs = [known.get(x, x) for x in node.inputs]
    is_batched = [new.ndim > old.ndim for new, old in zip(inputs, node.inputs, strict=True)]
    if not any(is_batched):
        return node.op.apply(*inputs).outputs
    if type(node.op).batch is Op.batch:
        single = [old if on else new for new, old, on in zip(inputs, node.inputs, is_batched, strict=True)]
        graph = Expansion.for_op(node.op, single)
        if graph is not None:
            return batch_through(graph, inputs, is_batched)
    return node.op.batch(node, inputs, is_batched)


def batch_through(graph: Expansion, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> list[Variable]:
    """The outputs of a node for all samples, by the batch rules of the ops in its expansion.   Raises: as `batch`."""
    triples = list(zip(graph.slots, inputs, is_batched, strict=True))
    alone = replaced(graph.outputs, {slot: x for slot, x, on in triples if not on})
    return batch(alone, {slot: x for slot, x, on in triples if on})


def _check(x: Variable, samples: Variable) -> None:
    lines = [x.describe(), samples.describe()]
    if samples.ndim != x.ndim + 1:
        raise GraphValueError(f"the samples of {x} have {samples.ndim - x.ndim} new axes instead of one", lines=lines)
    if any(one and not other for one, other in zip(x.broadcastable, samples.broadcastable[1:], strict=True)):
        raise GraphValueError(f"the samples of {x} must keep its extent of 1, along which it broadcasts", lines=lines)
