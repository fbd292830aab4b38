"""Inputs of given sizes for a function of a library: values on which no check fails, as far as that can be known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from aotensor_cli.options import Refusal, similar
from aotensor_runtime import LibraryFunction
from aotensor_runtime.manifest import FunctionSpec, SparseValue
from aotensor_runtime.sparse.values import Compressed, shown

DEFAULT_EXTENT = 1000
"""Of a dim that --sizes does not name."""
ENTRIES_PER_ROW = 10
"""Stored entries of a sparse input, if --sizes does not say how many."""


def parse_sizes(text: str | None) -> dict[str, int]:
    """`n=1000,p=100` as a dict.   Raises: Refusal"""
    sizes: dict[str, int] = {}
    for part in (text or "").split(","):
        name, equals, value = part.strip().partition("=")
        if not part.strip() and not text:
            continue
        if not equals or not name or not value.isdecimal():
            raise Refusal(f"--sizes {text!r} is not understood", "write n=1000,p=100")
        sizes[name] = int(value)
    return sizes


def dims_of(spec: FunctionSpec, sizes: Mapping[str, int]) -> dict[str, int]:
    """The extent of each dim.   Raises: Refusal for a size that no dim has"""
    dims: dict[str, int] = {}
    hidden: dict[str, str] = {}
    for value in spec.arguments:
        if isinstance(value, SparseValue):
            parts = spec.inputs[value.first : value.first + 4]
            hidden |= {str(n): "" for part in parts[1:] for n in part.shape if isinstance(n, str)}
            for n in parts[0].shape:
                if isinstance(n, str):
                    dims.setdefault(n, sizes.get(n, DEFAULT_EXTENT))
            name = parts[1].shape[0]
            rows = parts[0].shape[0]
            count = dims[rows] if isinstance(rows, str) else int(rows or 0)
            dims.setdefault(str(name), sizes.get(str(name), ENTRIES_PER_ROW * count))
    for value in spec.inputs:
        for n in value.shape:
            if isinstance(n, str) and n not in hidden:
                dims.setdefault(n, sizes.get(n, DEFAULT_EXTENT))
    unknown = [name for name in sizes if name not in dims]
    if unknown:
        known = f"its dims are {', '.join(dims) or 'all known'}"
        raise Refusal(f"{spec.name} has no dim {unknown[0]}", similar(unknown[0], dims) or known)
    return dims


def make_inputs(function: LibraryFunction, dims: Mapping[str, int], seed: int) -> dict[str, Any]:
    """Inputs by name: floats between 0.1 and 0.9, matrices that are square also symmetric and positive definite."""
    rng, spec = np.random.default_rng(seed), function.spec
    found: dict[str, Any] = {}
    for value in spec.arguments:
        if value.default is not None:
            continue
        if isinstance(value, SparseValue):
            found[value.name] = _matrix(rng, spec, value, dims)
        else:
            shape = tuple(dims[n] if isinstance(n, str) else int(n) for n in value.shape)
            found[value.name] = _values(rng, value.dtype, shape)
    return found


def _values(rng: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> Any:
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if not dtype.startswith("float"):
        return rng.integers(0, 2, shape).astype(dtype)  # it may be an index
    x = rng.uniform(0.1, 0.9, shape).astype(dtype)
    if len(shape) > 1 and shape[-1] == shape[-2]:
        x = (x + x.swapaxes(-1, -2)) / 2 + shape[-1] * np.eye(shape[-1], dtype=dtype)
    return x


def _matrix(rng: np.random.Generator, spec: FunctionSpec, value: SparseValue, dims: Mapping[str, int]) -> Any:
    """Entries spread evenly over rows, or columns, each at random places."""
    pattern, entries, indices = spec.inputs[value.first : value.first + 3]
    shape = tuple(dims[n] if isinstance(n, str) else int(n) for n in pattern.shape)
    major, minor = shape if value.format == "csr" else shape[::-1]
    name = entries.shape[0]
    wanted = min(dims[str(name)] if isinstance(name, str) else int(name or 0), major * minor)
    indptr = np.linspace(0, wanted, major + 1).astype(indices.dtype)
    places = [np.sort(rng.choice(minor, int(n), replace=False)) for n in np.diff(indptr)]
    positions = np.concatenate([np.zeros(0), *places]).astype(indices.dtype)
    data = _values(rng, value.dtype, (wanted,))
    return shown(Compressed(value.format, (shape[0], shape[1]), data, positions, indptr))
