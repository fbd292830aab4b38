"""Random sparse matrices: with empty rows, with a single entry, without entries; and with unsorted entries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from aotensor.core.types import Array
from aotensor.graph.sparse_type import SparseTensorType
from aotensor.sampling.dense_view import matrix_value

_DENSITIES: Final = (0.5, 0.3, 0.8, 0.0, 1.0, 0.1)
"""Densities; each matrix uses one, drawn at random."""


def random_matrix(
    rng: np.random.Generator, kind: SparseTensorType, shape: tuple[int, ...], draw: Callable[[tuple[int, ...]], Array]
) -> Any:
    """A canonical SciPy matrix of a type, with some empty rows (columns of csc).   draw: returns values of a shape"""
    rows, columns = shape
    blocks = kind.blocksize or ()
    grid = tuple(n // block for n, block in zip(shape, blocks or (1, 1), strict=True))
    major, minor = grid[::-1] if kind.format == "csc" else grid
    is_stored = rng.random((major, minor)) < rng.choice(_DENSITIES[:2] if major * minor < 40 else _DENSITIES)
    is_stored &= rng.random((major, 1)) < 0.85
    indices = np.nonzero(is_stored)[1].astype(kind.index_dtype)
    indptr = np.concatenate([[0], np.cumsum(is_stored.sum(axis=1))]).astype(kind.index_dtype)
    return matrix_value(kind.format, draw((*indices.shape, *blocks)), indices, indptr, (rows, columns))


def declared_pattern(f: object, name: str) -> Any:
    """The pattern that the `In` of a sparse input declares, None for any other input."""
    declared = getattr(f, "declared", {}).get(name)
    return None if declared is None else declared.pattern


def valued(kind: SparseTensorType, pattern: Any, draw: Callable[[tuple[int, ...]], Array]) -> Any:
    """A random matrix of a type with a given sparsity pattern.   draw: returns values of a shape"""
    indices, indptr = pattern.indices.copy(), pattern.indptr.copy()
    return matrix_value(kind.format, draw(indices.shape), indices, indptr, pattern.shape)


def disordered(rng: np.random.Generator, x: Any) -> Any:
    """The same matrix with the entries of each row (column of csc) in random order, and with duplicate zeros."""
    counts = np.diff(x.indptr)
    slice_of = np.repeat(np.arange(len(counts)), counts)
    doubled = rng.integers(0, 2, len(slice_of)).astype(bool) if len(slice_of) else np.zeros(0, bool)
    slices = np.concatenate([slice_of, slice_of[doubled]])
    indices = np.concatenate([x.indices, x.indices[doubled]])
    zeros = x.data[doubled] * 0 if x.dtype.kind == "c" else np.where(np.signbit(x.data[doubled]), -0.0, 0)
    data = np.concatenate([x.data, zeros.astype(x.dtype)])
    order = np.lexsort((rng.random(len(slices)), slices))
    indptr = np.searchsorted(slices[order], np.arange(len(counts) + 1)).astype(x.indptr.dtype)
    return matrix_value(x.format, data[order], indices[order], indptr, x.shape)
