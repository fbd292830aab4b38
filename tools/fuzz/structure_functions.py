"""Functions of two sparse matrices and two vectors, all with one C signature, and their NumPy equivalents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from tools.fuzz import oracle
from tools.fuzz.oracle import Array, Matrix

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at

FORMATS: Final = (("csr", "int32"), ("csc", "int64"), ("csc", "int32"), ("csr", "int64"))

_OURS: Final[dict[str, Callable[..., tuple[Any, Any]]]] = {
    "scale": lambda A, B, x, y: (sp.structured_tanh(A), A @ x),
    "both": lambda A, B, x, y: (A + B, sp.sp_sum(A * B, axis=0)),
    "common": lambda A, B, x, y: (A * B, A.T @ y),
    "chain": lambda A, B, x, y: (sp.structured_dot(A, B.T), (A @ x) * y),
    "rows": lambda A, B, x, y: (sp.row_scale(A, y), B @ x),
    "turned": lambda A, B, x, y: (A.T - B.T, sp.sp_sum(A, axis=1)),
    "derivative": lambda A, B, x, y: tuple(aot.grad(0.5 * at.sqr(sp.structured_dot(A, x[:, None])).sum(), [A, x])),
    "cut": lambda A, B, x, y: (A[1:, :-1], sp.dense_from_sparse(A)),
    "sampled": lambda A, B, x, y: (sp.sampling_dot(y[:, None], x[:, None], A), A @ (B.T @ y)),
}
"""In the order of structures.c."""

_MEANINGS: Final[dict[str, Callable[..., tuple[Matrix, Array]]]] = {
    "scale": lambda A, B, x, y: (A.mapped(np.tanh), A.dense @ x),
    "both": lambda A, B, x, y: (oracle.union(A, B), (A.dense * B.dense).sum(axis=0)),
    "common": lambda A, B, x, y: (oracle.common(A, B), A.dense.T @ y),
    "chain": lambda A, B, x, y: (oracle.times(A, B.T), (A.dense @ x) * y),
    "rows": lambda A, B, x, y: (oracle.scaled(A, y[:, None]), B.dense @ x),
    "turned": lambda A, B, x, y: (oracle.union(A.T, B.T.mapped(np.negative)), A.dense.sum(axis=1)),
    "derivative": lambda A, B, x, y: (
        Matrix(np.where(A.stored, np.outer(A.dense @ x, x), 0), A.stored), A.dense.T @ (A.dense @ x)
    ),
    "cut": lambda A, B, x, y: (A[1:, :-1], A.dense),
    "sampled": lambda A, B, x, y: (oracle.sampled(A, np.outer(y, x)), A.dense @ (B.dense.T @ y)),
}  # fmt: skip

NAMES: Final = tuple(_OURS)


def functions(format: str, index_dtype: str) -> list[aot.Function]:
    """Functions of A, B: (n, p), x: (p,) and y: (n,), each with a sparse result S and a dense one d."""
    found = []
    for name, make in _OURS.items():
        A, B = (sp.SparseTensorType(format, "float64", ("n", "p"), index_dtype=index_dtype)() for _ in "AB")
        A.name, B.name = "A", "B"
        x, y = at.vector("x", shape=("p",)), at.vector("y", shape=("n",))
        S, d = make(A, B, x, y)
        found.append(aot.function([A, B, x, y], {"S": S, "d": d}, name=name, on_unused_input="ignore"))
    return found


def meaning(name: str, A: Matrix, B: Matrix, x: Array, y: Array) -> tuple[Matrix, Array]:
    """S and d by NumPy."""
    return _MEANINGS[name](A, B, x, y)


def elements(name: str, n: int, p: int) -> int:
    """The number of elements of d."""
    return {"both": p, "common": p, "derivative": p, "cut": n * p}.get(name, n)


def is_transposed(name: str, format: str) -> bool:
    """Is S in compressed columns?"""
    return (format == "csc") != (name == "turned")
