"""Ops that read single elements of a sparse matrix as dense numbers, and that make a matrix of such entries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, Dim, TensorType
from aotensor.errors import GraphValueError
from aotensor.graph.coercion import check_choice
from aotensor.graph.op import disconnected
from aotensor.graph.sparse_type import SPARSE_FORMATS, SparseTensorType
from aotensor.graph.variable import Variable, Variables, as_tensor
from aotensor.ops.elementwise.compare import cast, eq, switch
from aotensor.ops.index import subtensor
from aotensor.ops.ranges import arange
from aotensor.ops.reduce.sums import sum as sum_over
from aotensor.ops.shape.axes import dimshuffle
from aotensor.ops.shape.extents import as_extent, extent_of
from aotensor.sparse.checks import check_countable
from aotensor.sparse.compressed_axes import ExpandSlices, sum_major
from aotensor.sparse.csm import matrix_extent, matrix_of, parts_of
from aotensor.sparse.index.windows import WINDOW, WindowOp, check_positions, scatter_slices, slices_at, summed_entries
from aotensor.sparse.op import Compressed, need_sparse, type_error


@frozen_dataclass
class GetItemScalar(WindowOp):
    """(x, i, j) → x[i, j], a dense scalar of the dtype of x; 0 where nothing is stored. i, j: int64 inside of x.

    Gradient: regular, a matrix with the one entry z̄ at (i, j).
    """

    name: ClassVar[str] = "get_item_scalar"

    def infer_type(self, x: TensorType, i: TensorType, j: TensorType) -> TensorType:
        need_sparse(self, x)
        if any(found.rank != 0 or found.dtype != "int64" for found in (i, j)):
            raise type_error(self, "int64 scalars as positions", i, j)
        return TensorType(x.dtype)

    def reference(self, x: Any, i: Array, j: Array) -> Array:
        return np.asarray(x[int(i), int(j)])

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable] | None:
        x, *coordinates = inputs
        p = parts_of(x)
        major, minor = coordinates if p.format == "csr" else coordinates[::-1]
        entries = slice(subtensor(p.indptr, major), subtensor(p.indptr, major + 1))
        data, indices = subtensor(p.data, entries), subtensor(p.indices, entries)
        found = switch(eq(indices, minor), data, cast(0, data.dtype))
        return [cast(sum_over(found), data.dtype)]

    def apply_to(self, x: Variable, inputs: Sequence[Variable]) -> Variable:
        return super().apply_to(x, inputs) if x.is_sparse else subtensor(x, tuple(inputs[1:]))

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        x, *coordinates = inputs
        entry = (dimshuffle(value, [None]) for value in (cotangents[0], *coordinates))
        return [scatter_elements(x, *entry), disconnected(), disconnected()]


@frozen_dataclass
class GetItem2Lists(WindowOp):
    """(x, rows, columns) → the elements x[rows[k], columns[k]], a dense vector of the dtype of x.

    rows, columns: int64 vectors of one length, inside of x.

    Gradient: regular, a matrix with an entry z̄[k] for each pair; terms for one element add up.
    """

    name: ClassVar[str] = "get_item_2lists"

    def infer_type(self, x: TensorType, rows: TensorType, columns: TensorType) -> TensorType:
        need_sparse(self, x)
        return TensorType(x.dtype, (_common_dim(self, rows, columns),))

    def reference(self, x: Any, rows: Array, columns: Array) -> Array:
        _check_lengths(self, rows, columns)
        found = x[rows, columns] if len(rows) else ()  # SciPy gives a matrix for no indices
        return np.asarray(found, x.dtype).reshape(len(rows))

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable] | None:
        x, *coordinates = inputs
        p = parts_of(x)
        major, minor = coordinates if p.format == "csr" else coordinates[::-1]
        q = slices_at(p, major)
        wanted = ExpandSlices()(minor, q.indptr, q.indices)
        return [sum_major(q, switch(eq(q.indices, wanted), q.data, cast(0, q.data.dtype)))]

    def apply_to(self, x: Variable, inputs: Sequence[Variable]) -> Variable:
        return super().apply_to(x, inputs) if x.is_sparse else subtensor(x, tuple(inputs[1:]))

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        return [scatter_elements(inputs[0], cotangents[0], *inputs[1:]), disconnected(), disconnected()]


@frozen_dataclass
class ScatterElements(WindowOp):
    """(z, rows, columns, m, n) → the m × n matrix with an entry z[k] at (rows[k], columns[k]) for each k, canonical.

    The transpose of GetItem2Lists: duplicate entries add up. z: (k,). dims: m and n as far as they are known.
    """

    name: ClassVar[str] = "scatter_elements"
    notation: ClassVar[str] = "csr_matrix"
    format: str
    dims: tuple[Dim, Dim]
    index_dtype: str

    def __post_init__(self) -> None:
        check_choice(f"{self.name}: format", self.format, SPARSE_FORMATS)

    def infer_type(
        self, z: TensorType, rows: TensorType, columns: TensorType, m: TensorType, n: TensorType
    ) -> TensorType:
        if z.rank != 1:
            raise type_error(self, "a vector of entries", z)
        _common_dim(self, z, rows, columns)
        return SparseTensorType(self.format, z.dtype, self.dims, index_dtype=self.index_dtype)

    def reference(self, z: Array, rows: Array, columns: Array, m: Array, n: Array) -> Any:
        _check_lengths(self, z, rows, columns)
        return summed_entries(self.format, z, [rows, columns], (int(m), int(n)))

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable] | None:
        z, *coordinates, m, n = inputs
        extents = as_extent(m), as_extent(n)
        major = 0 if self.format == "csr" else 1
        count = extent_of(z, 0)
        one_each = [count, extents[1]] if major == 0 else [extents[0], count]
        dims: list[Dim] = list(self.dims)
        dims[major] = z.tensor_type.shape[0]
        indptr = arange(count + 1, dtype=self.index_dtype)
        indices = cast(
            check_countable(coordinates[1 - major], extents[1 - major], self.index_dtype, WINDOW), self.index_dtype
        )
        p = Compressed(self.format, z, indices, indptr, one_each[0], one_each[1], (dims[0], dims[1]), is_canonical=True)
        return [matrix_of(scatter_slices(p, coordinates[major], extents[major], self.dims[major]))]

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        rows, columns = inputs[1:3]
        found = GetItem2Lists().apply_to(cotangents[0], [cotangents[0], rows, columns])
        return [found, *(disconnected() for _ in inputs[1:])]


def scatter_elements(x: Variable, z: Variable, rows: Variable, columns: Variable) -> Variable:
    """A matrix of the format and extents of x with the entries z at (rows, columns); duplicate entries add up."""
    type = x.sparse_type  # type: ignore[attr-defined]
    extents = (as_tensor(matrix_extent(x, axis)) for axis in range(2))  # type: ignore[arg-type]
    op = ScatterElements(type.format, type.shape, type.index_dtype)
    return op(z, rows, columns, *extents)  # type: ignore[no-any-return]


def _common_dim(op: WindowOp, *types: TensorType) -> Dim:
    """The dim common to several vectors.   Raises: GraphTypeError, GraphValueError if they differ."""
    check_positions(op, types[-2:])
    known = {found.shape[0] for found in types if isinstance(found.shape[0], int)}
    if len(known) > 1:
        raise GraphValueError(f"{op.name}: lengths {' and '.join(map(str, sorted(known)))} differ")
    return known.pop() if known else None


def _check_lengths(op: WindowOp, *vectors: Array) -> None:
    lengths = sorted({len(x) for x in vectors})
    if len(lengths) > 1:
        raise GraphValueError(f"{op.name}: lengths {' and '.join(map(str, lengths))} differ")
