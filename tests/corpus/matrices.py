"""Linear algebra: programs that call LAPACK, with gradients and batches."""

from __future__ import annotations

import aotensor.tensor as at
from aotensor.gradient import grad
from aotensor.graph.variable import Variable
from corpus.program import InOut, matrix, program, vector


def _positive(x: Variable) -> Variable:
    """A positive definite matrix, or a batch of them, made of any."""
    return at.matmul(x, at.matrix_transpose(x)) + 3 * at.eye(at.shape_i(x, -2), dtype=x.dtype)


@program
def gaussian_process() -> InOut:
    x, y = matrix("x", "n", "m"), vector("y", "n")
    factor = at.cholesky(_positive(x))
    z = at.solve_triangular(factor, y, lower=True)
    loss = 0.5 * at.sum(z * z) + at.sum(at.log(at.diag(factor)))
    return [x, y], [loss, grad(loss, x), grad(loss, y), factor]


@program
def systems() -> InOut:
    x, b, v = matrix("x", "n", "n"), matrix("b", "n", "k"), vector("v", "n")
    a = x + 12 * at.eye(at.shape_i(x, 0))
    solution = at.solve(a, b)
    cost = at.sum(solution * solution) + at.sum(at.solve(a, v, transposed=True)) + at.sum(at.inv(a))
    return [x, b, v], [solution, at.inv(a), *grad(cost, [x, b, v])]


@program
def determinants() -> InOut:
    x = matrix("x", "l", "n", "n", dtype="float32")
    a = x + 8 * at.eye(at.shape_i(x, 1), dtype="float32")
    sign, logarithm = at.slogdet(a)
    scaled = at.det(a / 8)
    return [x], [sign, logarithm, scaled, grad(at.sum(logarithm), x), grad(at.sum(scaled), x)]


@program
def batched_factors() -> InOut:
    x, b = matrix("x", "l", "n", "m"), matrix("b", "l", "n", "k")
    factor = at.cholesky(_positive(x), lower=False)
    solution = at.solve_triangular(factor, b, trans=1)
    packed, exchanges = at.lu_factor(_positive(x))
    return [x, b], [factor, solution, at.lu_solve((packed, exchanges), b), exchanges, grad(at.sum(solution), x)]


@program
def eigenvectors() -> InOut:
    x = matrix("x", "n", "n")
    a = x + at.matrix_transpose(x) + at.diag(10.0 * at.arange(at.shape_i(x, 0)))
    w, v = at.eigh(a, "U")
    return [x], [w, v, grad(at.sum(at.exp(-w)) + at.sum(v[:1] ** 3), x), at.eigvalsh(a)]


@program
def singular_vectors() -> InOut:
    x = matrix("x", "l", "n", "m")
    u, s, vt = at.svd(x, full_matrices=False)
    full = at.svd(x)
    return [x], [u, s, vt, full[1], grad(at.sum(s * s), x), at.norm(x, "nuc", axis=(1, 2)), at.pinv(x, 1e-9)]


@program
def orthogonal_factors() -> InOut:
    x = matrix("x", "n", "m", dtype="float32")
    q, r = at.qr(x)
    complete = at.qr(x, "complete")
    return [x], [q, r, complete[1], at.qr(x, "r")]


@program
def exponentials() -> InOut:
    x = matrix("x", "l", "n", "n")
    power = at.expm(x)
    return [x], [power, at.matrix_power(x, 3), grad(at.sum(at.expm(x[0])), x)]


@program
def tensor_networks() -> InOut:
    x, y, z = matrix("x", "l", "n", "m"), matrix("y", "m", "k", "n"), matrix("z", "k", "k")
    chain = at.einsum("lnm,mkn,kj->jl", x, y, z)
    return [x, y, z], [chain, at.einsum("jj", z), at.kron(x[0], z), at.block_diag(x[0], z), *grad(chain.sum(), [x, y])]
