"""The meaning of the kinds of aot.lapack that iterate or reflect; see `interpret_lapack`, which lists them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from aotensor.core.types import Array

Rule: TypeAlias = Callable[..., tuple[Sequence[Array], int]]


def _converged(fn: Callable[..., Any], shapes: Sequence[tuple[int, ...]], a: Array, **options: Any) -> Any:
    """The results of an iteration, as a sequence, and 0; nan, and 1, where it does not converge."""
    try:
        results = fn(a, **options)
    except np.linalg.LinAlgError:
        return [np.full(shape, np.nan, a.dtype) for shape in shapes], 1
    return (list(results) if isinstance(results, tuple) else [results]), 0


def _eigh(a: Array, *, is_lower: bool) -> tuple[Sequence[Array], int]:
    (w, v), failed = _converged(np.linalg.eigh, [a.shape[:1], a.shape], a, UPLO="L" if is_lower else "U")
    return [w, v.T], failed


def _eigvalsh(a: Array, *, is_lower: bool) -> tuple[Sequence[Array], int]:
    return _converged(np.linalg.eigvalsh, [a.shape[:1]], a, UPLO="L" if is_lower else "U")  # type: ignore[no-any-return]


def _svd(a: Array) -> tuple[Sequence[Array], int]:
    (rows, columns), k = a.shape, min(a.shape)
    return _converged(np.linalg.svd, [(rows, k), (k,), (k, columns)], a, full_matrices=False)  # type: ignore[no-any-return]


def _full_svd(a: Array) -> tuple[Sequence[Array], int]:
    (rows, columns), k = a.shape, min(a.shape)
    return _converged(np.linalg.svd, [(rows, rows), (k,), (columns, columns)], a)  # type: ignore[no-any-return]


def _singular_values(a: Array) -> tuple[Sequence[Array], int]:
    return _converged(np.linalg.svd, [(min(a.shape),)], a, compute_uv=False)  # type: ignore[no-any-return]


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
