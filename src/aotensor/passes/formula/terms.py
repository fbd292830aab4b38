"""Scalar expressions across the bodies of several elementwise operations.

    %e = generic ins(%x) { exp }                 from the body that reads %e:
    %r = generic ins(%e) { 1 + … }                   log(1 + exp(x)), with x read through the maps of both
    %y = generic ins(%r) { log }

A reader looks through its inputs into the bodies of their producers. Terms found there can be used in its own body: a
tensor becomes an input of the reader, operations in between are copied once. The producers are not changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from xdsl.dialects import arith, func, tensor
from xdsl.dialects.builtin import AffineMapAttr, FloatAttr, IntegerAttr, TensorType
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.dialects.linalg.ops import GenericOp, IndexOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, Region, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineMap
from xdsl.rewriter import Rewriter
from xdsl.traits import is_side_effect_free

from aotensor.ir.types import index, is_half_type
from aotensor.passes.dead_code import erase_dead

OpType = TypeVar("OpType", bound=Operation)


@dataclass(frozen=True, slots=True)
class Term:
    """A scalar that a reader depends on.

    value: a scalar of the body of `scope`, or of the function if scope is None; or a tensor that is read at `map`.
    map: dims of the reader → dims of `scope`, or indices of the tensor.
    """

    value: SSAValue
    scope: GenericOp | None = None
    map: AffineMap | None = None

    def made_by(self, kind: type[OpType]) -> OpType | None:
        """The operation that computes the term's value, if it is of this kind, else None."""
        return self.value.owner if isinstance(self.value.owner, kind) else None


class Reader:
    """The body of one generic, or the scalars of a function, with the values that they depend on.

    reads: the inputs of the generic with their maps; `materialise` appends inputs, `finish` makes all of them operands.
    """

    def __init__(self, op: GenericOp | None) -> None:
        self.op = op
        self.reads: list[tuple[SSAValue, AffineMap]] = _reads(op) if op is not None else []
        self._copies: dict[Term, SSAValue] = {}

    def term(self, value: SSAValue) -> Term:
        """The term that stands for a value of the reader's body."""
        if self.op is None:
            return Term(value)
        return self._resolve(value, self.op, AffineMap.identity(len(self.op.iterator_types)))

    def operands(self, term: Term) -> list[Term]:
        """The operands of the operation that computes a term; empty for a block argument."""
        owner = term.value.owner
        if not isinstance(owner, Operation):
            return []
        return [self._resolve(x, term.scope, term.map) for x in owner.operands]

    def summand(self, term: Term) -> Term | None:
        """For a term that reads a sum starting from 0: the summand as a term for inspection only; else None."""
        owner = term.value.owner
        if not isinstance(owner, GenericOp) or not isinstance(term.value.type, TensorType):
            return None
        assert isinstance(term.value, OpResult)
        start, block = owner.outputs[term.value.index].owner, owner.body.block
        accumulator = block.args[len(owner.inputs) + term.value.index]
        assert block.last_op is not None
        total = block.last_op.operands[term.value.index].owner
        if not isinstance(total, arith.AddfOp) or not isinstance(start, tensor.SplatOp):
            return None
        if constant_of(Term(start.input), self) != 0 or accumulator not in total.operands:
            return None
        other = total.rhs if total.lhs is accumulator else total.lhs
        return self._resolve(other, owner, AffineMap.identity(len(owner.iterator_types)))

    def is_only_reader(self, value: SSAValue) -> bool:
        """True if a value is used by this reader only."""
        if isinstance(value, BlockArgument) and self.op is not None and value.block is self.op.body.block:
            return value.has_one_use() and self.reads[value.index][0].has_one_use()
        return value.has_one_use()

    def _resolve(self, value: SSAValue, scope: GenericOp | None, map: AffineMap | None) -> Term:
        """Look through block arguments: a read of an elementwise result resolves to the value that its body yields."""
        while True:
            if scope is None or not _is_local(value, scope.body.block):
                return Term(value)
            if not isinstance(value, BlockArgument):
                return Term(value, scope, map)
            reads = self.reads if scope is self.op else _reads(scope)
            if value.index >= len(reads):  # an accumulator
                return Term(value, scope, map)
            assert map is not None
            source, own = reads[value.index]
            map = own.compose(map)
            if isinstance(source.owner, tensor.SplatOp):
                return Term(source.owner.input)
            if not is_elementwise(source.owner):
                return Term(source, None, map)
            assert isinstance(source.owner, GenericOp) and isinstance(source, OpResult)
            scope = source.owner
            terminator = scope.body.block.last_op
            assert terminator is not None
            value = terminator.operands[source.index]

    # --- use -----------------------------------------------------------------------------------------------------

    def materialise(self, term: Term, before: Operation) -> SSAValue:
        """Return the term as a value that can be used before `before`, an operation of the reader."""
        if isinstance(term.value.type, TensorType):
            return self._read(term)
        if term.scope is None or term.scope is self.op:
            return term.value
        if (whole := _stored(term)) is not None:
            return self._read(whole)
        if term in self._copies:  # copied before an earlier operation
            return self._copies[term]
        owner, block = term.value.owner, before.parent
        assert isinstance(owner, Operation) and block is not None
        if isinstance(owner, IndexOp):
            copy = _counter(term, owner)
            copy.location = before.location
        else:
            captured = {x for x in owner.operands if isinstance(x.type, TensorType)}
            scalars = [x for x in owner.operands if x not in captured]
            resolved = {x: self._resolve(x, term.scope, term.map) for x in scalars}
            copy = owner.clone({x: self.materialise(t, before) for x, t in resolved.items()})
        block.insert_op_before(copy, before)
        self._copies[term] = copy.results[0]
        return copy.results[0]

    def _read(self, term: Term) -> SSAValue:
        assert self.op is not None and term.map is not None and isinstance(term.value.type, TensorType)
        block = self.op.body.block
        for number, (source, map) in enumerate(self.reads):
            if source is term.value and map == term.map:
                return block.args[number]
        self.reads.append((term.value, term.map))
        return block.insert_arg(term.value.type.element_type, len(self.reads) - 1)

    def finish(self) -> None:
        """Erase dead operations of the body, and rebuild the generic with its current inputs."""
        if self.op is None:
            return
        op, block = self.op, self.op.body.block
        erase_dead(block, has_no_effect)
        outputs = [m.data for m in op.indexing_maps.data[len(op.inputs) :]]
        for number in reversed(range(len(self.reads))):
            others = [m for _, m in self.reads[:number] + self.reads[number + 1 :]]
            if not block.args[number].uses and _covers([*others, *outputs], len(op.iterator_types)):
                block.erase_arg(block.args[number])
                del self.reads[number]
        body = Region()
        op.body.move_blocks(body)
        maps = [AffineMapAttr(m) for m in [*(m for _, m in self.reads), *outputs]]
        new = GenericOp(
            [x for x, _ in self.reads],
            list(op.outputs),
            body,
            maps,
            list(op.iterator_types),
            [r.type for r in op.results],
        )
        assert op.parent is not None
        new.location = op.location
        op.parent.insert_op_before(new, op)
        for old, result in zip(op.results, new.results, strict=True):
            old.replace_all_uses_with(result)
        Rewriter.erase_op(op)


def is_elementwise(op: object) -> bool:
    """True for a generic whose result at each point depends on its inputs at that point only."""
    if not isinstance(op, GenericOp):
        return False
    rank, block = len(op.iterator_types), op.body.block
    return (
        all(t.data == IteratorType.PARALLEL for t in op.iterator_types)
        and all(m.data == AffineMap.identity(rank) for m in op.indexing_maps.data[len(op.inputs) :])
        and not any(a.uses for a in block.args[len(op.inputs) :])
    )


def constant_of(term: Term, reader: Reader) -> float | None:
    """The value of a term that is a literal, or a conversion of a literal; else None."""
    owner = term.value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, FloatAttr | IntegerAttr):
        return owner.value.value.data
    if isinstance(owner, arith.SIToFPOp | arith.ExtFOp | arith.TruncFOp) and not is_half_type(owner.results[0].type):
        return constant_of(reader.operands(term)[0], reader)
    return None


def has_no_effect(op: Operation) -> bool:
    """May a tensor operation be erased if its results are unused?"""
    return isinstance(op, GenericOp | func.CallOp) or is_side_effect_free(op)


def _stored(term: Term) -> Term | None:
    """The result of an elementwise operation that holds a value of its body; None if no result does."""
    assert term.scope is not None
    yielded = term.scope.body.block.last_op
    assert yielded is not None
    found = [result for x, result in zip(yielded.operands, term.scope.results, strict=True) if x is term.value]
    return Term(found[0], None, term.map) if found else None


def _reads(op: GenericOp) -> list[tuple[SSAValue, AffineMap]]:
    return [(x, m.data) for x, m in zip(op.inputs, op.indexing_maps, strict=False)]


def _is_local(value: SSAValue, block: Block) -> bool:
    return value.block is block if isinstance(value, BlockArgument) else value.owner.parent is block


def _covers(maps: list[AffineMap], rank: int) -> bool:
    """True if every dim indexes some operand, so that the maps determine all extents."""
    return len({e.position for m in maps for e in m.results if isinstance(e, AffineDimExpr)}) == rank


def _counter(term: Term, op: IndexOp) -> Operation:
    """The counter of a producer's loop, expressed in the reader's counters."""
    assert term.map is not None
    expression = term.map.results[op.dim.value.data]
    if isinstance(expression, AffineDimExpr):
        return IndexOp(expression.position)
    assert isinstance(expression, AffineConstantExpr)
    return arith.ConstantOp(IntegerAttr(expression.value, index), index)
