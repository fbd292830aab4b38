"""Loops over windows in strips that other loops read."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import aotensor as aot
import aotensor.tensor as at
from aotensor.gradient import Lop, Rop


def test_a_part_of_a_strip_is_not_split_where_the_strip_reads_it(tmp_path: Path) -> None:
    """Each row is read again in the loop over its strip, where parts of another loop have written it."""
    x, d, ct = at.matrix("x", shape=(17, "m")), at.matrix("d", shape=(17, "m")), at.vector("ct", shape=(17,))
    y = at.sigmoid(at.arctan(at.roll(x, 2, 0)).sum(axis=1))
    (pulled,) = Lop([y], [x], [ct])
    f = aot.function([x, ct, d], [pulled, Rop(pulled, x, d)], name="f")
    library = aot.compile(f, tmp_path, opt_level=0, check=True).load()
    rng = np.random.default_rng(0)
    for m in (0, 1, 40):
        a, c, b = rng.normal(size=(17, m)), rng.normal(size=17), rng.normal(size=(17, m))
        found = library.f(a, c, b)
        rows = np.arctan(np.roll(a, 2, 0)).sum(axis=1)
        s = 1 / (1 + np.exp(-rows))
        slope = np.roll(c * s * (1 - s), -2)[:, None] / (1 + a**2)
        np.testing.assert_allclose(found[0], slope, rtol=1e-12, atol=1e-15)
        ahead, back = (library.f(a + h * b, c, b)[0] for h in (1e-6, -1e-6))
        np.testing.assert_allclose(found[1], (ahead - back) / 2e-6, rtol=1e-6, atol=1e-8)
