"""A function with hundreds of run-time checks compiles, and reports the first that fails."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import aotensor as aot
import aotensor.tensor as at

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
