"""Builder methods for operations of the `aot` dialect, which linalg cannot express."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.ir import Block, Operation, SSAValue

from aotensor.core import dtypes
from aotensor.core.types import Array
from aotensor.graph.op import Apply
from aotensor.graph.subgraph import Subgraph
from aotensor.graph.variable import Variable
from aotensor.ir.dialect import CumulateOp, LapackOp, NonzeroOp, RecurOp, SelectOp, SortOp
from aotensor.ir.dialect_sparse import (
    DirectOp,
    ExpandSlicesOp,
    KernelOp,
    PatternOp,
    ProductAtOp,
    ScatterOp,
    SegmentSumOp,
    SumAtOp,
)
from aotensor.ir.index_builder import BodyBuilder, Extent, IndexBuilder, Tensor, align, dynamic, static
from aotensor.ir.location import Locations, locate_after
from aotensor.ir.scalar_builder import Scalar
from aotensor.ir.sizes import Sizes
from aotensor.ir.types import tensor_type

if TYPE_CHECKING:
    from aotensor.ir.regions import Regions
    from aotensor.ops.scan.branch import Branch
    from aotensor.ops.scan.op import Scan


class LibraryBuilder(ABC):
    """The part of the tensor builder that inserts `aot` operations. The other parts implement its abstract methods."""

    scalars: IndexBuilder
    sizes: Sizes
    reassociate: FastMathFlagsAttr
    """The flags of sums, which may be reassociated unless the policy is strict."""
    _bounds: dict[SSAValue, Extent]
    """Tensors whose elements are positions on an axis → the extent of that axis."""
    _contents: dict[SSAValue, Callable[[], Array | None]]
    """Tensors that are computed from constants alone, and a function that evaluates their elements."""

    @abstractmethod
    def cast(self, x: Tensor, dtype: str) -> Tensor: ...

    @abstractmethod
    def tabulate(self, extents: Sequence[Extent], dtype: str, fn: Callable[..., Any]) -> Tensor: ...

    @abstractmethod
    def insert_op(self, op: Operation) -> SSAValue:
        """Insert an operation and return its first result."""

    @property
    @abstractmethod
    def regions(self) -> Regions:
        """The functions for bodies of loops and branches."""

    @abstractmethod
    def empty(self, extents: Sequence[Extent], dtype: str) -> Tensor: ...

    @abstractmethod
    def zeros(self, extents: Sequence[Extent], dtype: str) -> Tensor: ...

    @abstractmethod
    def canonical(self, n: Extent) -> Extent: ...

    @abstractmethod
    def fit(self, shapes: Iterable[Sequence[Extent]]) -> None: ...

    @abstractmethod
    def item(self, x: Tensor) -> Scalar: ...

    @abstractmethod
    def reduce(self, kind: str, x: Tensor, axes: Sequence[int], dtype: str | None = None) -> Tensor: ...

    @abstractmethod
    def _is_same(self, a: Extent, b: Extent) -> bool: ...

    @abstractmethod
    def check(
        self, condition: Scalar, message: str, found: Extent = 0, expected: Extent = 0, kind: str = "value"
    ) -> None: ...

    where: Apply | None
    locations: Locations

    @property
    @abstractmethod
    def block(self) -> Block: ...

    @abstractmethod
    def same_extent(self, extents: Sequence[Extent], what: str, kind: str = "value") -> Extent: ...

    @abstractmethod
    def parallel(self, extents: Sequence[Extent], dtypes: Sequence[str], fn: Callable[..., Any]) -> list[Tensor]: ...

    def scan(self, op: Scan, operands: Sequence[Tensor]) -> tuple[Tensor, ...]:
        return self.regions.scan(self, op, operands)  # type: ignore[arg-type]

    def branch(self, op: Branch, operands: Sequence[Tensor]) -> tuple[Tensor, ...]:
        return self.regions.branch(self, op, operands)  # type: ignore[arg-type]

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

    def broadcast_extents(self, shapes: Sequence[Sequence[Extent]]) -> tuple[Extent, ...]:
        """The extents of an elementwise result, after checks that its operands are compatible."""
        rank = max(map(len, shapes), default=0)
        extents: list[Extent] = []
        for axis in range(rank):
            meeting = [shape[axis - rank] for shape in shapes if len(shape) >= rank - axis]
            proper = [n for n in meeting if n != 1]
            extents.append(self.same_extent(proper, f"extents along axis {axis}") if proper else 1)
        return tuple(extents)

    def cumulate(self, kind: str, x: Tensor, axis: int, dtype: str | None = None) -> Tensor:
        x = self.cast(x, dtype or x.dtype)
        fastmath = self.reassociate if kind == "add" and dtypes.is_float(x.dtype) else None
        return Tensor(self.insert_op(CumulateOp(kind, x.ssa, axis, fastmath)), x.dtype, x.extents)

    def recur(self, factors: Tensor, terms: Tensor, axis: int) -> Tensor:
        op = RecurOp(factors.ssa, terms.ssa, axis, self.scalars.fastmath)
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

    def bounded_as(self, x: Tensor, other: Tensor) -> Tensor:
        """Record that elements of `other` are elements of x, and so have the same bound; return `other`."""
        number = self.sizes.number(x.ssa) if x.rank == 0 else None
        bound = self._bounds.get(x.ssa) if number is None or number < 0 else number + 1
        if bound is not None:
            self._bounds[other.ssa] = bound
        return other

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
