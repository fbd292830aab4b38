"""Semantics of kinds of aot.lapack that iterate or use reflections; `interpret_lapack` evaluates them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

import numpy as np

from aotensor.core.types import Array
from aotensor.ops.linalg.eigen import TRIANGLES
from aotensor.ops.linalg.shapes import if_finite
from aotensor.ops.linalg.signs import paired_phases, phases_of

Rule: TypeAlias = Callable[..., tuple[Sequence[Array], int]]


def _converged(
    fn: Callable[[Array], Any], a: Array, shapes: Sequence[tuple[int, ...]], read: Callable[[Array], Array] = np.asarray
) -> tuple[list[Array], int]:
    """The results of an iteration and failure 0; if it does not converge, nan and failure 1."""
    try:
        return if_finite(fn, a, read), 0
    except np.linalg.LinAlgError:
        return [np.full(shape, np.nan, a.dtype) for shape in shapes], 1


def _eigh(a: Array, *, is_lower: bool) -> tuple[Sequence[Array], int]:
    uplo = "L" if is_lower else "U"
    (w, v), failed = _converged(partial(np.linalg.eigh, UPLO=uplo), a, [a.shape[:1], a.shape], TRIANGLES[uplo])
    return [w, (v * phases_of(v)).T], failed


def _eigvalsh(a: Array, *, is_lower: bool) -> tuple[Sequence[Array], int]:
    uplo = "L" if is_lower else "U"
    return _converged(partial(np.linalg.eigvalsh, UPLO=uplo), a, [a.shape[:1]], TRIANGLES[uplo])


def _svd(a: Array) -> tuple[Sequence[Array], int]:
    (rows, columns), k = a.shape, min(a.shape)
    return _with_signs(*_converged(partial(np.linalg.svd, full_matrices=False), a, [(rows, k), (k,), (k, columns)]))


def _full_svd(a: Array) -> tuple[Sequence[Array], int]:
    (rows, columns), k = a.shape, min(a.shape)
    return _with_signs(*_converged(np.linalg.svd, a, [(rows, rows), (k,), (columns, columns)]))


def _with_signs(factors: Sequence[Array], failed: int) -> tuple[Sequence[Array], int]:
    u, s, vt = factors
    left, right = paired_phases(u, vt)
    return [u * left, s, vt * right[:, None]], failed


def _singular_values(a: Array) -> tuple[Sequence[Array], int]:
    return _converged(partial(np.linalg.svd, compute_uv=False), a, [(min(a.shape),)])


def _qr(a: Array) -> tuple[Sequence[Array], int]:
    q, r = np.linalg.qr(a)
    return [q, r], 0


def _complete_qr(a: Array) -> tuple[Sequence[Array], int]:
    q, r = np.linalg.qr(a, mode="complete")
    return [q, r], 0


def _qr_r(a: Array) -> tuple[Sequence[Array], int]:
    return [np.asarray(np.linalg.qr(a, mode="r"))], 0


def _square_repeatedly(a: Array, count: Array) -> tuple[Sequence[Array], int]:
    for _ in range(int(count[0])):
        a = a @ a
    return [a], 0


SPECTRAL_RULES: Final[Mapping[str, Rule]] = {
    "complete_qr": _complete_qr,
    "eigh": _eigh,
    "eigvalsh": _eigvalsh,
    "full_svd": _full_svd,
    "qr": _qr,
    "qr_r": _qr_r,
    "singular_values": _singular_values,
    "square_repeatedly": _square_repeatedly,
    "svd": _svd,
}
