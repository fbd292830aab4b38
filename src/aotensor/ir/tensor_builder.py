"""The tensor builder that ops use for lowering, with methods for the operations of the `aot` dialect."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from xdsl.dialects import tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, i64

from aotensor.core import dtypes
from aotensor.core.types import Array
from aotensor.graph.subgraph import Subgraph
from aotensor.graph.variable import Variable
from aotensor.ir.dialect import CumulateOp, LapackOp, RecurOp, SelectOp, SortOp
from aotensor.ir.dialect_sparse import (
    DirectOp,
    ExpandSlicesOp,
    KernelOp,
    NonzeroOp,
    PatternOp,
    ProductAtOp,
    ScatterOp,
    SegmentSumOp,
    SumAtOp,
)
from aotensor.ir.index_builder import BodyBuilder, Extent, Tensor, align, dynamic, static
from aotensor.ir.location import locate_after
from aotensor.ir.primitive_builder import PrimitiveBuilder
from aotensor.ir.scalar_builder import Scalar
from aotensor.ir.types import tensor_type

if TYPE_CHECKING:
    from aotensor.ops.scan.branch import Branch
    from aotensor.ops.scan.op import Scan


class TensorBuilder(PrimitiveBuilder):
    """The tensor builder that ops use for lowering: the primitives, and the operations of the `aot` dialect."""

    def scan(self, op: Scan, operands: Sequence[Tensor]) -> tuple[Tensor, ...]:
        return self.regions.scan(self, op, operands)

    def branch(self, op: Branch, operands: Sequence[Tensor]) -> tuple[Tensor, ...]:
        return self.regions.branch(self, op, operands)

    def fused(self, body: Subgraph, operands: Sequence[Tensor]) -> tuple[Tensor, ...]:
        values = dict(zip(body.inputs, operands, strict=True))
        extents = self._fused_extents(body, values)

        def element(s: BodyBuilder, _: object) -> list[Scalar]:
            scalars: dict[Variable, Scalar] = {}
            for node in body.nodes:
                last = s.block.last_op
                for x in node.inputs:
                    if x not in scalars:
                        scalars[x] = s.load(values[x], *align(values[x], extents, s.indices))
                op: Any = node.op
                scalars[node.outputs[0]] = op.emit(s, *(scalars[x] for x in node.inputs))
                locate_after(last, s.block, self.locations.location_of(node))
            return [scalars[x] for x in body.outputs]

        return tuple(self.parallel(extents, [x.dtype for x in body.outputs], element))

    def _fused_extents(self, body: Subgraph, values: Mapping[Variable, Tensor]) -> tuple[Extent, ...]:
        """The extents of all values that a fused op computes, after the checks of each op in it.

        After an error, `where` is the op with incompatible operands, so that the importer names it.
        """
        known = {x: value.extents for x, value in values.items()}
        outside, block = self.where, self.block
        for node in body.nodes:
            self.where, last = node, block.last_op
            found = [known[x] for x in node.inputs]
            known[node.outputs[0]] = extents = self.broadcast_extents(found)
            if block.last_op is not last:
                locate_after(last, block, self.locations.location_of(node))
        self.where = outside
        return extents

    def insert(self, x: Tensor, y: Tensor, starts: Sequence[Extent], steps: Sequence[Extent]) -> Tensor:
        if x.rank == 0:
            return y
        lists = (starts, y.extents, steps)
        op = tensor.InsertSliceOp.build(
            operands=[y.ssa, x.ssa, *map(dynamic, lists)],
            result_types=[x.ssa.type],
            properties={
                key: DenseArrayBase.from_list(i64, [DYNAMIC_INDEX if n is None else n for n in static(ns)])
                for key, ns in zip(("static_offsets", "static_sizes", "static_strides"), lists, strict=True)
            },
        )
        return Tensor(self.insert_op(op), x.dtype, x.extents)

    # --- checks --------------------------------------------------------------------------------------------------

    def concatenate(self, xs: Sequence[Tensor], axis: int) -> Tensor:
        extents = [
            self.same_extent([x.extents[d] for x in xs], f"extents along axis {d} of the parts") if d != axis else 0
            for d in range(xs[0].rank)
        ]
        total: Extent = 0
        for x in xs:
            total = self.scalars.iadd(total, x.extents[axis])
        extents[axis] = total
        result = self.empty(extents, xs[0].dtype)
        start: Extent = 0
        for x in xs:
            starts: list[Extent] = [start if d == axis else 0 for d in range(x.rank)]
            result = self.insert(result, x, starts, [1] * x.rank)
            start = self.scalars.iadd(start, x.extents[axis])
        return result

    def cumulate(self, kind: str, x: Tensor, axis: int, is_reverse: bool = False) -> Tensor:
        fastmath = self.reassociate if kind == "add" and dtypes.is_float(x.dtype) else None
        return Tensor(self.insert_op(CumulateOp(kind, x.ssa, axis, fastmath, is_reverse)), x.dtype, x.extents)

    def recur(self, factors: Tensor, terms: Tensor, axis: int, is_reverse: bool = False) -> Tensor:
        op = RecurOp(factors.ssa, terms.ssa, axis, self.scalars.fastmath, is_reverse)
        return Tensor(self.insert_op(op), factors.dtype, factors.extents)

    def nonzero(self, mask: Tensor) -> list[Tensor]:
        count = self.scalars.cast(self.item(self.reduce("add", mask, range(mask.rank), "int64")), dtypes.INDEX)
        op = NonzeroOp(mask.ssa, count.ssa)
        self.insert_op(op)
        self.sizes.bound(count, mask.extents)
        self._bounds.update(zip(op.positions, mask.extents, strict=True))
        return [Tensor(x, "int64", (count,)) for x in op.positions]

    def is_within(self, positions: Tensor, extent: Extent) -> bool:
        bound = self._bounds.get(positions.ssa)
        if isinstance(bound, int) and isinstance(extent, int):
            return bound <= extent
        return bound is not None and self._is_same(bound, extent)

    def know(self, x: Tensor, contents: Callable[[], Array | None]) -> None:
        """Record that x is computed from constants alone; `contents` is a function that evaluates its elements."""
        self._contents[x.ssa] = contents

    def range_of(self, positions: Tensor) -> tuple[int, int] | None:
        """The least and largest element of a nonempty tensor that is computed from constants alone; else None."""
        contents = self._contents.get(positions.ssa)
        found = None if contents is None else contents()
        return None if found is None or not found.size else (int(found.min()), int(found.max()))

    def mark_as_range(self, positions: Tensor) -> Tensor:
        self._bounds[positions.ssa] = positions.extents[0]
        return positions

    def sort(self, x: Tensor, axis: int) -> tuple[Tensor, Tensor]:
        op = SortOp(x.ssa, axis, tensor_type("int64", x.static_shape), dtypes.is_unsigned(x.dtype))
        self.insert_op(op)
        self._bounds[op.permutation] = x.extents[axis]
        return Tensor(op.values, x.dtype, x.extents), Tensor(op.permutation, "int64", x.extents)

    def select_ranks(self, x: Tensor, ranks: Tensor) -> Tensor:
        return self._selected("ranks", x, ranks, ranks.extents[0])

    def select_few(self, x: Tensor, count: int, is_last: bool) -> Tensor:
        return self._selected("last" if is_last else "first", x, None, count)

    def _selected(self, kind: str, x: Tensor, ranks: Tensor | None, count: Extent) -> Tensor:
        extents = (*x.extents[:-1], count)
        self.fit([extents])
        result = tensor_type("int64", static(extents))
        op = SelectOp(kind, x.ssa, None if ranks is None else ranks.ssa, result, dtypes.is_unsigned(x.dtype))
        self._bounds[op.positions] = x.extents[-1]
        return Tensor(self.insert_op(op), "int64", extents)

    def scatter(
        self, kind: str, x: Tensor, y: Tensor, axes: Sequence[int], indices: Sequence[Tensor], start: int
    ) -> Tensor:
        tensors = [self.tabulate([1], i.dtype, lambda s, _, i=i: s.load(i)) if i.rank == 0 else i for i in indices]
        fastmath = self.reassociate if kind == "add" else None
        op = ScatterOp(kind, x.ssa, y.ssa, axes, [i.ssa for i in tensors], start, fastmath)
        return Tensor(self.insert_op(op), x.dtype, x.extents)

    def product_at(self, x: Tensor, y: Tensor, positions: Sequence[Tensor], extents: Sequence[Extent]) -> Tensor:
        extents = tuple(extents)
        self.fit([extents])
        kind = tensor_type(x.dtype, static(extents))
        op = ProductAtOp(x.ssa, y.ssa, [p.ssa for p in positions], dynamic(extents), kind)
        return Tensor(self.insert_op(op), x.dtype, extents)

    def segment_sum(self, x: Tensor, indptr: Tensor, extent: Extent) -> Tensor:
        init = self.zeros([extent, *x.extents[1:]], x.dtype)
        op = SegmentSumOp(x.ssa, indptr.ssa, init.ssa, self.reassociate)
        return Tensor(self.insert_op(op), x.dtype, init.extents)

    def expand_slices(self, x: Tensor, indptr: Tensor, extent: Extent) -> Tensor:
        into = self.empty([self.canonical(extent), *x.extents[1:]], x.dtype)
        return Tensor(self.insert_op(ExpandSlicesOp(x.ssa, indptr.ssa, into.ssa)), x.dtype, into.extents)

    def sum_at(self, x: Tensor, indices: Tensor, extent: Extent) -> Tensor:
        init = self.zeros([extent, *x.extents[1:]], x.dtype)
        op = SumAtOp(x.ssa, indices.ssa, init.ssa, self.reassociate)
        return Tensor(self.insert_op(op), x.dtype, init.extents)

    def pattern(
        self,
        kind: str,
        operands: Sequence[Tensor],
        extents: Sequence[Extent],
        results: Sequence[tuple[str, Sequence[Extent]]],
        is_whole: bool = False,
    ) -> tuple[Tensor, ...]:
        shapes = [tuple(shape) for _, shape in results]
        self.fit(shapes)
        types = [tensor_type(dtype, static(shape)) for dtype, shape in results]
        v = self.scalars
        op = PatternOp(
            kind, [x.ssa for x in operands], [v.index(n).ssa for n in extents],
            dynamic(n for shape in shapes for n in shape), types, v.fastmath, is_whole,
        )  # fmt: skip
        self.insert_op(op)
        return tuple(Tensor(x, dtype, shape) for x, (dtype, _), shape in zip(op.tensors, results, shapes, strict=True))

    def kernel(
        self,
        symbol: str,
        operands: Sequence[Tensor],
        batched: Sequence[bool],
        results: Sequence[tuple[str, Sequence[Extent]]],
    ) -> tuple[Tensor, ...]:
        samples = [x.extents[0] for x, on in zip(operands, batched, strict=True) if on]
        front = [self.same_extent(samples, "numbers of samples")] if samples else []
        shapes = [(*front, *shape) or (1,) for _, shape in results]
        self.fit(shapes)
        numbers = [not shape for _, shape in results]
        op = KernelOp(
            symbol, [x.ssa for x in operands], dynamic(n for shape in shapes for n in shape),
            [tensor_type(dtype, static(shape)) for (dtype, _), shape in zip(results, shapes, strict=True)],
            [*(x.dtype for x in operands), *(dtype for dtype, _ in results)], batched, numbers, self.scalars.fastmath,
        )  # fmt: skip
        self.insert_op(op)
        made = [Tensor(x, dtype, shape) for x, (dtype, _), shape in zip(op.tensors, results, shapes, strict=True)]
        return tuple(
            x if front or not is_number else Tensor(self.scalars.load(x, 0).ssa, x.dtype, ())
            for x, is_number in zip(made, numbers, strict=True)
        )

    def direct(
        self, kind: str, operands: Sequence[Tensor], results: Sequence[tuple[str, Sequence[Extent | None]]]
    ) -> tuple[Tensor, ...]:
        known = [[n for n in shape if n is not None] for _, shape in results]
        self.fit(known)
        types = [tensor_type(dtype, [n if isinstance(n, int) else None for n in shape]) for dtype, shape in results]
        op = DirectOp(kind, [x.ssa for x in operands], dynamic(n for shape in known for n in shape), types)
        self.insert_op(op)
        counts = iter(op.counts)
        found = []
        for x, (dtype, shape) in zip(op.tensors, results, strict=True):
            extents = tuple(Scalar(next(counts), dtypes.INDEX) if n is None else n for n in shape)
            found.append(Tensor(x, dtype, extents))
        return tuple(found)

    def lapack(
        self,
        kind: str,
        operands: Sequence[Tensor],
        results: Sequence[tuple[str, Sequence[Extent]]],
        error: str = "",
        **options: bool | int | str,
    ) -> tuple[Tensor, ...]:
        shapes = [tuple(extents) for _, extents in results]
        self.fit(shapes)
        types = [tensor_type(dtype, static(shape)) for dtype, shape in results]
        sizes = dynamic(n for shape in shapes for n in shape)
        op = LapackOp(kind, [x.ssa for x in operands], sizes, types, options)
        self.insert_op(op)
        if error:
            failure, v = Scalar(op.failure, "int64"), self.scalars
            found = v.cast(failure, "index")
            self.check(v.compare("eq", failure, v.constant(0, "int64")), error, found, kind="linalg")
        return tuple(Tensor(x, dtype, shape) for x, (dtype, _), shape in zip(op.tensors, results, shapes, strict=True))
