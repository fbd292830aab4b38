"""aotensor dtypes and tensor types as MLIR types, and which element type stands for which dtype."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
    MemRefType,
    TensorType,
)
from xdsl.ir import Attribute

from aotensor.core import dtypes

f32 = Float32Type()
f64 = Float64Type()
index = IndexType()
i1 = IntegerType(1)
i8 = IntegerType(8)
i32 = IntegerType(32)
i64 = IntegerType(64)


def element_type(dtype: str) -> Any:
    """MLIR element type of a dtype. MLIR integers are signless: int8 and uint8 are both i8, bool is i1.

    Typed as Any: what is an integer or a float by its dtype is so for xDSL's narrower signatures.
    """
    match dtype:
        case "float32":
            return f32
        case "float64":
            return f64
        case "bool":
            return i1
        case dtypes.INDEX:
            return index
        case _:
            return IntegerType(8 * dtypes.itemsize(dtype))


def tensor_type(dtype: str, shape: Sequence[int | None]) -> TensorType[Attribute]:
    """tensor<...> with `None` for an extent that is known at run time only."""
    return _tensor_type(dtype, tuple(shape))


@lru_cache(1024)
def _tensor_type(dtype: str, shape: tuple[int | None, ...]) -> TensorType[Attribute]:
    return TensorType(element_type(dtype), [DYNAMIC_INDEX if n is None else n for n in shape])


def value_type(dtype: str, shape: Sequence[int | None]) -> Attribute:
    """The type of a value at tensor level: of rank 0 the element itself, else a tensor."""
    return tensor_type(dtype, shape) if shape else element_type(dtype)


def memref_type(dtype: str, shape: Sequence[int | None]) -> MemRefType[Attribute]:
    """memref<...> in row-major order, with `None` for an extent that is known at run time only."""
    return MemRefType(element_type(dtype), [DYNAMIC_INDEX if n is None else n for n in shape])


def element_bytes(element: Attribute) -> int:
    """Bytes of an element in memory."""
    if isinstance(element, IntegerType):
        bits: int = element.width.data
        return max(bits // 8, 1)
    if element == index:
        return 8
    assert isinstance(element, Float32Type | Float64Type)
    return 4 if isinstance(element, Float32Type) else 8
