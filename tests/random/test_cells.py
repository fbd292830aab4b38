"""Draws that store what is not zero: which cells, and how much in them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats as stats

import aotensor as aot
import aotensor.tensor as at
from aotensor.core.types import Array
from aotensor.ops.random.draw import Draw

R = at.random
COUNT = 20_000
LOWEST = 1e-4  # of a p-value, for fixed states


def tail(left: int, picks: int, passed: Array) -> Array:
    """P(more than `passed` are passed over) = Π (left − passed − 1 − i)/(left − i) over the picks."""
    i = np.arange(picks)
    share = (left - np.asarray(passed, "float64")[:, None] - 1 - i) / (left - i)
    return np.asarray(np.prod(np.maximum(share, 0), axis=1))


def chi2(found: Array, law: Array) -> float:
    """The p-value of counts of 0, 1, … against their probabilities, rare values together."""
    counts = np.bincount(found, minlength=law.size)
    assert counts.size == law.size and not np.any(counts[law == 0]), "a value of probability 0"
    expected = law * found.size
    common = expected >= 8
    terms = (counts - expected)[common] ** 2 / expected[common]
    return float(stats.chi2.sf(terms.sum(), max(np.count_nonzero(common) - 1, 1)))


@pytest.mark.parametrize(("left", "picks"), [(10, 3), (30, 29), (7, 7), (50, 1), (26, 2), (200, 2), (400, 11)])
def test_gaps(left: int, picks: int) -> None:
    """Searched and rejected ones, against the probabilities of hypergeometric draws."""
    state, ones = at.constant(R.first_state(3)), np.ones(COUNT, "int64")
    found = aot.function([], Draw("gap")(state, left * ones, picks * ones), name="gaps")()
    beyond = tail(left, picks, np.arange(-1, left))
    assert chi2(found, -np.diff(beyond)) > LOWEST


def test_gaps_of_large_populations() -> None:
    state, ones = at.constant(R.first_state(3)), np.ones(COUNT, "int64")
    pairs = [(10**6, 5), (10**9, 1000), (10**15, 3)]
    outputs = [Draw("gap")(state, left * ones, picks * ones) for left, picks in pairs]
    for (left, picks), found in zip(pairs, aot.function([], outputs, name="gaps")(), strict=True):
        assert stats.kstest(found, lambda x, left=left, picks=picks: 1 - tail(left, picks, x)).pvalue > LOWEST


@pytest.mark.parametrize(
    ("n", "p"), [(1, 0.2), (5, 0.3), (5, 0.9), (3, 1.0), (1000, 1e-5), (20, 0.5), (30, 0.6), (100, 0.97), (1000, 0.2)]
)
def test_counts_on_condition_of_a_success(n: int, p: float) -> None:
    state = at.constant(R.first_state(4))
    draw = Draw("positive_binomial")(state, np.full(COUNT, n), np.full(COUNT, p))
    found = aot.function([], draw, name="positive")()
    law = stats.binom(n, p).pmf(np.arange(n + 1))
    law[0] = 0
    assert chi2(found, law / law.sum()) > LOWEST


def test_subsets_are_equally_likely() -> None:
    """All 10 of three of five, from many states."""
    states = np.stack([R.first_state(5, number) for number in range(2000)])
    state, count = at.tensor("state", dtype="uint64", shape=(2,)), at.lscalar("count")
    f = aot.function([state, count], R.subset(state, count, 5), name="subset")
    following, _ = f(states[0], 3)
    np.testing.assert_array_equal(following, states[0] + np.array([0, 3], "uint64"))
    found = np.stack([f(one, 3)[1] for one in states])
    assert np.all(np.diff(found, axis=1) > 0) and found.min() == 0 and found.max() == 4
    counts = np.unique(found @ [25, 5, 1], return_counts=True)[1]
    assert counts.size == 10 and stats.chisquare(counts).pvalue > LOWEST
    assert f(states[0], 0)[1].shape == (0,)
    np.testing.assert_array_equal(f(states[0], 5)[1], np.arange(5))
    for run in (f, f.reference):
        with pytest.raises(ValueError, match=r"subset: population . count has an element that is not at least 0"):
            run(states[0], 6)
        with pytest.raises(ValueError, match="subset: count has an element that is not at least 0"):
            run(states[0], -1)


def test_cells_are_those_of_a_binomial_draw() -> None:
    """Number, positions and counts of what is not zero; compiled and by reference."""
    state, p, cells = at.tensor("state", dtype="uint64", shape=(2,)), at.dscalar("p"), at.lscalar("cells")
    f = aot.function([state, p, cells], R.binomial_cells(state, 6, p, cells), name="cells")
    start, total, chance = R.first_state(6), 100_000, 0.02
    for found, expected in zip(f(start, chance, 300), f.reference(start, chance, 300), strict=True):
        np.testing.assert_array_equal(found, expected)
    _, positions, counts = f(start, chance, total)
    some = 1 - (1 - chance) ** 6
    assert abs(positions.size - total * some) < 4 * np.sqrt(total * some)
    assert abs(counts.sum() - 6 * total * chance) < 4 * np.sqrt(6 * total * chance)
    assert np.all(np.diff(positions) > 0) and positions.min() >= 0 and positions.max() < total and counts.min() == 1
    assert stats.kstest(positions, stats.uniform(0, total).cdf).pvalue > LOWEST
    assert f(start, 0.0, total)[1].size == f(start, 0.5, 0)[2].size == 0
    np.testing.assert_array_equal(f(start, 1.0, 4)[1], np.arange(4))
    np.testing.assert_array_equal(f(start, 1.0, 4)[2], 6)
    none = R.binomial_cells(state, 0, 1.0, 9)
    assert aot.function([state], none[1], name="none")(start).size == 0


def test_time_and_memory_follow_what_is_not_zero() -> None:
    state = at.constant(R.first_state(6))
    _, positions, counts = aot.function([], R.binomial_cells(state, 1, 1e-11, 10**13), name="few")()
    assert 50 < positions.size < 150 and np.all(counts == 1)
    assert positions.max() > 10**12
