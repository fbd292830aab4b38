"""BridgeStan kernels that evaluate a model, and its random number generator.

Source of the generator: Steele, Lea & Flood (2014), splitmix64.
"""

from __future__ import annotations

from aotensor.codegen.abi.arrays import ARRAY, FLOAT, TRUTH, describe
from aotensor.codegen.abi.bridgestan_model import (
    attach_data,
    is_document,
    measured,
    record_of,
    say_wrong,
)
from aotensor.codegen.abi.bridgestan_table import (
    BLAS,
    CONSTRAIN,
    CONSTRAINED,
    DATA_COUNT,
    GRADIENT,
    HESSIAN,
    LOG_DENSITY,
    NAMES,
    PARAMETER_COUNT,
    PARAMETERS,
    PRODUCT,
    TRANSFORMED,
    UNCONSTRAIN,
    UNCONSTRAINED,
    UNCONSTRAINED_NAMES,
    VALUE_COUNT,
    VALUE_DTYPE,
    VALUE_FIRST,
    VALUE_NAME,
    VALUE_RANK,
    VALUE_START,
    VALUE_STRIDES,
)
from aotensor.codegen.abi.calls import run
from aotensor.codegen.abi.json_reader import member, store
from aotensor.codegen.abi.language import (
    WORD,
    Address,
    Bool,
    Int32,
    UInt32,
    allocate,
    copy,
    real,
    release,
    set_byte,
    set_real,
    set_word,
    shift_right,
    stack,
    table,
    text,
    word,
)
from aotensor.codegen.abi.messages import BUFFER, begin, fail, say, say_number, say_part


def is_there(buffer: Address, address: Address, what: Address) -> bool:
    """Return whether a pointer is not NULL; otherwise write its name `what` to the buffer."""
    if address == 0:
        say(buffer, what)
        say(buffer, text(" is NULL"))
    return address != 0


def is_finite(point: Address, count: int, what: Address, names: Address, buffer: Address) -> bool:
    """Return whether all elements are finite; otherwise write the first one that is not to the buffer."""
    for k in range(count):
        x = real(point, k)
        if x - x != 0.0:
            say(buffer, what)
            say(buffer, text("["))
            say_number(buffer, k)
            say(buffer, text("] ("))
            say_part(buffer, names, k)
            say(buffer, text(") is nan") if x != x else text(") is infinite"))
            return False
    return True


def evaluate(
    entry: Address, model: Address, jacobian: int, point: Address, vector: Address, value: Address, first: Address,
    second: Address, buffer: Address,
) -> int:  # fmt: skip
    """Evaluate a log density and derivatives; return the status, or -1 for invalid arguments.

    first, second: addresses for the derivatives, or 0.
    """
    count = word(table(), UNCONSTRAINED)
    if not is_there(buffer, model, text("the model")) or not is_there(buffer, value, text("the result")):
        return -1
    if count > 0 and not is_there(buffer, point, text("theta_unc")):
        return -1
    if not is_finite(point, count, text("theta_unc"), word(table(), UNCONSTRAINED_NAMES), buffer):
        return -1
    shape = stack(2 * WORD)
    set_word(shape, 0, count)
    set_word(shape, 1, count)
    flag = stack(1)
    set_byte(flag, 0, 1 if jacobian != 0 else 0)
    inputs = stack((3 + word(table(), DATA_COUNT)) * ARRAY)
    outputs = stack(3 * ARRAY)
    k = 0
    describe(inputs, k, point, shape, 1, FLOAT)
    k += 1
    if vector != 0:
        describe(inputs, k, vector, shape, 1, FLOAT)
        k += 1
    describe(inputs, k, flag, 0, 0, TRUTH)
    attach_data(inputs, k + 1, model)
    describe(outputs, 0, value, 0, 0, FLOAT)
    describe(outputs, 1, first, shape, 1, FLOAT)
    describe(outputs, 2, second, shape, 2, FLOAT)
    return run(entry, table() + WORD * BLAS, inputs, outputs, buffer)


def answer(status: int, error: Address, buffer: Address) -> int:
    """Convert a status to BridgeStan's return code, 0 or -1; store the error message."""
    if status == 0:
        return 0
    fail(error, buffer)
    return -1


def bs_log_density(
    model: Address, propto: Bool, jacobian: Bool, theta_unc: Address, lp: Address, error: Address
) -> Int32:
    """Compute the log density. Constant terms are never dropped, whatever `propto` is."""
    buffer = stack(BUFFER)
    begin(buffer)
    say(buffer, text("log_density: "))
    return answer(evaluate(word(table(), LOG_DENSITY), model, jacobian, theta_unc, 0, lp, 0, 0, buffer), error, buffer)


def bs_log_density_gradient(
    model: Address, propto: Bool, jacobian: Bool, theta_unc: Address, val: Address, grad: Address, error: Address
) -> Int32:
    """Compute the log density and its gradient."""
    buffer = stack(BUFFER)
    begin(buffer)
    say(buffer, text("log_density_gradient: "))
    status = -1
    if word(table(), UNCONSTRAINED) == 0 or is_there(buffer, grad, text("grad")):
        status = evaluate(word(table(), GRADIENT), model, jacobian, theta_unc, 0, val, grad, 0, buffer)
    return answer(status, error, buffer)


def bs_log_density_hessian(
    model: Address, propto: Bool, jacobian: Bool, theta_unc: Address, val: Address, grad: Address, hessian: Address,
    error: Address,
) -> Int32:  # fmt: skip
    """Compute the log density, its gradient and its Hessian."""
    buffer = stack(BUFFER)
    begin(buffer)
    say(buffer, text("log_density_hessian: "))
    status = -1
    if is_there(buffer, grad, text("grad")) and is_there(buffer, hessian, text("hessian")):
        status = evaluate(word(table(), HESSIAN), model, jacobian, theta_unc, 0, val, grad, hessian, buffer)
    return answer(status, error, buffer)


def bs_log_density_hessian_vector_product(
    model: Address, propto: Bool, jacobian: Bool, theta_unc: Address, vector: Address, val: Address, hvp: Address,
    error: Address,
) -> Int32:  # fmt: skip
    """Compute the log density and the product of its Hessian with a vector."""
    buffer = stack(BUFFER)
    begin(buffer)
    say(buffer, text("log_density_hessian_vector_product: "))
    status = -1
    count = word(table(), UNCONSTRAINED)
    is_whole = is_there(buffer, vector, text("vector")) and is_there(buffer, hvp, text("hvp"))
    if is_whole and is_finite(vector, count, text("vector"), word(table(), UNCONSTRAINED_NAMES), buffer):
        status = evaluate(word(table(), PRODUCT), model, jacobian, theta_unc, vector, val, hvp, 0, buffer)
    return answer(status, error, buffer)


def constrain(model: Address, theta_unc: Address, theta: Address, others: Address, buffer: Address) -> int:
    """Write constrained parameters to `theta` and transformed ones to `others`; return the status."""
    count = word(table(), UNCONSTRAINED)
    if not is_there(buffer, model, text("the model")):
        return -1
    if count > 0 and not (is_there(buffer, theta_unc, text("theta_unc")) and is_there(buffer, theta, text("theta"))):
        return -1
    if not is_finite(theta_unc, count, text("theta_unc"), word(table(), UNCONSTRAINED_NAMES), buffer):
        return -1
    shapes = stack(3 * WORD)
    set_word(shapes, 0, count)
    set_word(shapes, 1, word(table(), CONSTRAINED))
    set_word(shapes, 2, word(table(), TRANSFORMED))
    inputs = stack((1 + word(table(), DATA_COUNT)) * ARRAY)
    outputs = stack(2 * ARRAY)
    describe(inputs, 0, theta_unc, shapes, 1, FLOAT)
    attach_data(inputs, 1, model)
    describe(outputs, 0, theta, shapes + WORD, 1, FLOAT)
    describe(outputs, 1, others, shapes + 2 * WORD, 1, FLOAT)
    return run(word(table(), CONSTRAIN), table() + WORD * BLAS, inputs, outputs, buffer)


def bs_param_constrain(
    model: Address, include_tp: Bool, include_gq: Bool, theta_unc: Address, theta: Address, rng: Address,
    error: Address,
) -> Int32:  # fmt: skip
    """Write the constrained parameters, followed by the transformed ones if requested."""
    buffer = stack(BUFFER)
    begin(buffer)
    say(buffer, text("param_constrain: "))
    if include_gq != 0 and rng == 0:
        say(buffer, text("include_gq=true but rng=nullptr"))
        return answer(-1, error, buffer)
    if include_tp != 0:
        others = theta + WORD * word(table(), CONSTRAINED)
        if word(table(), TRANSFORMED) > 0 and not is_there(buffer, theta, text("theta")):
            return answer(-1, error, buffer)
        return answer(constrain(model, theta_unc, theta, others, buffer), error, buffer)
    room = allocate(WORD * (word(table(), TRANSFORMED) + 1))
    status = -1
    if is_there(buffer, room, text("memory of transformed parameters")):
        status = constrain(model, theta_unc, theta, room, buffer)
    release(room)
    return answer(status, error, buffer)


def unconstrain(model: Address, theta: Address, theta_unc: Address, buffer: Address) -> int:
    """Write the unconstrained vector for constrained parameters; return the status."""
    count = word(table(), UNCONSTRAINED)
    if not is_there(buffer, model, text("the model")):
        return -1
    if count > 0 and not (is_there(buffer, theta, text("theta")) and is_there(buffer, theta_unc, text("theta_unc"))):
        return -1
    if not is_finite(theta, word(table(), CONSTRAINED), text("theta"), word(table(), NAMES), buffer):
        return -1
    shapes = stack(2 * WORD)
    set_word(shapes, 0, word(table(), CONSTRAINED))
    set_word(shapes, 1, count)
    inputs = stack((1 + word(table(), DATA_COUNT)) * ARRAY)
    outputs = stack(ARRAY)
    describe(inputs, 0, theta, shapes, 1, FLOAT)
    attach_data(inputs, 1, model)
    describe(outputs, 0, theta_unc, shapes + WORD, 1, FLOAT)
    status = run(word(table(), UNCONSTRAIN), table() + WORD * BLAS, inputs, outputs, buffer)
    if status != 0:
        return status
    for k in range(count):
        x = real(theta_unc, k)
        if x - x != 0.0:
            say(buffer, text("no finite unconstrained value of "))
            say_part(buffer, word(table(), UNCONSTRAINED_NAMES), k)
            say(buffer, text(": the parameters are outside of their support, or on its boundary"))
            return -1
    return 0


def bs_param_unconstrain(model: Address, theta: Address, theta_unc: Address, error: Address) -> Int32:
    """Compute the unconstrained vector of constrained parameters."""
    buffer = stack(BUFFER)
    begin(buffer)
    say(buffer, text("param_unconstrain: "))
    return answer(unconstrain(model, theta, theta_unc, buffer), error, buffer)


def read_parameter(source: Address, record: Address, theta: Address, buffer: Address) -> int:
    """Read a parameter from a JSON text into theta: 1 if it is there, 0 if it is missing, -1 if it does not fit."""
    i = member(source, word(record, VALUE_NAME))
    if i < 0:
        return 0
    shape = stack(WORD * word(record, VALUE_RANK))
    if not measured(source, i, record, shape, text("parameters"), buffer):
        return -1
    rank = word(record, VALUE_RANK)
    dtype = word(record, VALUE_DTYPE)
    wrong = store(source, i, 0, rank, dtype, theta, word(record, VALUE_FIRST), word(record, VALUE_STRIDES))
    if wrong != 0:
        say_wrong(buffer, text("parameters"), record, wrong)
        return -1
    return 1


def bs_param_unconstrain_json(model: Address, json: Address, theta_unc: Address, error: Address) -> Int32:
    """Compute the unconstrained vector of parameters that a JSON text contains."""
    buffer = stack(BUFFER)
    begin(buffer)
    say(buffer, text("param_unconstrain_json: "))
    if not is_there(buffer, json, text("json")) or not is_document(json, text("parameters"), buffer):
        return answer(-1, error, buffer)
    theta = allocate(WORD * (word(table(), CONSTRAINED) + 1))
    status = 0 if is_there(buffer, theta, text("memory of parameters")) else -1
    k = 0
    while status == 0 and k < word(table(), PARAMETER_COUNT):
        record = record_of(word(table(), PARAMETERS), k)
        found = read_parameter(json, record, theta, buffer)
        if found == 0:
            say(buffer, text("parameters: "))
            say(buffer, word(record, VALUE_NAME))
            say(buffer, text(" is missing"))
        if found != 1:
            status = -1
        k += 1
    if status == 0:
        status = unconstrain(model, theta, theta_unc, buffer)
    release(theta)
    return answer(status, error, buffer)


def bs_rng_construct(seed: UInt32, error: Address) -> Address:
    """Construct a random number generator."""
    rng = allocate(WORD)
    if rng != 0:
        set_word(rng, 0, seed)
        return rng
    buffer = stack(BUFFER)
    begin(buffer)
    say(buffer, text("construct_rng: no memory left"))
    fail(error, buffer)
    return 0


def bs_rng_destruct(rng: Address) -> None:
    """Free a random number generator."""
    release(rng)


def uniform(rng: Address) -> float:
    """The next random number in [0, 1), with 53 random bits."""
    state = word(rng, 0) + -7046029254386353131
    set_word(rng, 0, state)
    x = (state ^ shift_right(state, 30)) * -4658895280553007687
    x = (x ^ shift_right(x, 27)) * -7723592293110705685
    return float(shift_right(x ^ shift_right(x, 31), 11)) / 9007199254740992.0


def draw(
    model: Address, json: Address, rng: Address, radius: float, point: Address, room: Address, buffer: Address
) -> int:
    """Write a random point, in which parameters from a JSON text (0: none) have the given values; return the status.

    Other parameters get values in [-radius, radius) on the unconstrained scale. room: memory for all parameters, twice.
    """
    count = word(table(), UNCONSTRAINED)
    for k in range(count):
        set_real(point, k, (2.0 * uniform(rng) - 1.0) * radius)
    if json == 0:
        return 0
    theta = room + WORD * count
    copy(room, point, WORD * count)
    status = constrain(model, point, theta, theta + WORD * word(table(), CONSTRAINED), buffer)
    if status != 0:
        return status
    for k in range(word(table(), PARAMETER_COUNT)):
        if read_parameter(json, record_of(word(table(), PARAMETERS), k), theta, buffer) < 0:
            return -1
    status = unconstrain(model, theta, point, buffer)
    if status != 0:
        return status
    for k in range(word(table(), PARAMETER_COUNT)):
        record = record_of(word(table(), PARAMETERS), k)
        if member(json, word(record, VALUE_NAME)) < 0:
            start = WORD * word(record, VALUE_START)
            copy(point + start, room + start, WORD * word(record, VALUE_COUNT))
    return 0
