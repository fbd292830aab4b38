"""Kernels of CasADi's convention for external functions: one function, of the entries of its arguments.

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
    """Descriptor k: an array of entries in column-major order."""
    describe(arrays, k, data, word(form, 1), word(form, 0), FLOAT)
    set_word(arrays + k * ARRAY, STRIDES_AT, word(form, 2))


def missing(given: Address, lengths: Address, count: int) -> int:
    """How many elements NULL stands for, of all arguments."""
    total = 0
    for k in range(count):
        if word(lengths, k) > 0 and word(given, k) == 0:
            total += word(lengths, k)
    return total


def evaluate(arg: Address, res: Address, iw: Address, w: Address, mem: Int32) -> Int32:
    """Evaluate; 0, or a status. NULL as an input is zeros, NULL as an output is not wanted."""
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
    """The number of inputs."""
    return word(table(), INPUTS)


def n_out() -> int:
    """The number of outputs."""
    return word(table(), OUTPUTS)


def name_in(k: int) -> Address:
    """The name of an input."""
    return word(word(table(), INPUT_NAMES), k) if 0 <= k < word(table(), INPUTS) else 0


def name_out(k: int) -> Address:
    """The name of an output."""
    return word(word(table(), OUTPUT_NAMES), k) if 0 <= k < word(table(), OUTPUTS) else 0


def sparsity_in(k: int) -> Address:
    """Rows, columns, and the pattern of an input in compressed columns."""
    return word(word(table(), INPUT_SPARSITIES), k) if 0 <= k < word(table(), INPUTS) else 0


def sparsity_out(k: int) -> Address:
    """Rows, columns, and the pattern of an output in compressed columns."""
    return word(word(table(), OUTPUT_SPARSITIES), k) if 0 <= k < word(table(), OUTPUTS) else 0


def work(sz_arg: Address, sz_res: Address, sz_iw: Address, sz_w: Address) -> Int32:
    """Lengths of `arg`, `res`, `iw` and `w`: no memory beside the arguments."""
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
    """A call keeps nothing, so that all memory objects are number 0."""
    return 0


def init_mem(mem: Int32) -> Int32:
    """Nothing to initialise: 0."""
    return 0


def free_mem(mem: Int32) -> None:
    """Nothing to free."""
    return


def checkout() -> Int32:
    """Memory object 0, for any number of threads."""
    return 0


def release_mem(mem: Int32) -> None:
    """Nothing to give back."""
    return


def incref() -> None:
    """Nothing to count."""
    return


def decref() -> None:
    """Nothing to count."""
    return
