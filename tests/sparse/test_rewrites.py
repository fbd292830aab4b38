"""Sparse programs made smaller before their ops expand; each rewrite by what is left, and by its values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import scipy.sparse as ss

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.gradient import grad
from aotensor.graph.variable import Variable
from aotensor.graph.walk import evaluate_all, toposort
from aotensor.sparse.rewrites import rewrite_sparse
from aotensor.sparse.sample import sample_at

A, B = (sp.csr_matrix(name, dtype="float64", shape=(4, 3)) for name in "AB")
D, E, s, t = at.dmatrix("D", shape=(4, 3)), at.dmatrix("E", shape=(3, 2)), at.dscalar("s"), at.dscalar("t")
L, R, v = at.dmatrix("L", shape=(4, 2)), at.dmatrix("R", shape=(3, 2)), at.dvector("v", shape=(4,))
LEAVES = [A, B, D, E, s, t, L, R, v]


@pytest.fixture
def values(rng: np.random.Generator) -> dict[Variable, Any]:
    sparse = [ss.random(4, 3, 0.5, format="csr", random_state=seed) for seed in (1, 2)]
    dense = [rng.normal(size=x.static_shape) for x in LEAVES[2:]]
    return dict(zip(LEAVES, [*sparse, *dense], strict=True))


def _names(x: Variable) -> list[str]:
    return [node.op.name for node in toposort([x])]


def _dense(x: Any) -> Any:
    return x.toarray() if ss.issparse(x) else x


def _check(x: Variable, values: dict[Variable, Any], gone: Sequence[str]) -> Variable:
    """The rewritten program, which has the same type and values and has no op of these names."""
    (found,) = rewrite_sparse([x], LEAVES)
    assert type(found) is type(x) and found.dtype == x.dtype
    assert not set(gone) & set(_names(found)), _names(found)
    before, after = evaluate_all([x, found], values)
    np.testing.assert_allclose(_dense(after), _dense(before), rtol=1e-13)
    return found


@pytest.mark.shows("sparse/13-dense-of-sparse")
def test_what_was_made_sparse_is_dense_again(values: dict[Variable, Any]) -> None:
    assert _check(sp.dense_from_sparse(sp.csr_from_dense(D)), values, ["sparse_from_dense"]) is D


@pytest.mark.shows("sparse/13-clean-up")
@pytest.mark.parametrize(
    "build, expected",
    [
        (lambda: sp.Transpose()(sp.Transpose()(A)), A),
        (lambda: sp.Neg()(sp.Neg()(A)), A),
        (lambda: sp.Neg()(sp.Neg()(sp.Neg()(sp.Neg()(A)))), A),
    ],
)
def test_what_is_undone_is_not_done(
    build: Callable[[], Variable], expected: Variable, values: dict[Variable, Any]
) -> None:
    assert _check(build(), values, ["sparse_transpose", "sparse_neg"]) is expected


@pytest.mark.shows("sparse/13-clean-up")
def test_casts_meet_where_nothing_is_lost(values: dict[Variable, Any]) -> None:
    x = sp.csr_matrix("x", dtype="float32")
    wide = sp.Cast("float64")(x)
    assert rewrite_sparse([sp.Cast("float32")(wide)], [x]) == [x]
    (found,) = rewrite_sparse([sp.Cast("int32")(wide)], [x])
    assert _names(found) == ["sparse_cast"]
    narrow = sp.Cast("float64")(sp.Cast("float32")(A))
    assert _names(_check(narrow, values, [])) == ["sparse_cast", "sparse_cast"]


@pytest.mark.shows("sparse/13-clean-up")
def test_two_numbers_scale_at_once(values: dict[Variable, Any]) -> None:
    found = _check((A * s) * t, values, [])
    assert _names(found).count("mul_s_d") == 1


@pytest.mark.shows("sparse/13-clean-up")
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_a_sum_of_a_sum_looks_for_no_common_pattern(axis: int | None, values: dict[Variable, Any]) -> None:
    _check(sp.sp_sum(A + B, axis=axis), values, ["add_s_s"])


@pytest.mark.parametrize(
    "build",
    [
        lambda: at.dot(sp.dense_from_sparse(A), E),
        lambda: sp.dense_from_sparse(A).T @ L,
        lambda: v @ sp.dense_from_sparse(A),
        lambda: E.T @ sp.dense_from_sparse(A).T,
        lambda: at.tensordot(sp.dense_from_sparse(A), L, axes=[[0], [0]]),
        lambda: sp.dense_from_sparse(A) @ sp.dense_from_sparse(B).T,
    ],
    ids=["matrix", "turned", "from-vector", "both-turned", "tensordot", "two"],
)
def test_a_product_of_what_was_made_dense_is_sparse(build: Callable[[], Variable], values: dict[Variable, Any]) -> None:
    _check(build(), values, ["dense_from_sparse", "dot"])


@pytest.mark.shows("sparse/13-masked-gradient")
@pytest.mark.parametrize(
    "build, gone",
    [
        (lambda: A * (L @ R.T), ["dot", "mul_s_d"]),
        (lambda: sample_at(B + L @ R.T, A), ["dot", "add_s_d"]),
        (lambda: sample_at(sp.dense_from_sparse(A) * s, A), ["dense_from_sparse"]),
        (lambda: sample_at(A * 2.0 + B, A), ["add_s_s"]),
        (lambda: sample_at((-A).T, B.T), ["sparse_neg"]),
    ],
    ids=["times-sparse", "sum-with-dense", "made-dense", "sum-of-sparse", "turned"],
)
def test_only_entries_are_computed(build: Callable[[], Variable], gone: list[str], values: dict[Variable, Any]) -> None:
    _check(build(), values, gone)


@pytest.mark.shows("sparse/13-masked-gradient")
def test_true_and_structured_gradients_add_up_at_the_entries(rng: np.random.Generator) -> None:
    data = at.dvector("data")
    M = ss.random(6, 5, 0.4, format="csr", random_state=5)
    X = sp.CSR(data, M.indices, M.indptr, (6, 5))
    w = at.dvector("w", shape=(5,))
    f = aot.function([data, w], grad((X @ w).sum() ** 2 + (at.dot(X, w) ** 2).sum() + (X * X).sum(), data))
    assert "tensor<6x5x" not in f.ir("tensor-opt")
    args = M.data, rng.normal(size=5)
    np.testing.assert_allclose(f(*args), f.reference(*args), rtol=1e-12)


@pytest.mark.shows("sparse/13-usmm")
@pytest.mark.shows("sparse/13-usmm-kernel")
@pytest.mark.parametrize("format", ["csr", "csc"])
@pytest.mark.parametrize(
    "build",
    [
        lambda x, y, z: sp.usmm(s, x, y, z),
        lambda x, y, z: z + s * sp.dot(x, y),
        lambda x, y, z: z - s * sp.dot(x, y),
        lambda x, y, z: s * sp.dot(x, y) + z,
        lambda x, y, z: z - sp.dot(x, y),
        lambda x, y, z: sp.dot(y.T, x.T).T + z,
    ],
    ids=["usmm", "plus", "minus", "behind", "plain", "from-left"],
)
def test_a_product_and_a_sum_are_one_function_without_an_array_between(
    format: str, build: Callable[..., Variable], rng: np.random.Generator
) -> None:
    x = sp.matrix(format, "x")
    y, z = at.dmatrices("y", "z")
    f = aot.function([x, y, z, s], build(x, y, z), on_unused_input="ignore")
    M = ss.random(7, 5, 0.4, format=format, random_state=4)
    args = M, rng.normal(size=(5, 2)), rng.normal(size=(7, 2)), 0.5
    np.testing.assert_allclose(f(*args), f.reference(*args), rtol=1e-12)
    loops = f.ir("loops")
    assert loops[: loops.index(".extents")].count("memref.alloc") == 0, loops


@pytest.mark.shows("sparse/13-transposed-product")
@pytest.mark.parametrize("format", ["csr", "csc"])
def test_a_transpose_is_multiplied_on_the_same_vectors(format: str, rng: np.random.Generator) -> None:
    x, y = sp.matrix(format, "x"), at.dmatrix("y")
    f = aot.function([x, y], [sp.dot(x.T, y), grad((sp.dot(x, sp.dot(x.T, y)) ** 2).sum(), y)])
    names = {node.op.name for node in toposort(list(f.flat.results.values()))}
    assert not names & {"other_format", "csm_properties", "CSM"}
    M, value = ss.random(7, 5, 0.4, format=format, random_state=4), rng.normal(size=(7, 2))
    for found, expected in zip(f(M, value), f.reference(M, value), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.shows("sparse/13-csm-pair")
def test_what_is_put_together_is_not_taken_apart() -> None:
    data, indices, indptr = at.dvector("data"), at.ivector("indices"), at.ivector("indptr")
    pieces = sp.csm_properties(sp.CSR(data, indices, indptr, (2, 3)))
    f = aot.function([data, indices, indptr], pieces[:3])
    assert {node.op.name for node in toposort(list(f.flat.results.values()))} == {"checked_structure"}
    vectors = np.ones(2), np.array([0, 2], "int32"), np.array([0, 1, 2], "int32")
    for found, given in zip(f(*vectors), vectors, strict=True):
        assert np.array_equal(found, given)
    with pytest.raises(IndexError):
        f(np.ones(2), np.array([0, 3], "int32"), vectors[2])
