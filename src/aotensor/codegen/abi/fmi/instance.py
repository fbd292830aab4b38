"""Kernels of FMI 3.0 that create, configure, step and copy instances.

The state of a model consists of its inputs and the time.

    table: numbers of inputs and outputs; records of variables; bytes of an instance, and of a copy of its state; the
    uniform entries of the model, of its forward and its adjoint derivative (0: none); token; the state that an instance
    begins with (0: zeros); an aotensor_blas

An instance is `HEAD` bytes, then the values of all variables, then float64 seeds and sensitivities. Its copies begin at
the time and end with the values. Source: "Functional Mock-up Interface Specification", version 3.0.
"""

from __future__ import annotations

from typing import Final

from aotensor.codegen.abi.language import (
    WORD,
    Address,
    Bool,
    Int32,
    allocate,
    copy,
    notify,
    release,
    set_byte,
    set_real,
    set_word,
    stack,
    table,
    text,
    word,
)
from aotensor.codegen.abi.messages import BUFFER, begin, is_same, say

INPUTS: Final = 0
OUTPUTS: Final = 1
RECORDS: Final = 2
BYTES: Final = 3
STATE_BYTES: Final = 4
ENTRY: Final = 5
FORWARD: Final = 6
ADJOINT: Final = 7
TOKEN: Final = 8
START: Final = 9
BLAS: Final = 10
"""Words of the table."""

LOG: Final = 0
ENVIRONMENT: Final = 1
TIME: Final = 2
IS_CURRENT: Final = 3
"""Words of an instance. The outputs are current if they belong to the inputs."""
HEAD: Final = 64
STATE_AT: Final = 16
"""Where an instance's copies begin."""

OK: Final = 0
DISCARD: Final = 2
ERROR: Final = 3
"""Values of fmi3Status."""


def log(callback: Address, environment: Address, status: int, buffer: Address) -> None:
    """Pass the text of a buffer to the instance's fmi3LogMessageCallback."""
    if callback != 0:
        set_byte(buffer + WORD, word(buffer, 0), 0)
        notify(callback, environment, status, text("logStatusError"), buffer + WORD)


def refuse(instance: Address, name: Address, reason: Address) -> int:
    """Log `name: reason` and return fmi3Error."""
    if instance != 0:
        buffer = stack(BUFFER)
        begin(buffer)
        say(buffer, name)
        say(buffer, text(": "))
        say(buffer, reason)
        log(word(instance, LOG), word(instance, ENVIRONMENT), ERROR, buffer)
    return ERROR


def done(instance: Address) -> int:
    """Return fmi3OK, or fmi3Error if the instance is NULL."""
    return OK if instance != 0 else ERROR


def clear(p: Address) -> None:
    """Store false at p, unless p is NULL."""
    if p != 0:
        set_byte(p, 0, 0)


def restart(instance: Address) -> None:
    """Time 0, and all variables at their start."""
    if word(table(), START) != 0:
        copy(instance + STATE_AT, word(table(), START), word(table(), STATE_BYTES))
    else:
        for k in range(word(table(), STATE_BYTES) // WORD):
            set_word(instance + STATE_AT, k, 0)


def instantiated(token: Address, environment: Address, callback: Address) -> int:
    """A new instance, all variables at their start; NULL for another model's token, or without memory."""
    buffer = stack(BUFFER)
    begin(buffer)
    if token == 0 or not is_same(token, word(table(), TOKEN)):
        say(buffer, text("the instantiationToken is not that of this FMU: use its modelDescription.xml"))
        log(callback, environment, ERROR, buffer)
        return 0
    instance = allocate(word(table(), BYTES))
    if instance == 0:
        say(buffer, text("no memory for an instance"))
        log(callback, environment, ERROR, buffer)
        return 0
    for k in range(word(table(), BYTES) // WORD):
        set_word(instance, k, 0)
    restart(instance)
    set_word(instance, LOG, callback)
    set_word(instance, ENVIRONMENT, environment)
    return instance


def fmi3GetVersion() -> Address:
    """Return the version of FMI, "3.0"."""
    return text("3.0")


def fmi3SetDebugLogging(instance: Address, on: Bool, count: int, categories: Address) -> Int32:
    """Return fmi3OK: errors are always logged, and nothing else is."""
    return done(instance)


def fmi3InstantiateModelExchange(
    name: Address, token: Address, path: Address, visible: Bool, on: Bool, environment: Address, callback: Address
) -> Address:
    """Create an instance, for Model Exchange without continuous states."""
    return instantiated(token, environment, callback)


def fmi3InstantiateCoSimulation(
    name: Address,
    token: Address,
    path: Address,
    visible: Bool,
    on: Bool,
    events: Bool,
    early: Bool,
    intermediate: Address,
    count: int,
    environment: Address,
    callback: Address,
    update: Address,
) -> Address:
    """Create an instance, for Co-Simulation: its steps only change the time."""
    return instantiated(token, environment, callback)


def fmi3InstantiateScheduledExecution(
    name: Address,
    token: Address,
    path: Address,
    visible: Bool,
    on: Bool,
    environment: Address,
    callback: Address,
    clock: Address,
    lock: Address,
    unlock: Address,
) -> Address:
    """Return NULL, with a logged error: models have no clocks, so Scheduled Execution is not supported."""
    buffer = stack(BUFFER)
    begin(buffer)
    say(buffer, text("no Scheduled Execution: this FMU is for Model Exchange and Co-Simulation"))
    log(callback, environment, ERROR, buffer)
    return 0


def fmi3FreeInstance(instance: Address) -> None:
    """Free an instance; NULL is ignored."""
    release(instance)


def fmi3EnterInitializationMode(
    instance: Address, has_tolerance: Bool, tolerance: float, start: float, has_stop: Bool, stop: float
) -> Int32:
    """Set the time to the start time."""
    if instance == 0:
        return ERROR
    set_real(instance, TIME, start)
    return OK


def fmi3ExitInitializationMode(instance: Address) -> Int32:
    """Return fmi3OK: outputs are computed when they are read."""
    return done(instance)


def fmi3EnterEventMode(instance: Address) -> Int32:
    """Return fmi3OK: models have no events."""
    return done(instance)


def fmi3Terminate(instance: Address) -> Int32:
    """Return fmi3OK: there is nothing to terminate."""
    return done(instance)


def fmi3Reset(instance: Address) -> Int32:
    """All variables are at their start again, as after instantiation."""
    if instance == 0:
        return ERROR
    restart(instance)
    return OK


def fmi3EvaluateDiscreteStates(instance: Address) -> Int32:
    """Return fmi3OK: models have no discrete states."""
    return done(instance)


def fmi3UpdateDiscreteStates(
    instance: Address, again: Address, stop: Address, nominals: Address, states: Address, next: Address, time: Address
) -> Int32:
    """Store false in all flags: models have no discrete states and no events at a given time."""
    clear(again)
    clear(stop)
    clear(nominals)
    clear(states)
    clear(next)
    return done(instance)


def fmi3EnterContinuousTimeMode(instance: Address) -> Int32:
    """Return fmi3OK: there is nothing to prepare."""
    return done(instance)


def fmi3CompletedIntegratorStep(instance: Address, final: Bool, event: Address, stop: Address) -> Int32:
    """Store false in all flags: models have no events."""
    clear(event)
    clear(stop)
    return done(instance)


def fmi3SetTime(instance: Address, time: float) -> Int32:
    """Set the time, on which no output depends."""
    if instance == 0:
        return ERROR
    set_real(instance, TIME, time)
    return OK


def fmi3EnterStepMode(instance: Address) -> Int32:
    """Return fmi3OK: there is nothing to prepare."""
    return done(instance)


def fmi3DoStep(
    instance: Address,
    point: float,
    step: float,
    final: Bool,
    event: Address,
    stop: Address,
    early: Address,
    last: Address,
) -> Int32:
    """Increase the time by a step; outputs depend on the current inputs only."""
    if instance == 0:
        return ERROR
    if not step > 0.0:
        return refuse(instance, text("fmi3DoStep"), text("the step is not positive"))
    set_real(instance, TIME, point + step)
    clear(event)
    clear(stop)
    clear(early)
    if last != 0:
        set_real(last, 0, point + step)
    return OK


# --- copies of the state ---------------------------------------------------------------------------------------------


def fmi3GetFMUState(instance: Address, state: Address) -> Int32:
    """Copy the time and all values to `*state`; memory is allocated if `*state` is NULL."""
    if instance == 0 or state == 0:
        return ERROR
    memory = word(state, 0)
    if memory == 0:
        memory = allocate(word(table(), STATE_BYTES))
        if memory == 0:
            return refuse(instance, text("fmi3GetFMUState"), text("no memory"))
        set_word(state, 0, memory)
    copy(memory, instance + STATE_AT, word(table(), STATE_BYTES))
    return OK


def fmi3SetFMUState(instance: Address, state: Address) -> Int32:
    """Restore the time and all values from a copy."""
    if instance == 0 or state == 0:
        return ERROR
    copy(instance + STATE_AT, state, word(table(), STATE_BYTES))
    return OK


def fmi3FreeFMUState(instance: Address, state: Address) -> Int32:
    """Free a copy of the state, and set `*state` to NULL."""
    if instance == 0:
        return ERROR
    if state != 0:
        release(word(state, 0))
        set_word(state, 0, 0)
    return OK


def fmi3SerializedFMUStateSize(instance: Address, state: Address, size: Address) -> Int32:
    """Store the size of a serialized state in bytes."""
    if instance == 0 or state == 0 or size == 0:
        return ERROR
    set_word(size, 0, word(table(), STATE_BYTES))
    return OK


def fmi3SerializeFMUState(instance: Address, state: Address, serialized: Address, size: int) -> Int32:
    """Serialize a state; another instance of the same FMU on the same kind of machine can read it."""
    if instance == 0 or state == 0 or serialized == 0:
        return ERROR
    if size < word(table(), STATE_BYTES):
        return refuse(instance, text("fmi3SerializeFMUState"), text("too little memory"))
    copy(serialized, state, word(table(), STATE_BYTES))
    return OK


def fmi3DeserializeFMUState(instance: Address, serialized: Address, size: int, state: Address) -> Int32:
    """Create a copy of the state from a serialized one."""
    if instance == 0 or serialized == 0 or state == 0:
        return ERROR
    if size != word(table(), STATE_BYTES):
        return refuse(instance, text("fmi3DeserializeFMUState"), text("these are not the bytes of a state of this FMU"))
    memory = word(state, 0)
    if memory == 0:
        memory = allocate(size)
        if memory == 0:
            return refuse(instance, text("fmi3DeserializeFMUState"), text("no memory"))
        set_word(state, 0, memory)
    copy(memory, serialized, size)
    return OK
