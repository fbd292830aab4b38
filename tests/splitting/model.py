"""Functions that workers of other processes get, and rows for them."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import aotensor as aot
import aotensor.tensor as at


@cache
def logistic() -> aot.Rounds:
    """Loss and gradient over rows, and the scores of rows."""
    x, y = at.matrix("X", dtype="float64", shape=("n", "p")), at.vector("y", dtype="float64", shape=("n",))
    w = at.vector("w", dtype="float64", shape=("p",))
    loss = at.softplus(-y * (x @ w)).mean() + 0.1 * (w**2).sum()
    f = aot.function([x, y, w], {"loss": loss, "grad_w": aot.grad(loss, w), "score": x @ w}, name="logistic")
    return aot.split(f, over="n")


def rows(n: int = 1000) -> dict[str, Any]:
    """X, y and w."""
    rng = np.random.default_rng(3)
    return {"X": rng.normal(size=(n, 4)), "y": rng.choice([-1.0, 1.0], n), "w": rng.normal(size=4)}


def bits(result: dict[str, Any]) -> list[bytes]:
    """Of all results."""
    return [np.asarray(x).tobytes() for x in result.values()]
