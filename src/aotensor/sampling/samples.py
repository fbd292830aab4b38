"""Random arguments of a function: matching extents, values from several domains, every memory layout."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import numpy as np

from aotensor.core.dtypes import compute_of, epsilon, is_complex, is_float, part_of, tiny
from aotensor.core.types import Array
from aotensor.graph.sparse_type import SparseTensorType
from aotensor.graph.subgraph import all_nodes, at_most
from aotensor.graph.variable import SharedVariable, Variable
from aotensor.graph.walk import evaluate_all
from aotensor.ops.stable.forms import in_stable_forms
from aotensor.sampling.dense_view import Arrays, Graph
from aotensor.sampling.pairs import from_pairs
from aotensor.sampling.random_matrix import declared_pattern, random_matrix, valued
from aotensor.sampling.rounding import nearby

_SMALL: Final = (3, 5, 4, 2, 7, 6)
"""Extents of the first sample: distinct ones where the types allow."""

_TRIES: Final = 60
"""Attempts at extents of unknown dims until the reference accepts them."""

_PROBED: Final = 2_000
"""Most nodes that loops evaluate to find out whether a factorisation exists: without it, an integration is evaluated
to its end, for seconds."""


@dataclass(frozen=True)
class Sample:
    """Arguments of one call, with a short description.

    has_infinities: then a nan of the reference, such as inf/inf, may be a number by a formula that does not overflow.
    """

    note: str
    arrays: Arrays
    has_infinities: bool = False


@dataclass
class Sampler:
    """Draws samples for one function.   The same seed gives the same samples."""

    f: Graph
    seed: int = 0
    rng: np.random.Generator = field(init=False)
    _pool: tuple[int, ...] = field(init=False)
    _fixed: bool = field(init=False, default=False)
    _definite: bool = field(init=False, default=False)
    """Are square matrices positive definite, because others have no factorisation?"""

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)
        extents = {n for x in self._state().values() for n in x.get_value(borrow=True).shape}
        self._pool = tuple(sorted(n for n in extents if n > 0))
        self._definite = self._lacks_factorisation()
        tried = (_SMALL, _SMALL[::-1]) if self._keys() else ()  # each attempt evaluates the whole graph
        self._fixed = not all(self._is_accepted(self._sizes_in_order(sizes)) for sizes in tried)

    def samples(self, count: int) -> Iterator[Sample]:
        """`count` samples: small, extent 1, extent 0, larger, one empty dim, one dim of 1, then random ones."""
        for number in range(count):
            sizes, note = self._sizes(number)
            domain = _DOMAINS[number % len(_DOMAINS)]
            arrays = {name: self._array(name, sizes, domain, number > 0) for name in self.f.arguments}
            yield Sample(f"{note}, {domain}" if note else domain, arrays, domain == "infinities")

    def small(self, domain: str = "normal") -> Sample:
        """A small sample in plain layout."""
        sizes = self._accepted(lambda: self._sizes_in_order(_SMALL))
        return Sample("small", {name: self._array(name, sizes, domain, False) for name in self.f.arguments})

    # --- extents ---------------------------------------------------------------------------------------------------

    def _sizes(self, number: int) -> tuple[dict[str, int], str]:
        keys = self._keys()
        draw, note = _EXTENTS[number] if number < len(_EXTENTS) else (_random, "random extents")
        chosen = dict(zip(keys, draw(self.rng, len(keys)), strict=True))
        sizes = self._accepted(lambda: chosen) if number == 0 or self._fixed else chosen
        return sizes, note if keys else ""

    def _accepted(self, draw: Callable[[], dict[str, int]]) -> dict[str, int]:
        """Extents that the reference accepts, or None: drawn ones, else combinations of shared variables' extents."""
        drawn = sizes = draw()
        if not self._fixed:
            return sizes
        pool = [*self._pool, *_SMALL[:2]]
        tried: set[tuple[int, ...]] = set()
        for _ in range(_TRIES):
            chosen = tuple(sizes.values())
            if chosen not in tried and self._is_accepted(sizes):
                return sizes
            tried.add(chosen)
            sizes = {key: n if self.rng.random() < 0.5 else int(self.rng.choice(pool)) for key, n in drawn.items()}
        return drawn

    def _lacks_factorisation(self) -> bool:
        """Does the reference fail on a random matrix for lack of a factorisation?"""
        if not any(".linalg." in type(node.op).__module__ for node in all_nodes(self.f.results.values())):
            return False  # saves an evaluation of the whole graph
        sizes = self._sizes_in_order(_SMALL)
        try:
            with at_most(_PROBED):
                reference_values(self.f, {name: self._array(name, sizes, "normal", False) for name in self.f.arguments})
        except np.linalg.LinAlgError:
            return True
        except Exception:  # such as extents that do not match, which do not matter here
            return False
        return False

    def _is_accepted(self, sizes: Mapping[str, int]) -> bool:
        arrays = {name: self._array(name, sizes, "unit", False) for name in self.f.arguments}
        try:
            reference_values(self.f, arrays)
        except Exception:
            return False
        return True

    def _sizes_in_order(self, extents: Sequence[int]) -> dict[str, int]:
        return {key: extents[position % len(extents)] for position, key in enumerate(self._keys())}

    def _keys(self) -> list[str]:
        """The names of the extents to draw: named dims, and keys of unknown ones."""
        return list(dict.fromkeys(key for name in self.f.arguments for key in self._row(name) if isinstance(key, str)))

    def _row(self, name: str) -> list[int | str]:
        """The extents of one argument: static numbers, and keys of extents to draw.

        Unknown dims are all equal, as most programs need; otherwise each has its own, and shared variables keep theirs.
        """
        x = self.f.arguments[name]
        if self._fixed and isinstance(x, SharedVariable):
            return list(x.get_value(borrow=True).shape)
        shape = x.tensor_type.shape
        return [(f"{name}.{axis}" if self._fixed else "?") if n is None else n for axis, n in enumerate(shape)]

    def _state(self) -> dict[str, SharedVariable]:
        return {name: x for name, x in self.f.arguments.items() if isinstance(x, SharedVariable)}

    # --- values ----------------------------------------------------------------------------------------------------

    def _array(self, name: str, sizes: Mapping[str, int], domain: str, is_arranged: bool) -> Any:
        row, dtype = self._row(name), self.f.arguments[name].dtype
        shape = tuple(sizes[key] if isinstance(key, str) else key for key in row)
        kind = self.f.arguments[name].tensor_type
        if isinstance(kind, SparseTensorType):
            draw = partial(values_in, self.rng, dtype, domain=domain)
            pattern = declared_pattern(self.f, name)
            return random_matrix(self.rng, kind, shape, draw) if pattern is None else valued(kind, pattern, draw)
        values = values_in(self.rng, dtype, shape, domain)
        if self._definite and is_float(dtype) and len(row) > 1 and row[-2] == row[-1] and domain in _DOMAINS[:2]:
            values = _as_definite(values)
        return _change_layout(values, int(self.rng.integers(len(_LAYOUTS)))) if is_arranged else values


def reference_values(f: Graph, arrays: Mapping[str, Any], forms: Sequence[Variable] | None = None) -> list[Any]:
    """All results of a function by the reference, for values of all its arguments. Its shared variables stay untouched.

    forms: the result of `reference_forms`, if it is known.

    Raises: as the reference.
    """
    with np.errstate(all="ignore"):
        values = {f.arguments[name]: x for name, x in arrays.items()}
        return evaluate_all(reference_forms(f) if forms is None else forms, values)


def reference_forms(f: Graph) -> list[Variable]:
    """The graph that the reference evaluates: the results of a function in stable forms."""
    return in_stable_forms(list(f.results.values()), list(f.arguments.values()))


def nearby_values(f: Graph, arrays: Mapping[str, Any], rng: np.random.Generator) -> list[Any]:
    """`reference_values` with every input and intermediate value changed by one ulp: the sensitivity to rounding.

    Raises: as the reference.
    """
    return nearby(list(f.results.values()), {f.arguments[name]: x for name, x in arrays.items()}, rng)


# --- extents of the first samples ----------------------------------------------------------------------------------


def _ones_but_one(value: int) -> Callable[[np.random.Generator, int], list[int]]:
    def draw(rng: np.random.Generator, count: int) -> list[int]:
        sizes = [int(n) for n in rng.integers(2, 9, count)]
        if count:
            sizes[int(rng.integers(count))] = value
        return sizes

    return draw


def _random(rng: np.random.Generator, count: int) -> list[int]:
    return [int(n) for n in rng.integers(1, 25, count)]


_EXTENTS: Final[tuple[tuple[Callable[[np.random.Generator, int], list[int]], str], ...]] = (
    (lambda _, count: [_SMALL[k % len(_SMALL)] for k in range(count)], "small"),
    (lambda _, count: [1] * count, "extents 1"),
    (lambda _, count: [0] * count, "extents 0"),
    (lambda rng, count: [int(n) for n in rng.integers(17, 41, count)], "larger"),
    (_ones_but_one(0), "one extent 0"),
    (_ones_but_one(1), "one extent 1"),
)


# --- values and layouts --------------------------------------------------------------------------------------------

_DOMAINS: Final = ("normal", "unit", "normal", "unit", "wide", "specials", "normal", "infinities")
"""Domains of random floats. unit: 0.1 to 0.9. specials: nan, ±0 and denormals among normal ones; infinities: ±inf."""


_SPECIAL: Final = ("specials", "infinities")


def values_in(rng: np.random.Generator, dtype: str, shape: tuple[int, ...], domain: str) -> Array:
    """Random values of one of the domains; complex ones are finite."""
    if is_complex(dtype):
        drawn = values_in(rng, part_of(dtype), (*shape, 2), "normal" if domain in _SPECIAL else domain)
        return from_pairs(drawn)
    if dtype == "bool":
        return np.asarray(rng.integers(0, 2, shape), dtype=dtype)
    if not is_float(dtype):
        low = 0 if dtype.startswith("u") or domain == "unit" else -4
        return np.asarray(rng.integers(low, 4 if domain == "unit" else 6, shape), dtype=dtype)
    if domain == "unit":
        return np.asarray(rng.uniform(0.1, 0.9, shape), dtype=dtype)
    values = np.asarray(rng.normal(0, 8 if domain == "wide" else 1, shape), dtype=dtype)
    if domain in _SPECIAL:
        smallest = tiny(dtype) * epsilon(dtype)
        special = np.array([np.nan, 0.0, -0.0, smallest] if domain == "specials" else [np.inf, -np.inf], dtype=dtype)
        values = np.where(rng.random(shape) < 0.2, rng.choice(special, shape), values)
    return np.asarray(values, dtype=dtype)


def _as_definite(x: Array) -> Array:
    """Symmetric positive definite matrices made from square ones."""
    n, dtype = x.shape[-1], x.dtype
    x = x.astype(compute_of(dtype.name))
    return np.asarray(x @ np.swapaxes(x, -1, -2) / max(n, 1) + np.eye(n), dtype=dtype)


def _strided_view(x: Array) -> Array:
    """A view of every second element of a larger array."""
    larger = np.full([2 * n + 1 for n in x.shape], 77, dtype=x.dtype)
    window = larger[tuple(slice(1, None, 2) for _ in x.shape)]
    window[...] = x
    return window


_LAYOUTS: Final[tuple[Callable[[Array], Array], ...]] = (
    np.ascontiguousarray,
    np.asfortranarray,
    lambda x: np.flip(np.ascontiguousarray(np.flip(x))),
    _strided_view,
    lambda x: np.swapaxes(np.swapaxes(x, 0, -1).copy(), 0, -1),
)
"""Memory layouts of equal values: row-major, column-major, negative strides, gaps, outer axes exchanged."""


def _change_layout(x: Array, layout: int) -> Array:
    return _LAYOUTS[layout](x) if x.ndim else x
