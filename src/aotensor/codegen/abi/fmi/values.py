"""Kernels of FMI 3.0 that read and write variables, and compute outputs and derivatives when they are read.

A variable is a value reference: 0 is the time, then inputs, then outputs. Arrays are row-major, as FMI wants them.
"""

from __future__ import annotations

from typing import Final

from aotensor.codegen.abi.arrays import ARRAY, FLOAT, TRUTH, describe
from aotensor.codegen.abi.calls import run
from aotensor.codegen.abi.fmi.instance import (
    ADJOINT,
    BLAS,
    DISCARD,
    ENTRY,
    ENVIRONMENT,
    ERROR,
    FORWARD,
    INPUTS,
    IS_CURRENT,
    LOG,
    OK,
    OUTPUTS,
    RECORDS,
    TIME,
    log,
    refuse,
)
from aotensor.codegen.abi.language import (
    WORD,
    Address,
    Int32,
    byte,
    copy,
    int32,
    real,
    set_byte,
    set_real,
    set_word,
    stack,
    table,
    text,
    word,
)
from aotensor.codegen.abi.messages import BUFFER, begin, say, say_number
from aotensor_runtime.abi import Status

NAME: Final = 0
DTYPE: Final = 1
SIZE: Final = 2
COUNT: Final = 3
PLACE: Final = 4
RANK: Final = 5
SHAPE: Final = 6
SLOT: Final = 7
RECORD: Final = 8
"""Words of a variable's record: name, dtype, bytes of an element, elements, where they are in an instance, rank,
extents, and where its seeds or sensitivities are, 0 if it has none."""

CHECK: Final = int(Status.CHECK)


def field(k: int, which: int) -> int:
    """Read word number `which` of the record of variable k."""
    return word(word(table(), RECORDS), (k - 1) * RECORD + which)


def is_input(k: int) -> bool:
    """Is k the value reference of an input?"""
    return 1 <= k <= word(table(), INPUTS)


def is_output(k: int) -> bool:
    """Is k the value reference of an output?"""
    return word(table(), INPUTS) < k <= word(table(), INPUTS) + word(table(), OUTPUTS)


def count_of(k: int) -> int:
    """The number of elements of variable k."""
    return 1 if k == 0 else field(k, COUNT)


def complain(instance: Address, call: Address, k: int, reason: Address) -> int:
    """Log what is wrong with variable k, and return fmi3Error."""
    buffer = stack(BUFFER)
    begin(buffer)
    say(buffer, call)
    say(buffer, text(": variable "))
    say_number(buffer, k)
    if is_input(k) or is_output(k):
        say(buffer, text(" ("))
        say(buffer, field(k, NAME))
        say(buffer, text(")"))
    say(buffer, reason)
    log(word(instance, LOG), word(instance, ENVIRONMENT), ERROR, buffer)
    return ERROR


def describe_values(arrays: Address, instance: Address, first: int, count: int) -> None:
    """Fill descriptors for the values of `count` variables, from variable `first` on."""
    for k in range(count):
        v = first + k
        describe(arrays, k, instance + field(v, PLACE), field(v, SHAPE), field(v, RANK), field(v, DTYPE))


def describe_slots(arrays: Address, instance: Address, first: int, count: int) -> int:
    """Fill descriptors for the seeds or sensitivities of continuous variables in a range; return their number."""
    used = 0
    for k in range(count):
        v = first + k
        if field(v, SLOT) != 0:
            describe(arrays, used, instance + field(v, SLOT), field(v, SHAPE), field(v, RANK), FLOAT)
            used += 1
    return used


def computed(instance: Address, entry: Address, inputs: Address, outputs: Address) -> int:
    """Call an entry: fmi3OK, fmi3Discard where a check of the model fails, else fmi3Error."""
    buffer = stack(BUFFER)
    begin(buffer)
    status = run(entry, table() + WORD * BLAS, inputs, outputs, buffer)
    if status == 0:
        return OK
    result = DISCARD if status >= CHECK else ERROR
    log(word(instance, LOG), word(instance, ENVIRONMENT), result, buffer)
    return result


def update(instance: Address) -> int:
    """Compute the outputs if inputs have changed since the last time."""
    if word(instance, IS_CURRENT) != 0:
        return OK
    n = word(table(), INPUTS)
    m = word(table(), OUTPUTS)
    inputs = stack(ARRAY * (n + 1))
    outputs = stack(ARRAY * (m + 1))
    describe_values(inputs, instance, 1, n)
    describe_values(outputs, instance, n + 1, m)
    status = computed(instance, word(table(), ENTRY), inputs, outputs)
    if status == OK:
        set_word(instance, IS_CURRENT, 1)
    return status


def has_arrays(references: Address, count: int, data: Address, size: int) -> bool:
    """Are the arrays of a call there, as long as they have elements?"""
    return (references != 0 or count == 0) and (data != 0 or size == 0)


def ended(instance: Address, call: Address, used: int, size: int) -> int:
    """fmi3OK if the variables of a call have as many elements as its array."""
    if used != size:
        return refuse(instance, call, text("more values than the variables have"))
    return OK


def get_values(
    instance: Address, call: Address, references: Address, count: int, values: Address, size: int, dtype: int
) -> int:
    """Copy the elements of variables of one dtype to `values`."""
    if instance == 0:
        return ERROR
    if not has_arrays(references, count, values, size):
        return refuse(instance, call, text("a pointer is NULL"))
    used = 0
    for i in range(count):
        k = int32(references, i)
        if k != 0 and not is_input(k) and not is_output(k):
            return complain(instance, call, k, text(" does not exist"))
        if dtype != (FLOAT if k == 0 else field(k, DTYPE)):
            return complain(instance, call, k, text(" has another type"))
        if used + count_of(k) > size:
            return complain(instance, call, k, text(" needs more values than there are"))
        if k == 0:
            set_real(values, used, real(instance, TIME))
        else:
            if is_output(k):
                status = update(instance)
                if status != OK:
                    return status
            bytes = field(k, SIZE)
            copy(values + used * bytes, instance + field(k, PLACE), field(k, COUNT) * bytes)
        used += count_of(k)
    return ended(instance, call, used, size)


def set_values(
    instance: Address, call: Address, references: Address, count: int, values: Address, size: int, dtype: int
) -> int:
    """Store elements from `values` in inputs of one dtype."""
    if instance == 0:
        return ERROR
    if not has_arrays(references, count, values, size):
        return refuse(instance, call, text("a pointer is NULL"))
    used = 0
    for i in range(count):
        k = int32(references, i)
        if not is_input(k):
            return complain(instance, call, k, text(" is not an input"))
        if dtype != field(k, DTYPE):
            return complain(instance, call, k, text(" has another type"))
        if used + field(k, COUNT) > size:
            return complain(instance, call, k, text(" needs more values than there are"))
        bytes = field(k, SIZE)
        place = instance + field(k, PLACE)
        copy(place, values + used * bytes, field(k, COUNT) * bytes)
        if dtype == TRUTH:
            for j in range(field(k, COUNT)):
                set_byte(place, j, 1 if byte(place, j) != 0 else 0)
        set_word(instance, IS_CURRENT, 0)
        used += field(k, COUNT)
    return ended(instance, call, used, size)


# --- derivatives -----------------------------------------------------------------------------------------------------


def exchange(
    instance: Address,
    call: Address,
    references: Address,
    count: int,
    data: Address,
    size: int,
    of_inputs: int,
    seeds: int,
) -> int:
    """Store seeds of variables, or copy sensitivities; of inputs or of outputs. Seeds of one variable add up."""
    if not has_arrays(references, count, data, size):
        return refuse(instance, call, text("a pointer is NULL"))
    used = 0
    for i in range(count):
        k = int32(references, i)
        is_time = k == 0 and of_inputs != 0
        if not is_time and not (is_input(k) if of_inputs != 0 else is_output(k)):
            side = text(" is not an input") if of_inputs != 0 else text(" is not an output")
            return complain(instance, call, k, side)
        if not is_time and field(k, SLOT) == 0:
            return complain(instance, call, k, text(" is not continuous"))
        if used + count_of(k) > size:
            return complain(instance, call, k, text(" needs more values than there are"))
        for j in range(count_of(k)):
            if is_time:
                if seeds == 0:
                    set_real(data, used + j, 0.0)
            else:
                slot = instance + field(k, SLOT)
                if seeds != 0:
                    set_real(slot, j, real(slot, j) + real(data, used + j))
                else:
                    set_real(data, used + j, real(slot, j))
        used += count_of(k)
    return ended(instance, call, used, size)


def forget(instance: Address, first: int, count: int) -> None:
    """Set the seeds of a range of variables to zero."""
    for k in range(count):
        v = first + k
        if field(v, SLOT) != 0:
            for j in range(field(v, COUNT)):
                set_real(instance + field(v, SLOT), j, 0.0)


def differentiate(instance: Address, entry: Address, is_forward: int) -> int:
    """Compute sensitivities of outputs from seeds of inputs (`is_forward`), or of inputs from seeds of outputs."""
    n = word(table(), INPUTS)
    m = word(table(), OUTPUTS)
    inputs = stack(ARRAY * (2 * n + m + 1))
    outputs = stack(ARRAY * (n + m + 1))
    describe_values(inputs, instance, 1, n)
    if is_forward != 0:
        describe_slots(inputs + n * ARRAY, instance, 1, n)
        describe_slots(outputs, instance, n + 1, m)
    else:
        describe_slots(inputs + n * ARRAY, instance, n + 1, m)
        describe_slots(outputs, instance, 1, n)
    return computed(instance, entry, inputs, outputs)


def derivative(
    instance: Address, call: Address, is_forward: int, unknowns: Address, m: int, knowns: Address, n: int,
    seed: Address, seeds: int, sensitivity: Address, size: int,
) -> int:  # fmt: skip
    """Compute a directional derivative from seeds of the knowns, or an adjoint one from seeds of the unknowns."""
    if instance == 0:
        return ERROR
    entry = word(table(), FORWARD) if is_forward != 0 else word(table(), ADJOINT)
    if entry == 0:
        return refuse(instance, call, text("the model has no such derivative"))
    inputs = word(table(), INPUTS)
    outputs = word(table(), OUTPUTS)
    status = OK
    if is_forward != 0:
        forget(instance, 1, inputs)
        status = exchange(instance, call, knowns, n, seed, seeds, 1, 1)
    else:
        forget(instance, inputs + 1, outputs)
        status = exchange(instance, call, unknowns, m, seed, seeds, 0, 1)
    if status == OK:
        status = differentiate(instance, entry, is_forward)
    if status != OK:
        return status
    if is_forward != 0:
        return exchange(instance, call, unknowns, m, sensitivity, size, 0, 0)
    return exchange(instance, call, knowns, n, sensitivity, size, 1, 0)


def fmi3GetDirectionalDerivative(
    instance: Address, unknowns: Address, m: int, knowns: Address, n: int,
    seed: Address, seeds: int, sensitivity: Address, size: int,
) -> Int32:  # fmt: skip
    """Compute the derivative of outputs along seeds of inputs."""
    call = text("fmi3GetDirectionalDerivative")
    return derivative(instance, call, 1, unknowns, m, knowns, n, seed, seeds, sensitivity, size)


def fmi3GetAdjointDerivative(
    instance: Address, unknowns: Address, m: int, knowns: Address, n: int,
    seed: Address, seeds: int, sensitivity: Address, size: int,
) -> Int32:  # fmt: skip
    """Compute the derivative, by inputs, of outputs weighted with seeds."""
    call = text("fmi3GetAdjointDerivative")
    return derivative(instance, call, 0, unknowns, m, knowns, n, seed, seeds, sensitivity, size)
