"""Square roots and logarithms of triangular complex matrices, stored by columns: T[i, j] is element i of row j.

Sources: Björck & Hammarling, A Schur method for the square root of a matrix (1983); Higham, Functions of Matrices
(2008), algorithm 11.9, with the diagonals of roots as in Al-Mohy & Higham, Improved inverse scaling and squaring
algorithms for the matrix logarithm (2012).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from aotensor.ir.index_builder import Extent
from aotensor.ir.loop_builder import LoopBuilder
from aotensor.ir.scalar_builder import Scalar
from aotensor.passes.lapack.job import Job, Matrix

_DEGREE: Final = 7
_RADIUS: Final = 0.264
"""The 1-norm of X up to which the [7/7] Padé approximant of log(1 + X) is exact to float64 rounding."""
_MOST_ROOTS: Final = 100
"""Upper bound on the number of square roots; far fewer bring every matrix that has a logarithm into that radius."""


@dataclass(frozen=True)
class Pair:
    """The real and imaginary parts of a complex number, as scalars of loop IR."""

    re: Scalar
    im: Scalar

    def __add__(self, other: Pair) -> Pair:
        return Pair(self.re + other.re, self.im + other.im)

    def __sub__(self, other: Pair) -> Pair:
        return Pair(self.re - other.re, self.im - other.im)

    def __mul__(self, other: Pair) -> Pair:
        re = self.re * other.re - self.im * other.im
        return Pair(re, self.re * other.im + self.im * other.re)

    def scaled(self, factor: Scalar) -> Pair:
        """Multiply by a real number."""
        return Pair(factor * self.re, factor * self.im)


def triangular_sqrt(job: Job) -> Scalar:
    """Lower `triangular_sqrt`: T → R with R·R = T, whose eigenvalues are in the right half plane.

    Fails if there is no square root; for a real matrix (`is_real`) also at eigenvalues on the negative axis.
    """
    t, r = job.operand(0), job.result()
    _root(job, t, r)
    broken = _first(job, r.rows, lambda k: ~_is_finite_column(job, r, k))
    return _with_axis(job, t, broken)


def triangular_log(job: Job) -> Scalar:
    """Lower `triangular_log`: T → L with exp(L) = T, whose eigenvalues have imaginary parts from −π to π.

    Fails where an eigenvalue is 0; for a real matrix (`is_real`) also at eigenvalues on the negative axis.
    """
    t, result, b = job.operand(0), job.result(), job.b
    n = t.rows
    root, other = job.work(*t.extents), job.work(*t.extents)
    job.copy(t, root)

    def is_large(carried: list[Scalar]) -> Scalar:
        (count,) = carried
        is_far = _distance(job, root) > _RADIUS
        return is_far & (count < _MOST_ROOTS)

    def step(carried: list[Scalar]) -> Sequence[Scalar]:
        _root(job, root, other)
        job.copy(other, root)
        return [carried[0] + 1]

    (count,) = b.loop_while([b.constant(0, "int64")], is_large, step)
    scale = b.math("exp2", b.cast(count, job.dtype))

    def less_one(j: Scalar) -> None:
        """exp(log(t)/2ˢ) − 1 for diagonal element j, without cancellation."""
        value = _log(b, _load(job, t, j, j))
        x, y = value.re / scale, value.im / scale
        half = b.math("sin", y * 0.5)
        versine = 2.0 * (half * half)
        grown = b.math("expm1", x)
        cosine = 1.0 - versine
        im = b.math("exp", x) * b.math("sin", y)
        _store(job, Pair(grown * cosine - versine, im), root, j, j)

    job.emit_loop(0, n, less_one, is_vectorisable=False)
    job.fill(result, 0.0)
    nodes, weights = np.polynomial.legendre.leggauss(_DEGREE)
    for node, weight in zip((nodes + 1) / 2, weights / 2, strict=True):
        _add_fraction(job, root, other, result, float(node), float(weight) * scale)
    job.emit_loop(0, n, lambda j: _store(job, _log(b, _load(job, t, j, j)), result, j, j), is_vectorisable=False)
    zero = b.constant(0.0, job.dtype)

    def is_zero(k: Scalar) -> Scalar:
        value = _load(job, t, k, k)
        return b.compare("eq", value.re, zero) & b.compare("eq", value.im, zero)

    return _with_axis(job, t, _first(job, n, is_zero))


def _root(job: Job, t: Matrix, r: Matrix) -> None:
    """Emit r = √t, column by column: r_ij = (t_ij − Σ r_ik·r_kj)/(r_ii + r_jj)."""
    b = job.b
    zero = b.constant(0.0, job.dtype)

    def column(j: Scalar) -> None:
        _store(job, _sqrt(b, _load(job, t, j, j)), r, j, j)
        job.emit_loop(j + 1, r.rows, lambda i: _store(job, Pair(zero, zero), r, i, j))

        def element(step: Scalar) -> None:
            i = j - 1 - step

            def term(k: Scalar, carried: list[Scalar]) -> Sequence[Scalar]:
                rest = Pair(*carried) - _load(job, r, i, k) * _load(job, r, k, j)
                return [rest.re, rest.im]

            given = _load(job, t, i, j)
            re, im = b.loop(i + 1, j, [given.re, given.im], term, is_vectorisable=False)
            quotient = _over(b, Pair(re, im), _load(job, r, i, i) + _load(job, r, j, j))
            is_zero = b.compare("eq", re, zero) & b.compare("eq", im, zero)
            _store(job, Pair(b.select(is_zero, zero, quotient.re), b.select(is_zero, zero, quotient.im)), r, i, j)

        job.emit_loop(0, j, element, is_vectorisable=False)

    job.emit_loop(0, r.rows, column, is_vectorisable=False)


def _add_fraction(job: Job, x: Matrix, y: Matrix, total: Matrix, node: float, weight: Scalar) -> None:
    """Emit total += weight·(1 + node·X)⁻¹·X, by back substitution; y is the workspace of the solution."""
    b = job.b
    factor, one = b.constant(node, job.dtype), b.constant(1.0, job.dtype)

    def column(j: Scalar) -> None:
        def element(step: Scalar) -> None:
            i = j - step

            def term(k: Scalar, carried: list[Scalar]) -> Sequence[Scalar]:
                rest = Pair(*carried) - (_load(job, x, i, k) * _load(job, y, k, j)).scaled(factor)
                return [rest.re, rest.im]

            given = _load(job, x, i, j)
            re, im = b.loop(i + 1, j + 1, [given.re, given.im], term, is_vectorisable=False)
            pivot = _load(job, x, i, i).scaled(factor)
            found = _over(b, Pair(re, im), Pair(one + pivot.re, pivot.im))
            _store(job, found, y, i, j)
            _store(job, _load(job, total, i, j) + found.scaled(weight), total, i, j)

        job.emit_loop(0, j + 1, element, is_vectorisable=False)

    job.emit_loop(0, x.rows, column, is_vectorisable=False)


def _distance(job: Job, x: Matrix) -> Scalar:
    """The 1-norm of X − 1 for a triangular X; nan counts as 0, so that the iteration ends."""
    b = job.b
    zero, one = b.constant(0.0, job.dtype), b.constant(1.0, job.dtype)

    def column(j: Scalar, carried: list[Scalar]) -> Sequence[Scalar]:
        def element(i: Scalar, carried: list[Scalar]) -> Sequence[Scalar]:
            value = _load(job, x, i, j)
            re = b.select(b.compare("eq", b.index(i), b.index(j)), value.re - one, value.re)
            return [carried[0] + _size(b, Pair(re, value.im))]

        (total,) = b.loop(0, j + 1, [zero], element, is_vectorisable=False)
        return [b.select(total > carried[0], total, carried[0])]

    return b.loop(0, x.rows, [zero], column, is_vectorisable=False)[0]


# --- what fails ------------------------------------------------------------------------------------------------------


def _first(job: Job, n: Extent, is_bad: Callable[[Scalar], Scalar]) -> Scalar:
    """The first index below n for which `is_bad` holds, counted from 1; 0 if there is none."""
    b, none = job.b, job.b.constant(0, "int64")

    def step(k: Scalar, carried: list[Scalar]) -> Sequence[Scalar]:
        number = b.cast(b.index(k + 1), "int64")
        is_new = b.compare("eq", carried[0], none) & is_bad(k)
        return [b.select(is_new, number, carried[0])]

    return b.loop(0, n, [none], step, is_vectorisable=False)[0]


def _with_axis(job: Job, t: Matrix, failure: Scalar) -> Scalar:
    """The failure code; for a real matrix the number of the first eigenvalue on the negative axis, if any."""
    b = job.b
    if not job.op.option("is_real"):
        return failure
    zero = b.constant(0.0, job.dtype)

    def larger(k: Scalar, carried: list[Scalar]) -> Sequence[Scalar]:
        return [b.maximum(carried[0], _size(b, _load(job, t, k, k)))]

    (most,) = b.loop(0, t.rows, [zero], larger, is_vectorisable=False)
    limit = most * (16 * float(np.finfo(job.dtype).eps))

    def is_on_axis(k: Scalar) -> Scalar:
        value = _load(job, t, k, k)
        is_left = value.re < -limit
        return is_left & (b.abs(value.im) <= limit)

    on_axis = _first(job, t.rows, is_on_axis)
    return b.select(b.compare("eq", on_axis, b.constant(0, "int64")), failure, on_axis)


def _is_finite_column(job: Job, x: Matrix, j: Extent) -> Scalar:
    """Emit the test whether column j of x is finite, or was not finite in the input."""
    b = job.b
    greatest = b.constant(float(np.finfo(job.dtype).max), job.dtype)
    t = job.operand(0)

    def element(i: Scalar, carried: list[Scalar]) -> Sequence[Scalar]:
        value, given = _load(job, x, i, j), _load(job, t, i, j)
        is_finite = (b.abs(value.re) <= greatest) & (b.abs(value.im) <= greatest)
        return [carried[0] & (is_finite | b.is_nan(given.re))]

    return b.loop(0, j + 1, [b.constant(True, "bool")], element, is_vectorisable=False)[0]


# --- complex numbers -------------------------------------------------------------------------------------------------


def _load(job: Job, x: Matrix, i: Extent, j: Extent) -> Pair:
    """Load element (i, j) of a complex matrix."""
    return Pair(job.load(x, j, i, 0), job.load(x, j, i, 1))


def _store(job: Job, value: Pair, x: Matrix, i: Extent, j: Extent) -> None:
    job.store(value.re, x, j, i, 0)
    job.store(value.im, x, j, i, 1)


def _over(b: LoopBuilder, x: Pair, y: Pair) -> Pair:
    """The complex quotient x/y, scaled by the larger part of y to avoid overflow of squares."""
    is_flat = b.abs(y.re) >= b.abs(y.im)
    large, small = b.select(is_flat, y.re, y.im), b.select(is_flat, y.im, y.re)
    ratio = small / large
    divisor = large + small * ratio
    by_re = b.select(is_flat, x.re + x.im * ratio, x.re * ratio + x.im)
    by_im = b.select(is_flat, x.im - x.re * ratio, x.im * ratio - x.re)
    return Pair(by_re / divisor, by_im / divisor)


def _size(b: LoopBuilder, x: Pair) -> Scalar:
    """The absolute value of a complex number, without overflow of squares."""
    re, im = b.abs(x.re), b.abs(x.im)
    is_flat = re >= im
    large, small = b.select(is_flat, re, im), b.select(is_flat, im, re)
    zero, one = b.constant(0.0, re.dtype), b.constant(1.0, re.dtype)
    ratio = small / large
    return b.select(b.compare("eq", large, zero), zero, large * b.math("sqrt", one + ratio * ratio))


def _sqrt(b: LoopBuilder, x: Pair) -> Pair:
    """The complex square root in the right half plane; the sign of Im x selects it on the negative axis."""
    zero, half = b.constant(0.0, x.re.dtype), b.constant(0.5, x.re.dtype)
    larger = b.math("sqrt", half * (b.abs(x.re) + _size(b, x)))
    is_zero = b.compare("eq", larger, zero)
    smaller = b.select(is_zero, zero, half * b.abs(x.im) / larger)
    is_right = x.re >= zero
    im = b.math2("copysign", b.select(is_right, smaller, larger), x.im)
    return Pair(b.select(is_right, larger, smaller), im)


def _log(b: LoopBuilder, x: Pair) -> Pair:
    return Pair(b.math("log", _size(b, x)), b.math2("arctan2", x.im, x.re))
