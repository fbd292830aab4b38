"""C types, literals and names for those of the loop level."""

from __future__ import annotations

import math
import re
import struct
from typing import Any, Final

from xdsl.dialects.builtin import IndexType, IntegerType, MemRefType, VectorType
from xdsl.ir import Attribute

from aotensor.ir.types import f32, f64
from aotensor_runtime.typed.parameters import is_reserved

_INTEGERS: Final = (8, 16, 32, 64)
_PLAIN: Final = 1 << 31


class NoType(Exception):
    """Raised for a type of the loop level that C99 does not have."""


def bits_of(kind: Attribute) -> int:
    """The width of an integer type in bits; an index has 64 bits."""
    return 64 if isinstance(kind, IndexType) else kind.width.data if isinstance(kind, IntegerType) else 0


def is_float(kind: Attribute) -> bool:
    """Is a type float32 or float64?"""
    return kind in (f32, f64)


def c_type(kind: Attribute) -> str:
    """The C type of a scalar: double, float, int64_t, bool.

    Raises: NoType for half precision, and for integers without a C99 type.
    """
    if kind == f64:
        return "double"
    if kind == f32:
        return "float"
    bits = bits_of(kind)
    if bits == 1:
        return "bool"
    if bits in _INTEGERS:
        return f"int{bits}_t"
    raise NoType(str(kind))


def memory_type(kind: Attribute) -> str:
    """The C type of an element in memory: that of a scalar, but a byte for a bool."""
    return "uint8_t" if bits_of(kind) == 1 else c_type(kind)


def element_of(kind: Attribute) -> Attribute:
    """The element type of a vector or buffer; a scalar type is returned unchanged."""
    return kind.element_type if isinstance(kind, VectorType | MemRefType) else kind


def lanes_of(kind: Attribute) -> int | None:
    """The number of lanes of a vector type, None for a scalar."""
    return int(kind.get_shape()[0]) if isinstance(kind, VectorType) else None


def literal(kind: Attribute, value: Any) -> str:
    """The C literal of a constant of a scalar type."""
    if is_float(kind):
        return _float(float(value), "f" if kind == f32 else "")
    bits = bits_of(kind)
    if bits == 1:
        return "true" if int(value) & 1 else "false"
    half = 1 << bits - 1
    number = (int(value) + half) % (2 * half) - half
    if number == -half:
        return f"INT{bits}_MIN"
    return str(number) if abs(number) < _PLAIN else f"INT64_C({number})"


def _float(value: float, suffix: str) -> str:
    if math.isnan(value):
        return "NAN"
    if math.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    if suffix:
        value = struct.unpack("f", struct.pack("f", value))[0]
        digits = next(text for n in range(1, 10) if struct.pack("f", float(text := f"{value:.{n}g}")) == _packed(value))
    else:
        digits = repr(value)
    return f"{digits}{'' if re.search('[.e]', digits) else '.0'}{suffix}"


def _packed(value: float) -> bytes:
    return struct.pack("f", value)


def identifier(text: str) -> str:
    """A C identifier for a symbol or a user's name: letters, digits and _."""
    clean = re.sub(r"\W", "_", text, flags=re.ASCII)
    if not clean or clean[0].isdigit():
        clean = f"x_{clean}"
    while is_reserved(clean) or clean in OWN:
        clean += "_"
    return clean


_MATH: Final = ("sqrt", "floor", "ceil", "trunc", "rint", "fabs", "copysign", "fma", "fmod")
OWN: Final = frozenset({
    "l", "true", "false", "main", "memcpy", "memmove", "malloc", "calloc", "realloc", "free", "signbit", "offsetof",
    *_MATH, *(f"{name}f" for name in _MATH),
})  # fmt: skip
"""Names that no variable of a function gets."""


def comment(text: str) -> str:
    """A C comment with a text, changed so that it cannot end the comment."""
    plain = " ".join(text.split()).replace("*/", "* /").replace("/*", "/ *").replace("\\", "/")
    return f"/* {plain.encode('ascii', 'replace').decode()} */"
