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
class FormalParameter:
    """An input, with the attributes of `onnx.defs.OpSchema.FormalParameter`."""

    name: str
    types: Collection[str]
    type_str: str
    option: Any = _Option.Single
    is_homogeneous: bool = True


@dataclass(frozen=True)
class ContribSchema:
    """A schema with the attributes of `onnx.defs.OpSchema` that the importer reads."""

    name: str
    inputs: Sequence[FormalParameter]
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


def _lstm() -> ContribSchema:
    optional = _Option.Optional
    inputs = [
        FormalParameter("X", _FLOAT, "T"),
        FormalParameter("W", _BYTES, "T2"),
        FormalParameter("R", _BYTES, "T2"),
        FormalParameter("B", _FLOAT, "T", optional),
        FormalParameter("sequence_lens", _INT, "T1", optional),
        *(FormalParameter(name, _FLOAT, "T", optional) for name in ("initial_h", "initial_c", "P")),
        FormalParameter("W_scale", _FLOAT, "T"),
        FormalParameter("W_zero_point", _BYTES, "T2"),
        FormalParameter("R_scale", _FLOAT, "T"),
        FormalParameter("R_zero_point", _BYTES, "T2"),
    ]
    attributes = {k: v for k, v in onnx.defs.get_schema("LSTM", 13).attributes.items() if k != "layout"}
    return ContribSchema("DynamicQuantizeLSTM", inputs, 3, attributes)


def contributed(op: str, domain: str) -> ContribSchema | None:
    """The schema of an operator; None for an unknown one."""
    return _lstm() if (domain, op) == ("com.microsoft", "DynamicQuantizeLSTM") else None
