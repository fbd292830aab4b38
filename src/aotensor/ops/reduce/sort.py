"""Order along an axis: sort, argsort."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from aotensor.core import dtypes
from aotensor.core.builders import Scalar, ScalarBuilder, Tensor, TensorBuilder
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType, normalise_axis
from aotensor.graph.coercion import check_choice, coerced
from aotensor.graph.op import Apply, disconnected
from aotensor.graph.public import public
from aotensor.graph.variable import Variable, Variables, as_tensor
from aotensor.ops.batching import AxisOp
from aotensor.ops.linear import LinearOp
from aotensor.ops.shape.reshape import ravel


@frozen_dataclass
class Sort(AxisOp):
    """x → (x ascending along an axis, the int64 permutation that does it). Stable; nan comes last."""

    name: ClassVar[str] = "sort"
    axis: int

    def infer_type(self, x: TensorType) -> tuple[TensorType, TensorType]:
        normalise_axis(self.axis, x.rank)
        return x, x.with_dtype("int64")

    def reference(self, x: Array) -> tuple[Array, Array]:
        order = np.argsort(x, axis=self.axis, stable=True)
        return np.take_along_axis(x, order, self.axis), order

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        (x,), (_, order), (ct, _) = inputs, outputs, cotangents
        return [Permute(self.axis).transpose([x, order], ct)]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        (tx,), (_, order) = tangents, outputs
        return [Permute(self.axis)(tx, order), disconnected()]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True, False]]

    def lower(self, b: TensorBuilder, x: Tensor) -> tuple[Tensor, Tensor]:
        ordered, order = b.sort(b.cast(x, "uint8") if x.dtype == "bool" else x, self.axis)
        return b.cast(ordered, x.dtype), order


@frozen_dataclass
class Permute(AxisOp, LinearOp):
    """y[…, k, …] = x[…, p[…, k, …], …] along an axis, for a p that holds a permutation in every line."""

    takes_half: ClassVar[bool] = True
    name: ClassVar[str] = "permute_along_axis"
    notation: ClassVar[str] = "take_along_axis"
    axis: int

    def infer_type(self, x: TensorType, p: TensorType) -> TensorType:
        return x

    def reference(self, x: Array, p: Array) -> Array:
        return np.take_along_axis(x, p, self.axis)

    def transpose(self, inputs: Sequence[Variable], cotangent: Variable) -> Variable:
        inverse = Sort(self.axis).apply(inputs[1]).outputs[1]
        return Permute(self.axis)(cotangent, inverse)  # type: ignore[no-any-return]

    def lower(self, b: TensorBuilder, x: Tensor, p: Tensor) -> Tensor:
        def element(v: ScalarBuilder, *at: Scalar) -> Scalar:
            source = v.cast(v.load(p, *at), dtypes.INDEX)
            return v.load(x, *at[: self.axis], source, *at[self.axis + 1 :])

        return b.tabulate(p.extents, x.dtype, element)


def _check_kind(name: str, kind: str | None) -> None:
    check_choice(f"{name}: kind", kind, (None, "quicksort", "mergesort", "heapsort", "stable"))


def _sorted(x: Any, axis: int | None) -> tuple[Variable, ...]:
    x = as_tensor(x)
    line, along = (ravel(x), 0) if axis is None else (x, normalise_axis(axis, x.ndim))
    return Sort(along).apply(line).outputs


@public(numpy="sort", method="sort")
@coerced
def sort(x: Any, axis: int | None = -1, kind: str | None = None, stable: bool | None = None) -> Variable:
    """x ascending along an axis, None for all elements; nan comes last. Derivatives follow the permutation.

    kind, stable: one of NumPy's kinds; every sort is stable.

    Raises: GraphValueError for an axis out of range, or another kind.
    """
    _check_kind("sort", kind)
    return _sorted(x, axis)[0]


@public(numpy="argsort", method="argsort")
@coerced
def argsort(x: Any, axis: int | None = -1, kind: str | None = None, stable: bool | None = None) -> Variable:
    """int64 positions that sort x along an axis, None for all elements; stable, nan last. No gradient.

    kind, stable: as for `sort`.   Raises: as `sort`.
    """
    _check_kind("argsort", kind)
    return _sorted(x, axis)[1]
