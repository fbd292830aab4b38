"""Edits of nests as people get them wrong: each gives another module, which may or may not compute the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import TypeVar

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from aotensor.ir.context import functions_of
from aotensor.ir.nest.loops import ForOp, LoopOp
from aotensor.ir.nest.ops import DoOp, ValueOp

_T = TypeVar("_T")

KINDS = ("swap", "drop", "bound", "subscript", "constant", "move", "hoist")


def mutated(module: ModuleOp, random: Random, kind: str) -> ModuleOp | None:
    """A copy of a module with one edit of a kind; None where there is nothing to edit so."""
    copy = module.clone()
    function = functions_of(copy)[0]
    return copy if globals()[f"_{kind}"](function, random) else None


def _blocks(function: func.FuncOp) -> Iterator[Block]:
    yield function.body.block
    for op in function.walk():
        if isinstance(op, LoopOp):
            yield op.body.block


def _chosen(found: Sequence[_T], random: Random) -> _T | None:
    return random.choice(found) if found else None


def _swap(function: func.FuncOp, random: Random) -> bool:
    """Two neighbours, at least one of which is a statement or a loop, change places."""
    pairs = [
        (op, op.next_op) for block in _blocks(function) for op in block.ops
        if op.next_op is not None and not isinstance(op.next_op, func.ReturnOp)
        and (isinstance(op, DoOp | LoopOp) or isinstance(op.next_op, DoOp | LoopOp))
    ]  # fmt: skip
    pair = _chosen(pairs, random)
    if pair is None:
        return False
    first, second = pair
    block = first.parent
    assert block is not None
    block.detach_op(first)
    block.insert_ops_after([first], second)
    return True


def _drop(function: func.FuncOp, random: Random) -> bool:
    op = _chosen([op for op in function.walk() if isinstance(op, DoOp | LoopOp)], random)
    if op is None:
        return False
    assert op.parent is not None
    op.parent.detach_op(op)
    op.erase()
    return True


def _indices(function: func.FuncOp, op: Operation) -> list[SSAValue]:
    """Index values that an operation may use."""
    found: list[SSAValue] = []
    at: Operation | None = op
    while at is not None and at is not function:
        block = at.parent
        assert block is not None
        found += [x for x in block.args if isinstance(x.type, IndexType)]
        before = block.first_op
        while before is not None and before is not at:
            found += [x for x in before.results if isinstance(x.type, IndexType)]
            before = before.next_op
        at = at.parent_op()
    return found


def _replaced(function: func.FuncOp, op: Operation, numbers: list[int], random: Random) -> bool:
    number = _chosen(numbers, random)
    if number is None:
        return False
    others = [x for x in _indices(function, op) if x is not op.operands[number]]
    other = _chosen(others, random)
    if other is None:
        return False
    op.operands[number] = other
    return True


def _bound(function: func.FuncOp, random: Random) -> bool:
    loop = _chosen([op for op in function.walk() if isinstance(op, ForOp)], random)
    return loop is not None and _replaced(function, loop, list(range(len(loop.operands))), random)


def _subscript(function: func.FuncOp, random: Random) -> bool:
    op = _chosen([op for op in function.walk() if isinstance(op, DoOp) and op.subscripts], random)
    if op is None:
        return False
    first = len(op.operands) - len(op.subscripts)
    return _replaced(function, op, list(range(first, len(op.operands))), random)


def _constant(function: func.FuncOp, random: Random) -> bool:
    """Some size of a block, or a literal."""
    constants = [op for op in function.walk() if isinstance(op, arith.ConstantOp)]
    found = [op for op in constants if isinstance(op.value, IntegerAttr) and isinstance(op.result.type, IndexType)]
    op = _chosen(found, random)
    if op is None:
        return False
    assert isinstance(op.value, IntegerAttr)
    value = op.value.value.data
    op.properties["value"] = IntegerAttr(random.choice([value + 1, value * 2, max(value - 1, 0), 3]), IndexType())
    return True


def _move(function: func.FuncOp, random: Random) -> bool:
    """A statement or loop to another place in the same block."""
    op = _chosen([op for op in function.walk() if isinstance(op, DoOp | LoopOp)], random)
    if op is None:
        return False
    block = op.parent
    assert block is not None
    others = [x for x in block.ops if x is not op and not isinstance(x, func.ReturnOp)]
    other = _chosen(others, random)
    if other is None:
        return False
    block.detach_op(op)
    block.insert_ops_before([op], other)
    return True


def _hoist(function: func.FuncOp, random: Random) -> bool:
    """A statement, a loop or a declaration in front of the loop around it, or behind."""
    found = [
        op for op in function.walk()
        if isinstance(op, DoOp | LoopOp | ValueOp) and isinstance(op.parent_op(), LoopOp)
    ]  # fmt: skip
    op = _chosen(found, random)
    if op is None:
        return False
    loop = op.parent_op()
    assert loop is not None and op.parent is not None and loop.parent is not None
    op.parent.detach_op(op)
    if random.random() < 0.7 or not isinstance(op, DoOp | LoopOp):
        loop.parent.insert_ops_before([op], loop)
    else:
        loop.parent.insert_ops_after([op], loop)
    return True
