"""The vector form of a scalar function: the same operations on vectors, one element in each lane.

    scf.if %c { A } else { B }        scf.if any(%c) { A } else { 0 }; scf.if any(¬%c) { select(%c, …, B) } else { … }
    scf.while (%c) { A }          →   scf.while any(%active = select(%active, %c, false)) { select(%active, A, old) }

A branch is executed if any lane takes it, and a loop until every lane has left it; a lane that has left it keeps its
values. So each lane computes what the scalar function computes, whatever the other lanes do. Source: Karrenberg & Hack
(2011), "Whole-function vectorization".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from xdsl.builder import Builder
from xdsl.dialects import arith, func, scf, vector
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr, IntegerType, VectorType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from aotensor.errors import InternalError
from aotensor.ir.scalar_builder import NO_FAST_MATH, RAW, Scalar, ScalarBuilder
from aotensor.ir.types import f64, i1
from aotensor.ir.upstream import walk

_LONGEST_SELECTED: Final = 24
"""Operations of a branch up to which both sides are computed, and the results selected."""


@dataclass(frozen=True)
class Callees:
    """How a widened function calls others.

    vector_form: (symbol, number of lanes) → symbol. has_mask: has the vector form of a symbol a mask as last operand?
    is_rare: is a function called for rare arguments only, with a mask?
    """

    vector_form: Callable[[str, int], str]
    has_mask: Callable[[str], bool]
    is_rare: Callable[[str], bool]


@dataclass
class Widening:
    """Appends the vector forms of operations to a block.

    values: scalar value → vector. sides: branch whose other side is not executed → the number of the executed side.
    """

    lanes: int
    block: Block
    callees: Callees
    values: dict[SSAValue, SSAValue] = field(default_factory=dict)
    sides: Mapping[Operation, int] = field(default_factory=dict)

    def run(self, ops: Iterable[Operation], mask: SSAValue | None = None) -> None:
        """Append the vector forms of some operations.   mask: the lanes that are active; all by default"""
        for op in ops:
            match op:
                case scf.IfOp():
                    self._branch(op, mask)
                case scf.WhileOp():
                    self._loop(op, mask)
                case func.CallOp():
                    self._call(op, mask)
                case _:
                    self._copy(op)

    def wide(self, kind: Attribute) -> VectorType[Any]:
        """The type of a vector of elements of a type."""
        return VectorType(kind, [self.lanes])

    def add(self, op: Operation) -> SSAValue:
        """Append an operation; return its first result."""
        self.block.add_op(op)
        return op.results[0]

    def select(self, condition: SSAValue, x: SSAValue, y: SSAValue) -> SSAValue:
        """Append: x in the lanes where the condition holds, y in the others."""
        b = ScalarBuilder(Builder(InsertPoint.at_end(self.block)))
        return b.select(*(Scalar(value, RAW) for value in (condition, x, y))).ssa

    def every(self, is_active: bool = True) -> SSAValue:
        """The mask of all lanes, or of none."""
        one = self.add(arith.ConstantOp(IntegerAttr(int(is_active), i1)))
        return self.add(vector.BroadcastOp(one, self.wide(i1)))

    def both(self, mask: SSAValue | None, condition: SSAValue) -> SSAValue:
        """The lanes of a mask in which a condition holds; a condition of other lanes may be poison."""
        return condition if mask is None else self.select(mask, condition, self.every(False))

    def _copy(self, op: Operation) -> None:
        copy = op.clone(self.values)
        for result in copy.results:
            result._type = self.wide(result.type)
        if isinstance(copy, arith.ConstantOp) and isinstance(op, arith.ConstantOp):
            assert isinstance(op.value, FloatAttr | IntegerAttr)
            kind: Any = copy.result.type
            copy.properties["value"] = DenseIntOrFPElementsAttr.from_list(kind, [op.value.value.data])
        self.block.add_op(copy)
        self.values.update(zip(op.results, copy.results, strict=True))

    def _call(self, op: func.CallOp, mask: SSAValue | None) -> None:
        symbol = op.callee.root_reference.data
        operands = [self.values[x] for x in op.arguments]
        if self.callees.has_mask(symbol):
            operands.append(self.every() if mask is None else mask)
        kinds = [self.wide(x.type) for x in op.results]
        self.values[op.results[0]] = self.add(
            func.CallOp(self.callees.vector_form(symbol, self.lanes), operands, kinds)
        )

    def _branch(self, op: scf.IfOp, mask: SSAValue | None) -> None:
        if op in self.sides:
            taken = self._side(op.regions[self.sides[op]], mask)
            self.values.update(zip(op.results, taken, strict=True))
            return
        condition = self.values[op.cond]
        if not self._is_long(op):
            then, otherwise = (self._side(region, self.both(mask, condition)) for region in op.regions)
            for result, x, y in zip(op.results, then, otherwise, strict=True):
                self.values[result] = self.select(condition, x, y)
            return
        nothing = [self._zero(x.type) for x in op.results]
        first = self._if_any(self.both(mask, condition), op.true_region, lambda found: found, nothing)
        rest = self.select(condition, self.every(False), self.every() if mask is None else mask)

        def chosen(found: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return [self.select(condition, x, y) for x, y in zip(first, found, strict=True)]

        found = self._if_any(rest, op.false_region, chosen, first)
        self.values.update(zip(op.results, found, strict=True))

    def _if_any(
        self,
        mask: SSAValue,
        region: Region,
        finish: Callable[[Sequence[SSAValue]], Sequence[SSAValue]],
        otherwise: Sequence[SSAValue],
    ) -> Sequence[SSAValue]:
        """Append: if any lane of the mask is active: finish(results of the region) else: otherwise."""
        outer, condition = self.block, self._any(mask)
        then, rest = Block(), Block([scf.YieldOp(*otherwise)])
        self.block = then
        self.block.add_op(scf.YieldOp(*finish(self._side(region, mask))))
        self.block = outer
        op = scf.IfOp(condition, [x.type for x in otherwise], Region(then), Region(rest))
        self.block.add_op(op)
        return op.results

    def _side(self, region: Region, mask: SSAValue | None) -> list[SSAValue]:
        """Append the operations of a region; return what it yields."""
        *ops, end = region.block.ops
        self.run(ops, mask)
        return [self.values[x] for x in end.operands]

    def _loop(self, op: scf.WhileOp, mask: SSAValue | None) -> None:
        before, after = op.before_region.block, op.after_region.block
        *conditions, passes = before.ops
        if list(passes.operands[1:]) != list(before.args):
            raise InternalError("expand-math: a loop of a formula must pass on its values unchanged")
        start = [*(self.values[x] for x in op.arguments), self.every() if mask is None else mask]
        kinds = [x.type for x in start]
        blocks, outer = [Block(arg_types=kinds) for _ in range(2)], self.block
        self.block = blocks[0]
        *values, active = blocks[0].args
        self.values.update(zip(before.args, values, strict=True))
        self.run(conditions, active)
        goes_on = self.both(active, self.values[passes.operands[0]])
        self.block.add_op(scf.ConditionOp(self._any(goes_on), *values, goes_on))
        self.block = blocks[1]
        *values, active = blocks[1].args
        self.values.update(zip(after.args, values, strict=True))
        *ops, end = after.ops
        self.run(ops, active)
        found = [self.select(active, self.values[x], y) for x, y in zip(end.operands, values, strict=True)]
        self.block.add_op(scf.YieldOp(*found, active))
        self.block = outer
        made = scf.WhileOp(start, kinds, [blocks[0]], [blocks[1]])
        self.block.add_op(made)
        self.values.update(zip(op.results, made.results, strict=False))

    def _any(self, mask: SSAValue) -> SSAValue:
        """Is any lane of a mask active?"""
        properties: dict[str, Attribute] = {
            "kind": vector.CombiningKindAttr(vector.CombiningKindFlag.OR),
            "fastmath": NO_FAST_MATH,
        }
        return self.add(vector.ReductionOp.create(operands=[mask], result_types=[i1], properties=properties))

    def _zero(self, kind: Attribute) -> SSAValue:
        zero = IntegerAttr(0, kind) if isinstance(kind, IntegerType) else FloatAttr(0.0, f64)
        return self.add(vector.BroadcastOp(self.add(arith.ConstantOp(zero)), self.wide(kind)))

    def _is_long(self, op: scf.IfOp) -> bool:
        """Is a branch worth a test whether any lane takes it?"""
        inside = list(walk(op))
        return len(inside) > _LONGEST_SELECTED or any(
            isinstance(x, scf.WhileOp) or (isinstance(x, func.CallOp) and not self.callees.is_rare(_callee(x)))
            for x in inside
        )


def _callee(call: func.CallOp) -> str:
    return call.callee.root_reference.data


def widen(function: func.FuncOp, symbol: str, lanes: int, callees: Callees) -> func.FuncOp:
    """The vector form of a function, with the mask of active lanes as last operand if the function has loops."""
    signature = function.function_type
    kinds = [[VectorType(x, [lanes]) for x in of] for of in (signature.inputs, signature.outputs)]
    if not function.body.blocks:
        return func.FuncOp.external(symbol, *kinds)
    has_mask = callees.has_mask(function.sym_name.data)
    inputs = [*kinds[0], *([VectorType(i1, [lanes])] if has_mask else [])]
    made = func.FuncOp(symbol, (inputs, kinds[1]), visibility="private")
    widening = Widening(lanes, made.body.block, callees)
    arguments = made.body.block.args
    widening.values.update(zip(function.body.block.args, arguments, strict=not has_mask))
    *ops, end = function.body.block.ops
    widening.run(ops, arguments[-1] if has_mask else None)
    made.body.block.add_op(end.clone(widening.values))
    return made
