"""`aotensor cache`: what it shows, what it removes, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Call

from aotensor.driver.store import Store


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A cache folder with two functions and a part."""
    monkeypatch.setenv("AOTENSOR_CACHE_DIR", str(tmp_path))
    found = Store(tmp_path, 10**9)
    for name in ("functions/f-1.so", "functions/g-2.so", "parts/3.o"):
        found.put(name, bytes(1000))
    return found


def test_show_and_list(call: Call, store: Store) -> None:
    answer = call("cache")
    assert answer.code == 0 and str(store.folder) in answer.out
    assert "functions  2, 2.1 kB" in answer.out and "parts      1, 1.0 kB" in answer.out
    listed = call("cache", "list").out
    assert all(name in listed for name in ("functions/f-1.so", "functions/g-2.so", "parts/3.o", "1.0 kB"))
    tree = json.loads(call("cache", "--json").out)
    assert tree["size"] == sum(x["size"] for x in tree["entries"]) and len(tree["entries"]) == 3


def test_prune_and_clear(call: Call, store: Store) -> None:
    assert call("cache", "prune", "--size", "1.1K").out.startswith("removed 2.1 kB\n")
    assert len(store.entries()) == 1
    tree = json.loads(call("cache", "clear", "--json").out)
    assert tree["removed"] == 1040 and tree["entries"] == [] and store.entries() == []
    assert call("cache", "clear").code == 0


def test_refusals(call: Call, store: Store) -> None:
    assert call("cache", "prune", "--size", "much").err.startswith("error: --size: 'much' is not a size")
    assert call("cache", "clear", "--size", "1K").code == 2 and len(store.entries()) == 3
    assert call("cache", "burn").code == 2
