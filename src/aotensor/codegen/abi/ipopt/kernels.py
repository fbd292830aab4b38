"""Kernels of Ipopt's C interface: the callbacks of one nonlinear program, and the problem object that they share.

A problem begins with the fields of aotensor_ipopt_problem in the header. Private fields follow: values at the last
point, addresses of parameters, a message. Callbacks read the low byte of a truth value and return an int,
so that they serve Ipopt 3.11, where Bool is an int, as well as Ipopt 3.14, where it is a bool.

Source: `IpStdCInterface.h` of Ipopt 3.11 and 3.14.
"""

from __future__ import annotations

from typing import Final

from aotensor.codegen.abi.arrays import (
    ARRAY,
    CONTEXT,
    FLOAT,
    INDEX,
    MESSAGE_BYTES,
    TRUTH,
    WORKSPACE_AT,
    WORKSPACE_BYTES_AT,
    begin_context,
    describe,
)
from aotensor.codegen.abi.language import (
    WORD,
    Address,
    Bool,
    Int32,
    allocate,
    ask,
    byte,
    copy,
    invoke,
    length,
    real,
    release,
    set_byte,
    set_int32,
    set_real,
    set_word,
    stack,
    table,
    text,
    word,
)

N: Final = 0
M: Final = 1
JACOBIAN_ENTRIES: Final = 2
HESSIAN_ENTRIES: Final = 3
POINT: Final = 4
SLOPES: Final = 5
CURVATURE: Final = 6
COUNT: Final = 7
RANKS: Final = 8
SHAPES: Final = 9
JACOBIAN_ROWS: Final = 10
JACOBIAN_COLUMNS: Final = 11
HESSIAN_ROWS: Final = 12
HESSIAN_COLUMNS: Final = 13
HESSIAN_SHAPE: Final = 14
HESSIAN_POINTERS: Final = 16
CALLBACKS: Final = 17
ROOMS: Final = 22
BLAS: Final = 25
"""Words of the table: extents, uniform entries, parameters with ranks and shapes, coordinates of entries as int32, the
extents of the Hessian and of its indptr, addresses of the callbacks, the workspace entries, an aotensor_blas."""

OWN_CALLBACKS: Final = 3
MESSAGE: Final = 8
HAS_POINT: Final = 9
HAS_SLOPES: Final = 10
OBJECTIVE: Final = 11
CONSTRAINTS: Final = 12
GRADIENT: Final = 13
JACOBIAN: Final = 14
INDICES: Final = 15
WORKSPACE: Final = 16
WORKSPACE_BYTES: Final = 17
PARAMETERS: Final = 18
"""Words of a problem: the public ones, what is known at the last point, where values and the workspace of all entries
are, addresses of parameters."""


def problem(user_data: Address) -> Address:
    """Create a problem for CreateIpoptProblem and IpoptSolve; return 0 without memory, or if parameters are missing.

    user_data: the address of each parameter, in order; its values are read in every evaluation.
    """
    count = word(table(), COUNT)
    for k in range(count):
        if user_data == 0 or word(user_data, k) == 0:
            return 0
    n = word(table(), N)
    m = word(table(), M)
    entries = word(table(), JACOBIAN_ENTRIES)
    pointers = word(table(), HESSIAN_POINTERS)
    indices = (4 * (word(table(), HESSIAN_ENTRIES) + pointers) + 7) // 8 * 8
    room = 0
    for k in range(3):
        if word(table(), ROOMS + k) != 0 and ask(word(table(), ROOMS + k)) > room:
            room = ask(word(table(), ROOMS + k))
    head = WORD * (PARAMETERS + count) + MESSAGE_BYTES
    made = allocate(head + WORD * (m + n + entries) + indices + room)
    if made == 0:
        return 0
    for k in range(PARAMETERS):
        set_word(made, k, 0)
    set_int32(made, 0, n)
    set_int32(made, 1, m)
    set_int32(made, 2, entries)
    set_int32(made, 3, word(table(), HESSIAN_ENTRIES))
    for k in range(5):
        set_word(made, OWN_CALLBACKS + k, word(table(), CALLBACKS + k))
    set_word(made, MESSAGE, made + WORD * (PARAMETERS + count))
    set_byte(word(made, MESSAGE), 0, 0)
    set_word(made, CONSTRAINTS, made + head)
    set_word(made, GRADIENT, made + head + WORD * m)
    set_word(made, JACOBIAN, made + head + WORD * (m + n))
    set_word(made, INDICES, made + head + WORD * (m + n + entries))
    set_word(made, WORKSPACE, word(made, INDICES) + indices)
    set_word(made, WORKSPACE_BYTES, room)
    for k in range(count):
        set_word(made, PARAMETERS + k, word(user_data, k))
    return made


def free_problem(given: Address) -> None:
    """Free a problem; 0 is ignored."""
    release(given)


def say(given: Address, what: Address) -> None:
    """Store a text as the message of a problem."""
    copy(word(given, MESSAGE), what, length(what) + 1)


def is_callable(given: Address, n: int, x: Address, new_x: int, out: Address, size: int) -> bool:
    """Is a callback called on a problem of this program? A new point forgets the values of the last one.

    out, size: memory that the callback needs, and the number of its elements.
    """
    if given == 0:
        return False
    if n != word(table(), N):
        say(given, text("n is not the number of variables of this program"))
        return False
    if x == 0:
        say(given, text("x is NULL"))
        return False
    if out == 0 and size > 0:
        say(given, text("an array is NULL"))
        return False
    if new_x != 0:
        set_word(given, HAS_POINT, 0)
        set_word(given, HAS_SLOPES, 0)
    return True


def run(given: Address, entry: Address, inputs: Address, outputs: Address, x: Address) -> bool:
    """Call a uniform entry, whose first inputs are x and the parameters; return whether it succeeded."""
    describe(inputs, 0, x, table() + WORD * N, 1, FLOAT)
    for k in range(word(table(), COUNT)):
        shape = word(word(table(), SHAPES), k)
        describe(inputs, 1 + k, word(given, PARAMETERS + k), shape, word(word(table(), RANKS), k), FLOAT)
    context = stack(CONTEXT)
    begin_context(context, table() + WORD * BLAS, word(given, MESSAGE))
    if word(given, WORKSPACE_BYTES) > 0:
        set_word(context, WORKSPACE_AT, word(given, WORKSPACE))
        set_word(context, WORKSPACE_BYTES_AT, word(given, WORKSPACE_BYTES))
    status = invoke(entry, context, inputs, outputs)
    if status != 0 and byte(word(given, MESSAGE), 0) == 0:
        say(given, text("a function of the program failed without a message"))
    return status == 0


def has_point(given: Address, x: Address) -> bool:
    """Compute objective and constraints at x, unless they are known; return whether they are. Once for each point."""
    if word(given, HAS_POINT) == 0:
        inputs = stack(ARRAY * (1 + word(table(), COUNT)))
        outputs = stack(2 * ARRAY)
        describe(outputs, 0, given + WORD * OBJECTIVE, 0, 0, FLOAT)
        describe(outputs, 1, word(given, CONSTRAINTS), table() + WORD * M, 1, FLOAT)
        set_word(given, HAS_POINT, 1 if run(given, word(table(), POINT), inputs, outputs, x) else 0)
    return word(given, HAS_POINT) != 0


def has_slopes(given: Address, x: Address) -> bool:
    """Compute the gradient of the objective and the Jacobian at x, unless they are known; return whether they are."""
    if word(given, HAS_SLOPES) == 0:
        inputs = stack(ARRAY * (1 + word(table(), COUNT)))
        outputs = stack(2 * ARRAY)
        describe(outputs, 0, word(given, GRADIENT), table() + WORD * N, 1, FLOAT)
        describe(outputs, 1, word(given, JACOBIAN), table() + WORD * JACOBIAN_ENTRIES, 1, FLOAT)
        set_word(given, HAS_SLOPES, 1 if run(given, word(table(), SLOPES), inputs, outputs, x) else 0)
    return word(given, HAS_SLOPES) != 0


def eval_f(n: Int32, x: Address, new_x: Bool, obj_value: Address, user_data: Address) -> Int32:
    """The objective."""
    if not is_callable(user_data, n, x, new_x, obj_value, 1) or not has_point(user_data, x):
        return 0
    set_real(obj_value, 0, real(user_data, OBJECTIVE))
    return 1


def eval_g(n: Int32, x: Address, new_x: Bool, m: Int32, g: Address, user_data: Address) -> Int32:
    """The constraints."""
    if not is_callable(user_data, n, x, new_x, g, word(table(), M)) or not has_point(user_data, x):
        return 0
    copy(g, word(user_data, CONSTRAINTS), WORD * word(table(), M))
    return 1


def eval_grad_f(n: Int32, x: Address, new_x: Bool, grad_f: Address, user_data: Address) -> Int32:
    """The gradient of the objective."""
    if not is_callable(user_data, n, x, new_x, grad_f, word(table(), N)) or not has_slopes(user_data, x):
        return 0
    copy(grad_f, word(user_data, GRADIENT), WORD * word(table(), N))
    return 1


def has_structure(given: Address, count: int, found: int, rows: int, columns: int, i: Address, j: Address) -> bool:
    """Write the coordinates of stored entries; fails if the caller expects another number of them."""
    if count != found:
        if given != 0:
            say(given, text("the number of stored entries is not that of this program"))
        return False
    if count > 0 and (i == 0 or j == 0):
        if given != 0:
            say(given, text("the memory for rows or columns is NULL"))
        return False
    copy(i, word(table(), rows), 4 * count)
    copy(j, word(table(), columns), 4 * count)
    return True


def eval_jac_g(
    n: Int32, x: Address, new_x: Bool, m: Int32, nele_jac: Int32, iRow: Address, jCol: Address, values: Address,
    user_data: Address,
) -> Int32:  # fmt: skip
    """Write the structure of the Jacobian of the constraints if `values` is NULL, else compute its values."""
    if values == 0:
        found = word(table(), JACOBIAN_ENTRIES)
        return 1 if has_structure(user_data, nele_jac, found, JACOBIAN_ROWS, JACOBIAN_COLUMNS, iRow, jCol) else 0
    if not is_callable(user_data, n, x, new_x, values, 1) or not has_slopes(user_data, x):
        return 0
    copy(values, word(user_data, JACOBIAN), WORD * word(table(), JACOBIAN_ENTRIES))
    return 1


def eval_h(
    n: Int32, x: Address, new_x: Bool, obj_factor: float, m: Int32, lam: Address, new_lambda: Bool, nele_hess: Int32,
    iRow: Address, jCol: Address, values: Address, user_data: Address,
) -> Int32:  # fmt: skip
    """Write the structure of the lower triangle of the Lagrangian's Hessian if `values` is NULL, else its values."""
    entries = word(table(), HESSIAN_ENTRIES)
    if values == 0:
        return 1 if has_structure(user_data, nele_hess, entries, HESSIAN_ROWS, HESSIAN_COLUMNS, iRow, jCol) else 0
    if not is_callable(user_data, n, x, new_x, lam, word(table(), M)):
        return 0
    count = word(table(), COUNT)
    factor = stack(WORD)
    set_real(factor, 0, obj_factor)
    inputs = stack(ARRAY * (3 + count))
    describe(inputs, 1 + count, factor, 0, 0, FLOAT)
    describe(inputs, 2 + count, lam, table() + WORD * M, 1, FLOAT)
    indices = word(user_data, INDICES)
    outputs = stack(4 * ARRAY)
    describe(outputs, 0, values, table() + WORD * HESSIAN_SHAPE, 2, TRUTH)
    describe(outputs, 1, values, table() + WORD * HESSIAN_ENTRIES, 1, FLOAT)
    describe(outputs, 2, indices, table() + WORD * HESSIAN_ENTRIES, 1, INDEX)
    describe(outputs, 3, indices + 4 * entries, table() + WORD * HESSIAN_POINTERS, 1, INDEX)
    return 1 if run(user_data, word(table(), CURVATURE), inputs, outputs, x) else 0
