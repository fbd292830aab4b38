"""Convert a float32 model to float64, so that finite differences are accurate enough to check gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

_FLOAT, _DOUBLE = onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE

_SCALES = {"Resize": (2,), "Upsample": (1,)}
"""Inputs that are of float32 in all models."""


def doubled(model: Any) -> Any:
    """The model with float64 in place of float32: in tensors, declared types, and dtype attributes of Cast and the
    like.
    """
    found = onnx.ModelProto()
    found.CopyFrom(model)
    _double_graph(found.graph)
    return found


def _double_graph(graph: Any) -> None:
    scales = {node.input[k] for node in graph.node for k in _SCALES.get(node.op_type, ()) if k < len(node.input)}
    for item in graph.initializer:
        if item.name not in scales:
            _double_tensor(item)
    for item in (*graph.input, *graph.output, *graph.value_info):
        if item.type.tensor_type.elem_type == _FLOAT:
            item.type.tensor_type.elem_type = _DOUBLE
    for node in graph.node:
        if scales.intersection(node.output):
            continue
        for item in node.attribute:
            if item.type == onnx.AttributeProto.TENSOR:
                _double_tensor(item.t)
            elif item.type == onnx.AttributeProto.GRAPH:
                _double_graph(item.g)
            elif item.name in ("to", "dtype") and item.i == _FLOAT:
                item.i = _DOUBLE
        if node.op_type == "Constant" and node.attribute[0].name in ("value_float", "value_floats"):
            value = onnx.helper.get_attribute_value(node.attribute[0])
            tensor = numpy_helper.from_array(np.asarray(value, "float64"))
            node.attribute[0].CopyFrom(onnx.helper.make_attribute("value", tensor))


def _double_tensor(tensor: Any) -> None:
    if tensor.data_type == _FLOAT:
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype("float64"), tensor.name))
