"""Inputs of given sizes for a function of a library: values on which no check fails, as far as that can be known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from aotensor_cli.options import Refusal, similar
from aotensor_runtime import LibraryFunction
from aotensor_runtime.arrays.dtypes import DTYPES
from aotensor_runtime.arrays.layout import DTYPES as ARRAY_DTYPES
from aotensor_runtime.manifest import FunctionSpec, SparseValue
from aotensor_runtime.sparse.values import Compressed, shown

DEFAULT_EXTENT = 1000
"""Of a dim that --sizes does not name."""
ENTRIES_PER_ROW = 10
"""Stored entries of a sparse input, if --sizes does not say how many and there is room for them."""
_DIGITS = 18
"""Of a size, so that it is an int64."""


def parse_sizes(text: str | None) -> dict[str, int]:
    """`n=1000,p=100` as a dict.   Raises: Refusal"""
    sizes: dict[str, int] = {}
    for part in (text or "").split(","):
        name, equals, value = part.strip().partition("=")
        if not part.strip() and not text:
            continue
        if not equals or not name or not value.isdecimal() or len(value) > _DIGITS:
            raise Refusal(f"--sizes {text!r:.100} is not understood", "write n=1000,p=100")
        sizes[name] = int(value)
    return sizes


def dims_text(dims: Mapping[str, int]) -> str:
    """For people: `n=1000, p=100`, "" without dims."""
    return ", ".join(f"{name}={n}" for name, n in dims.items())


def dims_of(spec: FunctionSpec, sizes: Mapping[str, int]) -> dict[str, int]:
    """The extent of each dim. Shared variables have their own.

    Raises: Refusal for a size that no dim has, another one than a shared variable has, or too many stored entries
    """
    dims: dict[str, int] = {}
    for state in spec.inputs:
        for dim, extent in zip(state.shape, state.default.shape if state.default is not None else (), strict=False):
            if isinstance(dim, str) and sizes.get(dim, extent) != extent:
                raise Refusal(f"{dim}={sizes[dim]}, but {state.name} has the extent {extent} there", f"leave out {dim}")
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
                raise Refusal(f"{name}={dims[name]}, but {value.name} has {rows}x{columns} {what}")
        internal.update(n for part in rest for n in part.shape)
    for value in spec.inputs:
        for n in value.shape:
            if isinstance(n, str) and n not in internal:
                dims.setdefault(n, sizes.get(n, DEFAULT_EXTENT))
    unknown = next((name for name in sizes if name not in dims), None)
    if unknown is not None:
        raise Refusal(f"{spec.name} has no dim {unknown}", hint_of_dims(unknown, dims))
    return dims


def known_dims(specs: Iterable[FunctionSpec], wanted: Iterable[Mapping[str, int]]) -> dict[str, list[str]]:
    """Function → names of its dims.   Raises: Refusal for a size in `wanted` that none of the functions has"""
    dims = {spec.name: list(dims_of(spec, {})) for spec in specs}
    known = {name for names in dims.values() for name in names}
    for name in (name for one in wanted for name in one):
        if name not in known:
            raise Refusal(f"no function has a dim {name}", hint_of_dims(name, known))
    return dims


def hint_of_dims(name: str, dims: Iterable[str]) -> str:
    """What to write in place of a name that no dim has."""
    names = sorted(dims)
    return similar(name, names) or f"the dims are {', '.join(names) or 'all known'}"


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
        raise Refusal(
            f"{value.name}: {shape[0]}x{shape[1]} is not a multiple of its blocks", "write other extents in --sizes"
        )
    grid = tuple(n // block for n, block in zip(shape, blocks or (1, 1), strict=True))
    major, minor = grid[::-1] if value.format == "csc" else grid
    wanted = _extents(entries.shape, dims)[0]
    indptr = np.linspace(0, wanted, major + 1).astype(indices.dtype)
    places = [np.sort(rng.choice(minor, int(n), replace=False)) for n in np.diff(indptr)]
    positions = np.concatenate([np.zeros(0), *places]).astype(indices.dtype)
    data = _values(rng, value.dtype, (wanted, *blocks))
    return shown(Compressed(value.format, (shape[0], shape[1]), data, positions, indptr))
