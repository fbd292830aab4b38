"""Factors of tridiagonal matrices and solutions by them, row by row.   Source: LAPACK's gttrf and gtts2."""

from __future__ import annotations

from typing import Any

import aotensor as aot
import aotensor.tensor as at
from aotensor.importers.pytensor.rules import Walk, rule


@rule("LUFactorTridiagonal")
def factors(walk: Walk, node: Any, below: Any, diagonal: Any, above: Any) -> list[Any]:
    """Factors of L, the three diagonals of U, and the row that each was exchanged with, from 1: itself or the next."""
    dtype = node.outputs[0].type.dtype
    dl, d, du = (at.cast(x, dtype) for x in (below, diagonal, above))

    def step(lower: Any, next_d: Any, next_u: Any, d: Any, u: Any) -> list[Any]:
        is_swapped = at.gt(_size(lower), _size(d))
        pivot, other = at.switch(is_swapped, lower, d), at.switch(is_swapped, d, lower)
        factor = at.switch(at.eq(pivot, 0), other, other / at.switch(at.eq(pivot, 0), 1, pivot))
        u, rest = at.switch(is_swapped, next_d, u), at.switch(is_swapped, u, next_d)
        far = at.switch(is_swapped, next_u, 0 * next_u)
        following = at.switch(is_swapped, -factor * next_u, next_u)
        return [rest - factor * u, following, factor, pivot, u, far, is_swapped]

    wide = _padded(du, 0, 2)
    sequences, initial = [_padded(dl, 0, 1), _padded(d[1:], 0, 1), wide[1:]], [d[0], wide[0]]
    *_, factor, pivot, u, far, is_swapped = aot.scan(step, sequences, [*initial, *[None] * 5], return_updates=False)
    n = d.shape[0]
    rows = 1 + at.arange(n) + at.cast(is_swapped, "int64")
    return [factor[: n - 1], pivot, u[: n - 1], far[: at.maximum(n - 2, 0)], at.cast(rows, "int32")]


@rule("SolveLUFactorTridiagonal")
def solution(walk: Walk, node: Any, dl: Any, d: Any, du: Any, du2: Any, rows: Any, b: Any) -> Any:
    """x of a·x = b, or aᵀ·x = b, by the factors above."""
    dtype = node.outputs[0].type.dtype
    dl, d, du, du2, b = (at.cast(x, dtype) for x in (dl, d, du, du2, b))
    is_swapped = at.gt(rows, 1 + at.arange(d.shape[0]))
    solve = _of_transposed if node.op.transposed else _of_plain
    return solve(dl, d, du, du2, is_swapped, b)


def _of_plain(dl: Any, d: Any, du: Any, du2: Any, is_swapped: Any, b: Any) -> Any:
    def forward(factor: Any, swaps: Any, following: Any, here: Any) -> list[Any]:
        y, other = at.switch(swaps, following, here), at.switch(swaps, here, following)
        return [other - factor * y, y]

    sequences = [_padded(dl, 0, 1), is_swapped, _padded(b[1:], 0, 1)]
    _, y = aot.scan(forward, sequences, [b[0], None], return_updates=False)
    return _by_triangle([y, d, _padded(du, 0, 1), _padded(du2, 0, 2)], go_backwards=True)


def _of_transposed(dl: Any, d: Any, du: Any, du2: Any, is_swapped: Any, b: Any) -> Any:
    def backward(factor: Any, swaps: Any, before: Any, here: Any) -> list[Any]:
        made = before - factor * here
        return [at.switch(swaps, here, made), at.switch(swaps, made, here)]

    z = _by_triangle([b, d, _padded(du, 1, 0), _padded(du2, 2, 0)], go_backwards=False)
    swaps = at.concatenate([at.zeros((1,), "bool"), is_swapped[:-1]])
    sequences = [_padded(dl, 1, 0), swaps, _padded(z[:-1], 1, 0)]
    _, x = aot.scan(backward, sequences, [z[-1], None], go_backwards=True, return_updates=False)
    return x[::-1]


def _by_triangle(rows: list[Any], go_backwards: bool) -> Any:
    """Values, pivots and two further diagonals: each value less two that are known, over its pivot."""

    def step(y: Any, pivot: Any, near: Any, far: Any, last: Any, second: Any) -> list[Any]:
        return [(y - near * last - far * second) / pivot, last]

    nothing = at.zeros_like(rows[0][0])
    x, _ = aot.scan(step, rows, [nothing, nothing], go_backwards=go_backwards, return_updates=False)
    return x[::-1] if go_backwards else x


def _size(x: Any) -> Any:
    """|x|, for complex numbers |re| + |im|."""
    return at.abs(at.real(x)) + at.abs(at.imag(x)) if x.dtype.startswith("complex") else at.abs(x)


def _padded(x: Any, before: int, behind: int) -> Any:
    """Rows of zeros before and behind those of x."""
    shape = [x.shape[axis] for axis in range(1, x.ndim)]
    parts = [at.zeros([before, *shape], x.dtype), x, at.zeros([behind, *shape], x.dtype)]
    return at.concatenate(parts, axis=0)
