"""Signs and phases of eigenvectors and singular vectors, which their equations leave open.

Of each vector the first component that is not small, more than 0.37 of the largest, is positive. A rule that looks at
the largest one only would depend on rounding if two are equally large, as in the eigenvectors of [[2, 1], [1, 2]].
"""

from __future__ import annotations

from typing import Final

import numpy as np

from aotensor.core.types import Array

NOT_SMALL: Final = 0.37


def phases_of(columns: Array) -> Array:
    """A factor of size 1 for each column, which makes its first component that is not small positive.   → (…, k)

    Those of real columns are signs, those of complex ones make that component real.
    """
    if columns.size == 0:
        return np.ones((*columns.shape[:-2], columns.shape[-1]), columns.dtype)
    sizes = np.abs(columns)
    first = np.argmax(sizes >= NOT_SMALL * sizes.max(axis=-2, keepdims=True), axis=-2)
    leading = np.take_along_axis(columns, np.expand_dims(first, -2), -2)[..., 0, :]
    if not np.iscomplexobj(columns):
        return np.where(leading < 0, -1, 1).astype(columns.dtype)
    size = np.abs(leading)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(size == 0, 1, leading.conj() / np.where(size == 0, 1, size)), columns.dtype)


def paired_phases(u: Array, vh: Array) -> tuple[Array, Array]:
    """Phase factors (for the columns of u, for the rows of vh): row k of vh gets the conjugate of column k's factor."""
    left, right = phases_of(u), phases_of(np.swapaxes(vh, -1, -2).conj()).conj()
    paired = min(u.shape[-1], vh.shape[-2])
    right[..., :paired] = left[..., :paired].conj()
    return left, right
