"""Sorting of one line that is cut into chunks: NumPy's stable order, on any number of threads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tiny_target import TINY

import aotensor as aot
import aotensor.tensor as at
import aotensor_runtime as art
from aotensor.core.types import Array
from aotensor.driver.recipe import Options, lower, make_library
from aotensor.passes.target import Target

DTYPES = ("float32", "float64", "int32", "int64", "uint8", "bool")
CHUNKS = {"tiny": TINY, "usual": Target()}
EDGES = {"tiny": (*range(34), 63, 64, 65, 1000, 100_000), "usual": (0, 1, 2, 16383, 16384, 16385, 49153, 300_001)}
"""Lengths: TINY has up to 4 chunks of any size, the usual target cuts lines from 16384 elements."""


@pytest.fixture(scope="module", params=list(CHUNKS))
def sorts(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, art.Library]:
    """Functions that sort a line, one for each dtype, and the name of the target."""
    functions = []
    for dtype in DTYPES:
        x = at.vector("x", dtype=dtype)
        functions.append(aot.function([x], [at.sort(x), at.argsort(x)], name=f"sort_{dtype}"))
    path = tmp_path_factory.mktemp("sorts") / "sorts.so"
    path.write_bytes(make_library(lower(functions, Options(facts=CHUNKS[request.param]), texts=()), "sorts").shared())
    return request.param, art.load(path)


def line(rng: np.random.Generator, dtype: str, n: int) -> Array:
    """Numbers with many ties; floats with nan, infinities and zeros of both signs."""
    if dtype == "bool":
        return rng.integers(0, 2, n).astype(bool)
    x = rng.integers(0 if dtype == "uint8" else -40, 41, n).astype(dtype)
    if dtype.startswith("float"):
        x *= np.asarray(rng.choice([-0.0, 0.5, 1.0], n), dtype)
        x[rng.random(n) < 0.1] = np.nan
        x[rng.random(n) < 0.05] = np.inf
    return x


@pytest.mark.parametrize("dtype", DTYPES)
def test_order_is_stable_on_any_number_of_threads(
    sorts: tuple[str, art.Library], dtype: str, rng: np.random.Generator
) -> None:
    name, library = sorts
    for n in EDGES[name]:
        one = line(rng, dtype, n)
        for x in (one, np.sort(one), np.sort(one)[::-1].copy(), np.zeros_like(one)):
            order = np.argsort(x, kind="stable")
            for threads in (1, 2, 3, 7):
                values, found = getattr(library, f"sort_{dtype}")(x, num_threads=threads)
                assert np.array_equal(found, order), (n, threads)
                assert values.tobytes() == x[order].tobytes(), (n, threads)


def test_known_lengths(tmp_path: Path, rng: np.random.Generator) -> None:
    """Lines of known length, of which one is cut."""
    lengths = (0, 1, 7, 20_000)
    xs = [at.vector(f"x{n}", shape=(n,)) for n in lengths]
    f = aot.function(xs, [at.argsort(x) for x in xs], name="known")
    arrays = [rng.integers(0, 99, n).astype("float64") for n in lengths]
    for threads in (1, 3):
        for x, found in zip(arrays, f(*arrays, num_threads=threads), strict=True):
            assert np.array_equal(found, np.argsort(x, kind="stable"))


def test_lines_in_loops(rng: np.random.Generator) -> None:
    """A sort in each step of a scan."""
    X, start = at.matrix("X", shape=("t", "n")), at.vector("start", shape=("n",))
    totals, _ = aot.scan(lambda row, total: total + at.sort(row), sequences=[X], outputs_info=[start])
    f = aot.function([X, start], totals[-1], name="steps")
    x = rng.standard_normal((3, 20_000))
    found = [f(x, np.zeros(20_000), num_threads=threads) for threads in (1, 2, 3)]
    assert np.allclose(found[0], np.sort(x, axis=1).sum(axis=0))
    assert found[0].tobytes() == found[1].tobytes() == found[2].tobytes()
