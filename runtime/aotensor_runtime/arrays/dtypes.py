"""The table of dtypes: one record each, the only source of their names and sizes.

A new storage dtype is a record here and a code in include/aotensor.h, if its format has the infinities, nans and
denormal numbers of IEEE 754. tests/house/test_dtypes.py checks that no other file names one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class DType:
    """Properties of a dtype.

    name: NumPy's, or that of ml_dtypes. code: in array descriptors, as in the header. kind: NumPy's letter, one
    of b, i, u, f, c (ml_dtypes uses V for bfloat16). bits: of one element in memory. c: the type of
    its elements in the header. accumulator: the dtype of its sums. compute: the dtype of its arithmetic, another one
    for storage-only dtypes. ir: the element type in MLIR; none for complex numbers, which are pairs there.
    llvm: the type of its values in LLVM IR. part: the dtype of real and imaginary part, of a complex one.
    digits: bits of the significand of a float. exponent: of 2, of its smallest normal number. package: the module that
    adds the dtype to NumPy; empty for NumPy's own.
    """

    name: str
    code: int
    kind: str
    bits: int
    c: str
    accumulator: str
    compute: str
    ir: str = ""
    llvm: str = ""
    part: str | None = None
    digits: int = 0
    exponent: int = 0
    package: str = ""

    @property
    def size(self) -> int:
        """Bytes of one element."""
        return self.bits // 8

    @property
    def is_stored_only(self) -> bool:
        """Is it a storage-only dtype, with arithmetic in another one?"""
        return self.compute != self.name


def _integer(code: int, name: str) -> DType:
    bits = int(name.lstrip("uint"))
    return DType(name, code, name[0], bits, f"{name}_t", name, name, f"i{bits}", f"i{bits}")


def _stored(code: int, name: str, bits: int, ir: str, digits: int, exponent: int, package: str = "") -> DType:
    c, llvm, compute = f"uint{bits}_t", f"i{bits}", "float32"
    return DType(name, code, "f", bits, c, compute, compute, ir, llvm, None, digits, exponent, package)


_RECORDS: Final = (
    DType("bool", 1, "b", 8, "uint8_t", "bool", "bool", "i1", "i1"),
    *map(_integer, range(2, 10), ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")),
    DType("float32", 10, "f", 32, "float", "float64", "float32", "f32", "float", digits=24, exponent=-126),
    DType("float64", 11, "f", 64, "double", "float64", "float64", "f64", "double", digits=53, exponent=-1022),
    DType("complex64", 12, "c", 64, "aotensor_complex64", "complex128", "complex64", part="float32"),
    DType("complex128", 13, "c", 128, "aotensor_complex128", "complex128", "complex128", part="float64"),
    _stored(14, "float16", 16, "f16", digits=11, exponent=-14),
    _stored(15, "bfloat16", 16, "bf16", digits=8, exponent=-126, package="ml_dtypes"),
)
DTYPES: Final[dict[str, DType]] = {record.name: record for record in _RECORDS}
"""The records by name, in the order of their codes."""
