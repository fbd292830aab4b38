"""Models in ONNX for onnxruntime: nodes with weights as initializers, which its optimisations may rearrange."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from contenders import Array

Node: TypeAlias = "tuple[str, Sequence[str], str, Mapping[str, Any]]"
"""Operation, inputs, output, attributes."""

_OPSET: Final = 17
_IR: Final = 9


def model_of(onnx: Any, nodes: Sequence[Node], weights: Mapping[str, Array], inputs: Mapping[str, Array],
             outputs: Sequence[str]) -> bytes:  # fmt: skip
    """A serialized model of float32.   inputs: arrays of the shapes that it takes. nodes: in order."""
    helper = onnx.helper
    kind = onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        [helper.make_node(op, list(read), written.split(), **attributes) for op, read, written, attributes in nodes],
        "model",
        [helper.make_tensor_value_info(name, kind, x.shape) for name, x in inputs.items()],
        [helper.make_tensor_value_info(name, kind, None) for name in outputs],
        [onnx.numpy_helper.from_array(x, name) for name, x in weights.items()],
    )
    opsets = [helper.make_opsetid("", _OPSET)]
    serialized: bytes = helper.make_model(graph, opset_imports=opsets, ir_version=_IR).SerializeToString()
    return serialized
