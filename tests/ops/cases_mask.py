"""Masks as indices, copies with what they name replaced or increased, and the positions where a condition holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from case import NAN, Case, int8, value

import aotensor.tensor as at
from aotensor.gradient import grad

LINE = np.array([3.0, -1.0, 0.5, -2.0])
GRID = np.arange(12.0).reshape(3, 4) - 5.5
CUBE = np.arange(24.0).reshape(2, 3, 4) - 11.5
ROWS, COLUMNS = np.array([True, False, True]), np.array([False, True, True, False])
SOME, NOWHERE = GRID % 3 > 1, np.zeros((3, 4), bool)
FACES = CUBE[0] > -9
TWO = np.array([2, 0])


def _like_numpy(name: str, index: Callable[..., Any], x: np.ndarray, *arrays: np.ndarray) -> Case:
    """x[index] with derivatives, against NumPy."""
    return Case(
        id=f"mask-{name}",
        build=lambda x, *rest: x[index(*rest)],
        inputs=[x, *arrays],
        wrt=(0,),
        expected=x[index(*arrays)],
        ragged=True,
    )


def _changed(name: str, index: Callable[..., Any], x: np.ndarray, y: Any, *arrays: np.ndarray) -> list[Case]:
    """x[index] increased by y, and replaced by it, with derivatives, against NumPy."""
    added, replaced = x.copy(), x.copy()
    added[index(*arrays)] += y
    replaced[index(*arrays)] = y
    ragged = np.ndim(y) > 0  # a number needs no positions
    inputs = [x, np.asarray(y), *arrays]
    return [
        Case(
            id=f"mask-inc-{name}",
            build=lambda x, y, *rest: at.inc_subtensor(x[index(*rest)], y),
            inputs=inputs,
            wrt=(0, 1),
            expected=added,
            ragged=ragged,
        ),
        Case(
            id=f"mask-set-{name}",
            build=lambda x, y, *rest: at.set_subtensor(x[index(*rest)], y),
            inputs=inputs,
            wrt=(0, 1),
            expected=replaced,
            ragged=ragged,
        ),
    ]


def _count(mask: np.ndarray, *others: int) -> np.ndarray:
    """Values for the places of a mask."""
    return np.arange(1.0, 1 + mask.sum() * np.prod(others, dtype=int)).reshape(mask.sum(), *others)


GATHER = [
    _like_numpy("line", lambda m: m, LINE, np.array([True, False, True, True])),
    _like_numpy("all-axes", lambda m: m, GRID, SOME),
    _like_numpy("rows", lambda m: m, GRID, ROWS),
    _like_numpy("columns", lambda m: (slice(None), m), GRID, COLUMNS),
    _like_numpy("ellipsis", lambda m: (..., m), CUBE, COLUMNS),
    _like_numpy("leading-of-three", lambda m: m, CUBE, CUBE[:, :, 0] > -6),
    _like_numpy("trailing-of-three", lambda m: (slice(None), m), CUBE, FACES),
    _like_numpy("beside-int", lambda m: (1, m), GRID, COLUMNS),
    _like_numpy("apart-from-int", lambda m: (m, slice(None), 2), CUBE, np.array([False, True])),
    _like_numpy("beside-slice", lambda m: (slice(1, None), m), GRID, COLUMNS),
    _like_numpy("beside-reversed", lambda m: (m, slice(None, None, -2)), GRID, ROWS),
    _like_numpy("beside-new-axis", lambda m: (m, None), GRID, ROWS),
    _like_numpy("beside-array", lambda m, i: (m, i), GRID, ROWS, TWO),
    _like_numpy("two-masks", lambda m, k: (m, k), GRID, ROWS, COLUMNS),
    _like_numpy("nowhere", lambda m: m, GRID, NOWHERE),
    _like_numpy("of-nothing", lambda m: m, np.zeros((0, 3)), np.zeros(0, bool)),
    _like_numpy("of-empty-rows", lambda m: m, np.zeros((3, 0)), ROWS),
    _like_numpy("twice", lambda m: m, GRID[:, :1], np.array([[True], [False], [True]])),
    Case(id="mask-of-values", build=lambda x: x[x > 0], inputs=[GRID], ragged=True, expected=GRID[GRID > 0]),
    Case(id="mask-of-mask", build=lambda x: x[x > 0][::2] ** 2, inputs=[GRID], ragged=True),
    Case(id="mask-sum", build=lambda x: (x[x > 0] ** 2).sum(), inputs=[GRID], ragged=True),
    Case(id="mask-max", build=lambda x: x[x < 0].max(), inputs=[GRID], ragged=True, expected=-0.5),
    Case(id="mask-sorted", build=lambda x, m: at.sort(x[m]) * x[m], inputs=[LINE, LINE < 2], wrt=(0,), ragged=True),
    Case(id="mask-joined", build=lambda x: at.concatenate([x[x > 0], x]), inputs=[LINE], ragged=True),
    Case(id="mask-constant", build=lambda x: x[SOME], inputs=[GRID], dims=[(3, 4)], expected=GRID[SOME]),
    Case(id="mask-list", build=lambda x: x[[True, False, True]], inputs=[GRID], expected=GRID[ROWS]),
    Case(id="mask-static", build=lambda x, m: x[m], inputs=[GRID, SOME], dims=[(3, 4)] * 2, wrt=(0,), ragged=True),
    Case(id="mask-float32", build=lambda x: x[x > 0] * 2, inputs=[GRID.astype("float32")], ragged=True),
    Case(id="mask-of-gathered", build=lambda x, i: x[x[i] > 0], inputs=[LINE, np.array([2, 0, 1, 1])], wrt=(0,),
         ragged=True),
    Case(
        id="mask-second",
        build=lambda x, m: grad((x[m] ** 3).sum(), x),
        inputs=[GRID, SOME],
        wrt=(0,),
        ragged=True,
    ),
    value("mask-int8", lambda x: x[x > 5], [int8(5, 6, 7)], [6, 7], ragged=True),
    Case(
        id="mask-of-int-derivative",
        build=lambda x, m: x[m] * 2,
        inputs=[int8(1, 2, 3), ROWS],
        wrt=(0,),
        numeric=False,
        specials={0: [0, 0, 0]},
        ragged=True,
    ),
]  # fmt: skip

SCATTER = [
    *_changed("all-axes", lambda m: m, GRID, _count(SOME), SOME),
    *_changed("rows", lambda m: m, GRID, _count(ROWS, 4), ROWS),
    *_changed("row", lambda m: m, GRID, LINE, ROWS),
    *_changed("columns", lambda m: (slice(None), m), GRID, np.ones((3, 2)), COLUMNS),
    *_changed("beside-slice", lambda m: (slice(1, None), m), GRID, np.ones((2, 2)), COLUMNS),
    *_changed("two-masks", lambda m, k: (m, k), GRID, np.array([7.0, 8.0]), ROWS, COLUMNS),
    *_changed("number", lambda m: m, GRID, 3.0, SOME),
    *_changed("number-rows", lambda m: m, GRID, 3.0, ROWS),
    *_changed("number-columns", lambda m: (slice(None), m), GRID, 3.0, COLUMNS),
    *_changed("number-after-slice", lambda m: (slice(1, None), m), GRID, 3.0, COLUMNS),
    *_changed("nowhere", lambda m: m, GRID, np.zeros(0), NOWHERE),
    Case(id="mask-inc-int", build=lambda x, m: x[m].inc(1), inputs=[GRID, SOME], wrt=(0,), expected=GRID + SOME),
    Case(id="mask-set-own", build=lambda x: x[x < 0].set(x[x < 0] ** 2), inputs=[GRID], ragged=True),
    Case(
        id="mask-set-second",
        build=lambda x, y, m: grad((x[m].set(y) ** 3).sum(), y),
        inputs=[GRID, _count(SOME), SOME],
        wrt=(0, 1),
        ragged=True,
    ),
    value("mask-set-bool", lambda x: x[x].set(np.False_), [ROWS], [False] * 3),
    value("mask-inc-bool", lambda x: x[~x].inc(np.True_), [ROWS], [True] * 3),
]

POSITIONS = [
    value("nonzero", lambda x: at.nonzero(x), [int8(0, 3, -1, 0, 2)], [1, 2, 4], ragged=True),
    value("nonzero-nan", lambda x: x.nonzero()[0], [np.array([0.0, NAN, -0.0, 1e-300])], [1, 3], ragged=True),
    value("nonzero-rows", lambda x: at.nonzero(x)[0], [SOME], np.nonzero(SOME)[0], ragged=True),
    value("nonzero-columns", lambda x: at.nonzero(x)[1], [SOME], np.nonzero(SOME)[1], ragged=True),
    value("nonzero-matrix", lambda x: at.nonzero(x, True), [SOME], np.stack(np.nonzero(SOME)), ragged=True),
    value("nonzero-depth", lambda x: x.nonzero()[2], [CUBE > 3], np.nonzero(CUBE > 3)[2], ragged=True),
    value("nonzero-nowhere", lambda x: at.nonzero(x), [NOWHERE], np.nonzero(NOWHERE), ragged=True),
    value("nonzero-of-nothing", lambda x: at.nonzero(x), [np.zeros((3, 0))], ([], []), ragged=True),
    value("flatnonzero", at.flatnonzero, [SOME], np.flatnonzero(SOME), ragged=True),
    value("where-alone", lambda x: at.where(x > 0), [LINE], [0, 2], ragged=True),
    value("where", lambda x: at.where(x > 0, x, 0), [LINE], [3.0, 0.0, 0.5, 0.0]),
    Case(
        id="nonzero-derivative", build=lambda x: at.nonzero(x)[0] * x[:2], inputs=[LINE[:2]], ragged=True, numeric=False
    ),
]

CASES = GATHER + SCATTER + POSITIONS
