"""Bound functions: fixed buffers, no allocation, the same checks of values."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from functools import partial
from threading import Event, Thread

import numpy as np
import pytest

import aotensor_runtime as runtime
from aotensor_runtime import fast

X = np.arange(6.0).reshape(2, 3)
W = np.array([1.0, 10.0, 100.0])


def test_reads_and_writes_the_buffers(lib: runtime.Library) -> None:
    x, y = X.copy(), np.zeros(2)
    bound = lib.affine.bind(X=x, w=W, b=1.0, y=y)
    result = bound()
    assert result["y"] is y and result is bound() and bound.outputs["y"] is y
    np.testing.assert_array_equal(y, X @ W + 1)
    x *= 2
    bound.inputs["b"][...] = 3
    bound()
    np.testing.assert_array_equal(y, 2 * X @ W + 3)


def test_allocates_nothing(lib: runtime.Library) -> None:
    bound = lib.affine.bind(X=X, w=W, b=1.0)
    assert bound._context.workspace_bytes == 2 * 8 + 64


def test_outputs_sized_by_the_library(lib: runtime.Library) -> None:
    assert lib.ramp.bind(k=3)()[0].tolist() == [[0], [1], [2]]
    assert lib.join.bind(a=W, b=W)()[0].shape == (6,)


def test_values_are_still_checked(lib: runtime.Library) -> None:
    i = np.array(0)
    bound = lib.pick.bind(x=np.ones(2, "f4"), i=i)
    assert bound() == 1
    i[...] = 5
    with pytest.raises(IndexError, match="index 5 is out of range for x of extent 2"):
        bound()


def test_shared_variables_are_carried_on(lib: runtime.Library) -> None:
    lib.step.state["w"] = [0.0, 0.0]
    bound = lib.step.bind(x=np.ones(2))
    seen = [bound().tolist() for _ in range(3)]
    assert seen == [[0, 0], [1, 1], [2, 2]]
    assert bound.inputs["w"].tolist() == [3, 3]
    assert lib.step.state["w"].tolist() == [0, 0]


def test_refusals(lib: runtime.Library) -> None:
    for given, kind, text in (
        ({"X": X[:, ::-1], "w": W, "b": 1.0}, ValueError, "X is not row-major"),
        ({"X": X.astype("f4"), "w": W, "b": 1.0}, TypeError, "X has dtype float32 or bad alignment"),
        ({"X": X, "w": W}, TypeError, "missing b"),
        ({"X": X, "w": W, "b": 1.0, "z": W}, TypeError, "has no input 'z'"),
        ({"X": X, "w": W, "b": 1.0, "y": np.zeros(3)}, ValueError, "extent 0 of y is 3, expected 2"),
        ({"X": X, "w": W, "b": 1.0, "y": np.zeros(2, "f4")}, TypeError, "output y needs an array of dtype float64"),
        ({"X": X, "w": W[:2], "b": 1.0}, ValueError, "dim p of w is 2, but X has p = 3"),
    ):
        with pytest.raises(kind, match=text):
            lib.affine.bind(**given)
    x = np.ones(4)
    with pytest.raises(ValueError, match="output out overlaps x"):
        lib.scale.bind(x=x, out=x)
    with pytest.raises(ValueError, match="read-only"):
        lib.scale.bind(x=x, out=np.broadcast_to(1.0, 4))


def test_a_call_is_a_method_of_the_library(lib: runtime.Library) -> None:
    """Without ctypes, where the interpreter is laid out as expected; the way through ctypes does the same."""
    x = X.copy()
    bound = lib.affine.bind(X=x, w=W, b=1.0)
    assert type(bound._run).__name__ == "builtin_function_or_method"
    through_ctypes = lib.affine.bind(X=x, w=W, b=1.0)
    through_ctypes._run = partial(lib.affine._entries.call_bound, ctypes.c_void_p(ctypes.addressof(bound.call)))
    assert bound._run() == through_ctypes._run() == 0
    np.testing.assert_array_equal(bound()["y"], X @ W + 1)
    with pytest.raises(TypeError):
        bound._run(1)


def test_another_interpreter_calls_by_ctypes(lib: runtime.Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast, "_interpreter", lambda: None)
    bound = lib.affine.bind(X=X, w=W, b=1.0)
    assert isinstance(bound._run, partial)
    np.testing.assert_array_equal(bound()["y"], X @ W + 1)
    assert fast.method_of(0, bound.call) is None, "a library may be older than the entry"


def test_methods_live_as_long_as_they_are_bound(lib: runtime.Library) -> None:
    kept = [lib.affine.bind(X=X * k, w=W, b=1.0) for k in range(50)]
    del kept[::2]
    gc.collect()
    for k, bound in zip(range(1, 50, 2), kept, strict=True):
        np.testing.assert_array_equal(bound()["y"], k * X @ W + 1)
    run = kept[0]._run
    before = sys.getrefcount(run)
    for _ in range(1000):
        run()
    after = sys.getrefcount(run)
    assert before == after


def test_threads_run_while_a_bound_call_does(lib: runtime.Library) -> None:
    """The interpreter's lock is free: this thread gets on before the other one has ended."""
    big = np.ones((2000, 2000))
    bound = lib.affine.bind(X=big, w=np.ones(2000), b=1.0, num_threads=1)
    begun, ended = Event(), Event()

    def work() -> None:
        begun.set()
        for _ in range(40):
            bound()
        ended.set()

    thread = Thread(target=work)
    thread.start()
    begun.wait()
    assert not ended.is_set()
    thread.join()
    results = []
    bounds = [lib.affine.bind(X=X * k, w=W, b=1.0) for k in range(4)]
    threads = [
        Thread(target=lambda b=b: results.append([b()["y"].copy() for _ in range(500)][-1]))  # type: ignore[misc]
        for b in bounds
    ]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    found = sorted(float(y[0]) for y in results)
    assert found == sorted(float((k * X @ W + 1)[0]) for k in range(4))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_bound_calls_survive_a_fork(lib: runtime.Library) -> None:
    bound = lib.affine.bind(X=X, w=W, b=1.0)
    bound()
    child = os.fork()
    if child == 0:
        os._exit(0 if np.array_equal(bound()["y"], X @ W + 1) else 1)
    assert os.waitpid(child, 0)[1] == 0
