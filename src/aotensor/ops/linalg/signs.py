"""The signs of eigenvectors and singular vectors, which their equations leave open.

Of each vector the first component that is not small, more than 0.37 of the largest, is positive. A rule that looks at
the largest one alone would be left to rounding where two are equally large, as in the eigenvectors of [[2, 1], [1, 2]].
"""

from __future__ import annotations

from typing import Final

import numpy as np

from aotensor.core.builders import Scalar, ScalarVerbs, Tensor, TensorBuilder
from aotensor.core.types import Array

_NOT_SMALL: Final = 0.37


def signs_of(columns: Array) -> Array:
    """±1 for each column: what makes its first component that is not small positive.   (…, m, k) → (…, k)"""
    if columns.size == 0:
        return np.ones((*columns.shape[:-2], columns.shape[-1]), columns.dtype)
    sizes = np.abs(columns)
    first = np.argmax(sizes >= _NOT_SMALL * sizes.max(axis=-2, keepdims=True), axis=-2)
    leading = np.take_along_axis(columns, np.expand_dims(first, -2), -2)[..., 0, :]
    return np.where(leading < 0, -1, 1).astype(columns.dtype)


def lower_signs(b: TensorBuilder, vectors: Tensor, axis: int) -> Tensor:
    """`signs_of` of the vectors that lie along `axis`, the last one or the one before it."""
    kept = [k for k in range(len(vectors.extents)) if k != axis]
    pattern = [None if k == axis else kept.index(k) for k in range(len(vectors.extents))]
    length = vectors.extents[axis]
    largest = b.permute(
        b.reduce("maximum", b.map(lambda v, x: v.abs(x), vectors, dtype=vectors.dtype), [axis]), pattern
    )
    places = b.tabulate(vectors.extents, "int64", lambda v, *at: v.cast(v.index(at[axis]), "int64"))

    def place(v: ScalarVerbs, x: Scalar, most: Scalar, at: Scalar) -> Scalar:
        is_large = v.compare("ge", v.abs(x), v.mul(most, v.constant(_NOT_SMALL, x.dtype)))
        return v.select(is_large, at, v.constant(np.iinfo(np.int64).max, "int64"))

    first = b.reduce("minimum", b.map(place, vectors, largest, places, dtype="int64"), [axis])

    def sign(v: ScalarVerbs, *at: Scalar) -> Scalar:
        """At the first place; where no component compares, they are nan, and any place is as good."""
        found = v.imin(v.cast(v.load(first, *at), "index"), v.isub(length, 1))
        leading = v.load(vectors, *at[:axis], found, *at[axis:])
        one, minus_one = v.constant(1, vectors.dtype), v.constant(-1, vectors.dtype)
        return v.select(v.compare("lt", leading, v.constant(0, vectors.dtype)), minus_one, one)

    return b.tabulate([vectors.extents[k] for k in kept], vectors.dtype, sign)
