"""BridgeStan kernels that construct a model from data, and return its names and sizes.

A model is an array of descriptors of all data values (aotensor_array), then for each the address
of its memory (0: none).
"""

from __future__ import annotations

from typing import Final

from aotensor.codegen.abi.arrays import ARRAY, FLOAT, TRUTH, describe
from aotensor.codegen.abi.bridgestan_table import (
    ALL_NAMES,
    BLAS,
    CONSTRAINED,
    DATA,
    DATA_COUNT,
    INFO,
    LOG_DENSITY,
    NAME,
    NAMES,
    TRANSFORMED,
    UNCONSTRAINED,
    UNCONSTRAINED_NAMES,
    VALUE_DEFAULT,
    VALUE_DTYPE,
    VALUE_EXTENTS,
    VALUE_NAME,
    VALUE_RANK,
    VALUE_SHAPE,
    VALUE_SIZE,
    VALUE_WORDS,
)
from aotensor.codegen.abi.calls import run
from aotensor.codegen.abi.json_reader import (
    NOT_A_NUMBER,
    NOT_AN_INTEGER,
    OTHER_RANK,
    RAGGED,
    document_error,
    measure,
    member,
    store,
)
from aotensor.codegen.abi.language import (
    WORD,
    Address,
    Bool,
    Int32,
    UInt32,
    allocate,
    byte,
    close_file,
    copy,
    length,
    open_file,
    read_file,
    release,
    set_byte,
    set_real,
    set_word,
    stack,
    table,
    text,
    word,
)
from aotensor.codegen.abi.messages import BUFFER, begin, fail, is_same, say, say_number
from aotensor_runtime.abi import Status

OUTPUTS_NEEDED: Final = int(Status.OUTPUTS_NEEDED)


def attach_data(arrays: Address, k: int, model: Address) -> None:
    """Copy the descriptors of the model's data to `arrays`, from number k on."""
    copy(arrays + k * ARRAY, model, word(table(), DATA_COUNT) * ARRAY)


def record_of(records: Address, k: int) -> int:
    """The address of record number k."""
    return records + k * VALUE_WORDS * WORD


def say_wrong(buffer: Address, what: Address, record: Address, wrong: int) -> None:
    """Append a message to the buffer: the value that is wrong, and the reason, by the error code of the JSON reader."""
    say(buffer, what)
    say(buffer, text(": "))
    say(buffer, word(record, VALUE_NAME))
    if wrong == RAGGED:
        say(buffer, text(": rows of different lengths"))
    elif wrong == OTHER_RANK:
        say(buffer, text(": expected an array of rank "))
        say_number(buffer, word(record, VALUE_RANK))
    elif wrong == NOT_A_NUMBER:
        say(buffer, text(": expected numbers"))
    elif wrong == NOT_AN_INTEGER:
        say(buffer, text(": expected integers"))
    else:
        say(buffer, text(": a number is out of range"))


def is_document(source: Address, what: Address, buffer: Address) -> bool:
    """Return whether a text is a JSON object; otherwise append the position of the error to the buffer."""
    at = document_error(source)
    if at < 0:
        return True
    say(buffer, what)
    say(buffer, text(": not a JSON object: unexpected "))
    say(buffer, text("end of text") if byte(source, at) == 0 else text("character"))
    say(buffer, text(" at byte "))
    say_number(buffer, at)
    return False


def measured(source: Address, i: int, record: Address, shape: Address, what: Address, buffer: Address) -> bool:
    """Store the extents of the value at position i; return false, with a message, if they do not fit the record."""
    rank = word(record, VALUE_RANK)
    for axis in range(rank):
        set_word(shape, axis, -1)
    wrong = measure(source, i, 0, rank, shape)
    if wrong != 0:
        say_wrong(buffer, what, record, wrong)
        return False
    for axis in range(rank):
        expected = word(word(record, VALUE_EXTENTS), axis)
        if word(shape, axis) < 0:
            set_word(shape, axis, expected if expected > 0 else 0)
        if expected >= 0 and word(shape, axis) != expected:
            say(buffer, what)
            say(buffer, text(": "))
            say(buffer, word(record, VALUE_NAME))
            say(buffer, text(": extent "))
            say_number(buffer, axis)
            say(buffer, text(" is "))
            say_number(buffer, word(shape, axis))
            say(buffer, text(", expected "))
            say_number(buffer, expected)
            return False
    return True


def read_data(model: Address, source: Address, k: int, buffer: Address) -> bool:
    """Read data value k from a JSON text, or use its default; return false, with a message, if there is neither."""
    record = record_of(word(table(), DATA), k)
    rank = word(record, VALUE_RANK)
    i = -1
    if source != 0:
        i = member(source, word(record, VALUE_NAME))
    if i < 0:
        if word(record, VALUE_DEFAULT) == 0:
            say(buffer, text("data: "))
            say(buffer, word(record, VALUE_NAME))
            say(buffer, text(" is missing"))
            return False
        describe(model, k, word(record, VALUE_DEFAULT), word(record, VALUE_SHAPE), rank, word(record, VALUE_DTYPE))
        return True
    shape = stack(WORD * rank)
    if not measured(source, i, record, shape, text("data"), buffer):
        return False
    count = 1
    for axis in range(rank):
        count = count * word(shape, axis)
    memory = allocate(WORD * (2 * rank + 2) + count * word(record, VALUE_SIZE))
    if memory == 0:
        say(buffer, text("no memory left for data"))
        return False
    set_word(model + word(table(), DATA_COUNT) * ARRAY, k, memory)
    strides = memory + WORD * rank
    data = (strides + WORD * rank + 15) // 16 * 16
    step = 1
    for back in range(rank):
        axis = rank - 1 - back
        set_word(memory, axis, word(shape, axis))
        set_word(strides, axis, step)
        step = step * word(shape, axis)
    describe(model, k, data, memory, rank, word(record, VALUE_DTYPE))
    wrong = store(source, i, 0, rank, word(record, VALUE_DTYPE), data, 0, strides)
    if wrong != 0:
        say_wrong(buffer, text("data"), record, wrong)
    return wrong == 0


def is_consistent(model: Address, buffer: Address) -> bool:
    """Return whether the extents of all data fit together; tested by a call that returns before it computes."""
    count = word(table(), UNCONSTRAINED)
    point = allocate(WORD * (count + 1))
    if point == 0:
        say(buffer, text("no memory left for a point"))
        return False
    for k in range(count):
        set_real(point, k, 0.0)
    shape = stack(WORD)
    set_word(shape, 0, count)
    jacobian = stack(1)
    set_byte(jacobian, 0, 1)
    inputs = stack((2 + word(table(), DATA_COUNT)) * ARRAY)
    outputs = stack(ARRAY)
    describe(inputs, 0, point, shape, 1, FLOAT)
    describe(inputs, 1, jacobian, 0, 0, TRUTH)
    attach_data(inputs, 2, model)
    describe(outputs, 0, 0, 0, 0, FLOAT)
    messages = stack(BUFFER)
    begin(messages)
    status = run(word(table(), LOG_DENSITY), table() + WORD * BLAS, inputs, outputs, messages)
    release(point)
    if status != OUTPUTS_NEEDED:
        say(buffer, text("data: "))
        set_byte(messages + WORD, word(messages, 0), 0)
        say(buffer, messages + WORD)
        return False
    return True


def read_whole_file(path: Address, buffer: Address) -> int:
    """Read a file into newly allocated memory; return 0, with a message in the buffer, if that fails."""
    file = open_file(path, text("rb"))
    if file == 0:
        say(buffer, text("cannot read the file "))
        say(buffer, path)
        return 0
    room = 65536
    memory = allocate(room + 1)
    used = 0
    while memory != 0:
        got = read_file(memory + used, 1, room - used, file)
        if got <= 0:
            break
        used += got
        if used == room:
            larger = allocate(room * 2 + 1)
            if larger != 0:
                copy(larger, memory, used)
            release(memory)
            memory = larger
            room = room * 2
    close_file(file)
    if memory == 0:
        say(buffer, text("no memory left for data"))
        return 0
    set_byte(memory, used, 0)
    return memory


def is_path(data: Address) -> bool:
    """Does a text end with ".json", so that it is the path of a file?"""
    size = length(data)
    if size < 5:
        return False
    return is_same(data + size - 5, text(".json"))


def read_all(model: Address, data: Address, buffer: Address) -> bool:
    """Read all data from a JSON text, a file, or defaults; return false, with a message, if that fails."""
    source = data
    if data != 0 and byte(data, 0) == 0:
        source = 0
    own = 0
    if source != 0 and is_path(source):
        own = read_whole_file(source, buffer)
        if own == 0:
            return False
        source = own
    fits = True
    if source != 0:
        fits = is_document(source, text("data"), buffer)
    k = 0
    while fits and k < word(table(), DATA_COUNT):
        fits = read_data(model, source, k, buffer)
        k += 1
    if own != 0:
        release(own)
    if fits and word(table(), DATA_COUNT) > 0:
        return is_consistent(model, buffer)
    return fits


def bs_model_construct(data: Address, seed: UInt32, error: Address) -> Address:
    """Construct a model from data; return 0 and a message if the data do not fit."""
    buffer = stack(BUFFER)
    begin(buffer)
    say(buffer, text("construct: "))
    count = word(table(), DATA_COUNT)
    model = allocate(count * (ARRAY + WORD) + WORD)
    if model == 0:
        say(buffer, text("no memory left"))
        fail(error, buffer)
        return 0
    for k in range(count):
        set_word(model + count * ARRAY, k, 0)
    if read_all(model, data, buffer):
        return model
    fail(error, buffer)
    bs_model_destruct(model)
    return 0


def bs_model_destruct(model: Address) -> None:
    """Free a model and its data."""
    if model == 0:
        return
    count = word(table(), DATA_COUNT)
    for k in range(count):
        release(word(model + count * ARRAY, k))
    release(model)


def bs_free_error_msg(error: Address) -> None:
    """Free an error message."""
    release(error)


def bs_name(model: Address) -> Address:
    """Return the name of the model."""
    return word(table(), NAME)


def bs_model_info(model: Address) -> Address:
    """Return a text about the compilation of the model."""
    return word(table(), INFO)


def bs_param_names(model: Address, include_tp: Bool, include_gq: Bool) -> Address:
    """Return the names of the constrained parameters, and of the transformed ones if requested."""
    return word(table(), ALL_NAMES) if include_tp != 0 else word(table(), NAMES)


def bs_param_unc_names(model: Address) -> Address:
    """Return the names of the unconstrained parameters."""
    return word(table(), UNCONSTRAINED_NAMES)


def bs_param_num(model: Address, include_tp: Bool, include_gq: Bool) -> Int32:
    """Return the number of values that `bs_param_constrain` writes."""
    return word(table(), CONSTRAINED) + (word(table(), TRANSFORMED) if include_tp != 0 else 0)


def bs_param_unc_num(model: Address) -> Int32:
    """Return the length of the unconstrained vector."""
    return word(table(), UNCONSTRAINED)
