"""Models for libraries that allocate nothing, and a program of C that calls them by their typed entries."""

from __future__ import annotations

from typing import Final

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.gradient import grad

N, P = 33, 7

CALLS: Final = f"""
enum {{ N = {N}, P = {P} }};
static double X[N * P], y[N], w[P], loss, grad_w[P], C[P * P], s[N], data[N];
static float I[N * 20], V[20 * 16], W[16 * 4], l2, g1[20 * 16], g2[16 * 4];
static int32_t indices[N], indptr[N + 1];
static _Alignas(64) char workspace[1 << 16];
static const aotensor_sparse S = {{data, indices, indptr, N, {{N, P}}, AOTENSOR_FLOAT64, AOTENSOR_INT32}};
static void fill(void) {{
  for (int k = 0; k < N * P; k++) X[k] = (k * 37 % 101) / 33.0 - 1.5;
  for (int k = 0; k < N; k++) y[k] = k % 3 ? 1 : -1, data[k] = k / 7.0, indices[k] = k * 5 % P, indptr[k + 1] = k + 1;
  for (int k = 0; k < P; k++) w[k] = k / 5.0 - 0.5;
  for (int k = 0; k < N * 20; k++) I[k] = (float)(k * 31 % 97) / 65 - 0.75f;
  for (int k = 0; k < 20 * 16; k++) V[k] = (float)(k * 29 % 89) / 63 - 0.75f;
  for (int k = 0; k < 16 * 4; k++) W[k] = (float)(k * 23 % 83) / 61 - 0.75f;
}}
static int call_all(void *memory) {{
  return logistic(N, P, X, y, w, &loss, grad_w, memory) | product(N, P, X, X, C, memory)
       | spmv(N, P, &S, w, s, memory) | mlp(N, I, V, W, &l2, g1, g2, memory);
}}
"""
"""`call_all` calls all functions on what `fill` has written; `workspace` is large enough for each."""


def functions() -> list[aot.Function]:
    """Value and gradient of a logistic loss, Aᵀ·A, a sparse product, value and gradients of a perceptron."""
    X, y, w = at.matrix("X", shape=("n", "p")), at.vector("y", shape=("n",)), at.vector("w", shape=("p",))
    loss = at.softplus(-y * (X @ w)).mean()
    A, B = at.matrix("A", shape=("k", "m")), at.matrix("B", shape=("k", "m"))
    S = sp.csr_matrix("S", dtype="float64", shape=("n", "p"))
    images, V, W = (
        at.matrix(name, dtype="float32", shape=shape)
        for name, shape in (("I", ("b", 20)), ("V", (20, 16)), ("W", (16, 4)))
    )
    last = at.tanh(images @ V) @ W
    l2 = (last * last).mean()
    return [
        aot.function([X, y, w], {"loss": loss, "grad_w": grad(loss, w)}, name="logistic"),
        aot.function([A, B], A.T @ B, name="product"),
        aot.function([S, w], S @ w, name="spmv"),
        aot.function([images, V, W], {"l2": l2, "g1": grad(l2, V), "g2": grad(l2, W)}, name="mlp"),
    ]
