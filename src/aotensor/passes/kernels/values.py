"""Values of kernels under translation: numbers known when compiling, scalars, and vectors in buffers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from xdsl.dialects import math
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue

from aotensor.core import dtypes
from aotensor.ir.index_builder import Extent
from aotensor.ir.loop_builder import LoopBuilder
from aotensor.ir.scalar_builder import Scalar
from aotensor.ir.types import dtype_of_buffer, element_type
from aotensor.kernels.language import LEAST, MOST

Number: TypeAlias = "Scalar | bool | int | float"
"""A scalar, or a number that is known when compiling and has the dtype that its use asks for."""


@dataclass(frozen=True)
class Vector:
    """A vector, or an array of higher rank, of a kernel: elements of a buffer.

    stored: their dtype in memory, which signless integers do not tell. at: position → indices of the buffer, by default
    the same. dtype: what they are converted to when they are read, and from when they are written; by default `stored`.
    extents: where the kernel may ask for them. is_input: may the kernel only read it?
    """

    buffer: SSAValue
    stored: str
    at: Callable[..., Sequence[Extent]] = lambda *where: where
    converted: str | None = None
    extents: tuple[Extent, ...] | None = None
    is_input: bool = False

    @property
    def dtype(self) -> str:
        """The dtype of elements in a kernel."""
        return self.converted or self.stored

    def fetch(self, b: LoopBuilder, *where: Extent) -> Scalar:
        """Emit the load of an element."""
        return b.cast(b.fetch(self.buffer, self.at(*where), self.stored), self.dtype)

    def store(self, b: LoopBuilder, value: Scalar, *where: Extent) -> None:
        """Emit the store of an element."""
        b.store(b.cast(value, self.stored), self.buffer, self.at(*where))

    def allocated(self, b: LoopBuilder, extents: Sequence[Extent]) -> Vector:
        """Allocate an array like this one, of other extents."""
        kind = self.buffer.type
        assert isinstance(kind, MemRefType)
        made = b.allocate(kind.element_type, extents)
        return replace(self, buffer=made, at=lambda *where: where, extents=tuple(extents), is_input=False)


def allocate_vector(b: LoopBuilder, dtype: str, n: Extent) -> Vector:
    """Allocate a vector of n elements of a dtype; of "index": int64 that are read as index."""
    if dtype == dtypes.INDEX:
        return Vector(b.allocate(element_type("int64"), [n]), "int64", converted=dtype, extents=(n,))
    return Vector(b.allocate(element_type(dtype), [n]), dtype, extents=(n,))


def as_vector(x: SSAValue | Vector, annotation: str) -> Vector:
    """An argument of a kernel as a vector of its annotation."""
    vector = x if isinstance(x, Vector) else Vector(x, dtype_of_buffer(x))
    return replace(vector, converted=dtypes.INDEX) if annotation == "Indices" else vector


def number_of(b: LoopBuilder, x: Number, dtype: str) -> Scalar:
    """A number as a scalar; one that is known when compiling becomes a constant of `dtype`."""
    if isinstance(x, Scalar):
        return x
    return b.index(x) if dtype == dtypes.INDEX and isinstance(x, int) else b.constant(x, dtype)


def own_dtype(x: Number, real: str) -> str:
    """The dtype of a number; of one that is known when compiling what a variable with this value has."""
    if isinstance(x, Scalar):
        return x.dtype
    return "bool" if isinstance(x, bool) else dtypes.INDEX if isinstance(x, int) else real


# --- builtin functions -----------------------------------------------------------------------------------------------


def _is_nan(b: LoopBuilder, x: Scalar) -> Number:
    return b.is_nan(x) if dtypes.is_float(x.dtype) else False


def _trailing_zeros(b: LoopBuilder, x: Scalar) -> Scalar:
    return b.cast(b.emit(math.CountTrailingZerosOp(x.ssa), x.dtype), dtypes.INDEX)


def _count_ones(b: LoopBuilder, x: Scalar) -> Scalar:
    return b.cast(b.emit(math.CtPopOp(x.ssa), x.dtype), dtypes.INDEX)


def _root(b: LoopBuilder, n: Scalar) -> Scalar:
    return b.cast(b.math("sqrt", b.cast(n, "float64")), dtypes.INDEX)


def order_key(b: LoopBuilder, x: Scalar) -> Scalar:
    """Emit `language.order_key`: of floats their bits, with those of negative ones in reverse order."""
    most = b.constant(MOST, "int64")
    if dtypes.is_float(x.dtype):
        x, zero = b.cast(x, "float64"), b.constant(0, "float64")
        bits = b.bitcast(b.select(b.compare("eq", x, zero), zero, x), "int64")
        signs = Scalar((bits >> 63).ssa, "uint64")
        below = Scalar((signs >> 1).ssa, "int64")
        return b.select(b.is_nan(x), most, bits ^ below)
    if x.dtype == "uint64":
        return Scalar(x.ssa, "int64") ^ LEAST
    return b.cast(x, "int64")


FUNCTIONS: Final[dict[str, Callable[[LoopBuilder, Any], Number]]] = {
    "abs": lambda b, x: b.abs(x),
    "count_ones": _count_ones,
    "int": lambda b, x: b.cast(x, dtypes.INDEX),
    "word": lambda b, x: b.cast(x, "int64"),
    "is_nan": _is_nan,
    "order_key": order_key,
    "root": _root,
    "trailing_zeros": _trailing_zeros,
}
"""Name → the function of one scalar, which has no effect and no errors."""

MATH: Final = ("sqrt", "exp", "expm1", "log", "log1p", "sin", "cos", "tan", "tanh", "floor", "ceil")
"""Elementary functions of one float."""
