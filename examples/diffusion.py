"""Smoothing a signal on a graph: a sparse model for C, with a sparse matrix in and another one out.

    energy(D, x, y, w) = ½|x − y|² + ½ Σ w[e]·(D x)[e]²      and its derivative along x
    flows(D, x, w)     = diag(w) D diag(x), a sparse matrix: what each end of an edge gives to it

D has a row per edge of the graph, with −1 at the node where the edge begins and 1 at the one where it ends.
`examples/c_client/sparse.c` calls both; run this file to do the same from Python.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as ss
from scipy.sparse.linalg import spsolve

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at

D = sp.csr_matrix("D", dtype="float64", shape=("edges", "nodes"))
x, y = at.vector("x", shape=("nodes",)), at.vector("y", shape=("nodes",))
w = at.vector("w", shape=("edges",))
value = ((x - y) ** 2).sum() / 2 + (w * (D @ x) ** 2).sum() / 2
energy = aot.function([D, x, y, w], {"value": value, "derivative": aot.grad(value, x)}, name="energy")
flows = aot.function([D, x, w], {"F": sp.col_scale(sp.row_scale(D, w), x)}, name="flows")


def differences(rows: int, columns: int) -> ss.csr_matrix:
    """D of a grid, whose nodes are numbered row by row."""
    node = np.arange(rows * columns).reshape(rows, columns)
    pairs = [(node[:, :-1], node[:, 1:]), (node[:-1], node[1:])]
    begin, end = (np.concatenate([pair[side].ravel() for pair in pairs]) for side in (0, 1))
    edge = np.arange(len(begin))
    signs = np.repeat([-1.0, 1.0], len(begin))
    return ss.csr_matrix((signs, (np.tile(edge, 2), np.concatenate([begin, end]))), shape=(len(edge), node.size))


if __name__ == "__main__":
    edges = differences(20, 30)
    signal = np.sin(np.arange(600) / 40) + np.random.default_rng(0).normal(0, 0.3, 600)
    weights = np.full(edges.shape[0], 2.0)
    laplacian = edges.T @ edges.multiply(weights[:, None])
    smooth = spsolve((ss.identity(600) + laplacian).tocsc(), signal)  # where the derivative is 0
    found = energy(edges, smooth, signal, weights)
    through = flows(edges, smooth, weights)["F"]
    print(f"energy {energy(edges, signal, signal, weights)['value']:.3f} -> {found['value']:.3f}")
    print(f"largest derivative there: {abs(found['derivative']).max():.0e}")
    largest = abs(through.sum(axis=1)).max()
    print(f"flows: {type(through).__name__} of {through.nnz} entries, largest through an edge {largest:.3f}")
