"""Convert functions of sparse matrices and complex values to functions of dense real arrays, which are compiled.

An input A becomes four arguments: the pattern A of bool (m, n), which only carries the extents and has no memory;
A_data (nnz,), A_indices (nnz,) and A_indptr (major + 1,). A result S becomes as many in the same order. Of a bsr matrix
A_data is (nnz, r, c), and A_indptr counts rows of blocks.
A complex z of shape (n,) becomes its own memory: reals of shape (n, 2), with both parts along the last axis. So
do the data of a complex matrix.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, TypeVar

import numpy as np

from aotensor.core.builders import Tensor, TensorBuilder
from aotensor.core.dtypes import complex_of, is_complex
from aotensor.core.dtypes import part_of as dtype_of_parts
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, Dim, TensorType
from aotensor.graph.site import replacement_site, variables_at
from aotensor.graph.sparse_type import SparseTensorType, SparseVariable
from aotensor.graph.variable import Variable, Variables, as_tensor
from aotensor.graph.walk import replace, toposort
from aotensor.ops.complex.parts import AsPairs, OfPairs, Part, part_of
from aotensor.ops.linear import ConstantOp
from aotensor.ops.shape.extents import extent_of
from aotensor.ops.shape.join import stack
from aotensor.sparse.compressed_axes import lowered_extent
from aotensor.sparse.csm import CSMProperties, MatrixExtent, MatrixShape, parts_of, shape_vector

T = TypeVar("T")

PARTS = ("", "_data", "_indices", "_indptr")
"""What is behind the name of a matrix in the names of its leaves, in order."""


@frozen_dataclass
class SparseValue:
    """A sparse argument or result: its leaves are the dense values number `first` to `first` + 3."""

    name: str
    type: SparseTensorType
    first: int


@frozen_dataclass
class Flat:
    """A function of dense leaves: inputs and outputs by name, and which of them are sparse matrices, or complex.

    column_arguments, column_results: names of those that are the transposes of what callers pass, column-major.
    """

    arguments: dict[str, Variable]
    results: dict[str, Variable]
    sparse_arguments: tuple[SparseValue, ...]
    sparse_results: tuple[SparseValue, ...]
    complex_arguments: tuple[str, ...] = ()
    complex_results: tuple[str, ...] = ()
    column_arguments: tuple[str, ...] = ()
    column_results: tuple[str, ...] = ()

    @property
    def named(self) -> tuple[tuple[tuple[str, Variable], ...], tuple[tuple[str, Variable], ...]]:
        """The inputs and outputs, by name."""
        return tuple(self.arguments.items()), tuple(self.results.items())

    def as_given(self, name: str, dtype: str, shape: tuple[T, ...]) -> tuple[str, tuple[T, ...]]:
        """(dtype, extents) of an argument or result as the caller sees it: complex instead of pairs."""
        is_pair = name in self.complex_arguments or name in self.complex_results
        return (complex_of(dtype), shape[:-1]) if is_pair else (dtype, shape)

    def layout(self, name: str, is_result: bool) -> str:
        """ "F" if the caller's array is the transpose of the leaf, otherwise "C"."""
        return "F" if name in (self.column_results if is_result else self.column_arguments) else "C"


@frozen_dataclass
class Pattern(ConstantOp):
    """A bool matrix of the given extents whose elements are never read or written.   two integer scalars → (m, n)"""

    name: ClassVar[str] = "pattern"
    notation: ClassVar[str] = "csr_matrix(({0}, {1}))"
    dims: tuple[Dim, ...]

    def infer_type(self, rows: TensorType, columns: TensorType) -> TensorType:
        return TensorType("bool", self.dims)

    def reference(self, rows: Array, columns: Array) -> Array:
        return np.broadcast_to(np.zeros((), bool), (int(rows), int(columns)))

    def lower(self, b: TensorBuilder, rows: Tensor, columns: Tensor) -> Tensor:
        return b.empty([lowered_extent(b, n, x) for n, x in zip(self.dims, (rows, columns), strict=True)], "bool")


def flatten(arguments: Mapping[str, Variable], results: Mapping[str, Variable]) -> Flat:
    """The function between dense leaves. Sparse results are CSM nodes, and other sparse ops are expanded already."""
    taken = {*arguments, *results}
    inputs: dict[str, Variable] = {}
    known: dict[Variable, Sequence[Variable]] = {}
    sparse_arguments: list[SparseValue] = []
    complex_arguments: list[str] = []
    for name, x in arguments.items():
        if not isinstance(x, SparseVariable):
            inputs[name] = x
            if is_complex(x.dtype):
                inputs[name] = pair_of(x, name)
                known[x] = [inputs[name]]
                complex_arguments.append(name)
            continue
        names = _leaf_names(name, taken)
        sparse_arguments.append(SparseValue(name, x.sparse_type, len(inputs)))
        with variables_at(x.site):
            known[x] = _leaves_of(x, names)
        inputs.update(zip(names, known[x], strict=True))
        if is_complex(x.dtype):
            complex_arguments.append(names[1])
    outputs: dict[str, Variable] = {}
    sparse_results: list[SparseValue] = []
    complex_results: list[str] = []
    for name, x in results.items():
        if not isinstance(x, SparseVariable):
            outputs[name] = _as_leaf(name, x, complex_results)
            continue
        sparse_results.append(SparseValue(name, x.sparse_type, len(outputs)))
        with variables_at(x.site):
            p = parts_of(x)
            pattern = Pattern(p.dims)(as_tensor(p.rows), as_tensor(p.columns))
        names = _leaf_names(name, taken)
        data = _as_leaf(names[1], p.data, complex_results)
        outputs.update(zip(names, (pattern, data, p.indices, p.indptr), strict=True))
    dense = replace(list(outputs.values()), _replacements(list(outputs.values()), known), is_rewrite=True)
    named = dict(zip(outputs, dense, strict=True))
    pairs = tuple(complex_arguments), tuple(complex_results)
    return Flat(inputs, named, tuple(sparse_arguments), tuple(sparse_results), *pairs)


def _as_leaf(name: str, x: Variable, complex_results: list[str]) -> Variable:
    """A dense result as a leaf; a complex one becomes a pair, and its name is added to `complex_results`."""
    if not is_complex(x.dtype):
        return x
    complex_results.append(name)
    if x.owner is not None and isinstance(x.owner.op, OfPairs):
        return x.owner.inputs[0]
    with variables_at(x.site):
        return stack([part_of(x, index) for index in range(2)], axis=x.ndim)


def pair_of(x: Variable, name: str | None = None) -> Variable:
    """The real leaf for a complex argument: parts along a last axis of extent 2."""
    with variables_at(x.site):
        return Variable(TensorType(dtype_of_parts(x.dtype), (*x.tensor_type.shape, 2)), name=name)


def halves(pair: Variable) -> tuple[Variable, Variable]:
    """(real part, imaginary part) of a value that is stored as a pair."""
    return pair[..., 0], pair[..., 1]


def _leaf_names(name: str, taken: set[str]) -> list[str]:
    """Unused names for the four leaves of a matrix."""
    ends = list(PARTS[1:])
    while any(f"{name}{end}" in taken for end in ends):
        ends = [f"_{end}" for end in ends]
    found = [name, *(f"{name}{end}" for end in ends)]
    taken.update(found)
    return found


def _leaves_of(x: SparseVariable, names: Sequence[str]) -> list[Variable]:
    type = x.sparse_type
    major = type.shape[type.major]
    blocks = type.blocksize or ()
    slices = major // (blocks[0] if blocks else 1) + 1 if isinstance(major, int) else None
    types = [
        TensorType("bool", type.shape),
        TensorType(type.dtype, (f"{names[0]}_nnz", *blocks)),
        TensorType(type.index_dtype, (f"{names[0]}_nnz",)),
        TensorType(type.index_dtype, (slices,)),
    ]
    leaves = [Variable(one, name=name) for one, name in zip(types, names, strict=True)]
    return [pair_of(one, one.name) if is_complex(one.dtype) else one for one in leaves]


def _replacements(outputs: Variables, known: Mapping[Variable, Variables]) -> dict[Variable, Variable]:
    """Outputs of ops that read parts of sparse inputs → the leaves that replace them."""
    found: dict[Variable, Variable] = {}
    leaves = dict(known)
    for node in toposort(outputs, stop=known):
        if not node.inputs or node.inputs[0] not in leaves:
            continue
        pattern, *vectors = leaves[node.inputs[0]]
        with variables_at(replacement_site(node)):
            if isinstance(node.op, Part):
                found[node.outputs[0]] = halves(pattern)[node.op.index]
            elif isinstance(node.op, AsPairs):
                found[node.outputs[0]] = pattern
            elif isinstance(node.op, CSMProperties):
                extents = [as_tensor(extent_of(pattern, axis)) for axis in range(2)]
                shape = shape_vector(node.inputs[0], MatrixShape()(*extents), node.outputs[3].dtype)
                found.update(zip(node.outputs, [*vectors, shape], strict=True))
                if is_complex(node.outputs[0].dtype):
                    leaves[node.outputs[0]] = [found.pop(node.outputs[0])]
            elif isinstance(node.op, MatrixExtent):
                found[node.outputs[0]] = as_tensor(extent_of(pattern, node.op.axis))
    return found
