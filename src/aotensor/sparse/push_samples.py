"""Compute dense matrices only at the entries of a sparse matrix if no other elements are needed.

    sample(z̄ @ yᵀ, A)        →    Σ_k z̄[row p, k]·y[column p, k]      for every entry p of A
    sample(outer(z̄, y), A)   →    z̄[row p]·y[column p]
    sample(f(g, h), A)        →    f(sample(g, A), sample(h, A))        f elementwise
    sample(x + i·y, A)        →    sample(x, A) + i·sample(y, A)
    sample(B + d, A)          →    sample(B, A) + sample(d, A)          B sparse, d dense or sparse

The left sides are what the true gradient of a product becomes where the matrix is made of its data: m·n elements, of
which nnz are read. They are never made.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Final

from aotensor.core import dtypes
from aotensor.core.frozen import frozen_dataclass
from aotensor.graph.variable import Variable
from aotensor.ops.complex.functions import ComplexFunction
from aotensor.ops.complex.parts import FromParts, Part, join_parts, part_of
from aotensor.ops.contract import Contract
from aotensor.ops.create import Alloc, FullLike
from aotensor.ops.elementwise.arithmetic import add, mul, neg
from aotensor.ops.elementwise.base import Elementwise
from aotensor.ops.elementwise.compare import cast
from aotensor.ops.shape.axes import DimShuffle, dimshuffle
from aotensor.ops.shape.extent_checks import fitting
from aotensor.sparse.arithmetic.add import AddSD, AddSS, Neg
from aotensor.sparse.arithmetic.operands import as_canonical
from aotensor.sparse.compressed_axes import at_columns, at_rows, broadcast_to_entries
from aotensor.sparse.convert import DenseFromSparse, StoredEverywhere, Transpose, transposed
from aotensor.sparse.csm import parts_of
from aotensor.sparse.op import Compressed
from aotensor.sparse.operand_checks import as_column, as_row
from aotensor.sparse.product.dots import sum_of_products
from aotensor.sparse.reformat import Cast
from aotensor.sparse.sample import Sample

ROWS, COLUMNS = "sample: rows", "sample: columns"


@frozen_dataclass
class Operand:
    """A matrix g, dense or sparse, to be evaluated at the entries of a sparse matrix, or of its transpose."""

    g: Variable
    is_transposed: bool = False

    def with_operand(self, x: Variable, is_transposed: bool = False) -> Operand:
        """An operand x of the op that computes g, at the same entries; of the transposed matrix if `is_transposed`."""
        return Operand(x, self.is_transposed != is_transposed)


@frozen_dataclass
class Target:
    """The sparse matrix at whose entries values are wanted, as a variable and as vectors."""

    x: Variable
    parts: Compressed
    is_transposed: bool = False

    def sample(self, g: Variable) -> Variable:
        """The matrix g at the entries, gathered from g itself."""
        return _transpose_blocks(Sample()(transposed(g), self.x), True) if self.is_transposed else Sample()(g, self.x)


def _transpose_blocks(values: Variable, is_crossed: bool) -> Variable:
    """Values at the entries of the transpose: blocks are transposed, single entries are unchanged."""
    return dimshuffle(values, [0, 2, 1]) if is_crossed and values.ndim == 3 else values


@frozen_dataclass
class Step:
    """How to compute a matrix at the entries: `value` of the matrices `sources` at the entries."""

    sources: Sequence[Operand]
    value: Callable[..., Variable]


def sample_at(g: Variable, x: Variable, stop: Collection[Variable] = ()) -> Variable:
    """The matrix g at the stored positions of the sparse matrix x, (nnz,), computed from samples of the operands of
    g.

    Walks without recursion. Extents that the steps over a matrix leave unread are checked on what it is made of.
    """
    p = parts_of(x)
    targets = {False: Target(x, p), True: Target(x, p.transposed, is_transposed=True)}
    steps: dict[Operand, Step] = {}
    found: dict[Operand, Variable] = {}
    pending = [Operand(g)]
    while pending:
        operand = pending[-1]
        if operand not in steps:
            steps[operand] = _step(operand, targets[operand.is_transposed], stop)
            pending += [source for source in steps[operand].sources if source not in found]
        else:
            pending.pop()
            if operand not in found:
                sources = steps[operand].sources
                values = (_transpose_blocks(found[one], one.is_transposed != operand.is_transposed) for one in sources)
                found[operand] = steps[operand].value(*values)
    return broadcast_to_entries(p, found[Operand(g)])


def _step(operand: Operand, target: Target, stop: Collection[Variable]) -> Step:
    """The step that computes an operand at the entries from other matrices; a gather from the matrix itself if none
    applies.
    """
    g, p = operand.g, target.parts
    if g.owner is not None and g not in stop:
        xs = g.owner.inputs
        match g.owner.op:
            case Elementwise() as op if op.row.guard is None:
                return _by_operands(operand, xs, p, op)
            case ComplexFunction() as op:
                return _by_operands(operand, xs, p, op)
            case FromParts(count=1):
                return Step(
                    [operand.with_operand(x) for x in xs],
                    lambda re, im: join_parts(broadcast_to_entries(p, re), broadcast_to_entries(p, im)),
                )
            case Part(index=index):
                return Step([operand.with_operand(xs[0])], lambda x: part_of(x, index))
            case Alloc() | FullLike():
                return _by_operands(operand, xs[:1], p, lambda x: x)
            case StoredEverywhere():
                return Step([operand.with_operand(xs[0])], lambda x: x)
            case DenseFromSparse():  # its elements are sums of duplicate entries
                return Step([operand.with_operand(as_canonical(xs[0]))], lambda x: x)
            case DimShuffle(pattern=(1, 0)) if xs[0].ndim == 2:
                return Step([operand.with_operand(xs[0], True)], lambda x: x)
            case Contract() as op if dtypes.is_float(g.dtype) and _is_by_entry(op):
                return _by_product(operand, xs, p, op)
            case _ as op:
                value = _OF_MATRICES.get(type(op))
                if value is not None and all(x.ndim == 2 and not any(x.broadcastable) for x in xs):
                    return Step([operand.with_operand(x, isinstance(op, Transpose)) for x in xs], value)
                if isinstance(op, Cast):
                    return Step([operand.with_operand(xs[0])], lambda x: cast(x, g.dtype))
    return Step([], lambda: target.sample(g))


_OF_MATRICES: Final[dict[type, Callable[..., Variable]]] = {
    AddSS: add,
    AddSD: add,
    Neg: neg,
    Transpose: lambda x: x,
}
"""Ops that are the same entry by entry, whatever is stored: what they are at the entries, of what is there."""


def _by_operands(operand: Operand, xs: Sequence[Variable], p: Compressed, op: Callable[..., Variable]) -> Step:
    """The step of an elementwise op: full matrices are sampled, operands that broadcast are gathered by row or
    column.
    """
    known = [_broadcast_operand(x, operand.g, p) for x in xs]
    full = [operand.with_operand(x) for x, value in zip(xs, known, strict=True) if value is None]

    def value(*values: Variable) -> Variable:
        pending = iter(values)
        return op(*(next(pending) if one is None else one for one in known))

    return Step(full, value)


def _broadcast_operand(x: Variable, g: Variable, p: Compressed) -> Variable | None:
    """An operand that broadcasts to the matrix g, at the entries; a scalar if it is one, None for a full matrix."""
    wide = g.tensor_type.shape[2 - x.ndim :]
    kept = [axis for axis, dim in enumerate(x.tensor_type.shape) if dim != 1 or wide[axis] == 1]
    if len(kept) == 2:
        return None
    vector = dimshuffle(x, kept)
    if not kept:
        return vector
    is_row = kept[0] == x.ndim - 1
    return at_columns(p, as_row(vector, p, COLUMNS)) if is_row else at_rows(p, as_column(vector, p, ROWS))


def _is_by_entry(op: Contract) -> bool:
    """Can the product be computed entry by entry: has each operand at most one axis of the result?"""
    left, right, out = op.parts()
    return len(out) == 2 and all(not set(out) < set(side) for side in (left, right))


def _by_product(operand: Operand, xs: Sequence[Variable], p: Compressed, op: Contract) -> Step:
    """The step of a matrix product: for every entry, a row times a column, summed over the inner axes."""
    left, right, out = op.parts()
    inner = [letter for letter in left if letter not in out]
    sides = list(zip(xs, (left, right), strict=True))

    def at_entries(x: Variable, side: str) -> Variable:
        shown = [letter for letter in side if letter in out]
        moved = dimshuffle(x, [side.index(letter) for letter in (*shown, *inner)])
        if not shown:
            return moved
        if shown[0] == out[0]:
            return at_rows(p, as_column(moved, p, ROWS))
        return at_columns(p, fitting(moved, 0, p.columns, p.dims[1], COLUMNS))

    def value(*values: Variable) -> Variable:
        pending = iter(values)
        first, second = (next(pending) if set(side) == set(out) else at_entries(x, side) for x, side in sides)
        return sum_of_products(first, second, p.data.ndim) if inner else mul(first, second)

    return Step([operand.with_operand(x, side != out) for x, side in sides if set(side) == set(out)], value)
