"""Windows of a sparse matrix: its rows and columns at given positions, and the adjoint that scatters a window.

Positions are int64 vectors that are known to lie in the matrix: who makes them has checked that (see getitem.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Final

import numpy as np

from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, Dim, TensorType
from aotensor.graph.op import Apply, Op, disconnected
from aotensor.graph.sparse_type import SparseVariable, scipy_sparse
from aotensor.graph.variable import Variable, Variables, as_tensor
from aotensor.ops.create import full, zeros
from aotensor.ops.elementwise.arithmetic import floor_div
from aotensor.ops.elementwise.compare import cast, eq, ge, lt
from aotensor.ops.index import subtensor
from aotensor.ops.ranges import arange
from aotensor.ops.reduce.cumulate import cumsum
from aotensor.ops.shape.axes import dimshuffle
from aotensor.ops.shape.extents import SymbolicExtent, as_extent, extent_of
from aotensor.ops.shape.join import concatenate
from aotensor.ops.updates import inc_subtensor, set_subtensor
from aotensor.sparse.checks import check_countable
from aotensor.sparse.compressed_axes import ExpandSlices, TakeAt, at_major, sum_at
from aotensor.sparse.csm import matrix_extent, matrix_of, parts_of
from aotensor.sparse.duplicate_entries import from_entries, own_entries
from aotensor.sparse.index.slices import Progression
from aotensor.sparse.op import Compressed, SparseOp, need_sparse, scipy_matrix, type_error
from aotensor.sparse.patterns import canonical, compress, other_format, slices_of

WINDOW: Final = "a matrix with entries at given positions has an extent of {found}"


class WindowOp(SparseOp):
    """An op that is linear in its first input, a matrix or its entries; the other inputs are positions and extents."""

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        return [self.apply_to(tangents[0], inputs)]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[position == 0] for position in range(len(node.inputs))]

    def apply_to(self, x: Variable, inputs: Sequence[Variable]) -> Variable:
        """The op applied to x in place of its first input, such as a tangent."""
        return self(x, *inputs[1:])  # type: ignore[no-any-return]


@frozen_dataclass
class Submatrix(WindowOp):
    """(x, *positions) → the rows and columns of x at these positions, in the format of x.

    axes: those with positions, in order; along others x is whole. rises: for each of them, whether its positions are
    known to rise strictly. Positions may repeat. Stored zeros stay. steps: for each of them, the step of a slice, whose
    input is (first, count) and whose count is in `counts` where it is known; None where the input has all positions.

    Gradient: regular, entries of the cotangent at their indices in x, added where positions repeat.
    """

    name: ClassVar[str] = "submatrix"
    axes: tuple[int, ...]
    rises: tuple[bool, ...]
    steps: tuple[int | None, ...] = (None, None)
    counts: tuple[Dim, ...] = (None, None)

    def infer_type(self, x: TensorType, *positions: TensorType) -> TensorType:
        x = need_sparse(self, x)
        check_positions(self, positions)
        dims: list[Dim] = list(x.shape)
        for axis, found, step, count in zip(self.axes, positions, self.steps, self.counts, strict=False):
            dims[axis] = found.shape[0] if step is None else count
        return x.with_shape(dims)

    def reference(self, x: Any, *positions: Array) -> Any:
        is_sorted = True
        for axis, found, rises, step in zip(self.axes, positions, self.rises, self.steps, strict=False):
            if step is not None:
                x = sliced(x, axis, int(found[0]), int(found[1]), step)
                continue
            x = x[found] if axis == 0 else x[:, found]
            is_sorted &= rises or axis == (0 if x.format == "csr" else 1)
        if not is_sorted:
            x.sort_indices()
        return x

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable] | None:
        return [matrix_of(self._window(parts_of(inputs[0]), inputs[1:]))]

    def _window(self, p: Compressed, positions: Sequence[Variable]) -> Compressed:
        places, rises = self._places(positions), dict(zip(self.axes, self.rises, strict=True))
        major = 0 if p.format == "csr" else 1
        found = places.get(major)
        if found is not None:
            p = slices_at(p, _vector(found))
        found = places.get(1 - major)
        if isinstance(found, Progression):
            p = minor_between(p, found.upward)
            return p if found.step > 0 else minor_reversed(p)
        if found is not None:
            p = minor_kept(p, found) if rises[1 - major] else other_format(slices_at(other_format(p), found))
        return p

    def _places(self, positions: Sequence[Variable]) -> dict[int, Variable | Progression]:
        known = zip(self.axes, positions, self.steps, self.counts, strict=False)
        return {axis: x if step is None else Progression.from_pair(x, step, dim) for axis, x, step, dim in known}

    def apply_to(self, x: Variable, inputs: Sequence[Variable]) -> Variable:
        found: Variable = self(x, *inputs[1:]) if x.is_sparse else dense_window(x, self._places(inputs[1:]))
        return found

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        (x, *positions), (ct,) = inputs, cotangents
        extents = [matrix_extent(x, axis) for axis in range(2)]  # type: ignore[arg-type]
        rest = [disconnected() for _ in positions]
        if not ct.is_sparse:
            return [inc_subtensor(dense_window(zeros(extents, ct.dtype), self._places(positions)), ct), *rest]
        own = own_entries(ct, outputs[0])
        if own is not None:
            return [self._at_entries(x, own, positions), *rest]
        op = ScatterMatrix(x.tensor_type.shape, self.axes, self.rises, self.steps)
        return [op(ct, *map(as_tensor, extents), *positions), *rest]

    def _at_entries(self, x: Variable, ct: Variable, positions: Sequence[Variable]) -> Variable:
        """The cotangent of x on its pattern, from the cotangent of each entry of the window."""
        assert isinstance(x, SparseVariable)
        p = parts_of(x)
        count = extent_of(p.indices, 0)
        numbers = self._window(replace(p, data=arange(count)), positions).data
        return from_entries(x, sum_at(ct, numbers, count))


@frozen_dataclass
class ScatterMatrix(WindowOp):
    """(z, m, n, *positions) → the m × n matrix with the entries of z at the rows and columns that positions say.

    The transpose of Submatrix: duplicate entries add up. dims: m and n as far as they are known. axes, rises, steps: as
    there. The format is that of z.
    """

    name: ClassVar[str] = "scatter_matrix"
    notation: ClassVar[str] = "csr_matrix"
    dims: tuple[Dim, ...]
    axes: tuple[int, ...]
    rises: tuple[bool, ...]
    steps: tuple[int | None, ...] = (None, None)

    def infer_type(self, z: TensorType, m: TensorType, n: TensorType, *positions: TensorType) -> TensorType:
        check_positions(self, positions)
        return need_sparse(self, z).with_shape(self.dims)

    def reference(self, z: Any, m: Array, n: Array, *positions: Array) -> Any:
        entries = z.tocoo()
        coordinates = [entries.row, entries.col]
        for axis, found, step in zip(self.axes, positions, self.steps, strict=False):
            at = coordinates[axis].astype(np.int64)
            coordinates[axis] = found[at] if step is None else found[0] + step * at
        return summed_entries(z.format, entries.data, coordinates, (int(m), int(n)))

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable] | None:
        z, m, n, *positions = inputs
        p = parts_of(z)
        known = self._places(z, positions)
        major = 0 if p.format == "csr" else 1
        extents = as_extent(m), as_extent(n)
        slices, across = known.get(major), known.get(1 - major)
        if isinstance(across, Progression) and across.step < 0:
            p, across = minor_reversed(p), across.upward
        if isinstance(slices, Progression) and slices.step < 0:
            p, slices = major_reversed(p), slices.upward
        if across is not None:
            wide, bound = p.indices.dtype, extents[1 - major]
            if isinstance(across, Progression):
                first = check_countable(across.first, bound, wide, WINDOW)
                indices = cast(first + cast(p.indices, "int64") * across.step, wide)
            else:
                indices = cast(TakeAt()(check_countable(across, bound, wide, WINDOW), p.indices), wide)
            p = with_minor(replace(p, indices=indices), bound, self.dims[1 - major])
        places = None if slices is None else _vector(slices)
        if not all(self.rises):
            p = scatter_slices(p, places, extents[major], self.dims[major])
        elif places is not None:
            p = _place_slices(p, places, extents[major], self.dims[major])
        return [matrix_of(p)]

    def _places(self, z: Variable, positions: Sequence[Variable]) -> dict[int, Variable | Progression]:
        known = zip(self.axes, positions, self.steps, strict=False)
        return {
            axis: x if step is None else Progression.from_pair(x, step, z.tensor_type.shape[axis])
            for axis, x, step in known
        }

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        positions, (ct,) = inputs[3:], cotangents
        counts = tuple(inputs[0].tensor_type.shape[axis] for axis in self.axes)
        found = Submatrix(self.axes, self.rises, self.steps, counts).apply_to(ct, [ct, *positions])
        return [found, *(disconnected() for _ in inputs[1:])]

    def apply_to(self, x: Variable, inputs: Sequence[Variable]) -> Variable:
        if x.is_sparse:
            return super().apply_to(x, inputs)
        _, m, n, *positions = inputs
        whole = zeros([as_extent(m), as_extent(n)], x.dtype)
        return inc_subtensor(dense_window(whole, self._places(x, positions)), x)


def check_positions(op: Op, positions: Sequence[TensorType]) -> None:
    """Check that all positions are int64 vectors.   Raises: GraphTypeError"""
    if any(found.rank != 1 or found.dtype != "int64" for found in positions):
        raise type_error(op, "int64 vectors of positions", *positions)


def summed_entries(format: str, data: Array, coordinates: Sequence[Array], shape: tuple[int, int]) -> Any:
    """A SciPy matrix of entries at (rows, columns), canonical; duplicates add up."""
    found = scipy_sparse().coo_matrix((data, tuple(coordinates)), shape=shape).asformat(format)
    found.sum_duplicates()
    return found


def sliced(x: Any, axis: int, first: int, count: int, step: int) -> Any:
    """The rows or columns first + step·k, k < count, of a SciPy matrix, with its entries in the original order."""
    is_major = axis == (0 if x.format == "csr" else 1)
    both = [slices_of(x.indptr), x.indices.astype(np.int64)]
    own = 0 if is_major else 1
    steps, left = np.divmod(both[own] - first, step)
    keep = (left == 0) & (steps >= 0) & (steps < count)
    both[own] = steps
    major, minor = (found[keep] for found in both)
    order = np.lexsort((minor, major)) if step < 0 else slice(None)
    shape = [*x.shape]
    shape[axis] = count
    slices = shape[0 if x.format == "csr" else 1]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(major, minlength=slices))])
    wide = x.indices.dtype
    vectors = x.data[keep][order], minor[order].astype(wide), indptr.astype(wide)
    return scipy_matrix(x.format, *vectors, (shape[0], shape[1]))


def _vector(found: Variable | Progression) -> Variable:
    return found.positions if isinstance(found, Progression) else found


def dense_window(x: Variable, positions: Mapping[int, Variable | Progression]) -> Variable:
    """The window x[rows, columns] of a dense matrix, to be passed to `set_subtensor` or `inc_subtensor`."""
    known = {axis: _vector(found) for axis, found in positions.items()}
    if len(known) == 2:
        return subtensor(x, (dimshuffle(known[0], [0, None]), dimshuffle(known[1], [None, 0])))
    ((axis, found),) = known.items()
    return subtensor(x, (found,) if axis == 0 else (slice(None), found))


# --- in parts --------------------------------------------------------------------------------------------------------


def indptr_of(counts: Variable, dtype: str) -> Variable:
    """The indptr of slices, (n + 1,), from the number of entries of each slice."""
    return concatenate([zeros((1,), dtype), cast(cumsum(counts), dtype)])


def with_major(p: Compressed, extent: SymbolicExtent, dim: Dim) -> Compressed:
    """The same vectors as a matrix with another number of slices."""
    if p.format == "csr":
        return replace(p, rows=extent, dims=(dim, p.dims[1]))
    return replace(p, columns=extent, dims=(p.dims[0], dim))


def with_minor(p: Compressed, extent: SymbolicExtent, dim: Dim) -> Compressed:
    """The same vectors as a matrix with another extent along the minor axis."""
    if p.format == "csr":
        return replace(p, columns=extent, dims=(p.dims[0], dim))
    return replace(p, rows=extent, dims=(dim, p.dims[1]))


def slices_at(p: Compressed, positions: Variable) -> Compressed:
    """The rows of csr, or columns of csc, at positions; each keeps the order of its entries."""
    starts = TakeAt()(p.indptr, positions)
    counts = TakeAt()(p.indptr, positions + 1) - starts
    indptr = indptr_of(counts, p.indptr.dtype)
    numbers = arange(subtensor(indptr, -1))
    shift = cast(starts - subtensor(indptr, slice(None, -1)), "int64")
    entries = numbers + ExpandSlices()(shift, indptr, numbers)
    data, indices = (TakeAt()(x, entries) for x in (p.data, p.indices))
    found = replace(p, data=data, indices=indices, indptr=indptr)
    return with_major(found, extent_of(positions, 0), positions.tensor_type.shape[0])


def minor_between(p: Compressed, wanted: Progression) -> Compressed:
    """The columns (csr) or rows (csc) at an ascending progression; each slice keeps the order of its entries."""
    offset = cast(p.indices, "int64") - wanted.first
    new = offset if wanted.step == 1 else floor_div(offset, wanted.step)
    keep = ge(offset, 0) & lt(new, cast(as_tensor(wanted.count), "int64"))
    if wanted.step != 1:
        keep = keep & eq(new * wanted.step, offset)
    found = compress(replace(p, indices=cast(new, p.indices.dtype)), keep)
    return with_minor(found, wanted.count, wanted.dim)


def minor_reversed(p: Compressed) -> Compressed:
    """The matrix with columns (csr) or rows (csc) in reverse order; the entries of each slice are reversed too."""
    ends = at_major(p, subtensor(p.indptr, slice(None, -1)) + subtensor(p.indptr, slice(1, None)))
    source = ends - 1 - arange(extent_of(p.indices, 0), dtype=ends.dtype)
    data, indices = (TakeAt()(x, source) for x in (p.data, p.indices))
    wide = indices.dtype
    last = check_countable(cast(as_tensor(p.minor), "int64") - 1, p.minor, wide, WINDOW)
    return replace(p, data=data, indices=cast(last, wide) - indices)


def major_reversed(p: Compressed) -> Compressed:
    """The matrix with its slices in reverse order."""
    count = cast(as_tensor(p.major), "int64")
    return slices_at(p, count - 1 - arange(p.major, dtype="int64"))


def minor_kept(p: Compressed, positions: Variable) -> Compressed:
    """The columns of csr, or rows of csc, at positions that rise; each slice keeps the order of its entries."""
    count = extent_of(positions, 0)
    none = full((p.minor,), -1, p.indices.dtype)
    coordinates = set_subtensor(subtensor(none, positions), arange(count, dtype=none.dtype))
    new = TakeAt()(coordinates, p.indices)
    found = compress(replace(p, indices=new), ge(new, 0))
    return with_minor(found, count, positions.tensor_type.shape[0])


def _place_slices(p: Compressed, slices: Variable, extent: SymbolicExtent, dim: Dim) -> Compressed:
    """A matrix of `extent` slices with the slices of p at ascending positions `slices`, and empty slices elsewhere."""
    counts = subtensor(p.indptr, slice(1, None)) - subtensor(p.indptr, slice(None, -1))
    indptr = indptr_of(sum_at(counts, slices, extent, dim), p.indptr.dtype)
    return with_major(replace(p, indptr=indptr), extent, dim)


def scatter_slices(p: Compressed, slices: Variable | None, extent: SymbolicExtent, dim: Dim) -> Compressed:
    """A matrix of `extent` slices with slice k of p at position slices[k] (None: k), canonical: duplicates add up."""
    across = other_format(p)
    if slices is not None:
        indices = cast(TakeAt()(slices, across.indices), across.indices.dtype)
        across = with_minor(replace(across, indices=indices), extent, dim)
    return canonical(replace(other_format(across), is_canonical=False))
