"""Elements moved by a permutation per line: what the slopes of a sort are made of."""

from __future__ import annotations

import numpy as np
from case import Case, value

import aotensor.tensor as at
from aotensor.ops.reduce.sort import Permute

GRID = np.arange(6.0).reshape(2, 3)

CASES: list[Case] = [
    value("permute", Permute(1), [GRID, np.array([[2, 0, 1], [0, 2, 1]])], [[2, 0, 1], [3, 5, 4]]),
    value("permute-nothing", Permute(0), [np.zeros((0, 2)), np.zeros((0, 2), "int64")], np.zeros((0, 2))),
    Case(
        id="permute-lines",
        build=lambda x, p: Permute(1)(x**2, at.argsort(p, axis=1)),
        inputs=lambda rng: [rng.normal(size=(3, 4)), rng.permutation(12).reshape(3, 4)],
    ),
    Case(
        id="permute-columns-float32",
        build=lambda x, p: Permute(0)(x, at.argsort(p, axis=0)),
        inputs=lambda rng: [rng.normal(size=(3, 4)).astype("float32"), rng.permutation(12).reshape(3, 4)],
    ),
]
