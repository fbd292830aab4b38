"""Ops on float16 and bfloat16: they are computed in float32, and each result is rounded once.

    exp(x: float16)    →    cast{float16}(exp(cast{float32}(x)))

There is no half-precision arithmetic: ops that only move elements accept halves (`Op.takes_half`), others are
wrapped in casts in the graph. Derivative rules, batch rules and passes see ops on float32.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, ClassVar

import numpy as np

from aotensor.core import dtypes
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType, cast_array
from aotensor.errors import GraphError
from aotensor.graph.op import Apply, Op
from aotensor.graph.operands import is_half, with_operands
from aotensor.graph.variable import Constant, Variable, Variables
from aotensor.ops.batching import SampleOp
from aotensor.ops.elementwise.compare import cast
from aotensor.ops.linear import filled


@frozen_dataclass
class Rounded(SampleOp):
    """Round each input to its entry of `dtypes`, for ops with several outputs.   x₁, …, xₙ → y₁, …, yₙ"""

    takes_half: ClassVar[bool] = True
    name: ClassVar[str] = "rounded"
    notation: ClassVar[str] = "cast"
    dtypes: tuple[str, ...]

    def infer_type(self, *types: TensorType) -> tuple[TensorType, ...]:
        return tuple(type.with_dtype(dtype) for type, dtype in zip(types, self.dtypes, strict=True))

    def reference(self, *values: Array) -> tuple[Array, ...]:
        with np.errstate(all="ignore"):
            return tuple(cast_array(x, dtype) for x, dtype in zip(values, self.dtypes, strict=True))

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable]:
        return [cast(x, dtype) for x, dtype in zip(inputs, self.dtypes, strict=True)]

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        return [cast(g, x.dtype) for x, g in zip(inputs, filled(cotangents, outputs), strict=True)]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        return [cast(t, y.dtype) for y, t in zip(outputs, filled(tangents, inputs), strict=True)]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[i == o for o in range(len(self.dtypes))] for i in range(len(self.dtypes))]


def counterpart(op: Op, inputs: Sequence[Variable]) -> Apply:
    """The node that computes an op on halves in float32, and rounds its results.   Raises: as the op itself"""
    wide = _on_float32(op).apply(*map(_widened, inputs))
    if any(dtypes.is_complex(x.dtype) for x in inputs):
        return wide
    try:
        types = op.infer_type(*(x.tensor_type for x in inputs))
    except GraphError as error:
        raise with_operands(error, op.name, inputs) from error
    found = types if isinstance(types, tuple | list) else (types,)
    wanted = [
        type.dtype if dtypes.is_half(type.dtype) else x.dtype for type, x in zip(found, wide.outputs, strict=True)
    ]
    if wanted == [x.dtype for x in wide.outputs]:
        return wide
    if len(wanted) == 1:
        owner = cast(wide.outputs[0], wanted[0]).owner
        assert owner is not None
        return owner
    return Rounded(tuple(wanted)).apply(*wide.outputs)


def _widened(x: Variable) -> Variable:
    if not is_half(x):
        return x
    if isinstance(x, Constant):
        return Constant(x.data.astype(dtypes.compute_of(x.dtype)))
    return cast(x, dtypes.compute_of(x.dtype))


def _on_float32(op: Op) -> Op:
    """The same op, with float32 instead of storage-only dtypes among its parameters."""
    if not is_dataclass(op):
        return op
    given: dict[str, Any] = {
        field.name: dtypes.compute_of(getattr(op, field.name))
        for field in fields(op)
        if field.name in ("dtype", "acc_dtype") and dtypes.is_half(getattr(op, field.name))
    }
    return replace(op, **given) if given else op
