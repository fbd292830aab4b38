"""Kernels that read arrays out of a JSON text, strictly, and without a tree.

`document_error` validates the text once; the other kernels rely on this: `member` finds a value by its name, `measure`
its extents, and `store` writes its elements. Numbers may be NaN, Infinity and -Infinity, also in quotes, as
CmdStan writes them.

Source: RFC 8259; "JSON Format for CmdStan", CmdStan User's Guide.
"""

from __future__ import annotations

from typing import Final

from aotensor.codegen.abi.language import (
    Address,
    byte,
    set_byte,
    set_int32,
    set_real,
    set_single,
    set_word,
    stack,
    text,
    to_integer,
    to_real,
    word,
)
from aotensor_runtime.abi import DTYPE_CODES

DEEPEST: Final = 100
"""Arrays and objects within each other."""
RAGGED: Final = 1
OTHER_RANK: Final = 2
NOT_A_NUMBER: Final = 3
NOT_AN_INTEGER: Final = 4
OUT_OF_RANGE: Final = 5
"""What can be wrong with a value; 0 is nothing."""

FLOAT64: Final = DTYPE_CODES["float64"]
FLOAT32: Final = DTYPE_CODES["float32"]
INT64: Final = DTYPE_CODES["int64"]
INT32: Final = DTYPE_CODES["int32"]
BOOL: Final = DTYPE_CODES["bool"]


def skip_space(source: Address, i: int) -> int:
    """The position of the next byte that is not white space."""
    while byte(source, i) in (32, 9, 10, 13):
        i += 1
    return i


def is_digit(c: int) -> bool:
    """Is a byte a digit, 0 to 9?"""
    return 48 <= c <= 57


def is_hexadecimal(c: int) -> bool:
    """Is a byte a hexadecimal digit: 0 to 9, a to f, A to F?"""
    return is_digit(c) or 97 <= c <= 102 or 65 <= c <= 70


def skip_string(source: Address, i: int) -> int:
    """The position after the string that begins at i; -1 - position of the error in an invalid one."""
    i += 1
    while byte(source, i) != 34:
        if byte(source, i) < 32:
            return -1 - i
        if byte(source, i) == 92:
            i += 1
            c = byte(source, i)
            if c == 117:
                for k in range(1, 5):
                    if not is_hexadecimal(byte(source, i + k)):
                        return -1 - i
                i += 4
            elif c not in (34, 92, 47, 98, 102, 110, 114, 116):
                return -1 - i
        i += 1
    return i + 1


def skip_word(source: Address, i: int, expected: Address) -> int:
    """The position after the word `expected` at i; -1 - i if there is another text."""
    k = 0
    while byte(expected, k) != 0:
        if byte(source, i + k) != byte(expected, k):
            return -1 - i
        k += 1
    return i + k


def skip_number(source: Address, i: int) -> int:
    """The position after the number that begins at i; -1 - position of the error in an invalid one."""
    if byte(source, i) == 45:
        i += 1
    if byte(source, i) == 73:
        return skip_word(source, i, text("Infinity"))
    if not is_digit(byte(source, i)):
        return -1 - i
    if byte(source, i) == 48 and is_digit(byte(source, i + 1)):
        return -1 - i
    while is_digit(byte(source, i)):
        i += 1
    if byte(source, i) == 46:
        i += 1
        if not is_digit(byte(source, i)):
            return -1 - i
        while is_digit(byte(source, i)):
            i += 1
    if byte(source, i) == 101 or byte(source, i) == 69:
        i += 1
        if byte(source, i) == 43 or byte(source, i) == 45:
            i += 1
        if not is_digit(byte(source, i)):
            return -1 - i
        while is_digit(byte(source, i)):
            i += 1
    return i


def skip_value(source: Address, i: int, depth: int) -> int:
    """The position after the value that begins at i; -1 - position of the error in an invalid one."""
    c = byte(source, i)
    if c == 34:
        return skip_string(source, i)
    if c == 110:
        return skip_word(source, i, text("null"))
    if c == 116:
        return skip_word(source, i, text("true"))
    if c == 102:
        return skip_word(source, i, text("false"))
    if c == 78:
        return skip_word(source, i, text("NaN"))
    if c != 91 and c != 123:
        return skip_number(source, i)
    if depth == DEEPEST:
        return -1 - i
    end = c + 2
    i = skip_space(source, i + 1)
    if byte(source, i) == end:
        return i + 1
    while True:
        if c == 123:
            if byte(source, i) != 34:
                return -1 - i
            i = skip_string(source, i)
            if i < 0:
                return i
            i = skip_space(source, i)
            if byte(source, i) != 58:
                return -1 - i
            i = skip_space(source, i + 1)
        i = skip_value(source, i, depth + 1)
        if i < 0:
            return i
        i = skip_space(source, i)
        if byte(source, i) == end:
            return i + 1
        if byte(source, i) != 44:
            return -1 - i
        i = skip_space(source, i + 1)
    return i


def document_error(source: Address) -> int:
    """The position of the first error in a text that should be one JSON object; -1 if it is valid."""
    i = skip_space(source, 0)
    if byte(source, i) != 123:
        return i
    i = skip_value(source, i, 0)
    if i < 0:
        return -1 - i
    i = skip_space(source, i)
    return i if byte(source, i) != 0 else -1


def hexadecimal(source: Address, i: int) -> int:
    """The value of the four hexadecimal digits at position i."""
    found = 0
    for k in range(4):
        c = byte(source, i + k)
        found = found * 16 + (c - 48 if c <= 57 else (c & 7) + 9)
    return found


def write_character(target: Address, i: int, c: int) -> int:
    """Store a character as UTF-8 at position i; return the position after it."""
    if c < 128:
        set_byte(target, i, c)
        return i + 1
    if c < 2048:
        set_byte(target, i, 192 | (c // 64))
        set_byte(target, i + 1, 128 | (c & 63))
        return i + 2
    if c < 65536:
        set_byte(target, i, 224 | (c // 4096))
        set_byte(target, i + 1, 128 | ((c // 64) & 63))
        set_byte(target, i + 2, 128 | (c & 63))
        return i + 3
    set_byte(target, i, 240 | (c // 262144))
    set_byte(target, i + 1, 128 | ((c // 4096) & 63))
    set_byte(target, i + 2, 128 | ((c // 64) & 63))
    set_byte(target, i + 3, 128 | (c & 63))
    return i + 4


def is_name(source: Address, i: int, name: Address) -> bool:
    """Is the string at i, with its escapes decoded, equal to a name?"""
    piece = stack(8)
    k = 0
    i += 1
    while byte(source, i) != 34:
        count = 1
        if byte(source, i) == 92:
            i += 1
            c = byte(source, i)
            if c == 117:
                c = hexadecimal(source, i + 1)
                i += 4
                if 55296 <= c < 56320 and byte(source, i + 1) == 92 and byte(source, i + 2) == 117:
                    c = 65536 + (c - 55296) * 1024 + hexadecimal(source, i + 3) - 56320
                    i += 6
            elif c == 98:
                c = 8
            elif c == 102:
                c = 12
            elif c == 110:
                c = 10
            elif c == 114:
                c = 13
            elif c == 116:
                c = 9
            count = write_character(piece, 0, c)
        else:
            set_byte(piece, 0, byte(source, i))
        for j in range(count):
            if byte(name, k) != byte(piece, j):
                return False
            k += 1
        i += 1
    return byte(name, k) == 0


def member(source: Address, name: Address) -> int:
    """The position of the value of the last member with this name in the document; -1 if there is none."""
    found = -1
    i = skip_space(source, skip_space(source, 0) + 1)
    while byte(source, i) != 125:
        key = i
        i = skip_space(source, skip_space(source, skip_string(source, i)) + 1)
        if is_name(source, key, name):
            found = i
        i = skip_space(source, skip_value(source, i, 0))
        if byte(source, i) == 44:
            i = skip_space(source, i + 1)
    return found


def measure(source: Address, i: int, axis: int, rank: int, shape: Address) -> int:
    """Store the extents of the array at i in `shape`, where -1 stands for unknown ones; return 0 or an error code."""
    if axis == rank:
        return OTHER_RANK if byte(source, i) == 91 or byte(source, i) == 123 else 0
    if byte(source, i) != 91:
        return OTHER_RANK
    count = 0
    i = skip_space(source, i + 1)
    while byte(source, i) != 93:
        wrong = measure(source, i, axis + 1, rank, shape)
        if wrong != 0:
            return wrong
        count += 1
        i = skip_space(source, skip_value(source, i, 0))
        if byte(source, i) == 44:
            i = skip_space(source, i + 1)
    if word(shape, axis) >= 0 and word(shape, axis) != count:
        return RAGGED
    set_word(shape, axis, count)
    return 0


def store_element(source: Address, i: int, dtype: int, target: Address, index: int) -> int:
    """Store the number at i as element `index` of `target`; return 0 or an error code."""
    c = byte(source, i)
    end = skip_value(source, i, 0)
    if c == 116 or c == 102:
        if dtype != BOOL:
            return NOT_A_NUMBER
        set_byte(target, index, 1 if c == 116 else 0)
        return 0
    if dtype in (FLOAT64, FLOAT32):
        if c == 34:
            i += 1
            end -= 1
            c = byte(source, i)
            if c == 45 or c == 43:
                c = byte(source, i + 1)
            if c not in (78, 110, 73, 105):
                return NOT_A_NUMBER
        elif c == 110:
            return NOT_A_NUMBER
        stop = stack(8)
        value = to_real(source + i, stop)
        if word(stop, 0) != source + end:
            return NOT_A_NUMBER
        if is_digit(byte(source, end - 1)) and value - value != 0.0:
            return OUT_OF_RANGE
        if dtype == FLOAT64:
            set_real(target, index, value)
        else:
            set_single(target, index, value)
        return 0
    if not (c == 45 or is_digit(c)):
        return NOT_A_NUMBER
    for k in range(i, end):
        if not (is_digit(byte(source, k)) or byte(source, k) == 45):
            return NOT_AN_INTEGER
    if end - i > 18:
        return OUT_OF_RANGE
    whole = to_integer(source + i, 0, 10)
    if dtype == INT64:
        set_word(target, index, whole)
    elif dtype == INT32:
        if whole < -2147483648 or whole > 2147483647:
            return OUT_OF_RANGE
        set_int32(target, index, whole)
    else:
        if whole != 0 and whole != 1:
            return OUT_OF_RANGE
        set_byte(target, index, whole)
    return 0


def store(
    source: Address, i: int, axis: int, rank: int, dtype: int, target: Address, index: int, strides: Address
) -> int:
    """Store the elements of the array at i from element `index` of `target` on; return 0 or an error code.

    strides: strides of `target`, in elements. `measure` must have accepted the array.
    """
    if axis == rank:
        return store_element(source, i, dtype, target, index)
    i = skip_space(source, i + 1)
    while byte(source, i) != 93:
        wrong = store(source, i, axis + 1, rank, dtype, target, index, strides)
        if wrong != 0:
            return wrong
        index += word(strides, axis)
        i = skip_space(source, skip_value(source, i, 0))
        if byte(source, i) == 44:
            i = skip_space(source, i + 1)
    return 0
