"""What the loop fuser knows of a function at tensor level: statements, their accesses, and extents that are equal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.dialects import arith, func, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, IntegerAttr, StringAttr, TensorType
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.utils.fast_math import FastMathFlag
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap

from aotensor.ir.dialect import CheckOp, LapackOp, NonzeroOp, ReshapeOp
from aotensor.ir.dialect_control import BranchOp, ScanOp
from aotensor.ir.dialect_sparse import ExpandSlicesOp, PatternOp, SegmentSumOp, SumAtOp
from aotensor.ir.extents import depends_on_arguments_only
from aotensor.passes.loops.slices import CompressedOp, Form, SliceExtent, Slices, form_of, slices_of

ExtentKey: TypeAlias = "int | SSAValue | tuple[int, int] | SliceExtent"
"""An extent as something that compares: a number, an index value, (argument, axis) of an input's dim, or a slice's."""

FusedOp: TypeAlias = linalg.GenericOp | CompressedOp
"""What the loop fuser takes apart."""


@dataclass(eq=False, repr=False)
class Statement:
    """An operation, seen as a perfect loop nest over its iteration space."""

    op: FusedOp
    extents: tuple[ExtentKey, ...]
    order: tuple[int, ...]
    """Dims from the outermost to the innermost loop, so that the innermost one runs along memory."""
    form: Form
    slices: Slices | None = None
    """The dims that run over the slices of a compressed axis and over their entries."""
    gathers: frozenset[SSAValue] = field(init=False)
    """What is read at places that are no dims: nothing that the same loop makes."""

    def __post_init__(self) -> None:
        found = {x.tensor for x in self.body.walk() if isinstance(x, tensor.ExtractOp)}
        self.gathers = frozenset(found | ({self.slices.indptr} if self.slices is not None else set()))

    @property
    def body(self) -> Block:
        """What happens to the elements."""
        return self.form.body

    @property
    def maps(self) -> tuple[AffineMap, ...]:
        return self.form.maps

    @property
    def is_reduction(self) -> tuple[bool, ...]:
        return self.form.is_reduction

    @property
    def reads(self) -> list[tuple[SSAValue, AffineMap]]:
        return list(zip(self.form.inputs, self.maps, strict=False))

    @property
    def writes(self) -> list[tuple[SSAValue, AffineMap]]:
        return list(zip(self.op.results, self.maps[len(self.form.inputs) :], strict=True))

    def divide(self, indptr: SSAValue, count: ExtentKey) -> None:
        """Run over `count` slices and their entries instead of all entries, which are the outermost dim."""
        entry, slice = self.order[0], len(self.extents)
        self.slices = Slices(slice, entry, indptr)
        extents = [SliceExtent(indptr) if d == entry else n for d, n in enumerate(self.extents)]
        self.extents = (*extents, count)
        self.order = (slice, *self.order)
        self.gathers |= {indptr}

    def entry_axis(self, map: AffineMap) -> int | None:
        """Along which axis of an operand with this map the entries run, or would if the statement were divided."""
        return position_of(map, self.order[0] if self.slices is None else self.slices.entry)

    def binds(self, map: AffineMap, dim: int) -> bool:
        """Is an operand with this map another one in each iteration of a loop over the dim?

        An entry belongs to one slice: who has the entry has the slice.
        """
        if self.slices is not None and dim == self.slices.slice and position_of(map, self.slices.entry) is not None:
            return True
        return position_of(map, dim) is not None

    @property
    def is_reassociable(self) -> bool:
        """True if its reduction may be taken in any order: not so for float sums without the `reassoc` flag."""
        arguments = self.body.args[len(self.form.inputs) :]
        for op in self.body.ops:
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
        outs = self.form.starts[x.index]
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

    def statement(self, op: FusedOp) -> Statement:
        """An operation as a statement. Its slices run outside of their entries."""
        form, slices = form_of(op), slices_of(op)
        extents, order = self._iteration_space(op, form), preferred_order(form.maps)
        if slices is not None:
            extents = (extents[0], SliceExtent(slices.indptr), *extents[2:])
            order = (0, 1, *(d for d in order if d > 1))
        return Statement(op, extents, order, form, slices)

    def _iteration_space(self, op: FusedOp, form: Form) -> tuple[ExtentKey, ...]:
        """Extent of each dim, from the first operand that is indexed by it: outputs before inputs."""
        operands = [*form.starts, *form.inputs]
        count = len(form.inputs)
        maps = form.maps[count:] + form.maps[:count]
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
            case LapackOp() | PatternOp():
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


def preferred_order(maps: Sequence[AffineMap]) -> tuple[int, ...]:
    """Loop order: outer loops take long strides, the innermost loop runs along the last axis of most operands."""
    rank = maps[0].num_dims

    def weight(dim: int) -> tuple[float, int]:
        depth = 0.0  # how far to the right this dim stands in its operands, the largest ones first
        for m in maps:
            position = position_of(m, dim)
            if position is not None:
                depth += 16.0 ** len(m.results) * 4.0 ** -(len(m.results) - 1 - position)
        return depth, dim

    return tuple(sorted(range(rank), key=weight))
