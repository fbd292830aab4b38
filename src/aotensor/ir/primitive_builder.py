"""The primitives of the tensor builder: linalg.generic, tensor and arith, and checks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects import arith, tensor
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.attrs import IteratorType, IteratorTypeAttr
from xdsl.dialects.utils.fast_math import FastMathFlag
from xdsl.ir import Block, Operation, Region, SSAValue

from aotensor.core import dtypes
from aotensor.core.types import MAX_ELEMENTS, Array
from aotensor.errors import GraphValueError
from aotensor.graph.expression import locate_message
from aotensor.graph.op import Apply
from aotensor.ir.dialect import CheckOp, ReshapeOp
from aotensor.ir.index_builder import (
    BodyBuilder,
    Extent,
    IndexBuilder,
    Tensor,
    align,
    dimension,
    dynamic,
    extreme_of,
    generic,
    index_map,
    same_extent,
    static,
)
from aotensor.ir.location import Locations
from aotensor.ir.scalar_builder import CONTRACT, NO_FAST_MATH, Scalar
from aotensor.ir.sizes import TOO_LARGE, Sizes, has_fitting_count
from aotensor.ir.types import dense_elements, element_type, tensor_type

if TYPE_CHECKING:
    from aotensor.ir.regions import Regions

PARALLEL: Final = IteratorTypeAttr(IteratorType.PARALLEL)
REDUCTION: Final = IteratorTypeAttr(IteratorType.REDUCTION)

# fp policy → flags of elementwise arithmetic, flags of the additions and products of a reduction
FP_POLICIES: Final = {
    "strict": (NO_FAST_MATH, NO_FAST_MATH),
    "contract": (CONTRACT, arith.FastMathFlagsAttr([FastMathFlag.REASSOC, FastMathFlag.ALLOW_CONTRACT])),
    "fast": (arith.FastMathFlagsAttr("fast"), arith.FastMathFlagsAttr("fast")),
}


class PrimitiveBuilder:
    """Builds tensor IR at one insertion point.

    where: the op that is being lowered, for the messages of its checks; the importer sets it. locations: locations of
    graph nodes. dim_names: extent → its name. is_certain: is the code executed in every call?
    """

    def __init__(self, builder: Builder, fp: str = "contract", regions: Regions | None = None) -> None:
        self._builder = builder
        self._fp = fp
        self._regions = regions
        self.locations = Locations()
        self._fastmath, self.reassociate = FP_POLICIES[fp]
        self.scalars = IndexBuilder(builder, self._fastmath)
        self.where: Apply | None = None
        self.dim_names: dict[SSAValue, str] = {}
        self.checks: list[tuple[str, str]] = []
        self._equal: dict[SSAValue, Extent] = {}
        self._bounds: dict[SSAValue, Extent] = {}
        """Tensors whose elements are positions on an axis → the extent of that axis."""
        self._contents: dict[SSAValue, Callable[[], Array | None]] = {}
        """Tensors that are computed from constants alone, and a function that evaluates their elements."""
        self.sizes = Sizes()
        self.is_certain = True

    def fork(self, builder: Builder | None = None) -> Self:
        """A builder of the same function, here or at another insertion point, whose checks hold only there."""
        other = type(self)(builder or self._builder, self._fp, self._regions)
        other.checks, other.where, other.dim_names = self.checks, self.where, self.dim_names
        other.locations, other.is_certain = self.locations, False
        if builder is None:
            other.scalars, other._equal, other.sizes = self.scalars, dict(self._equal), self.sizes.copy()
        return other

    @property
    def regions(self) -> Regions:
        assert self._regions is not None, "no module to put the bodies of loops and branches into"
        return self._regions

    @property
    def block(self) -> Block:
        """The block that is being built."""
        return self._builder.insertion_point.block

    # --- values --------------------------------------------------------------------------------------------------

    def constant(self, value: Array | float, dtype: str) -> Tensor:
        array = np.asarray(value, dtype=dtype)
        if array.ndim == 0:
            return self.from_scalar(self.scalars.constant(array.item(), dtype))
        kind: Any = tensor_type(dtype, array.shape)
        op = arith.ConstantOp(dense_elements(array, kind), kind)
        return Tensor(self.insert_op(op), dtype, array.shape)

    def item(self, x: Tensor) -> Scalar:
        assert x.rank == 0
        return Scalar(x.ssa, x.dtype)

    def from_scalar(self, x: Scalar) -> Tensor:
        if x.dtype == dtypes.INDEX:
            x = self.scalars.cast(x, "int64")
        return Tensor(x.ssa, x.dtype)

    def cast(self, x: Tensor, dtype: str) -> Tensor:
        if x.dtype == dtype:
            return x
        if element_type(x.dtype) == element_type(dtype):  # int64 and uint64 have the same bits
            return Tensor(x.ssa, dtype, x.extents)
        return self.map(lambda s, v: s.cast(v, dtype), x, dtype=dtype)  # type: ignore[no-any-return]

    # --- elementwise ---------------------------------------------------------------------------------------------

    def map(self, fn: Callable[..., Any], *xs: Tensor, dtype: str | tuple[str, ...]) -> Any:
        several = not isinstance(dtype, str)
        result_dtypes = tuple(dtype) if several else (str(dtype),)
        extents = self.broadcast_extents([x.extents for x in xs])
        if not extents:
            results = fn(self.scalars, *(Scalar(x.ssa, x.dtype) for x in xs))
            tensors = [self.from_scalar(r) for r in (results if several else (results,))]
        else:
            tensors = self.parallel(
                extents, result_dtypes, lambda s, outs: fn(s, *(s.load(x, *align(x, extents, s.indices)) for x in xs))
            )
        return tensors if several else tensors[0]

    def parallel(self, extents: Sequence[Extent], dtypes: Sequence[str], fn: Callable[..., Any]) -> list[Tensor]:
        """Build tensors with these extents, elementwise. fn: maps a builder and indices to the elements."""
        outputs = [(dtype, range(len(extents)), None) for dtype in dtypes]
        return self._generic(extents, [PARALLEL] * len(extents), outputs, fn)

    def tabulate(self, extents: Sequence[Extent], dtype: str, fn: Callable[..., Any]) -> Tensor:
        extents = tuple(self.canonical(n) for n in extents)
        if not extents:
            return self.from_scalar(fn(self.scalars))
        return self.parallel(extents, [dtype], lambda s, outs: fn(s, *s.indices))[0]

    def broadcast_extents(self, shapes: Sequence[Sequence[Extent]]) -> tuple[Extent, ...]:
        """The extents of an elementwise result, after checks that its operands are compatible."""
        rank = max(map(len, shapes), default=0)
        extents: list[Extent] = []
        for axis in range(rank):
            meeting = [shape[axis - rank] for shape in shapes if len(shape) >= rank - axis]
            proper = [n for n in meeting if n != 1]
            extents.append(self.same_extent(proper, f"extents along axis {axis}") if proper else 1)
        return tuple(extents)

    # --- reductions ----------------------------------------------------------------------------------------------

    def reduce(self, kind: str, x: Tensor, axes: Sequence[int], dtype: str | None = None) -> Tensor:
        dtype = dtype or x.dtype
        if not axes:
            return self.cast(x, dtype)
        kept = [d for d in range(x.rank) if d not in set(axes)]
        if not kept and (extreme := extreme_of(kind, x)) is not None:
            return self.constant(extreme, dtype)
        kinds = [PARALLEL if d in kept else REDUCTION for d in range(x.rank)]
        start = self.scalars.constant(dtypes.neutral_element(kind, dtype), dtype)
        return self._generic(
            x.extents, kinds, [(dtype, kept, start)],
            lambda s, outs: self._combine(s, kind, outs[0], s.cast(s.load(x, *s.indices), dtype)),
        )[0]  # fmt: skip

    def arg_reduce(self, kind: str, x: Tensor, axis: int) -> tuple[Tensor, Tensor]:
        kept = [d for d in range(x.rank) if d != axis]
        kinds = [REDUCTION if d == axis else PARALLEL for d in range(x.rank)]
        worst = self.scalars.constant(dtypes.neutral_element(kind, x.dtype), x.dtype)
        zero = self.scalars.constant(0, "int64")

        def step(s: BodyBuilder, outs: Sequence[Scalar]) -> tuple[Scalar, Scalar]:
            best, position = outs
            value = s.load(x, *s.indices)
            better = s.compare("gt" if kind == "maximum" else "lt", value, best)
            if dtypes.is_float(x.dtype):  # the first nan is the result
                first_nan = s.and_(s.is_nan(value), s.not_(s.is_nan(best)))
                better = s.or_(better, first_nan)
            here = s.cast(s.indices[axis], "int64")
            return s.select(better, value, best), s.select(better, here, position)

        best, position = self._generic(x.extents, kinds, [(x.dtype, kept, worst), ("int64", kept, zero)], step)
        return best, position

    def contract(self, spec: str, x: Tensor, y: Tensor) -> Tensor:
        inputs, result = spec.split("->")
        x_axes, y_axes = inputs.split(",")
        order = [*result, *dict.fromkeys(c for c in x_axes + y_axes if c not in result)]
        extents = []
        for letter in order:
            found = [t.extents[axes.index(letter)] for t, axes in ((x, x_axes), (y, y_axes)) if letter in axes]
            extents.append(self.same_extent(found, f"dims {spec!r} of the operands"))
        kinds = [PARALLEL if c in result else REDUCTION for c in order]
        is_product = REDUCTION not in kinds

        def step(s: BodyBuilder, outs: Sequence[Scalar]) -> Scalar:
            counters = dict(zip(order, s.indices, strict=True))
            a, b = (s.load(t, *(counters[c] for c in axes)) for t, axes in ((x, x_axes), (y, y_axes)))
            return s.mul(a, b) if is_product else self._combine(s, "add", outs[0], s.mul(a, b))

        if not order:
            return self.from_scalar(self.scalars.mul(self.item(x), self.item(y)))
        start = None if is_product else self.scalars.constant(0, x.dtype)
        return self._generic(extents, kinds, [(x.dtype, range(len(result)), start)], step)[0]

    # --- shape ---------------------------------------------------------------------------------------------------

    def permute(self, x: Tensor, pattern: Sequence[int | None]) -> Tensor:
        if list(pattern) == list(range(x.rank)):
            return x
        extents = [1 if axis is None else x.extents[axis] for axis in pattern]

        def fetch(s: BodyBuilder, *counters: Scalar) -> Scalar:
            where: list[Extent] = [0] * x.rank
            for counter, axis in zip(counters, pattern, strict=True):
                if axis is not None:
                    where[axis] = counter
            return s.load(x, *where)

        return self.bounded_as(x, self.tabulate(extents, x.dtype, fetch))

    def broadcast(self, x: Tensor, extents: Sequence[Extent]) -> Tensor:
        if len(extents) == x.rank and all(same_extent(a, b) for a, b in zip(extents, x.extents, strict=True)):
            return x
        for own, wanted in zip(x.extents, extents[len(extents) - x.rank :], strict=True):
            if own != 1:
                self.same_extent([wanted, own], "extents of the value and the shape it is broadcast to")
        if len(extents) == x.rank and all(map(self._is_same, extents, x.extents)):
            return x
        return self.tabulate(extents, x.dtype, lambda s, *counters: s.load(x, *align(x, extents, counters)))

    def reshape(self, x: Tensor, extents: Sequence[Extent]) -> Tensor:
        extents = tuple(extents)
        if len(extents) == x.rank and all(same_extent(a, b) for a, b in zip(extents, x.extents, strict=True)):
            return x
        if x.rank == 0:
            return self.tabulate(extents, x.dtype, lambda s, *counters: s.load(x))
        if not extents:
            where = [self.scalars.index(0)] * x.rank
            return self.from_scalar(self.scalars.load(x, *where))
        self.fit([extents])
        made = self.insert_op(ReshapeOp(x.ssa, dynamic(extents), tensor_type(x.dtype, static(extents))))
        return Tensor(made, x.dtype, extents)

    def check(
        self, condition: Scalar, message: str, found: Extent = 0, expected: Extent = 0, kind: str = "value"
    ) -> None:
        verdict = self.sizes.truth_of(condition.ssa)
        if verdict:
            return
        text = message if self.where is None else locate_message(self.where, message)
        if verdict is False and self.is_certain:
            raise self.sizes.refusal(text, found, expected, kind)
        self.checks.append((kind, text))
        numbers = self.scalars.index(found).ssa, self.scalars.index(expected).ssa
        plain = text.encode("ascii", "replace").decode()
        self.insert_op(CheckOp(len(self.checks), kind, plain, condition.ssa, *numbers))

    def fit(self, shapes: Iterable[Sequence[Extent]]) -> None:
        for extents in shapes:
            extents = [self.canonical(n) for n in extents]
            if self.sizes.need_check(extents):
                fits, count = has_fitting_count(self.scalars, extents)
                self.check(fits, TOO_LARGE, count, MAX_ELEMENTS)

    def same_extent(self, extents: Sequence[Extent], what: str, kind: str = "value") -> Extent:
        chosen: Extent | None = None
        for n in map(self.canonical, extents):
            if chosen is None or same_extent(n, chosen):
                chosen = n
                continue
            if isinstance(n, int) and isinstance(chosen, int):
                raise GraphValueError(f"{what} differ: {n} and {chosen}")
            first, other = (n, chosen) if isinstance(n, int) else (chosen, n)
            condition = self.scalars.compare("eq", self.scalars.index(other), self.scalars.index(first))
            both = " and ".join((self._extent_text(other, "{found}"), self._extent_text(first, "{expected}")))
            self.check(condition, f"{what} differ: {both}", other, first, kind)
            assert isinstance(other, Scalar)
            if first == 1:  # an extent that is 1 only at run time does not broadcast from here on
                chosen = other
            else:
                self._equal[other.ssa] = chosen = first
        assert chosen is not None
        return chosen

    def _extent_text(self, extent: Extent, number: str) -> str:
        """`n = {found}` for an extent that the user has named n; for any other extent the field `number` alone."""
        name = self.dim_names.get(extent.ssa) if isinstance(extent, Scalar) else None
        return number if name is None else f"{name} = {number}"

    def _is_same(self, a: Extent, b: Extent) -> bool:
        """True if two extents are equal after the checks so far, and both static or both dynamic."""
        return isinstance(a, int) == isinstance(b, int) and same_extent(self.canonical(a), self.canonical(b))

    def canonical(self, n: Extent) -> Extent:
        """The representative of all extents that were found equal to n."""
        while isinstance(n, Scalar) and n.ssa in self._equal:
            n = self._equal[n.ssa]
        return n

    def bounded_as(self, x: Tensor, other: Tensor) -> Tensor:
        """Record that elements of `other` are elements of x, and so have the same bound; return `other`."""
        number = self.sizes.number(x.ssa) if x.rank == 0 else None
        bound = self._bounds.get(x.ssa) if number is None or number < 0 else number + 1
        if bound is not None:
            self._bounds[other.ssa] = bound
        return other

    # --- internals -----------------------------------------------------------------------------------------------

    def insert_op(self, op: Operation) -> SSAValue:
        self._builder.insert(op)
        return op.results[0] if op.results else None  # type: ignore[return-value]

    def empty(self, extents: Sequence[Extent], dtype: str) -> Tensor:
        """An uninitialized tensor with these extents."""
        self.fit([extents])
        kind = tensor_type(dtype, static(extents))
        made = self.insert_op(tensor.EmptyOp.create(operands=dynamic(extents), result_types=[kind]))
        return Tensor(made, dtype, tuple(extents))

    def zeros(self, extents: Sequence[Extent], dtype: str) -> Tensor:
        """A tensor of zeros, the initial value of a sum."""
        return self._initial([self.canonical(n) for n in extents], dtype, self.scalars.constant(0, dtype))

    def _initial(self, extents: Sequence[Extent], dtype: str, start: Scalar | None) -> Tensor:
        """The `outs` tensor of a generic: uninitialized, or filled with the neutral element `start`."""
        if start is None:
            return self.empty(extents, dtype)
        self.fit([extents])
        kind = tensor_type(dtype, static(extents))
        made = self.insert_op(tensor.SplatOp.create(operands=[start.ssa, *dynamic(extents)], result_types=[kind]))
        return Tensor(made, dtype, tuple(extents))

    def _generic(
        self,
        extents: Sequence[Extent],
        iterators: Sequence[IteratorTypeAttr],
        outputs: Sequence[tuple[str, Sequence[int], Scalar | None]],
        fn: Callable[[BodyBuilder, Sequence[Scalar]], Any],
    ) -> list[Tensor]:
        """Build a linalg.generic over `extents`. outputs: (dtype, indexing dims, initial value) for each output."""
        extents = tuple(self.canonical(n) for n in extents)
        rank = len(extents)
        starts = [self._initial([extents[d] for d in dims], dtype, start) for dtype, dims, start in outputs]
        block = Block(arg_types=[element_type(dtype) for dtype, _, _ in outputs])
        body = BodyBuilder(block, self._fastmath, extents, self.canonical)
        with body.active():
            results = fn(body, [Scalar(arg, dtype) for arg, (dtype, _, _) in zip(block.args, outputs, strict=True)])
        results = results if isinstance(results, tuple | list) else (results,)
        block.add_op(linalg.YieldOp.create(operands=[r.ssa for r in results]))
        body.drop_unused_indices()
        maps = [index_map(rank, where) for _, where in body.reads]
        maps += [index_map(rank, tuple(map(dimension, dims))) for _, dims, _ in outputs]
        op = generic([x.ssa for x, _ in body.reads], [x.ssa for x in starts], Region(block), maps, iterators)
        self._builder.insert(op)
        results = [Tensor(ssa, x.dtype, x.extents) for ssa, x in zip(op.results, starts, strict=True)]
        return [self._unwrap(x) if x.rank == 0 else x for x in results]

    def _unwrap(self, x: Tensor) -> Tensor:
        """The scalar in a tensor of rank 0, such as the result of a reduction."""
        made = tensor.ExtractOp.create(operands=[x.ssa], result_types=[element_type(x.dtype)])
        return Tensor(self.insert_op(made), x.dtype)

    def _combine(self, s: IndexBuilder, kind: str, x: Scalar, y: Scalar) -> Scalar:
        with s.using(self.reassociate):
            return s.operate({"and": "and_", "or": "or_"}.get(kind, kind), x, y)
