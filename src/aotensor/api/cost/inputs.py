"""Inputs of given sizes for a function of a library: values on which no check fails, as far as that can be known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np

from aotensor.core.types import dim_name
from aotensor.driver.definition import Definition
from aotensor.errors import ArgumentValueError, GraphValueError
from aotensor_runtime import LibraryFunction
from aotensor_runtime.arrays.dtypes import DTYPES
from aotensor_runtime.arrays.layout import DTYPES as ARRAY_DTYPES
from aotensor_runtime.signature import FunctionSpec, SparseValue
from aotensor_runtime.sparse.values import Compressed, shown
from aotensor_runtime.systems.limits import MOST_THREADS

DEFAULT_EXTENT = 1000
"""Of a dim without a size."""
ENTRIES_PER_ROW = 10
"""Stored entries of a sparse input of unknown number of entries, if there is room for them."""


def dims_text(dims: Mapping[str, int]) -> str:
    """Format sizes as `n=1000, p=100`; "" without dims."""
    return ", ".join(f"{name}={n}" for name, n in dims.items())


def dims_of(spec: FunctionSpec, sizes: Mapping[str, int]) -> dict[str, int]:
    """The extent of each dim. Shared variables have their own.

    Raises: ArgumentValueError for a size that no dim has, another one than a shared variable has, or too many stored
    entries
    """
    dims: dict[str, int] = {}
    for state in spec.inputs:
        for dim, extent in zip(state.shape, state.default.shape if state.default is not None else (), strict=False):
            if isinstance(dim, str) and sizes.get(dim, extent) != extent:
                title = f"{dim}={sizes[dim]}, but {state.name} has the extent {extent} there"
                raise ArgumentValueError(title, hint=f"leave out {dim}")
            if isinstance(dim, str):
                dims.setdefault(dim, extent)
    internal: set[int | str | None] = set()
    for value in spec.arguments:
        if not isinstance(value, SparseValue):
            continue
        pattern, entries, *rest = spec.inputs[value.first : value.first + 4]
        blocks = value.blocksize or (1, 1)
        for n, block in zip(pattern.shape, blocks, strict=True):
            if isinstance(n, str):
                dims.setdefault(n, sizes.get(n, -(-DEFAULT_EXTENT // block) * block))
        rows, columns = (n // block for n, block in zip(_extents(pattern.shape, dims), blocks, strict=True))
        name = entries.shape[0]
        if isinstance(name, str):
            dims.setdefault(name, sizes.get(name, min(ENTRIES_PER_ROW * rows, rows * columns)))
            if dims[name] > rows * columns:
                what = "elements" if value.blocksize is None else "blocks"
                raise ArgumentValueError(f"{name}={dims[name]}, but {value.name} has {rows}x{columns} {what}")
        internal.update(n for part in rest for n in part.shape)
    for value in spec.inputs:
        for n in value.shape:
            if isinstance(n, str) and n not in internal:
                dims.setdefault(n, sizes.get(n, DEFAULT_EXTENT))
    unknown = next((name for name in sizes if name not in dims), None)
    if unknown is not None:
        raise ArgumentValueError(f"{spec.name} has no dim {unknown}", hint=hint_of_dims(unknown, dims))
    return dims


def hint_of_dims(name: str, dims: Iterable[str]) -> str:
    """The hint for a name that no dim has."""
    names = sorted(dims)
    close = get_close_matches(name, names, n=2, cutoff=0.6)
    return f"did you mean {' or '.join(close)}?" if close else f"the dims are {', '.join(names) or 'all known'}"


def checked_threads(function: str, threads: int) -> int:
    """The number of threads.   Raises: GraphValueError for another value than a number from 1 to `MOST_THREADS`"""
    if not isinstance(threads, int) or not 1 <= threads <= MOST_THREADS:
        raise GraphValueError(f"{function}: num_threads must be a number from 1 to {MOST_THREADS}, not {threads!r:.50}")
    return threads


def dim_names(f: Definition, has_parts: bool = True) -> list[str]:
    """The names of the dims of the arrays of a function that is not compiled.

    has_parts: also those that arrays of a sparse matrix have for themselves, which follow from other sizes
    """
    shapes = [(key, axis, n) for key, x in f.flat.arguments.items() for axis, n in enumerate(x.tensor_type.shape)]
    own = [x for x in shapes if not isinstance(x[2], int) and (has_parts or x[2] is not None or x[0] in f.arguments)]
    names = [dim_name(key, axis, n) for key, axis, n in own]
    return [name for name in dict.fromkeys(names) if name.isidentifier()]


def _extents(shape: Sequence[int | str | None], dims: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(dims[n] if isinstance(n, str) else int(n or 0) for n in shape)


def make_inputs(function: LibraryFunction, dims: Mapping[str, int], seed: int) -> dict[str, Any]:
    """Inputs by name: parts between 0.1 and 0.9, matrices that are square also Hermitian and positive definite."""
    rng, spec = np.random.default_rng(seed), function.spec
    found: dict[str, Any] = {}
    for value in spec.arguments:
        if value.default is not None:
            continue
        if isinstance(value, SparseValue):
            found[value.name] = _matrix(rng, spec, value, dims)
        else:
            found[value.name] = _values(rng, value.dtype, _extents(value.shape, dims))
    return found


def whole_numbers(inputs: Mapping[str, Any]) -> dict[str, int]:
    """The inputs that are one integer, as the number of steps of a loop."""
    return {name: int(x) for name, x in inputs.items() if np.ndim(x) == 0 and np.asarray(x).dtype.kind in "iu"}


def _values(rng: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> Any:
    if dtype == "bool":
        return rng.random(shape) < 0.5
    record, is_square = DTYPES[dtype], len(shape) > 1 and shape[-1] == shape[-2]
    if record.kind not in "fc":
        return rng.integers(0, 2, shape).astype(dtype)  # it may be an index
    x = rng.uniform(0.1, 0.9, shape)
    if is_square:
        x = (x + x.swapaxes(-1, -2)) / 2 + shape[-1] * np.eye(shape[-1])
    if record.part is not None:
        y = rng.uniform(0.1, 0.9, shape)
        x = x + 1j * ((y - y.swapaxes(-1, -2)) / 2 if is_square else y)
    return x.astype(ARRAY_DTYPES[dtype])


def _matrix(rng: np.random.Generator, spec: FunctionSpec, value: SparseValue, dims: Mapping[str, int]) -> Any:
    """Entries spread evenly over rows, or columns, each at random places."""
    pattern, entries, indices = spec.inputs[value.first : value.first + 3]
    shape = _extents(pattern.shape, dims)
    blocks = value.blocksize or ()
    if any(n % block for n, block in zip(shape, blocks, strict=False)):
        title = f"{value.name}: {shape[0]}x{shape[1]} is not a multiple of its blocks"
        raise ArgumentValueError(title, hint="give other sizes")
    grid = tuple(n // block for n, block in zip(shape, blocks or (1, 1), strict=True))
    major, minor = grid[::-1] if value.format == "csc" else grid
    wanted = _extents(entries.shape, dims)[0]
    indptr = np.linspace(0, wanted, major + 1).astype(indices.dtype)
    places = [np.sort(rng.choice(minor, int(n), replace=False)) for n in np.diff(indptr)]
    positions = np.concatenate([np.zeros(0), *places]).astype(indices.dtype)
    data = _values(rng, value.dtype, (wanted, *blocks))
    return shown(Compressed(value.format, (shape[0], shape[1]), data, positions, indptr))
