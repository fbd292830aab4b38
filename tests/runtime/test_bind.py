"""Bound functions: fixed buffers, no allocation, the same checks of values."""

from __future__ import annotations

import numpy as np
import pytest

import aotensor_runtime as runtime

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
