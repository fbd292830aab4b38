"""Ops as a user might write them, with derivatives that may be wrong and values that may be noisy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from aotensor.core.builders import Tensor, TensorBuilder
from aotensor.core.types import TensorType
from aotensor.graph.op import Op
from aotensor.graph.variable import Variable


@dataclass(frozen=True)
class Cube(Op):
    """x³, with derivatives that may be wrong by a factor, and code that may be so too."""

    name = "cube"
    backward: float = 1.0
    forward: float = 1.0

    def infer_type(self, x: TensorType) -> TensorType:
        return x

    def reference(self, x: Any) -> Any:
        return x * x * x

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable]:
        return [cotangents[0] * 3 * inputs[0] * inputs[0] * self.backward]

    def pushforward(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], tangents: Sequence[Variable]
    ) -> Sequence[Variable]:
        return [tangents[0] * 3 * inputs[0] * inputs[0] * self.forward]

    def lower(self, b: TensorBuilder, x: Tensor) -> Tensor:
        return b.map(lambda s, v: v * (v * v), x, dtype=x.dtype)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Jittery(Cube):
    """x with a jitter of 0.001 that has another value at every neighbouring number; its derivative is said to be 1."""

    name = "jittery"

    def reference(self, x: Any) -> Any:
        return x + 1e-3 * np.sin(1e18 * x)

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable]:
        return [cotangents[0]]

    def pushforward(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], tangents: Sequence[Variable]
    ) -> Sequence[Variable]:
        return [tangents[0]]


@dataclass(frozen=True)
class LogCosh(Cube):
    """ln cosh x. Its derivative is a tanh whose code is off by 1 %."""

    name = "log_cosh"

    def reference(self, x: Any) -> Any:
        return np.log(np.cosh(x))

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable]:
        return [cotangents[0] * WronglyCompiledTanh()(inputs[0])]

    def pushforward(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], tangents: Sequence[Variable]
    ) -> Sequence[Variable]:
        return [tangents[0] * WronglyCompiledTanh()(inputs[0])]

    def lower(self, b: TensorBuilder, x: Tensor) -> Tensor:
        return b.map(lambda s, v: s.math("log", s.math("cosh", v)), x, dtype=x.dtype)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class WronglyCompiledTanh(Jittery):
    """tanh x; compiled code gives 1.01·tanh x."""

    name = "tanh"

    def reference(self, x: Any) -> Any:
        return np.tanh(x)

    def lower(self, b: TensorBuilder, x: Tensor) -> Tensor:
        return b.map(lambda s, v: s.math("tanh", v) * 1.01, x, dtype=x.dtype)  # type: ignore[no-any-return]
