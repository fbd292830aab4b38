"""Loops and branches of tensor IR on NumPy arrays: each step is one run of the body."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, SymbolRefAttr, TensorType
from xdsl.ir import Attribute, Operation

from aotensor.core.types import Array
from aotensor.errors import InternalError
from aotensor.ir.dialect_control import BranchOp, ScanOp
from aotensor.ir.interpreter.scalar_values import numpy_dtype, unset

Run: TypeAlias = Callable[[func.FuncOp, Sequence[Array]], list[Array]]
"""Executes a function on the values of its arguments."""


def branch(op: BranchOp, operands: Sequence[Array], run: Run) -> list[Array]:
    """The results of the branch that the condition selects."""
    condition, *rest = operands
    return run(_called(op, op.then if condition else op.otherwise), rest[: len(op.captured)])


def scan(op: ScanOp, operands: Sequence[Array], run: Run) -> list[Array]:
    """The results of a loop; rows after the last executed step are nan, or the largest integer."""
    if op.cut is None:
        return _steps(op, operands, run)
    return _chunks(op, operands, run) if op.initial else _steps(op, operands[:-1], run)


def _chunks(op: ScanOp, operands: Sequence[Array], run: Run) -> list[Array]:
    """The results of a loop that runs all steps for one chunk of rows, then for the next chunk."""
    assert op.cut is not None
    *values, size = operands
    flags, first, last = op.cut.get_values(), 1 + len(op.sequences), 1 + len(op.sequences) + len(op.initial)
    axes = [1 if flag else None for flag in flags[: len(op.sequences)]]
    axes += [1] * len(op.initial) + [0 if flag else None for flag in flags[len(op.sequences) :]]
    count = values[first].shape[1]
    found: list[list[Array]] = []
    for start in range(0, max(count, 1), int(size)):
        rows = range(start, min(start + int(size), count))
        some = [x if axis is None else np.take(x, rows, axis) for x, axis in zip(values[1:], axes, strict=False)]
        found.append(_steps(op, [values[0], *some, *values[last + len(op.constants) :]], run, len(rows)))
    return [np.concatenate(parts, int(kept)) for parts, kept in zip(zip(*found, strict=True), _kept(op), strict=True)]


def _steps(op: ScanOp, operands: Sequence[Array], run: Run, rows: int | None = None) -> list[Array]:
    """Run all steps of a loop. rows: number of rows of the states, None for all rows."""
    body, n = _called(op, op.body), int(operands[0])
    first, last = 1 + len(op.sequences), 1 + len(op.sequences) + len(op.initial)
    sequences, initial = operands[1:first], operands[first:last]
    constants = operands[last : last + len(op.constants)]
    sizes = [int(m) for m in operands[last + len(op.constants) :]]
    results = _unset(op, sizes)
    if rows is not None:
        results = [x[:, :rows] if kept else x[:rows] for x, kept in zip(results, _kept(op), strict=True)]
    histories = [list(x) for x in initial]
    taken = 0
    for t in range(n):
        row = n - 1 - t if op.reversed is not None else t
        taps = [np.asarray(h[lag]) for h, lags in zip(histories, op.lags, strict=True) for lag in lags]
        made = run(body, [*(np.asarray(x[row]) for x in sequences), *taps, *constants])
        taken += 1
        for k, value in enumerate(made[: len(results)]):
            if k < len(histories):
                histories[k].append(value)
            if k >= len(histories) or op.stacked.get_values()[k]:
                results[k][row] = value
        if op.conditional is not None and made[-1]:
            break
    for k, history in enumerate(histories):
        if not op.stacked.get_values()[k]:
            results[k] = np.asarray(history[-1])
    return [*results, *([np.asarray(taken)] if op.conditional is not None else [])]


def _kept(op: ScanOp) -> list[bool]:
    """For each result of a loop, does it have a row per step?"""
    return [*map(bool, op.stacked.get_values()), *[True] * (len(op.outputs) - len(op.initial))]


def _unset(op: ScanOp, sizes: list[int]) -> list[Array]:
    """The uninitialized results of a loop before its first step, without the number of steps."""
    rest = iter(sizes)
    count = len(op.outputs) - (op.conditional is not None)
    return [_filled(x.type, rest) for x in op.outputs[:count]]


def _filled(kind: Attribute, sizes: Iterator[int]) -> Array:
    element = kind.element_type if isinstance(kind, TensorType) else kind
    shape = kind.get_shape() if isinstance(kind, TensorType) else ()
    return unset([next(sizes) if n == DYNAMIC_INDEX else n for n in shape], numpy_dtype(element))


def _called(op: Operation, symbol: SymbolRefAttr) -> func.FuncOp:
    """The function of the module that a symbol names."""
    module = op
    while not isinstance(module, ModuleOp):
        parent = module.parent_op()
        assert parent is not None
        module = parent
    for function in module.body.block.ops:
        if isinstance(function, func.FuncOp) and function.sym_name.data == symbol.string_value():
            return function
    raise InternalError(f"interpret: the module has no function {symbol}")
