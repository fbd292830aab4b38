"""Broadcasting, and assertions on shapes with their checks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from aotensor.core import dtypes
from aotensor.core.builders import Extent, Tensor, TensorBuilder
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, Dim, TensorType, normalise_axes
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.coercion import coerced
from aotensor.graph.op import Apply
from aotensor.graph.public import public
from aotensor.graph.variable import Variable, as_tensor
from aotensor.ops.batching import check_nondifferentiable
from aotensor.ops.create import alloc
from aotensor.ops.elementwise.arithmetic import second
from aotensor.ops.linear import LinearOp
from aotensor.ops.shape.extents import SymbolicExtent, as_extent, as_extents, dim_of


@frozen_dataclass
class SpecifyShape(LinearOp):
    """x, *sizes → x, whose extents are checked to be `dims`.

    dims: an int is an extent, None is unknown; if `is_given`, a name or None denotes the next of `sizes`.
    """

    takes_half: ClassVar[bool] = True
    name: ClassVar[str] = "specify_shape"
    notation: ClassVar[str] = "{0}"
    dims: tuple[Dim, ...]
    is_given: tuple[bool, ...]

    def infer_type(self, x: TensorType, *sizes: TensorType) -> TensorType:
        if x.rank != len(self.dims):
            raise GraphTypeError(f"expected rank {len(self.dims)}, found rank {x.rank}")
        dims: list[Dim] = []
        for axis, (old, new) in enumerate(zip(x.shape, self.dims, strict=True)):
            if isinstance(old, int) and isinstance(new, int) and old != new:
                raise GraphValueError(_mismatch(axis, str(old), str(new)))
            dims.append(new if isinstance(new, int) or old is None else old)
        return TensorType(x.dtype, tuple(dims))

    def reference(self, x: Array, *sizes: Array) -> Array:
        pending = iter(sizes)
        for axis, (dim, is_given) in enumerate(zip(self.dims, self.is_given, strict=True)):
            wanted = dim if isinstance(dim, int) else int(next(pending)) if is_given else x.shape[axis]
            if x.shape[axis] != wanted:
                raise GraphValueError(f"specify_shape: {_mismatch(axis, str(x.shape[axis]), str(wanted))}")
        return x.copy()

    def transpose(self, inputs: Sequence[Variable], cotangent: Variable) -> Variable:
        return cotangent

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        check_nondifferentiable(self, is_batched)
        return SpecifyShape((None, *self.dims), (False, *self.is_given)).apply(*inputs).outputs

    def lower(self, b: TensorBuilder, x: Tensor, *sizes: Tensor) -> Tensor:
        v = b.scalars
        pending = iter(sizes)
        extents: list[Extent] = []
        for axis, (dim, is_given) in enumerate(zip(self.dims, self.is_given, strict=True)):
            found = x.extents[axis]
            if not isinstance(dim, int) and not is_given:
                extents.append(found)
                continue
            wanted: Extent = dim if isinstance(dim, int) else v.cast(b.item(next(pending)), dtypes.INDEX)
            extents.append(wanted)
            if not (isinstance(wanted, int) and wanted == found):
                message = f"specify_shape: {_mismatch(axis, '{found}', '{expected}')}"
                b.check(v.compare("eq", v.index(found), v.index(wanted)), message, found=found, expected=wanted)
        return b.reshape(x, extents)


def _mismatch(axis: int, found: str, expected: str) -> str:
    return f"extent {found} along axis {axis} instead of {expected}"


@coerced
def specify_shape(x: Any, shape: Any) -> Variable:
    """x, asserted to have this shape: numbers become static dims, None is not checked, scalars are checked at run time.

    Raises: GraphValueError if an extent differs (at run time where it is not known), GraphTypeError for another rank.
    """
    x = as_tensor(x)
    entries: list[SymbolicExtent | None] = (
        [None if entry is None else as_extent(entry) for entry in shape]
        if isinstance(shape, list | tuple)
        else list(as_extents(shape))
    )
    pairs = list(zip(entries, x.static_shape, strict=False))
    if len(entries) == x.ndim and all(entry is None or entry == dim for entry, dim in pairs):
        return x  # type: ignore[no-any-return]
    dims = tuple(None if entry is None else dim_of(entry) for entry in entries)
    sizes = [entry for entry in entries if isinstance(entry, Variable)]
    return SpecifyShape(dims, tuple(entry is not None for entry in entries))(x, *sizes)  # type: ignore[no-any-return]


@coerced
def specify_broadcastable(x: Any, *axes: int) -> Variable:
    """x, asserted to have extent 1 along `axes`, so that it broadcasts there.   Raises: as specify_shape."""
    x = as_tensor(x)
    ones = normalise_axes(axes, x.ndim)
    return specify_shape(x, [1 if axis in ones else None for axis in range(x.ndim)])


@public(numpy="broadcast_to")
@coerced
def broadcast_to(x: Any, shape: Any) -> Variable:
    """x broadcast to a shape along new axes on the left and along dims that are statically 1.

    Raises: GraphValueError for an extent that does not fit (at run time where it is not known).
    """
    return alloc(x, *as_extents(shape))


@public(numpy="broadcast_arrays")
@coerced
def broadcast_arrays(*tensors: Any) -> list[Variable]:
    """All tensors broadcast to their common shape.   Raises: GraphValueError for extents that do not broadcast."""
    xs = [as_tensor(x) for x in tensors]
    results: list[Variable] = []
    for position, x in enumerate(xs):
        for other in (*xs[:position], *xs[position + 1 :]):
            x = second(other, x)
        results.append(x)
    return results
