"""Patterns of compressed matrices against SciPy: reference, tensor IR and a library that checks every memory access."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.core.types import Array
from aotensor.driver.recipe import Options, lower, make_library
from aotensor.errors import GraphTypeError, GraphValueError, MissingInputError, UnsupportedError
from aotensor.gradient import grad
from aotensor.graph.variable import Variable
from aotensor.graph.vectorize import batch
from aotensor.ir.context import parse_module
from aotensor.ir.interpreter.interpret import interpret
from aotensor.sparse.csm import matrix_of, parts_of
from aotensor.sparse.op import Compressed, have_same_pattern
from aotensor.sparse.patterns import canonical, compress, on_intersection, on_union, other_format, positions_in
from aotensor.sparse.patterns_product import ProductValues, product_values
from aotensor.sparse.sparse_product import sparse_product

Call = Callable[..., list[Any]]
EXTENTS = st.sampled_from([0, 1, 2, 5, 63, 64, 65, 130, 4100])
ROWS = st.sampled_from([0, 1, 2, 5, 20])
INDICES = st.sampled_from(["int32", "int64"])


def _vectors(name: str, dtype: str) -> list[Variable]:
    indices, indptr = (at.vector(f"{name}_{what}", dtype) for what in ("indices", "indptr"))
    return [at.vector(f"{name}_data"), indices, indptr, at.vector(f"{name}_shape", "int64")]


def _one(dtype: str) -> aot.Function:
    """The functions of one matrix whose entries come in any order."""
    vectors = _vectors("x", dtype)
    p = parts_of(sp.CSR(*vectors))
    t, c = other_format(p), canonical(p)
    kept = compress(c, c.data > 0)
    return aot.function(vectors, [*_vectors_of(t), *_vectors_of(c), *_vectors_of(kept)], name=f"one_{dtype}")


def _two(dtype: str) -> aot.Function:
    """Those of two matrices of one shape."""
    vectors = [_vectors(name, dtype) for name in "xy"]
    raw, other = (parts_of(sp.CSR(*one)) for one in vectors)
    p, q = canonical(raw), canonical(other)
    both = on_union(p, q)
    common = on_intersection(p, q)
    results = [positions_in(raw, q), positions_in(p, other_format(q))]
    results += [x for first, second in (both, common) for x in (*_vectors_of(first), second.data)]
    return aot.function([*vectors[0], *vectors[1]], results, name=f"two_{dtype}")


def _product(dtype: str) -> aot.Function:
    """The product of two matrices, with its gradients, and its values at the places of a third one."""
    vectors = [_vectors(name, dtype) for name in "xyz"]
    p, q, c = (canonical(parts_of(sp.CSR(*one))) for one in vectors)
    whole, sampled = sparse_product(p, q), product_values(p, q, c.indices, c.indptr)
    derivatives = [*grad((whole.data**2).sum(), [p.data, q.data]), *grad((sampled * c.data).sum(), [p.data, q.data])]
    arguments = [x for one in vectors for x in one]
    return aot.function(arguments, [*_vectors_of(whole), sampled, *derivatives], name=f"product_{dtype}")


def _vectors_of(p: Compressed) -> list[Variable]:
    return [p.data, p.indices, p.indptr]


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Call]]:
    """Each function as reference, as tensor IR, printed and parsed again, and as the library."""
    functions = [make(dtype) for make in (_one, _two, _product) for dtype in ("int32", "int64")]
    lowered = lower(functions, Options(check=True, opt_level=0))
    module = parse_module(lowered.texts["tensor-opt"])
    path = tmp_path_factory.mktemp("patterns") / "libpatterns.so"
    path.write_bytes(make_library(lowered, "patterns").shared())
    library = aot.load(path)
    return {f.name: [f.reference, partial(interpret, module, f.name), getattr(library, f.name)] for f in functions}


@st.composite
def matrices(draw: st.DrawFn, rows: int, columns: int) -> scipy.sparse.csr_matrix:
    """A matrix of whole numbers, some of them 0, so that sums are exact; in any order, and places may repeat."""
    seed, density = draw(st.integers(0, 2**32 - 1)), draw(st.sampled_from([0.0, 0.3, 1.0, 3.0]))
    rng = np.random.default_rng(seed)
    lengths = rng.poisson(density, rows) if columns else np.zeros(rows, int)
    indices, indptr = rng.integers(0, max(columns, 1), lengths.sum()), np.concatenate([[0], np.cumsum(lengths)])
    if draw(st.booleans()):
        indices %= 3  # crowded
        indices[indices >= columns] = 0
    return scipy.sparse.csr_matrix((rng.integers(-3, 4, len(indices)) * 1.0, indices, indptr), (rows, columns))


@st.composite
def pairs(draw: st.DrawFn, count: int) -> list[scipy.sparse.csr_matrix]:
    """Matrices of one shape."""
    rows, columns = draw(ROWS), draw(EXTENTS)
    return [draw(matrices(rows, columns)) for _ in range(count)]


@st.composite
def factors(draw: st.DrawFn) -> list[scipy.sparse.csr_matrix]:
    """Two matrices to multiply, and one of the shape of the product."""
    rows, inner, columns = draw(ROWS), draw(ROWS), draw(EXTENTS)
    return [draw(matrices(rows, inner)), draw(matrices(inner, columns)), draw(matrices(rows, columns))]


def _arguments(ms: list[scipy.sparse.csr_matrix], dtype: str) -> list[Array]:
    return [x for m in ms for x in (m.data, m.indices.astype(dtype), m.indptr.astype(dtype), np.array(m.shape))]


def _summed(m: scipy.sparse.csr_matrix) -> scipy.sparse.csr_matrix:
    """Sorted, without duplicates; zeros stay."""
    m = m.copy()
    m.has_canonical_format = m.has_sorted_indices = False
    m.sum_duplicates()
    return m


def _pattern(m: Any) -> Any:
    """Ones at all stored entries."""
    return type(m)((np.ones(len(m.data)), m.indices, m.indptr), m.shape)


PROPERTY = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@PROPERTY
@given(ms=pairs(1), dtype=INDICES)
@pytest.mark.shows("sparse/0-unsorted", "sparse/0-duplicates", "sparse/0-empty")
def test_one_matrix(calls: dict[str, list[Call]], ms: list[Any], dtype: str) -> None:
    """Compressed the other way with duplicates in their order, put in order, thinned out."""
    (m,) = ms
    order = np.argsort(m.indices, kind="stable")
    rows = np.repeat(np.arange(m.shape[0]), np.diff(m.indptr))
    starts = np.concatenate([[0], np.cumsum(np.bincount(m.indices, minlength=m.shape[1]))])
    whole = _summed(m)
    kept = whole.copy()
    kept.data = np.where(whole.data > 0, whole.data, 0)
    kept.eliminate_zeros()
    expected = [m.data[order], rows[order], starts, whole.data, whole.indices, whole.indptr]
    for call in calls[f"one_{dtype}"]:
        found = call(*_arguments(ms, dtype))
        for x, y in zip(found, [*expected, kept.data, kept.indices, kept.indptr], strict=True):
            np.testing.assert_array_equal(x, y)
        assert found[1].dtype == found[2].dtype == dtype


@PROPERTY
@given(ms=pairs(2), dtype=INDICES)
def test_two_matrices(calls: dict[str, list[Call]], ms: list[Any], dtype: str) -> None:
    """Where places of one are in the other, and both on the pattern of either, and on that of both."""
    raw, p, q = ms[0], _summed(ms[0]), _summed(ms[1])
    union = (_pattern(p) + _pattern(q)).tocsr()
    common = _pattern(p).multiply(_pattern(q)).tocsr()
    for whole in (union, common):
        whole.sort_indices()
    for call in calls[f"two_{dtype}"]:
        of_raw, of_p, *joined = call(*_arguments(ms, dtype))
        np.testing.assert_array_equal(of_raw, _positions(raw, _coordinates(q)))
        np.testing.assert_array_equal(of_p, _positions(p, _coordinates(q.tocsc())[::-1]))
        for pattern, (data, indices, indptr, other) in ((union, joined[:4]), (common, joined[4:])):
            np.testing.assert_array_equal(indices, pattern.indices)
            np.testing.assert_array_equal(indptr, pattern.indptr)
            for values, m in ((data, p), (other, q)):
                np.testing.assert_array_equal(values, m.toarray()[_coordinates(pattern)])


@PROPERTY
@given(ms=factors(), dtype=INDICES)
@pytest.mark.shows("sparse/7-true_dot", "sparse/0-empty")
def test_product(calls: dict[str, list[Call]], ms: list[Any], dtype: str) -> None:
    """Places do not depend on values; the gradients of Σ (p·q)² and of Σ c∘(p·q) at the places of c."""
    p, q, c = map(_summed, ms)
    places = (_pattern(p) @ _pattern(q)).tocsr()
    places.sort_indices()
    product = p.toarray() @ q.toarray()
    derivative = np.zeros(product.shape)
    derivative[_coordinates(places)] = 2 * product[_coordinates(places)]
    expected = [product[_coordinates(places)], places.indices, places.indptr, product[_coordinates(c)]]
    for weight in (derivative, c.toarray()):
        expected += [(weight @ q.toarray().T)[_coordinates(p)], (p.toarray().T @ weight)[_coordinates(q)]]
    for call in calls[f"product_{dtype}"]:
        data, indices, indptr, *rest = call(*_arguments(ms, dtype))
        found = scipy.sparse.csr_matrix((data, indices, indptr), product.shape)
        found.sort_indices()  # the order within a row is left open
        for x, y in zip([found.data, found.indices, found.indptr, *rest], expected, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-12)


def _coordinates(m: Any) -> tuple[Array, Array]:
    """Slice and index of every entry."""
    return np.repeat(np.arange(len(m.indptr) - 1), np.diff(m.indptr)), m.indices


def _positions(m: Any, places: tuple[Array, Array]) -> list[int]:
    """For each entry of m the number of its place, or −1."""
    known = {place: k for k, place in enumerate(zip(*(x.tolist() for x in places), strict=True))}
    return [known.get(place, -1) for place in zip(*(x.tolist() for x in _coordinates(m)), strict=True)]


# --- what is known, and what is refused ------------------------------------------------------------------------------


def test_one_pattern_costs_nothing() -> None:
    """A matrix and a function of it, also of the same constant, are united without an op on patterns."""
    x = sp.csr_matrix("x")
    p, q = parts_of(x), replace(parts_of(x), data=at.exp(parts_of(x).data))
    assert on_union(p, q) == on_intersection(p, q) == (p, q)
    m = scipy.sparse.identity(3, format="csr")
    one, other = parts_of(sp.constant(m)), parts_of(sp.constant(m))
    assert have_same_pattern(one, other)
    assert on_union(one, other)[1].indices is other.indices
    assert canonical(p) is p


def test_what_is_made_of_vectors_may_come_in_any_order() -> None:
    """And so may what ops keep of its pattern; what they sort may not."""
    m = scipy.sparse.identity(3, format="csr")
    assert sp.CSR(m.data, m.indices, m.indptr, m.shape).type.is_canonical, "constants can be looked at"
    x = sp.CSR(m.data, at.ivector("indices"), m.indptr, m.shape)
    assert not x.type.is_canonical
    assert not sp.transpose(x).type.is_canonical
    assert not parts_of(sp.transpose(x)).is_canonical
    assert matrix_of(canonical(parts_of(x))).type.is_canonical
    assert sp.csr_matrix("y").type.is_canonical
    assert sp.constant(m).type.is_canonical
    assert x.type == matrix_of(canonical(parts_of(x))).type


def test_factors_that_do_not_fit() -> None:
    x, y = sp.csr_matrix("x"), sp.csr_matrix("y")
    p, q = parts_of(x), parts_of(y)
    a, b = (scipy.sparse.random(*shape, 0.5, "csr") for shape in ((3, 4), (5, 3)))
    product = aot.function([x, y], sparse_product(p, q).data, name="product")
    both = aot.function([x, y], on_union(p, q)[0].data, name="both")
    common = aot.function([x, y], on_intersection(p, q)[0].data, name="common")
    found = aot.function([x, y], positions_in(p, q), name="found")
    for f, text in ((product, "inner dimensions"), *((f, "extents of two sparse") for f in (both, common, found))):
        for call in (f.reference, f):
            with pytest.raises(GraphValueError if call == f.reference else ValueError, match=text):
                call(a, b)


def test_values_of_two_dtypes_are_refused() -> None:
    p = parts_of(sp.csr_matrix("x"))
    vectors = [p.indices, p.indptr] * 3
    with pytest.raises(GraphTypeError, match="one dtype"):
        ProductValues("product_values")(*vectors, 3, 3, p.data, at.cast(p.data, "float32"))
    with pytest.raises(GraphTypeError, match="vector of int32 or int64"):
        other_format(replace(p, indices=p.data))


def test_patterns_of_samples_are_refused() -> None:
    """Samples may differ in their values alone."""
    indices, indptr = at.vector("indices", "int32"), at.vector("indptr", "int32")
    p = replace(parts_of(sp.csr_matrix("x")), indices=indices, indptr=indptr)
    samples = {indices: at.matrix("several", "int32")}
    for result in (other_format(p).indices, positions_in(p, p), sparse_product(p, p).data):
        with pytest.raises(UnsupportedError, match="from sample to sample"):
            batch([result], samples)


def test_constant_patterns_need_no_values() -> None:
    """`csm_properties` of a matrix whose values are not given, if its pattern follows from constants."""
    w, n = at.vector("w", shape=(3,)), at.vector("n")
    S = scipy.sparse.csr_matrix(np.array([[1.0, 0, 2], [0, 3, 0], [4, 0, 0]]))
    x = sp.row_scale(S, w)
    unit, vectors = scipy.sparse.identity(3, format="csr"), ([0, 1, 2], [0, 1, 3, 3])
    matrices = {
        "square_diagonal": (sp.square_diagonal(w, "csr"), unit.copy()),
        "row_scale": (x, S),
        "CSR": (
            sp.CSR(w, *vectors, [3, 4]),
            scipy.sparse.csr_matrix((np.ones(3), *vectors), (3, 4)),
        ),
        "hstack": (
            sp.hstack([x, sp.square_diagonal(w)], "csr"),
            scipy.sparse.hstack([S, scipy.sparse.identity(3)], "csr"),
        ),
        "sum": (x + sp.square_diagonal(w, "csr"), (S + scipy.sparse.identity(3)).tocsr()),
        "product": (sp.true_dot(x, sp.square_diagonal(w)), S),
        "gram": (sp.tril(sp.true_dot(x.T.tocsr(), x)), scipy.sparse.tril(S.T @ S, format="csr")),
        "chain": (sp.true_dot(sp.true_dot(x, x), x)[1:], (S @ S @ S)[1:]),
    }
    for name, (matrix, expected) in matrices.items():
        expected.sort_indices()
        properties = sp.csm_properties(matrix)[1:]
        wanted = [expected.indices.tolist(), expected.indptr.tolist(), list(expected.shape)]
        assert [x.eval().tolist() for x in properties] == wanted, name
        assert [x.tolist() for x in aot.function([], properties).reference()] == wanted, name
        with pytest.raises(MissingInputError, match="no value is given for w"):
            sp.csm_data(matrix).eval()
    f = aot.function([], [sp.csm_indices(matrices["hstack"][0]), sp.csm_indptr(x)])
    assert [y.tolist() for y in f()] == [[0, 2, 3, 1, 4, 0, 5], [0, 2, 3, 4]]
    with pytest.raises(MissingInputError, match="w is needed but is not an input"):
        aot.function([], sp.csm_data(x))
    for call in (
        lambda: aot.function([], sp.csm_indices(sp.square_diagonal(n))),
        sp.csm_indptr(sp.square_diagonal(n)).eval,
    ):
        with pytest.raises(MissingInputError, match="n"):  # whose extent is not known
            call()
