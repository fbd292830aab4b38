"""Interpret linalg.generic on NumPy arrays: evaluate all points of its iteration space at once.

operands           indexed through their maps, so that each has one axis per dim or broadcasts along it
body               scalar operations on whole arrays; linalg.index is a grid, tensor.extract an index by arrays
y = y + f(x)       the ufunc's `reduce` over the reduced dims of f(x)
any other body     one step after the other along the reduced dims, each step on arrays over the parallel ones
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from xdsl.dialects import arith, scf, tensor
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.dialects.linalg.ops import GenericOp, IndexOp, YieldOp
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineMap

from aotensor.core.types import Array
from aotensor.errors import InternalError
from aotensor.ir.dialect import ExtractIfOp
from aotensor.ir.interpreter.repeat import repeat
from aotensor.ir.interpreter.scalar_values import compute

Values: TypeAlias = Mapping[SSAValue, Array]


def evaluate_generic(op: GenericOp, values: Values) -> list[Array]:
    """The results of a generic, given every value that it uses.

    Raises: InternalError if operands disagree about an extent, or an element is out of bounds.
    """
    extents = _extents(op, values)
    rank = len(extents)
    grids = [np.arange(n).reshape([n if d == axis else 1 for d in range(rank)]) for axis, n in enumerate(extents)]
    reduced = [d for d, kind in enumerate(op.iterator_types) if kind.data == IteratorType.REDUCTION]
    if not reduced:
        starts = _starts(op, grids, values)
        return [_scattered(op, number, grids, y, values) for number, y in enumerate(_body(op, grids, starts, values))]
    combined = [_combination(op, number) for number in range(len(op.results))]
    recognised = [c for c in combined if c is not None]
    if len(recognised) == len(combined):
        return _reduce(op, grids, reduced, recognised, values)
    return _walk(op, grids, reduced, values)


def gather(x: Array, indices: Sequence[Array], shape: Sequence[int]) -> Array:
    """x[indices] at every point of `shape`; the indices are broadcast to this shape.

    Raises: InternalError for an index out of bounds.
    """
    if 0 in shape:
        return np.empty(tuple(shape), x.dtype)
    for index, extent in zip(indices, x.shape, strict=True):
        if index.size and not (index.min() >= 0 and index.max() < extent):
            raise InternalError(f"interpret: indices {index.min()} to {index.max()} on an axis of {extent}")
    return x[tuple(indices)]


def gather_if(condition: Array, x: Array, *rest: Array, shape: Sequence[int]) -> Array:
    """x[indices] where the condition holds, otherwise the default. rest: the indices, then the default.

    Raises: InternalError for an index out of bounds where the condition holds.
    """
    *indices, otherwise = (np.broadcast_to(y, tuple(shape)) for y in rest)
    is_read = np.broadcast_to(condition, tuple(shape))
    result = otherwise.copy()
    result[is_read] = gather(x, [i[is_read] for i in indices], (int(is_read.sum()),))
    return result


# --- iteration space -----------------------------------------------------------------------------------------------


def _extents(op: GenericOp, values: Values) -> list[int]:
    found: dict[int, int] = {}
    for x, map in zip(op.operands, op.indexing_maps, strict=True):
        for extent, expression in zip(values[x].shape, map.data.results, strict=True):
            if isinstance(expression, AffineDimExpr) and found.setdefault(expression.position, extent) != extent:
                raise InternalError(f"interpret: dim {expression} is {found[expression.position]} and {extent}")
    rank = len(op.iterator_types)
    if len(found) != rank:
        raise InternalError(f"interpret: the operands of a linalg.generic index dims {sorted(found)} of {rank}")
    return [found[d] for d in range(rank)]


def _indices(map: AffineMap, counters: Sequence[Array]) -> list[Array]:
    """The indices into an operand with this indexing map, for the given loop counters."""
    indices: list[Array] = []
    for expression in map.results:
        if isinstance(expression, AffineDimExpr):
            indices.append(counters[expression.position])
        elif isinstance(expression, AffineConstantExpr):
            indices.append(np.asarray(expression.value))
        else:
            raise InternalError(f"interpret: {expression} is neither a dim nor a constant")
    return indices


def _shape_of(counters: Sequence[Array]) -> tuple[int, ...]:
    return np.broadcast_shapes(*(c.shape for c in counters))


def _output_map(op: GenericOp, number: int) -> AffineMap:
    map: AffineMap = op.indexing_maps.data[len(op.inputs) + number].data
    return map


def _starts(op: GenericOp, counters: Sequence[Array], values: Values) -> dict[SSAValue, Array]:
    """The initial values of the body's accumulators, at every point."""
    shape = _shape_of(counters)
    return {
        argument: gather(values[x], _indices(_output_map(op, number), counters), shape)
        for number, (argument, x) in enumerate(zip(op.body.block.args[len(op.inputs) :], op.outputs, strict=True))
    }


def _scattered(op: GenericOp, number: int, counters: Sequence[Array], y: Array, values: Values) -> Array:
    """The output with y stored at the points of the iteration space."""
    result = values[op.outputs[number]].copy()
    indices = _indices(_output_map(op, number), counters)
    y = np.broadcast_to(y, _shape_of(counters))
    result[tuple(indices)] = y.reshape(np.broadcast_shapes(*(i.shape for i in indices)))
    return result


# --- bodies --------------------------------------------------------------------------------------------------------


def _body(
    op: GenericOp, counters: Sequence[Array], accumulators: Mapping[SSAValue, Array], values: Values
) -> list[Array]:
    """The values that the body yields at every point, for given values of its accumulators."""
    known = _known(op, counters, accumulators, values)
    terminator = op.body.block.last_op
    assert terminator is not None
    return [known[x] if x in known else values[x] for x in terminator.operands]


def _known(
    op: GenericOp, counters: Sequence[Array], accumulators: Mapping[SSAValue, Array], values: Values
) -> dict[SSAValue, Array]:
    """Every value of the body at every point, except values that depend on an accumulator that is not given."""
    block, shape = op.body.block, _shape_of(counters)
    known = dict(accumulators)
    for argument, x, map in zip(block.args, op.inputs, op.indexing_maps, strict=False):
        known[argument] = gather(values[x], _indices(map.data, counters), shape)
    unknown = set(block.args) - set(known)
    for inner in block.ops:
        if any(x in unknown for x in inner.operands):
            unknown.update(inner.results)
        elif isinstance(inner, IndexOp):
            known[inner.result] = counters[inner.dim.value.data]
        elif not isinstance(inner, YieldOp):
            operands = [known[x] if x in known else values[x] for x in inner.operands]
            if isinstance(inner, tensor.ExtractOp):
                known[inner.result] = gather(operands[0], operands[1:], shape)
            elif isinstance(inner, ExtractIfOp):
                known[inner.result] = gather_if(*operands, shape=shape)
            elif isinstance(inner, scf.WhileOp):
                known.update(zip(inner.results, repeat(inner, operands), strict=True))
            else:
                known[inner.results[0]] = compute(inner, operands)
    return known


# --- reductions ----------------------------------------------------------------------------------------------------

_COMBINING: Final[dict[type[Operation], np.ufunc]] = {
    arith.AddfOp: np.add, arith.AddiOp: np.add, arith.MulfOp: np.multiply, arith.MuliOp: np.multiply,
    arith.MaximumfOp: np.maximum, arith.MinimumfOp: np.minimum,
    arith.MaxSIOp: np.maximum, arith.MinSIOp: np.minimum, arith.MaxUIOp: np.maximum, arith.MinUIOp: np.minimum,
    arith.AndIOp: np.bitwise_and, arith.OrIOp: np.bitwise_or, arith.XOrIOp: np.bitwise_xor,
}  # fmt: skip


@dataclass(frozen=True)
class _Combination:
    """An accumulation: accumulator = rule(accumulator, term)."""

    rule: np.ufunc
    term: SSAValue
    is_unsigned: bool


def _combination(op: GenericOp, number: int) -> _Combination | None:
    """Match the accumulation of result `number` by a single combining operation; None if it is different."""
    block = op.body.block
    accumulator = block.args[len(op.inputs) + number]
    assert block.last_op is not None
    last = block.last_op.operands[number].owner
    if not isinstance(last, Operation) or type(last) not in _COMBINING or not accumulator.has_one_use():
        return None
    if accumulator not in last.operands or last.results[0].uses.get_length() != 1:
        return None
    term = next(x for x in last.operands if x is not accumulator)
    return _Combination(_COMBINING[type(last)], term, isinstance(last, arith.MaxUIOp | arith.MinUIOp))


def _reduce(
    op: GenericOp,
    counters: Sequence[Array],
    reduced: Sequence[int],
    combinations: Sequence[_Combination],
    values: Values,
) -> list[Array]:
    known, shape = _known(op, counters, {}, values), _shape_of(counters)
    first = _at_step(counters, reduced, [0] * len(reduced))
    starts = list(_starts(op, first, values).values())
    results: list[Array] = []
    for number, (found, start) in enumerate(zip(combinations, starts, strict=True)):
        term = np.broadcast_to(known[found.term] if found.term in known else values[found.term], shape)
        if term.size:
            kind = np.dtype(f"u{term.itemsize}") if found.is_unsigned and term.dtype != np.bool_ else term.dtype
            total = found.rule.reduce(term.view(kind), axis=tuple(reduced), dtype=kind, keepdims=True)
            start = np.asarray(found.rule(start.view(kind), total)).view(term.dtype)
        results.append(_scattered(op, number, first, start, values))
    return results


def _walk(op: GenericOp, counters: Sequence[Array], reduced: Sequence[int], values: Values) -> list[Array]:
    accumulators = _starts(op, _at_step(counters, reduced, [0] * len(reduced)), values)
    for step in np.ndindex(*(counters[d].size for d in reduced)):
        yielded = _body(op, _at_step(counters, reduced, step), accumulators, values)
        accumulators = dict(zip(accumulators, yielded, strict=True))
    first = _at_step(counters, reduced, [0] * len(reduced))
    return [_scattered(op, number, first, y, values) for number, y in enumerate(accumulators.values())]


def _at_step(counters: Sequence[Array], reduced: Sequence[int], step: Sequence[int]) -> list[Array]:
    """Loop counters for one point of the reduced dims: a single number for each of them, unchanged for other dims."""
    here: dict[int, Any] = dict(zip(reduced, step, strict=True))
    return [np.full((1,) * c.ndim, here[d]) if d in here else c for d, c in enumerate(counters)]
