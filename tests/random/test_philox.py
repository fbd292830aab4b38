"""The generator: published answers, a second implementation, and which block goes where."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import aotensor as aot
import aotensor.tensor as at
from aotensor.core.types import Array
from aotensor.ops.random.array_builder import ArrayBuilder
from aotensor.ops.random.draw import Draw
from aotensor.ops.random.noise import Noise
from aotensor.ops.random.philox import Philox, block, join_words
from aotensor.ops.random.samplers import integers

# counter, key, block: tests/kat_vectors of Random123, "philox4x32 10"
PUBLISHED = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
]
# blocks 0, 1, 2 under the key 0 by XLA, as jax.lax.rng_bit_generator gives them for RNG_PHILOX
BY_XLA = [
    "6627e8d5 e169c58d bc57ac4c 9b00dbd8",
    "f8e4cca4 5cb200db b1a574eb 097eff67",
    "04faa329 51c732a6 241513ad 459135e4",
]
SHAPES = [(), (1,), (7,), (300,), (0,), (1, 1), (4, 5), (3, 0, 2), (2, 1, 9)]
STATE = np.array([0xDEADBEEF12345678, 2**40 + 3], "uint64")


def words(text: str) -> Array:
    return np.array([int(word, 16) for word in text.split()], "uint32")


def by_hand(counter: Sequence[int], key: Sequence[int]) -> list[int]:
    """Philox 4x32-10 once more, on Python's own integers."""
    left, right, (k, j) = list(counter[0::2]), list(counter[1::2]), key
    for number in range(10):
        first, second = left[0] * 0xD2511F53, left[1] * 0xCD9E8D57
        one, two = (k + number * 0x9E3779B9) % 2**32, (j + number * 0xBB67AE85) % 2**32
        left = [second // 2**32 ^ right[0] ^ one, first // 2**32 ^ right[1] ^ two]
        right = [second % 2**32, first % 2**32]
    return [left[0], right[0], left[1], right[1]]


def function() -> aot.Function:
    counter, key = (at.tensor(name, dtype="uint32", shape=("n", k)) for name, k in (("counter", 4), ("key", 2)))
    return aot.function([counter, key], Philox()(counter, key), name="philox")


def test_published_answers() -> None:
    counters, keys, blocks = (np.stack([words(row[k]) for row in PUBLISHED]) for k in range(3))
    f = function()
    np.testing.assert_array_equal(f.reference(counters, keys), blocks)
    np.testing.assert_array_equal(f(counters, keys), blocks)


def test_a_second_implementation_agrees(rng: np.random.Generator) -> None:
    counters, keys = (rng.integers(0, 2**32, (50, k), "uint32") for k in (4, 2))
    expected = [by_hand(c, k) for c, k in zip(counters.tolist(), keys.tolist(), strict=True)]
    f = function()
    np.testing.assert_array_equal(f.reference(counters, keys), expected)
    np.testing.assert_array_equal(f(counters, keys), expected)


def test_xla_agrees() -> None:
    counters = np.zeros((3, 4), "uint32")
    counters[:, 0] = np.arange(3)
    found = function()(counters, np.zeros((3, 2), "uint32"))
    np.testing.assert_array_equal(found, np.stack([words(text) for text in BY_XLA]))


@pytest.mark.parametrize("bad", [((2, 3), (2, 2)), ((2, 4), (2, 4))])
def test_other_numbers_of_words_are_refused(bad: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    counter, key = (np.zeros(shape, "uint32") for shape in bad)
    with pytest.raises(TypeError, match="along the last axis"):
        Philox()(counter, key)
    f = at.tensor("c", dtype="uint32", shape=(None, None)), at.tensor("k", dtype="uint32", shape=(None, None))
    g = aot.function(f, Philox()(*f), name="philox")
    with pytest.raises(TypeError, match=r"the counter must have 4 words and the key 2"):
        g.reference(counter, key)
    with pytest.raises(ValueError, match="numbers of words differ"):
        g(counter, key)


def test_every_element_has_its_own_block() -> None:
    """Element e of draw d under a key: counter (e, 0, d mod 2^32, d / 2^32), the first two words of its block."""
    key, draw = STATE.tolist()
    expected = []
    for element in range(12):
        counter = [element, 0, draw % 2**32, draw // 2**32]
        found = by_hand(counter, [key % 2**32, key // 2**32])
        expected.append(found[0] * 2**32 + found[1])
    state = at.tensor("state", dtype="uint64", shape=(2,))
    f = aot.function([state], Noise("bits", "uint64", (3, 4))(state), name="bits")
    assert f.reference(STATE).ravel().tolist() == expected
    assert f(STATE).ravel().tolist() == expected


def test_a_later_attempt_is_another_block() -> None:
    """Bits 16 and on of the second word count the attempts of an element."""
    position = tuple(np.asarray(x, "uint64") for x in (*STATE.tolist(), 2**33 + 5))
    found = block(ArrayBuilder(), position, np.asarray(9, "uint64"))  # type: ignore[arg-type]
    key, draw = STATE.tolist()
    counter = [5, 2 + (9 << 16), draw % 2**32, draw // 2**32]
    assert [int(x) for x in found] == by_hand(counter, [key % 2**32, key // 2**32])


def test_states_are_checked() -> None:
    for bad in (np.zeros(2), np.zeros(3, "uint64"), np.uint64(3), np.zeros(2, "int64")):
        with pytest.raises(TypeError, match="a state of the generator must be a uint64 vector of 2"):
            at.random.normal(bad)
    with pytest.raises(TypeError, match="one draw uses one state"):
        at.random.normal(np.zeros((3, 2), "uint64"))
    with pytest.raises(TypeError, match="expected parameters of the dtypes float64"):
        Draw("poisson")(STATE, np.zeros(2, "float32"))
    with pytest.raises(ValueError, match="all parameters must have the same shape"):
        Draw("binomial")(STATE, np.zeros(2, "int64"), np.zeros(3))
    state = at.tensor("state", dtype="uint64", shape=(None,))
    f = aot.function([state], at.random.normal(state)[1], name="draw")
    with pytest.raises(TypeError, match="must have 2 numbers, not 3"):
        f.reference(np.zeros(3, "uint64"))
    with pytest.raises(ValueError, match="numbers of a state differ: state_0 = 3 and 2"):
        f(np.zeros(3, "uint64"))


@pytest.mark.parametrize("rank", [0, 1, 2, 3])
def test_the_same_bits_in_every_shape(rank: int) -> None:
    """Bits, numbers in [0, 1) and whole numbers, compiled and by reference, also without elements."""
    state = at.tensor("state", dtype="uint64", shape=(2,))
    extents = [at.lscalar(f"n{axis}") for axis in range(rank)]
    draws = [
        Noise("bits", "uint64", (None,) * rank)(state, *extents),
        at.random.uniform(state, -1, 3, extents)[1],
        at.random.uniform(state, size=extents, dtype="float32")[1],
        at.random.integers(state, 10**12, size=extents)[1],
        at.random.bernoulli(state, 0.25, extents)[1],
    ]
    f = aot.function([state, *extents], draws, name="bits")
    for shape in (shape for shape in SHAPES if len(shape) == rank):
        for compiled, reference in zip(f(STATE, *shape), f.reference(STATE, *shape), strict=True):
            assert compiled.shape == shape and compiled.dtype == reference.dtype
            np.testing.assert_array_equal(compiled, reference)


def test_a_shape_does_not_change_the_elements() -> None:
    state = at.tensor("state", dtype="uint64", shape=(2,))
    flat, grid = (at.random.normal(state, size=size)[1] for size in ((12,), (3, 4)))
    one, other = aot.function([state], [flat, grid], name="two")(STATE)
    np.testing.assert_array_equal(one, other.ravel())


def test_whole_numbers_are_scaled_bits_where_nothing_is_rejected() -> None:
    """The high 64 bits of bits·span, by Python's integers."""
    builder = ArrayBuilder()
    elements = np.arange(20, dtype=np.uint64)
    position = (np.uint64(7), np.uint64(1), elements)
    bits = join_words(builder, *block(builder, position, np.uint64(0))[:2]).tolist()  # type: ignore[arg-type]
    for span in (1, 3, 10**6 + 3, 2**32 + 1, 2**63 - 25):
        threshold = np.uint64(2**64 % span)
        found = integers(builder, position, np.uint64(span), threshold).tolist()  # type: ignore[arg-type]
        accepted = [one * span % 2**64 >= 2**64 % span for one in bits]
        expected = [one * span // 2**64 for one in bits]
        assert [a == b for a, b, good in zip(found, expected, accepted, strict=True) if good].count(False) == 0
        assert sum(accepted) > 5 and all(0 <= x < span for x in found)
