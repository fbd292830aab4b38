"""A value with a run-time check and the framework's message."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

import aotensor as aot
import aotensor.tensor as at
from aotensor.errors import GraphValueError
from aotensor.extension import Apply, Array, Tensor, TensorBuilder, TensorType, dtypes


@dataclass(frozen=True)
class Check(aot.Op):
    """x, after a check that all conditions hold.   x, *conditions: bool scalars → x"""

    name: ClassVar[str] = "check"
    notation: ClassVar[str] = "{0}"
    is_analytic: ClassVar[bool] = True
    message: str

    def infer_type(self, x: TensorType, *conditions: TensorType) -> TensorType:
        return x

    def reference(self, x: Array, *conditions: Array) -> Array:
        if not all(bool(condition) for condition in conditions):
            raise GraphValueError(self.message)
        return np.array(x)

    def batch(self, node: Apply, inputs: Sequence[Any], is_batched: Sequence[bool]) -> Sequence[Any]:
        whole = [at.all(c, axis=0) if on else c for c, on in zip(inputs[1:], is_batched[1:], strict=True)]
        return self.apply(inputs[0], *whole).outputs

    def pullback(self, inputs: Sequence[Any], outputs: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
        return [cotangents[0], *(aot.gradient.disconnected_type() for _ in inputs[1:])]

    def pushforward(self, inputs: Sequence[Any], outputs: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
        return [tangents[0]]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True], *([False] for _ in node.inputs[1:])]

    def lower(self, b: TensorBuilder, x: Tensor, *conditions: Tensor) -> Tensor:
        for condition in conditions:
            b.check(b.item(condition), self.message)
        return x


def checked(message: str, x: at.Variable, *conditions: at.Variable) -> at.Variable:
    """x after the check, as a new variable; real and imaginary parts of a complex x pass through it separately."""
    check = Check(message)
    if dtypes.is_complex(x.dtype):
        return at.complex(check(at.real(x), *conditions), check(at.imag(x), *conditions))
    return check(x, *conditions)  # type: ignore[no-any-return]


def printable(message: str) -> str:
    """Escape a message for the library, where braces mark places of numbers."""
    return message.replace("{", "(").replace("}", ")").strip()
