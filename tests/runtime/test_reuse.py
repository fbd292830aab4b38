"""Memory of large results and workspaces serves later calls, and never one that somebody still looks at."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as ss

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor_runtime.abi import Kept
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


# --- workspaces --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A product of three matrices: the first one is in the workspace."""
    A, B, C = (at.matrix(name) for name in "ABC")
    f = aot.function([A, B, C], (A @ B) @ C, name="chain")
    return aot.compile(f, tmp_path_factory.mktemp("chain")).load().chain


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch, chain: Any) -> Kept:
    """What the function keeps in this test alone."""
    own = Kept(limit=1 << 26)
    monkeypatch.setattr(chain._context, "kept", ctypes.addressof(own))
    return own


def factors(rows: int) -> list[Any]:
    """Matrices whose first product has `rows` rows of 2 kB."""
    rng = np.random.default_rng(rows)
    return [rng.normal(size=shape) for shape in ((rows, 3), (3, 256), (256, 2))]


def size_of(kept: Kept) -> int:
    return int(ctypes.c_int64.from_address(kept.block).value) if kept.block else 0


def test_a_workspace_serves_later_calls(chain: Any, kept: Kept) -> None:
    expected = [a @ b @ c for a, b, c in (factors(2000), factors(9000), factors(3000))]
    found = [chain(*factors(2000))]
    first = size_of(kept)
    assert first > 2000 << 11
    found.append(chain(*factors(9000)))
    assert size_of(kept) > 9000 << 11  # it grows
    block, size = kept.block, size_of(kept)
    found.append(chain(*factors(3000)))
    assert (kept.block, size_of(kept)) == (block, size)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(("rows", "limit"), [(100, 1 << 26), (2000, 1 << 20), (2000, 0), (2000, -1)])
def test_small_ones_and_those_beyond_the_limit_are_not_kept(chain: Any, kept: Kept, rows: int, limit: int) -> None:
    kept.limit = limit
    A, B, C = factors(rows)
    np.testing.assert_allclose(chain(A, B, C), A @ B @ C, rtol=1e-10, atol=1e-10)
    assert not kept.block


def test_calls_at_once_have_workspaces_of_their_own(chain: Any, kept: Kept) -> None:
    arguments = [factors(1000 + 500 * k) for k in range(6)]
    expected = [chain(*x).tobytes() for x in arguments]

    def work(number: int) -> bool:
        return all(chain(*arguments[number % 6], num_threads=1).tobytes() == expected[number % 6] for _ in range(20))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(24)))
    assert kept.block


def test_all_functions_share_what_they_keep(chain: Any, functions: dict[str, Any]) -> None:
    places = {f._context.kept for f in (chain, chain.with_threads(2), *functions.values())}
    assert places == {ctypes.addressof(memory.WORKSPACE)}
    assert memory.WORKSPACE.limit >= memory.LIMIT


def test_memory_of_sparse_results_is_used_again(tmp_path: Path) -> None:
    A = sp.csr_matrix("A", shape=("n", "p"))
    f = aot.compile(aot.function([A], A * 2.0, name="twice"), tmp_path).load().twice
    matrix = ss.csr_matrix(np.arange(1.0, 400_001.0).reshape(400, 1000))
    first = f(matrix)
    where = start(first.data)
    held = f(matrix)
    assert start(held.data) != where
    del first
    again = f(matrix)
    assert start(again.data) == where and (again != matrix * 2).nnz == 0 and (held != matrix * 2).nnz == 0
