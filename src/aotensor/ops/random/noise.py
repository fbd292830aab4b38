"""Base noise for distributions: one block of the generator per element."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Final

import numpy as np

from aotensor.core import dtypes
from aotensor.core.builders import Scalar, ScalarBuilder, Tensor, TensorBuilder
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, Dim, TensorType
from aotensor.graph.op import Apply
from aotensor.graph.operations import KnownValues
from aotensor.ops.batching import TrailingOp
from aotensor.ops.create import known_extents, lowered_extents
from aotensor.ops.linear import ConstantOp
from aotensor.ops.random.array_builder import ArrayBuilder
from aotensor.ops.random.philox import Position, Words, block, join_words
from aotensor.ops.random.positions import array_positions, check_state, tabulate_draw
from aotensor.ops.shape.extents import dims_at


def uniform(v: ScalarBuilder, high: Any, low: Any, dtype: str) -> Any:
    """A multiple of 2**-53 (float32: 2**-24) in [0, 1)."""
    if dtype == "float32":
        return _top_bits(v, high, 24, dtype) * 2.0**-24
    first, rest = _top_bits(v, high, 27, dtype), _top_bits(v, low, 26, dtype)
    return (first * 2.0**26 + rest) * 2.0**-53


def inner(v: ScalarBuilder, high: Any, low: Any, dtype: str) -> Any:
    """An odd multiple of 2**-53 (float32: 2**-24) in (0, 1), symmetric about ½."""
    if dtype == "float32":
        scaled, unit = _top_bits(v, high, 23, dtype), 2.0**-23
    else:
        first, rest = _top_bits(v, high, 27, dtype), _top_bits(v, low, 25, dtype)
        scaled, unit = first * 2.0**25 + rest, 2.0**-52
    return (scaled + 0.5) * unit


def exponential(v: ScalarBuilder, high: Any, low: Any, dtype: str) -> Any:
    """−log u for u in (0, 1]; in float32 u is as fine as 2**-32 where it is small, for a tail up to 22."""
    if dtype == "float32":
        scaled = _top_bits(v, high, 31, dtype) + 0.5
        return -v.math("log", scaled * 2.0**-31)
    return -v.math("log", inner(v, high, low, dtype))


def normal(v: ScalarBuilder, words: Words, dtype: str) -> Any:
    """√(−2 log u)·cos 2πw.   Source: Box & Muller, "A note on the generation of random normal deviates" (1958)."""
    radius = v.math("sqrt", v.constant(2.0, dtype) * exponential(v, words[0], words[1], dtype))
    angle = v.constant(2.0 * math.pi, dtype) * uniform(v, words[2], words[3], dtype)
    return radius * v.math("cos", angle)


def _top_bits(v: ScalarBuilder, word: Any, bits: int, dtype: str) -> Any:
    """The highest `bits` bits of a word as a float, by way of int32: exact, and vectorisable."""
    return v.cast(v.cast(word >> (32 - bits), "int32"), dtype)


KINDS: Final[Mapping[str, Callable[[ScalarBuilder, Words, str], Any]]] = {
    "bits": lambda v, words, dtype: join_words(v, words[0], words[1]),
    "uniform": lambda v, words, dtype: uniform(v, words[0], words[1], dtype),
    "inner": lambda v, words, dtype: inner(v, words[0], words[1], dtype),
    "exponential": lambda v, words, dtype: exponential(v, words[0], words[1], dtype),
    "normal": normal,
}
"""Kind of noise → (builder, the words of an element, dtype) → the element."""


@frozen_dataclass
class Noise(TrailingOp, ConstantOp):
    """Independent elements of one kind: state, *extents → tensor behind the leading axes of the state.

    kind: bits (uint64), uniform in [0, 1), inner in (0, 1), exponential, normal; the latter in a floating dtype.
    dims: a number, or a name or None for the next extent.
    """

    name: ClassVar[str] = "noise"
    kind: str
    dtype: str
    dims: tuple[Dim, ...]

    def __post_init__(self) -> None:
        assert self.kind in KINDS and dtypes.is_float(self.dtype) == (self.kind != "bits")

    def infer_type(self, state: TensorType, *extents: TensorType) -> TensorType:
        return TensorType(self.dtype, (*check_state(state), *self.dims))

    def types_at(self, node: Apply, types: Sequence[TensorType], known: KnownValues) -> TensorType:
        return TensorType(self.dtype, (*check_state(types[0]), *dims_at(self.name, self.dims, node.inputs[1:], known)))

    def reference(self, state: Array, *extents: Array) -> Array:
        shape = known_extents(self.name, self.dims, extents)
        position = array_positions(state, shape)
        builder: Any = ArrayBuilder()
        with np.errstate(all="ignore"):
            drawn = KINDS[self.kind](builder, block(builder, position), self.dtype)
        return np.array(np.broadcast_to(drawn, (*state.shape[:-1], *shape)))

    def lower(self, b: TensorBuilder, state: Tensor, *extents: Tensor) -> Tensor:
        def element(v: ScalarBuilder, position: Position, *at: Scalar) -> Scalar:
            return KINDS[self.kind](v, block(v, position), self.dtype)  # type: ignore[no-any-return]

        return tabulate_draw(b, state, lowered_extents(b, self.dims, extents), self.dtype, element)
