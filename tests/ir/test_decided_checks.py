"""Checks that constants decide are made when a program is compiled: they cost a call nothing, and are in no list."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import pytest

import aotensor as aot
import aotensor.tensor as at
from aotensor.driver.build import Build
from aotensor.driver.recipe import Options
from aotensor.graph.variable import Variable

X: Final = np.arange(12.0).reshape(3, 4)

HOLDING: Final[dict[str, tuple[Callable[[Variable], Variable], Any]]] = {
    "rows": (lambda x: x[np.array([0, 2, -3])], X[[0, 2, -3]]),
    "columns": (lambda x: x[:, np.array([3, -4], "int8")], X[:, [3, -4]]),
    "unsigned": (lambda x: x[np.array([2, 0], "uint64")], X[[2, 0]]),
    "none": (lambda x: x[np.zeros(0, "int64")], X[:0]),
    "pairs": (lambda x: x[at.arange(3), np.array([1, 0, 3])], X[np.arange(3), [1, 0, 3]]),
    "mask": (lambda x: x[np.array([True, False, True])], X[[0, 2]]),
    "take": (lambda x: at.take(x, np.array([[1], [0]]), axis=0), X[[[1], [0]]]),
    "along": (
        lambda x: at.take_along_axis(x, np.array([[0, 3], [1, 2], [3, 0]]), axis=1),
        np.take_along_axis(X, np.array([[0, 3], [1, 2], [3, 0]]), axis=1),
    ),
    "set": (lambda x: at.set_subtensor(x[np.array([0, 1])], 1.0), np.vstack([np.ones((2, 4)), X[2:]])),
    "range": (lambda x: at.arange(0.0, 1.0, 0.25) + x[0], X[0] + np.arange(0.0, 1.0, 0.25)),
    "steps": (lambda x: x[at.arange(0, 3, 2)], X[::2]),
    "pad": (lambda x: at.pad(x, 1, "reflect"), np.pad(X, 1, "reflect")),
    "median": (lambda x: at.median(x, axis=0), X[1]),
    "quantile": (lambda x: at.quantile(x, 0.25, axis=0), np.quantile(X, 0.25, axis=0)),
    "choose": (lambda x: at.choose([1, 0, 1, 0], [x[0], x[1]]), np.choose([1, 0, 1, 0], [X[0], X[1]])),
    "topk": (lambda x: at.topk(x, 2), X[:, :1:-1]),
    "shape": (lambda x: x[at.arange(x.shape[0]), 1], X[:, 1]),
}


def compiled(inputs: Sequence[Variable], y: Variable) -> tuple[aot.Function, Any]:
    f = aot.function(inputs, y, name="f")
    return f, Build([f], None, Options(opt_level=0)).library.manifest.functions[0].checks


@pytest.mark.parametrize("name", HOLDING)
def test_no_call_makes_a_check_that_holds(name: str) -> None:
    build, expected = HOLDING[name]
    x = at.matrix("x", shape=X.shape)
    f, checks = compiled([x], build(x))
    assert checks == ()
    np.testing.assert_array_equal(f.reference(X), expected)


@pytest.mark.parametrize(("index", "found"), [([0, 5], 5), ([3, -9], -9), (np.array([7, 1], "int16"), 7)])
def test_what_cannot_be_right_is_refused_when_it_is_compiled(index: Any, found: int) -> None:
    x = at.matrix("x", shape=(3, "n"))
    for y in (
        x[np.array(index)],
        at.set_subtensor(x[np.array(index)], 0.0),
        x[at.constant(np.array(index, "int64")[::-1]) + at.arange(2) * 0],
    ):
        f = aot.function([x], y, name="f")
        message = rf"x\[.* at test_decided_checks.py:\d+: index {found} is out of range for axis 0 of extent 3"
        with pytest.raises(IndexError, match=message):
            Build([f], None, Options()).lowered  # noqa: B018
        with pytest.raises(IndexError, match=f"index {found} is out of range for axis 0"):
            f.reference(X)


def test_a_side_of_a_branch_that_cannot_be_right_may_not_be_taken() -> None:
    x, c = at.matrix("x", shape=(3, 4)), at.scalar("c")
    f = aot.function([x, c], aot.ifelse(c > 0, x[np.array([0, 5])].sum(), x.sum()), name="f")
    assert f(X, -1.0) == X.sum()
    with pytest.raises(IndexError, match="index 5 is out of range"):
        f(X, 1.0)


def test_a_step_that_cannot_be_right_may_not_be_made() -> None:
    x, h = at.vector("x"), at.vector("h", shape=(3,))
    f = aot.function(
        [x, h], aot.scan(lambda row, h: h[np.array([0, 2, 5])] * row, [x], [h], return_updates=False), name="f"
    )
    assert np.shape(f(np.zeros(0), np.ones(3))) == (0, 3)
    with pytest.raises(IndexError, match="index 5 is out of range"):
        f(np.zeros(1), np.ones(3))


def test_positions_of_a_caller_are_one_check() -> None:
    x, i = at.matrix("x"), at.lvector("i")
    f, checks = compiled([x, i], x[i])
    assert sum("out of range" in check.message for check in checks) == 1
    for wrong in (3, -4):
        with pytest.raises(IndexError, match=f"index {wrong} is out of range for axis 0 of extent 3"):
            f(X, np.array([0, wrong]))
