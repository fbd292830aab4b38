"""Solutions with one triangle of a compressed matrix, whose entries may be in any order and repeated.

`sign` is 1 where slices are solved with from the first one on, −1 from the last one on: an entry says something of
slice j if its index i has sign·(i − j) > 0 in the form by columns, < 0 in the form by rows. x holds the right-hand
side, n rows of `many`, and becomes the solution. Each gives the first slice without a diagonal, plus 1, or 0.
"""

from __future__ import annotations

from aotensor.kernels.language import Index, Indices, Reals


def solve_by_columns(
    n: Index, many: Index, sign: Index, unit: Index, indptr: Indices, indices: Indices, data: Reals, x: Reals
) -> Index:
    """Solve in place if slice j is column j: once x[j] is known, it is subtracted in all rows where the column has
    entries.
    """
    failure = 0
    for k in range(n):
        j = n - 1 - k if sign < 0 else k
        if unit == 0:
            diagonal = 0.0
            for p in range(indptr[j], indptr[j + 1]):
                if indices[p] == j:
                    diagonal += data[p]
            if diagonal == 0.0:
                if failure == 0:
                    failure = j + 1
            else:
                for e in range(many):
                    x[j * many + e] = x[j * many + e] / diagonal
        if many == 1:
            value = x[j]
            for p in range(indptr[j], indptr[j + 1]):
                i = indices[p]
                if sign * (i - j) > 0:
                    x[i] -= data[p] * value
        else:
            for p in range(indptr[j], indptr[j + 1]):
                i = indices[p]
                if sign * (i - j) > 0:
                    factor = data[p]
                    for e in range(many):
                        x[i * many + e] = x[i * many + e] - factor * x[j * many + e]
    return failure


def solve_by_rows(
    n: Index, many: Index, sign: Index, unit: Index, indptr: Indices, indices: Indices, data: Reals, x: Reals
) -> Index:
    """Solve in place if slice j is row j: x[j] follows from the elements that are solved already."""
    failure = 0
    for k in range(n):
        j = n - 1 - k if sign < 0 else k
        diagonal = 0.0
        if many == 1:
            value = x[j]
            for p in range(indptr[j], indptr[j + 1]):
                i = indices[p]
                if i == j:
                    diagonal += data[p]
                elif sign * (i - j) < 0:
                    value -= data[p] * x[i]
            x[j] = value
        else:
            for p in range(indptr[j], indptr[j + 1]):
                i, factor = indices[p], data[p]
                if i == j:
                    diagonal += factor
                elif sign * (i - j) < 0:
                    for e in range(many):
                        x[j * many + e] = x[j * many + e] - factor * x[i * many + e]
        if unit == 0:
            if diagonal == 0.0:
                if failure == 0:
                    failure = j + 1
            else:
                for e in range(many):
                    x[j * many + e] = x[j * many + e] / diagonal
    return failure
