"""Interpret nests on NumPy arrays, iteration by iteration, in tree order: the reference for schedules.

A value that has not been written is nan, the largest integer or true, so that a statement that runs too early shows.
Vectorization, jamming and parallel execution are ignored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects import scf, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Block, Operation, SSAValue

from aotensor.core.types import Array
from aotensor.errors import InternalError
from aotensor.ir.dialect import ExtractIfOp, ReshapeOp
from aotensor.ir.interpreter.repeat import repeat
from aotensor.ir.interpreter.scalar_values import compute, numpy_dtype, unset
from aotensor.ir.nest.loops import EntriesOp, ForOp, LoopOp
from aotensor.ir.nest.ops import BalanceOp, DoOp, PrefetchOp, ProductOp, ValueOp, YieldOp
from aotensor.ir.nest.syntax import Subscript

Values: TypeAlias = dict[SSAValue, Array]


def run_loop(loop: LoopOp, values: Values) -> None:
    """Run every iteration of a loop in order."""
    low, high, step = _bounds(loop, values)
    for counter in range(low, high, step):
        values[loop.counter] = np.asarray(counter)
        run_block(loop.body.block, values)


def run_block(block: Block, values: Values) -> None:
    """Run the operations of a loop's body."""
    for op in block.ops:
        match op:
            case LoopOp():
                run_loop(op, values)
            case DoOp():
                run_statement(op, values)
            case ValueOp():
                values[op.result] = declared_array(op, values)
            case PrefetchOp():
                pass
            case BalanceOp():
                values[op.result] = np.asarray(_balanced_start(*(values[x] for x in op.operands)))
            case ReshapeOp():
                shape = _shape(op.result, [int(values[n]) for n in op.sizes])
                values[op.result] = values[op.source].reshape(shape)
            case tensor.ExtractOp():
                values[op.result] = _element(values[op.tensor], [int(values[i]) for i in op.indices], op)
            case tensor.DimOp():
                values[op.result] = np.asarray(values[op.source].shape[int(values[op.index])])
            case _:
                values[op.results[0]] = compute(op, [values[x] for x in op.operands])


def declared_array(op: ValueOp, values: Mapping[SSAValue, Array]) -> Array:
    """The array of a declared value: a new one, or the array of the value whose memory it reuses."""
    kind = op.result.type
    assert isinstance(kind, TensorType)
    shape = _shape(op.result, [int(values[n]) for n in op.sizes])
    if op.over is not None:
        return values[op.over].reshape(shape)
    loop = op.parent_op()
    if op.first is not None and isinstance(loop, ForOp) and values[loop.counter] == 0:
        return values[op.first]
    if op.part is not None and op.number is not None:
        found: Array = values[op.part][int(values[op.number])]
    else:
        found = unset(shape, numpy_dtype(kind.element_type))
    if op.folded is not None:
        rows = found.view(_LastRows)
        rows.held = [-1] * shape[0]
        return rows
    if op.init is not None:
        found[...] = values[op.init]
    return found


class _LastRows(np.ndarray[Any, Any]):
    """A buffer for the last rows of a value; held[k] is the number of the row that is stored in row k."""

    held: list[int]


def _wrapped_indices(x: Array, where: Sequence[int], op: Operation, is_write: bool = False) -> Sequence[int]:
    """The indices of an element in its buffer. A buffer of the last rows stores row i at i modulo its extent.

    Raises: InternalError for a read of a row that has been overwritten.
    """
    if not isinstance(x, _LastRows) or where[0] < 0:
        return where
    row = where[0] % len(x.held)
    if is_write and x.held[row] != where[0]:
        x.held[row] = where[0]
        x[row] = unset((), x.dtype)
    if x.held[row] != where[0]:
        raise InternalError(f"interpret: {op.name} at row {where[0]}, which row {x.held[row]} has overwritten")
    return [row, *where[1:]]


def product(op: ProductOp, a: Array, b: Array) -> Array:
    """The product of two matrices, which `nest.product` may transpose."""
    x, y = a.T if op.transpose_a is not None else a, b.T if op.transpose_b is not None else b
    return np.asarray(x @ y)


def run_statement(op: DoOp, values: Values) -> None:
    """Run one iteration of a statement: read, compute, write."""
    arguments, count = op.body.block.args, len(op.inputs)
    inside: Values = {}
    for argument, (x, subscripts) in zip(arguments, op.reads, strict=False):
        inside[argument] = _element(values[x], _where(subscripts, values), op)
    writes = [(x, _where(subscripts, values)) for x, subscripts in op.writes]
    if op.scatter is not None:
        at = int(inside[arguments[op.scatter.value.data]])
        writes = [(x, [at, *where[1:]]) for x, where in writes]
    for argument, (x, where) in zip(arguments[count:], writes, strict=True):
        if isinstance(values[x], _LastRows):  # an element that is not updated
            continue
        inside[argument] = _element(values[x], where, op)

    def value(x: SSAValue) -> Array:
        return inside[x] if x in inside else values[x]

    for inner in op.body.block.ops:
        if isinstance(inner, YieldOp):
            for (x, where), new in zip(writes, inner.values, strict=True):
                values[x][tuple(_wrapped_indices(values[x], where, op, is_write=True))] = value(new)
        elif isinstance(inner, tensor.ExtractOp):
            inside[inner.result] = _element(values[inner.tensor], [int(value(i)) for i in inner.indices], op)
        elif isinstance(inner, ExtractIfOp):
            where = [int(value(i)) for i in inner.indices]
            is_read = bool(value(inner.condition))
            inside[inner.result] = _element(values[inner.tensor], where, op) if is_read else value(inner.otherwise)
        elif isinstance(inner, scf.WhileOp):
            inside.update(zip(inner.results, repeat(inner, [value(x) for x in inner.operands]), strict=True))
        else:
            inside[inner.results[0]] = compute(inner, [value(x) for x in inner.operands])


def _where(subscripts: Sequence[Subscript], values: Mapping[SSAValue, Array]) -> list[int]:
    return [i if isinstance(i, int) else int(values[i]) for i in subscripts]


def _element(x: Array, where: Sequence[int], op: Operation) -> Array:
    where = _wrapped_indices(x, where, op)
    if any(not 0 <= i < n for i, n in zip(where, x.shape, strict=True)):
        raise InternalError(f"interpret: {op.name} at {list(where)} of an array of shape {x.shape}")
    return np.asarray(x[tuple(where)])


def _balanced_start(row: Array, extent: Array, size: Array, group: Array, indptr: Array) -> int:
    """The chunk start that `nest.balance` returns instead of `row`; a row counts as one entry more."""
    weights = indptr[: int(extent) + 1].astype(np.int64) + np.arange(int(extent) + 1)
    mean = int(weights[-1]) / int(extent)
    share = int(row) * mean
    if row == extent or abs(int(weights[int(row)]) - share) <= int(size) * mean / 8:
        return int(row)
    return int(np.searchsorted(weights, share)) // int(group) * int(group)


def _bounds(loop: LoopOp, values: Mapping[SSAValue, Array]) -> tuple[int, int, int]:
    if isinstance(loop, EntriesOp):
        slice, indptr = int(values[loop.slice]), values[loop.indptr]
        return int(indptr[slice]), int(indptr[slice + 1]), 1
    assert isinstance(loop, ForOp)
    low, step = (default if x is None else int(values[x]) for x, default in ((loop.lower, 0), (loop.step, 1)))
    return low, int(values[loop.upper]), step


def _shape(x: SSAValue, sizes: Sequence[int]) -> tuple[int, ...]:
    assert isinstance(x.type, TensorType)
    unknown = iter(sizes)
    return tuple(next(unknown) if n == DYNAMIC_INDEX else n for n in x.type.get_shape())
