"""Scalar operations in a tensor program: index arithmetic with constant folding, and loads of tensor elements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, TypeAlias, TypeVar

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects import arith, scf, tensor
from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, DenseIntOrFPElementsAttr, IntegerAttr
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint

from aotensor.core import dtypes
from aotensor.ir.dialect import ExtractIfOp
from aotensor.ir.scalar_builder import Scalar, ScalarBuilder
from aotensor.ir.types import SEGMENTS, element_type, i64, index, segment_sizes

Extent: TypeAlias = int | Scalar
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, eq=False)
class Tensor:
    """A tensor value with its dtype and extents. A tensor of rank 0 is a plain scalar, not tensor<f64>."""

    ssa: SSAValue
    dtype: str
    extents: tuple[Extent, ...] = ()

    @property
    def rank(self) -> int:
        return len(self.extents)

    @property
    def static_shape(self) -> tuple[int | None, ...]:
        return tuple(static(self.extents))


def same_extent(a: Extent, b: Extent) -> bool:
    """Are two extents known to be equal?"""
    return a == b if isinstance(a, int) or isinstance(b, int) else a.ssa is b.ssa


def static(extents: Sequence[Extent]) -> list[int | None]:
    """The extents as a type records them: numbers, and None for dynamic ones."""
    return [n if isinstance(n, int) else None for n in extents]


def dynamic(extents: Iterable[Extent]) -> list[SSAValue]:
    """The extents that are not static."""
    return [n.ssa for n in extents if isinstance(n, Scalar)]


def extreme_of(kind: str, x: Tensor) -> int | None:
    """The "minimum" or "maximum" (`kind`) of constant integers x; None if x is not constant."""
    value = x.ssa.owner.value if isinstance(x.ssa.owner, arith.ConstantOp) else None
    if kind not in ("minimum", "maximum") or x.dtype not in dtypes.INTEGERS:
        return None
    if 0 in x.extents:
        return int(dtypes.neutral_element(kind, x.dtype))
    if not isinstance(value, DenseIntOrFPElementsAttr):
        return None
    stored = np.asarray(value.get_values(), f"i{dtypes.itemsize(x.dtype)}").view(x.dtype)
    return int(stored.min() if kind == "minimum" else stored.max())


@cache
def dimension(number: int) -> AffineExpr:
    """The affine expression of loop counter `number`."""
    return AffineExpr.dimension(number)


class IndexBuilder(ScalarBuilder):
    """Builds scalars at function level. Equal index computations return one value, so extents compare by identity."""

    def __init__(self, builder: Builder, fastmath: arith.FastMathFlagsAttr) -> None:
        super().__init__(builder, fastmath)
        self._numbered: dict[tuple[object, ...], Scalar] = {}

    def index(self, value: Extent | int) -> Scalar:
        """Convert an extent to an index value."""
        if isinstance(value, Scalar):
            return value
        return self._once(("constant", value), lambda: self.constant(value, dtypes.INDEX))

    def as_extent(self, x: Scalar) -> Extent:
        source = x.ssa.owner
        if isinstance(source, arith.IndexCastOp):
            source = source.input.owner
        if isinstance(source, arith.ConstantOp) and isinstance(source.value, IntegerAttr):
            return int(source.value.value.data)
        return self.cast(x, dtypes.INDEX)

    @property
    def remembered(self) -> set[SSAValue]:
        """The index values that a later equal computation may reuse."""
        return {x.ssa for x in self._numbered.values()}

    def forget(self, values: Set[SSAValue]) -> None:
        """Do not reuse these index values: later equal computations are emitted again."""
        self._numbered = {key: x for key, x in self._numbered.items() if x.ssa not in values}

    def operate(self, verb: str, *operands: Any) -> Scalar:
        """Emit an operator; of extents and ints, known ones stay known and equal computations are emitted once."""
        if any(isinstance(x, Scalar) and x.ssa.type == index for x in operands):
            fold = {"add": self.iadd, "sub": self.isub, "mul": self.imul, "floordiv": self.ifloordiv}.get(verb)
            if fold is not None:
                return fold(*operands)  # type: ignore[return-value]
            operands = tuple(x if isinstance(x, Scalar) else self.index(x) for x in operands)
        return super().operate(verb, *operands)

    def iadd(self, x: Extent, y: Extent) -> Extent:
        if x == 0 or y == 0:
            return y if x == 0 else x
        return self._fold(int.__add__, arith.AddiOp, x, y)

    def isub(self, x: Extent, y: Extent) -> Extent:
        if y == 0:
            return x
        if isinstance(x, Scalar) and isinstance(y, Scalar) and x.ssa is y.ssa:
            return 0
        return self._fold(int.__sub__, arith.SubiOp, x, y)

    def imul(self, x: Extent, y: Extent) -> Extent:
        if x == 1 or y == 1:
            return y if x == 1 else x
        return self._fold(int.__mul__, arith.MuliOp, x, y)

    def ifloordiv(self, x: Extent, y: Extent) -> Extent:
        """Floor division, for a divisor that is not 0."""
        return x if y == 1 else self._fold(int.__floordiv__, arith.FloorDivSIOp, x, y)

    def imin(self, x: Extent, y: Extent) -> Extent:
        return self._fold(lambda a, b: min(a, b), arith.MinSIOp, x, y)

    def imax(self, x: Extent, y: Extent) -> Extent:
        return self._fold(lambda a, b: max(a, b), arith.MaxSIOp, x, y)

    def dim(self, x: SSAValue, axis: int) -> Scalar:
        """The run-time extent of a tensor along an axis."""
        return self._once(("dim", x, axis), lambda: self.emit(tensor.DimOp(x, self.index(axis).ssa), dtypes.INDEX))

    def load(self, x: Tensor, *indices: Extent) -> Scalar:
        """Load x[indices]; the caller guarantees that the indices are in bounds."""
        if not indices:
            return Scalar(x.ssa, x.dtype)
        where = [self.index(i).ssa for i in indices]
        return self.emit(tensor.ExtractOp(x.ssa, where, element_type(x.dtype)), x.dtype)

    def load_if(self, condition: Scalar, x: Tensor, indices: Sequence[Extent], otherwise: Scalar) -> Scalar:
        """Load x[indices] if the condition holds and they are in bounds; otherwise the result is `otherwise`."""
        where = [self.index(i).ssa for i in indices]
        return self.emit(ExtractIfOp(condition.ssa, x.ssa, where, otherwise.ssa), x.dtype)

    def iterate(
        self,
        start: Sequence[Scalar],
        fixed: Sequence[Scalar],
        goes_on: Callable[..., Scalar],
        step: Callable[..., Sequence[Scalar]],
    ) -> list[Scalar]:
        """Emit an scf.while: while goes_on(builder, *values, *fixed): values = step(builder, *values, *fixed).

        All values that the regions read are operands, so that the operation can be cloned like one without regions.
        """
        operands = [*start, *fixed]
        kinds = [x.ssa.type for x in operands]
        before, after = Block(arg_types=kinds), Block(arg_types=kinds)
        condition = self._inside(before, operands, goes_on)
        before.add_op(scf.ConditionOp(condition.ssa, *before.args))
        values = self._inside(after, operands, step)
        after.add_op(scf.YieldOp(*(x.ssa for x in values), *after.args[len(start) :]))
        op = scf.WhileOp([x.ssa for x in operands], kinds, [before], [after])
        self.builder.insert(op)
        return [Scalar(result, x.dtype) for result, x in zip(op.results, start, strict=False)]

    def _inside(self, block: Block, operands: Sequence[Scalar], fn: Callable[..., _T]) -> _T:
        """fn(builder, *arguments), emitted at the end of a block with the arguments of the block as scalars."""
        arguments = (Scalar(argument, x.dtype) for argument, x in zip(block.args, operands, strict=True))
        with IndexBuilder(Builder(InsertPoint.at_end(block)), self.fastmath).active() as b:
            return fn(b, *arguments)

    def _fold(self, on_ints: Callable[[int, int], int], op: type[Operation], x: Extent, y: Extent) -> Extent:
        if isinstance(x, int) and isinstance(y, int):
            return on_ints(x, y)
        a, b = self.index(x), self.index(y)
        return self._once((op, a.ssa, b.ssa), lambda: self._on_ints(op, a, b))

    def _once(self, key: tuple[object, ...], make: Callable[[], Scalar]) -> Scalar:
        found = self._numbered.get(key)
        if found is None:
            found = self._numbered[key] = make()
        return found


class BodyBuilder(IndexBuilder):
    """Builds scalar operations in the body of a linalg.generic under construction.

    A load at plain loop counters becomes an operand of the generic with an affine map; any other load is a
    tensor.extract, whose address the loop computes.
    """

    def __init__(
        self,
        block: Block,
        fastmath: arith.FastMathFlagsAttr,
        extents: Sequence[Extent],
        canonical: Callable[[Extent], Extent],
    ) -> None:
        super().__init__(Builder(InsertPoint.at_end(block)), fastmath)
        self.block = block
        self._extents = tuple(extents)
        self._canonical = canonical
        self.reads: list[tuple[Tensor, tuple[AffineExpr, ...]]] = []
        self.indices = [self.emit(_counter(d), dtypes.INDEX) for d in range(len(extents))]

    def load(self, x: Tensor, *indices: Extent) -> Scalar:
        expressions = [self._affine(i, n) for i, n in zip(indices, x.extents, strict=True)]
        if not indices or any(e is None for e in expressions):
            return super().load(x, *indices)
        argument = self.block.insert_arg(element_type(x.dtype), len(self.reads))
        self.reads.append((x, tuple(e for e in expressions if e is not None)))
        return Scalar(argument, x.dtype)

    def _affine(self, i: Extent, extent: Extent) -> AffineExpr | None:
        """An index as an affine expression: a constant, or the counter of a loop over the whole axis; else None."""
        if isinstance(i, int):
            return AffineExpr.constant(i)
        for dim, counter in enumerate(self.indices):
            if counter.ssa is i.ssa and same_extent(self._canonical(extent), self._extents[dim]):
                return dimension(dim)
        return None

    def drop_unused_indices(self) -> None:
        for counter in self.indices:
            owner = counter.ssa.owner
            if isinstance(owner, Operation) and not counter.ssa.uses:
                owner.detach()
                owner.erase()


def end_of_block(builder: Builder, start: SSAValue, size: SSAValue, end: SSAValue) -> SSAValue:
    """min(start + size, end): where a block of iterations ends."""
    with ScalarBuilder(builder).active() as b:
        return b.minimum(Scalar(start, dtypes.INDEX) + Scalar(size, dtypes.INDEX), Scalar(end, dtypes.INDEX)).ssa


# --- generics --------------------------------------------------------------------------------------------------------


def align(x: Tensor, extents: Sequence[Extent], counters: Sequence[Scalar]) -> list[Extent]:
    """The indices of x at these loop counters: axes are aligned at the right, an extent of 1 is broadcast."""
    own = counters[len(counters) - x.rank :]
    wide = extents[len(extents) - x.rank :]
    return [0 if n == 1 and w != 1 else c for n, w, c in zip(x.extents, wide, own, strict=True)]


def _counter(dim: int) -> linalg.IndexOp:
    return linalg.IndexOp.create(properties={"dim": IntegerAttr(dim, i64)}, result_types=[index])


def generic(
    inputs: Sequence[SSAValue],
    outputs: Sequence[SSAValue],
    body: Region,
    maps: Sequence[AffineMapAttr],
    iterators: Sequence[Attribute],
) -> linalg.GenericOp:
    """Create a linalg.generic without verifying it.

    xDSL's constructor verifies every attribute again, which takes four times as long; most generics have equal ones.
    """
    return linalg.GenericOp.create(
        operands=[*inputs, *outputs],
        result_types=[x.type for x in outputs],
        properties={
            "indexing_maps": _array(tuple(maps)),
            "iterator_types": _array(tuple(iterators)),
            SEGMENTS: segment_sizes(len(inputs), len(outputs)),
        },
        regions=[body],
    )


@lru_cache(4096)
def index_map(rank: int, where: tuple[AffineExpr, ...]) -> AffineMapAttr:
    """The affine map (d0, …) -> where, with `rank` dims."""
    return AffineMapAttr(AffineMap(rank, 0, where))


@lru_cache(4096)
def _array(attributes: tuple[Attribute, ...]) -> ArrayAttr[Attribute]:
    return ArrayAttr(attributes)
