"""Shared variables: kept between calls, seen by every function that shares them, pickled along."""

from __future__ import annotations

import pickle
import threading

import numpy as np
import pytest

import aotensor_runtime as runtime


def test_updates(lib: runtime.Library) -> None:
    assert lib.step([1.0, 1.0]).tolist() == [1, 2]
    assert lib.step(x=[1.0, 1.0]).tolist() == [2, 3]
    assert lib.step.state["w"].tolist() == [3, 4]
    assert lib.step.state["count"] == 9
    assert lib.peek().tolist() == [3, 4]


def test_two_loads_do_not_share(lib: runtime.Library) -> None:
    assert lib.peek().tolist() == [1, 2]


def test_state_is_a_mapping_of_copies(lib: runtime.Library) -> None:
    state = lib.step.state
    assert sorted(state) == ["count", "w"] and len(state) == 2
    state["w"][:] = 99
    assert lib.peek().tolist() == [1, 2]
    mine = np.array([5.0, 6.0, 7.0])
    state["w"] = mine
    mine[:] = 0
    assert lib.peek().tolist() == [5, 6, 7]
    assert "State({'w'" in repr(state)


def test_state_without_copies(lib: runtime.Library) -> None:
    mine = np.array([5.0, 6.0])
    lib.step.state.lend("w", mine)
    assert lib.step.state.borrow("w") is mine
    lib.step([1.0, 1.0])
    assert mine.tolist() == [5, 6] and lib.step.state.borrow("w").tolist() == [6, 7]
    with pytest.raises(TypeError, match="w has rank 0"):
        lib.step.state.lend("w", np.zeros(()))


def test_state_refusals(lib: runtime.Library) -> None:
    with pytest.raises(TypeError, match="w has rank 0, expected 1"):
        lib.step.state["w"] = 1.0
    with pytest.raises(TypeError, match=r"count = 0\.5 has dtype float64, expected int64"):
        lib.step.state["count"] = 0.5
    with pytest.raises(KeyError):
        lib.step.state["x"] = 1.0
    with pytest.raises(KeyError):
        lib.step.state["x"]
    with pytest.raises(TypeError, match="cannot be deleted"):
        del lib.step.state["w"]
    with pytest.raises(TypeError, match="step has no input 'w'"):
        lib.step([1.0, 1.0], w=[1.0, 1.0])


def test_a_failed_call_changes_nothing(lib: runtime.Library) -> None:
    with pytest.raises(ValueError, match="dim n of w is 2, but x has n = 3"):
        lib.step([1.0, 1.0, 1.0])
    assert lib.step.state["count"] == 7


def test_pickles_with_its_state(lib: runtime.Library) -> None:
    lib.step([1.0, 1.0])
    copy = pickle.loads(pickle.dumps(lib.step))
    assert copy.state["w"].tolist() == [2, 3]
    copy([1.0, 1.0])
    assert lib.step.state["w"].tolist() == [2, 3]


def test_no_update_is_lost(lib: runtime.Library) -> None:
    lib.step.state["w"] = [0.0]
    threads = [threading.Thread(target=lambda: [lib.step([1.0]) for _ in range(500)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert lib.step.state["w"].tolist() == [2000]
    assert lib.step.state["count"] == 2007
