"""Integers beyond 64 bits: bounds of slices are clamped as in NumPy, everything else is refused by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import aotensor as aot
import aotensor.tensor as at
from aotensor.errors import AotensorError

FAR = 2**63 + 5
BOUNDS = [-(2**70), -FAR, -(2**63), -2, None, 3, 2**62, 2**63 - 1, 2**63, FAR, 2**70]
STEPS = [-(2**70), -(2**63), -2, None, 2, 2**63 - 1, 2**70]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("dims", [(None,), (5,)], ids=["dynamic", "static"])
def test_slices_are_clamped(step: int | None, dims: tuple[int | None]) -> None:
    """All pairs of bounds in one function; NumPy itself says what they mean."""
    x, data = at.vector("x", shape=dims), np.arange(5.0)
    windows = [slice(start, stop, step) for start in BOUNDS for stop in BOUNDS]
    f = aot.function([x], [x[window] for window in windows] + [at.set_subtensor(x[windows[0]], 1)])
    for found in (f(data), f.reference(data)):
        for window, value in zip(windows, found, strict=False):
            np.testing.assert_array_equal(value, data[window], err_msg=str(window))
        expected = data.copy()
        expected[windows[0]] = 1
        np.testing.assert_array_equal(found[-1], expected)


@pytest.mark.shows("tensor/0-uint64")
@pytest.mark.parametrize("bound", [3, 2**63 - 1, 2**63, FAR, 2**64 - 1])
def test_symbolic_bounds_of_uint64(bound: int) -> None:
    x, n, data = at.vector("x"), at.tensor("n", dtype="uint64"), np.arange(5.0)
    f = aot.function([x, n], [x[:n], x[n:], x[n::-1], x[: at.constant(np.uint64(bound))]])
    for found in (f(data, np.uint64(bound)), f.reference(data, np.uint64(bound))):
        for value, window in zip(found, [data[:bound], data[bound:], data[bound::-1], data[:bound]], strict=True):
            np.testing.assert_array_equal(value, window)


@pytest.mark.parametrize("k", [2**62, 2**63 - 1, -(2**63)])
def test_offsets_of_diagonals_may_lie_far_outside(k: int) -> None:
    """As an offset of 9 does, for which nothing can overflow."""
    x, data = at.matrix("x"), np.arange(6.0).reshape(2, 3) + 1
    near = 9 if k > 0 else -9
    made = [(at.eye(3, k=k), np.eye(3, k=near)), (at.tri(3, k=k), np.tri(3, k=near))]
    taken = [(at.tril(x, k), np.tril(data, near)), (at.triu(x, k), np.triu(data, near))]
    lines = [(at.diagonal(x, k), np.diagonal(data, near)), (at.trace(x, k), 0.0)]
    symbols, expected = zip(*made, *taken, *lines, strict=True)
    f = aot.function([x], list(symbols))
    for found in (f(data), f.reference(data)):
        for value, wanted in zip(found, expected, strict=True):
            np.testing.assert_array_equal(value, wanted)


X, M = at.vector("x"), at.matrix("m")

REFUSED: list[tuple[str, Callable[[int], Any]]] = [
    ("position", lambda n: X[n]),
    ("positions", lambda n: X[[0, n]]),
    ("beside-arrays", lambda n: M[[0, 1], n]),
    ("shape-item", lambda n: X.shape[n]),
    ("set", lambda n: X[n].set(1)),
    ("type", lambda n: at.vector("v", shape=(n,))),
    ("zeros", lambda n: at.zeros((n,))),
    ("zeros-int", lambda n: at.zeros(n)),
    ("zeros-product", lambda n: at.zeros((2**40, 2**40))),
    ("alloc", lambda n: at.alloc(1.0, 2, n)),
    ("full", lambda n: at.full((n,), 1.0)),
    ("eye", lambda n: at.eye(n)),
    ("diag", lambda n: at.diag(X, n)),
    ("arange", lambda n: at.arange(n)),
    ("arange-steps", lambda n: at.arange(-(2**62), 2**62)),
    ("axis", lambda n: X.sum(axis=n)),
    ("axes", lambda n: M.sum(axis=(0, n))),
    ("transpose", lambda n: at.transpose(M, (0, n))),
    ("expand_dims", lambda n: at.expand_dims(X, n)),
    ("moveaxis", lambda n: at.moveaxis(M, 0, n)),
    ("repeat", lambda n: at.repeat(X, n)),
    ("repeat-each", lambda n: at.repeat(X, [n, n])),
    ("tile", lambda n: at.tile(X, n)),
    ("roll", lambda n: at.roll(X, n)),
    ("pad", lambda n: at.pad(X, n)),
    ("take", lambda n: at.take(X, n)),
    ("split", lambda n: at.split(X, [n, 1])),
    ("reshape", lambda n: X.reshape((n, -1))),
    ("flatten", lambda n: at.flatten(M, n)),
    ("broadcast_to", lambda n: at.broadcast_to(X, (n, 3))),
    ("specify_shape", lambda n: at.specify_shape(X, (n,))),
    ("constant", lambda n: at.constant(n)),
    ("constant-dtype", lambda n: at.constant(n, dtype="int64")),
    ("constant-list", lambda n: at.constant([n, 1])),
    ("operand", lambda n: at.lvector("k") + n),
    ("cast", lambda n: at.as_tensor(n)),
    ("clip", lambda n: at.clip(at.lvector("k"), 0, n)),
    ("one_hot", lambda n: at.set_subtensor(at.lvector("k")[0], n)),
    ("diff", lambda n: at.diff(X, n)),
    ("scan", lambda n: aot.scan(lambda h: h + 1, outputs_info=[at.constant(1.0)], n_steps=n)),
    ("scan-taps", lambda n: aot.scan(lambda h: h + 1, outputs_info=[{"initial": X, "taps": [-n]}], n_steps=2)),
    ("truncate", lambda n: aot.scan(lambda h: h, outputs_info=[at.zeros(())], n_steps=2, truncate_gradient=n)),
    ("draws", lambda n: at.random.default_rng(0).normal(size=(n,))),
    ("shared", lambda n: aot.shared(n)),
    ("shared-value", lambda n: aot.shared(0).set_value(n)),
    ("argument", lambda n: at.lscalar("k").eval({"k": n})),
]


@pytest.mark.shows("tensor/0-uint64")
@pytest.mark.parametrize("sign", [1, -1], ids=["beyond", "below"])
@pytest.mark.parametrize(("id", "build"), REFUSED, ids=[id for id, _ in REFUSED])
def test_everything_else_is_refused(id: str, build: Callable[[int], Any], sign: int) -> None:
    with pytest.raises(AotensorError):
        build(sign * 2**65)
