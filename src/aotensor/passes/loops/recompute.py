"""Reads by entry are made again for each reader, where keeping them would take memory.

e = expand_slices(D)    e feeds two loops     →     each loop reads D[i, k] itself, and no row of e is kept

e = expand_slices(D)   e feeds two loops    →    each loop reads D[i, k] itself, and no row of e is kept
"""

from __future__ import annotations

from xdsl.dialects import arith, func, tensor
from xdsl.dialects.builtin import TensorType
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Operation

from aotensor.ir.dialect_sparse import ExpandSlicesOp

_PLAIN = (tensor.ExtractOp, linalg.IndexOp, linalg.YieldOp, arith.IndexCastOp, arith.ExtSIOp, arith.ConstantOp)


def recompute_reads(function: func.FuncOp) -> None:
    """Give each reader of copied rows a copy of its own."""
    for op in list(function.body.block.ops):
        if not _is_read(op):
            continue
        (result,) = op.results
        users = list(dict.fromkeys(use.operation for use in result.uses))
        if any(user.parent is not function.body.block or isinstance(user, func.ReturnOp) for user in users):
            continue
        for user in users[1:]:
            copy = op.clone()
            function.body.block.insert_op_before(copy, user)
            for position, operand in enumerate(user.operands):
                if operand is result:
                    user.operands[position] = copy.results[0]


def _is_read(op: Operation) -> bool:
    """Does an operation copy rows for entries, and nothing else?"""
    if isinstance(op, ExpandSlicesOp):
        return len(op.result.type.get_shape()) > 1
    if not isinstance(op, linalg.GenericOp) or len(op.results) != 1:
        return False
    kind, body = op.results[0].type, list(op.body.block.ops)
    is_matrix = isinstance(kind, TensorType) and len(kind.get_shape()) > 1
    return is_matrix and any(isinstance(x, tensor.ExtractOp) for x in body) and all(isinstance(x, _PLAIN) for x in body)
