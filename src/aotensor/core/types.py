"""TensorType: dtype, rank and static information on each dim."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from aotensor.core import dtypes
from aotensor.errors import ArgumentTypeError, GraphOverflowError, GraphTypeError, GraphValueError
from aotensor_runtime.arrays.plain import DEEPEST as _DEEPEST
from aotensor_runtime.arrays.plain import dtype_hint, plain_array

Dim: TypeAlias = int | str | None
"""An extent: a number, a name (the same name is the same extent everywhere in one function) or unknown."""

Array: TypeAlias = NDArray[Any]

MAX_ELEMENTS: Final = (1 << 60) - (1 << 12)
"""Largest number of elements of an array of any dtype: 8 times it fits 63 bits, even if rounded to float64."""

DEEPEST: Final = _DEEPEST
"""Deepest nesting of lists: the largest rank of an array."""

LARGEST_INT: Final = 2**63 - 1
"""The largest int64, the dtype of extents and positions."""


def within_reach(positions: int | np.integer[Any]) -> int:
    """Clamp a position to ±MAX_ELEMENTS, which is larger than any extent."""
    return max(-MAX_ELEMENTS, min(int(positions), MAX_ELEMENTS))


def checked_int(value: int | np.integer[Any], what: str) -> int:
    """An int that int64 arithmetic can use.   Raises: GraphOverflowError if it does not fit."""
    if not -LARGEST_INT - 1 <= value <= LARGEST_INT:
        raise GraphOverflowError(f"{what} of {value} does not fit 64 bits")
    return int(value)


@dataclass(frozen=True, slots=True)
class TensorType:
    """dtype and dims of a dense tensor; broadcasting happens along dims that are the number 1.

    Raises: UnsupportedError for a dtype that cannot be compiled, GraphValueError for a negative dim or for more than
    MAX_ELEMENTS elements, GraphTypeError for a dim that is neither int, str nor None.
    """

    dtype: str
    shape: tuple[Dim, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", dtypes.canonical(self.dtype))
        object.__setattr__(self, "shape", checked_dims(self.shape))
        if math.prod(dim for dim in self.shape if isinstance(dim, int) and dim) > MAX_ELEMENTS:
            raise GraphValueError(f"{self} is too large: an array has at most {MAX_ELEMENTS} elements")

    @property
    def rank(self) -> int:
        return len(self.shape)

    ndim = rank

    @property
    def static_shape(self) -> tuple[int | None, ...]:
        """The dims as numbers, None where the extent is known at run time only."""
        return tuple(dim if isinstance(dim, int) else None for dim in self.shape)

    @property
    def broadcastable(self) -> tuple[bool, ...]:
        return tuple(dim == 1 for dim in self.shape)

    def with_dtype(self, dtype: str) -> TensorType:
        return TensorType(dtype, self.shape)

    def __str__(self) -> str:
        dims = ", ".join("?" if dim is None else str(dim) for dim in self.shape)
        return f"{self.dtype}[{dims}]" if self.shape else self.dtype

    def filter(self, value: object, strict: bool = False, allow_downcast: bool | None = None) -> Array:
        """`value` as an array of this type, converted if that is lossless.

        strict: accept an array of exactly this dtype and rank, convert nothing.
        allow_downcast: True permits float64 → float32 and the like; without it Python numbers and lists convert only if
        their values fit exactly, floats never to integers.

        Raises: GraphTypeError for a dtype, rank or static dim that does not fit, and for anything but an array of
        numbers.
        """
        if strict and not (isinstance(value, np.ndarray) and value.dtype == self.dtype):
            raise GraphTypeError(f"expected an array of {self}, found {_describe(value)}")
        array = as_array(value)
        if array.dtype != self.dtype:
            array = self._convert(value, array, allow_downcast)
        if array.ndim != self.rank:
            raise GraphTypeError(f"expected rank {self.rank} ({self}), found rank {array.ndim} ({_describe(value)})")
        for axis, (dim, extent) in enumerate(zip(self.shape, array.shape, strict=True)):
            if isinstance(dim, int) and dim != extent:
                raise GraphTypeError(f"expected extent {dim} along axis {axis} ({self}), found {extent}")
        return array

    def _convert(self, value: object, array: Array, allow_downcast: bool | None) -> Array:
        if dtypes.kind_of(array.dtype) not in _KIND_ORDER:
            raise GraphTypeError(f"expected {self}, found {_describe(value)}", hint=dtype_hint(array.dtype))
        is_literal = isinstance(value, bool | int | float | complex | list | tuple) and not isinstance(
            value, np.generic
        )
        if np.can_cast(array.dtype, self.dtype, "safe") or (array.size == 0 and is_literal):
            return array.astype(self.dtype)
        if array.dtype.kind == "c" and not dtypes.is_complex(self.dtype):
            raise GraphTypeError(f"{_describe(value)} does not fit {self}", hint=dtype_hint(array.dtype))
        with np.errstate(over="ignore", invalid="ignore"):
            found = cast_array(array, self.dtype)
        is_exact = is_literal and np.array_equal(found, array, equal_nan=dtypes.kind_of(array.dtype) in "fc")
        if is_exact and _KIND_ORDER[dtypes.kind_of(array.dtype)] <= _KIND_ORDER[dtypes.kind_of(found.dtype)]:
            return found
        if allow_downcast and np.can_cast(array.dtype, self.dtype, "same_kind"):
            return found
        hint = (
            "pass allow_input_downcast=True or convert it"
            if dtypes.kind_of(array.dtype) in "fc"
            else "convert it first"
        )
        hint = hint if dtypes.is_complex(self.dtype) else dtype_hint(array.dtype) or hint
        raise GraphTypeError(f"{_describe(value)} does not fit {self} without loss", hint=hint)


_KIND_ORDER = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3}
"""Order of kinds: literals convert to their own kind or a later one, if their values fit."""


def cast_array(x: Array, dtype: np.dtype[Any] | str) -> Array:
    """`x.astype(dtype)`, rounded once: ml_dtypes converts float64 and large integers to its dtypes by way of float32.

    The float32 on the way has the last bit set where it is not exact (round to odd: Boldo and Melquiond, "Emulation of
    FMA and correctly rounded sums", 2008, theorem 1).
    """
    record = dtypes.DTYPES.get(np.dtype(dtype).name)
    is_foreign = record is not None and bool(record.package)
    if not is_foreign or x.dtype.itemsize < 4 or x.dtype.kind not in "iuf" or x.dtype == np.float32:
        return x.astype(dtype)
    wide = np.asarray(x, np.float64)
    near = np.asarray(wide.astype(np.float32))
    bits = near.view(np.int32)
    is_odd = (bits & 1 == 1) | (near == wide) | np.isnan(wide)
    step = np.where(np.abs(near.astype(np.float64)) > np.abs(wide), -1, 1)
    return np.asarray(np.where(is_odd, bits, bits + step).astype(np.int32)).view(np.float32).astype(dtype)


def as_array(value: object) -> Array:
    """`value` as an array of the dtype that NumPy infers.   Raises: GraphTypeError if that changed a value."""
    try:
        return plain_array(value)
    except ArgumentTypeError as error:
        raise GraphTypeError(error.diagnostic.title, hint=error.diagnostic.hint) from error


def as_items(items: object, what: str) -> list[Any]:
    """The items of a sequence as a tuple.   Raises: GraphTypeError for anything else, and for a str."""
    if isinstance(items, list | tuple):
        return list(items)
    if isinstance(items, str | bytes) or not isinstance(items, Iterable) or np.ndim(items) == 0:  # type: ignore[arg-type]
        raise GraphTypeError(f"{what} must be a sequence, not {items!r:.60}")
    return list(items)


def checked_dims(shape: Any) -> tuple[Dim, ...]:
    """Check the dims of a type.   Raises: GraphTypeError for anything but dims, GraphValueError for an invalid dim."""
    return tuple(_checked_dim(dim) for dim in as_items(shape, "a shape"))


def _checked_dim(dim: object) -> Dim:
    if dim is None or (isinstance(dim, str) and dim.isidentifier()):
        return dim
    if isinstance(dim, str):
        raise GraphValueError(f"dim name {dim!r} is not an identifier")
    if isinstance(dim, bool) or not isinstance(dim, int | np.integer):
        raise GraphTypeError(f"a dim must be an int, a name or None, not {dim!r}")
    if dim < 0:
        raise GraphValueError(f"dim {dim} is negative")
    return checked_int(dim, "a dim")


def _describe(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype}{list(value.shape)}"
    return f"{type(value).__name__} {value!r:.40}"


def merge_dims(dims: Iterable[Dim]) -> Dim:
    """The dim of a broadcast axis: a number wins over a name, a name over unknown; 1 gives way to all.

    Raises: GraphValueError if two different numbers other than 1 meet.
    """
    result: Dim = 1
    for dim in dims:
        if dim == 1 or dim == result:
            continue
        if result == 1 or result is None or (isinstance(result, str) and isinstance(dim, int)):
            result = dim
        elif isinstance(result, int) and isinstance(dim, int):
            raise GraphValueError(f"extents {result} and {dim} do not broadcast")
    return result


def broadcast_shapes(shapes: Sequence[tuple[Dim, ...]]) -> tuple[Dim, ...]:
    """The shape of an elementwise result: axes align at the right, missing axes have extent 1.

    Raises: GraphValueError naming the axis where two extents differ.
    """
    rank = max((len(shape) for shape in shapes), default=0)
    padded = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    merged: list[Dim] = []
    for axis in range(rank):
        try:
            merged.append(merge_dims(shape[axis] for shape in padded))
        except GraphValueError as error:
            raise GraphValueError(f"{error.diagnostic.title} along axis {axis}") from error
    return tuple(merged)


def dim_name(argument: str, axis: int, dim: Dim) -> str:
    """The name of a dim in signatures: its own name, `X_0` for an unnamed dim, "" for a number."""
    return "" if isinstance(dim, int) else dim or f"{argument}_{axis}"


def normalise_axis(axis: int, rank: int) -> int:
    """A non-negative axis.   Raises: GraphTypeError for a non-integer, AxisOutOfRange (ValueError) otherwise."""
    if isinstance(axis, bool) or not isinstance(axis, int | np.integer):
        raise GraphTypeError(f"an axis must be an int, not {axis!r}")
    if not -rank <= axis < rank:
        raise GraphValueError(f"axis {axis} is out of range for rank {rank}")
    return int(axis) % rank


def normalise_axes(axis: int | Sequence[int] | None, rank: int) -> tuple[int, ...]:
    """Sorted, distinct, non-negative axes; None means all.   Raises: GraphValueError for a repeated axis."""
    if axis is None:
        return tuple(range(rank))
    axes = [axis] if isinstance(axis, int | np.integer) else as_items(axis, "an axis")
    result = sorted(normalise_axis(one, rank) for one in axes)
    if len(set(result)) != len(result):
        raise GraphValueError(f"axis {tuple(axes)} names one axis twice")
    return tuple(result)
