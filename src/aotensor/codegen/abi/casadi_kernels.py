"""Kernels of CasADi's interface for external functions, for one function of its arguments' entries.

    table: numbers of inputs and outputs; addresses of their names and sparsities; the uniform entry; lengths of inputs
    and outputs; their ranks, shapes and strides; an aotensor_blas

Source: "Generating C code" and `casadi/core/external.hpp` of CasADi 3.
"""

from __future__ import annotations

from typing import Final

from aotensor.codegen.abi.arrays import ARRAY, CONTEXT, FLOAT, MESSAGE_BYTES, STRIDES_AT, begin_context, describe
from aotensor.codegen.abi.language import (
    WORD,
    Address,
    Int32,
    allocate,
    invoke,
    release,
    set_real,
    set_word,
    stack,
    table,
    word,
)

INPUTS: Final = 0
OUTPUTS: Final = 1
INPUT_NAMES: Final = 2
OUTPUT_NAMES: Final = 3
INPUT_SPARSITIES: Final = 4
OUTPUT_SPARSITIES: Final = 5
ENTRY: Final = 6
INPUT_LENGTHS: Final = 7
OUTPUT_LENGTHS: Final = 8
INPUT_FORMS: Final = 9
OUTPUT_FORMS: Final = 10
BLAS: Final = 11
"""Words of the table. A length of -1 is that of an argument without entries, which our entry does not have. The form of
an array is three words: rank, address of the shape, address of the strides."""


def describe_entries(arrays: Address, k: int, data: Address, form: Address) -> None:
    """Fill descriptor k of `arrays` for entries in column-major order. form: its rank, shape and strides."""
    describe(arrays, k, data, word(form, 1), word(form, 0), FLOAT)
    set_word(arrays + k * ARRAY, STRIDES_AT, word(form, 2))


def missing(given: Address, lengths: Address, count: int) -> int:
    """The total number of elements of all arguments that are NULL, which count as zeros."""
    total = 0
    for k in range(count):
        if word(lengths, k) > 0 and word(given, k) == 0:
            total += word(lengths, k)
    return total


def evaluate(arg: Address, res: Address, iw: Address, w: Address, mem: Int32) -> Int32:
    """Evaluate the function; return 0 or a status. A NULL input counts as zeros; a NULL output is not wanted."""
    n = word(table(), INPUTS)
    m = word(table(), OUTPUTS)
    if (arg == 0 and n > 0) or (res == 0 and m > 0):
        return 1
    in_lengths = word(table(), INPUT_LENGTHS)
    out_lengths = word(table(), OUTPUT_LENGTHS)
    size = missing(arg, in_lengths, n) + missing(res, out_lengths, m)
    room = table()  # an address for arrays without elements
    if size > 0:
        room = allocate(WORD * size)
        if room == 0:
            return 1
    for k in range(size):
        set_real(room, k, 0.0)
    inputs = stack(ARRAY * (n + 1))
    outputs = stack(ARRAY * (m + 1))
    used = 0
    passed = 0
    for k in range(n):
        if word(in_lengths, k) >= 0:
            data = word(arg, k)
            if data == 0:
                data = room + WORD * used
                used += word(in_lengths, k)
            describe_entries(inputs, passed, data, word(table(), INPUT_FORMS) + 3 * WORD * k)
            passed += 1
    passed = 0
    for k in range(m):
        if word(out_lengths, k) >= 0:
            data = word(res, k)
            if data == 0:
                data = room + WORD * used
                used += word(out_lengths, k)
            describe_entries(outputs, passed, data, word(table(), OUTPUT_FORMS) + 3 * WORD * k)
            passed += 1
    context = stack(CONTEXT)
    begin_context(context, table() + WORD * BLAS, stack(MESSAGE_BYTES))
    status = invoke(word(table(), ENTRY), context, inputs, outputs)
    if size > 0:
        release(room)
    return status


def n_in() -> int:
    """Return the number of inputs."""
    return word(table(), INPUTS)


def n_out() -> int:
    """Return the number of outputs."""
    return word(table(), OUTPUTS)


def name_in(k: int) -> Address:
    """Return the name of an input."""
    return word(word(table(), INPUT_NAMES), k) if 0 <= k < word(table(), INPUTS) else 0


def name_out(k: int) -> Address:
    """Return the name of an output."""
    return word(word(table(), OUTPUT_NAMES), k) if 0 <= k < word(table(), OUTPUTS) else 0


def sparsity_in(k: int) -> Address:
    """Return the sparsity of an input: rows, columns, and the pattern in compressed columns."""
    return word(word(table(), INPUT_SPARSITIES), k) if 0 <= k < word(table(), INPUTS) else 0


def sparsity_out(k: int) -> Address:
    """Return the sparsity of an output: rows, columns, and the pattern in compressed columns."""
    return word(word(table(), OUTPUT_SPARSITIES), k) if 0 <= k < word(table(), OUTPUTS) else 0


def work(sz_arg: Address, sz_res: Address, sz_iw: Address, sz_w: Address) -> Int32:
    """Store the lengths of `arg`, `res`, `iw` and `w`: no memory besides the arguments is needed."""
    if sz_arg != 0:
        set_word(sz_arg, 0, word(table(), INPUTS))
    if sz_res != 0:
        set_word(sz_res, 0, word(table(), OUTPUTS))
    if sz_iw != 0:
        set_word(sz_iw, 0, 0)
    if sz_w != 0:
        set_word(sz_w, 0, 0)
    return 0


def alloc_mem() -> Int32:
    """Return memory object 0: calls have no state, so all memory objects are the same."""
    return 0


def init_mem(mem: Int32) -> Int32:
    """Initialize a memory object: does nothing, and returns 0."""
    return 0


def free_mem(mem: Int32) -> None:
    """Free a memory object: does nothing."""
    return


def checkout() -> Int32:
    """Return memory object 0, which any number of threads may use."""
    return 0


def release_mem(mem: Int32) -> None:
    """Release a memory object: does nothing."""
    return


def incref() -> None:
    """Increment the reference count: does nothing."""
    return


def decref() -> None:
    """Decrement the reference count: does nothing."""
    return
