"""Match sums of products of tensors across generics, through linear operations.

%t = linalg.generic {(n,i,j)} ins(%p, %q) { %a · %b }
%s = linalg.generic {(n,i,j) -> (n,j)} ins(%t) { %out + %in }       →      Σ_n Σ_i p[n, i]·q[i, j]
%r = linalg.generic {(n,j) -> (j)} ins(%s) { %out + %in }
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from xdsl.dialects import arith
from xdsl.dialects.builtin import Float32Type, Float64Type, FloatAttr, TensorType
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.dialects.utils.fast_math import FastMathFlag
from xdsl.ir import Attribute, BlockArgument, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap

from aotensor.passes.windows.inline_slices import fill_of

Scale: TypeAlias = "SSAValue | None"
"""A scalar factor from outside, None for a change of sign."""

_REAL: Final = (Float32Type, Float64Type)
_LINEAR: Final = (arith.MulfOp, arith.NegfOp, arith.ExtFOp, arith.TruncFOp)
"""Operations that are linear in each factor of a term."""


@dataclass(frozen=True)
class Term:
    """The body of a generic whose result is one product.

    factors: numbers of the inputs that it multiplies. scales: its other factors. sum: the reassociable addition that
    accumulates the product from 0; None for a generic that stores the product.
    """

    factors: tuple[int, ...]
    scales: tuple[Scale, ...]
    sum: arith.AddfOp | None


@dataclass(frozen=True, eq=False)
class Factor:
    """A tensor factor of a product, with the number of the index for each of its axes."""

    tensor: SSAValue
    axes: tuple[int, ...]

    @property
    def element(self) -> Attribute:
        assert isinstance(self.tensor.type, TensorType)
        kind: Attribute = self.tensor.type.element_type
        return kind

    @property
    def shape(self) -> tuple[int, ...]:
        assert isinstance(self.tensor.type, TensorType)
        return self.tensor.type.get_shape()


@dataclass(frozen=True, eq=False)
class SumOfProducts:
    """Σ a·b over some indices, as computed by several generics.

    chain: the generics, from the last sum to the product. inputs: numbers of the product's inputs that are its factors.
    result: the indices of the result, which are the dims of the last sum. summed: the indices that are summed over.
    """

    chain: tuple[linalg.GenericOp, ...]
    scales: tuple[Scale, ...]
    last: arith.AddfOp
    factors: tuple[Factor, Factor]
    inputs: tuple[int, ...]
    result: tuple[int, ...]
    summed: frozenset[int]


def sum_of_products(root: linalg.GenericOp) -> SumOfProducts | None:
    """Match a generic that computes a sum of products of two tensors, through linear operations; else None."""
    term, result = _term(root), dims_of(root.indexing_maps.data[-1].data)
    if term is None or term.sum is None or result is None:
        return None
    op, last, count = root, term.sum, len(root.iterator_types)
    axes, chain, scales = list(range(count)), [root], list(term.scales)
    summed = _reduced(root, axes)
    while len(term.factors) == 1:
        read = _factor(op, term.factors[0], axes)
        if read is None or not read.tensor.has_one_use() or not isinstance(read.tensor.owner, linalg.GenericOp):
            return None
        op = read.tensor.owner
        next_term, written = _term(op), dims_of(op.indexing_maps.data[-1].data)
        if next_term is None or written is None:
            return None
        term, known = next_term, dict(zip(written, read.axes, strict=True))
        axes = []
        for dim in range(len(op.iterator_types)):
            axes.append(known.get(dim, count))
            count += dim not in known
        summed |= _reduced(op, axes)
        chain.append(op)
        scales += term.scales
    factors = [_factor(op, number, axes) for number in term.factors]
    if len(factors) != 2 or not all(_fits(other, last.result.type) for other in chain):
        return None
    one, two = factors
    if one is None or two is None or not (summed | {*result}) <= {*one.axes, *two.axes}:
        return None  # along an axis without a factor, it is broadcast
    return SumOfProducts(tuple(chain), tuple(scales), last, (one, two), term.factors, result, frozenset(summed))


def _term(op: linalg.GenericOp) -> Term | None:
    """Match a body that is a product of inputs, each used once, accumulated from 0 in a reduction; else None."""
    if len(op.results) != 1 or not all(isinstance(x.type, _REAL) for x in op.body.block.args):
        return None
    *ops, end = op.body.block.ops
    *arguments, held = op.body.block.args
    value, added = end.operands[0], None
    if _reduced(op, range(len(op.iterator_types))):
        if (
            not isinstance(value.owner, arith.AddfOp)
            or not _starts_at_zero(op)
            or not _is_only_added_to(value.owner, held)
        ):
            return None
        added = value.owner
        ops.remove(added)
        value = added.rhs if added.lhs is held else added.lhs
    elif held.uses:
        return None
    local = {*arguments, *(x for inner in ops for x in inner.results)}
    pending, factors, scales = [value], list[int](), list[Scale]()
    while pending:  # from the product to its operands
        x = pending.pop()
        if x not in local or x.uses.get_length() != 1:
            return None
        if isinstance(x, BlockArgument):
            factors.append(x.index)
            continue
        inner = x.owner
        if not isinstance(inner, _LINEAR) or not isinstance(inner.results[0].type, _REAL):
            return None
        inside = [y for y in inner.operands if y in local]
        if isinstance(inner, arith.NegfOp):
            scales.append(None)
        scales += [y for y in inner.operands if y not in local]
        pending += inside
    return Term(tuple(factors), tuple(scales), added) if factors else None


def _is_only_added_to(op: arith.AddfOp, held: SSAValue) -> bool:
    """Is the accumulator used only by this addition, which may be reassociated?"""
    return held in op.operands and held.uses.get_length() == 1 and FastMathFlag.REASSOC in op.fastmath.data


def _starts_at_zero(op: linalg.GenericOp) -> bool:
    number = fill_of(op.outputs[0])
    source = None if number is None else number.owner
    return isinstance(source, arith.ConstantOp) and isinstance(source.value, FloatAttr) and not source.value.value.data


def _reduced(op: linalg.GenericOp, axes: Sequence[int]) -> set[int]:
    """The numbers of the indices that a generic sums over. axes: the index number of each of its dims."""
    kinds = zip(axes, op.iterator_types, strict=True)
    return {axis for axis, kind in kinds if kind.data == IteratorType.REDUCTION}


def dims_of(map: AffineMap) -> tuple[int, ...] | None:
    """The dims that index a tensor, if they are all different, else None."""
    found = tuple(e.position for e in map.results if isinstance(e, AffineDimExpr))
    return found if len(set(found)) == len(map.results) else None


def _factor(op: linalg.GenericOp, number: int, axes: Sequence[int]) -> Factor | None:
    """Input `number` of a generic as a factor; None if a dim indexes two of its axes.

    axes: the index number of each dim.
    """
    dims = dims_of(op.indexing_maps.data[number].data)
    return None if dims is None else Factor(op.inputs[number], tuple(axes[dim] for dim in dims))


def _fits(op: linalg.GenericOp, kind: Attribute) -> bool:
    """Are all types in a generic's body real, and no wider than `kind`?"""
    assert isinstance(kind, _REAL)
    return all(isinstance(x.type, _REAL) and x.type.bitwidth <= kind.bitwidth for x in op.body.block.args)
