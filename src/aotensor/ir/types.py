"""MLIR types of aotensor dtypes and tensors, and the dtype of each element type."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, get_args

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    BytesAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
    MemRefType,
    TensorType,
    VectorType,
)
from xdsl.ir import Attribute, SSAValue

from aotensor.core import dtypes
from aotensor.core.types import Array
from aotensor_runtime.arrays.dtypes import DTYPES

f32 = Float32Type()
f64 = Float64Type()
index = IndexType()
i1 = IntegerType(1)
i8 = IntegerType(8)
i32 = IntegerType(32)
i64 = IntegerType(64)
_ELEMENTS: Final[dict[str, Any]] = {
    str(kind): kind for kind in (i1, i8, IntegerType(16), i32, i64, *(kind() for kind in get_args(AnyFloat)))
}
DTYPE_OF_FLOAT: Final = {_ELEMENTS[record.ir]: name for name, record in DTYPES.items() if record.kind == "f"}
"""The dtype of each floating-point type of MLIR."""
_SIGNED: Final = DTYPE_OF_FLOAT | {_ELEMENTS[record.ir]: name for name, record in DTYPES.items() if record.kind == "i"}

SEGMENTS: Final = "operandSegmentSizes"
"""The property with the sizes of the groups of operands of an operation."""


@lru_cache(maxsize=4096)
def segment_sizes(*sizes: int) -> Attribute:
    """The value of the property `SEGMENTS`."""
    return DenseArrayBase.from_list(i32, sizes)


def element_type(dtype: str) -> Any:
    """MLIR element type of a dtype. MLIR integers are signless: int8 and uint8 are both i8, bool is i1.

    Annotated as Any, since xDSL's signatures want integer or float types, which the dtype determines.
    """
    return index if dtype == dtypes.INDEX else _ELEMENTS[DTYPES[dtype].ir]


def dtype_of_buffer(buffer: SSAValue) -> str:
    """The dtype of a memref's elements; integers count as signed."""
    return _SIGNED[type_of_buffer(buffer).element_type]


def type_of_buffer(buffer: SSAValue) -> MemRefType[Any]:
    """The type of a memref."""
    assert isinstance(buffer.type, MemRefType), buffer.type
    return buffer.type


def kept_axes(sizes: Sequence[int], shape: Sequence[int]) -> list[int]:
    """The axes of a subview that its result keeps; dropped axes have one element, and are interchangeable."""
    kept: list[int] = []
    for axis, size in enumerate(sizes):
        if len(kept) < len(shape) and size == shape[len(kept)]:
            kept.append(axis)
    assert len(kept) == len(shape), (sizes, shape)
    return kept


def shape_of(x: SSAValue) -> tuple[int, ...]:
    """The shape of a tensor, with DYNAMIC_INDEX for extents that are not static."""
    assert isinstance(x.type, TensorType)
    return x.type.get_shape()


def register_name(element: Attribute) -> str:
    """LLVM's name of the type of registers that hold a float."""
    return DTYPES[DTYPE_OF_FLOAT[element]].llvm


def is_half_type(element: Attribute) -> bool:
    """Is a type, or that of a vector's lanes, one that is stored but not used in arithmetic, such as f16?"""
    return dtypes.is_half(DTYPE_OF_FLOAT.get(lane_type(element), ""))


def lane_type(kind: Attribute) -> Attribute:
    """The type of the lanes of a vector; any other type is returned unchanged."""
    return kind.element_type if isinstance(kind, VectorType) else kind


def tensor_type(dtype: str, shape: Sequence[int | None]) -> TensorType[Attribute]:
    """The type tensor<...> of a shape, with `None` for a dynamic extent."""
    return _tensor_type(dtype, tuple(shape))


@lru_cache(1024)
def _tensor_type(dtype: str, shape: tuple[int | None, ...]) -> TensorType[Attribute]:
    return TensorType(element_type(dtype), [DYNAMIC_INDEX if n is None else n for n in shape])


def dense_elements(array: Array, kind: Any) -> DenseIntOrFPElementsAttr:
    """The attribute with the elements of an array.   kind: its tensor type, with an element type of the same bits

    Whole numbers and floats are packed at once: xDSL's `from_list` converts 200,000 elements in a second.
    """
    if array.dtype.kind in "iuf":
        packed = array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
        return DenseIntOrFPElementsAttr(kind, BytesAttr(packed))
    return DenseIntOrFPElementsAttr.from_list(kind, array.ravel().tolist())


def value_type(dtype: str, shape: Sequence[int | None]) -> Attribute:
    """The type of a value at tensor level: the element type for rank 0, else a tensor."""
    return tensor_type(dtype, shape) if shape else element_type(dtype)


def memref_type(dtype: str, shape: Sequence[int | None]) -> MemRefType[Attribute]:
    """The type memref<...> of a shape in row-major order, with `None` for a dynamic extent."""
    return MemRefType(element_type(dtype), [DYNAMIC_INDEX if n is None else n for n in shape])


def element_bytes(element: Attribute) -> int:
    """The size of an element in memory, in bytes."""
    if isinstance(element, IntegerType):
        bits: int = element.width.data
        return max(bits // 8, 1)
    if element == index:
        return 8
    return dtypes.itemsize(DTYPE_OF_FLOAT[element])
