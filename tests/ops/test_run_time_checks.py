"""What cannot be known when the graph is built is checked at run time: the same errors from reference and library."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import aotensor as aot
import aotensor.tensor as at
from aotensor.core.types import TensorType
from aotensor.graph.variable import Variable
from aotensor.ops.reduce.extremum import argmin, max
from aotensor.ops.shape.broadcast import broadcast_to, specify_broadcastable, specify_shape
from aotensor.ops.shape.join import join, split

GRID = np.zeros((2, 3))
U64 = np.array([0, 9], "uint64")

CHECKS: list[tuple[str, Any, list[Any], type[Exception], str]] = [
    ("position", lambda x: x[2], [GRID], IndexError, "index 2 is out of range for axis 0 of extent 2"),
    ("symbolic", lambda x, k: x[0, k], [GRID, -4], IndexError, "index -4 is out of range for axis 1 of extent 3"),
    ("rows", lambda x, i: x[i], [GRID, [0, 2]], IndexError, "index 2 is out of range for axis 0 of extent 2"),
    ("columns", lambda x, i: x[:, i], [GRID, [-4, 0]], IndexError, "index -4 is out of range for axis 1 of extent 3"),
    ("pairs", lambda x, i: x[0, i[:1]], [GRID, [3]], IndexError, "index 3 is out of range for axis 1 of extent 3"),
    ("unsigned", lambda x, i: x[i], [GRID, U64], IndexError, "index 9 is out of range for axis 0 of extent 2"),
    ("inc-rows", lambda x, i: x[i].inc(1), [GRID, [1, -3]], IndexError, "index -3 is out of range for axis 0"),
    ("set-rows", lambda x, i: x[i].set(1), [GRID, [[2]]], IndexError, "index 2 is out of range for axis 0"),
    (
        "set-rows-2",
        lambda x, i, y: x[i].set(y),
        [GRID, [1], GRID],
        ValueError,
        "extent 2 for axis 0 of a window of ext",
    ),
    ("mask", lambda x, m: x[m], [GRID, GRID[:1] > 0], IndexError, "extents of the mask and of axis 0 differ"),
    ("mask-columns", lambda x, m: x[:, m], [GRID, GRID[0, :2] > 0], IndexError, "of axis 1 differ"),
    ("mask-number", lambda x, m: x[m].set(0), [GRID, GRID[0] > 0], IndexError, "axis 0 differ: .*3 and .*2"),
    ("mask-inc", lambda x, m: x[:, m].inc(1), [GRID, GRID[:, 0] > 0], IndexError, "axis 1 differ: .*2 and .*3"),
    ("mask-inc-1", lambda x, m: x[m].inc(x[0, :1]), [GRID, GRID > 0], ValueError, "extent 1 for axis 0 of a window"),
    ("mask-set", lambda x, y: x[x < 1].set(y), [GRID, np.zeros(5)], ValueError, "extent 5 for axis 0 of a window of"),
    ("mask-pairs", lambda x, y: x[x < 1] + y[y > 0], [GRID, np.eye(2)], ValueError, "extents .*along axis 0"),
    ("mask-guarded", lambda x, i: x[x[i] > 0], [GRID[:, 0], [0, 2]], IndexError, "index 2 is out of range for axis 0"),
    ("step", lambda x, k: x[::k], [GRID, 0], ValueError, "the step of a slice is 0"),
    ("step-set", lambda x, k: x[0, ::k].set(1), [GRID, 0], ValueError, "the step of a slice is 0"),
    ("repeat", lambda x, n: at.repeat(x, n, 0), [GRID, [1, -1]], ValueError, "position -1 is out of range for an ext"),
    ("repeat-2", lambda x, n: at.repeat(x, n, 0), [GRID, [1, 1, 1]], ValueError, "extent 3 along axis 0 instead of 2"),
    ("pad", lambda x: at.pad(x, 1, "edge"), [np.zeros(0)], ValueError, "pad: axis 0 is empty"),
    ("permute", lambda x, p: at.permute_row_elements(x, p), [GRID, [0, 2, 2]], ValueError, "is not a permutation"),
    ("permute-back", lambda p: at.inverse_permutation(p), [[1, 2, 3]], ValueError, "is not a permutation"),
    ("ravel", lambda i: at.ravel_multi_index([i], (3,)), [[0, 3]], ValueError, "position 3 is out of range for an ext"),
    ("unravel", lambda i: at.unravel_index(i, (2, 2))[0], [[0, -1]], ValueError, "position -1 is out of range for an"),
    (
        "choose",
        lambda i, x: at.choose(i, [x, x]),
        [[0, 2], [0.0, 1.0]],
        ValueError,
        "position 2 is out of range for an extent of 2",
    ),
    ("choose-1", lambda i, x: at.choose(i, x), [[0, -1], GRID[0]], ValueError, "position -1 is out of range for an"),
    ("compress", lambda c, x: at.compress(c, x, 1), [[1, 0], GRID], IndexError, "axis 1 differ: .*2 and .*3"),
    ("indices", lambda x, i, j: x[i, j], [GRID, [0, 1], [0, 1, 2]], IndexError, "along axis 0 of the indices differ"),
    ("take", lambda x, i: at.take(x, i), [GRID, [6]], IndexError, "index 6 is out of range for axis 0 of extent 6"),
    ("take-none", lambda x, i: at.take(x, i, mode="clip"), [np.zeros(0), [0]], IndexError, "for axis 0 of extent 0"),
    ("take-wrap", lambda x, i: at.take(x, i, mode="wrap"), [np.zeros(0), [0]], IndexError, "for axis 0 of extent 0"),
    ("inc", lambda x, k: x[k].inc(1), [GRID, 5], IndexError, "index 5 is out of range for axis 0 of extent 2"),
    ("set", lambda x, y: x[0].set(y), [GRID, np.zeros(2)], ValueError, "extent 2 for axis 0 of a window of extent 3"),
    ("set-1", lambda x, y: x[0].set(y[:1]), [GRID, np.zeros(2)], ValueError, "extent 1 for axis 0 of a window of ext"),
    ("reshape", lambda x: x.reshape((4, 2)), [GRID], ValueError, "6 elements do not fit a shape of 8"),
    ("rest", lambda x: x.reshape((-1, 4)), [GRID], ValueError, "6 elements"),
    ("negative", lambda x, k: x.reshape((k, -1)), [GRID, -2], ValueError, "extent -2 is negative"),
    ("no-rest", lambda x, k: x.reshape((k, -1)), [GRID, 0], ValueError, "cannot be computed for 6 elements"),
    ("two-rests", lambda x, k: x.reshape((k, -1)), [GRID, -1], ValueError, "only one extent can be −1"),
    ("rests", lambda x, s: at.reshape(x, s, ndim=2), [GRID, [-1, -1]], ValueError, "only one extent can be −1"),
    ("no-rest-2", lambda x, k: x.reshape((k, 0)), [GRID, -1], ValueError, "cannot be computed for 6 elements"),
    ("rest-misfit", lambda x, k: x.reshape((k, 4)), [GRID, -1], ValueError, "6 elements do not fit a shape of 4"),
    ("rank", lambda x, s: at.reshape(x, s, ndim=2), [GRID, [6]], ValueError, "extent 1 along axis 0 instead of 2"),
    ("repeat-1", lambda x, n: at.repeat(x, n, 0), [GRID, [2]], ValueError, "extent 1 along axis 0 instead of 2"),
    ("tile", lambda x, n: at.tile(x, n), [GRID, -1], ValueError, "extent -1 is negative"),
    ("squeeze", lambda x: x.squeeze(0), [GRID], ValueError, "axis 0 has extent 2, only extent 1"),
    ("specify", lambda x: specify_shape(x, (3, None)), [GRID], ValueError, "extent 2 along axis 0 instead of 3"),
    ("broadcastable", lambda x: specify_broadcastable(x, 1), [GRID], ValueError, "extent 3 along axis 1 instead of 1"),
    ("broadcast", lambda x: broadcast_to(x, (4, 3)), [GRID], ValueError, "2"),
    ("join", lambda x: join(0, x, x.T), [GRID], ValueError, "join: extents along axis 1 differ"),
    ("split", lambda x: split(x, [1, 2])[0], [GRID], ValueError, "parts of 3 in all for an extent of 2"),
    ("split-negative", lambda x, k: split(x, [3, k])[0], [GRID, -1], ValueError, "extent -1 is negative"),
    ("dot", at.dot, [GRID, np.zeros(2)], ValueError, "dot: inner dimensions differ"),
    ("matmul", lambda x, y: x @ y, [np.zeros((2, 3, 4)), np.zeros((5, 4, 3))], ValueError, "batch dimensions differ"),
    ("max", lambda x: max(x, axis=0), [np.zeros((0, 3))], ValueError, "max: axis 0 is empty"),
    ("argmin", lambda x: argmin(x, axis=1), [np.zeros((3, 0))], ValueError, "argmin: axis 1 is empty"),
]


def _program(build: Any, values: list[Any]) -> tuple[list[Variable], list[Any], Variable]:
    arrays = [np.asarray(value) for value in values]
    symbols = [
        Variable(TensorType(array.dtype.name, (None,) * array.ndim), name=f"x{position}")
        for position, array in enumerate(arrays)
    ]
    return symbols, arrays, build(*symbols)


@pytest.mark.parametrize(("id", "build", "values", "error", "text"), CHECKS, ids=[row[0] for row in CHECKS])
def test_reference(id: str, build: Any, values: list[Any], error: type[Exception], text: str) -> None:
    symbols, arrays, output = _program(build, values)
    with pytest.raises(error, match=text.split(": ", 1)[-1]):
        output.eval(dict(zip(symbols, arrays, strict=True)))


@pytest.mark.parametrize(("id", "build", "values", "error", "text"), CHECKS, ids=[row[0] for row in CHECKS])
def test_compiled(id: str, build: Any, values: list[Any], error: type[Exception], text: str) -> None:
    symbols, arrays, output = _program(build, values)
    f = aot.function(symbols, output, name="checked", on_unused_input="ignore")
    with pytest.raises(error, match=text.split(": ", 1)[-1]):  # the op stands further in front, with its operands
        f(*arrays)
