"""Equations of complex numbers as real ones.

    A = X + iY    ↔    each entry x + iy as the block [ x  −y ],      each element of b and x as its two parts
                                                      [ y   x ]

A Hermitian matrix gives a symmetric one, a triangular one keeps its triangle but for blocks on the diagonal, and the
order of elimination keeps parts together. A real A has the parts of b as further right-hand sides.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from aotensor.graph.sparse_type import SparseVariable
from aotensor.graph.variable import Variable
from aotensor.ops.complex.blocks import is_complex
from aotensor.ops.complex.holomorphic import holomorphic_in
from aotensor.ops.complex.parts import join_parts, parts
from aotensor.ops.elementwise.arithmetic import neg
from aotensor.ops.elementwise.compare import eq, switch
from aotensor.ops.shape.extents import extent_of, extents_of, product
from aotensor.ops.shape.join import concatenate, stack
from aotensor.ops.shape.reshape import reshape
from aotensor.sparse.compressed_axes import major_of_entries
from aotensor.sparse.convert import transposed
from aotensor.sparse.csm import matrix_of
from aotensor.sparse.op import Compressed
from aotensor.sparse.reformat import in_format


def solved_by_parts(solve: Callable[..., Variable], p: Compressed, *sides: Variable) -> Variable:
    """Solve A·x = b with complex numbers by `solve` for real ones.   sides: b and optionally a start, (n,) or (n, k)"""
    return holomorphic_in(join_parts(*_solved_parts(solve, p, *sides)), p.data, sides[0])


def _solved_parts(solve: Callable[..., Variable], p: Compressed, *sides: Variable) -> tuple[Variable, Variable]:
    if is_complex(p.data):
        found = solve(real_matrix(p), *map(_in_turn, sides))
        return found[::2], found[1::2]
    found = solve(matrix_of(p), *map(_side_by_side, sides))
    if sides[0].ndim == 1:
        return found[:, 0], found[:, 1]
    half = extent_of(sides[0], 1)
    return found[:, :half], found[:, half:]


def real_matrix(p: Compressed) -> SparseVariable:
    """The real matrix of twice the size that represents a complex matrix, in the format of p."""
    re, im = parts(p.data)
    block = [re, neg(im), im, re] if p.by_rows else [re, im, neg(im), re]  # columns are the rows of the transpose
    data = reshape(stack(block, axis=1), [extent_of(re, 0), 2, 2])
    sizes = [product([n, 2]) for n in (p.major, p.minor)]
    dims = [2 * dim if isinstance(dim, int) else None for dim in (p.major_dim, p.minor_dim)]
    blocks = Compressed(
        "bsr", data, p.indices, p.indptr, sizes[0], sizes[1], (dims[0], dims[1]), p.is_canonical, blocksize=(2, 2)
    )
    found = in_format(matrix_of(blocks), "csr")
    return found if p.by_rows else transposed(found)  # type: ignore[return-value]


def with_real_diagonal(p: Compressed) -> Compressed:
    """A complex matrix with the imaginary parts of its diagonal removed, as in a Hermitian matrix."""
    re, im = parts(p.data)
    return replace(p, data=join_parts(re, switch(eq(p.indices, major_of_entries(p)), 0, im)))


def _in_turn(b: Variable) -> Variable:
    """Interleave the parts of each row.   (n, …) complex → (2n, …) real"""
    n, *columns = extents_of(b)
    return reshape(stack(list(parts(b)), axis=1), [product([n, 2]), *columns])


def _side_by_side(b: Variable) -> Variable:
    """Put real and imaginary parts into separate columns.   (n,) or (n, k) complex → (n, 2) or (n, 2k) real"""
    return stack(list(parts(b)), axis=1) if b.ndim == 1 else concatenate(list(parts(b)), axis=1)
