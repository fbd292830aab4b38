"""The dtypes of arrays: one record each, which all that names or counts them asks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class DType:
    """What is known of a dtype.

    name: NumPy's. code: in descriptors of arrays, as the header has it. kind: NumPy's letter, one of b, i, u, f, c.
    bits: of one element in memory. c: the type that the header gives its elements. accumulator: the dtype in which its
    sums are taken. part: the dtype of real and imaginary part, of a complex one.
    """

    name: str
    code: int
    kind: str
    bits: int
    c: str
    accumulator: str
    part: str | None = None

    @property
    def size(self) -> int:
        """Bytes of one element."""
        return self.bits // 8


def _integer(code: int, name: str) -> DType:
    return DType(name, code, name[0], int(name.lstrip("uint")), f"{name}_t", name)


_RECORDS: Final = (
    DType("bool", 1, "b", 8, "uint8_t", "bool"),
    *map(_integer, range(2, 10), ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")),
    DType("float32", 10, "f", 32, "float", "float64"),
    DType("float64", 11, "f", 64, "double", "float64"),
    DType("complex64", 12, "c", 64, "aotensor_complex64", "complex128", "float32"),
    DType("complex128", 13, "c", 128, "aotensor_complex128", "complex128", "float64"),
)
DTYPES: Final[dict[str, DType]] = {record.name: record for record in _RECORDS}
"""The records by NumPy's names, in the order of their codes."""
