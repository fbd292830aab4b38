"""Sparse Jacobians and Hessians: the pattern from the graph, columns in groups, one sweep for all groups.

    J·S for a seed matrix S with a column of ones and zeros per colour    →    the entries of J, each alone in its row

The result is a CSR matrix with a constant pattern. Cost: one sweep over a batch of as many samples as there
are colours, however many columns there are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from aotensor.core import dtypes
from aotensor.core.types import Array, TensorType
from aotensor.errors import GraphValueError, UnsupportedError
from aotensor.gradient.forward import push
from aotensor.gradient.options import float_of
from aotensor.gradient.reverse import pullback
from aotensor.gradient.sparsity.coloring import color_columns, color_stars, readable_entries
from aotensor.gradient.sparsity.structure import checked_pattern, structure_of
from aotensor.graph.op import has_value
from aotensor.graph.sparse_type import SparseVariable, scipy_sparse
from aotensor.graph.subgraph import is_dual
from aotensor.graph.variable import Constant, Variable, constant
from aotensor.graph.vectorize import batch
from aotensor.graph.walk import evaluate_all, replace, toposort
from aotensor.ops.batching import repeated
from aotensor.ops.shape.reshape import reshape
from aotensor.sparse.construct.create import csm_data
from aotensor.sparse.csm import CSM

BACKWARD: Final = 2
"""How many forward sweeps cost as much as one backward sweep, to choose between groups of columns and of rows.

Measured: a trapezoidal rule of 1,000 steps has 6 groups of columns and 4 of rows; forward 24 µs, backward 46 µs.
"""

LARGEST_FOLDED: Final = 1 << 17
"""Numbers, in all, up to which arrays that are made of seeds alone are computed here: they are data of the library."""


def sparse_jacobian(expression: Variable, x: Variable, stop: Sequence[Variable], policy: str, pattern: Any) -> Variable:
    """∂expression/∂x as a CSR matrix (expression.size, x.size), both in C order; stored entries may happen to be 0.

    Raises: GraphValueError where extents are not known, or a pattern of another shape is given; UnsupportedError for
    derivatives of complex values by real ones without a forward sweep.
    """
    found = _pattern(expression, x, pattern)
    by_column, by_row = color_columns(found), color_columns(found.T.tocsr())
    is_widened = dtypes.is_complex(expression.dtype) and not dtypes.is_complex(x.dtype)
    is_shorter = is_widened or by_column.max(initial=-1) < BACKWARD * (by_row.max(initial=-1) + 1)
    if not stop and is_shorter and is_dual([expression], [x]):
        swept = _compressed_columns(expression, x, by_column)
        if swept is not None:
            rows, columns = _coordinates(found)
            return _matrix(swept, (by_column[columns], rows), found)
    if is_widened and (stop or not is_dual([expression], [x])):
        lines, hint = [expression.describe(), x.describe()], "take those of its real and imaginary part"
        raise UnsupportedError(
            "a sparse Jacobian of complex values by real ones needs a forward rule", lines=lines, hint=hint
        )
    rows, columns = _coordinates(found)
    pulled = _compressed_rows(expression, x, by_row, stop, policy)
    return _matrix(pulled, (by_row[rows], columns), found)


def sparse_hessian(derivative: Variable, x: Variable, pattern: Any, is_lower: bool = False) -> Variable:
    """The derivative of a gradient as a symmetric CSR matrix, by a star colouring.   Raises: as `sparse_jacobian`.

    is_lower: only the entries on and below the diagonal.
    """
    found = _pattern(derivative, x, pattern)
    found = (found + found.T).astype(bool).tocsr()
    found.sort_indices()
    lower = scipy_sparse().tril(found, format="csr") if is_lower else found
    kept = np.greater_equal(*_coordinates(found)) if is_lower else slice(None)
    colors = color_stars(found)
    swept = _compressed_columns(derivative, x, colors)
    if swept is None:
        whole = sparse_jacobian(derivative, x, (), "ignore", found)
        return _matrix(csm_data(whole), (np.arange(found.nnz)[kept],), lower) if is_lower else whole
    rows, shown = readable_entries(found, colors)
    return _matrix(swept, (shown[kept], rows[kept]), lower)


def _pattern(expression: Variable, x: Variable, pattern: Any) -> Any:
    sizes = [math.prod(int(n) for n in v.static_shape if n is not None) if None not in v.static_shape else None
             for v in (expression, x)]  # fmt: skip
    found = structure_of(expression, x) if pattern is None else checked_pattern(pattern, sizes)
    if sizes[1] is None:
        raise GraphValueError(
            f"a sparse Jacobian needs the extents of {x}", lines=[x.describe()], hint="give it shape=(numbers)"
        )
    return found


def _coordinates(pattern: Any) -> tuple[Array, Array]:
    return np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr)), pattern.indices.astype(np.int64)


def _seeds(colors: Array, like: Variable, dtype: str) -> Constant:
    """The seed matrix (colours, *shape of like): row c is 1 at the elements of colour c."""
    count = max(int(colors.max(initial=-1)) + 1, 1)
    ones = (np.arange(count)[:, None] == colors).astype(dtype)
    return Constant(ones.reshape([count, *(int(n or 0) for n in like.static_shape)]))


def _compressed_columns(expression: Variable, x: Variable, colors: Array) -> Variable | None:
    """J·S with a row for each colour, by a forward sweep; None if x has no effect."""
    dtype = float_of(x)
    slot = Variable(TensorType(dtype, x.tensor_type.shape))
    (tangent,) = push([expression], [x], [slot])
    return _sweep_slot(tangent, slot, _seeds(colors, x, dtype)) if has_value(tangent) else None


def _compressed_rows(
    expression: Variable, x: Variable, colors: Array, stop: Sequence[Variable], policy: str
) -> Variable:
    """Sᵀ·J, a row for each colour, by a backward sweep."""
    dtype = float_of(expression)
    if None in expression.static_shape:
        hint = "give the inputs shape=(numbers)"
        raise GraphValueError(
            f"a sparse Jacobian needs the extents of {expression}", lines=[expression.describe()], hint=hint
        )
    slot = Variable(TensorType(dtype, expression.tensor_type.shape))
    (term,) = pullback(expression, [x], slot, stop, policy)
    return _sweep_slot(term, slot, _seeds(colors, expression, dtype))


def _sweep_slot(term: Variable, slot: Variable, seeds: Constant) -> Variable:
    (found,) = batch([term], {slot: seeds})
    whole = _fold_constants(found if found.ndim > term.ndim else repeated(found, seeds), seeds)
    shape = (len(seeds.data), -1)
    return Constant(whole.data.reshape(shape)) if isinstance(whole, Constant) else reshape(whole, shape)


def _fold_constants(x: Variable, seeds: Variable) -> Variable:
    """x, with subgraphs of seeds and other constants folded to constants if these are not too large."""
    fixed, others, used = {seeds}, set[Variable](), dict[Variable, None]()
    for node in toposort([x]):
        if all(isinstance(v, Constant) or v in fixed or v in others for v in node.inputs):
            (others if fixed.isdisjoint(node.inputs) else fixed).update(node.outputs)
        else:
            used.update((v, None) for v in node.inputs if v in fixed and v is not seeds)
    if x in fixed:
        used[x] = None
    sizes = [math.prod(LARGEST_FOLDED if n is None else n for n in v.static_shape) for v in used]
    if sum(sizes) > LARGEST_FOLDED:
        return x
    values = evaluate_all(list(used), {})
    known = {v: Constant(value.astype(v.dtype)) for v, value in zip(used, values, strict=True)}
    return replace([x], known)[0]


def _matrix(swept: Variable, positions: tuple[Array, ...], pattern: Any) -> SparseVariable:
    """The CSR matrix of a pattern whose entries are gathered from the sweep's array.

    positions: along each axis. The array keeps its axes, so that in a batch each sample gathers from its own part.
    """
    if isinstance(swept, Constant):
        return matrix_of(Constant(swept.data[positions]), pattern)
    return matrix_of(swept[tuple(constant(at.astype(np.uint32)) for at in positions)], pattern)


def matrix_of(data: Variable, pattern: Any) -> SparseVariable:
    """The CSR matrix of the entries `data` and the sparsity pattern of a SciPy matrix with sorted indices."""
    wide = np.int64 if max(pattern.shape, default=0) > np.iinfo(np.int32).max else np.int32
    structure = (constant(v.astype(wide)) for v in (pattern.indices, pattern.indptr))
    shape = constant(np.array(pattern.shape, np.int64))
    found: SparseVariable = CSM("csr", tuple(map(int, pattern.shape)), is_trusted=True)(data, *structure, shape)  # type: ignore[arg-type]
    return found
