"""Solves and products with small triangular matrices, line by line, in place, without LAPACK calls."""

from __future__ import annotations

from collections.abc import Sequence

from aotensor.ir.index_builder import Extent
from aotensor.ir.scalar_builder import Scalar
from aotensor.passes.lapack.small.cells import Cells, Line, Numbers, each_line


class Inverses:
    """Reciprocals of a diagonal, computed once: divisions have a long latency, and these are independent.

    cells: a column of them.
    """

    def __init__(self, cells: Cells) -> None:
        self._cells = cells

    @staticmethod
    def computed(v: Numbers, a: Cells) -> Inverses:
        """Emit the reciprocals of the diagonal of a."""
        one, cells = v.constant(1.0), v.temporary(a.rows)
        v.emit_loop(0, a.rows, lambda i: cells.store(one / a.load(i, i), i, 0))
        return Inverses(cells)

    def load(self, i: Extent) -> Scalar:
        return self._cells.load(i, 0)


def solve_lines(
    v: Numbers, a: Cells, xs: Sequence[Line], inverses: Inverses | None, *, is_lower: bool, is_transposed: bool
) -> None:
    """Emit x ← op(A)⁻¹·x for a triangle of A and each line x.

    inverses: reciprocals of its diagonal, None for a unit diagonal.
    """
    n = a.rows
    goes_down = is_lower != is_transposed

    def element(i: int) -> None:
        before = (0, i) if goes_down else (i + 1, n)

        def term(k: Extent) -> tuple[Scalar, list[Scalar]]:
            return _element(a, i, k, is_transposed), [x.load(k) for x in xs]

        found = v.subtracted([x.load(i) for x in xs], *before, term)
        for x, rest in zip(xs, found, strict=True):
            x.store(rest if inverses is None else rest * inverses.load(i), i)

    v.each_outer(*(0, n) if goes_down else (n, 0), element)


def _element(a: Cells, i: Extent, k: Extent, is_transposed: bool) -> Scalar:
    return a.load(k, i) if is_transposed else a.load(i, k)


def solve_triangular(
    v: Numbers, a: Cells, x: Cells, is_left: bool, is_lower: bool, is_transposed: bool, is_unit: bool
) -> Scalar:
    """Emit the solution of op(A)·X = B or X·op(A) = B in place of B.

    Fails at the first zero of the diagonal, unless `is_unit`.
    """
    inverses = None if is_unit else Inverses.computed(v, a)
    transposed = is_transposed == is_left  # a row of X·op(A) is op(A)ᵀ times a column

    def solve(lines: list[Line]) -> None:
        solve_lines(v, a, lines, inverses, is_lower=is_lower, is_transposed=transposed)

    each_line(v, x, solve, is_row=not is_left)
    return v.constant(0, v.integer) if is_unit else first_zero(v, a)


def first_zero(v: Numbers, a: Cells) -> Scalar:
    """The position of the first zero of the diagonal, counted from 1; 0 if there is none."""
    zero = v.constant(0.0)

    def look(i: Extent, carried: list[Scalar]) -> Sequence[Scalar]:
        is_zero = v.b.compare("eq", a.load(i, i), zero)
        return [v.is_first(carried[0], is_zero, v.position(i + 1))]

    return v.fold(0, a.rows, [v.constant(0, v.integer)], look)[0]


def multiply_triangular(
    v: Numbers, a: Cells, x: Cells, is_left: bool, is_lower: bool, is_transposed: bool, is_unit: bool
) -> Scalar:
    """Emit op(A)·B or B·op(A) in place of B, for a triangle of A."""
    n = a.rows
    transposed = is_transposed == is_left
    is_low = is_lower != transposed

    def multiply(lines: list[Line]) -> None:
        def element(i: int) -> None:
            own = [x.load(i) if is_unit else a.load(i, i) * x.load(i) for x in lines]

            def add(k: Extent, carried: list[Scalar]) -> list[Scalar]:
                factor = _element(a, i, k, transposed)
                return [total + factor * x.load(k) for total, x in zip(carried, lines, strict=True)]

            others = (0, i) if is_low else (i + 1, n)
            for x, total in zip(lines, v.fold(*others, own, add), strict=True):
                x.store(total, i)

        v.each_outer(*(n, 0) if is_low else (0, n), element)

    each_line(v, x, multiply, is_row=not is_left)
    return v.constant(0, v.integer)


def clear_above(v: Numbers, a: Cells) -> None:
    """Emit code that sets the elements above the diagonal to 0."""
    zero = v.constant(0.0)
    v.each_outer(0, a.rows, lambda i: v.emit_loop(i + 1, a.columns, lambda j: a.store(zero, i, j)))
