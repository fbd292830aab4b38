"""Inputs of random programs: from a seed and a shape, in a notation that a report can repeat."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from tools.fuzz.oracle import Array


def is_sparse(x: Any) -> bool:
    """Is it a sparse matrix?"""
    return bool(scipy.sparse.issparse(x))


def floats(seed: int, shape: tuple[int, ...], dtype: str = "float64", layout: str = "C") -> Array:
    """Numbers in (−1.2, 1.2), row-major, column-major ("F"), backwards ("-") or with gaps ("2")."""
    x = np.asarray(np.random.default_rng(seed).uniform(-1.2, 1.2, shape), dtype)
    return laid_out(x, layout)


def laid_out(x: Array, layout: str) -> Array:
    """The same values in another memory layout."""
    if not x.ndim:
        return x  # a number has one layout
    if layout == "F":
        return np.asfortranarray(x)
    if layout == "-":
        return np.flip(np.ascontiguousarray(np.flip(x)))
    if layout == "2":
        wide = np.full([2 * n for n in x.shape], 77, x.dtype)
        window = wide[tuple(slice(0, None, 2) for _ in x.shape)]
        window[...] = x
        return window
    return x


def positions(seed: int, count: int, n: int, dtype: str = "int64") -> Array:
    """`count` indices into an axis of extent n, negative ones too."""
    return np.asarray(np.random.default_rng(seed).integers(-n, n, count), dtype) if n else np.zeros(0, dtype)


def integers(seed: int, shape: tuple[int, ...], dtype: str = "int64") -> Array:
    """An array of small integers."""
    return np.asarray(np.random.default_rng(seed).integers(-3, 4, shape), dtype)


def bits(seed: int, shape: tuple[int, ...]) -> Array:
    """An array of random bools."""
    return np.asarray(np.random.default_rng(seed).random(shape) < 0.5)


def matrix(
    seed: int, shape: tuple[int, int], density: float, format: str, dtype: str = "float64", order: str = "sorted"
) -> Any:
    """A sparse matrix, some of whose entries are zeros.   order: "sorted", "shuffled", or "repeated": places twice"""
    rng = np.random.default_rng(seed)
    rows, columns = np.nonzero(rng.random(shape) < density)
    if order == "repeated" and len(rows):
        again = rng.integers(0, len(rows), len(rows) // 3 + 1)
        rows, columns = np.concatenate([rows, rows[again]]), np.concatenate([columns, columns[again]])
    data = rng.uniform(-1.2, 1.2, len(rows)) * (rng.random(len(rows)) < 0.9)
    outer, inner, count = (rows, columns, shape[0]) if format == "csr" else (columns, rows, shape[1])
    by = np.lexsort((inner if order == "sorted" else rng.random(len(inner)), outer))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(outer, minlength=count))]) if count else np.zeros(1)
    make = scipy.sparse.csr_matrix if format == "csr" else scipy.sparse.csc_matrix
    parts = data[by].astype(dtype), inner[by].astype("int32"), indptr.astype("int32")
    return make(parts, shape=shape)


def weights(seed: int, x: Any) -> Any:
    """Numbers for every element of an array, or every place of a sparse matrix."""
    rng = np.random.default_rng(seed)
    if is_sparse(x):
        copy = type(x)(x.tocoo(copy=True))
        copy.sum_duplicates()
        copy.data = rng.uniform(-1, 1, copy.data.shape).astype(copy.dtype)
        return copy
    return np.asarray(rng.uniform(-1, 1, np.shape(x)))
