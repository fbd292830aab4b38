"""Sparse inputs of declared pattern, `aot.In(A, pattern=P)`: constants of the program, checked at each call."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as ss

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.sampling.samples import Sampler
from aotensor_runtime import load
from aotensor_runtime.typed.patterns import constant_inputs, recorded_pattern

P = ss.csr_matrix(np.array([[0, 1, 0, 0], [1, 0, 0, 1], [0, 0, 0, 0], [0, 1, 1, 0], [0, 0, 0, 1]]))


def model(form: str, dtype: str = "float64", pattern: Any = P) -> aot.Function:
    A, x = getattr(sp, f"{form}_matrix")("A", dtype=dtype, shape=P.shape), at.vector("x", shape=(4,), dtype=dtype)
    return aot.function([aot.In(A, pattern=pattern), x], {"y": A @ x, "S": A * 2, "T": sp.true_dot(A, A.T)}, name="f")


@pytest.mark.parametrize("form", ["csr", "csc"])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_patterns_of_outputs_follow(form: str, dtype: str) -> None:
    f, rng = model(form, dtype), np.random.default_rng(0)
    A = P.astype(dtype).asformat(form)
    A.data[:] = rng.normal(size=A.nnz) + (1j * rng.normal(size=A.nnz) if dtype == "complex128" else 0)
    x = rng.normal(size=4).astype(dtype)
    found = f(A, x)
    np.testing.assert_allclose(found["y"], A @ x, rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(found["T"].toarray(), (A @ A.T).toarray(), rtol=1e-14, atol=1e-15)
    assert np.array_equal(f.pattern("S").toarray(), P.toarray())
    assert np.array_equal(f.pattern("T").toarray(), (P @ P.T).toarray() != 0)
    for sample in Sampler(f, 1).samples(3):
        assert np.array_equal(sample.arrays["A"].indptr, A.indptr)
        np.testing.assert_allclose(f(**sample.arrays)["y"], f.reference(**sample.arrays)["y"], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("is_compiled", [True, False])
def test_calls_with_other_patterns_are_refused(is_compiled: bool) -> None:
    f = model("csr")
    call, x = (f if is_compiled else f.reference), np.ones(4)
    moved, longer = P.toarray(), P.toarray()
    moved[0], longer[2, 0] = [1, 0, 0, 0], 1
    with pytest.raises(ValueError, match="the stored entries of A are at other places than in its declared pattern"):
        call(moved, x)
    with pytest.raises(ValueError, match="the pattern of A has 6 stored entries, not 7"):
        call(longer, x)
    A = P.astype("float64").tocoo()
    shuffled = ss.csr_matrix(ss.coo_matrix((A.data[::-1], (A.row[::-1], A.col[::-1])), shape=A.shape))
    assert np.array_equal(call(shuffled, x)["y"], P @ x)


def test_header_and_manifest_have_the_pattern(tmp_path: Path) -> None:
    made = aot.compile(model("csc"), tmp_path, opt_level=0)
    header = made.header.read_text()
    assert "Where the stored entries of A must be" in header
    assert "#define F_A_NNZ 6" in header and "f_A_indptr[5]" in header and "f_A_columns[6]" in header
    library = load(made.library)
    (value,) = constant_inputs(library.f.spec)
    found = recorded_pattern(library.f.spec, value, is_input=True)
    assert found is not None and found.indices == P.tocsc().indices.tolist()
    assert found.indptr == P.tocsc().indptr.tolist()
    assert "A: csc float64[5, 4] (constant pattern)" in str(library.f.__doc__)
    with pytest.raises(ValueError, match="the stored entries of A are at other places"):
        library.f(P[::-1].tocsc().astype("float64"), np.ones(4))


def test_a_copy_keeps_its_pattern() -> None:
    f = pickle.loads(pickle.dumps(model("csr", pattern=P.toarray() != 0)))
    assert f.pattern("S").nnz == 6
    other = model("csr", pattern=np.ones((5, 4)))
    assert other.pattern("S").nnz == 20
    assert np.array_equal(other(ss.csr_matrix(np.ones((5, 4))), np.ones(4))["y"], np.full(5, 4.0))


def test_patterns_that_do_not_fit() -> None:
    A, open_ended, x = (
        sp.csr_matrix("A", shape=(5, 4)),
        sp.csr_matrix("B", shape=("n", 4)),
        at.matrix("x", shape=(5, 4)),
    )
    blocks = sp.bsr_matrix("C", shape=(4, 4), blocksize=(2, 2))
    with pytest.raises(GraphValueError, match=r"In\(A\): pattern is 4 x 5, and the matrix is 5 x 4"):
        aot.In(A, pattern=P.T)
    with pytest.raises(GraphTypeError, match="pattern must be a SciPy sparse matrix, not str 'dense'"):
        aot.In(A, pattern="dense")
    for variable, what in (
        (x, "for CSR and CSC matrices, not for float64"),
        (blocks, "for CSR and CSC matrices, not for bsr"),
    ):
        with pytest.raises(GraphTypeError, match=what):
            aot.In(variable, pattern=P)
    with pytest.raises(GraphTypeError, match="a matrix with a pattern must have a static shape"):
        aot.In(open_ended, pattern=P)
