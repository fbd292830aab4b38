"""What is needed at stored entries only is computed there only: no array of m·n elements is made for a gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as ss

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.core.types import Array
from aotensor.gradient import grad
from aotensor.graph.variable import Variable
from aotensor.sparse.sample import sample_at

ROWS, COLUMNS, INNER = 7, 5, 3
FULL, TURNED = f"tensor<{ROWS}x{COLUMNS}x", f"tensor<{COLUMNS}x{ROWS}x"
BOTH = pytest.mark.parametrize("format", ["csr", "csc"])

Program = Callable[..., Variable]


class Setting:
    """A sparse matrix that is made of its data, dense matrices and vectors beside it, and values of all."""

    def __init__(self, format: str, rng: np.random.Generator) -> None:
        value = ss.random(ROWS, COLUMNS, 0.4, format=format, random_state=3)
        self.data, indices, indptr = at.dvector("data"), at.ivector("indices"), at.ivector("indptr")
        self.A = sp.CSM(format)(self.data, indices, indptr, (ROWS, COLUMNS))
        shapes = {
            "L": (ROWS, INNER),
            "R": (COLUMNS, INNER),
            "u": (ROWS,),
            "v": (COLUMNS,),
            "s": (),
            "one": (1, COLUMNS),
        }
        self.dense = {name: at.tensor(name, dtype="float64", shape=shape) for name, shape in shapes.items()}
        self.inputs = [self.data, indices, indptr, *self.dense.values()]
        arrays = [rng.normal(size=shape) for shape in shapes.values()]
        self.values: list[Any] = [value.data, value.indices, value.indptr, *arrays]

    def check(self, result: Variable) -> None:
        """The compiled function agrees with the reference, and makes no array of the shape of A."""
        f = aot.function(self.inputs, result, on_unused_input="ignore")
        text = f.ir("tensor-opt")
        assert FULL not in text and TURNED not in text
        expected: Array = f.reference(*self.values)
        np.testing.assert_allclose(f(*self.values), expected, rtol=1e-12, atol=1e-13)


LOSSES: dict[str, Program] = {
    "vector": lambda A, v, **_: (sp.dot(A, v) ** 2).sum(),
    "from-vector": lambda A, u, **_: at.tanh(sp.dot(u, A)).sum(),
    "matrix": lambda A, R, **_: (sp.dot(A, R) ** 2).sum(),
    "from-matrix": lambda A, L, **_: (sp.dot(L.T, A) ** 3).mean(),
    "sum-of-terms": lambda A, R, v, u, **_: (
        (sp.dot(A, R) ** 2).sum() + 3 * sp.dot(A, v).sum() - (sp.dot(u, A) ** 2).sum()
    ),
    "twice": lambda A, R, L, **_: (sp.dot(A, sp.dot(L.T, A).T) ** 2).sum(),
    "chain": lambda A, v, u, **_: at.dot(u, A @ (v * at.dot(u, A @ v))),
    "total": lambda A, **_: sp.sp_sum(A) ** 2,
    "sums": lambda A, v, u, **_: (sp.sp_sum(A, 0) * v).sum() + (sp.sp_sum(-A.T, 0) * u).sum(),
    "sums-of-products": lambda A, v, u, **_: (sp.sp_sum(A * A * v, 1) * u).sum(),
}


@pytest.mark.shows("sparse/13-masked-gradient")
@BOTH
@pytest.mark.parametrize("name", LOSSES)
def test_the_gradient_of_data_is_never_a_full_matrix(name: str, format: str, rng: np.random.Generator) -> None:
    it = Setting(format, rng)
    it.check(grad(LOSSES[name](A=it.A, **it.dense), it.data))


@pytest.mark.shows("sparse/13-structured_dot_grad")
@BOTH
def test_the_structured_gradient_is_made_of_entries(format: str, rng: np.random.Generator) -> None:
    it = Setting(format, rng)
    product = sp.structured_dot(it.A, it.dense["R"])
    it.check(grad((product**2).sum() + at.dot(it.dense["u"], it.A).sum(), it.data))


@BOTH
def test_second_derivatives_are_sampled_too(format: str, rng: np.random.Generator) -> None:
    it = Setting(format, rng)
    derivative = grad((sp.dot(it.A, it.dense["R"]) ** 3).sum(), it.data)
    it.check(grad((derivative**2).sum(), it.data))


MATRICES: dict[str, Program] = {
    "product": lambda L, R, **_: L @ R.T,
    "turned": lambda L, R, **_: (R @ L.T).T,
    "tensordot": lambda L, R, **_: at.tensordot(L, R, axes=[[1], [1]]),
    "outer": lambda u, v, **_: at.outer(u, v),
    "scaled": lambda L, R, **_: -2 * (L @ R.T),
    "elementwise": lambda L, R, s, **_: at.exp(L @ R.T) * s + 1,
    "broadcast": lambda L, R, u, v, **_: (L @ R.T) * u[:, None] + v,
    "switch": lambda L, R, one, **_: at.switch(one > 0, L @ R.T, one),
    "cast": lambda L, R, **_: at.cast(L @ R.T, "float32"),
    "terms": lambda L, R, u, v, **_: (L @ R.T - (R @ L.T).T) * at.outer(u, v),
    "repeated": lambda v, **_: at.zeros((ROWS, COLUMNS)) + v,
    "constant": lambda u, **_: at.full((ROWS, COLUMNS), u.sum()),
}


@BOTH
@pytest.mark.parametrize("name", MATRICES)
def test_a_sample_is_taken_of_what_a_matrix_is_made_of(name: str, format: str, rng: np.random.Generator) -> None:
    it = Setting(format, rng)
    it.check(sample_at(MATRICES[name](**it.dense), it.A))


@BOTH
def test_a_matrix_that_is_there_is_read(format: str, rng: np.random.Generator) -> None:
    it = Setting(format, rng)
    D = at.dmatrix("D")
    f = aot.function([*it.inputs, D], sample_at(at.exp(D.T) * 2, it.A), on_unused_input="ignore")
    value = rng.normal(size=(COLUMNS, ROWS))
    np.testing.assert_allclose(f(*it.values, value), f.reference(*it.values, value), rtol=1e-13)
    with pytest.raises(ValueError, match=r"sample\(.*: extents.* differ"):
        f(*it.values, value[:, 1:])
    with pytest.raises(ValueError, match="shapes"):
        f.reference(*it.values, value[:, 1:])


def test_extents_are_checked_on_what_a_matrix_is_made_of(rng: np.random.Generator) -> None:
    it = Setting("csr", rng)
    L, R = at.dmatrices("L0", "R0")
    f = aot.function([*it.inputs, L, R], sample_at(L @ R.T, it.A), on_unused_input="ignore")
    left, right = rng.normal(size=(ROWS, 2)), rng.normal(size=(COLUMNS, 2))
    np.testing.assert_allclose(f(*it.values, left, right), f.reference(*it.values, left, right), rtol=1e-13)
    for wrong in [(left[1:], right), (left, right[1:]), (left[:, 1:], right)]:
        with pytest.raises(ValueError, match="differ"):
            f(*it.values, *wrong)
