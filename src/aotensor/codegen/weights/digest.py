"""SHA-256 of memory, unrolled: an object of its own, which libraries with a file of weights share.

    void weights.compress(state, data, count)    state: 8 numbers of 32 bits. data: `count` blocks of 64 bytes

Source: FIPS 180-4, sections 4.1.2, 4.2.2 and 6.2.
"""

from __future__ import annotations

from typing import Final

from aotensor.codegen.entry.code import Code, number
from aotensor.codegen.entry.tables import HIDDEN
from aotensor.codegen.llvm import Builder, Module, Value, constant, i32, i64, intrinsic, pointer, vector, void

COMPRESS: Final = "weights.compress"
_BLOCK: Final = 64


def _primes(count: int) -> list[int]:
    found: list[int] = []
    candidate = 2
    while len(found) < count:
        if all(candidate % p for p in found):
            found.append(candidate)
        candidate += 1
    return found


def _root_bits(value: int, degree: int) -> int:
    """The first 32 bits of the fraction of a root."""
    low, high = 0, value << 32
    while low + 1 < high:  # the largest r with r^degree ≤ value·2^(32·degree)
        middle = (low + high) // 2
        low, high = (middle, high) if middle**degree <= value << 32 * degree else (low, middle)
    return low & 0xFFFFFFFF


INITIAL: Final = tuple(_root_bits(p, 2) for p in _primes(8))
"""The state before the first block: of square roots of primes."""
_ROUNDS: Final = tuple(_root_bits(p, 3) for p in _primes(64))
"""The constants of the rounds: of cube roots of primes."""


def define_compress(module: Module, features: str) -> None:
    """Define the function; it is visible to the modules of a library only.

    features: of the CPU, as LLVM writes them: with `+sha` the instructions of x86 for this digest are used
    """
    c = Code(module, COMPRESS, void, [pointer, pointer, i64], attributes=("noinline",))
    c.function.linkage = HIDDEN
    state, data, count = c.arguments
    with c.loop(count) as k:
        (_block_by_instructions if "+sha" in features.split(",") else _block)(c, state, c.at(data, k, _BLOCK))
    c.builder.ret_void()


def _block(c: Code, state: Value, block: Value) -> None:
    b = c.builder
    words = [_big_endian(c, block, k) for k in range(16)]
    old = [c.item(state, k, i32) for k in range(8)]
    x = list(old)
    for k in range(64):
        if k >= 16:
            near, far = words[k - 2], words[k - 15]
            small0 = b.xor(b.xor(_rotated(b, far, 7), _rotated(b, far, 18)), b.lshr(far, constant(i32, 3)))
            small1 = b.xor(b.xor(_rotated(b, near, 17), _rotated(b, near, 19)), b.lshr(near, constant(i32, 10)))
            words.append(b.add(b.add(words[k - 16], small0), b.add(words[k - 7], small1)))
        a, second, third, d, e, f, g, h = x
        large1 = b.xor(b.xor(_rotated(b, e, 6), _rotated(b, e, 11)), _rotated(b, e, 25))
        chosen = b.xor(g, b.and_(e, b.xor(f, g)))
        first = b.add(b.add(h, large1), b.add(chosen, b.add(words[k], constant(i32, _ROUNDS[k]))))
        large0 = b.xor(b.xor(_rotated(b, a, 2), _rotated(b, a, 13)), _rotated(b, a, 22))
        majority = b.or_(b.and_(a, second), b.and_(third, b.or_(a, second)))
        x = [b.add(first, b.add(large0, majority)), a, second, third, b.add(d, first), e, f, g]
    for k, (before, after) in enumerate(zip(old, x, strict=True)):
        c.store_at(state, k, b.add(before, after))


_FOUR: Final = vector(i32, 4)


def _block_by_instructions(c: Code, state: Value, block: Value) -> None:
    """The same by SHA256RNDS2, SHA256MSG1 and SHA256MSG2.   Source: Intel, SDM volume 2, for their operands

    The state is in two registers, lowest lane first: (f, e, b, a) and (h, g, d, c).
    """
    b = c.builder
    first, last = (b.load(c.at(state, k, 16), typ=_FOUR, align=4) for k in (0, 1))
    before = x, y = _lanes(b, first, last, (5, 4, 1, 0)), _lanes(b, first, last, (7, 6, 3, 2))
    parts = []
    for k in range(4):
        part = b.load(c.at(block, k, 16), typ=_FOUR, align=1)
        parts.append(intrinsic(b, "bswap", [part]))
    for k in range(16):
        if k >= 4:
            started = b.add(_by_x86(b, "msg1", parts[0], parts[1]), _lanes(b, parts[2], parts[3], (1, 2, 3, 4)))
            parts = [*parts[1:], _by_x86(b, "msg2", started, parts[3])]
        summed = b.add(parts[min(k, 3)], constant(_FOUR, _ROUNDS[4 * k : 4 * k + 4]))
        y = _by_x86(b, "rnds2", y, x, summed)
        x = _by_x86(b, "rnds2", x, y, _lanes(b, summed, summed, (2, 3, 2, 3)))
    x, y = b.add(x, before[0]), b.add(y, before[1])
    b.store(_lanes(b, x, y, (3, 2, 7, 6)), c.at(state, 0, 16), align=4)
    b.store(_lanes(b, x, y, (1, 0, 5, 4)), c.at(state, 1, 16), align=4)


def _lanes(b: Builder, x: Value, y: Value, order: tuple[int, ...]) -> Value:
    """Lanes of two registers, those of y from 4 on."""
    return b.shuffle_vector(x, y, constant(_FOUR, order))


def _by_x86(b: Builder, name: str, *operands: Value) -> Value:
    return intrinsic(b, f"x86.sha256{name}", operands, overloads=[])


def _big_endian(c: Code, block: Value, k: int) -> Value:
    value = c.builder.load(c.at(block, number(k), 4), typ=i32, align=1)
    return intrinsic(c.builder, "bswap", [value])


def _rotated(b: Builder, x: Value, count: int) -> Value:
    """x with its bits rotated to the right."""
    return intrinsic(b, "fshr", [x, x, constant(i32, count)], overloads=[i32])
