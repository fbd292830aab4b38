"""Constant patterns: the positions of the stored entries of a sparse input or output, the same in every call."""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from aotensor_runtime.json_node import ManifestError, Node, require
from aotensor_runtime.signature import FunctionSpec, SparseSpec, SparseValue

MOST_RECORDED: Final = 1 << 16
"""Largest recorded pattern, in numbers of indptr and indices together."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """The pattern of a CSR or CSC matrix, as Python integers."""

    indptr: list[int]
    indices: list[int]

    @property
    def majors(self) -> list[int]:
        """The row of each stored entry of CSR, or the column of each of CSC."""
        return [i for i in range(len(self.indptr) - 1) for _ in range(self.indptr[i], self.indptr[i + 1])]


def packed_pattern(indptr: Any, indices: Any) -> str:
    """A pattern as text: differences of neighbours, compressed; empty for a large one, which is not recorded."""
    numbers = np.concatenate([indptr, indices]).astype("<i8")
    if len(numbers) > MOST_RECORDED:
        return ""
    return base64.b64encode(zlib.compress(np.diff(numbers, prepend=0).tobytes(), 9)).decode()


def recorded_pattern(spec: FunctionSpec, value: SparseValue, is_input: bool = False) -> Pattern | None:
    """The recorded pattern of an input or output; None if calls may have different ones, or it is too large.

    Raises: ManifestError for a text that does not fit the input or output
    """
    if not value.pattern:
        return None
    where = f"function {spec.name}: the pattern of {value.name}"
    arrays = spec.inputs if is_input else spec.outputs
    count, pointers = (arrays[value.first + k].shape[0] for k in (1, 3))
    is_known = isinstance(pointers, int) and (isinstance(count, int) or is_input)
    require(is_known, where, "its extents are not numbers")
    assert isinstance(pointers, int)
    most = MOST_RECORDED if not isinstance(count, int) else count + pointers
    require(most <= MOST_RECORDED, where, f"more than {MOST_RECORDED} numbers")
    try:
        data = zlib.decompressobj().decompress(base64.b64decode(value.pattern, validate=True), 8 * most + 1)
    except (binascii.Error, ValueError, zlib.error) as error:
        raise ManifestError(f"{where} cannot be read ({error})") from error
    if not isinstance(count, int):
        count = max(len(data) // 8 - pointers, 0)
    size = 8 * (count + pointers)
    require(len(data) == size, where, f"{len(data)} bytes instead of {size}")
    numbers = np.cumsum(np.frombuffer(data, "<i8"))
    indptr, indices = numbers[:pointers], numbers[pointers:]
    minor = value.shape[1 - value.major]
    is_valid = indptr[:1].tolist() == [0] and indptr[-1:].tolist() == [count] and bool(np.all(np.diff(indptr) >= 0))
    is_inside = isinstance(minor, int) and bool(np.all((indices >= 0) & (indices < minor)))
    require(is_valid and is_inside, where, "its numbers are not those of a pattern")
    return Pattern(indptr.tolist(), indices.tolist())


def read_sparse(node: Node) -> SparseSpec:
    """Parse one sparse matrix of a manifest.   Raises: ManifestError"""
    name, kind, first, pattern = node.fields("name", "format", "first", "pattern", optional={"pattern": None})
    return SparseSpec(name.name(), kind.name(), first.count(), pattern.optional(Node.text))


def constant_inputs(spec: FunctionSpec) -> Sequence[SparseValue]:
    """The sparse inputs whose pattern is declared: calls with another one are refused."""
    return [value for value in spec.arguments if isinstance(value, SparseValue) and value.pattern is not None]


def constant_outputs(spec: FunctionSpec) -> Sequence[SparseValue]:
    """The sparse outputs with the same pattern in every call."""
    return [value for value in spec.produced if isinstance(value, SparseValue) and value.pattern is not None]


def values_take_context(spec: FunctionSpec) -> bool:
    """Does the values entry expect an aotensor_context, for other outputs or for LAPACK functions?"""
    others = [value for value in spec.produced if value not in constant_outputs(spec)]
    return bool(spec.lapack) or any(isinstance(value, SparseValue) or value.is_allocated for value in others)
