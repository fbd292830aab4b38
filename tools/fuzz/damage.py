"""Damage bytes: flip bits, write numbers at the limits of their types, remove, repeat or move pieces."""

from __future__ import annotations

import numpy as np

_EDGES = (0, 1, 2, 7, 8, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 2**62, 2**63 - 1, 2**63)


def damaged(rng: np.random.Generator, data: bytes, low: int = 0, high: int | None = None) -> bytes:
    """A copy of the bytes with one to four faults between two offsets.

    A fault may change the length, unless it must not.
    """
    found = bytearray(data)
    for _ in range(int(rng.choice([1, 1, 1, 2, 4]))):
        _FAULTS[int(rng.integers(len(_FAULTS)))](rng, found, low, min(high or len(found), len(found)))
    return bytes(found)


def changed(rng: np.random.Generator, data: bytes, low: int, high: int) -> bytes:
    """A copy with one fault between two offsets, of the same length."""
    found = bytearray(data)
    for _ in range(int(rng.choice([1, 1, 2, 6]))):
        _IN_PLACE[int(rng.integers(len(_IN_PLACE)))](rng, found, low, high)
    return bytes(found)


def _place(rng: np.random.Generator, low: int, high: int) -> int:
    return int(rng.integers(low, max(high, low + 1)))


def _flip(rng: np.random.Generator, data: bytearray, low: int, high: int) -> None:
    at = _place(rng, low, high)
    if at < len(data):
        data[at] ^= 1 << int(rng.integers(8))


def _byte(rng: np.random.Generator, data: bytearray, low: int, high: int) -> None:
    at = _place(rng, low, high)
    if at < len(data):
        data[at] = int(rng.integers(256))


def _number(rng: np.random.Generator, data: bytearray, low: int, high: int) -> None:
    """Overwrite two, four or eight bytes with a number at the limit of its type."""
    size = int(rng.choice([2, 4, 8]))
    at = _place(rng, low, high - size) // size * size
    value = int(_EDGES[int(rng.integers(len(_EDGES)))]) % (1 << 8 * size)
    if low <= at and at + size <= min(high, len(data)):
        data[at : at + size] = value.to_bytes(size, "little")


def _digit(rng: np.random.Generator, data: bytearray, low: int, high: int) -> None:
    """Replace a digit in a text."""
    digits = [k for k in range(low, min(high, len(data))) if 48 <= data[k] < 58][:20_000]
    if digits:
        data[digits[int(rng.integers(len(digits)))]] = 48 + int(rng.integers(10))


def _zeros(rng: np.random.Generator, data: bytearray, low: int, high: int) -> None:
    at, size = _place(rng, low, high), int(rng.integers(1, 200))
    end = min(at + size, high)
    data[at:end] = bytes(max(end - at, 0))


def _moved(rng: np.random.Generator, data: bytearray, low: int, high: int) -> None:
    """Copy one piece over another one."""
    size = int(rng.integers(1, 65))
    source, target = _place(rng, low, high - size), _place(rng, low, high - size)
    piece = data[source : source + size]
    if low <= target and target + len(piece) <= high:
        data[target : target + len(piece)] = piece


def _cut(rng: np.random.Generator, data: bytearray, low: int, high: int) -> None:
    del data[_place(rng, low, high) :]


def _lost(rng: np.random.Generator, data: bytearray, low: int, high: int) -> None:
    at = _place(rng, low, high)
    del data[at : at + int(rng.integers(1, 100))]


def _doubled(rng: np.random.Generator, data: bytearray, low: int, high: int) -> None:
    at, size = _place(rng, low, high), int(rng.integers(1, 100))
    data[at:at] = data[at : at + size]


def _more(rng: np.random.Generator, data: bytearray, low: int, high: int) -> None:
    data += rng.bytes(int(rng.integers(1, 100)))


_IN_PLACE = (_flip, _byte, _number, _digit, _zeros, _moved)
_FAULTS = (*_IN_PLACE, _flip, _byte, _number, _cut, _lost, _doubled, _more)
