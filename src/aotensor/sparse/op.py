"""SparseOp, the base of ops on sparse matrices; Compressed, a matrix as dense vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Final

import numpy as np

from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, Dim, TensorType
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.coercion import coerced
from aotensor.graph.op import Apply, Op
from aotensor.graph.operations import sparse
from aotensor.graph.sparse_type import (
    SparseConstant,
    SparseTensorType,
    SparseVariable,
    container,
    describe_value,
    is_matrix,
)
from aotensor.graph.variable import Constant, Variable, as_tensor
from aotensor.ops.shape.axes import dimshuffle
from aotensor.ops.shape.extents import SymbolicExtent

WIDE: Final = "that does not fit int32: give the matrices index_dtype='int64'"
OTHER: Final = {"csr": "csc", "csc": "csr"}
"""The format that compresses the other axis."""
_TRANSPOSED: Final = {**OTHER, "bsr": "bsc", "bsc": "bsr"}
"""The same of parts: those of a bsr matrix may go by columns of blocks on the way, which no type does."""


class SparseOp(Op):
    """An op with sparse inputs or outputs.

    `reference` gets and gives SciPy matrices, `expand` says the op in parts: `parts_of` takes a matrix apart, and
    `matrix_of` puts one together. A matrix that is assembled and taken apart again costs nothing when compiled.

    takes_complex: entries and operands may be complex; what an op is made of works on vectors of these, and gradients
    are formulas over complex numbers. An op that has no meaning there says False, and is refused by name.

    gives_canonical: its results are canonical even where its inputs are not. takes_blocks: it works on bsr matrices
    block by block; other ops get them converted to csr.
    """

    takes_sparse: ClassVar[bool] = True
    takes_complex: ClassVar[bool] = True
    sees_discrete: ClassVar[bool] = False
    gives_canonical: ClassVar[bool] = False
    takes_blocks: ClassVar[bool] = False

    def apply(self, *inputs: Any) -> Apply:
        variables = self.convert_inputs(inputs)
        if not self.keeps_blocks(variables):
            variables = [sparse.in_format(x, "csr") if is_blocked(x) else x for x in variables]  # type: ignore[arg-type]
        node = super().apply(*variables)
        if self.gives_canonical or all(is_canonical(x) for x in node.inputs):
            return node
        types = [x.type.unsorted() if isinstance(x.type, SparseTensorType) else x.type for x in node.outputs]
        return Apply(self, node.inputs, types)

    def convert_inputs(self, inputs: Sequence[Any]) -> list[Variable]:
        return [as_sparse_or_tensor(x) for x in inputs]

    def keeps_blocks(self, inputs: Sequence[Variable]) -> bool:
        """Does the op work on these inputs block by block: can it, and have all sparse inputs one blocksize?"""
        sizes = {x.type.blocksize for x in inputs if isinstance(x.type, SparseTensorType)}
        return self.takes_blocks and len(sizes) == 1

    def evaluate(self, node: Apply, inputs: Sequence[Array]) -> tuple[Array, ...]:
        if not any(x.is_sparse for x in node.outputs):
            return super().evaluate(node, inputs)
        results = self.reference(*inputs)
        results = results if isinstance(results, tuple) else (results,)
        return tuple(_value_of(self, x, value) for x, value in zip(node.outputs, results, strict=True))


def _value_of(op: Op, x: Variable, value: Any) -> Any:
    """Convert a result of the reference to the declared format and dtype; the order of its entries is kept."""
    if not isinstance(x, SparseVariable):
        return np.asarray(value, dtype=x.dtype)
    if value.format != x.format:
        raise GraphValueError(f"{op.name}: reference returned {describe_value(value)}, expected {x.type}")
    if x.sparse_type.index_dtype == "int32":
        largest = max(int(value.indices.max(initial=0)), value.nnz)
        if largest > np.iinfo(np.int32).max:
            raise GraphValueError(f"{op.name} has an index or a number of entries of {largest}", hint=WIDE)
    return value if value.dtype == x.dtype else value.astype(x.dtype)


@coerced
def as_sparse_or_tensor(x: Any, name: str | None = None) -> Variable:
    """x as a variable: a SciPy matrix becomes a sparse constant, an array a dense one.

    Raises: GraphTypeError for what is neither.
    """
    if isinstance(x, SparseVariable):
        return x
    return SparseConstant(x, name=name) if is_matrix(x) else as_tensor(x, name=name)


@coerced
def as_sparse(x: Any, name: str | None = None, ndim: int | None = None) -> SparseVariable:
    """x as a sparse variable: a SciPy matrix or sparse array of any format becomes a constant with its extents.

    ndim: 2 or None.

    Raises: GraphTypeError for a dense variable or array, and for other values.
    """
    if isinstance(x, SparseVariable):
        return x
    if isinstance(x, Variable) or not is_matrix(x):
        shown = x.describe() if isinstance(x, Variable) else describe_value(x)
        hint = "csr_from_dense makes a sparse matrix of a tensor"
        raise GraphTypeError(f"expected a sparse matrix, found {shown}", hint=hint)
    if ndim not in (None, 2):
        raise GraphTypeError(f"a sparse matrix must have rank 2, not {ndim}")
    return SparseConstant(x, name=name)


@frozen_dataclass
class Compressed:
    """A compressed matrix as dense vectors and extents.

    data: (nnz,). indices: (nnz,) minor coordinates. indptr: (major + 1,). rows, columns: the extents. is_canonical: the
    indices of every slice are known to be sorted, each there once.

    Of a bsr matrix entries are blocks, and data are (nnz, r, c); blocksize: (r, c). Its major and minor count blocks:
    what is known of patterns holds of it as of csr.
    """

    format: str
    data: Variable
    indices: Variable
    indptr: Variable
    rows: SymbolicExtent
    columns: SymbolicExtent
    dims: tuple[Dim, Dim]
    is_canonical: bool
    blocksize: tuple[int, int] | None = None

    @property
    def by_rows(self) -> bool:
        """Are rows compressed (csr, bsr), not columns?"""
        return self.format in ("csr", "bsr")

    @property
    def other(self) -> str:
        """The format that compresses the other axis."""
        return _TRANSPOSED[self.format]

    @property
    def transposed(self) -> Compressed:
        """The transpose: csr as csc on the same vectors, and the reverse; of bsr with the blocks transposed."""
        dims, data, blocks = (self.dims[1], self.dims[0]), self.data, self.blocksize
        if blocks is not None:
            data, blocks = dimshuffle(data, [0, 2, 1]), (blocks[1], blocks[0])
        found = replace(self, format=self.other, data=data, rows=self.columns, columns=self.rows, dims=dims)
        return replace(found, blocksize=blocks)

    @property
    def major(self) -> SymbolicExtent:
        """The number of slices: rows of csr, columns of csc, rows of blocks of bsr."""
        return self._grid(0 if self.by_rows else 1)

    @property
    def minor(self) -> SymbolicExtent:
        """The upper bound of `indices`: columns of csr, rows of csc, columns of blocks of bsr."""
        return self._grid(1 if self.by_rows else 0)

    @property
    def major_dim(self) -> Dim:
        """The static dim of `major`."""
        return self._grid_dim(0 if self.by_rows else 1)

    @property
    def minor_dim(self) -> Dim:
        """The static dim of `minor`."""
        return self._grid_dim(1 if self.by_rows else 0)

    def _grid(self, axis: int) -> SymbolicExtent:
        """The extent along an axis, counted in blocks if the matrix has blocks."""
        extent = (self.rows, self.columns)[axis]
        return extent if self.blocksize is None else extent // self.blocksize[axis]

    def _grid_dim(self, axis: int) -> Dim:
        dim = self.dims[axis]
        if self.blocksize is None:
            return dim
        return dim // self.blocksize[axis] if isinstance(dim, int) else None


def is_blocked(x: Variable) -> bool:
    """Is x a bsr matrix?"""
    return isinstance(x.type, SparseTensorType) and x.type.blocksize is not None


def is_canonical(x: Variable) -> bool:
    """False for a sparse matrix whose entries may be unsorted or duplicated, else True."""
    return not isinstance(x.type, SparseTensorType) or x.type.is_canonical


def have_same_pattern(p: Compressed, q: Compressed) -> bool:
    """Do two matrices provably store entries at the same positions in the same order?"""
    if (p.format, p.blocksize) != (q.format, q.blocksize):
        return False
    return is_same(p.indices, q.indices) and is_same(p.indptr, q.indptr)


def is_same(a: Variable, b: Variable, depth: int = 8) -> bool:
    """Have two variables provably the same value: equal constants, or the same ops on the same variables?"""
    a, b = _unchecked(a), _unchecked(b)
    if a is b:
        return True
    if isinstance(a, Constant) and isinstance(b, Constant):
        return a.type == b.type and np.array_equal(a.data, b.data)
    if depth == 0 or a.owner is None or b.owner is None or a.index != b.index or a.owner.op != b.owner.op:
        return False
    pairs = zip(a.owner.inputs, b.owner.inputs, strict=True)
    return len(a.owner.inputs) == len(b.owner.inputs) and all(is_same(x, y, depth - 1) for x, y in pairs)


def _unchecked(x: Variable) -> Variable:
    """The variable x before ops that only check it."""
    while x.owner is not None and x.owner.op.is_check:
        x = x.owner.inputs[x.index]
    return x


def type_error(op: Op, expected: str, *types: TensorType) -> GraphTypeError:
    """The error of an op whose inputs have wrong types."""
    found = ", ".join(str(type) for type in types)
    hint = "csr_from_dense makes a sparse matrix of a tensor" if "sparse" in expected else None
    return GraphTypeError(f"{op.name}: expected {expected}, found {found}", hint=hint)


def need_sparse(op: Op, type: TensorType) -> SparseTensorType:
    """The type, after a check that it is sparse.   Raises: GraphTypeError naming the op."""
    if not isinstance(type, SparseTensorType):
        raise type_error(op, "a sparse matrix", type)
    return type


def scipy_matrix(format: str, data: Array, indices: Array, indptr: Array, shape: tuple[int, int]) -> Any:
    """A SciPy matrix of these arrays as they are: nothing is sorted, merged or copied."""
    return container(format)((data, indices, indptr), shape=shape, copy=False)
