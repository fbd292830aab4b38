"""Extents of every tensor in a function, where equal extents have one key, and their values in IR."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeAlias

from xdsl.builder import Builder
from xdsl.dialects import arith, func, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, IndexType, IntegerAttr, StringAttr, TensorType
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint

from aotensor.ir.dialect import CheckOp, LapackOp, LinesOp, ReshapeOp
from aotensor.ir.dialect_control import BranchOp, ScanOp
from aotensor.ir.dialect_sparse import (
    DirectOp,
    ExpandSlicesOp,
    KernelOp,
    NonzeroOp,
    PatternOp,
    ProductAtOp,
    SegmentSumOp,
    SumAtOp,
)
from aotensor.ir.extents import AllSources, is_scalar
from aotensor.ir.nest.loops import EntriesOp, ForOp
from aotensor.ir.nest.ops import DoOp, ProductOp, ValueOp

_WITHOUT_TENSORS: Final = frozenset({DoOp, ForOp, EntriesOp})
ExtentKey: TypeAlias = "int | SSAValue | tuple[int, int]"
"""A comparable extent: a number, an index value, or (argument, axis) for the dim of an input."""


class Extents:
    """The extents of every tensor in a function; equal extents have one key."""

    def __init__(self, function: func.FuncOp) -> None:
        self._shapes: dict[SSAValue, tuple[ExtentKey, ...]] = {}
        self._same: dict[ExtentKey, ExtentKey] = {}
        self._age = {op: number for number, op in enumerate(function.body.block.ops)}
        self._is_known = AllSources(is_scalar)
        self._read_arguments(function)
        for op in function.body.block.ops:
            self._read(op)

    def shape(self, x: SSAValue) -> tuple[ExtentKey, ...]:
        return tuple(self.key(n) for n in self._shapes[x])

    def replace(self, old: SSAValue, new: SSAValue) -> None:
        """Give tensor `new` the shape of `old`, which it replaces."""
        self._shapes[new] = self._shapes[old]

    def key(self, n: ExtentKey) -> ExtentKey:
        while n in self._same:
            n = self._same[n]
        return n

    def _read_arguments(self, function: func.FuncOp) -> None:
        names = function.attributes.get("dims")
        first: dict[str, ExtentKey] = {}
        for number, x in enumerate(function.body.block.args):
            if not isinstance(x.type, TensorType):
                continue
            keys: list[ExtentKey] = []
            for axis, extent in enumerate(x.type.get_shape()):
                name = _dim_name(names, number, axis)
                key: ExtentKey = extent if extent != DYNAMIC_INDEX else (number, axis)
                keys.append(first.setdefault(name, key) if name else key)
            self._shapes[x] = tuple(keys)

    def _read(self, op: Operation) -> None:
        if type(op) in _WITHOUT_TENSORS or (
            op.name.startswith(("arith.", "math.")) and op.name != arith.ConstantOp.name
        ):
            return  # the common case in a long program, so tested first
        match op:  # the frequent ones first
            case arith.ConstantOp() if isinstance(op.value, IntegerAttr):
                self._same[op.result] = op.value.value.data
            case linalg.GenericOp():
                self._shapes.update((r, self._shapes[x]) for r, x in zip(op.results, op.outputs, strict=True))
            case tensor.InsertSliceOp():
                self._shapes[op.result] = self._shapes[op.dest]
            case tensor.EmptyOp():
                self._shapes[op.tensor] = self._sized(op.tensor, op.dynamic_sizes)
            case tensor.DimOp():
                axis = self.key(op.index)
                assert isinstance(axis, int)
                self._same[op.result] = self.shape(op.source)[axis]
            case ValueOp():
                self._shapes[op.result] = self._sized(op.result, op.sizes)
            case ProductOp():
                self._shapes[op.result] = tuple(op.sizes)
            case tensor.SplatOp():
                self._shapes[op.result] = self._sized(op.result, op.dynamicSizes)
            case ReshapeOp() | ProductAtOp():
                self._shapes[op.result] = self._sized(op.result, op.sizes)
            case LapackOp() | PatternOp() | KernelOp():
                sizes = iter(op.sizes)
                self._shapes.update((x, self._sized(x, sizes)) for x in op.tensors)
            case DirectOp():
                sizes = iter((*op.sizes, *op.counts))
                self._shapes.update((x, self._sized(x, sizes)) for x in op.tensors)
            case NonzeroOp():
                self._shapes.update((x, (op.count,)) for x in op.positions)
            case LinesOp():
                self._shapes.update(op.result_shapes(self._shapes.__getitem__))
            case CheckOp() if self._is_known(op.operands):
                self._unify(op)
            case ScanOp() | BranchOp():
                self._shapes.update((x, self._sized(x, sizes)) for x, sizes in op.result_sizes())
            case SegmentSumOp() | SumAtOp():
                self._shapes[op.result] = self._shapes[op.init]
            case ExpandSlicesOp():
                self._shapes[op.result] = self._shapes[op.into]
            case _:
                self._read_same_shape(op)

    def _read_same_shape(self, op: Operation) -> None:
        """Record the result's shape: a constant's from its type, that of another op of our dialect from its source."""
        for result in op.results:
            if isinstance(result.type, TensorType):
                static = result.type.get_shape()
                self._shapes[result] = self._shapes[op.operands[0]] if op.operands else tuple(static)

    def _unify(self, op: CheckOp) -> None:
        """Merge two extents that a check compares; the check must come before every loop, which relies on it."""
        condition = op.condition.owner
        if isinstance(condition, arith.CmpiOp) and condition.predicate.value.data == 0:
            a, b = self.key(condition.lhs), self.key(condition.rhs)
            if a != b and not (isinstance(a, int) and isinstance(b, int)):
                younger, older = sorted((a, b), key=self._seniority, reverse=True)
                self._same[younger] = older

    def _seniority(self, n: ExtentKey) -> int:
        """Sort key of representatives of equal extents: numbers, then dims of inputs, then computed values in order."""
        if isinstance(n, SSAValue):
            return self._age[n.owner] if isinstance(n.owner, Operation) else 0
        return -1 if isinstance(n, tuple) else -2

    def _sized(self, x: SSAValue, sizes: Iterable[SSAValue]) -> tuple[ExtentKey, ...]:
        assert isinstance(x.type, TensorType)
        dynamic = iter(sizes)
        return tuple(next(dynamic) if n == DYNAMIC_INDEX else n for n in x.type.get_shape())


class ExtentValues:
    """The SSA value of each extent: numbers and dims of arguments are materialized at the top of the function."""

    def __init__(self, function: func.FuncOp, extents: Extents) -> None:
        self.block, self.extents = function.body.block, extents
        first = self.block.first_op
        assert first is not None
        self._top = Builder(InsertPoint.before(first))
        self._known: dict[ExtentKey, SSAValue] = {}

    def value_of(self, key: ExtentKey) -> SSAValue:
        """Return the index value of an extent; create it if needed."""
        key = self.extents.key(key)
        if isinstance(key, SSAValue):
            return key
        if key not in self._known:
            if isinstance(key, int):
                op: Operation = arith.ConstantOp(IntegerAttr(key, IndexType()))
            else:
                number, axis = key
                op = tensor.DimOp(self.block.args[number], self.value_of(axis))
            self._known[key] = self._top.insert(op).results[0]
        return self._known[key]


def _dim_name(names: object, number: int, axis: int) -> str:
    if not isinstance(names, ArrayAttr):
        return ""
    name = names.data[number].data[axis]
    assert isinstance(name, StringAttr)
    return name.data
