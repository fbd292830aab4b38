"""Basic indexing, and copies with a window replaced or increased."""

from __future__ import annotations

from typing import Any

import numpy as np
from case import Case, int8, normal, value

from aotensor.ops.updates import inc_subtensor, set_subtensor

GRID = np.arange(12.0).reshape(3, 4)
CUBE = np.arange(24.0).reshape(2, 3, 4)
LINE = np.arange(7.0)
SLICES = [
    slice(None),
    slice(2, None),
    slice(None, 3),
    slice(-3, -1),
    slice(5, 2),
    slice(None, None, 3),
    slice(1, 100, 2),
    slice(None, None, -1),
    slice(None, None, -3),
    slice(5, 1, -2),
    slice(-100, 3),
    slice(100, -100, -1),
    slice(2, 2),
    slice(None, 2, -1),
    slice(-2, None, -4),
]


def count(n: int) -> np.ndarray:
    """A bound as an input."""
    return np.array(n)


def _slice_case(window: slice, static: bool) -> Case:
    dims: Any = [(7,)] if static else None
    name = f"{window.start}:{window.stop}:{window.step}{'-static' if static else ''}"
    return Case(id=f"slice-{name}", build=lambda x: x[window], inputs=[LINE], dims=dims)


def _bound_case(start: int, stop: int, step: int | None) -> Case:
    return Case(
        id=f"slice-symbolic-{start}:{stop}:{step}",
        build=lambda x, a, b: x[a:b:step] * 2,
        inputs=[LINE, count(start), count(stop)],
        wrt=(0,),
        expected=LINE[start:stop:step] * 2,
    )


VALUES = [
    value("index-bool", lambda x: x[1], [np.array([True, False])], False),
    value("index-int8", lambda x: x[-1], [int8(1, 2, 3)], 3),
    value("index-uint8-position", lambda x, k: x[k], [LINE, np.array(5, "uint8")], 5.0),
    value("index-ellipsis", lambda x: x[..., 0], [CUBE], CUBE[..., 0]),
    value("index-new-axes", lambda x: x[None, 1, None, ..., None], [GRID], GRID[None, 1, None, ..., None]),
    value("index-nothing", lambda x: x[()], [np.float64(3.0)], 3.0),
    value("index-ellipsis-alone", lambda x: x[...], [GRID], GRID),
    value("index-empty", lambda x: x[:, 1:], [np.zeros((0, 3))], np.zeros((0, 2))),
    value("index-shape-of-window", lambda x: x[1:, None].shape, [GRID], [2, 1, 4]),
    value("set-bool", lambda x: set_subtensor(x[0], np.bool_(True)), [np.array([False, False])], [True, False]),
    value("inc-int8-wraps", lambda x: x[0].inc(100), [int8(100, 1)], [-56, 1]),
    value("set-literal", lambda x: x[1:].set(2), [int8(1, 1, 1)], [1, 2, 2]),
    value("set-into-int32", lambda x, y: x[0].set(y), [np.zeros(2, "int32"), np.array(7)], [7, 0]),
    value("set-nothing", lambda x: x[3:1].set(5), [LINE], LINE),
    value("set-all", lambda x: x[:].set(5), [LINE], np.full(7, 5)),
    value("inc-of-empty", lambda x: x[:, 0].inc(1), [np.zeros((0, 3))], np.zeros((0, 3))),
]

SMOOTH = [
    *[_slice_case(window, static) for window in SLICES for static in (False, True)],
    *[
        _bound_case(*bounds)
        for bounds in [(1, 4, None), (-3, 100, None), (5, 1, -2), (-1, -9, -1), (4, 2, 1), (0, 7, 3)]
    ],
    Case(id="index-row", build=lambda x: x[1], inputs=normal((3, 4))),
    Case(id="index-element", build=lambda x: x[-1, 2], inputs=normal((3, 4))),
    Case(id="index-symbolic", build=lambda x, i, j: x[i, j], inputs=[GRID, count(-3), count(3)], wrt=(0,)),
    Case(id="index-column-reversed", build=lambda x: x[::-1, 1], inputs=normal((3, 4)), dims=[("n", 4)]),
    Case(id="index-mixed", build=lambda x, n: x[1, None, n:, ::-2], inputs=[CUBE, count(1)], wrt=(0,)),
    Case(id="index-symbolic-step", build=lambda x, k: x[::k], inputs=[LINE, count(-3)], wrt=(0,), expected=LINE[::-3]),
    Case(
        id="index-symbolic-slice",
        build=lambda x, a, b, k: x[:, a:b:k],
        inputs=[GRID, count(0), count(-1), count(2)],
        wrt=(0,),
        expected=GRID[:, 0:-1:2],
    ),
    Case(
        id="inc-symbolic-step",
        build=lambda x, y, k: x[2::k].inc(y),
        inputs=[LINE, np.array([5.0, 7.0]), count(-2)],
        wrt=(0, 1),
        expected=[7.0, 1.0, 7.0, 3.0, 4.0, 5.0, 6.0],
    ),
    Case(
        id="set-symbolic-step", build=lambda x, y, k: x[::k].set(y), inputs=[GRID, GRID[:2] ** 2, count(2)], wrt=(0, 1)
    ),
    Case(id="index-window-summed", build=lambda x: x[:2, 1:].sum(axis=0), inputs=normal((3, 4))),
    Case(id="index-window-of-window", build=lambda x: x[:3][1:] * x[:2], inputs=normal((4, 3))),
    Case(id="index-last-by-shape", build=lambda x: x[x.shape[0] - 1], inputs=normal((3, 4))),
    Case(id="index-twice", build=lambda x: x[1:][0] * x[1], inputs=normal((3, 4))),
    Case(
        id="index-of-int-derivative",
        build=lambda x: x[1] * 2,
        inputs=[int8(1, 2)],
        wrt=(0,),
        numeric=False,
        specials={0: [0, 0]},
    ),
    Case(id="inc", build=lambda x, y: inc_subtensor(x[1:], y), inputs=normal((3, 4), (2, 4))),
    Case(id="inc-scalar", build=lambda x, y: inc_subtensor(x[:, 1], y), inputs=normal((3, 4), ())),
    Case(id="inc-row", build=lambda x, y: x[::2].inc(y), inputs=normal((3, 4), (1, 4))),
    Case(id="inc-element", build=lambda x, y, i: x[i, -1].inc(y), inputs=[GRID, np.float64(2.0), count(1)], wrt=(0, 1)),
    Case(id="inc-reversed", build=lambda x, y: x[::-2].inc(y), inputs=normal((5,), (3,))),
    Case(id="inc-new-axis", build=lambda x, y: x[1:, None].inc(y), inputs=normal((3, 4), (2, 1, 4))),
    Case(id="inc-twice", build=lambda x, y: x[1:].inc(y)[0].inc(y[0]), inputs=normal((3, 4), (2, 4))),
    Case(id="set", build=lambda x, y: set_subtensor(x[1], y), inputs=normal((3, 4), (4,))),
    Case(
        id="set-window", build=lambda x, y, n: x[n:, 1:3].set(y), inputs=[GRID, np.ones((2, 2)), count(1)], wrt=(0, 1)
    ),
    Case(id="set-reversed", build=lambda x, y: x[:, ::-1].set(y), inputs=normal((3, 4), (3, 4))),
    Case(id="set-static", build=lambda x, y: x[1:3, ::-2].set(y), inputs=normal((3, 4), (2, 2)), dims=[(3, 4), (2, 2)]),
    Case(id="set-broadcast", build=lambda x, y: x[:2].set(y), inputs=normal((3, 4), (4,))),
    Case(id="set-float32", build=lambda x, y: x[0].set(y) * 2, inputs=[np.ones(3, "float32"), np.float64(2.0)]),
]

CASES: list[Case] = [*VALUES, *SMOOTH]
