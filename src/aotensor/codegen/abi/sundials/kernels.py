"""Kernels of SUNDIALS' user functions for one right-hand side f(t, y, *p).

The elements of a vector are accessed by its own operations. The fields of matrices are read; their sizes show whether
indices have 32 or 64 bits. user_data points to the parameters, which are read in every call. Calls have no state, so
any number of threads may call. The result is 0, 1 for values that are not finite (a recoverable error), or -1.

Source: headers of SUNDIALS 6.4 and 7, in which these structures are the same.
"""

from __future__ import annotations

from typing import Final

from aotensor.codegen.abi.arrays import ARRAY, CONTEXT, FLOAT, MESSAGE_BYTES, begin_context, describe
from aotensor.codegen.abi.language import (
    WORD,
    Address,
    Int32,
    allocate,
    copy,
    int32,
    invoke,
    obtain,
    real,
    release,
    set_real,
    set_word,
    stack,
    table,
    word,
)

N: Final = 0
ENTRIES: Final = 1
SIZE: Final = 2
COUNT: Final = 3
RANKS: Final = 4
SHAPES: Final = 5
RHS: Final = 6
JACOBIAN: Final = 7
PRODUCT: Final = 8
ADJOINT: Final = 9
QUADRATURE: Final = 10
TANGENT: Final = 11
ROW_POINTERS: Final = 12
COLUMNS: Final = 13
COLUMN_POINTERS: Final = 14
ROWS: Final = 15
ORDER: Final = 16
DIAGONAL: Final = 17
ENTRY_ROWS: Final = 18
BLAS: Final = 19
"""Words of the table: numbers of states, of stored entries and of elements of all parameters; parameters; uniform
entries; the pattern by rows and by columns, the place by rows of each entry by columns, and of each diagonal entry, and
the row of each entry; an aotensor_blas."""
OPERATIONS: Final = 1
ARRAY_OF_VECTOR: Final = 5
"""Words of an N_Vector and of its operations."""
BY_ROWS: Final = 1
"""CSR_MAT"""
FORWARD: Final = 0
RESIDUAL: Final = 1
BACKWARD: Final = 2
"""Kinds of Jacobians."""


def elements(vector: Address) -> Address:
    """The elements of an N_Vector; 0 for none, or one that is not in memory, as on a GPU."""
    if vector == 0 or word(vector, OPERATIONS) == 0:
        return 0
    read = word(word(vector, OPERATIONS), ARRAY_OF_VECTOR)
    return 0 if read == 0 else obtain(read, vector)


def run(
    entry: Address, t: float, y: Address, user_data: Address, first: Address, second: Address, out: Address,
    extent: Address,
) -> int:  # fmt: skip
    """Call a uniform entry on t, y, the parameters, and up to two more vectors; write its result to `out`.

    first: a vector of the states' length, or 0. second: one of the parameters' length, or 0. extent: address of the
    number of elements of `out`.
    """
    count = word(table(), COUNT)
    if y == 0 or out == 0:
        return -1
    for k in range(count):
        if user_data == 0 or word(user_data, k) == 0:
            return -1
    time = stack(WORD)
    set_real(time, 0, t)
    inputs = stack(ARRAY * (4 + count))
    describe(inputs, 0, time, 0, 0, FLOAT)
    describe(inputs, 1, y, table() + WORD * N, 1, FLOAT)
    for k in range(count):
        shape = word(word(table(), SHAPES), k)
        describe(inputs, 2 + k, word(user_data, k), shape, word(word(table(), RANKS), k), FLOAT)
    describe(inputs, 2 + count, first, table() + WORD * N, 1, FLOAT)
    describe(inputs, 3 + count, second, table() + WORD * SIZE, 1, FLOAT)
    outputs = stack(ARRAY)
    describe(outputs, 0, out, extent, 1, FLOAT)
    context = stack(CONTEXT)
    begin_context(context, table() + WORD * BLAS, stack(MESSAGE_BYTES))
    if invoke(entry, context, inputs, outputs) != 0:
        return -1
    for k in range(word(extent, 0)):
        x = real(out, k)
        if x - x != 0.0:
            return 1
    return 0


def cv_rhs(t: float, y: Address, ydot: Address, user_data: Address) -> Int32:
    """The CVRhsFn callback: ydot = f(t, y, p)."""
    return run(word(table(), RHS), t, elements(y), user_data, 0, 0, elements(ydot), table() + WORD * N)


def cv_jtimes(v: Address, Jv: Address, t: float, y: Address, fy: Address, user_data: Address, tmp: Address) -> Int32:
    """The CVLsJacTimesVecFn callback: Jv = df/dy v."""
    product = word(table(), PRODUCT)
    return run(product, t, elements(y), user_data, elements(v), 0, elements(Jv), table() + WORD * N)


def cv_rhs_b(t: float, y: Address, yB: Address, yBdot: Address, user_dataB: Address) -> Int32:
    """The CVRhsFnB callback: yBdot = -(df/dy)^T yB."""
    adjoint = word(table(), ADJOINT)
    return run(adjoint, t, elements(y), user_dataB, elements(yB), 0, elements(yBdot), table() + WORD * N)


def cv_quad_rhs_b(t: float, y: Address, yB: Address, qBdot: Address, user_dataB: Address) -> Int32:
    """The CVQuadRhsFnB callback: qBdot = (df/dp)^T yB."""
    quadrature = word(table(), QUADRATURE)
    return run(quadrature, t, elements(y), user_dataB, elements(yB), 0, elements(qBdot), table() + WORD * SIZE)


def cv_sens_rhs(
    Ns: Int32, t: float, y: Address, ydot: Address, yS: Address, ySdot: Address, user_data: Address, tmp1: Address,
    tmp2: Address,
) -> Int32:  # fmt: skip
    """The CVSensRhsFn callback: ySdot[i] = df/dy yS[i] + df/dp[i], for the first Ns elements of the parameters."""
    size = word(table(), SIZE)
    if Ns > size or (Ns > 0 and (yS == 0 or ySdot == 0)):
        return -1
    direction = allocate(WORD * size)
    if direction == 0:
        return -1
    for k in range(size):
        set_real(direction, k, 0.0)
    found = 0
    for i in range(Ns):
        if found == 0:
            set_real(direction, i, 1.0)
            out = elements(word(ySdot, i))
            tangent = word(table(), TANGENT)
            found = run(tangent, t, elements(y), user_data, elements(word(yS, i)), direction, out, table() + WORD * N)
            set_real(direction, i, 0.0)
    release(direction)
    return found


def is_wide(content: Address) -> bool:
    """Does the content of a square matrix have indices of 64 bits?"""
    return word(content, 0) == word(table(), N) and word(content, 1) == word(table(), N)


def is_fitting(content: Address) -> bool:
    """Does a matrix have as many rows and columns as there are states?"""
    n = word(table(), N)
    return is_wide(content) or (int32(content, 0) == n and int32(content, 1) == n)


def put_indices(target: Address, source: Address, count: int, wide: bool) -> None:
    """Copy indices to the solver's memory, as 64-bit integers if `wide`."""
    if not wide:
        copy(target, source, 4 * count)
        return
    for k in range(count):
        set_word(target, k, int32(source, k))


def put_sparse(matrix: Address, values: Address, is_transposed: bool) -> int:
    """Store values and pattern in a SUNMATRIX_SPARSE, by rows or by columns; return 0, or -1 if it is too small."""
    content = word(matrix, 0)
    n = word(table(), N)
    entries = word(table(), ENTRIES)
    if not is_fitting(content):
        return -1
    wide = is_wide(content)
    room = word(content, 2) if wide else int32(content, 2)
    first = 4 if wide else 2
    data = word(content, first)
    by_rows = int32(content, 2 * first + 2) == BY_ROWS
    if is_transposed:
        by_rows = not by_rows
    if room < entries or data == 0 or word(content, first + 2) == 0 or word(content, first + 3) == 0:
        return -1
    if by_rows:
        copy(data, values, WORD * entries)
    else:
        for k in range(entries):
            set_real(data, k, real(values, int32(word(table(), ORDER), k)))
    put_indices(word(content, first + 2), word(table(), COLUMNS if by_rows else ROWS), entries, wide)
    put_indices(word(content, first + 3), word(table(), ROW_POINTERS if by_rows else COLUMN_POINTERS), n + 1, wide)
    return 0


def put_dense(matrix: Address, values: Address, is_transposed: bool) -> int:
    """Store values in a SUNMATRIX_DENSE, column by column; return 0, or -1 if it has another size."""
    content = word(matrix, 0)
    n = word(table(), N)
    if not is_fitting(content):
        return -1
    data = word(content, 2) if is_wide(content) else word(content, 1)
    if data == 0:
        return -1
    for k in range(n * n):
        set_real(data, k, 0.0)
    for k in range(word(table(), ENTRIES)):
        i = int32(word(table(), ENTRY_ROWS), k)
        j = int32(word(table(), COLUMNS), k)
        set_real(data, n * i + j if is_transposed else n * j + i, real(values, k))
    return 0


def fill(t: float, y: Address, matrix: Address, user_data: Address, kind: int, cj: float, is_dense: bool) -> int:
    """Store a Jacobian in a matrix, by kind: df/dy, cj - df/dy (of yp - f), or -(df/dy)^T."""
    entries = word(table(), ENTRIES)
    if matrix == 0 or word(matrix, 0) == 0:
        return -1
    values = allocate(WORD * entries)
    if values == 0:
        return -1
    jacobian = word(table(), JACOBIAN)
    found = run(jacobian, t, elements(y), user_data, 0, 0, values, table() + WORD * ENTRIES)
    if found == 0 and kind != FORWARD:
        for k in range(entries):
            set_real(values, k, -real(values, k))
    if found == 0 and kind == RESIDUAL:
        for k in range(word(table(), N)):
            place = int32(word(table(), DIAGONAL), k)
            set_real(values, place, real(values, place) + cj)
    if found == 0:
        turned = kind == BACKWARD
        found = put_dense(matrix, values, turned) if is_dense else put_sparse(matrix, values, turned)
    release(values)
    return found


def cv_jac(
    t: float, y: Address, fy: Address, Jac: Address, user_data: Address, tmp1: Address, tmp2: Address, tmp3: Address
) -> Int32:
    """The CVLsJacFn callback for SUNMATRIX_SPARSE: df/dy."""
    return fill(t, y, Jac, user_data, FORWARD, 0.0, False)


def cv_jac_dense(
    t: float, y: Address, fy: Address, Jac: Address, user_data: Address, tmp1: Address, tmp2: Address, tmp3: Address
) -> Int32:
    """The CVLsJacFn callback for SUNMATRIX_DENSE: df/dy."""
    return fill(t, y, Jac, user_data, FORWARD, 0.0, True)


def cv_jac_b(
    t: float, y: Address, yB: Address, fyB: Address, JacB: Address, user_dataB: Address, tmp1B: Address,
    tmp2B: Address, tmp3B: Address,
) -> Int32:  # fmt: skip
    """The CVLsJacFnB callback for SUNMATRIX_SPARSE: -(df/dy)^T."""
    return fill(t, y, JacB, user_dataB, BACKWARD, 0.0, False)


def cv_jac_b_dense(
    t: float, y: Address, yB: Address, fyB: Address, JacB: Address, user_dataB: Address, tmp1B: Address,
    tmp2B: Address, tmp3B: Address,
) -> Int32:  # fmt: skip
    """The CVLsJacFnB callback for SUNMATRIX_DENSE: -(df/dy)^T."""
    return fill(t, y, JacB, user_dataB, BACKWARD, 0.0, True)


def ida_res(tt: float, yy: Address, yp: Address, rr: Address, user_data: Address) -> Int32:
    """The IDAResFn callback: rr = yp - f(tt, yy, p)."""
    out = elements(rr)
    slope = elements(yp)
    if slope == 0:
        return -1
    found = run(word(table(), RHS), tt, elements(yy), user_data, 0, 0, out, table() + WORD * N)
    if found == 0:
        for k in range(word(table(), N)):
            set_real(out, k, real(slope, k) - real(out, k))
    return found


def ida_jac(
    t: float, c_j: float, y: Address, yp: Address, r: Address, Jac: Address, user_data: Address, tmp1: Address,
    tmp2: Address, tmp3: Address,
) -> Int32:  # fmt: skip
    """The IDALsJacFn callback for SUNMATRIX_SPARSE: c_j - df/dy."""
    return fill(t, y, Jac, user_data, RESIDUAL, c_j, False)


def ida_jac_dense(
    t: float, c_j: float, y: Address, yp: Address, r: Address, Jac: Address, user_data: Address, tmp1: Address,
    tmp2: Address, tmp3: Address,
) -> Int32:  # fmt: skip
    """The IDALsJacFn callback for SUNMATRIX_DENSE: c_j - df/dy."""
    return fill(t, y, Jac, user_data, RESIDUAL, c_j, True)


def ida_jtimes(
    tt: float, yy: Address, yp: Address, rr: Address, v: Address, Jv: Address, c_j: float, user_data: Address,
    tmp1: Address, tmp2: Address,
) -> Int32:  # fmt: skip
    """The IDALsJacTimesVecFn callback: Jv = c_j v - df/dy v."""
    out = elements(Jv)
    given = elements(v)
    found = run(word(table(), PRODUCT), tt, elements(yy), user_data, given, 0, out, table() + WORD * N)
    if found == 0:
        for k in range(word(table(), N)):
            set_real(out, k, c_j * real(given, k) - real(out, k))
    return found
