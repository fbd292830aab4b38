"""(m) max(x·w + y, 0) of float16 vectors that no cache holds: two bytes per element, each operation rounded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from contenders import Array, Contender, Model


class Half(Model):
    tolerance = 2.0**-9
    without: ClassVar = {"PyTensor Numba": "Numba has no float16"}

    def __init__(self, n: int) -> None:
        self.title = f"(m) max(xw + y, 0) {n:.0e} float16".replace("e+0", "e")
        rng = np.random.default_rng(0)
        self.values = {name: rng.normal(size=n).astype("float16") for name in "xwy"}

    def reference(self) -> list[Array]:
        x, w, y = (value.astype("float64") for value in self.values.values())
        return [np.maximum(x * w + y, 0)]

    def aotensor(self, aot: Any) -> Any:
        at = aot.tensor
        x, w, y = (at.vector(name, dtype="float16", shape=("n",)) for name in "xwy")
        return aot.function([x, w, y], {"z": at.maximum(x * w + y, 0)}, name="half")

    def jax(self, jax: Any) -> Callable[..., Any]:
        return lambda x, w, y: (jax.numpy.maximum(x * w + y, 0),)

    def torch(self, torch: Any) -> Callable[..., Any]:
        return lambda x, w, y: [torch.relu(x * w + y)]

    def pytensor(self, pt: Any) -> tuple[list[Any], list[Any]]:
        x, w, y = (pt.tensor.vector(name, dtype="float16") for name in "xwy")
        return [x, w, y], [pt.tensor.maximum(x * w + y, 0)]

    def numpy(self) -> Contender:
        x, w, y = self.values.values()
        return lambda: [np.maximum(x * w + y, np.float16(0))]
