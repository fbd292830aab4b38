"""Complex values in loops, which carry real values: sequences, states and outputs are pairs along a last axis."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from aotensor.core import dtypes
from aotensor.graph.variable import Variable, as_tensor
from aotensor.ops.complex.parts import join_parts, parts
from aotensor.ops.scan.arguments import as_list
from aotensor.ops.scan.step import parse, until
from aotensor.ops.shape.join import stack


def as_pair(x: Variable) -> Variable:
    """(…) complex → (…, 2) real."""
    return stack(parts(x), axis=x.ndim)


def from_pair(x: Variable) -> Variable:
    """(…, 2) real → (…) complex."""
    return join_parts(x[..., 0], x[..., 1])


class RealLoop:
    """A loop on real pairs equivalent to one on complex values.

    sequences, outputs_info: as for `scan`, with pairs for complex values. step: the user's step on pairs.
    """

    def __init__(self, fn: Callable[..., Any], sequences: Any, outputs_info: Any) -> None:
        self._fn = fn
        self._is_complex: list[bool] = []
        self._outputs: list[bool] = []
        self.sequences = [self._packed(item, "input", (0,)) for item in as_list(sequences)]
        self.outputs_info = [self._packed(item, "initial", (-1,)) for item in as_list(outputs_info)]

    def _packed(self, item: Any, key: str, taps: tuple[int, ...]) -> Any:
        """An entry of sequences or outputs_info with complex values as pairs; records for each row whether it is a
        pair.
        """
        value = item.get(key) if isinstance(item, Mapping) else item
        if value is None:
            return item
        if isinstance(item, Mapping) and item.get("taps") is not None:
            taps = tuple(as_list(item["taps"]))
        is_complex = isinstance(value, complex) or dtypes.is_complex(str(getattr(value, "dtype", "")))
        self._is_complex += [is_complex] * len(taps)
        if not is_complex:
            return item
        pair = as_pair(as_tensor(value))
        return {**item, key: pair} if isinstance(item, Mapping) else pair

    def step(self, *arguments: Any) -> Any:
        """Call the user's step, converting pairs to complex values and back."""
        count = len(self._is_complex)
        rows = [from_pair(x) if on else x for x, on in zip(arguments, self._is_complex, strict=False)]
        result = parse(self._fn(*rows, *arguments[count:]))
        self._outputs = [dtypes.is_complex(x.dtype) for x in result.outputs]
        outputs = [as_pair(x) if on else x for x, on in zip(result.outputs, self._outputs, strict=True)]
        last = [] if result.condition is None else [until(result.condition)]
        return [outputs, result.updates, *last]

    def to_complex(self, outputs: Sequence[Variable]) -> list[Variable]:
        """The results of the loop, converted from pairs to complex values."""
        return [from_pair(x) if on else x for x, on in zip(outputs, self._outputs, strict=True)]
