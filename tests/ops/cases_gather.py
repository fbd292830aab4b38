"""Indexing by integer arrays, copies with such elements replaced or increased, take and take_along_axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from case import Case, int8, normal, value

from aotensor.gradient import grad
from aotensor.ops.create import zeros_like
from aotensor.ops.reduce.sums import sum as sum_over
from aotensor.ops.take import take, take_along_axis
from aotensor.ops.updates import inc_subtensor, set_subtensor

LINE = np.arange(7.0)
GRID = np.arange(12.0).reshape(3, 4)
CUBE = np.arange(24.0).reshape(2, 3, 4)
SQUARES = CUBE**2
REPEATS = np.array([1, 1, 2])
ROWS, COLUMNS = np.array([[0], [-1]]), np.array([[1, 1, -4]])
NONE = np.zeros(0, "int64")
PLACES = np.array([[2, 0], [-1, 2], [1, 1]])


def _like_numpy(name: str, index: Callable[..., Any], x: np.ndarray, *arrays: np.ndarray) -> Case:
    """x[index] with derivatives, against NumPy."""
    return Case(
        id=f"gather-{name}",
        build=lambda x, *rest: x[index(*rest)],
        inputs=[x, *arrays],
        wrt=(0,),
        expected=x[index(*arrays)],
    )


def _changed(name: str, index: Callable[..., Any], x: np.ndarray, y: Any, *arrays: np.ndarray) -> list[Case]:
    """x[index] increased by y, and replaced by it, with derivatives, against NumPy."""
    added, replaced = x.copy(), x.copy()
    np.add.at(added, index(*arrays), y)
    replaced[index(*arrays)] = y
    inputs = [x, np.asarray(y), *arrays]
    return [
        Case(
            id=f"scatter-inc-{name}",
            build=lambda x, y, *rest: inc_subtensor(x[index(*rest)], y),
            inputs=inputs,
            wrt=(0, 1),
            expected=added,
        ),
        Case(
            id=f"scatter-set-{name}",
            build=lambda x, y, *rest: set_subtensor(x[index(*rest)], y),
            inputs=inputs,
            wrt=(0, 1),
            expected=replaced,
        ),
    ]


def _derivative(build: Callable[..., Any], position: int = 0) -> Callable[..., Any]:
    """The gradient of the sum of cubes: its own derivatives are second ones."""
    return lambda *xs: grad(sum_over(build(*xs) ** 3), xs[position])


GATHER = [
    _like_numpy("rows", lambda i: i, GRID, REPEATS),
    _like_numpy("negative", lambda i: i, GRID, np.array([-1, 0, -3])),
    _like_numpy("matrix-of-rows", lambda i: i, GRID, PLACES),
    _like_numpy("columns", lambda i: (slice(None), i), GRID, np.array([3, 0])),
    _like_numpy("pairs", lambda i, j: (i, j), GRID, REPEATS, np.array([0, 3, -1])),
    _like_numpy("broadcast", lambda i, j: (i, j), GRID, ROWS, COLUMNS),
    _like_numpy("middle", lambda i: (slice(None), i), CUBE, PLACES),
    _like_numpy("neighbours", lambda i, j: (slice(None), i, j), CUBE, ROWS, COLUMNS),
    _like_numpy("apart", lambda i, j: (i, slice(None), j), CUBE, np.array([1, 0]), np.array([3, 3])),
    _like_numpy("int-apart", lambda j: (0, slice(None), j), CUBE, PLACES),
    _like_numpy("int-beside", lambda j: (slice(None), -1, j), CUBE, PLACES),
    _like_numpy("slice-cuts", lambda i: (slice(1, None), i, slice(None, None, -2)), CUBE, REPEATS),
    _like_numpy("new-axis-behind", lambda i: (i, None), GRID, REPEATS),
    _like_numpy("new-axis-between", lambda i, j: (i, None, j), GRID, REPEATS, REPEATS),
    _like_numpy("ellipsis", lambda i: (..., i), CUBE, PLACES),
    _like_numpy("rank-0", lambda i, j: (i, j), GRID, np.array(-1), np.array([2, 2])),
    _like_numpy("one", lambda i: i, LINE, np.array([3])),
    _like_numpy("nothing", lambda i: i, GRID, NONE),
    _like_numpy("nothing-of-nothing", lambda i: i, np.zeros((0, 3)), NONE),
    _like_numpy("of-empty-rows", lambda i: i, np.zeros((3, 0)), REPEATS),
    *[_like_numpy(kind, lambda i: i, LINE, REPEATS.astype(kind)) for kind in ("int8", "uint8", "uint32", "uint64")],
    Case(id="gather-list", build=lambda x: x[[2, 0, 2]], inputs=[LINE], expected=[2.0, 0.0, 2.0]),
    Case(id="gather-empty-list", build=lambda x: x[[]], inputs=[LINE], expected=np.zeros(0)),
    Case(id="gather-float32", build=lambda x, i: x[i] * 2, inputs=[np.ones(3, "float32"), REPEATS], wrt=(0,)),
    Case(id="gather-static", build=lambda x, i: x[i], inputs=[GRID, REPEATS], dims=[(3, 4), (3,)], wrt=(0,)),
    Case(id="gather-of-sum", build=lambda x, i: (x * 2)[i].sum(axis=0), inputs=[GRID, REPEATS], wrt=(0,)),
    Case(id="gather-of-gather", build=lambda x, i: x[i][i] * x[i], inputs=[GRID, REPEATS], wrt=(0,)),
    Case(id="gather-by-argsort", build=lambda x: x[x.argsort()] * [1.0, 2.0, 3.0], inputs=normal((3,))),
    Case(id="gather-second", build=_derivative(lambda x, i: x[i]), inputs=[LINE, REPEATS], wrt=(0,)),
    value("gather-bool", lambda x, i: x[i], [np.array([True, False]), np.array([1, 0])], [False, True]),
    value("gather-int8-values", lambda x, i: x[i], [int8(5, 6, 7), REPEATS], [6, 6, 7]),
    value("gather-of-shape", lambda x: x.shape[[1, 0]], [GRID], [4, 3]),
    Case(
        id="gather-of-int-derivative",
        build=lambda x, i: x[i] * 2,
        inputs=[int8(1, 2, 3), REPEATS],
        wrt=(0,),
        numeric=False,
        specials={0: [0, 0, 0]},
    ),
]

SCATTER = [
    *_changed("rows", lambda i: i, GRID, SQUARES[0], REPEATS),
    *_changed("negative", lambda i: i, LINE, np.array([1.0, 2.0, 4.0]), np.array([-1, 6, 0])),
    *_changed("scalar", lambda i: i, GRID, 3.0, REPEATS),
    *_changed("row", lambda i: i, GRID, SQUARES[0, :1], REPEATS),
    *_changed("lower-rank", lambda i: i, GRID, SQUARES[0, 1], REPEATS),
    *_changed("pairs", lambda i, j: (i, j), GRID, np.array([5.0, 6.0, 7.0]), REPEATS, np.array([3, -1, 0])),
    *_changed("broadcast", lambda i, j: (i, j), GRID, SQUARES[0, :2, 1:], ROWS, COLUMNS),
    *_changed("middle", lambda i: (slice(None), i), CUBE, np.arange(48.0).reshape(2, 3, 2, 4), PLACES),
    *_changed("neighbours", lambda i, j: (slice(None), i, j), CUBE, SQUARES[:, :2, 1:], ROWS, COLUMNS),
    *_changed("apart", lambda i, j: (i, slice(None), j), CUBE, SQUARES[0, :2, 1:], np.array([1, 1]), np.array([3, 3])),
    *_changed("slice-cuts", lambda i: (slice(1, None), i, slice(None, None, -2)), CUBE, SQUARES[:1, :, :2], REPEATS),
    *_changed("new-axis", lambda i: (i, None), GRID, SQUARES[0][:, None], REPEATS),
    *_changed("nothing", lambda i: i, GRID, np.zeros((0, 4)), NONE),
    *_changed("int-beside", lambda j: (slice(None), -1, j), CUBE, SQUARES[:, 0, :3], REPEATS),
    Case(
        id="scatter-inc-ignoring-duplicates",
        build=lambda x, y, i: x[i].inc(y, ignore_duplicates=True),
        inputs=[LINE, np.array([10.0, 20.0, 30.0]), REPEATS],
        wrt=(0, 1),
        expected=[0.0, 21.0, 32.0, 3.0, 4.0, 5.0, 6.0],
    ),
    Case(
        id="scatter-set-overwritten",
        build=lambda x, y, i: x[i].set(y),
        inputs=[LINE, np.array([10.0, 20.0, 30.0]), REPEATS],
        wrt=(0, 1),
        specials={0: [1, 0, 0, 1, 1, 1, 1], 1: [0, 1, 1]},
    ),
    Case(
        id="scatter-counts",
        build=lambda x, i: x[i],
        inputs=[LINE, REPEATS],
        wrt=(0,),
        specials={0: [0, 2, 1, 0, 0, 0, 0]},
    ),
    Case(
        id="scatter-sums-by-group",
        build=lambda x, y, i: zeros_like(x)[i].inc((y - x[i]) * y),
        inputs=[LINE, np.array([10.0, 20.0, 30.0]), REPEATS],
        wrt=(0, 1),
    ),
    Case(
        id="scatter-static",
        build=lambda x, y, i: x[i].set(y),
        inputs=[GRID, SQUARES[0], REPEATS],
        dims=[(3, 4), (3, 4), (3,)],
        wrt=(0, 1),
    ),
    Case(
        id="scatter-of-product",
        build=lambda x, y, i: (x * 2)[i].inc(y * x) * x,
        inputs=[GRID, SQUARES[0], REPEATS],
        wrt=(0, 1),
    ),
    Case(
        id="scatter-float32",
        build=lambda x, y, i: x[i].inc(y),
        inputs=[np.ones(3, "float32"), np.float64(2.0), REPEATS],
        wrt=(0, 1),
    ),
    Case(
        id="scatter-inc-second",
        build=_derivative(lambda x, y, i: x[i].inc(y), 1),
        inputs=[LINE, np.ones(3), REPEATS],
        wrt=(0, 1),
    ),
    Case(
        id="scatter-set-second",
        build=_derivative(lambda x, y, i: x[i].set(y), 1),
        inputs=[LINE, np.ones(3), REPEATS],
        wrt=(0, 1),
    ),
    value("scatter-int8-wraps", lambda x, i: x[i].inc(100), [int8(100, 1, 0), REPEATS], [100, -55, 100]),
    value("scatter-bool", lambda x, i: x[i].set(np.True_), [np.zeros(3, bool), REPEATS], [False, True, True]),
    value("scatter-bool-inc", lambda x, i: x[i].inc(np.True_), [np.zeros(3, bool), REPEATS], [False, True, True]),
    value(
        "scatter-uint8-places",
        lambda x, i: x[i].inc(1),
        [np.zeros(200), np.array([199, 199], "uint8")],
        np.eye(1, 200, 199)[0] * 2,
    ),
]

TAKE = [
    Case(id="take-flat", build=take, inputs=[GRID, np.array([[11, -1]])], wrt=(0,), expected=[[11.0, 11.0]]),
    Case(id="take-axis", build=lambda x, i: x.take(i, axis=-1), inputs=[GRID, REPEATS], wrt=(0,)),
    Case(id="take-one", build=lambda x, i: take(x, i, axis=1), inputs=[GRID, np.array(2)], wrt=(0,)),
    Case(id="take-number", build=lambda x: take(x, -1, axis=0), inputs=[GRID], expected=GRID[-1]),
    Case(id="take-list", build=lambda x: take(x, [0, 0], axis=0), inputs=[GRID], expected=GRID[[0, 0]]),
    *[
        Case(
            id=f"take-{mode}-{kind}",
            build=lambda x, i, mode=mode: take(x, i, 0, mode),
            inputs=[LINE, np.array([-9, -1, 3, 7, 15], kind)],
            wrt=(0,),
            expected=np.take(LINE, np.array([-9, -1, 3, 7, 15]), mode=mode),
        )
        for mode in ("clip", "wrap")
        for kind in ("int64", "int8")
    ],
    value("take-clip-one", lambda x, i: take(x, i, mode="clip"), [LINE, np.array(99)], 6.0),
    Case(
        id="take-along-rows",
        build=take_along_axis,
        inputs=[GRID, np.array([[3, 3], [0, -1], [2, 1]])],
        wrt=(0,),
        expected=[[3.0, 3.0], [4.0, 7.0], [10.0, 9.0]],
    ),
    Case(
        id="take-along-columns",
        build=lambda x, i: take_along_axis(x, i, 0),
        inputs=[GRID, np.array([[0, 2, 1, -1]])],
        wrt=(0,),
        expected=[[0.0, 9.0, 6.0, 11.0]],
    ),
    Case(
        id="take-along-one-column",
        build=lambda x, i: take_along_axis(x, i, 0),
        inputs=[GRID, np.array([[2], [0]])],
        wrt=(0,),
    ),
    Case(
        id="take-along-none", build=lambda x, i: take_along_axis(x, i, None), inputs=[GRID, np.array([11, 0])], wrt=(0,)
    ),
    Case(
        id="take-along-cube",
        build=lambda x, i: take_along_axis(x, i, 1),
        inputs=[CUBE, np.ones((2, 2, 4), int)],
        wrt=(0,),
    ),
    Case(id="take-along-argsort", build=lambda x: take_along_axis(x, x.argsort(axis=0), 0), inputs=normal((3, 4))),
]

CASES: list[Case] = [*GATHER, *SCATTER, *TAKE]
