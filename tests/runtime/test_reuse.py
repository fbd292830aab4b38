"""Memory of large results serves later calls, and never one that somebody still looks at."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import aotensor as aot
import aotensor.tensor as at
from aotensor_runtime.arrays import memory

SIZES = {"vector": (300_000,), "matrix": (600, 500)}


@pytest.fixture(scope="module")
def functions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    x, X = at.vector("x"), at.matrix("X")
    folder = tmp_path_factory.mktemp("reuse")
    library = aot.compile(
        [aot.function([x], x + 1, name="vector"), aot.function([X], X + 1, name="matrix")], folder, name="reuse"
    ).load()
    return dict(library.functions)


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_blocks", [])


def start(x: Any) -> int:
    return int(x.__array_interface__["data"][0])


@pytest.mark.parametrize("name", SIZES)
def test_what_nobody_holds_is_used_again(functions: dict[str, Any], name: str) -> None:
    f, x = functions[name], np.zeros(SIZES[name])
    first = f(x)
    where = start(first)
    del first
    assert start(f(x)) == where


HOLDERS: dict[str, Callable[[Any], Any]] = {
    "itself": lambda y: y,
    "a view": lambda y: y[..., 5:7],
    "a view of a view": lambda y: y.reshape(-1)[3:].T[:1],
    "a memoryview": memoryview,
    "a pointer": lambda y: y.ctypes.data_as,
    "a list": lambda y: [y],
}


@pytest.mark.parametrize("holder", HOLDERS.values(), ids=HOLDERS)
@pytest.mark.parametrize("name", SIZES)
def test_what_is_held_stays(functions: dict[str, Any], name: str, holder: Callable[[Any], Any]) -> None:
    f, x = functions[name], np.zeros(SIZES[name])
    first = f(x)
    where, held = start(first), holder(first)
    del first
    others = [f(x + k) for k in range(3)]
    assert where not in [start(y) for y in others]
    assert len({start(y) for y in others}) == 3
    del held, others
    assert start(f(x)) is not None


def test_threads_do_not_share(functions: dict[str, Any]) -> None:
    f = functions["vector"]

    def work(number: int) -> bool:
        x = np.full(SIZES["vector"], float(number))
        kept = [f(x + k) for k in range(20)]
        return all((y == number + k + 1).all() for k, y in enumerate(kept))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(16)))


def test_nobody_waits_for_another_thread(functions: dict[str, Any]) -> None:
    """Such as a child that was forked while a thread of its parent was looking for a block."""
    f, x = functions["vector"], np.zeros(SIZES["vector"])
    first = f(x)
    where = start(first)
    del first
    with memory._lock:
        assert start(f(x)) != where
    assert start(f(x)) == where


def test_no_more_is_kept_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "LIMIT", 10 * memory.SMALLEST)
    held = [memory.block(3 * memory.SMALLEST) for _ in range(5)]
    assert sum(one.size for one in memory._blocks) <= memory.LIMIT
    assert len({start(one) for one in held}) == 5
    assert memory.block(11 * memory.SMALLEST).size == 11 * memory.SMALLEST
    monkeypatch.setattr(memory, "_FREE", None)
    assert memory.block(memory.SMALLEST).base is None
    assert len(memory._blocks) == 3


def test_a_block_fits() -> None:
    large = memory.block(4 * memory.SMALLEST)
    where = start(large)
    del large
    assert start(memory.block(2 * memory.SMALLEST)) != where, "too large by far"
    assert start(memory.block(int(3.5 * memory.SMALLEST))) == where
