"""Interpret an scf.while of scalars on NumPy arrays: every element has its own number of iterations.

values = all the elements, flattened
while some are active:  active elements are replaced by the results of one step
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects import scf
from xdsl.ir import Block, SSAValue

from aotensor.core.types import Array
from aotensor.ir.interpreter.scalar_values import compute


def repeat(op: scf.WhileOp, operands: Sequence[Array]) -> list[Array]:
    """The results of a loop, elementwise over the broadcast operands.

    Raises: InternalError for an operation without a rule.
    """
    shape = np.broadcast_shapes(*(x.shape for x in operands))
    values = [np.array(np.broadcast_to(x, shape)).ravel() for x in operands]
    results = [np.empty(values[0].size, x.dtype) for x in values]
    active = np.arange(values[0].size)
    while active.size:
        goes_on, *handed = _run(op.before_region.block, [x[active] for x in values])
        for result, x in zip(results, handed, strict=True):
            result[active] = x
        going = np.broadcast_to(goes_on, active.shape)
        made = _run(op.after_region.block, [np.broadcast_to(x, active.shape)[going] for x in handed])
        active = active[going]
        for value, x in zip(values, made, strict=True):
            value[active] = x
    return [x.reshape(shape) for x in results]


def _run(block: Block, arguments: Sequence[Array]) -> list[Array]:
    """Execute a block of scalar operations; return the operands of its terminator."""
    known: dict[SSAValue, Array] = dict(zip(block.args, arguments, strict=True))
    for op in block.ops:
        operands = [known[x] for x in op.operands]
        match op:
            case scf.ConditionOp() | scf.YieldOp():
                return operands
            case scf.WhileOp():
                known.update(zip(op.results, repeat(op, operands), strict=True))
            case _:
                known[op.results[0]] = compute(op, operands)
    raise AssertionError("a block without a terminator")
