"""Products and sums of stacked matrices against SciPy's stacks, and that no stack is made for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.errors import ArgumentValueError

RNG = np.random.default_rng(5)


def drawn(rows: int, columns: int, dtype: str = "float64", format: str = "csr") -> Any:
    found = scipy.sparse.random(rows, columns, 0.5, random_state=rows + columns, format=format)
    found.data = 9 * found.data - 4
    return found.astype(dtype)


A, B = sp.csr_matrix("A", shape=("n", "p")), sp.csc_matrix("B", shape=("n", "q"))
C, D = sp.csr_matrix("C", dtype="int8", shape=("n", 2)), sp.csr_matrix("D", shape=("k", "p"))
G, Z = sp.bsr_matrix("G", shape=("n", "p"), blocksize=(2, 2)), sp.csr_matrix("Z", dtype="complex128", shape=("n", "q"))
W, Y = at.matrix("W"), at.matrix("Y")
VALUES = {
    A: drawn(6, 4), B: drawn(6, 3, format="csc"), C: drawn(6, 2, "int8"), D: drawn(5, 4),
    G: drawn(6, 4).tobsr((2, 2)), Z: drawn(6, 3) * (1 + 2j),
}  # fmt: skip
S = {x.name: value for x, value in VALUES.items()}
H, WIDE = sp.hstack([A, B]), scipy.sparse.hstack([S["A"], S["B"]])
V, HIGH = sp.vstack([A, D], "csr"), scipy.sparse.vstack([S["A"], S["D"]])
MIXED = scipy.sparse.hstack([S["A"].astype("float32"), S["C"].astype("float32")])

PRODUCTS: dict[str, tuple[Any, Any]] = {
    "columns": (H @ W, lambda w: WIDE @ w),
    "transposed": (H.T @ W, lambda w: WIDE.T @ w),
    "left": (W.T @ H, lambda w: w.T @ WIDE),
    "vector": (H @ W[:, 0], lambda w: WIDE @ w[:, 0]),
    "rows": (V @ W, lambda w: HIGH @ w),
    "rows-transposed": (V.T @ W, lambda w: HIGH.T @ w),
    "rows-left": (W[:, 0] @ V, lambda w: w[:, 0] @ HIGH),
    "nested": (sp.hstack([H, A], "csr") @ W, lambda w: scipy.sparse.hstack([WIDE, S["A"]]) @ w),
    "dtype": (sp.hstack([A, C], dtype="float32") @ W, lambda w: MIXED.astype("float64") @ w),
    "blocks": (sp.hstack([G, B]) @ W, lambda w: scipy.sparse.hstack([S["G"], S["B"]]) @ w),
    "complex": (sp.hstack([A, Z]) @ W, lambda w: scipy.sparse.hstack([S["A"], S["Z"]]) @ w),
    "slope": (aot.grad(((H @ W) ** 2).sum(), W), lambda w: 2 * WIDE.T @ (WIDE @ w)),
    **{f"sum-{k}": (sp.sp_sum(H, axis=k) + 0 * W.sum(), lambda w, k=k: WIDE.sum(axis=k)) for k in (None, 0, 1)},
    **{f"sum-rows-{k}": (sp.sp_sum(V, axis=k) + 0 * W.sum(), lambda w, k=k: HIGH.sum(axis=k)) for k in (0, 1)},
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_values(name: str) -> None:
    y, expected = PRODUCTS[name]
    used = [x for x in VALUES if x in aot.graph.walk.leaves([y])]
    f = aot.function([*used, W], y, name="f")
    rows = {"transposed": 6, "left": 6, "rows": 4, "rows-transposed": 11, "rows-left": 11, "nested": 11, "dtype": 6}
    w = RNG.normal(size=(rows.get(name, 7), 3))
    arguments = [VALUES[x] for x in used]
    assert any("of a stack, without the stack" in x.message for x in f.remarks())
    wanted = np.asarray(expected(w)).squeeze()
    for found in (f(*arguments, w), f.reference(*arguments, w)):
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


def test_inner_dimensions_must_agree() -> None:
    f = aot.function([A, B, W], H @ W, name="f")
    for rows in (6, 8):
        with pytest.raises(ArgumentValueError, match=f"inner dimensions differ: W_0 = {rows} and 7"):
            f(VALUES[A], VALUES[B], np.ones((rows, 2)))


def test_blocks_of_unknown_extents_are_stacked() -> None:
    """Rows that are not known to agree are checked where the stack is made; one row is not repeated."""
    one, many = sp.csr_matrix("one", shape=(1, 2)), sp.csr_matrix("many")
    f = aot.function([one, many, W], sp.hstack([one, many]) @ W, name="f")
    assert not any("without the stack" in x.message for x in f.remarks())
    with pytest.raises(ArgumentValueError, match="rows of the blocks differ"):
        f(drawn(1, 2), drawn(3, 2), np.ones((4, 1)))
