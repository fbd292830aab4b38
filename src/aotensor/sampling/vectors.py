"""Test vectors of a library, by the reference: small, seeded, left out if the reference fails or needs too long."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from math import prod
from typing import Final

import numpy as np

from aotensor.core.dtypes import is_complex, kind_of
from aotensor.core.types import Array
from aotensor.graph.subgraph import TooLongError, at_most
from aotensor.graph.variable import Variable
from aotensor.sampling.agreement import conditioned_tolerance
from aotensor.sampling.dense_view import Arrays, DenseView, Graph
from aotensor.sampling.pairs import from_pairs
from aotensor.sampling.samples import Sampler, nearby_values, reference_forms, reference_values
from aotensor_runtime.vectors import Vector, pack

_DOMAINS: Final = ("normal", "unit")
_MAX_ELEMENTS: Final = 2048
"""Largest vector, in elements of all inputs and outputs of one call."""
_MAX_EVALUATIONS: Final = 50_000
"""Most nodes that the loops of a function evaluate for a vector; NumPy takes microseconds for each, twice as many again
for rounding, and as long for the second vector.
"""


def make_vectors(functions: Sequence[Graph]) -> bytes:
    """The section of a library with the test vectors of all functions; empty if no function has any."""
    vectors = [vector for f in functions for vector in _vectors(f)]
    return pack(vectors) if vectors else b""


def _vectors(f: Graph) -> Iterator[Vector]:
    if _static_elements(f) > _MAX_ELEMENTS:
        return
    sampler, view = Sampler(f), DenseView.from_function(f)
    forms = cache(partial(reference_forms, view))
    for domain in _DOMAINS:
        arrays = {name: _rounded(x) for name, x in view.split(sampler.small(domain).arrays).items()}
        try:
            with at_most(_MAX_EVALUATIONS):
                inputs, outputs = tuple(arrays.values()), _values(partial(_expected, view, arrays, forms))
        except TooLongError:
            return
        if outputs is None:
            continue
        if sum(x.size for x in (*inputs, *outputs)) > _MAX_ELEMENTS:
            return
        nearby = _values(partial(nearby_values, view, arrays, sampler.rng))
        if nearby is not None:
            tolerances = [float(f"{conditioned_tolerance(x, y):.2g}") for x, y in zip(outputs, nearby, strict=True)]
            given = [from_pairs(x) if k in view.pairs else x for k, x in enumerate(inputs)]
            shortened = [
                from_pairs(_shortened(x)) if is_complex(y.dtype) else _shortened(x)
                for x, y in zip(outputs, f.results.values(), strict=True)
            ]
            yield Vector(f.name, tuple(given), tuple(shortened), tuple(tolerances))


def _expected(view: DenseView, arrays: Arrays, forms: Callable[[], list[Variable]]) -> list[Array]:
    return reference_values(view, arrays, forms())


def _values(evaluate: Callable[[], list[Array]]) -> list[Array] | None:
    """The reference's results; None if it raises, or returns nan only.   Raises: TooLongError, from loops"""
    try:
        values = [np.asarray(x) for x in evaluate()]
    except TooLongError:
        raise
    except Exception:  # any failure of the reference on random values: no vector
        return None
    floats = [x for x in values if kind_of(x.dtype) == "f" and x.size]
    return None if floats and all(np.isnan(x).all() for x in floats) else values


def _rounded(x: Array) -> Array:
    """Inputs rounded to three decimals: equal on every machine, and compressible."""
    return np.asarray(np.round(x.astype(float), 3), dtype=x.dtype) if kind_of(x.dtype) == "f" else x


def _shortened(x: Array) -> Array:
    """Outputs rounded to fewer digits than the tolerance, so that they are equal on different machines."""
    if kind_of(x.dtype) != "f":
        return x
    digits = 12 if x.dtype == np.float64 else 6
    return np.array([float(f"{v:.{digits}g}") for v in x.ravel().tolist()], dtype=x.dtype).reshape(x.shape)


def _static_elements(f: Graph) -> int:
    """The number of elements of arguments and results; unknown extents count as 1."""
    values = (*f.arguments.values(), *f.results.values())
    return sum(prod(n for n in x.tensor_type.shape if isinstance(n, int)) for x in values)
