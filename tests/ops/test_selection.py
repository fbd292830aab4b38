"""Selection on long lines: whatever the elements, it finds what a stable sort would."""

from __future__ import annotations

import re

import numpy as np
import pytest

import aotensor as aot
import aotensor.tensor as at
from aotensor.core.types import Array
from aotensor.ops.reduce.select import Leading, Ranked

LENGTH = 3000
DTYPES = ["float64", "float32", "int64", "uint64", "uint8"]


def lines(dtype: str) -> Array:
    """Random lines, ordered ones, ties, and lines that mislead a sample."""
    rng = np.random.default_rng(5)
    n = np.arange(LENGTH)
    if dtype.startswith("float"):
        found = [
            rng.normal(size=LENGTH), n, -n, np.zeros(LENGTH), n % 3, np.exp(rng.normal(size=LENGTH) * 20),
            rng.choice([0.0, -0.0, np.nan, np.inf, -np.inf, 1.0], size=LENGTH), np.where(n % 31, n, -1e30 * n),
            np.where(n < LENGTH - 2, np.nan, 1.0), rng.integers(0, 2, size=LENGTH) * 1e-300,
        ]  # fmt: skip
        return np.stack(found).astype(dtype)
    info = np.iinfo(dtype)
    drawn = rng.integers(info.min, info.max, size=(2, LENGTH), dtype=dtype, endpoint=True)
    return np.concatenate([drawn, [n.astype(dtype), np.where(n % 2, info.min, info.max).astype(dtype)]])


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> aot.Library:
    made = []
    ranks = at.lvector("ranks")
    for dtype in DTYPES:
        x = at.matrix("x", dtype=dtype)
        outputs = [Ranked()(x, ranks)]
        if dtype == DTYPES[0]:
            outputs += [Leading(7, is_last=True)(x), Leading(LENGTH - 1, is_last=False)(x), Ranked()(x[-1], ranks)]
        made.append(aot.function([x, ranks], outputs, name=f"of_{dtype}"))
    return aot.compile(made, tmp_path_factory.mktemp("selection"), name="selection").load()


@pytest.mark.parametrize("dtype", DTYPES)
def test_positions_are_those_of_a_stable_sort(library: aot.Library, dtype: str) -> None:
    x, ranks = lines(dtype), np.array([0, 1, LENGTH // 2, LENGTH // 2, LENGTH // 2 + 1, LENGTH - 1, 77])
    found = getattr(library, f"of_{dtype}")(x, ranks)
    order = np.argsort(x, axis=-1, stable=True)
    for given, wanted in zip(
        found, [order[:, ranks], np.sort(order[:, -7:]), np.sort(order[:, :-1]), order[-1, ranks]], strict=False
    ):
        np.testing.assert_array_equal(given, wanted)


@pytest.mark.parametrize("n", [1, 2, 23, 24, 25, 63, 64, 65, 300])
def test_short_lines(library: aot.Library, n: int) -> None:
    x = np.random.default_rng(n).integers(0, 9, size=(3, n)) * 1.0
    x = np.concatenate([x, np.full((3, LENGTH - n), np.inf)], axis=1)
    found = library.of_float64(x, np.arange(n))
    np.testing.assert_array_equal(found[0], np.argsort(x, axis=-1, stable=True)[:, :n])


def test_a_batch_of_ranks() -> None:
    """Samples may have ranks of their own."""
    x, k = at.vector("x"), at.lvector("k")
    y = Ranked()(x, k)
    lots, places = np.random.default_rng(1).normal(size=(3, 9)), np.array([[0, 4], [8, 1], [3, 3]])
    for replaced in ({x: at.matrix("x")}, {k: at.lmatrix("k")}, {x: at.matrix("x"), k: at.lmatrix("k")}):
        batched = at.vectorize_graph(y, replaced)
        given = {new: (lots if old is x else places) for old, new in replaced.items()}
        given |= {old: (lots[0] if old is x else places[0]) for old in (x, k) if old not in replaced}
        rows = given.get(replaced.get(x, x)), given.get(replaced.get(k, k))
        a, b = (np.broadcast_to(v, (3, v.shape[-1])) for v in rows)
        wanted = np.take_along_axis(np.argsort(a), b, -1)
        np.testing.assert_array_equal(batched.eval(given), wanted)


def test_a_few_elements_of_a_line_are_found_by_blocks() -> None:
    """Blocks of 32 elements without a candidate are skipped: one such loop keeps candidates, another collects."""
    x = at.matrix("x", dtype="float64")
    text = aot.function([x], Leading(7, is_last=True)(x), name="f").ir("loops")
    blocks = re.findall(r"(%\w+) = arith\.constant 32 : index", text)
    assert sum(len(re.findall(rf"scf\.for .* step {name}\b", text)) for name in set(blocks)) >= 2
