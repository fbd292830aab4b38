"""Kernels of lines as plain Python, with checked positions, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from aotensor.kernels import block_selection, selection, sorting
from aotensor.kernels.block_selection import Kept
from aotensor.kernels.language import Bounded, order_key
from aotensor.kernels.selection import Memory
from aotensor.kernels.sorting import Line

RNG = np.random.default_rng(5)
LINES: dict[str, Any] = {
    "none": np.zeros(0),
    "one": np.ones(1),
    "equal": np.zeros(40),
    "zeros": np.array([0.0, -0.0] * 20),
    "nan": np.array([np.nan, 1.0, -np.inf, np.nan, np.inf, 0.0] * 9),
    "ties": RNG.integers(0, 9, 333),
    "numbers": RNG.normal(size=517),
    "sorted": np.arange(130),
    "reversed": np.arange(97)[::-1],
}


def _line(n: int) -> Line:
    """A line of n elements that are not written yet."""
    return Line(Bounded([None] * n), Bounded([None] * n))


def _sorted(x: Any, size: int) -> Line:
    line, source = _line(len(x)), Bounded(x.tolist())
    if size:
        rounds = (max(-(-len(x) // size), 1) - 1).bit_length()
        sorting.sort_on_cores(source, line, _line(len(x)), len(x), size, rounds)
    else:
        sorting.sort_chunk(source, line, _line(len(x)), 0, len(x))
    return line


@pytest.mark.parametrize("size", [0, 48, 64])
@pytest.mark.parametrize("name", LINES)
def test_sorts(name: str, size: int) -> None:
    x = LINES[name]
    line = _sorted(x, size)
    order = np.argsort(x, kind="stable")
    assert list(line.positions) == order.tolist()
    assert [str(v) for v in line.values] == [str(v) for v in x[order].tolist()]  # text tells −0 from 0


def _empty(n: int) -> Any:
    return Bounded([None] * n)


def _memory(n: int) -> Memory:
    return Memory(_empty(n + selection.TILE), _empty(selection.SAMPLE), _empty(selection.SAMPLE))


def _at_one_end(x: Any, many: int, is_last: bool, by_blocks: bool) -> Any:
    found, n = _empty(many), len(x)
    kept = Kept(_empty(n), _empty(n))
    block_selection.at_one_end(Bounded(x.tolist()), n, many, is_last, by_blocks, found, _memory(n), kept)
    return found


@pytest.mark.parametrize("name", [name for name in LINES if len(LINES[name])])
def test_selects(name: str) -> None:
    x = LINES[name]
    n, keys = len(x), sorted(order_key(v) for v in x.tolist())
    order = np.argsort(x, kind="stable")
    ranks = sorted({0, n // 3, n // 3 + 1, n // 2, n - 1} & {*range(n)})
    found = _empty(len(ranks))
    selection.at_ranks(Bounded(x.tolist()), n, ranks, len(ranks), found, _memory(n))
    assert found == order[ranks].tolist()
    assert [order_key(x.tolist()[k]) for k in found] == [keys[rank] for rank in ranks]

    for many in sorted({1, 2, n // 64, n // 16, n // 2, n} - {0}):
        for is_last in (False, True) if many <= n else ():
            for by_blocks in (False, True):
                found = _at_one_end(x, many, is_last, by_blocks)
                assert found == sorted(order[n - many :] if is_last else order[:many])


def test_long_lines_are_selected_in_rounds() -> None:
    x = RNG.normal(size=3000)
    assert _at_one_end(x, 5, True, True) == sorted(np.argsort(x)[-5:])
    assert _at_one_end(x, 100, False, False) == sorted(np.argsort(x)[:100])
    assert selection.find(Bounded(x.tolist()), 3000, 1234, _memory(3000))[0] == order_key(float(np.sort(x)[1234]))


def test_as_many_blocks_are_searched_as_elements_are_wanted() -> None:
    """Whatever the elements: `many` blocks are read again after each element was read once."""
    many = 3
    for n, size in ((160, block_selection.SMALL), (640, selection.BLOCK)):
        for x in (np.arange(n) * 1.0, np.zeros(n), np.arange(n)[::-1] * 1.0, RNG.integers(0, 3, n) * 1.0):
            source, kept = _Counted(x.tolist()), Kept(_empty(n), _empty(n))
            block_selection.at_one_end(source, n, many, True, True, _empty(many), _memory(n), kept)
            assert source.reads == n + many * size


class _Counted(Bounded[float]):
    """A list that counts how often elements are read."""

    reads = 0

    def __getitem__(self, k: Any) -> Any:
        self.reads += 1
        return super().__getitem__(k)
