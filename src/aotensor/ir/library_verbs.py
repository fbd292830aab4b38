"""Tensor verbs that become one operation of the `aot` dialect: what linalg cannot say."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from xdsl.ir import Operation, SSAValue

from aotensor.core import dtypes
from aotensor.ir.dialect import CumulateOp, NonzeroOp, RecurOp, ScatterOp, SortOp
from aotensor.ir.scalar_builder import Scalar
from aotensor.ir.types import tensor_type
from aotensor.ir.verbs import Extent, Tensor, Verbs


class LibraryVerbs(ABC):
    """The part of the tensor builder that inserts operations of our own, on top of a few verbs of the other part."""

    scalars: Verbs
    _bounds: dict[SSAValue, Extent]
    """Tensors whose elements are positions on an axis of a known extent."""

    @abstractmethod
    def cast(self, x: Tensor, dtype: str) -> Tensor: ...

    @abstractmethod
    def tabulate(self, extents: Sequence[Extent], dtype: str, fn: Callable[..., Any]) -> Tensor: ...

    @abstractmethod
    def item(self, x: Tensor) -> Scalar: ...

    @abstractmethod
    def reduce(self, kind: str, x: Tensor, axes: Sequence[int], dtype: str | None = None) -> Tensor: ...

    @abstractmethod
    def _is_same(self, a: Extent, b: Extent) -> bool: ...

    @abstractmethod
    def _insert(self, op: Operation) -> SSAValue: ...

    def cumulate(self, kind: str, x: Tensor, axis: int, dtype: str | None = None) -> Tensor:
        x = self.cast(x, dtype or x.dtype)
        return Tensor(self._insert(CumulateOp(kind, x.ssa, axis)), x.dtype, x.extents)

    def recur(self, factors: Tensor, terms: Tensor, axis: int) -> Tensor:
        op = RecurOp(factors.ssa, terms.ssa, axis, self.scalars.fastmath)
        return Tensor(self._insert(op), factors.dtype, factors.extents)

    def nonzero(self, mask: Tensor) -> list[Tensor]:
        count = self.scalars.cast(self.item(self.reduce("add", mask, range(mask.rank), "int64")), dtypes.INDEX)
        op = NonzeroOp(mask.ssa, count.ssa)
        self._insert(op)
        self._bounds.update(zip(op.positions, mask.extents, strict=True))
        return [Tensor(x, "int64", (count,)) for x in op.positions]

    def is_within(self, positions: Tensor, extent: Extent) -> bool:
        bound = self._bounds.get(positions.ssa)
        return bound is not None and self._is_same(bound, extent)

    def sort(self, x: Tensor, axis: int) -> tuple[Tensor, Tensor]:
        op = SortOp(x.ssa, axis, tensor_type("int64", x.static_shape), dtypes.is_unsigned(x.dtype))
        self._insert(op)
        return Tensor(op.values, x.dtype, x.extents), Tensor(op.permutation, "int64", x.extents)

    def scatter(
        self, kind: str, x: Tensor, y: Tensor, axes: Sequence[int], indices: Sequence[Tensor], start: int
    ) -> Tensor:
        tensors = [self.tabulate([1], i.dtype, lambda s, _, i=i: s.load(i)) if i.rank == 0 else i for i in indices]
        op = ScatterOp(kind, x.ssa, y.ssa, axes, [i.ssa for i in tensors], start)
        return Tensor(self._insert(op), x.dtype, x.extents)
