"""How a program enters the corpus, its inputs, and what the references make of them."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import pytest

import aotensor.tensor as at
from aotensor.core.types import Array, Dim
from aotensor.driver.prepare import prepare
from aotensor.graph.variable import Variable
from aotensor.graph.walk import evaluate_all
from aotensor.ir.build import Program

Builder: TypeAlias = Callable[[], Program]
InOut: TypeAlias = tuple[Sequence[Variable], Sequence[Variable]]

CORPUS: Final[dict[str, Builder]] = {}
"""Name → what builds the program of that name. Dims are named, so that one table of extents serves every program."""

EXTENTS: Final[dict[str, Mapping[str, int]]] = {
    "usual": {"n": 7, "m": 5, "k": 6, "l": 3},
    "large": {"n": 33, "m": 18, "k": 21, "l": 17},
    "ones": {"n": 1, "m": 1, "k": 1, "l": 1},
}
EMPTY: Final[Mapping[str, int]] = {"n": 0, "m": 5, "k": 0, "l": 3}

NEEDS_ELEMENTS: Final = frozenset(
    {
        "argmax_of_rows", "max_of_axes", "softmax_rows", "extremes", "slices", "log_softmax", "sums_of_slices",
        "reshape_and_back",
    }
)  # fmt: skip
"""Programs that refuse empty inputs: they index an element, or ask for what nothing has."""


@dataclass(frozen=True)
class Entry(Program):
    """A program after the graph's passes.   written: its outputs before"""

    written: tuple[Variable, ...]


def program(make: Callable[[], InOut]) -> Builder:
    """Enter a function that returns (inputs, outputs) into the corpus, under its own name, after the graph's passes."""

    def build() -> Program:
        inputs, outputs = make()
        return Entry(
            make.__name__,
            tuple((x.name or f"x{position}", x) for position, x in enumerate(inputs)),
            tuple((f"y{position}", y) for position, y in enumerate(prepare(outputs, inputs))),
            tuple(outputs),
        )

    CORPUS[make.__name__] = build
    return build


def texts_of() -> pytest.MarkDecorator:
    """Parametrizes `make` over the corpus."""
    return pytest.mark.parametrize("make", CORPUS.values(), ids=CORPUS)


def draw(inputs: Sequence[Variable], extents: Mapping[str, int], seed: int = 0) -> list[Array]:
    """Arrays for the inputs of a program: floats in (−2, 2), integers in −5 … 5 or 0 … 5."""
    rng = np.random.default_rng([seed, zlib.crc32(" ".join(map(str, inputs)).encode())])
    return [_drawn(rng, x.dtype, [_extent(dim, extents) for dim in x.tensor_type.shape]) for x in inputs]


def expected(built: Program, arrays: Sequence[Array]) -> list[Array]:
    """What the references give for the outputs as they are written."""
    assert isinstance(built, Entry)
    return evaluate_all(built.written, dict(zip((x for _, x in built.inputs), arrays, strict=True)))


def _extent(dim: Dim, extents: Mapping[str, int]) -> int:
    return dim if isinstance(dim, int) else extents[dim or "n"]


def _drawn(rng: np.random.Generator, dtype: str, shape: Sequence[int]) -> Array:
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if dtype.startswith("float"):
        return np.asarray(rng.uniform(-2, 2, shape)).astype(dtype)
    return np.asarray(rng.integers(0 if dtype.startswith("u") else -5, 6, shape)).astype(dtype)


def vector(name: str, dim: Dim, dtype: str = "float64") -> Variable:
    """A symbol of rank 1."""
    return at.tensor(name, dtype=dtype, shape=(dim,))


def matrix(name: str, *dims: Dim, dtype: str = "float64") -> Variable:
    """A symbol of any rank."""
    return at.tensor(name, dtype=dtype, shape=dims)
