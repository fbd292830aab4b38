"""Rematerialize copies of rows for each reader, if keeping them would need memory.

    for i, p of i: e[p,k] = D[i,k]                      for i, p of i: e[p,k] = D[i,k]
    for i, p of i: … e[p,k] …                   →       for i, p of i: … e[p,k] …
    for i, p of i: … e[p,k] …                           for i, p of i: f[p,k] = D[i,k]
                                                        for i, p of i: … f[p,k] …

A statement that copies rows for the entries of a matrix costs no more than reading its source; each reader then has the
copy in registers. The statement must write all of the value: a stack whose rows several statements write stays in
memory.
"""

from __future__ import annotations

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Block, Operation, SSAValue

from aotensor.ir.context import functions_of
from aotensor.ir.nest.loops import EntriesOp, LoopOp
from aotensor.ir.nest.ops import DoOp, ValueOp, YieldOp
from aotensor.ir.nest.tree import gathers, perfect_nest, sole_writer
from aotensor.passes.registry import ir_pass
from aotensor.passes.remarks import applied, missed

_COPYING = (tensor.ExtractOp, YieldOp, arith.IndexCastOp, arith.ExtSIOp, arith.ConstantOp)


@ir_pass("rematerialize", level="nest", topic="loops")
def rematerialize(module: ModuleOp) -> None:
    """Recomputes rows that are copied for each stored entry in each of their readers."""
    for function in functions_of(module):
        nests = {statement: op for op in function.body.block.ops if (statement := _statement(op)) is not None}
        for statement, root in nests.items():
            if _copies_rows(statement, root):
                _copy_for_each(statement, root)


def _statement(op: Operation) -> DoOp | None:
    inner = perfect_nest(op)[1] if isinstance(op, LoopOp) else None
    return inner if isinstance(inner, DoOp) else None


def _copies_rows(statement: DoOp, root: Operation) -> bool:
    """Does a nest do nothing but copy rows of a matrix for each entry of a sparse one?"""
    if len(statement.outputs) != 1 or sole_writer(statement.outputs[0]) is not statement:
        return False
    kind = statement.outputs[0].type
    is_matrix = isinstance(kind, TensorType) and len(kind.get_shape()) > 1
    is_read = bool(gathers(statement)) or any(isinstance(loop, EntriesOp) for loop in perfect_nest(root)[0])
    return is_matrix and is_read and all(isinstance(op, _COPYING) for op in statement.body.block.ops)


def _copy_for_each(statement: DoOp, root: Operation) -> None:
    (value,) = statement.outputs
    assert isinstance(value.owner, ValueOp)
    users = [op for op in dict.fromkeys(use.operation for use in value.uses) if op is not statement]
    if not all(isinstance(op, DoOp) and value not in gathers(op) for op in users):
        hint = "let only elementwise operations read it: no sort, factorisation or gather"
        missed(
            "{} not rematerialized: a reader needs more of it than one entry at a time",
            statement,
            size=[value],
            hint=hint,
        )
        return
    if len(users) > 1:
        applied("rematerialized {} in each of {} readers", statement, len(users), size=[value])
    block = root.parent
    assert block is not None
    for user in users[1:]:
        assert isinstance(user, DoOp)
        declaration = value.owner.clone()
        copy = root.clone({value: declaration.result})
        block.insert_ops_before([declaration, copy], _within(block, user))
        _read_from(user, value, declaration.result)


def _within(block: Block, statement: DoOp) -> Operation:
    """The operation of `block` that contains a statement: its outermost loop there, or the statement itself."""
    place: Operation | None = statement
    while place is not None and place.parent is not block:
        place = place.parent_op()
    assert place is not None
    return place


def _read_from(user: DoOp, old: SSAValue, new: SSAValue) -> None:
    reads = [(new if x is old else x, subscripts) for x, subscripts in user.reads]
    user.set_accesses(reads, user.writes)
