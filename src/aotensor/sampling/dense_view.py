"""The dense view of a function for checks: its inputs and outputs as dense arrays, even if they are sparse.

    A: csr (n, p) → S: csr     →     A: bool (n, p), A_data, A_indices, A_indptr → S: dense (n, p)

Ops on matrices stay unexpanded, so that their rules are checked; stored values become ordinary inputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np

from aotensor.core.dtypes import is_complex
from aotensor.core.types import Array
from aotensor.graph.sparse_type import SparseTensorType, SparseVariable, is_matrix
from aotensor.graph.variable import Variable
from aotensor.graph.walk import replace
from aotensor.ops.complex.parts import join_parts, parts
from aotensor.ops.shape.extents import extent_of
from aotensor.ops.shape.join import stack
from aotensor.sampling.pairs import from_pairs, to_pairs
from aotensor.sparse.boundary import SparseValue, flatten, halves
from aotensor.sparse.csm import matrix_of, parts_of
from aotensor.sparse.op import Compressed, scipy_matrix
from aotensor.sparse.sample import densified

Arrays: TypeAlias = dict[str, Any]
"""Values by argument name: arrays, and SciPy matrices for sparse arguments of a function itself."""


class Graph(Protocol):
    """Named inputs and outputs of a function: those of its definition, or of its dense view."""

    @property
    def name(self) -> str: ...

    @property
    def arguments(self) -> dict[str, Variable]: ...

    @property
    def results(self) -> dict[str, Variable]: ...


@dataclass(frozen=True)
class DenseView:
    """Dense arguments and results by name; a function without sparse ones is its own view.

    matrices: positions of the arguments of each matrix. pairs: positions of arguments that hold the parts of a
    complex argument; complex results are pairs as well.
    """

    name: str
    arguments: dict[str, Variable]
    results: dict[str, Variable]
    matrices: tuple[SparseValue, ...]
    pairs: frozenset[int] = frozenset()

    @staticmethod
    def from_function(f: Graph) -> DenseView:
        """The dense view of a function."""
        return DenseView.from_graph(f.name, f.arguments, f.results)

    @staticmethod
    def from_graph(name: str, arguments: Mapping[str, Variable], results: Mapping[str, Variable]) -> DenseView:
        """The dense view of a graph."""
        flat = flatten(arguments, {})
        leaves = list(flat.arguments.values())
        known: dict[Variable, Variable] = {
            arguments[one.name]: _matrix(one.type, leaves[one.first : one.first + 4]) for one in flat.sparse_arguments
        }
        known.update(
            (arguments[name], join_parts(*halves(flat.arguments[name])))
            for name in flat.complex_arguments
            if name in arguments and not arguments[name].is_sparse
        )
        pairs = frozenset(k for k, name in enumerate(flat.arguments) if name in flat.complex_arguments)
        found = replace(list(results.values()), known)
        dense = [_as_pair(densified(parts_of(y)) if isinstance(y, SparseVariable) else y) for y in found]
        return DenseView(name, flat.arguments, dict(zip(results, dense, strict=True)), flat.sparse_arguments, pairs)

    def split(self, values: Arrays) -> dict[str, Array]:
        """Convert values of the function's arguments to values of the view's."""
        arrays = [part for x in values.values() for part in arrays_of(x)]
        return dict(zip(self.arguments, arrays, strict=True))

    def join_values(self, arrays: Sequence[Array]) -> list[Any]:
        """Convert values of the view's arguments to values of the function's."""
        wholes = [from_pairs(x) if k in self.pairs else x for k, x in enumerate(arrays)]
        return with_matrices(wholes, self.matrices)


def with_matrices(arrays: Sequence[Array], groups: Sequence[SparseValue]) -> list[Any]:
    """The values of a function, sparse matrices included, from flat arrays; complex data may come as pairs."""
    found, position = list[Any](), 0
    types = {one.first: one.type for one in groups}
    while position < len(arrays):
        if position in types:
            pattern, data, indices, indptr = arrays[position : position + 4]
            type, shape = types[position], (pattern.shape[0], pattern.shape[1])
            data = from_pairs(data) if is_complex(type.dtype) and data.dtype.kind != "c" else data
            found.append(matrix_value(type.format, data, indices, indptr, shape))
            position += 4
        else:
            found.append(arrays[position])
            position += 1
    return found


def arrays_of(x: Any) -> list[Array]:
    """The arrays of a value: itself, pairs if it is complex; pattern, data, indices and indptr of a SciPy matrix."""
    if isinstance(x, np.ndarray) or not is_matrix(x):
        return [to_pairs(np.asarray(x))]
    return [np.broadcast_to(np.zeros((), bool), x.shape), to_pairs(x.data), x.indices, x.indptr]


def matrix_value(form: str, data: Array, indices: Array, indptr: Array, shape: tuple[int, int]) -> Any:
    """A SciPy matrix from these arrays, with their dtypes unchanged."""
    matrix = scipy_matrix(form, data, indices, indptr, shape)
    matrix.indices, matrix.indptr = indices, indptr  # SciPy narrows indices that fit 32 bits
    return matrix


def _as_pair(x: Variable) -> Variable:
    return stack(parts(x), axis=x.ndim) if is_complex(x.dtype) else x


def dense_value(x: Any) -> Array:
    """Convert a SciPy matrix to a dense array; an array is unchanged."""
    return x.toarray() if is_matrix(x) else np.asarray(x)


def _matrix(kind: SparseTensorType, leaves: Sequence[Variable]) -> SparseVariable:
    pattern, data, indices, indptr = leaves
    data = join_parts(*halves(data)) if is_complex(kind.dtype) else data
    rows, columns = kind.shape
    return matrix_of(
        Compressed(
            kind.format,
            data,
            indices,
            indptr,
            extent_of(pattern, 0),
            extent_of(pattern, 1),
            (rows, columns),
            is_canonical=True,
            blocksize=kind.blocksize,
        )
    )
