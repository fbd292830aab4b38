"""Sparse programs made smaller, before their ops expand: what is easier seen on matrices than on vectors.

sample(z̄ @ yᵀ, A)        →    rows times columns      sampled: only what is read, see push_samples
dense(A) @ d              →    dot(A, d)               products_of_sparse: also of transposes, scaled and negated
dense(sparse(d))          →    d                       dense_again
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Final, TypeAlias

from aotensor.graph.op import Apply
from aotensor.graph.variable import Variable, made_at
from aotensor.graph.walk import toposort
from aotensor.ops.contract import Contract
from aotensor.ops.shape.axes import DimShuffle
from aotensor.sparse.convert import DenseFromSparse, SparseFromDense, transpose
from aotensor.sparse.products import any_product, turned
from aotensor.sparse.push_samples import sampled
from aotensor.sparse.sample import Sample

Rule: TypeAlias = Callable[[Apply, Sequence[Variable], Collection[Variable]], Variable | None]
"""(node, its inputs as rewritten, where to stop) → what takes the place of its one output, None to leave it."""


def rewrite_sparse(outputs: Sequence[Variable], stop: Collection[Variable]) -> list[Variable]:
    """`outputs` with every rule applied where it holds, inputs first."""
    known: dict[Variable, Variable] = {}
    for node in toposort(outputs, stop=stop):
        inputs = [known.get(x, x) for x in node.inputs]
        with made_at(node.outputs[0].site):
            made = _rewritten(node, inputs, stop)
        known.update((old, new) for old, new in zip(node.outputs, made, strict=True) if old not in stop)
    return [known.get(x, x) for x in outputs]


def _rewritten(node: Apply, inputs: Sequence[Variable], stop: Collection[Variable]) -> Sequence[Variable]:
    for rule in RULES.get(type(node.op), ()):
        found = rule(node, inputs, stop)
        if found is not None:
            return [found]
    is_same = all(new is old for new, old in zip(inputs, node.inputs, strict=True))
    return node.outputs if is_same else node.op.apply(*inputs).outputs


def samples(node: Apply, inputs: Sequence[Variable], stop: Collection[Variable]) -> Variable | None:
    """A dense matrix at the entries of a sparse one → what it is made of there."""
    g, x = inputs
    return None if g.is_sparse else sampled(g, x, stop)


def products_of_sparse(node: Apply, inputs: Sequence[Variable], stop: Collection[Variable]) -> Variable | None:
    """A product of matrices and vectors of which one is dense only because it was made so → a product of the sparse.

    What is not stored counts as 0 also where the other factor is infinite or nan.
    """
    left, right, out = node.op.parts()  # type: ignore[attr-defined]
    x, y = (sparse_origin(one, stop) for one in inputs)
    inner = [letter for letter in left if letter in right and letter not in out]
    if (
        (x is None and y is None)
        or len(inner) != 1
        or {len(left), len(right)} - {1, 2}
        or len(out) != len(left + right) - 2
    ):
        return None
    first, second = (known if known is not None else one for known, one in zip((x, y), inputs, strict=True))
    first = first if left[-1] == inner[0] else turned(first)
    second = second if right[0] == inner[0] else turned(second)
    found = any_product(first, second)
    is_turned = len(out) == 2 and out[0] not in left
    return turned(found) if is_turned else found


def sparse_origin(x: Variable, stop: Collection[Variable]) -> Variable | None:
    """The sparse matrix that x is the dense form of, up to transposes, if it is one."""
    is_turned = False
    while x.owner is not None and x not in stop:
        match x.owner.op:
            case DenseFromSparse():
                (found,) = x.owner.inputs
                return transpose(found) if is_turned else found
            case DimShuffle(pattern=(1, 0)):
                is_turned = not is_turned
                (x,) = x.owner.inputs
            case _:
                return None
    return None


def dense_again(node: Apply, inputs: Sequence[Variable], stop: Collection[Variable]) -> Variable | None:
    """The dense form of what is not 0 in a dense matrix → that matrix."""
    (x,) = inputs
    is_made = x.owner is not None and x not in stop and isinstance(x.owner.op, SparseFromDense)
    return x.owner.inputs[0] if x.owner is not None and is_made else None


RULES: Final[dict[type, tuple[Rule, ...]]] = {
    Sample: (samples,),
    Contract: (products_of_sparse,),
    DenseFromSparse: (dense_again,),
}
"""By the class of the op, in the order in which they are tried."""
