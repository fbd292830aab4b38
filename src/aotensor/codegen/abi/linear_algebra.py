"""Kernels that replace LAPACK for callers that cannot provide it: float64, with Fortran's calling convention.

A triangle is read by two strides, so that one loop serves both sides, both triangles and both transpositions: B·A
is computed as the transpose of A applied to the rows of B.

Source: Golub & Van Loan, Matrix Computations, 4th ed., algorithms 3.1.1, 3.4.1, 4.2.1.
"""

from __future__ import annotations

from aotensor.codegen.abi.language import Address, byte, int32, real, set_int32, set_real, square_root


def is_letter(flag: Address, letter: int) -> int:
    """1 if a Fortran flag is this capital letter or its lower case, else 0."""
    return 1 if byte(flag, 0) & 223 == letter else 0


def reads_across(side: Address, transposed: Address) -> int:
    """1 if the matrix that multiplies vectors from the left is the transpose of the stored one, else 0."""
    is_right = is_letter(side, 82)
    is_transposed = 1 - is_letter(transposed, 78)
    return is_right ^ is_transposed


def dtrsm(
    side: Address, uplo: Address, transposed: Address, diagonal: Address, rows: Address, columns: Address,
    alpha: Address, a: Address, lda: Address, b: Address, ldb: Address,
) -> None:  # fmt: skip
    """B = alpha A^-1 B or B = alpha B A^-1, where A is a triangular matrix or its transpose."""
    is_right = is_letter(side, 82)
    across = reads_across(side, transposed)
    is_lower = is_letter(uplo, 76) ^ across
    step_i = int32(lda, 0) if across == 1 else 1
    step_j = 1 if across == 1 else int32(lda, 0)
    n = int32(columns, 0) if is_right == 1 else int32(rows, 0)
    count = int32(rows, 0) if is_right == 1 else int32(columns, 0)
    step = int32(ldb, 0) if is_right == 1 else 1
    next_vector = 1 if is_right == 1 else int32(ldb, 0)
    for k in range(count):
        start = k * next_vector
        for m in range(n):
            i = m if is_lower == 1 else n - 1 - m
            x = real(alpha, 0) * real(b, start + i * step)
            for other in range(m):
                j = other if is_lower == 1 else n - 1 - other
                x = x - real(a, i * step_i + j * step_j) * real(b, start + j * step)
            if is_letter(diagonal, 85) == 0:
                x = x / real(a, i * step_i + i * step_j)
            set_real(b, start + i * step, x)


def dtrmm(
    side: Address, uplo: Address, transposed: Address, diagonal: Address, rows: Address, columns: Address,
    alpha: Address, a: Address, lda: Address, b: Address, ldb: Address,
) -> None:  # fmt: skip
    """B = alpha A B or B = alpha B A, where A is a triangular matrix or its transpose."""
    is_right = is_letter(side, 82)
    across = reads_across(side, transposed)
    is_lower = is_letter(uplo, 76) ^ across
    step_i = int32(lda, 0) if across == 1 else 1
    step_j = 1 if across == 1 else int32(lda, 0)
    n = int32(columns, 0) if is_right == 1 else int32(rows, 0)
    count = int32(rows, 0) if is_right == 1 else int32(columns, 0)
    step = int32(ldb, 0) if is_right == 1 else 1
    next_vector = 1 if is_right == 1 else int32(ldb, 0)
    for k in range(count):
        start = k * next_vector
        for m in range(n):
            i = n - 1 - m if is_lower == 1 else m
            x = real(b, start + i * step)
            if is_letter(diagonal, 85) == 0:
                x = x * real(a, i * step_i + i * step_j)
            for other in range(n - 1 - m):
                j = other if is_lower == 1 else n - 1 - other
                x = x + real(a, i * step_i + j * step_j) * real(b, start + j * step)
            set_real(b, start + i * step, real(alpha, 0) * x)


def dpotrf(uplo: Address, size: Address, a: Address, lda: Address, info: Address) -> None:
    """Replace one triangle by the Cholesky factor; info: 0, or the first column whose pivot is not positive, from 1."""
    is_lower = is_letter(uplo, 76)
    step_i = 1 if is_lower == 1 else int32(lda, 0)
    step_j = int32(lda, 0) if is_lower == 1 else 1
    n = int32(size, 0)
    set_int32(info, 0, 0)
    for j in range(n):
        for i in range(j, n):
            x = real(a, i * step_i + j * step_j)
            for k in range(j):
                x = x - real(a, i * step_i + k * step_j) * real(a, j * step_i + k * step_j)
            if i == j:
                if not x > 0.0:
                    set_int32(info, 0, j + 1)
                    return
                x = square_root(x)
            else:
                x = x / real(a, j * step_i + j * step_j)
            set_real(a, i * step_i + j * step_j, x)


def dgetrf(rows: Address, columns: Address, a: Address, lda: Address, pivots: Address, info: Address) -> None:
    """Replace a matrix by its factors P L U, with partial pivoting; info: 0, or the first zero pivot, from 1."""
    m = int32(rows, 0)
    n = int32(columns, 0)
    step = int32(lda, 0)
    set_int32(info, 0, 0)
    for j in range(m if m < n else n):
        best = j
        for i in range(j + 1, m):
            x = real(a, i + j * step)
            y = real(a, best + j * step)
            if x * x > y * y:
                best = i
        set_int32(pivots, j, best + 1)
        pivot = real(a, best + j * step)
        if pivot == 0.0:
            if int32(info, 0) == 0:
                set_int32(info, 0, j + 1)
            continue
        if best != j:
            for k in range(n):
                x = real(a, j + k * step)
                set_real(a, j + k * step, real(a, best + k * step))
                set_real(a, best + k * step, x)
        for i in range(j + 1, m):
            factor = real(a, i + j * step) / pivot
            set_real(a, i + j * step, factor)
            for k in range(j + 1, n):
                set_real(a, i + k * step, real(a, i + k * step) - factor * real(a, j + k * step))
