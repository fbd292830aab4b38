"""What the loop fuser knows of a function at tensor level: statements, their accesses, and extents that are equal."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.dialects import arith, func, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, IntegerAttr, StringAttr, TensorType
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.dialects.utils.fast_math import FastMathFlag
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap

from aotensor.ir.dialect import CheckOp, LapackOp, NonzeroOp, ReshapeOp
from aotensor.ir.dialect_control import BranchOp, ScanOp
from aotensor.ir.dialect_sparse import ExpandSlicesOp, SegmentSumOp, SumAtOp
from aotensor.ir.extents import depends_on_arguments_only

ExtentKey: TypeAlias = "int | SSAValue | tuple[int, int]"
"""An extent as something that compares: a number, an index value, or (argument, axis) of an input's dim."""


@dataclass(eq=False)
class Statement:
    """A linalg.generic, seen as a perfect loop nest over its iteration space."""

    op: linalg.GenericOp
    extents: tuple[ExtentKey, ...]
    order: tuple[int, ...]
    """Dims from the outermost to the innermost loop, so that the innermost one runs along memory."""
    maps: tuple[AffineMap, ...] = field(init=False)
    is_reduction: tuple[bool, ...] = field(init=False)
    gathers: frozenset[SSAValue] = field(init=False)

    def __post_init__(self) -> None:
        self.maps = tuple(m.data for m in self.op.indexing_maps)
        kinds = [t.data for t in self.op.iterator_types]
        self.is_reduction = tuple(k == IteratorType.REDUCTION for k in kinds)
        self.gathers = frozenset(x.tensor for x in self.op.body.walk() if isinstance(x, tensor.ExtractOp))

    @property
    def reads(self) -> list[tuple[SSAValue, AffineMap]]:
        return list(zip(self.op.inputs, self.maps, strict=False))

    @property
    def writes(self) -> list[tuple[SSAValue, AffineMap]]:
        return list(zip(self.op.results, self.maps[len(self.op.inputs) :], strict=True))

    @property
    def is_reassociable(self) -> bool:
        """True if its reduction may be taken in any order: not so for float sums without the `reassoc` flag."""
        arguments = self.op.body.block.args[len(self.op.inputs) :]
        for op in self.op.body.block.ops:
            if isinstance(op, arith.AddfOp | arith.MulfOp) and any(x in arguments for x in op.operands):
                return FastMathFlag.REASSOC in op.fastmath.data
        return True

    def read_maps(self, x: SSAValue) -> list[AffineMap]:
        return [m for source, m in self.reads if source is x]

    def write_map(self, x: SSAValue) -> AffineMap:
        return next(m for result, m in self.writes if result is x)

    def start_of(self, x: SSAValue) -> SSAValue | None:
        """The scalar that a reduction's result starts from; None for a result that is simply written."""
        assert isinstance(x, OpResult)
        outs = self.op.outputs[x.index]
        return outs.owner.input if isinstance(outs.owner, tensor.SplatOp) else None


def position_of(map: AffineMap, dim: int) -> int | None:
    """Which result of a map is exactly this dim."""
    for position, expression in enumerate(map.results):
        if isinstance(expression, AffineDimExpr) and expression.position == dim:
            return position
    return None


class Extents:
    """Extents of every tensor in a function, equal ones under one key."""

    def __init__(self, function: func.FuncOp) -> None:
        self._shapes: dict[SSAValue, tuple[ExtentKey, ...]] = {}
        self._same: dict[ExtentKey, ExtentKey] = {}
        self._age = {op: number for number, op in enumerate(function.body.block.ops)}
        self._read_arguments(function)
        for op in function.body.block.ops:
            self._read(op)

    def shape(self, x: SSAValue) -> tuple[ExtentKey, ...]:
        return tuple(self.key(n) for n in self._shapes[x])

    def key(self, n: ExtentKey) -> ExtentKey:
        while n in self._same:
            n = self._same[n]
        return n

    def iteration_space(self, op: linalg.GenericOp) -> tuple[ExtentKey, ...]:
        """Extent of each dim, from the first operand that is indexed by it: outputs before inputs."""
        operands = [*op.outputs, *op.inputs]
        count = len(op.inputs)
        maps = [m.data for m in op.indexing_maps]
        maps = maps[count:] + maps[:count]
        extents: list[ExtentKey] = []
        for dim in range(maps[0].num_dims):
            for x, m in zip(operands, maps, strict=True):
                position = position_of(m, dim)
                if position is not None:
                    extents.append(self.shape(x)[position])
                    break
            else:
                raise AssertionError(f"dim {dim} indexes no operand of {op}")
        return tuple(extents)

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
        match op:
            case arith.ConstantOp() if isinstance(op.value, IntegerAttr):
                self._same[op.result] = op.value.value.data
            case tensor.DimOp():
                axis = self.key(op.index)
                assert isinstance(axis, int)
                self._same[op.result] = self.shape(op.source)[axis]
            case tensor.EmptyOp():
                self._shapes[op.tensor] = self._sized(op.tensor, op.dynamic_sizes)
            case tensor.SplatOp():
                self._shapes[op.result] = self._sized(op.result, op.dynamicSizes)
            case ReshapeOp():
                self._shapes[op.result] = self._sized(op.result, op.sizes)
            case LapackOp():
                sizes = iter(op.sizes)
                self._shapes.update((x, self._sized(x, sizes)) for x in op.tensors)
            case NonzeroOp():
                self._shapes.update((x, (op.count,)) for x in op.positions)
            case CheckOp() if depends_on_arguments_only(op):
                self._unify(op)
            case ScanOp() | BranchOp():
                self._shapes.update((x, self._sized(x, sizes)) for x, sizes in op.result_sizes())
            case linalg.GenericOp():
                self._shapes.update((r, self._shapes[x]) for r, x in zip(op.results, op.outputs, strict=True))
            case SegmentSumOp() | SumAtOp():
                self._shapes[op.result] = self._shapes[op.init]
            case ExpandSlicesOp():
                self._shapes[op.result] = self._shapes[op.into]
            case tensor.InsertSliceOp():
                self._shapes[op.result] = self._shapes[op.dest]
            case _:
                self._read_same_shape(op)

    def _read_same_shape(self, op: Operation) -> None:
        """Constants have the shape of their type; the ops of our dialect that remain keep the shape of their source."""
        for result in op.results:
            if isinstance(result.type, TensorType):
                static = result.type.get_shape()
                self._shapes[result] = self._shapes[op.operands[0]] if op.operands else tuple(static)

    def _unify(self, op: CheckOp) -> None:
        """A check that two extents are equal makes them one; it must come before every loop, which may trust it."""
        condition = op.condition.owner
        if isinstance(condition, arith.CmpiOp) and condition.predicate.value.data == 0:
            a, b = self.key(condition.lhs), self.key(condition.rhs)
            if a != b and not (isinstance(a, int) and isinstance(b, int)):
                younger, older = sorted((a, b), key=self._seniority, reverse=True)
                self._same[younger] = older

    def _seniority(self, n: ExtentKey) -> int:
        """Numbers come before the dims of inputs, these before what is computed, in program order."""
        if isinstance(n, SSAValue):
            return self._age[n.owner] if isinstance(n.owner, Operation) else 0
        return -1 if isinstance(n, tuple) else -2

    def _sized(self, x: SSAValue, sizes: Iterable[SSAValue]) -> tuple[ExtentKey, ...]:
        assert isinstance(x.type, TensorType)
        dynamic = iter(sizes)
        return tuple(next(dynamic) if n == DYNAMIC_INDEX else n for n in x.type.get_shape())


def _dim_name(names: object, number: int, axis: int) -> str:
    if not isinstance(names, ArrayAttr):
        return ""
    name = names.data[number].data[axis]
    assert isinstance(name, StringAttr)
    return name.data


def preferred_order(op: linalg.GenericOp) -> tuple[int, ...]:
    """Loop order: outer loops take long strides, the innermost loop runs along the last axis of most operands."""
    maps = [m.data for m in op.indexing_maps]
    rank = maps[0].num_dims

    def weight(dim: int) -> tuple[float, int]:
        depth = 0.0  # how far to the right this dim stands in its operands, the largest ones first
        for m in maps:
            position = position_of(m, dim)
            if position is not None:
                depth += 16.0 ** len(m.results) * 4.0 ** -(len(m.results) - 1 - position)
        return depth, dim

    return tuple(sorted(range(rank), key=weight))
