"""Random sparse matrices from an explicit state: (state, …) → (next state, matrix). Nothing dense is ever made."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Dim
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.sparse_type import SparseTensorType
from aotensor.graph.variable import as_tensor
from aotensor.ops.create import alloc, ones
from aotensor.ops.elementwise.arithmetic import floor_div, mod
from aotensor.ops.elementwise.compare import cast, neq
from aotensor.ops.random.arrangements import multinomial_in_groups
from aotensor.ops.random.cells import binomial_cells
from aotensor.ops.random.discrete import poisson as dense_poisson
from aotensor.ops.random.state import Drawn
from aotensor.ops.shape.extent_checks import fitting
from aotensor.ops.shape.extents import as_extents, dim_of, extent_of, product
from aotensor.sparse.checks import check_countable
from aotensor.sparse.compressed_axes import major_of_entries, sum_at
from aotensor.sparse.csm import matrix_of, parts_of
from aotensor.sparse.index.windows import indptr_of
from aotensor.sparse.op import Compressed
from aotensor.sparse.patterns import canonical, compress, other_format
from aotensor.sparse.reformat import as_compressed


@frozen_dataclass
class Poisson:
    """Draws of sparse matrices of Poisson counts; zeros are not stored."""

    def __call__(self, state: Any, x: Any) -> Drawn:
        """Poisson counts whose means are the stored entries of x; zeros are not stored.

        The format, extents and dtype are those of x. No derivative is defined.

        Raises: GraphTypeError for a dense x; GraphValueError at run time for a negative mean.
        """
        x = as_compressed(x)
        p = canonical(parts_of(x))
        following, counts = dense_poisson(state, p.data)
        drawn = replace(p, data=cast(counts, x.dtype))
        return following, matrix_of(compress(drawn, neq(counts, 0)))


@frozen_dataclass
class Binomial:
    """Draws of sparse matrices of binomial counts in a format and dtype; zeros are not stored."""

    format: str
    dtype: str

    def __call__(self, state: Any, n: Any, p: Any, shape: Any) -> Drawn:
        """Successes in n trials of probability p for each element of a matrix of `shape`.

        n, p: scalars. shape: two integers, also symbolic ones. Time and memory follow the entries that are not 0.

        Raises: GraphTypeError for parameters of another kind; GraphValueError for a shape of another length, and, at
        run time where they are not constants, for parameters out of range.
        """
        extents = as_extents(shape)
        if len(extents) != 2:
            raise GraphValueError(f"binomial: shape must have 2 extents, found {len(extents)}")
        following, positions, counts = binomial_cells(state, n, p, product(extents))
        dims: tuple[Dim, Dim] = (dim_of(extents[0]), dim_of(extents[1]))
        index = SparseTensorType(self.format, self.dtype, dims).index_dtype
        major = 0 if self.format == "csr" else 1
        width = cast(as_tensor(extents[1 - major]), "int64")
        positions = check_countable(positions, extents[1 - major], index, "binomial has {found} rows or columns")
        slices, indices = floor_div(positions, width), cast(mod(positions, width), index)
        each = sum_at(ones((extent_of(positions, 0),), "int64"), slices, extents[major], dims[major])
        indptr = indptr_of(each, index)
        return following, matrix_of(
            Compressed(
                self.format, cast(counts, self.dtype), indices, indptr, extents[0], extents[1], dims, is_canonical=True
            )
        )


csc_fbinomial: Final = Binomial("csc", "float32")
csc_dbinomial: Final = Binomial("csc", "float64")
csr_fbinomial: Final = Binomial("csr", "float32")
csr_dbinomial: Final = Binomial("csr", "float64")


@frozen_dataclass
class Multinomial:
    """Draws of sparse matrices of multinomial counts on the pattern of a matrix."""

    def __call__(self, state: Any, n: Any, p: Any) -> Drawn:
        """Multinomial counts by rows: how often each stored entry of a row of p comes in n trials, zeros stored.

        n: an integer scalar, or a vector with one for each row. p: weights, which count relative to their sum in a row.
        The pattern, format and dtype are those of p. No derivative is defined.

        Raises: GraphTypeError for a dense p or an n of higher rank; GraphValueError at run time for a vector of another
        length, and for parameters out of range.
        """
        p, n = as_compressed(p), as_tensor(n)
        if n.ndim > 1:
            raise GraphTypeError(
                f"multinomial: n must be a scalar or a vector, found rank {n.ndim}", lines=[n.describe()]
            )
        whole = canonical(parts_of(p))
        rows = whole if p.format == "csr" else other_format(whole)
        is_each = n.ndim == 1
        trials = (
            fitting(n, 0, rows.rows, rows.dims[0], "rows and numbers of trials") if is_each else alloc(n, rows.rows)
        )
        following, counts = multinomial_in_groups(state, trials, rows.data, major_of_entries(rows))
        drawn = replace(rows, data=cast(counts, p.dtype))
        return following, matrix_of(drawn if p.format == "csr" else other_format(drawn))


poisson: Final = Poisson()
multinomial: Final = Multinomial()
