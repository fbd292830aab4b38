"""Factorisations, recursions and triangular systems. Arguments and order of results are NPBench's."""

from __future__ import annotations

from tools.judges.npbench.loops import repeated, rows

import aotensor.tensor as at
from aotensor.tensor import Variable

Results = tuple[Variable, ...]


def cholesky(A: Variable) -> Results:
    """The Cholesky factor, with the strictly upper triangle of A.   A: (n, n), symmetric, of which the lower is read"""
    return (at.cholesky(A) + at.triu(A, 1),)


def lu(A: Variable) -> Results:
    """L and U of A = L U without pivots, in one matrix.   A: (n, n)"""
    index = at.arange(A.shape[0])

    def step(k: Variable, A: Variable) -> Variable:
        below = index > k
        column = at.where(below, A[:, k] / A[k, k], A[:, k])
        A = at.set_subtensor(A[:, k], column)
        return A - at.outer(at.where(below, column, 0.0), at.where(below, A[k], 0.0))

    return tuple(repeated(step, [A], sequences=[index[:-1]]))


def ludcmp(A: Variable, b: Variable) -> Results:
    """x of A x = b, y of L y = b, and L and U in one matrix.   A: (n, n), b: (n)"""
    [both] = lu(A)
    y = at.solve_triangular(both, b, lower=True, unit_diagonal=True)
    return at.solve_triangular(both, y), y, both


def gramschmidt(A: Variable) -> Results:
    """Q, R, and the rest of the columns of A, by the modified process.   A: (m, n)"""
    index = at.arange(A.shape[1])

    def step(k: Variable, A: Variable) -> tuple[Variable, Variable, Variable]:
        column = A[:, k]
        norm = at.sqrt(at.dot(column, column))
        q = column / norm
        products = at.where(index > k, q @ A, 0.0)
        return q, at.where(at.eq(index, k), norm, products), A - at.outer(q, products)

    q, r, left = rows(step, [index], [None, None, A])
    return q.T, r, left[-1]


def durbin(r: Variable) -> Results:
    """The solution of the Yule-Walker equations, by Durbin's recursion.   r: (n)"""
    index = at.arange(r.shape[0])
    backwards = at.flip(r)

    def step(k: Variable, y: Variable, alpha: Variable, beta: Variable) -> tuple[Variable, ...]:
        known = index < k
        beta = beta * (1.0 - alpha * alpha)
        alpha = -(r[k] + at.dot(at.where(known, at.roll(backwards, k), 0.0), y)) / beta
        y = y + alpha * at.where(known, at.roll(at.flip(y), k), 0.0)
        return at.set_subtensor(y[k], alpha), alpha, beta

    start = at.set_subtensor(at.zeros_like(r)[0], -r[0])
    return (repeated(step, [start, -r[0], at.ones((), dtype=r.dtype)], sequences=[index[1:]])[0],)


def trisolv(L: Variable, x: Variable, b: Variable) -> Results:
    """x of L x = b, of the lower triangle of L.   L: (n, n), b: (n)"""
    return (at.solve_triangular(L, b, lower=True),)
