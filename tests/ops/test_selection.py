"""Selection on long lines: whatever the elements, it finds what a stable sort would."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

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
        with np.errstate(over="ignore"):
            return np.stack(found).astype(dtype)
    if dtype == "bool":
        return np.stack([n % 2 == 0, n < 0, n > 17])
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


def test_few_candidates_are_kept_by_blocks() -> None:
    """Blocks of 32 elements without a candidate are skipped."""
    x, ranks = at.matrix("x", dtype="float64"), at.lvector("ranks")
    text = aot.function([x, ranks], Ranked()(x, ranks), name="f").ir("loops")
    blocks = re.findall(r"(%\w+) = arith\.constant 32 : index", text)
    assert any(re.search(rf"scf\.for .* step {name}\b", text) for name in set(blocks))


def test_keys_of_floats_need_no_jump() -> None:
    """The sign is shifted over the bits: of a choice by the sign LLVM makes a jump, mispredicted half of the time."""
    x = at.vector("x", dtype="float64")
    text = aot.function([x], Leading(7, is_last=True)(x), name="f").ir("loops")
    assert re.search(r"(%\w+) = arith\.shrsi .*\n(.*\n)?.* = arith\.shrui \1, ", text)


EXTENTS: Final = (3, 4, 31, 40, 47, 48, 49, 63, 64, 191, 192, 193, 639, LENGTH)
"""Lines are searched for three elements by blocks of 8 from 48 elements on, and by blocks of 32 from 192 on."""


def few(many: int, dtype: str, n: str | int = "n") -> aot.Function:
    """The positions of the first and last few elements of rows."""
    x = at.matrix("x", dtype=dtype, shape=("m", n))
    found = {where: Leading(many, where == "last")(x) for where in ("first", "last")}
    return aot.function([x], found, name=f"of_{many}")


@pytest.mark.parametrize("options", [{"opt_level": 0}, *({"cpu": f"x86-64-v{k}"} for k in (2, 3, 4))], ids=str)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "uint64", "int32", "uint8", "bool"])
def test_few_of_lines_of_all_lengths(dtype: str, options: dict[str, Any], tmp_path: Path) -> None:
    call = aot.compile(few(3, dtype), tmp_path, name="few", **options).load().of_3
    drawn = np.random.default_rng(1).permutation(lines(dtype).T).T
    for n in EXTENTS:
        x = np.concatenate([lines(dtype)[:, :n], lines(dtype)[:, LENGTH - n :], drawn[:, :n]])
        assert_few(call(x), x, 3)


@pytest.mark.parametrize("n", [1, 2, 9, 40, 161, 640])
def test_few_of_lines_of_a_known_length(n: int, tmp_path: Path) -> None:
    manies = sorted({1, n - 1, n} - {0}) if n <= 40 else [10]
    library = aot.compile([few(many, "float64", n) for many in manies], tmp_path, name="few").load()
    x = np.concatenate([lines("float64")[:, :n], lines("float64")[:, LENGTH - n :]])
    for many in manies:
        assert_few(getattr(library, f"of_{many}")(x), x, many)


def assert_few(found: dict[str, Array], x: Array, many: int) -> None:
    """The positions are those of a stable sort, in their order along the line."""
    order = np.argsort(x, axis=-1, stable=True)
    np.testing.assert_array_equal(found["first"], np.sort(order[:, :many]))
    np.testing.assert_array_equal(found["last"], np.sort(order[:, x.shape[-1] - many :]))
