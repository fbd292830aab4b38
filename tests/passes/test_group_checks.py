"""A function with hundreds of run-time checks compiles, and reports the first that fails."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import aotensor as aot
import aotensor.tensor as at
from aotensor.errors import UnsupportedError

COUNT = 400  # vectors: with one branch inside another this would be deeper than Python's stack


def test_the_first_of_many_checks_is_reported(tmp_path: Path) -> None:
    vectors = [at.dvector(f"x{k}") for k in range(COUNT)]
    f = aot.function(vectors, [at.max(x) for x in vectors], name="maxima")
    maxima = aot.compile([f], tmp_path, opt_level=0).load().maxima
    arrays = [np.array([k - 1.0, k]) for k in range(COUNT)]
    np.testing.assert_array_equal(maxima(*arrays), np.arange(COUNT))
    for empty in ([0], [7, 399], [399]):
        with pytest.raises(ValueError, match=rf"max\(x{empty[0]}\) .*: axis 0 is empty"):
            maxima(*(array[:0] if k in empty else array for k, array in enumerate(arrays)))


def test_what_was_found_belongs_to_the_check_that_failed() -> None:
    x, k, n = at.dvector("x"), at.lscalar("k"), at.lscalar("n")
    f = aot.function([x, k, n], x[3] + x[k] + at.zeros((n,))[2], name="indices")
    assert f(np.arange(5.0), 4, 3) == 7.0
    for arguments, text in (
        ((np.zeros(2), 9, -1), "index 3 is out of range for axis 0 of extent 2"),
        ((np.zeros(4), 9, -1), "index 9 is out of range for axis 0 of extent 4"),
        ((np.zeros(4), 0, -1), "extent -1 is negative"),
        ((np.zeros(4), 0, 2), "index 2 is out of range for axis 0 of extent 2"),
    ):
        with pytest.raises((IndexError, ValueError), match=text):
            f(*arguments)


def filled(count: int) -> aot.Function:
    """x with `count` elements replaced, each by a function of the first one, at positions that are inputs."""
    x, i = at.dvector("x", shape=(50,)), at.lvector("i", shape=(count,))
    y = x
    for k in range(count):
        y = at.set_subtensor(y[i[k]], y[0] * 0.5 + k)
    return aot.function([x, i], y, name="filled")


def test_checks_between_loops_are_one_branch() -> None:
    f = filled(6)
    assert f.ir("loops").count("scf.if") == 1
    x = np.arange(50.0)
    found, expected = f(x, np.array([3, -50, 7, 0, 3, 49])), x.copy()
    for k, position in enumerate((3, 0, 7, 0, 3, 49)):
        expected[position] = expected[0] * 0.5 + k
    np.testing.assert_array_equal(found, expected)
    with pytest.raises(IndexError, match=r"i\[2\].*index 50 is out of range for axis 0 of extent 50"):
        f(x, np.array([3, 0, 50, 0, -51, 49]))


def test_elements_are_replaced_in_place() -> None:
    f = filled(6)
    text = f.ir("nest")
    assert text.count("tensor.insert_slice") == text.count("#nest.over") == 5  # the first copies x


def test_hundreds_of_positions(tmp_path: Path) -> None:
    f = filled(200)
    compiled = aot.compile([f], tmp_path, opt_level=0).load().filled
    x, positions = np.arange(50.0), np.random.default_rng(0).integers(-50, 50, 200)
    expected = x.copy()
    for k, position in enumerate(positions):
        expected[position] = expected[0] * 0.5 + k
    np.testing.assert_array_equal(compiled(x, positions), expected)
    positions[[150, 151]] = 50
    with pytest.raises(IndexError, match=r"i\[150\]"):
        compiled(x, positions)


def test_reads_at_positions_that_were_read_are_limited() -> None:
    x = at.lvector("x", shape=(50,))
    position = x[0]
    for _ in range(170):
        position = x[position]
    f = aot.function([x], position, name="chased")
    with pytest.raises(
        UnsupportedError, match=r"in function chased more than 160 checks .* at .*test_group_checks\.py"
    ):
        f.ir("loops")


def test_replaced_elements_that_are_read_later() -> None:
    x, i = at.dvector("x"), at.lvector("i", shape=(3,))
    old = x * 2.0
    before = old[i[0]]
    new = at.set_subtensor(old[i[1]], before + 1.0)
    newer = at.inc_subtensor(new[i[2]], new[i[1]])
    f = aot.function([x, i], {"old": old, "newer": newer, "read": old[i[1]] + before}, name="replaced")
    for positions in ((0, 0, 0), (1, 2, 2), (2, 1, 0)):
        found = f(np.arange(4.0) + 1, np.array(positions))
        first = 2.0 * (np.arange(4.0) + 1)
        expected = first.copy()
        expected[positions[1]] = first[positions[0]] + 1
        expected[positions[2]] += expected[positions[1]]
        np.testing.assert_array_equal(found["old"], first)
        np.testing.assert_array_equal(found["newer"], expected)
        assert found["read"] == first[positions[1]] + first[positions[0]]
