"""Philox 4x32-10, a counter-based generator: 128 random bits for each counter, at any position and in any order.

Source: Salmon, Moraes, Dror & Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011). A round multiplies two of
the four 32-bit words of the counter to 64 bits and mixes the halves with the other two words and with a key that grows
from round to round; ten rounds.

A draw has a state of two numbers of 64 bits, (key, draw). The block of element e, attempt t is that of the counter

    word 0          word 1                       words 2, 3
    e mod 2^32      e / 2^32 + t·2^16            draw

so that elements, attempts of one element and draws never share a block: e < 2^48, t < 2^16.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final, TypeAlias

import numpy as np

from aotensor.core.builders import Scalar, ScalarBuilder, Tensor, TensorBuilder
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType, broadcast_shapes
from aotensor.errors import GraphTypeError
from aotensor.graph.op import Apply
from aotensor.graph.variable import Variable
from aotensor.ops.batching import align_rank
from aotensor.ops.linear import DiscreteOp
from aotensor.ops.random.array_builder import ArrayBuilder

ROUNDS: Final = 10
_MULTIPLIERS: Final = (0xD2511F53, 0xCD9E8D57)
_WEYL: Final = (0x9E3779B9, 0xBB67AE85)
_LOW: Final = 0xFFFFFFFF

Words: TypeAlias = tuple[Any, Any, Any, Any]
"""Four scalars of dtype uint64 that hold 32 bits each."""
Position: TypeAlias = tuple[Any, Any, Any]
"""(key, draw, element), scalars of dtype uint64."""


def philox(v: ScalarBuilder, counter: Words, key: tuple[Any, Any]) -> Words:
    """The block of a counter under a key, both as 32-bit words in uint64."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    shift, mask = v.constant(32, "uint64"), v.constant(_LOW, "uint64")
    (m0, m1), (w0, w1) = ([v.constant(x, "uint64") for x in pair] for pair in (_MULTIPLIERS, _WEYL))
    for number in range(ROUNDS):
        if number:
            k0, k1 = (k0 + w0) & mask, (k1 + w1) & mask
        one, two = c0 * m0, c2 * m1
        c0 = (two >> shift) ^ c1 ^ k0
        c2 = (one >> shift) ^ c3 ^ k1
        c1, c3 = two & mask, one & mask
    return c0, c1, c2, c3


def block(v: ScalarBuilder, position: Position, attempt: Any = None) -> Words:
    """The random words for one element of one draw.   attempt: number of the block, for elements that need several"""
    key, draw, element = position
    second = element >> 32
    if attempt is not None:
        second = second | (attempt << 16)
    counter = (element & _LOW, second, draw & _LOW, draw >> 32)
    return philox(v, counter, (key & _LOW, key >> 32))


def join_words(v: ScalarBuilder, high: Any, low: Any) -> Any:
    """The uint64 with these high and low 32-bit words."""
    return (high << 32) | low


@frozen_dataclass
class Philox(DiscreteOp):
    """The bare function: counters (…, 4) and keys (…, 2) of 32-bit words, both uint32 → blocks (…, 4).

    The leading axes broadcast along extents of 1.
    """

    name: ClassVar[str] = "philox"
    notation: ClassVar[str] = "integers"

    def infer_type(self, counter: TensorType, key: TensorType) -> TensorType:
        for found, count in ((counter, 4), (key, 2)):
            if found.dtype != "uint32" or not found.rank or found.shape[-1] not in (count, None):
                raise GraphTypeError(f"expected uint32 words, {count} along the last axis, found {found}")
        return TensorType("uint32", (*broadcast_shapes([counter.shape[:-1], key.shape[:-1]]), 4))

    def reference(self, counter: Array, key: Array) -> Array:
        if (counter.shape[-1], key.shape[-1]) != (4, 2):
            raise GraphTypeError(
                f"philox: the counter must have 4 words and the key 2, found {counter.shape[-1]} and {key.shape[-1]}"
            )
        words, keys = (tuple(np.moveaxis(x.astype(np.uint64), -1, 0)) for x in (counter, key))
        builder: Any = ArrayBuilder()
        return np.stack(np.broadcast_arrays(*philox(builder, words, keys)), -1).astype(np.uint32)

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        rank = node.outputs[0].ndim
        return self.apply(*(align_rank(x, rank) if on else x for x, on in zip(inputs, is_batched, strict=True))).outputs

    def lower(self, b: TensorBuilder, counter: Tensor, key: Tensor) -> Tensor:
        for x, count in ((counter, 4), (key, 2)):
            b.same_extent([x.extents[-1], count], "numbers of words")
        words, keys = _columns(b, counter, 4), _columns(b, key, 2)

        def element(v: ScalarBuilder, *xs: Scalar) -> tuple[Scalar, ...]:
            wide = [v.cast(x, "uint64") for x in xs]
            made = philox(v, (wide[0], wide[1], wide[2], wide[3]), (wide[4], wide[5]))
            return tuple(v.cast(x, "uint32") for x in made)

        columns = b.map(element, *words, *keys, dtype=("uint32",) * 4)
        return b.concatenate([b.permute(x, [*range(len(x.extents)), None]) for x in columns], len(columns[0].extents))


def _columns(b: TensorBuilder, x: Tensor, count: int) -> list[Tensor]:
    """The columns of x, x[…, 0] to x[…, count − 1], as a list."""

    def column(number: int) -> Tensor:
        return b.tabulate(x.extents[:-1], x.dtype, lambda v, *at: v.load(x, *at, number))

    return [column(number) for number in range(count)]
