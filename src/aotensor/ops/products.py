"""Products by name: batches of products, chains and powers of matrices, Kronecker products, block diagonals."""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any

from numpy.typing import DTypeLike

from aotensor.core import dtypes
from aotensor.errors import GraphTypeError
from aotensor.graph.coercion import coerced
from aotensor.graph.public import public
from aotensor.graph.variable import Variable, as_tensor
from aotensor.ops.complex.parts import conj
from aotensor.ops.contract import matmul
from aotensor.ops.create import alloc, zeros
from aotensor.ops.diagonal import eye
from aotensor.ops.einsum import einsum
from aotensor.ops.elementwise.arithmetic import mul
from aotensor.ops.elementwise.compare import cast
from aotensor.ops.linalg.shapes import as_square
from aotensor.ops.linalg.solve import inv
from aotensor.ops.shape.axes import atleast_2d, dimshuffle, shape_padleft
from aotensor.ops.shape.extents import SymbolicExtent, extent_of, extents_of, product
from aotensor.ops.shape.join import concatenate
from aotensor.ops.shape.reshape import reshape


@public(numpy="vecdot")
@coerced
def vecdot(x: Any, y: Any, dtype: DTypeLike | None = None) -> Variable:
    """Σ_k x̄[…, k]·y[…, k].   (…, k), (…, k) → (…); leading dims broadcast where statically 1. A complex x is
    conjugated. dtype: of the result; the operands are multiplied in it.

    Raises: GraphValueError for a scalar or for extents that differ.
    """
    x, y = _in_dtype(x, y, dtype)
    return einsum("...a,...a->...", conj(x), y)


@public(numpy="matvec")
@coerced
def matvec(x: Any, y: Any, dtype: DTypeLike | None = None) -> Variable:
    """Σ_k x[…, i, k]·y[…, k].   (…, m, k), (…, k) → (…, m); leading dims broadcast where statically 1. dtype: as above.

    Raises: GraphValueError for too low a rank or for extents that differ.
    """
    return einsum("...ab,...b->...a", *_in_dtype(x, y, dtype))


@public(numpy="vecmat")
@coerced
def vecmat(x: Any, y: Any, dtype: DTypeLike | None = None) -> Variable:
    """Σ_k x̄[…, k]·y[…, k, j].   (…, k), (…, k, n) → (…, n); leading dims broadcast where statically 1. A complex x is
    conjugated. dtype: as above.

    Raises: GraphValueError for too low a rank or for extents that differ.
    """
    x, y = _in_dtype(x, y, dtype)
    return einsum("...a,...ab->...b", conj(x), y)


def _in_dtype(x: Any, y: Any, dtype: DTypeLike | None) -> tuple[Any, Any]:
    """The operands converted to `dtype`, if it is given."""
    return (x, y) if dtype is None else (cast(x, dtype), cast(y, dtype))


@coerced
def batched_dot(x: Any, y: Any) -> Variable:
    """dot(x[s], y[s]) for every s, where a sample is a vector or a matrix.   (s, …, k), (s, k, …) → (s, …)

    Raises: GraphTypeError for a rank other than 2 or 3, GraphValueError for extents that differ.
    """
    x, y = as_tensor(x), as_tensor(y)
    if x.ndim not in (2, 3) or y.ndim not in (2, 3):
        raise GraphTypeError("batched_dot: expected operands of rank 2 or 3", lines=[x.describe(), y.describe()])
    left, right = ("sik" if x.ndim == 3 else "sk"), ("skj" if y.ndim == 3 else "sk")
    return einsum(f"{left},{right}->s{left[1:-1]}{right[2:]}", x, y)


@coerced
def matrix_dot(*matrices: Any) -> Variable:
    """The product of a chain of matrices; the first and the last may be vectors.

    The pairs are multiplied in the order in which einsum contracts them, not from left to right.

    Raises: GraphTypeError for no operand or another rank, GraphValueError for inner dimensions that differ.
    """
    xs = [as_tensor(x) for x in matrices]
    is_end = [position in (0, len(xs) - 1) for position in range(len(xs))]
    if not xs or any(x.ndim != 2 and not (end and x.ndim == 1) for x, end in zip(xs, is_end, strict=True)):
        raise GraphTypeError(
            "matrix_dot: expected matrices; only the first and the last operand may be vectors",
            lines=[x.describe() for x in xs],
        )
    if len(xs) == 1:
        return xs[0]
    letters = string.ascii_letters
    if len(xs) >= len(letters):  # einsum has one letter per dimension
        return matmul(matrix_dot(*xs[:-1]), xs[-1])
    axes = [letters[k : k + 2] for k in range(len(xs))]
    axes[0], axes[-1] = axes[0][-xs[0].ndim :], axes[-1][: xs[-1].ndim]
    out = ("" if xs[0].ndim == 1 else axes[0][0]) + ("" if xs[-1].ndim == 1 else axes[-1][1])
    return einsum(f"{','.join(axes)}->{out}", *xs)


@public(numpy="kron")
@coerced
def kron(x: Any, y: Any) -> Variable:
    """np.kron: y times every element of x.   (m, n), (p, q) → (m·p, n·q), and so along every axis.

    The operand of lower rank gets leading axes of extent 1.
    """
    x, y = as_tensor(x), as_tensor(y)
    rank = max(x.ndim, y.ndim)
    first, second = _interleaved(x, rank, behind=True), _interleaved(y, rank, behind=False)
    pairs = zip(_padded_extents(x, rank), _padded_extents(y, rank), strict=True)
    return reshape(mul(first, second), [product(pair) for pair in pairs])


def _interleaved(x: Variable, rank: int, behind: bool) -> Variable:
    """x padded to `rank` axes, with a new axis of extent 1 after (or before) each axis."""
    axes = [None] * (rank - x.ndim) + list(range(x.ndim))
    pairs = [(axis, None) if behind else (None, axis) for axis in axes]
    return dimshuffle(x, [entry for pair in pairs for entry in pair])


def _padded_extents(x: Variable, rank: int) -> list[SymbolicExtent]:
    return [1] * (rank - x.ndim) + extents_of(x)


@coerced
def block_diag(*matrices: Any) -> Variable:
    """The matrices along the diagonal, zeros elsewhere.   (…, m_k, n_k) → (…, Σ m_k, Σ n_k)

    A scalar counts as (1, 1), a vector as a row. Leading dims broadcast where they are missing or statically 1.

    Raises: GraphTypeError for no operand, GraphValueError for leading extents that differ.
    """
    if not matrices:
        raise GraphTypeError("block_diag: expected at least one matrix")
    xs = _broadcast_batches([atleast_2d(x) for x in matrices])
    dtype = dtypes.promote(*(x.dtype for x in xs))
    rows = []
    for position, x in enumerate(xs):
        before, after = (_columns(part) for part in (xs[:position], xs[position + 1 :]))
        blanks = [zeros((*extents_of(x)[:-1], width), dtype) for width in (before, after)]
        parts = [blanks[0], x, blanks[1]]
        widths = [before, None, after]
        rows.append(concatenate([part for part, width in zip(parts, widths, strict=True) if width != 0], axis=-1))
    return concatenate(rows, axis=-2)


def _broadcast_batches(xs: Sequence[Variable]) -> list[Variable]:
    """Broadcast matrices to the same leading dims."""
    count = max(x.ndim for x in xs) - 2
    wide = [shape_padleft(x, count + 2 - x.ndim) for x in xs]
    batch: list[SymbolicExtent] = []
    for axis in range(count):
        known = [extent_of(x, axis) for x in wide if x.static_shape[axis] != 1]
        batch.append(next((n for n in known if isinstance(n, int)), known[0] if known else 1))
    return [
        alloc(x, *batch, *extents_of(x)[-2:]) if 1 in x.static_shape[:count] and batch != [1] * count else x
        for x in wide
    ]


def _columns(xs: Sequence[Variable]) -> SymbolicExtent:
    """The sum of the extents of several matrices along the last axis."""
    total: SymbolicExtent = 0
    for x in xs:
        total = total + extent_of(x, -1)
    return total


def _identities(x: Variable) -> Variable:
    """A batch of identity matrices of the shape of x."""
    extents = extents_of(x)
    one = eye(extents[-1], dtype=x.dtype)
    return alloc(one, *extents) if x.ndim > 2 else one


@public(numpy="linalg.matrix_power")
@coerced
def matrix_power(x: Any, n: int) -> Variable:
    """x·x·…·x, n times, by repeated squaring; the identity for n = 0, powers of the inverse for n < 0.

    (…, m, m) → (…, m, m), in the dtype of x, or that of `inv`.
    Raises: GraphTypeError below rank 2 or for an n that is not an int, GraphValueError for a matrix that is not square;
    LinAlgError at run time for n < 0 and a singular matrix.
    """
    x = as_square("matrix_power", x)
    result: Variable | None = None
    square, bits = inv(x) if n < 0 else x, abs(n)
    while bits:
        if bits & 1:
            result = square if result is None else matmul(result, square)
        bits >>= 1
        square = matmul(square, square) if bits else square
    return _identities(x) if result is None else result
