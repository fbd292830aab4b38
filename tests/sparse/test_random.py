"""Random sparse matrices: patterns, moments, one draw per state, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix, random_array

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.ops.random.state import first_state

STATE = first_state(11)
FORMATS = pytest.mark.parametrize("format", ["csr", "csc"])


def _both(f: Any, *values: Any) -> Any:
    """The compiled results, which are those of the reference."""
    found, expected = f(*values), f.reference(*values)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1].toarray(), expected[1].toarray())
    assert found[1].nnz == expected[1].nnz
    return found


@pytest.mark.shows("sparse/11-poisson", "sparse/14-random")
@FORMATS
def test_poisson_draws_at_stored_entries(format: str) -> None:
    x, state = sp.matrix(format, "x", dtype="float32"), at.constant(STATE)
    following, drawn = sp.poisson(state, x)
    f = aot.function([x], [following, drawn])
    means = random_array((60, 50), density=0.5, rng=np.random.default_rng(0))
    means.data[:] = 0.5 + 4 * means.data
    value = csr_matrix(means).asformat(format).astype("float32")
    after, found = _both(f, value)
    assert found.format == format
    assert found.dtype == "float32"
    assert np.all(found.data > 0)
    assert np.all(value.toarray()[found.nonzero()] > 0)
    total = float(value.sum())
    assert found.sum() == pytest.approx(total, abs=5 * np.sqrt(total))
    assert 0 < found.nnz < value.nnz
    assert not np.array_equal(after, STATE)
    np.testing.assert_array_equal(f(value)[1].toarray(), found.toarray())
    with pytest.raises(ValueError, match="lam"):
        f(-value)
    with pytest.raises(GraphTypeError, match="expected a sparse matrix"):
        sp.poisson(state, at.dmatrix("d"))


@pytest.mark.shows("sparse/11-poisson", "sparse/11-multinomial")
def test_draws_have_classes() -> None:
    assert sp.poisson == sp.Poisson()
    assert sp.multinomial == sp.Multinomial()
    assert sp.csr_fbinomial == sp.Binomial("csr", "float32") != sp.csc_fbinomial


@pytest.mark.shows("sparse/11-binomial", "sparse/14-random")
@pytest.mark.parametrize(
    ("draw", "format", "dtype"),
    [
        (sp.csc_fbinomial, "csc", "float32"),
        (sp.csc_dbinomial, "csc", "float64"),
        (sp.csr_fbinomial, "csr", "float32"),
        (sp.csr_dbinomial, "csr", "float64"),
    ],
)
def test_binomial_counts(draw: Any, format: str, dtype: str) -> None:
    n, p, rows = at.lscalar("n"), at.dscalar("p"), at.lscalar("rows")
    f = aot.function([n, p, rows], list(draw(at.constant(STATE), n, p, (rows, 40))))
    _, found = _both(f, 5, 0.1, 50)
    assert (found.format, found.dtype, found.shape) == (format, dtype, (50, 40))
    assert np.all(found.data > 0)
    assert found.has_canonical_format
    assert found.sum() == pytest.approx(1000, abs=5 * np.sqrt(900))
    assert found.nnz == pytest.approx(2000 * (1 - 0.9**5), abs=5 * np.sqrt(500))
    assert f(5, 0.0, 50)[1].nnz == 0
    assert f(5, 1.0, 3)[1].toarray().tolist() == [[5.0] * 40] * 3
    assert f(5, 0.5, 0)[1].shape == (0, 40)
    with pytest.raises(ValueError, match="p"):
        f(5, 1.5, 50)
    with pytest.raises(GraphValueError, match="2 extents"):
        draw(at.constant(STATE), 5, 0.5, (2, 3, 4))


@pytest.mark.shows("sparse/11-binomial")
def test_a_huge_matrix_of_few_entries() -> None:
    """10^10 elements, of which about 100 are stored."""
    drawn = sp.csr_dbinomial(at.constant(STATE), 1, 1e-8, (100_000, 100_000))
    _, found = aot.function([], list(drawn))()
    assert found.shape == (100_000, 100_000)
    assert 50 < found.nnz < 160


@pytest.mark.shows("sparse/11-multinomial", "sparse/14-random")
@FORMATS
def test_multinomial_counts_by_rows(format: str) -> None:
    p, n = sp.matrix(format, "p"), at.lvector("n")
    f = aot.function([p, n], list(sp.multinomial(at.constant(STATE), n, p)))
    weights = csr_matrix(np.array([[0.2, 0, 0.8], [0, 0, 0], [0.5, 0.25, 0.25], [0, 1, 0]]))
    value, trials = weights.asformat(format), np.array([10_000, 0, 400, 7])
    _, found = _both(f, value, trials)
    assert found.format == format
    np.testing.assert_array_equal(found.indices, value.indices)
    np.testing.assert_array_equal(found.indptr, value.indptr)
    counts = found.toarray()
    np.testing.assert_array_equal(counts.sum(axis=1), trials)
    assert counts[0, 2] == pytest.approx(8000, abs=5 * 40)
    assert counts[3].tolist() == [0, 7, 0]
    with pytest.raises(ValueError, match="rows and numbers of trials"):
        f(value, trials[:3])
    same = aot.function([p], list(sp.multinomial(at.constant(STATE), 9, p)))
    assert _both(same, value)[1].toarray().sum(axis=1).tolist() == [9, 0, 9, 9]
    with pytest.raises(GraphTypeError, match="scalar or a vector"):
        sp.multinomial(at.constant(STATE), at.lmatrix("m"), p)
