"""Value numbering: merge loops that compute the same, since several ops share subexpressions once they are loops.

    %m = linalg.generic ins(%x) { maximum }          %m = linalg.generic ins(%x) { maximum }
    …                                          →     …
    %n = linalg.generic ins(%x) { maximum }          every reader of %n reads %m

An operation has the number of an earlier one of the same name, with the same attributes, operands of the same numbers,
and the same body. Fills stay separate, since their tensors are written to. Checks of a condition that was checked
before are removed, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from xdsl.dialects import tensor
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from aotensor.ir.context import functions_of
from aotensor.ir.dialect import CheckOp, ReshapeOp
from aotensor.passes.keys import parts_of
from aotensor.passes.registry import ir_pass
from aotensor.passes.remarks import applied

Key: TypeAlias = tuple[object, ...]

_LIKE_NUMBERS = (tensor.DimOp, tensor.ExtractOp, tensor.EmptyOp, tensor.SplatOp, ReshapeOp, linalg.GenericOp)


@ir_pass("value-numbering", level="tensor", topic="arithmetic")
def value_numbering(module: ModuleOp) -> None:
    """Global value numbering of loops, and removal of redundant checks."""
    for function in functions_of(module):
        ops = list(function.body.block.ops)
        if sum(map(_is_shared, ops)) > 1 or sum(isinstance(op, CheckOp) for op in ops) > 1:
            _number(function.body.block)


def _number(block: Block) -> None:
    known: dict[Key, Operation] = {}
    same: dict[SSAValue, SSAValue] = {}
    checked: dict[SSAValue, CheckOp] = {}
    for op in list(block.ops):
        if isinstance(op, CheckOp):
            earlier = checked.setdefault(same.get(op.condition, op.condition), op)
            if earlier is not op:
                applied("removed the redundant check {}: same as {}", op, earlier)
                Rewriter.erase_op(op)
            continue
        if not isinstance(op, _LIKE_NUMBERS) and not op.name.startswith(("arith.", "math.")):
            continue
        first = known.setdefault(_key(op, same), op)
        if first is op:
            continue
        if _is_shared(op):
            applied("reused {}: same value as {}", op, first, size=op.results)
            Rewriter.replace_op(op, [], first.results)
        else:
            same.update(zip(op.results, first.results, strict=True))


def _is_shared(op: Operation) -> bool:
    """Can equal copies of an operation be merged: is it a generic with inputs, rather than a fill?"""
    return isinstance(op, linalg.GenericOp) and bool(op.inputs)


def _key(op: Operation, same: Mapping[SSAValue, SSAValue]) -> Key:
    """A key that is equal for operations with equal results."""
    return op.name, tuple(parts_of(op, {}, same)), tuple(x.type for x in op.results)
