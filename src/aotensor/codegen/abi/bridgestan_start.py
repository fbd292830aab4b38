"""BridgeStan kernels for an initial point, and for the print callback."""

from __future__ import annotations

from aotensor.codegen.abi.bridgestan_calls import answer, draw, evaluate, is_there
from aotensor.codegen.abi.bridgestan_model import is_document
from aotensor.codegen.abi.bridgestan_table import CONSTRAINED, LOG_DENSITY, TRANSFORMED, UNCONSTRAINED
from aotensor.codegen.abi.language import (
    WORD,
    Address,
    Bool,
    Int32,
    allocate,
    byte,
    real,
    release,
    stack,
    table,
    text,
    word,
)
from aotensor.codegen.abi.messages import BUFFER, begin, say, say_number


def bs_param_initialize(
    model: Address, json: Address, rng: Address, init_radius: float, max_tries: Int32, jacobian: Bool,
    theta_unc: Address, error: Address,
) -> Int32:  # fmt: skip
    """Write a random initial point with finite log density; parameters in the JSON text have the given values."""
    buffer = stack(BUFFER)
    begin(buffer)
    say(buffer, text("param_initialize: "))
    if not is_there(buffer, model, text("the model")) or not is_there(buffer, rng, text("rng")):
        return answer(-1, error, buffer)
    if not is_there(buffer, theta_unc, text("theta_unc")):
        return answer(-1, error, buffer)
    if not (init_radius >= 0.0) or init_radius - init_radius != 0.0:
        say(buffer, text("init_radius is negative or not finite"))
        return answer(-1, error, buffer)
    source = json
    if json != 0 and byte(json, 0) == 0:
        source = 0
    if source != 0 and not is_document(source, text("parameters"), buffer):
        return answer(-1, error, buffer)
    size = word(table(), UNCONSTRAINED) + word(table(), CONSTRAINED) + word(table(), TRANSFORMED)
    room = allocate(WORD * (size + 1))
    if not is_there(buffer, room, text("memory of a point")):
        return answer(-1, error, buffer)
    value = stack(WORD)
    scratch = stack(BUFFER)
    status = -1
    is_bad = False
    k = 0
    while status != 0 and k < max_tries and not is_bad:
        is_bad = draw(model, source, rng, init_radius, theta_unc, room, buffer) != 0
        begin(scratch)
        if (
            not is_bad
            and evaluate(word(table(), LOG_DENSITY), model, jacobian, theta_unc, 0, value, 0, 0, scratch) == 0
        ):
            x = real(value, 0)
            if x - x == 0.0:
                status = 0
        k += 1
    release(room)
    if status != 0 and not is_bad:
        say(buffer, text("no point of finite log density in "))
        say_number(buffer, max_tries)
        say(buffer, text(" tries"))
    return answer(status, error, buffer)


def bs_set_print_callback(callback: Address, error: Address) -> Int32:
    """Accept a print callback, which is never called: models of aotensor do not print."""
    return 0
