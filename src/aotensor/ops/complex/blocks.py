"""Complex matrices as real ones of twice the size, with the same sums, products and inverses.

    A = X + iY    ↔    [ X  −Y ]        A·z = b    ↔    the same with [real z; imag z] and [real b; imag b]
                       [ Y   X ]

Both have the same singular values, each twice, so errors are those of the real algorithm on the complex problem. A real
solution takes twice the work of a complex one.
"""

from __future__ import annotations

from collections.abc import Callable

from aotensor.core import dtypes
from aotensor.graph.variable import Variable
from aotensor.ops.complex.holomorphic import holomorphic_in
from aotensor.ops.complex.parts import join_parts, parts, to_complex
from aotensor.ops.diagonal import tril, triu
from aotensor.ops.elementwise.arithmetic import neg
from aotensor.ops.shape.axes import matrix_transpose
from aotensor.ops.shape.extents import shape_i
from aotensor.ops.shape.join import concatenate, stack
from aotensor.ops.shape.reshape import reshape


def is_complex(*values: Variable) -> bool:
    """Is any of the variables complex?"""
    return any(dtypes.is_complex(x.dtype) for x in values)


def as_blocks(z: Variable) -> Variable:
    """(…, m, n) complex → (…, 2m, 2n) real."""
    re, im = parts(z)
    rows = [concatenate([re, neg(im)], axis=-1), concatenate([im, re], axis=-1)]
    return concatenate(rows, axis=-2)


def by_blocks(function: Callable[[Variable], Variable], z: Variable, is_holomorphic: bool = True) -> Variable:
    """Apply a function that commutes with this embedding, such as an inverse or exponential.   (…, m, n) complex"""
    found = function(as_blocks(z))
    rows, columns = found.ndim - 2, found.ndim - 1
    half = shape_i(found, rows) // 2, shape_i(found, columns) // 2
    left = found[..., : half[1]]
    both = join_parts(left[..., : half[0], :], left[..., half[0] :, :])
    return holomorphic_in(both, z) if is_holomorphic else both


def hermitian_factor(factor: Callable[[Variable], Variable], z: Variable) -> Variable:
    """L with L·Lᴴ = z, from the Cholesky factor of the real matrix that has a block [x −y; y x] for each element x +
    iy.

    L has a real diagonal, so its matrix of blocks is lower triangular with a positive diagonal, and it is the only
    such factor. Only the lower triangle of z is read, and the real part of its diagonal.
    """
    found = factor(_by_elements(*(tril(part, -k) for k, part in enumerate(parts(z)))))
    return join_parts(found[..., ::2, ::2], found[..., 1::2, ::2])


def _by_elements(re: Variable, im: Variable) -> Variable:
    """The real matrix that has a block [x −y; y x] for each element x + iy.   (…, m, n) → (…, 2m, 2n)"""
    rank = re.ndim
    rows = [stack([re, neg(im)], axis=rank), stack([im, re], axis=rank)]
    extents = [shape_i(re, axis) for axis in range(rank)]
    wide = [extent if k < rank - 2 else 2 * extent for k, extent in enumerate(extents)]
    return reshape(stack(rows, axis=rank - 1), wide)


def solved_unit_triangular(
    solve: Callable[[Variable, Variable], Variable], a: Variable, b: Variable, core: int, lower: bool
) -> Variable:
    """x with a·x = b for a triangular a with a unit diagonal, by a solver for real triangular matrices.

    Embedding element by element keeps the triangle and the unit diagonal: the work is that of a complex solve.
    """
    strict = tril(a, -1) if lower else triu(a, 1)
    re, im = parts(b)
    extents = [shape_i(b, axis) for axis in range(b.ndim)]
    extents[-core] = 2 * extents[-core]
    found = solve(_by_elements(*parts(strict)), reshape(stack([re, im], axis=b.ndim - core + 1), extents))
    columns = (slice(None),) * (core - 1)
    return join_parts(*(found[..., slice(k, None, 2), *columns] for k in range(2)))


def solve_blocks(
    solve: Callable[[Variable, Variable], Variable], a: Variable, b: Variable, core: int, assume_a: str, lower: bool
) -> Variable:
    """x with a·x = b for complex a, b, by a solver for real matrices.   core: 1 where b holds vectors, 2 for
    matrices
    """
    common = dtypes.complex_of(dtypes.promote(a.dtype, b.dtype))
    a, b = _full_matrix(to_complex(a, common), assume_a, lower), to_complex(b, common)
    found = solve(as_blocks(a), concatenate(list(parts(b)), axis=-core))
    half, columns = shape_i(found, found.ndim - core) // 2, (slice(None),) * (core - 1)
    both = (found[..., part, *columns] for part in (slice(None, half), slice(half, None)))
    return holomorphic_in(join_parts(*both), a, b)


def _full_matrix(a: Variable, assume_a: str, lower: bool) -> Variable:
    """The full matrix that `a` represents under the option `assume_a`: banded, Hermitian, or `a` itself."""
    if assume_a in ("diagonal", "tridiagonal"):
        width = int(assume_a == "tridiagonal")
        return triu(tril(a, width), -width)
    if assume_a not in ("her", "pos"):
        return a
    return hermitian_of(a, lower)


def hermitian_of(a: Variable, lower: bool) -> Variable:
    """The Hermitian matrix with the lower (or upper) triangle of a, and the real part of its diagonal."""
    strict = tril(a, -1) if lower else matrix_transpose(triu(a, 1)).conj()
    diagonal, _ = parts(tril(triu(a)))
    return strict + matrix_transpose(strict).conj() + diagonal
