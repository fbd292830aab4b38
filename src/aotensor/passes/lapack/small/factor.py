"""Cholesky and LU factorizations of small matrices, and functions of their factors, in place, without LAPACK calls.

Triangles, exchanges and failures are those of `lapack.factor`: A = L·Lᵀ; A = L·U·Pᵀ where U has a unit diagonal and
columns of A are exchanged, so that in each step the pivot is the largest element of a row.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from aotensor.ir.index_builder import Extent
from aotensor.ir.scalar_builder import Scalar
from aotensor.passes.lapack.small.cells import Cells, Line, Numbers, RegisterCells, each_line
from aotensor.passes.lapack.small.triangle import Inverses, clear_above, first_zero, solve_lines

_SCALE: Final = 2.0**64
"""Scale factor for numbers whose inverse overflows: the inverse of the scaled number is finite."""


def cholesky(v: Numbers, a: Cells) -> Scalar:
    """Emit the Cholesky factor L in place of A's lower triangle, column by column; zeros above.

    Fails where a leading minor is nan or not positive.
    """
    b, n = v.b, a.rows
    zero, one = v.constant(0.0), v.constant(1.0)
    failure = v.constant(0, v.integer)

    def column(j: int) -> None:
        nonlocal failure
        square = v.subtract_products(a.load(j, j), 0, j, lambda k: (a.load(j, k), a.load(j, k)))
        failed = ~(square > zero)
        root = b.math("sqrt", square)
        inverse = one / root
        a.store(root, j, j)

        def below(i: Extent) -> None:
            rest = v.subtract_products(a.load(i, j), 0, j, lambda k: (a.load(i, k), a.load(j, k)))
            a.store(rest * inverse, i, j)

        v.emit_loop(j + 1, n, below)
        failure = v.is_first(failure, failed, v.position(j + 1))

    v.each_outer(0, n, column)
    clear_above(v, a)
    return failure


def cholesky_pullback(v: Numbers, factor: Cells, derivative: Cells) -> Scalar:
    """Emit the pullback of a Cholesky factor: L, L̄ → Ā in place of L̄, from the last column to the first; zeros above.

    Source: Murray, Differentiation of the Cholesky decomposition (2016), the unblocked algorithm.
    """
    n = factor.rows
    one, half = v.constant(1.0), v.constant(0.5)

    def column(k: int) -> None:
        below = k + 1
        inverse = one / factor.load(k, k)
        v.emit_loop(below, n, lambda i: derivative.store(derivative.load(i, k) * inverse, i, k))
        total = v.subtract_products(
            derivative.load(k, k), below, n, lambda i: (derivative.load(i, k), factor.load(i, k))
        )
        total = total * inverse
        derivative.store(total * half, k, k)

        def left(j: Extent) -> None:
            beside = factor.load(k, j)

            def row(i: Extent) -> None:
                product = derivative.load(i, k) * beside
                derivative.store(derivative.load(i, j) - product, i, j)

            v.emit_loop(below, n, row)
            rest = v.subtract_products(
                derivative.load(k, j), below, n, lambda i: (derivative.load(i, k), factor.load(i, j))
            )
            derivative.store(rest - total * beside, k, j)

        v.emit_loop(0, k, left)

    v.each_outer(n, 0, column)
    clear_above(v, derivative)
    return v.constant(0, v.integer)


def lu(v: Numbers, a: Cells, pivots: Cells) -> Scalar:
    """Emit the LU factors in place of A, and the 1-based column exchanges. Fails where a pivot is zero."""
    b = v.b
    zero, one, scale = v.constant(0.0), v.constant(1.0), v.constant(_SCALE)
    smallest = v.constant(float(np.finfo(v.dtype).tiny))
    failure = v.constant(0, v.integer)

    def step(k: int) -> None:
        nonlocal failure
        after = k + 1

        def larger(j: Extent, found: list[Scalar]) -> Sequence[Scalar]:
            size = b.abs(a.load(k, j))
            is_larger = size > found[0]
            return [b.select(is_larger, size, found[0]), b.select(is_larger, v.position(j), found[1])]

        _, where = v.fold(after, a.columns, [b.abs(a.load(k, k)), v.position(k)], larger)
        pivots.store(where + 1, k, 0)
        v.emit_loop(0, a.rows, lambda i: _exchange(v, [Line(a, i, is_row=True)], k, a.columns, where))
        pivot = a.load(k, k)
        is_zero = v.b.compare("eq", pivot, zero)
        factor = b.select(b.abs(pivot) < smallest, scale, one)
        inverse = b.select(is_zero, one, one / (pivot * factor))

        def along(j: Extent) -> None:
            a.store(a.load(k, j) * factor * inverse, k, j)

        def below(i: Extent) -> None:
            left = a.load(i, k)
            v.emit_loop(after, a.columns, lambda j: a.store(a.load(i, j) - left * a.load(k, j), i, j))

        v.emit_loop(after, a.columns, along)
        v.emit_loop(after, a.rows, below)
        failure = v.is_first(failure, is_zero, v.position(after))

    v.each_outer(0, min(a.rows, a.columns), step)
    return failure


def _exchange(v: Numbers, lines: Sequence[Line], k: int, length: int, where: Scalar) -> None:
    """Swap element k of lines with element `where` ≥ k, which may differ between lanes."""
    b, mine = v.b, [x.load(k) for x in lines]
    if v.lanes == 1 and not isinstance(lines[0].cells, RegisterCells):
        other = b.cast(where, "index")
        for x, value in zip(lines, mine, strict=True):
            x.store(x.load(other), k)
            x.store(value, other)
        return

    def look(j: Extent, carried: list[Scalar]) -> Sequence[Scalar]:
        is_meant = v.b.compare("eq", where, v.position(j))
        here = [x.load(j) for x in lines]
        for x, own, value in zip(lines, mine, here, strict=True):
            x.store(b.select(is_meant, own, value), j)
        return [b.select(is_meant, value, found) for value, found in zip(here, carried, strict=True)]

    for x, found in zip(lines, v.fold(k + 1, length, mine, look), strict=True):
        x.store(found, k)


def _permute(v: Numbers, lines: Sequence[Line], pivots: Cells, is_forward: bool) -> None:
    """Emit x ← Pᵀ·x (`is_forward`) or x ← P·x for each line x."""
    one, n = v.constant(1, v.integer), pivots.rows

    def exchange(k: int) -> None:
        _exchange(v, lines, k, n, pivots.load(k, 0) - one)

    v.each_outer(*(0, n) if is_forward else (n, 0), exchange)


def lu_solve(
    v: Numbers, factors: Cells, pivots: Cells, x: Cells, inverses: Cells | None = None, *, is_transposed: bool
) -> Scalar:
    """Emit the solution X of op(A)·X = B in place of B, from the LU factors of A.

    inverses: the reciprocals of their diagonal, a column; computed if None.
    """
    held = Inverses.computed(v, factors) if inverses is None else Inverses(inverses)

    def solve(lines: list[Line]) -> None:
        if is_transposed:
            _permute(v, lines, pivots, is_forward=True)
            solve_lines(v, factors, lines, None, is_lower=False, is_transposed=True)
            solve_lines(v, factors, lines, held, is_lower=True, is_transposed=True)
        else:
            solve_lines(v, factors, lines, held, is_lower=True, is_transposed=False)
            solve_lines(v, factors, lines, None, is_lower=False, is_transposed=False)
            _permute(v, lines, pivots, is_forward=False)

    each_line(v, x, solve)
    return v.constant(0, v.integer)


def lu_inverse(v: Numbers, factors: Cells, pivots: Cells, inverse: Cells) -> Scalar:
    """Emit A⁻¹ from the LU factors of A: the solution for the identity. Fails at a zero pivot."""
    zero, one = v.constant(0.0), v.constant(1.0)

    def fill(i: int) -> None:
        v.emit_loop(0, factors.rows, lambda j: inverse.store(zero, i, j))
        inverse.store(one, i, i)

    v.each_outer(0, factors.rows, fill)
    lu_solve(v, factors, pivots, inverse, is_transposed=False)
    return first_zero(v, factors)


def lu_adjugate(v: Numbers, factors: Cells, pivots: Cells, adjugate: Cells) -> Scalar:
    """Emit det(A)·A⁻¹, also for singular A, see `lapack.factor.lu_adjugate`. Overwrites the LU factors."""
    b, info = v.b, np.finfo(v.dtype)
    n = factors.rows

    def larger(i: Extent, carried: list[Scalar]) -> Sequence[Scalar]:
        return [b.maximum(carried[0], b.abs(factors.load(i, i)))]

    (largest,) = v.fold(0, n, [v.constant(0.0)], larger)
    least = b.maximum(largest * float(info.eps), v.constant(math.sqrt(float(info.tiny))))

    def product(i: Extent, carried: list[Scalar]) -> Sequence[Scalar]:
        pivot = factors.load(i, i)
        pivot = b.select(b.abs(pivot) < least, least, pivot)
        factors.store(pivot, i, i)
        is_exchanged = v.b.compare("ne", pivots.load(i, 0), v.position(i + 1))
        return [carried[0] * b.select(is_exchanged, -pivot, pivot)]

    (determinant,) = v.fold(0, n, [v.constant(1.0)], product)
    failure = lu_inverse(v, factors, pivots, adjugate)

    def scale(i: Extent) -> None:
        v.emit_loop(0, n, lambda j: adjugate.store(adjugate.load(i, j) * determinant, i, j))

    v.emit_loop(0, n, scale)
    return failure
