"""x[index] of a sparse matrix: windows stay sparse, single elements are dense. Every form has a gradient.

An index is looked up in the vector 0, 1, … of an axis first: that wraps negative ones, clips slices, turns masks into
positions, and checks all of them, as for dense tensors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from aotensor.core import dtypes
from aotensor.errors import GraphIndexError, GraphTypeError, UnsupportedIndexError
from aotensor.graph.coercion import coerced
from aotensor.graph.sparse_type import SparseVariable
from aotensor.graph.variable import Constant, Variable, as_tensor
from aotensor.ops.index import subtensor
from aotensor.ops.mask import Nonzero, is_mask
from aotensor.ops.ranges import arange
from aotensor.ops.shape.axes import dimshuffle
from aotensor.ops.shape.extent_checks import fitting
from aotensor.ops.shape.extents import extent_of
from aotensor.sparse.csm import matrix_extent
from aotensor.sparse.index.elements import GetItem2Lists, GetItemScalar, scatter_elements
from aotensor.sparse.index.positions import positions_from_start
from aotensor.sparse.index.slices import slice_range
from aotensor.sparse.index.windows import ScatterMatrix, Submatrix
from aotensor.sparse.op import as_sparse

LENGTHS: Final = "lengths of vectors of indices"
HINT: Final = "use i:i+1 instead of i, which gives a matrix"


@coerced
def sparse_getitem(x: Any, index: Any) -> Variable:
    """x[index] of a sparse matrix.

    x[i, j]: a dense scalar. x[rows, columns] of two vectors, and x[mask] of a mask of all elements: a dense vector of
    elements. Slices, and vectors or masks along one axis: a matrix in the format of x. Vectors are lists, arrays or
    integer variables; positions count from the end where negative, and may repeat; slices are clipped.

    Raises: GraphIndexError for a position outside of x (at run time where it is not known) or more than two indices,
    GraphTypeError for an index of another kind, UnsupportedIndexError for a row or a column alone, x[i] or x[i, a:b].
    """
    x = as_sparse(x)
    row, column = _two_items(x, _items(index))
    if _is_vector(row) and _is_vector(column):
        return get_item_2lists(x, row, column)
    is_single = [not isinstance(item, slice) and not _is_vector(item) for item in (row, column)]
    if all(is_single):
        return get_item_scalar(x, row, column)
    if any(is_single):
        raise UnsupportedIndexError(f"a row or column of {x} would be a sparse vector", hint=HINT)
    return get_item_2d(x, row, column)


def get_item_scalar(x: Any, i: Any, j: Any = None) -> Variable:
    """x[i, j] as a dense scalar: 0 where nothing is stored.

    i, j: any integers, from the end where negative; or i alone, a pair of them.

    Raises: GraphIndexError for an index outside of x, GraphTypeError for a value that is not an integer or a pair.
    """
    x = as_sparse(x)
    if j is None:
        if not isinstance(i, tuple | list) or len(i) != 2:
            raise GraphTypeError(f"get_item_scalar: expected two integers, found {i!r:.40}")
        i, j = i
    return GetItemScalar()(x, _positions(x, 0, i), _positions(x, 1, j))  # type: ignore[no-any-return]


def get_item_2d(x: Any, rows: Any, columns: Any = slice(None)) -> Variable:
    """The submatrix of slices, vectors or masks of rows and columns, in the format of x.   rows: or a pair of both

    Raises: GraphIndexError for a position outside of x, GraphTypeError for an index of another kind.
    """
    x = as_sparse(x)
    items = enumerate(rows if isinstance(rows, tuple) and len(rows) == 2 else (rows, columns))
    wanted = {axis: _as_vector(item) for axis, item in items if not _is_whole(item)}
    if not wanted:
        return x  # type: ignore[no-any-return]
    ranges = {
        axis: slice_range(item, matrix_extent(x, axis)) if isinstance(item, slice) else None
        for axis, item in wanted.items()
    }
    places = [_positions(x, axis, wanted[axis]) if found is None else found[0] for axis, found in ranges.items()]
    rises = (found is not None or _rises(wanted[axis]) for axis, found in ranges.items())
    steps = tuple(None if found is None else found[1] for found in ranges.values())
    counts = tuple(None if found is None else found[2] for found in ranges.values())
    found: Variable = Submatrix(tuple(wanted), tuple(rises), steps, counts)(x, *places)
    return found


def _is_whole(item: Any) -> bool:
    return isinstance(item, slice) and item.start is item.stop is item.step is None


def get_item_list(x: Any, index: Any) -> Variable:
    """The rows of x at `index`, a vector of integers or a mask; they may repeat.   Raises: as get_item_2d"""
    return get_item_2d(x, _vector(index))


def get_item_2lists(x: Any, rows: Any, columns: Any) -> Variable:
    """The elements x[rows[k], columns[k]] as a dense vector of the dtype of x.

    Raises: GraphIndexError for an index outside of x and lengths that differ (at run time where they are not known),
    GraphTypeError for values other than vectors of integers.
    """
    x = as_sparse(x)
    return GetItem2Lists()(x, *_paired(x, rows, columns))  # type: ignore[no-any-return]


def get_item_list_grad(x: Any, index: Any, gz: Any) -> Variable:
    """The cotangent of x in get_item_list(x, index), for the cotangent gz: repeated rows add up."""
    x, gz, index = as_sparse(x), as_sparse(gz), _vector(index)
    extents, own = ([matrix_extent(one, axis) for axis in range(2)] for one in (x, gz))
    rows = fitting(_positions(x, 0, index), 0, own[0], gz.sparse_type.shape[0], "rows of a cotangent and positions")
    columns = fitting(arange(extents[1]), 0, own[1], gz.sparse_type.shape[1], "columns of a matrix and its cotangent")
    op = ScatterMatrix(x.sparse_type.shape, (0, 1), (_rises(index), True))
    return op(gz, *map(as_tensor, extents), rows, columns)  # type: ignore[no-any-return]


def get_item_2lists_grad(x: Any, rows: Any, columns: Any, gz: Any) -> Variable:
    """The cotangent of x in get_item_2lists(x, rows, columns), for the cotangent gz (k,): repeated indices add up."""
    x = as_sparse(x)
    coordinates = _paired(x, rows, columns)
    length = coordinates[0].tensor_type.shape[0]
    return scatter_elements(x, fitting(as_tensor(gz), 0, extent_of(coordinates[0], 0), length, LENGTHS), *coordinates)


# --- what is meant ---------------------------------------------------------------------------------------------------


def _items(index: Any) -> list[Any]:
    return list(index) if isinstance(index, tuple) else [index]


def _two_items(x: SparseVariable, items: Sequence[Any]) -> tuple[Any, Any]:
    """Split an index into (index of the rows, index of the columns).

    Raises: GraphIndexError for none, for more than two, or for two ellipses; GraphTypeError for None.
    """
    if not items:
        raise GraphIndexError("the index of a sparse matrix is empty")
    if any(item is None for item in items):
        raise GraphTypeError("an index of a sparse matrix cannot hold None: the result would have three axes")
    found = [_as_vector(item) for item in items]
    if len(found) == 1 and is_mask(found[0]) and found[0].ndim == 2:
        return tuple(_nonzero(x, found[0]))  # type: ignore[return-value]
    if sum(item is Ellipsis for item in found) > 1:
        raise GraphIndexError("an index holds at most one ellipsis")
    if Ellipsis in [item for item in found if not isinstance(item, Variable)]:
        at = next(position for position, item in enumerate(found) if item is Ellipsis)
        found[at : at + 1] = [slice(None)] * max(3 - len(found), 0)
    if len(found) > 2:
        raise GraphIndexError(f"{len(found)} indices, but a sparse matrix has two axes", lines=[x.describe()])
    return found[0], found[1] if len(found) == 2 else slice(None)


def _as_vector(item: Any) -> Any:
    """Convert lists and arrays to variables, an empty list to integers; any other index is unchanged."""
    if isinstance(item, list | tuple) and not item:
        return as_tensor(np.zeros(0, "int64"))
    if isinstance(item, list | tuple) or (isinstance(item, np.ndarray) and item.ndim):
        return as_tensor(item)
    return item


def _is_vector(item: Any) -> bool:
    return isinstance(item, Variable) and item.ndim > 0


def _vector(item: Any) -> Variable:
    """Check that an index is a vector of positions, or a mask.   Raises: GraphTypeError for anything else"""
    found = _as_vector(item)
    if not isinstance(found, Variable) or found.ndim != 1:
        shown = found.type if isinstance(found, Variable) else repr(found)
        raise GraphTypeError(f"an index of a sparse matrix must be a vector of integers, not {shown}")
    return found


def _nonzero(x: SparseVariable, mask: Variable) -> list[Variable]:
    """(rows, columns) where a mask of all elements holds."""
    extents = (as_tensor(matrix_extent(x, axis)) for axis in range(2))
    return list(Nonzero(0).apply(mask, *extents).outputs)


def _paired(x: SparseVariable, rows: Any, columns: Any) -> list[Variable]:
    """Indices of rows and columns, one vector each.   Raises: as _positions, and GraphIndexError if lengths differ"""
    i, j = (_positions(x, axis, _vector(item)) for axis, item in enumerate((rows, columns)))
    return [i, fitting(j, 0, extent_of(i, 0), i.tensor_type.shape[0], LENGTHS, "index")]


def _positions(x: SparseVariable, axis: int, item: Any) -> Variable:
    """int64 positions along an axis: a scalar for a scalar, else a vector.   Raises: GraphIndexError, GraphTypeError"""
    if isinstance(item, Variable) and item.ndim > 1:
        raise GraphTypeError(f"an index of a sparse matrix must be a vector of integers, not {item.type}")
    if _are_integers(item):
        return positions_from_start(item, matrix_extent(x, axis), axis)
    numbers = arange(matrix_extent(x, axis))  # a mask has as many elements; what is no index is an error of tensors
    if axis == 0:
        return subtensor(numbers, item)
    return subtensor(subtensor(dimshuffle(numbers, [None, 0]), (slice(None), item)), 0)


def _are_integers(item: Any) -> bool:
    if isinstance(item, Variable):
        return item.dtype in dtypes.INTEGERS
    return isinstance(item, int | np.integer) and not isinstance(item, bool)


def _rises(item: Any) -> bool:
    """Do the positions provably increase strictly?"""
    if isinstance(item, slice):
        return item.step is None or (isinstance(item.step, int | np.integer) and int(item.step) > 0)
    if is_mask(item):
        return True
    if not isinstance(item, Constant) or item.ndim != 1:
        return False
    return bool(np.all(item.data >= 0)) and bool(np.all(np.diff(item.data) > 0))
