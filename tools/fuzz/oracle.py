"""Functions that define the meaning of random programs in NumPy at extended precision, independent of aotensor.

Programs call these as `o.…` beside `np.…`, on arrays of `longdouble` (64 bits of mantissa on x86-64) or `float64`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Matrix:
    """A sparse matrix: its dense values, and where entries are stored."""

    dense: Array
    stored: Array

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.dense.shape)

    @property
    def T(self) -> Matrix:
        return Matrix(self.dense.T, self.stored.T)

    def mapped(self, f: Callable[[Array], Array]) -> Matrix:
        """f of every stored entry."""
        return Matrix(np.where(self.stored, f(self.dense), 0), self.stored)

    def __getitem__(self, index: Any) -> Matrix:
        return Matrix(self.dense[index], self.stored[index])


def union(a: Matrix, b: Matrix) -> Matrix:
    """a + b"""
    return Matrix(a.dense + b.dense, a.stored | b.stored)


def common(a: Matrix, b: Matrix) -> Matrix:
    """a ∘ b, stored where both are"""
    return Matrix(a.dense * b.dense, a.stored & b.stored)


def times(a: Matrix, b: Matrix) -> Matrix:
    """a·b, stored where some pair of entries meets"""
    return Matrix(a.dense @ b.dense, (a.stored.astype(int) @ b.stored.astype(int)) > 0)


def scaled(a: Matrix, factor: Array) -> Matrix:
    """a ∘ factor at the stored entries"""
    return Matrix(np.where(a.stored, a.dense * factor, 0), a.stored)


def sampled(stored: Matrix, x: Array) -> Matrix:
    """The elements of x at the stored entries of a matrix, times these entries"""
    return scaled(stored, x)


# --- elementwise ---------------------------------------------------------------------------------------------------


def sigmoid(x: Array) -> Array:
    """1/(1 + e⁻ˣ)"""
    return np.where(x >= 0, 1 / (1 + np.exp(-np.abs(x))), np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x))))


def softplus(x: Array) -> Array:
    """log(1 + eˣ)"""
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def half(x: Array) -> Array:
    """x rounded to float16"""
    with np.errstate(over="ignore"):
        return np.asarray(np.asarray(x).astype(np.float16).astype(np.asarray(x).dtype))


# --- reductions ----------------------------------------------------------------------------------------------------


def logsumexp(x: Array, axis: int) -> Array:
    """log Σ eˣ"""
    return np.asarray(np.logaddexp.reduce(x, axis=axis))


def softmax(x: Array, axis: int) -> Array:
    """eˣ / Σ eˣ"""
    return np.asarray(np.exp(x - logsumexp(x, axis)[(slice(None),) * (axis % x.ndim) + (None,)]))


# --- linear algebra, which NumPy does not have beyond float64 ---------------------------------------------------------


def solve(a: Array, b: Array) -> Array:
    """x with a·x = b, by elimination with partial pivoting.   a: (n, n), b: (n,) or (n, m)"""
    n = len(a)
    columns = b if b.ndim == 2 else b[:, None]
    work = np.concatenate([a, columns], axis=1)
    for k in range(n):
        pivot = k + int(np.argmax(np.abs(work[k:, k])))
        work[[k, pivot]] = work[[pivot, k]]
        work[k + 1 :] -= np.outer(work[k + 1 :, k] / work[k, k], work[k])
    x = np.zeros_like(work[:, n:])
    for k in reversed(range(n)):
        x[k] = (work[k, n:] - work[k, k + 1 : n] @ x[k + 1 :]) / work[k, k]
    return x if b.ndim == 2 else x[:, 0]


def inv(a: Array) -> Array:
    """a⁻¹"""
    return solve(a, np.eye(len(a), dtype=a.dtype))


def cholesky(a: Array) -> Array:
    """Lower triangular l with l·lᵀ = a"""
    lower = np.zeros_like(a)
    for k in range(len(a)):
        row = lower[k, :k]
        lower[k, k] = np.sqrt(a[k, k] - row @ row)
        lower[k + 1 :, k] = (a[k + 1 :, k] - lower[k + 1 :, :k] @ row) / lower[k, k]
    return lower


def logdet(a: Array) -> Array:
    """log det a of a positive definite matrix"""
    return np.asarray(2 * np.sum(np.log(np.diagonal(cholesky(a)))))


def definite(x: Array) -> Array:
    """x·xᵀ + 2·I"""
    return x @ x.T + 2 * np.eye(len(x), dtype=x.dtype)


def expm(a: Array) -> Array:
    """Σ aᵏ/k! of a small matrix"""
    term = total = np.eye(len(a), dtype=a.dtype)
    for k in range(1, 60):
        term = term @ a / k
        total = total + term
    return total


def triangle(a: Array, lower: bool, transposed: bool) -> Array:
    """The lower or the upper triangle of a, transposed or not."""
    found = np.tril(a) if lower else np.triu(a)
    return found.T if transposed else found


# --- windows -------------------------------------------------------------------------------------------------------


def convolution(x: Array, f: Array, stride: Any, padding: int, dilation: int, groups: int = 1) -> Array:
    """Σ over channels and places of filters, not reversed.   x: (n, c, *extents), f: (m, c/groups, *window)"""
    axes = f.ndim - 2
    steps = stride if isinstance(stride, tuple) else (stride,) * axes
    x = np.pad(x, [(0, 0), (0, 0), *[(padding, padding)] * axes])
    spans = [dilation * (w - 1) + 1 for w in f.shape[2:]]
    windows = np.lib.stride_tricks.sliding_window_view(x, spans, axis=tuple(range(2, 2 + axes)))
    cut = [slice(None, None, step) for step in steps] + [slice(None, None, dilation)] * axes
    windows = windows[(slice(None), slice(None), *cut)]
    size, given = len(f) // groups, f.shape[1]
    summed = ([1, *range(2 + axes, 2 + 2 * axes)], [1, *range(2, 2 + axes)])
    found = [
        np.tensordot(windows[:, g * given : (g + 1) * given], f[g * size : (g + 1) * size], summed)
        for g in range(groups)
    ]
    return np.moveaxis(np.concatenate(found, axis=-1), -1, 1)


def pooled(x: Array, window: int, stride: int, padding: int, reduce: Callable[..., Any]) -> Array:
    """`reduce` of windows along the last axis; np.mean counts what is padded as 0, np.max leaves it out."""
    filler = -np.inf if reduce is np.max else 0.0
    x = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(padding, padding)], constant_values=filler)
    windows = np.lib.stride_tricks.sliding_window_view(x, window, axis=-1)[..., ::stride, :]
    return np.asarray(reduce(windows, axis=-1))


def interp(x: Array, knots: Array, values: Array) -> Array:
    """Linear interpolation between knots; constant beyond the first and last knot."""
    k = np.clip(np.searchsorted(knots, x, side="right") - 1, 0, len(knots) - 2)
    share = np.clip((x - knots[k]) / (knots[k + 1] - knots[k]), 0, 1)
    return np.asarray(values[k] + share * (values[k + 1] - values[k]))


# --- loops ---------------------------------------------------------------------------------------------------------


def scan(
    step: Callable[..., Any], rows: list[Array], state: Array | None, *fixed: Array, backwards: bool = False
) -> Any:
    """Stacked values of step(*rows[t], state, *fixed); with None for the state, of step(*rows[t], *fixed).

    After no steps they have the extents of the state, or of a row.
    """
    n = min(len(x) for x in rows)
    found: list[Array] = []
    for t in reversed(range(n)) if backwards else range(n):
        given = [x[t] if not backwards else x[len(x) - n + t] for x in rows]
        if state is None:
            found.append(np.asarray(step(*given, *fixed)))
        else:
            state = np.asarray(step(*given, state, *fixed))
            found.append(state)
    like = rows[0][:0] if state is None else np.asarray(state)[None][:0]
    return np.stack(found) if found else like


def ravelled(x: Array) -> Array:
    """All elements in row-major order."""
    return np.ascontiguousarray(x).reshape(-1)


# --- copies that are changed ----------------------------------------------------------------------------------------


def replaced(x: Array, index: Any, y: Any) -> Array:
    """x with x[index] = y"""
    copy = x.copy()
    copy[index] = y
    return copy


def added(x: Array, index: Any, y: Any) -> Array:
    """x with y added at every place of x[index], as often as it is named"""
    copy = x.copy()
    np.add.at(copy, index, y)
    return copy
