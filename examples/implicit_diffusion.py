"""Heat in a plate, step by step with backward Euler, and how its end depends on the conductivity everywhere.

    (I + dt·L(k))·u[t + 1] = u[t],      L(k) = Dᵀ·diag(k)·D

D has a row per pair of neighbours on a grid, k is the conductivity between them. The matrix is factorised once for all
steps and their gradient; since its pattern is known, so is the order of elimination when this is compiled.

`misfit` is the mean square of what u at the end differs by from what was measured, with its gradient in k.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as ss

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at

SIDE, STEPS, DT = 12, 6, 0.4


def differences(side: int) -> ss.csr_matrix:
    """D of a square grid, whose nodes are numbered row by row."""
    node = np.arange(side * side).reshape(side, side)
    pairs = [(node[:, :-1], node[:, 1:]), (node[:-1], node[1:])]
    begin, end = (np.concatenate([pair[k].ravel() for pair in pairs]) for k in (0, 1))
    edge = np.arange(len(begin))
    signs = np.repeat([-1.0, 1.0], len(begin))
    return ss.csr_matrix((signs, (np.tile(edge, 2), np.concatenate([begin, end]))), shape=(len(edge), side * side))


def assembly(D: ss.csr_matrix) -> tuple[ss.csr_matrix, ss.csr_matrix]:
    """The pattern of I + L(k) as a matrix, and what each k adds to each of its entries: one entry of DᵀD at a time."""
    nodes = D.shape[1]
    pattern = (ss.identity(nodes) + abs(D).T @ abs(D)).tocsr()
    pattern.sort_indices()
    number = pattern.copy()
    number.data = np.arange(pattern.nnz, dtype=float)
    ends = D.indices.reshape(-1, 2)
    rows, columns = np.repeat(ends, 2, axis=1).ravel(), np.tile(ends, 2).ravel()
    entries = np.asarray(number[rows, columns]).ravel().astype(int)
    signs = np.tile([1.0, -1.0, -1.0, 1.0], len(ends))
    return pattern, ss.csr_matrix(
        (signs, (entries, np.repeat(np.arange(len(ends)), 4))), shape=(pattern.nnz, len(ends))
    )


D = differences(SIDE)
PATTERN, ADDED = assembly(D)
DIAGONAL = (PATTERN.tocoo().row == PATTERN.tocoo().col).astype(float)

k = at.vector("k", dtype="float64", shape=(D.shape[0],))
start = at.vector("start", dtype="float64", shape=(SIDE * SIDE,))
measured = at.vector("measured", dtype="float64", shape=(SIDE * SIDE,))
values = DIAGONAL + DT * sp.dot(sp.as_sparse(ADDED), k)
A = sp.CSR(values, PATTERN.indices, PATTERN.indptr, np.array(PATTERN.shape))
u, _ = aot.scan(lambda now: sp.spsolve(A, now), outputs_info=[start], n_steps=STEPS)
cost = ((u[-1] - measured) ** 2).mean()
diffuse = aot.function([k, start], u[-1], name="diffuse")
misfit = aot.function([k, start, measured], {"cost": cost, "gradient": aot.grad(cost, k)}, name="misfit")


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    heat = np.zeros((SIDE, SIDE))
    heat[3:6, 4:8] = 1.0
    truth = 1.0 + 0.5 * np.sin(np.arange(D.shape[0]) / 20)
    end = diffuse(truth, heat.ravel())
    print(f"heat in the plate {heat.sum():.6f}, at the end {end.sum():.6f}")
    guess, rate = np.ones_like(truth), 2000.0
    for _ in range(200):
        found = misfit(guess, heat.ravel(), end)
        guess = guess - rate * found["gradient"]
    first = misfit(np.ones_like(truth), heat.ravel(), end)["cost"]
    print(f"misfit {first:.2e} -> {found['cost']:.2e}")
    step = 1e-6 * rng.normal(size=len(truth))
    cold = np.zeros_like(end)
    low, middle, high = (misfit(truth + s * step, heat.ravel(), cold) for s in (-1, 0, 1))
    print(f"derivative {middle['gradient'] @ step:.6e}, by difference {(high['cost'] - low['cost']) / 2:.6e}")
