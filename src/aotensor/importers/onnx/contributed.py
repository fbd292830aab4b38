"""Schemas of onnxruntime's own operators (domain com.microsoft) that its tools write into models.

Source: https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import onnx

_Option = onnx.defs.OpSchema.FormalParameterOption
_FLOAT: Final = frozenset({"tensor(float)"})
_INT: Final = frozenset({"tensor(int32)"})
_BYTES: Final = frozenset({"tensor(int8)", "tensor(uint8)"})


@dataclass(frozen=True)
class Formal:
    """An input, with the attributes of `onnx.defs.OpSchema.FormalParameter`."""

    name: str
    types: Collection[str]
    type_str: str
    option: Any = _Option.Single
    is_homogeneous: bool = True


@dataclass(frozen=True)
class Contributed:
    """A schema with the attributes of `onnx.defs.OpSchema` that the importer reads."""

    name: str
    inputs: Sequence[Formal]
    max_output: int
    attributes: Mapping[str, Any]
    since_version: int = 1
    min_output: int = 0
    deprecated: bool = False
    has_function: bool = False
    has_context_dependent_function: bool = False

    @property
    def min_input(self) -> int:
        """The least number of inputs."""
        return max(k + 1 for k, item in enumerate(self.inputs) if item.option == _Option.Single)

    @property
    def max_input(self) -> int:
        """The largest number of inputs."""
        return len(self.inputs)


def _lstm() -> Contributed:
    optional = _Option.Optional
    inputs = [
        Formal("X", _FLOAT, "T"),
        Formal("W", _BYTES, "T2"),
        Formal("R", _BYTES, "T2"),
        Formal("B", _FLOAT, "T", optional),
        Formal("sequence_lens", _INT, "T1", optional),
        *(Formal(name, _FLOAT, "T", optional) for name in ("initial_h", "initial_c", "P")),
        Formal("W_scale", _FLOAT, "T"),
        Formal("W_zero_point", _BYTES, "T2"),
        Formal("R_scale", _FLOAT, "T"),
        Formal("R_zero_point", _BYTES, "T2"),
    ]
    attributes = {k: v for k, v in onnx.defs.get_schema("LSTM", 13).attributes.items() if k != "layout"}
    return Contributed("DynamicQuantizeLSTM", inputs, 3, attributes)


def contributed(op: str, domain: str) -> Contributed | None:
    """The schema of an operator; None for an unknown one."""
    return _lstm() if (domain, op) == ("com.microsoft", "DynamicQuantizeLSTM") else None
