"""CSM and csm_properties: a sparse matrix made of dense vectors, and taken apart into them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Final

import numpy as np

from aotensor.core import dtypes
from aotensor.core.builders import Tensor, TensorBuilder
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, Dim, TensorType
from aotensor.errors import GraphValueError
from aotensor.graph.coercion import check_choice, coerced
from aotensor.graph.op import Apply, disconnected
from aotensor.graph.operations import sparse
from aotensor.graph.sparse_type import (
    BLOCKED,
    SPARSE_FORMATS,
    SparseConstant,
    SparseTensorType,
    SparseVariable,
    check_structure,
    is_canonical_structure,
)
from aotensor.graph.variable import Constant, Variable, Variables, as_tensor, constant
from aotensor.ops.create import zeros
from aotensor.ops.elementwise.compare import cast
from aotensor.ops.index import subtensor
from aotensor.ops.linear import ConstantOp
from aotensor.ops.shape.extents import SymbolicExtent, as_extent, extent_of
from aotensor.sparse.checks import CheckedStructure, Counted, check_count, check_countable
from aotensor.sparse.op import Compressed, SparseOp, need_sparse, scipy_matrix, type_error


@frozen_dataclass
class MatrixShape(ConstantOp):
    """int64 vector (rows, columns) of two integer scalars."""

    name: ClassVar[str] = "matrix_shape"
    notation: ClassVar[str] = "({0}, {1})"

    def infer_type(self, rows: TensorType, columns: TensorType) -> TensorType:
        return TensorType("int64", (2,))

    def reference(self, rows: Array, columns: Array) -> Array:
        return np.array([rows, columns], dtype=np.int64)

    def lower(self, b: TensorBuilder, rows: Tensor, columns: Tensor) -> Tensor:
        return b.concatenate([b.permute(b.cast(x, "int64"), [None]) for x in (rows, columns)], 0)


@frozen_dataclass
class CSM(SparseOp):
    """A matrix of the given format from its vectors; `CSC`, `CSR` and `BSR` are this op in the formats.

    (data, indices, indptr, shape) → sparse; data: (nnz,), indices: (nnz,), indptr: (major + 1,), integers; shape: 2
    integers. Data of bsr are (nnz, r, c) for blocks of r rows and c columns, which their type says. Entries may come in
    any order, with duplicates (they add up), and may be 0. `dims` are the extents where they are known. is_trusted: the
    vectors are known to be a matrix, and are not checked. is_canonical: they are known to be in order, no duplicates.

    Gradient: with respect to data only, the cotangent at each stored position in the order of data, regular.

    Raises: GraphTypeError for vectors of other kinds; GraphValueError for another format, and at the call for vectors
    that do not form a matrix.
    """

    name: ClassVar[str] = "CSM"
    takes_blocks: ClassVar[bool] = True
    format: str
    dims: tuple[Dim, Dim] = (None, None)
    is_trusted: bool = False
    is_canonical: bool = False

    def __post_init__(self) -> None:
        check_choice("CSM: format", self.format, SPARSE_FORMATS)

    def apply(self, *inputs: Any) -> Apply:
        if len(inputs) == 4:
            vectors = self.convert_inputs(inputs)
            dims = self.dims if self.dims != (None, None) else _dims_of(vectors[3])
            is_canonical = self.is_canonical or _is_known_canonical(self.format, *vectors)
            known = replace(self, dims=dims, is_canonical=is_canonical)
            if known != self:
                return known.apply(*vectors)
        return super().apply(*inputs)

    def convert_inputs(self, inputs: Sequence[Any]) -> list[Variable]:
        found = [as_tensor(x) for x in inputs]
        return [_fitting_literal(x) if position else x for position, x in enumerate(found)]

    def infer_type(self, data: TensorType, indices: TensorType, indptr: TensorType, shape: TensorType) -> TensorType:
        blocks = None
        if self.format == BLOCKED:
            if data.rank != 3 or None in data.static_shape[1:]:
                raise type_error(self, "data of shape (nnz, r, c) with numbers r and c", data)
            blocks = tuple(n for n in data.static_shape[1:] if n is not None)
        elif data.rank != 1:
            raise type_error(self, "a vector of data", data)
        for what, found in (("indices", indices), ("indptr", indptr), ("shape", shape)):
            if found.rank != 1 or found.dtype not in dtypes.INTEGERS:
                raise type_error(self, f"a vector of integers for {what}", found)
        if shape.shape[0] not in (2, None):
            raise GraphValueError(f"shape must have 2 elements, found {shape.shape[0]}")
        wide = "int64" if "int64" in (indices.dtype, indptr.dtype) else "int32"
        return SparseTensorType(
            self.format, data.dtype, self.dims, None, None, wide, is_canonical=self.is_canonical, blocksize=blocks
        )

    def reference(self, data: Array, indices: Array, indptr: Array, shape: Array) -> Any:
        if shape.shape != (2,) or shape.min() < 0:
            raise GraphValueError(f"CSM: shape must be two extents of at least 0, found {shape.tolist()}")
        check_structure(data, indices, indptr, shape, self.format)
        wide = np.int64 if np.int64 in (indices.dtype, indptr.dtype) else np.int32
        return scipy_matrix(
            self.format, data, indices.astype(wide), indptr.astype(wide), (int(shape[0]), int(shape[1]))
        )

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        return [sparse.sample_at(cotangents[0], outputs[0]), *(disconnected() for _ in inputs[1:])]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        return [replace(self, is_trusted=True)(tangents[0], *inputs[1:])]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True], [False], [False], [False]]


def _fitting_literal(x: Variable) -> Variable:
    """An integer constant of another dtype converted to int32 or int64, as indices need."""
    if isinstance(x, Constant) and x.dtype in dtypes.INTEGERS and x.dtype not in ("int32", "int64"):
        return constant(x.data, dtype="int64" if x.dtype in ("uint32", "uint64") else "int32")
    return x


def _dims_of(shape: Variable) -> tuple[Dim, Dim]:
    """The static extents of a shape vector."""
    if isinstance(shape, Constant) and shape.data.shape == (2,):
        return int(shape.data[0]), int(shape.data[1])
    if shape.owner is not None and isinstance(shape.owner.op, MatrixShape):
        rows, columns = (int(x.data) if isinstance(x, Constant) else None for x in shape.owner.inputs)
        return rows, columns
    source = shape.owner.inputs[0] if shape.owner is not None and isinstance(shape.owner.op, CSMProperties) else None
    return source.sparse_type.shape if isinstance(source, SparseVariable) else (None, None)  # type: ignore[return-value]


CSC: Final = CSM("csc")
CSR: Final = CSM("csr")
BSR: Final = CSM("bsr")


@frozen_dataclass
class CSMProperties(SparseOp):
    """x → (data, indices, indptr, shape): vectors of nnz, nnz, major + 1 and 2 elements; data of bsr are (nnz, r, c).

    indices, indptr and shape are of the matrix's index dtype. Gradient: that of data, at the pattern of x; as a matrix
    has one derivative for an element, duplicate entries share it: x gets the mean of theirs (each its own of a CSM).
    """

    name: ClassVar[str] = "csm_properties"
    takes_blocks: ClassVar[bool] = True

    def infer_type(self, x: TensorType) -> tuple[TensorType, ...]:
        x = need_sparse(self, x)
        major = x.shape[x.major]
        blocks = x.blocksize or ()
        entries = TensorType(x.dtype, (None, *blocks)), TensorType(x.index_dtype, (None,))
        height = blocks[0] if blocks else 1
        slices = TensorType(x.index_dtype, (major // height + 1 if isinstance(major, int) else None,))
        return (*entries, slices, TensorType(x.index_dtype, (2,)))

    def reference(self, x: Any) -> tuple[Array, ...]:
        wide = x.indices.dtype
        if wide == np.int32:
            check_count(max(x.shape), EXTENT)
        return x.data, x.indices, x.indptr, np.array(x.shape, dtype=wide)

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable] | None:
        (x,) = inputs
        if isinstance(x, SparseConstant):
            dtype = x.sparse_type.index_dtype
            value = x.matrix
            vectors = [Constant(value.data), *(constant(v, dtype=dtype) for v in (value.indices, value.indptr))]
            return [*vectors, constant(value.shape, dtype=dtype)]
        if x.owner is None or not isinstance(x.owner.op, CSM):
            return None
        data, indices, indptr, shape = x.owner.inputs
        dtype = x.tensor_type.index_dtype  # type: ignore[attr-defined]
        indices, indptr = cast(indices, dtype), cast(indptr, dtype)
        if not x.owner.op.is_trusted:
            data, indices, indptr = _checked(x.owner.op.format, data, indices, indptr, shape)
        return [data, indices, indptr, shape_vector(x, shape, dtype)]

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        x = inputs[0]
        assert isinstance(x, SparseVariable)
        return [sparse.from_entries(x, cotangents[0])]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        return [sparse.to_entries(tangents[0], inputs[0]), *(disconnected() for _ in outputs[1:])]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True, False, False, False]]


EXTENT: Final = "a matrix has an extent of {found}"


def shape_vector(x: Variable, shape: Variable, dtype: str) -> Variable:
    """The extents of x as a vector in the index dtype of x, after a check that this dtype can represent them."""
    if shape.dtype == dtype:
        return shape
    for dim, axis in zip(x.tensor_type.shape, range(2), strict=True):
        count = dim if isinstance(dim, int) else as_extent(subtensor(shape, axis))
        shape = check_countable(shape, count, dtype, EXTENT)
    return cast(shape, dtype)


def _checked(format: str, *vectors: Variable) -> list[Variable]:
    """The vectors of a matrix after a check of their structure: constants are checked at once, others at run time."""
    data, indices, indptr, shape = vectors
    structure = [x.data for x in (indices, indptr, shape) if isinstance(x, Constant)]
    if len(structure) == 3:
        check_structure(_zero_data(data, structure[0]), structure[0], structure[1], structure[2], format)
    is_known = len(structure) == 3 or _is_of_one_matrix(format, indices, indptr, shape)
    check = CheckedStructure(format, is_known=is_known)
    found: Sequence[Variable] = check.expand(vectors) or check(*vectors)
    return [found[0], indices, indptr] if is_known else list(found)


def _zero_data(data: Variable, indices: Array) -> Array:
    """An array of zeros with the shape that data must have for these indices."""
    return np.zeros((len(indices), *(int(n or 1) for n in data.static_shape[1:])), bool)


def _is_known_canonical(format: str, data: Variable, *structure: Variable) -> bool:
    """Are these provably the vectors of a canonical matrix: taken from one, or constants in canonical order?"""
    indices = structure[0]
    if _is_of_one_matrix(format, *structure):
        source = indices.owner.inputs[0] if indices.owner is not None else None
        return isinstance(source, SparseVariable) and source.sparse_type.is_canonical
    if not all(isinstance(x, Constant) and x.ndim == 1 for x in structure):
        return False
    vectors = [x.data for x in structure if isinstance(x, Constant)]
    return is_canonical_structure(_zero_data(data, vectors[0]), vectors[0], vectors[1], vectors[2], format)


def _is_of_one_matrix(format: str, *structure: Variable) -> bool:
    """Are these the indices, indptr and shape of a single existing matrix?"""
    nodes = [x.owner for x in structure]
    first = nodes[0]
    if first is None or not isinstance(first.op, CSMProperties) or [x.index for x in structure] != [1, 2, 3]:
        return False
    return all(node is first for node in nodes) and getattr(first.inputs[0], "format", "") == format


@frozen_dataclass
class MatrixExtent(SparseOp):
    """int64 extent of a sparse matrix along an axis."""

    name: ClassVar[str] = "matrix_extent"
    takes_blocks: ClassVar[bool] = True
    gives_extent: ClassVar[bool] = True
    axis: int

    def infer_type(self, x: TensorType) -> TensorType:
        need_sparse(self, x)
        return TensorType("int64")

    def reference(self, x: Any) -> Array:
        return np.array(x.shape[self.axis], dtype=np.int64)

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable] | None:
        (x,) = inputs
        dim = x.tensor_type.shape[self.axis]
        if isinstance(dim, int):
            return [constant(dim, dtype="int64")]
        if x.owner is None or not isinstance(x.owner.op, CSM):
            return None
        shape = x.owner.inputs[3]
        while shape.owner is not None and shape.owner.op.name in ("cast", Counted.name):
            shape = shape.owner.inputs[0]
        if shape.owner is not None and isinstance(shape.owner.op, MatrixShape):
            return [cast(shape.owner.inputs[self.axis], "int64")]
        if shape.owner is not None and isinstance(shape.owner.op, CSMProperties):
            return [self(shape.owner.inputs[0])]
        return [cast(subtensor(shape, self.axis), "int64")]

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        return [disconnected()]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        return [disconnected()]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[False]]


# --- parts -----------------------------------------------------------------------------------------------------------


def matrix_extent(x: SparseVariable, axis: int) -> SymbolicExtent:
    """Extent of a sparse matrix: a number where it is known, else an int64 scalar."""
    dim = x.sparse_type.shape[axis]
    if isinstance(dim, int):
        return dim
    found = MatrixExtent(axis).expand([x])
    return found[0] if found is not None else MatrixExtent(axis)(x)


def parts_of(x: Variable) -> Compressed:
    """The dense vectors of a sparse matrix."""
    assert isinstance(x, SparseVariable)
    node = CSMProperties()
    data, indices, indptr, _ = node.expand([x]) or node(x)
    rows, columns = x.sparse_type.shape
    extents = matrix_extent(x, 0), matrix_extent(x, 1)
    is_canonical, blocks = x.sparse_type.is_canonical, x.blocksize
    return Compressed(x.format, data, indices, indptr, *extents, (rows, columns), is_canonical, blocks)


def matrix_of(parts: Compressed) -> SparseVariable:
    """The matrix of vectors that are known to be valid; static extents are kept."""
    shape = MatrixShape()(as_tensor(parts.rows), as_tensor(parts.columns))
    vectors = parts.data, parts.indices, parts.indptr
    return CSM(parts.format, parts.dims, is_trusted=True, is_canonical=parts.is_canonical)(*vectors, shape)  # type: ignore[no-any-return]


def like(x: Variable, data: Variable) -> SparseVariable:
    """A matrix with the pattern of x and other stored values."""
    return matrix_of(replace(parts_of(x), data=data))


# --- inside of loops and branches ------------------------------------------------------------------------------------


@coerced
def sparse_vectors(x: SparseVariable) -> list[Variable]:
    """The dense values that represent a matrix: data, indices, indptr, and two vectors of its extents.

    Sizes in a body follow from extents, not from values: so the extents of the matrix come as those of vectors of bool.
    """
    p = parts_of(x)
    return [p.data, p.indices, p.indptr, *(zeros((extent,), "bool") for extent in (p.rows, p.columns))]


@coerced
def sparse_of_vectors(type: SparseTensorType, vectors: Sequence[Variable]) -> SparseVariable:
    """The matrix of a type, from the dense values that `sparse_vectors` returned."""
    data, indices, indptr, *sides = vectors
    rows, columns = (dim if isinstance(dim, int) else extent_of(x, 0) for x, dim in zip(sides, type.shape, strict=True))
    dims: Any = type.shape
    is_canonical, blocks = type.is_canonical, type.blocksize
    return matrix_of(Compressed(type.format, data, indices, indptr, rows, columns, dims, is_canonical, blocks))
