"""Kernels that write error messages: they append texts to a buffer, and copy it to memory that the caller frees.

A buffer is a word, the number of bytes used, and `ROOM` bytes of text. Longer texts are truncated.
"""

from __future__ import annotations

from typing import Final

from aotensor.codegen.abi.language import (
    WORD,
    Address,
    allocate,
    byte,
    copy,
    length,
    set_byte,
    set_word,
    word,
)

ROOM: Final = 1000
BUFFER: Final = 1016
"""Bytes of a buffer."""


def begin(buffer: Address) -> None:
    """Make a buffer empty."""
    set_word(buffer, 0, 0)


def say_bytes(buffer: Address, source: Address, count: int) -> None:
    """Append `count` bytes to a buffer."""
    used = word(buffer, 0)
    size = count if count < ROOM - used else ROOM - used
    copy(buffer + WORD + used, source, size)
    set_word(buffer, 0, used + size)


def say(buffer: Address, source: Address) -> None:
    """Append a NUL-terminated text to a buffer."""
    say_bytes(buffer, source, length(source))


def say_number(buffer: Address, value: int) -> None:
    """Append an integer to a buffer, in decimal."""
    used = word(buffer, 0)
    if used + 20 > ROOM:
        return
    if value < 0:
        set_byte(buffer + WORD, used, 45)
        used += 1
        value = -value
    digits = 1
    rest = value
    while rest > 9:
        rest = rest // 10
        digits += 1
    for k in range(digits):
        set_byte(buffer + WORD, used + digits - 1 - k, 48 + value % 10)
        value = value // 10
    set_word(buffer, 0, used + digits)


def fail(error: Address, buffer: Address) -> None:
    """Copy the text of a buffer to new memory and store its address at `char **error`; NULL without memory."""
    if error == 0:
        return
    used = word(buffer, 0)
    memory = allocate(used + 1)
    if memory != 0:
        copy(memory, buffer + WORD, used)
        set_byte(memory, used, 0)
    set_word(error, 0, memory)


def say_part(buffer: Address, names: Address, k: int) -> None:
    """Append part number k of a comma-separated text to a buffer."""
    i = 0
    while k > 0 and byte(names, i) != 0:
        if byte(names, i) == 44:
            k -= 1
        i += 1
    start = i
    while byte(names, i) != 44 and byte(names, i) != 0:
        i += 1
    say_bytes(buffer, names + start, i - start)


def is_same(a: Address, b: Address) -> bool:
    """Are two texts equal?"""
    i = 0
    while byte(a, i) == byte(b, i):
        if byte(a, i) == 0:
            return True
        i += 1
    return False
