"""Entries of other interfaces call ours, so that they find the file of weights, or fail as ours do."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np

import aotensor as aot
import aotensor.tensor as at


def test_casadi(tmp_path: Path, rng: np.random.Generator) -> None:
    weights, x = rng.normal(size=(80, 60)) / 16, rng.normal(size=80)
    v = at.vector("v", shape=(80,))
    f = aot.function([v], {"y": at.tanh(v @ weights)}, name="layer")
    made = aot.compile(f, tmp_path, abi="casadi", weights=True, opt_level=1)
    assert made.weights is not None
    library, y, slope = ctypes.CDLL(str(made.library)), np.empty(60), np.empty((80, 60))

    def call(name: str, inputs: list[np.ndarray | None], output: np.ndarray) -> int:
        given = (ctypes.c_void_p * len(inputs))(*(a if a is None else a.ctypes.data for a in inputs))
        result = (ctypes.c_void_p * 1)(output.ctypes.data)
        return int(getattr(library, name)(given, result, None, None, 0))

    hidden = made.weights.rename(tmp_path / "hidden")
    assert call("layer", [x], y) != 0
    hidden.rename(made.weights)
    assert call("layer", [x], y) == 0
    np.testing.assert_allclose(y, np.tanh(x @ weights), rtol=1e-12)
    assert call("jac_layer", [x, None], slope) == 0
    np.testing.assert_allclose(slope.reshape(80, 60), weights * (1 - y**2), rtol=1e-10)
