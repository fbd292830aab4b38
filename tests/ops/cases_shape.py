"""Extents, reshape, axes, broadcasting, join and split, repetition and padding."""

from __future__ import annotations

import numpy as np
from case import Case, int8, normal, value

import aotensor.tensor as at
from aotensor.ops.shape.broadcast import broadcast_arrays, broadcast_to, specify_broadcastable, specify_shape
from aotensor.ops.shape.join import concatenate, horizontal_stack, hstack, join, split, stack, vstack
from aotensor.ops.shape.rearrange import flip, pad, repeat, roll, tile

GRID = np.arange(12.0).reshape(3, 4)
CUBE = np.arange(24.0).reshape(2, 3, 4)
EMPTY = np.zeros((0, 3))


def count(n: int) -> np.ndarray:
    """An extent as an input."""
    return np.array(n)


VALUES = [
    value("shape", lambda x: x.shape, [GRID], [3, 4]),
    value("shape-static", lambda x: x.shape, [GRID], [3, 4], dims=[(3, 4)]),
    value("shape-rank-0", lambda x: x.shape, [np.float64(1.0)], np.zeros(0)),
    value("shape-item", lambda x: x.shape[-1] * 2, [GRID], 8),
    value("shape-part", lambda x: x.shape[1:], [CUBE], [3, 4]),
    value("size", lambda x: x.size, [GRID], 12),
    value("size-empty", lambda x: x.size, [EMPTY], 0),
    value("shape_i", lambda x: at.shape_i(x, 1), [EMPTY], 3),
    value("reshape-int8", lambda x: x.reshape(2, -1), [int8(1, 2, 3, 4)], [[1, 2], [3, 4]]),
    value(
        "reshape-vector", lambda x, s: x.reshape(s), [GRID, np.array([2, 6])], GRID.reshape(2, 6), dims=[(3, 4), (2,)]
    ),
    value(
        "reshape-rest-vector",
        lambda x, s: x.reshape(s),
        [GRID, np.array([-1, 6])],
        GRID.reshape(2, 6),
        dims=[(3, 4), (2,)],
    ),
    value("reshape-rest-ndim", lambda x, s: at.reshape(x, s, ndim=2), [GRID, np.array([6, -1])], GRID.reshape(6, 2)),
    value("reshape-rest-stack", lambda x, n: x.reshape(stack([-1, n])), [GRID, count(2)], GRID.reshape(6, 2)),
    value("reshape-rest-scalar", lambda x, n: x.reshape((n, 2)), [GRID, count(-1)], GRID.reshape(6, 2)),
    value("reshape-rest-constant", lambda x: x.reshape(at.as_tensor([-1, 2])), [GRID], GRID.reshape(6, 2)),
    value("reshape-rest-empty", lambda x, n: x.reshape((n, 2)), [EMPTY, count(-1)], np.zeros((0, 2))),
    value("reshape-like", lambda x, y: x.reshape(y.shape), [GRID, np.zeros((6, 2))], GRID.reshape(6, 2)),
    value(
        "reshape-empty-rest",
        lambda x: x.reshape((x.shape[0], -1)),
        [np.zeros((0, 3, 4))],
        np.zeros((0, 12)),
        dims=[("n", 3, 4)],
    ),
    value("reshape-to-scalar", lambda x: x.reshape(()), [np.ones((1, 1))], 1.0),
    value("flatten-empty", lambda x: x.flatten(), [EMPTY], np.zeros(0)),
    value("ravel-scalar", lambda x: x.ravel(), [np.float64(3.0)], [3.0]),
    value("squeeze-static", lambda x: x.squeeze(), [np.ones((1, 3, 1))], [1, 1, 1]),
    value("squeeze-run-time", lambda x: x.squeeze(), [np.ones((1, 2))], np.ones((1, 2)), dims=[(None, None)]),
    value("squeeze-named-axis", lambda x: x.squeeze(0), [np.ones((1, 2))], np.ones(2), dims=[(None, None)]),
    value("join-mixed", lambda x, y: join(0, x, y), [int8(1), np.array([2.5])], [1, 2.5]),
    value("join-bool", lambda x, y: join(0, x, y), [np.array([True]), np.array([False])], [True, False]),
    value("join-one", lambda x: join(0, x), [np.array([1.0, 2.0])], [1, 2]),
    value("join-empty", lambda x, y: concatenate([x, y], axis=0), [EMPTY, np.ones((2, 3))], np.ones((2, 3))),
    value("stack-scalars", lambda x, y: stack([x, y]), [np.float64(1.0), np.float64(2.0)], [1, 2]),
    value("stack-of-list", lambda x: at.as_tensor([x, 2 * x]), [np.array([1.0, 2.0])], [[1, 2], [2, 4]]),
    value("split-sizes", lambda x, n: split(x, [1, n, 2])[1], [np.arange(6.0), count(3)], [1, 2, 3]),
    value("tile-int", lambda x: tile(x, (2, 2)), [int8(1, 2)], [[1, 2, 1, 2], [1, 2, 1, 2]]),
    value("tile-none", lambda x: tile(x, 0), [int8(1, 2)], np.zeros(0)),
    value("repeat-flat", lambda x: repeat(x, 2), [np.array([[1, 2], [3, 4]])], [1, 1, 2, 2, 3, 3, 4, 4]),
    value("repeat-list-of-one", lambda x: repeat(x, [2]), [int8(1, 2)], [1, 1, 2, 2]),
    value("repeat-stack-of-one", lambda x, n: repeat(x, stack([n]), 0), [GRID, count(2)], GRID.repeat(2, 0)),
    value("repeat-vector-of-one", lambda x, n: repeat(x, n), [int8(1, 2), np.array([3])], [1, 1, 1, 2, 2, 2]),
    value("tile-vector", lambda x, n: tile(x, n), [GRID, np.array([2, 1])], np.tile(GRID, (2, 1)), dims=[(3, 4), (2,)]),
    value("tile-stack", lambda x, n: tile(x, stack([n, 2])), [int8(1, 2), count(2)], np.tile([1, 2], (2, 2))),
    value("tile-array", lambda x: tile(x, np.array([2, 1])), [GRID], np.tile(GRID, (2, 1))),
    value("repeat-none", lambda x, n: x.repeat(n, axis=0), [GRID, count(0)], np.zeros((0, 4))),
    value("roll-flat", lambda x: roll(x, 1), [GRID], np.roll(GRID, 1)),
    value("roll-far", lambda x: roll(x, -13, axis=1), [GRID], np.roll(GRID, -13, axis=1)),
    value("roll-symbolic", lambda x, k: roll(x, k, axis=0), [GRID, count(-1)], np.roll(GRID, -1, axis=0)),
    value("roll-empty", lambda x: roll(x, 2, axis=0), [EMPTY], EMPTY),
    value("roll-static", lambda x: roll(x, 5, axis=1), [GRID], np.roll(GRID, 5, axis=1), dims=[(3, 4)]),
    value("flip-all", flip, [GRID], GRID[::-1, ::-1]),
    value(
        "pad-value",
        lambda x: pad(x, ((1, 0), (0, 2)), constant_values=7),
        [int8(1).reshape(1, 1)],
        [[7, 7, 7], [1, 7, 7]],
    ),
    value("pad-empty", lambda x: pad(x, 1), [EMPTY], np.zeros((2, 5))),
    value("atleast_3d", at.atleast_3d, [GRID], GRID[:, :, None]),
]

SMOOTH = [
    Case(id="reshape", build=lambda x: x.reshape((2, 6)), inputs=normal((3, 4))),
    Case(id="reshape-rest", build=lambda x: x.reshape((x.shape[0], -1)), inputs=normal((2, 3, 4))),
    Case(
        id="reshape-named", build=lambda x: x.reshape((x.shape[0], -1)), inputs=normal((2, 3, 4)), dims=[("n", 3, "k")]
    ),
    Case(id="reshape-symbolic", build=lambda x, n: x.reshape((n, 2)), inputs=[GRID, count(6)], wrt=(0,)),
    Case(id="reshape-static", build=lambda x: x.reshape(-1, 2), inputs=normal((3, 4)), dims=[(3, 4)]),
    Case(id="flatten", build=lambda x: x.flatten(2), inputs=normal((2, 3, 4))),
    Case(id="dimshuffle", build=lambda x: x.dimshuffle(1, "x", 0), inputs=normal((3, 4))),
    Case(id="dimshuffle-drop", build=lambda x: x.dimshuffle(1), inputs=normal((1, 4)), dims=[(None, None)]),
    Case(id="dimshuffle-scalar", build=lambda x: x.dimshuffle("x", "x"), inputs=[np.float64(2.0)]),
    Case(id="transpose", build=lambda x: x.T, inputs=normal((3, 4))),
    Case(id="transpose-axes", build=lambda x: x.transpose(2, 0, 1), inputs=normal((2, 3, 4))),
    Case(id="matrix_transpose", build=lambda x: x.mT, inputs=normal((2, 3, 4))),
    Case(id="swapaxes", build=lambda x: x.swapaxes(0, -1), inputs=normal((2, 3, 4))),
    Case(id="moveaxis", build=lambda x: at.moveaxis(x, [0, 1], [-1, 0]), inputs=normal((2, 3, 4))),
    Case(id="expand_dims", build=lambda x: at.expand_dims(x, (0, -1)), inputs=normal((2, 3))),
    Case(id="shape_padright", build=lambda x: at.shape_padright(x, 2) * at.shape_padleft(x, 2), inputs=normal((3,))),
    Case(
        id="broadcast_to", build=lambda x, n: broadcast_to(x, (n, 2, 4)), inputs=[np.ones((1, 4)), count(3)], wrt=(0,)
    ),
    Case(id="broadcast_arrays", build=lambda x, y: broadcast_arrays(x, y), inputs=normal((3, 1), (1, 4))),
    Case(id="specify_shape", build=lambda x, n: specify_shape(x, (n, 4)), inputs=[GRID, count(3)], wrt=(0,)),
    Case(
        id="specify_broadcastable",
        build=lambda x, y: specify_broadcastable(x, 0) * y,
        inputs=normal((1, 4), (3, 4)),
        dims=[(None, None), (None, None)],
    ),
    Case(id="join", build=lambda x, y: join(1, x, y, x), inputs=normal((2, 3), (2, 1))),
    Case(id="join-static", build=lambda x, y: join(0, x, y), inputs=normal((2, 3), (1, 3)), dims=[(2, 3), (1, 3)]),
    Case(
        id="join-named", build=lambda x, y: join(-1, x, y), inputs=normal((2, 3), (2, 2)), dims=[("n", 3), ("n", "k")]
    ),
    Case(id="join-with-int", build=lambda x, y: join(0, x, y) * 2, inputs=[int8(3), np.array([2.0])], wrt=(0, 1)),
    Case(id="stack", build=lambda x, y: stack([x, y, x], axis=1), inputs=normal((2, 3), (2, 3))),
    Case(id="hstack", build=lambda x, y: hstack([x, y]), inputs=normal((3,), (2,))),
    Case(id="horizontal_stack", build=lambda x, y: horizontal_stack(x, y), inputs=normal((2, 3), (2, 2))),
    Case(id="vstack", build=lambda x, y: vstack([x, y]), inputs=normal((2, 3), (3,))),
    Case(id="split", build=lambda x: split(x, [1, 2, 1], 3, axis=1), inputs=normal((3, 4))),
    Case(id="split-one-used", build=lambda x, n: split(x, [n, 2], axis=0)[0] ** 2, inputs=[GRID, count(1)], wrt=(0,)),
    Case(id="tile", build=lambda x, n: tile(x, (n, 1, 2)), inputs=[GRID, count(2)], wrt=(0,)),
    Case(id="repeat", build=lambda x: x.repeat(3, axis=1), inputs=normal((2, 3))),
    Case(id="roll", build=lambda x: roll(x, 2, axis=1), inputs=normal((2, 5))),
    Case(id="flip", build=lambda x: flip(x, 1), inputs=normal((2, 5))),
    Case(id="pad", build=lambda x, c: pad(x, (1, 2), constant_values=c), inputs=[GRID, np.float64(3.0)]),
]

WIDE = ((4, 7), (1, 2))
ITSELF = [
    Case(
        id=f"pad-{mode}{'-far' if widths is WIDE else ''}",
        build=lambda x, mode=mode, widths=widths: pad(x, widths, mode),
        inputs=[GRID],
        expected=np.pad(GRID, widths, mode),
    )
    for mode in ("edge", "reflect", "symmetric", "wrap")
    for widths in ((1, 2), WIDE)
] + [
    Case(id="pad-reflect-one", build=lambda x: pad(x, 2, "reflect"), inputs=[GRID[:1, :2]], dims=[(None, 2)]),
    Case(id="pad-wrap-second", build=lambda x: pad(x, (0, 3), "wrap").sum(0) ** 2, inputs=[GRID]),
    value("pad-edge-none", lambda x: pad(x, 0, "edge"), [EMPTY], EMPTY),
    value("pad-symmetric-int8", lambda x: pad(x, 2, "symmetric"), [int8(1, 2)], [2, 1, 1, 2, 2, 1]),
    Case(
        id="repeat-each",
        build=lambda x, n: x.repeat(n, axis=1),
        inputs=[GRID, np.array([2, 0, 1, 3])],
        wrt=(0,),
        expected=np.repeat(GRID, [2, 0, 1, 3], axis=1),
        ragged=True,
    ),
    value("repeat-each-flat", lambda x: repeat(x, [0, 2, 1, 0]), [GRID[:2, :2]], [1, 1, 4]),
    value("repeat-each-none", lambda x, n: repeat(x, n, 0), [GRID, np.zeros(3, "uint8")], GRID[:0], ragged=True),
]

CASES: list[Case] = [*VALUES, *SMOOTH, *ITSELF]
