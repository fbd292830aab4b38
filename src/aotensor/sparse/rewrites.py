"""Simplify sparse programs before their ops expand, while matrices are still visible.

sample(z̄ @ yᵀ, A)        →    rows times columns      sampled: only what is read, see push_samples
dense(A) @ d              →    dot(A, d)               products_of_sparse: also of transposes, scaled and negated
dense(sparse(d))          →    d                       dense_again
hstack(A, B) @ d          →    A @ d₁ + B @ d₂           stacked_products: also of vstack, transposes, sums
Bᵀ @ d                    →    (dᵀ @ B)ᵀ               of_transposed: B bsr, whose blocks stay where they are
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Final, TypeAlias

import numpy as np

from aotensor.core import dtypes
from aotensor.graph.op import Apply
from aotensor.graph.passes.remarks import applied
from aotensor.graph.site import replacement_site, variables_at
from aotensor.graph.variable import Variable
from aotensor.graph.walk import toposort
from aotensor.ops.contract import Contract
from aotensor.ops.elementwise.arithmetic import add, mul
from aotensor.ops.shape.axes import DimShuffle
from aotensor.sparse.arithmetic.add import AddSS, Neg
from aotensor.sparse.arithmetic.multiply import MulSD
from aotensor.sparse.arithmetic.sums import SpSum
from aotensor.sparse.checks import agreeing
from aotensor.sparse.convert import DenseFromSparse, SparseFromDense, StoredEverywhere, Transpose, transpose
from aotensor.sparse.csm import like, matrix_extent, parts_of
from aotensor.sparse.duplicate_entries import entries_of
from aotensor.sparse.op import as_sparse, is_blocked
from aotensor.sparse.product.dots import Dot, StructuredDot, any_product, transposed_matrix
from aotensor.sparse.push_samples import sample_at
from aotensor.sparse.reformat import Cast
from aotensor.sparse.sample import Sample
from aotensor.sparse.stacked_products import products_of_blocks, sums_of_blocks

Rule: TypeAlias = Callable[[Apply, Sequence[Variable], Collection[Variable]], Variable | None]
"""(node, its inputs as rewritten, where to stop) → what replaces its one output, None to leave it."""


def rewrite_sparse(outputs: Sequence[Variable], stop: Collection[Variable]) -> list[Variable]:
    """`outputs` with every rule applied where it holds, inputs first."""
    known: dict[Variable, Variable] = {}
    for node in toposort(outputs, stop=stop):
        inputs = [known.get(x, x) for x in node.inputs]
        with variables_at(replacement_site(node)):
            made = _rewritten(node, inputs, stop)
        known.update((old, new) for old, new in zip(node.outputs, made, strict=True) if old not in stop)
    return [known.get(x, x) for x in outputs]


def _rewritten(node: Apply, inputs: Sequence[Variable], stop: Collection[Variable]) -> Sequence[Variable]:
    for rule in RULES.get(type(node.op), ()):
        found = rule(node, inputs, stop)
        if found is not None:
            applied(WORDS[rule], node)
            return [found]
    is_same = all(new is old for new, old in zip(inputs, node.inputs, strict=True))
    return node.outputs if is_same else node.op.apply(*inputs).outputs


def samples(node: Apply, inputs: Sequence[Variable], stop: Collection[Variable]) -> Variable | None:
    """Replace the samples of a dense matrix at the entries of a sparse one by computations at these entries."""
    g, x = inputs
    own = entries_of(g, x) if g not in stop else None
    return sample_at(g, x, stop) if own is None else own


def scaled_entries(node: Apply, inputs: Sequence[Variable], stop: Collection[Variable]) -> Variable | None:
    """Replace a sparse matrix times a full dense one, elementwise: the dense one is computed at the entries only."""
    x, d = inputs
    if d.ndim != 2 or any(d.broadcastable) or d.owner is None or d in stop:
        return None
    return like(x, mul(parts_of(x).data, sample_at(d, x, stop)))


def dense_again(node: Apply, inputs: Sequence[Variable], stop: Collection[Variable]) -> Variable | None:
    """Replace a dense matrix that was converted to sparse and back by the original."""
    made = _producer_of(inputs[0], SparseFromDense, stop) or _producer_of(inputs[0], StoredEverywhere, stop)
    return made.inputs[0] if made is not None else None


def sum_of_sum(node: Apply, inputs: Sequence[Variable], stop: Collection[Variable]) -> Variable | None:
    """Replace the sum of elements of A + B, two matrices of one dtype, by the sum of both sums."""
    made = _producer_of(inputs[0], AddSS, stop)
    if made is None or made.inputs[0].dtype != made.inputs[1].dtype:
        return None
    terms = [node.op(x) for x in made.inputs]
    for axis in (0, 1) if node.op.axis is None else (node.op.axis,):  # type: ignore[attr-defined]
        dims = [x.tensor_type.shape[axis] for x in made.inputs]
        extents = [matrix_extent(as_sparse(x), axis) for x in made.inputs]
        terms[0] = agreeing(terms[0], dims, extents, f"{made.op.name}: extents along axis {axis}")
    return add(*terms)


def cancel_pairs(node: Apply, inputs: Sequence[Variable], stop: Collection[Variable]) -> Variable | None:
    """Remove pairs of ops that cancel: two transposes, two negations, a cast after a lossless cast."""
    made = _producer_of(inputs[0], type(node.op), stop)
    if made is None:
        return None
    (x,) = made.inputs
    if not isinstance(node.op, Cast):
        return x
    if not np.can_cast(x.dtype, inputs[0].dtype):
        return None
    return x if x.dtype == node.op.dtype else node.op(x)


def scaled_once(node: Apply, inputs: Sequence[Variable], stop: Collection[Variable]) -> Variable | None:
    """Replace two successive scalings of a matrix by one with the product of the numbers; floats of one dtype."""
    made = _producer_of(inputs[0], MulSD, stop)
    if made is None:
        return None
    numbers = made.inputs[1], inputs[1]
    x = made.inputs[0]
    if any(s.ndim or s.dtype != x.dtype for s in numbers) or not dtypes.is_float(x.dtype):
        return None
    return node.op(x, mul(*numbers))  # type: ignore[no-any-return]


def _producer_of(x: Variable, op: type, stop: Collection[Variable]) -> Apply | None:
    """The node that computes x, if it is of class `op` and x is not in `stop`; else None."""
    is_known = x.owner is not None and x not in stop and type(x.owner.op) is op
    return x.owner if is_known else None


def products_of_sparse(node: Apply, inputs: Sequence[Variable], stop: Collection[Variable]) -> Variable | None:
    """Replace a product with a densified sparse operand by a sparse product.

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
    first = first if left[-1] == inner[0] else transposed_matrix(first)
    second = second if right[0] == inner[0] else transposed_matrix(second)
    found = any_product(first, second)
    is_transposed = len(out) == 2 and out[0] not in left
    return transposed_matrix(found) if is_transposed else found


def move_transpose(node: Apply, inputs: Sequence[Variable], stop: Collection[Variable]) -> Variable | None:
    """Replace a product with the transpose of a bsr matrix by a transposed product with the matrix itself."""
    x, y = inputs
    for one, other, is_left in ((x, y, True), (y, x, False)):
        made = _producer_of(one, Transpose, stop)
        if made is not None and is_blocked(one) and not other.is_sparse:
            (source,) = made.inputs
            return transposed_matrix(
                node.op(transposed_matrix(other), source) if is_left else node.op(source, transposed_matrix(other))
            )
    return None


def sparse_origin(x: Variable, stop: Collection[Variable]) -> Variable | None:
    """The sparse matrix from which x was converted to dense, up to transposes; else None."""
    is_transposed = False
    while x.owner is not None and x not in stop:
        match x.owner.op:
            case DenseFromSparse():
                (found,) = x.owner.inputs
                return transpose(found) if is_transposed else found
            case DimShuffle(pattern=(1, 0)):
                is_transposed = not is_transposed
                (x,) = x.owner.inputs
            case _:
                return None
    return None


RULES: Final[dict[type, tuple[Rule, ...]]] = {
    Sample: (samples,),
    Contract: (products_of_sparse,),
    Dot: (move_transpose, products_of_blocks),
    StructuredDot: (move_transpose, products_of_blocks),
    MulSD: (scaled_once, scaled_entries),
    DenseFromSparse: (dense_again,),
    SpSum: (sum_of_sum, sums_of_blocks),
    Transpose: (cancel_pairs,),
    Neg: (cancel_pairs,),
    Cast: (cancel_pairs,),
}
"""By the class of the op, in the order in which they are tried."""

WORDS: Final[dict[Rule, str]] = {
    samples: "computed {} at stored entries only",
    products_of_sparse: "{} multiplies the sparse matrix: the dense copy is not made",
    scaled_once: "{} scales once, by the product of two scalars",
    scaled_entries: "{} reads the dense factor at stored entries only",
    dense_again: "replaced {} by the dense matrix that it was converted from",
    sum_of_sum: "{} adds two sums, without the union of the patterns",
    products_of_blocks: "{} reads the blocks of a stack, without the stack",
    sums_of_blocks: "{} adds the blocks of a stack, without the stack",
    move_transpose: "{} reads the block matrix without transposing it",
    cancel_pairs: "removed {}: it is the inverse of its operand's operation",
}
"""What is said where a rule holds."""
