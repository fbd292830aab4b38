"""Kernels that accept weights from the caller's memory, and check them: on every system."""

from __future__ import annotations

from typing import Final

from aotensor.codegen.abi.language import (
    WORD,
    Address,
    Int32,
    copy,
    int32,
    set_byte,
    set_word,
    shift_right,
    stack,
    table,
    text,
    word,
)
from aotensor.codegen.abi.messages import BUFFER, begin, say, say_number
from aotensor.codegen.weights.language import compress, load_shared, publish
from aotensor_runtime.abi import WEIGHTS_CHECKED, Context, Status
from aotensor_runtime.weights.spec import WEIGHTS_ALIGNMENT

BASE: Final = 0
START: Final = 1
SIZE: Final = 2
DIGEST: Final = 3
INITIAL: Final = 4
LIBRARY: Final = 5
FILE: Final = 6
EXPECTATION: Final = 7
ENTRY: Final = 8
READING: Final = 9
VISIT: Final = 10
"""Words of the table: address of the word that holds the address of the data, 0 until they are there; start of the
data in the file; size of the file; its SHA-256 and the initial state of one; texts: the library, the name of the file,
what is expected of it, the entry that accepts it; the flags of `open`; the kernel for `dl_iterate_phdr`."""

CONTEXT_SIZE: Final = Context.struct_size.offset // WORD
MESSAGE: Final = Context.message.offset // WORD
MESSAGE_SIZE: Final = Context.message_size.offset // WORD
NULL_POINTER: Final = int(Status.NULL_POINTER)
NO_WEIGHTS: Final = int(Status.NO_WEIGHTS)
WRONG_WEIGHTS: Final = int(Status.WRONG_WEIGHTS)
CHECKED: Final = WEIGHTS_CHECKED
ALIGNMENT: Final = WEIGHTS_ALIGNMENT
BLOCK: Final = 64


def set_weights(context: Address, data: Address, size: int, flags: Int32) -> Int32:
    """Use weights in the caller's memory: the content of the file.   flags: CHECKED if the caller knows the digest"""
    if are_there():
        return 0
    buffer = stack(BUFFER)
    begin_message(buffer)
    if data == 0:
        say(buffer, text("data is NULL, expected "))
        return refuse(context, buffer, NULL_POINTER)
    if size != word(table(), SIZE):
        say(buffer, text("data have "))
        say_number(buffer, size)
        say(buffer, text(" bytes, expected "))
        return refuse(context, buffer, WRONG_WEIGHTS)
    if data % ALIGNMENT != 0:
        say(buffer, text("data are not at a multiple of 64 bytes, expected "))
        return refuse(context, buffer, WRONG_WEIGHTS)
    if flags & CHECKED == 0 and not is_expected(data, size):
        say(buffer, text("data have another digest, expected "))
        return refuse(context, buffer, WRONG_WEIGHTS)
    publish(word(table(), BASE), data + word(table(), START))
    return 0


def are_there() -> bool:
    """Are the weights in memory?"""
    return load_shared(word(table(), BASE)) != 0


def is_expected(data: Address, size: int) -> bool:
    """Is the SHA-256 of a file's content the expected one?"""
    state = stack(32)
    copy(state, word(table(), INITIAL), 32)
    whole = size // BLOCK
    compress(state, data, whole)
    tail = stack(128)
    for k in range(16):
        set_word(tail, k, 0)
    rest = size - BLOCK * whole
    copy(tail, data + BLOCK * whole, rest)
    set_byte(tail, rest, 128)
    count = 1
    if rest >= 56:
        count = 2
    for k in range(8):
        set_byte(tail, BLOCK * count - 1 - k, shift_right(8 * size, 8 * k))
    compress(state, tail, count)
    difference = 0
    for k in range(8):
        difference = difference | (int32(state, k) ^ int32(word(table(), DIGEST), k))
    return difference == 0


def begin_message(buffer: Address) -> None:
    """Begin a message with the name of the library."""
    begin(buffer)
    say(buffer, word(table(), LIBRARY))
    say(buffer, text(": weights: "))


def refuse(context: Address, buffer: Address, status: int) -> int:
    """End a message with the expectation, and return the status."""
    say(buffer, word(table(), EXPECTATION))
    return answer(context, buffer, status)


def answer(context: Address, buffer: Address, status: int) -> int:
    """Copy a message to the context, if it has room for one, and return the status."""
    if context == 0 or word(context, CONTEXT_SIZE) == 0:
        return status
    target = word(context, MESSAGE)
    room = word(context, MESSAGE_SIZE) - 1
    if target == 0 or room < 0:
        return status
    used = word(buffer, 0)
    if used > room:
        used = room
    copy(target, buffer + WORD, used)
    set_byte(target, used, 0)
    return status
