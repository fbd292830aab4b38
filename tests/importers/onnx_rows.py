"""Operators of ONNX with inputs: the package's own evaluator says what they give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from onnx import TensorProto, helper, numpy_helper

RNG: Final = np.random.default_rng(7)
OPSET: Final = 20


def normal(*shape: int, dtype: str = "float32") -> np.ndarray[Any, Any]:
    return RNG.normal(size=shape).astype(dtype)


def ints(*values: int) -> np.ndarray[Any, Any]:
    return np.array(values, "int64")


@dataclass(frozen=True)
class Row:
    """inputs: of run time. constants: initializers behind them. outputs: how many are looked at."""

    op: str
    inputs: Sequence[np.ndarray[Any, Any]]
    constants: Sequence[np.ndarray[Any, Any]] = ()
    attributes: Mapping[str, Any] = field(default_factory=dict)
    outputs: int = 1
    domain: str = ""

    def model(self, name: str) -> Any:
        """A model of one node."""
        names = [f"x{i}" for i in range(len(self.inputs) + len(self.constants))]
        results = [f"y{i}" for i in range(self.outputs)]
        node = helper.make_node(self.op, names, results, name="only", domain=self.domain, **self.attributes)
        inputs = [
            helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
            for n, x in zip(names, self.inputs, strict=False)
        ]
        constants = [
            numpy_helper.from_array(x, n) for n, x in zip(names[len(self.inputs) :], self.constants, strict=True)
        ]
        outputs = [helper.make_value_info(n, helper.make_tensor_type_proto(0, None)) for n in results]
        return made(helper.make_graph([node], name, inputs, outputs, constants))


def _bytes(*shape: int) -> np.ndarray[Any, Any]:
    return RNG.integers(0, 256, shape).astype("uint8")


_STRIDED: Final = {"strides": [2, 1], "pads": [1, 1, 1, 1]}


def made(graph: Any, opset: int = OPSET, **options: Any) -> Any:
    """A model with both domains of operators."""
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9, **options)


def body(graph_name: str, nodes: Sequence[Any], inputs: Sequence[str], outputs: Sequence[str]) -> Any:
    """A graph inside of a node."""
    infos = [helper.make_tensor_value_info(x, TensorProto.FLOAT, None) for x in inputs]
    results = [helper.make_tensor_value_info(x, TensorProto.FLOAT, None) for x in outputs]
    return helper.make_graph(list(nodes), graph_name, infos, results)


STEP: Final = body(
    "step",
    [helper.make_node("Add", ["s", "a"], ["t"]), helper.make_node("Mul", ["t", "a"], ["u"])],
    ["s", "a"],
    ["t", "u"],
)
_MATRIX = normal(3, 4)
_NONE = np.zeros(0, "float32")
_RAGGED = np.array([[1, -2, np.nan, 4], [0, np.inf, -5, 6]], "float32")
_SIGNED = np.array([-7, -6, 7, 6, -8], "int32")
_DIVISORS = np.array([2, -3, -2, 4, 8], "int32")
_COLUMN = np.array([0, 1, 3, 9, 63, 64], "uint64")

_ML: Final = "ai.onnx.ml"
_GROWN = np.array([[0.5, -1], [0.5, 2], [-3, 0], [1, 1], [7, np.nan], [0.25, 0.5]], "float32")
_TREES: Final = {
    "nodes_treeids": [0, 0, 0, 0, 0, 1, 1, 1], "nodes_nodeids": [0, 1, 2, 3, 4, 0, 1, 2],
    "nodes_modes": ["BRANCH_LEQ", "LEAF", "BRANCH_GT", "LEAF", "LEAF", "BRANCH_LT", "LEAF", "LEAF"],
    "nodes_featureids": [0, 0, 1, 0, 0, 1, 0, 0], "nodes_values": [0.5, 0, 0.5, 0, 0, 1, 0, 0],
    "nodes_truenodeids": [1, 0, 3, 0, 0, 1, 0, 0], "nodes_falsenodeids": [2, 0, 4, 0, 0, 2, 0, 0],
    "nodes_missing_value_tracks_true": [0, 0, 0, 0, 0, 1, 0, 0],
}  # fmt: skip
_LEAVES: Final = {"treeids": [0, 0, 0, 1, 1], "nodeids": [1, 3, 4, 1, 2]}
_TARGETS: Final = {
    "target_treeids": _LEAVES["treeids"], "target_nodeids": _LEAVES["nodeids"], "target_ids": [0] * 5,
    "target_weights": [1.0, 2, -3, 4, 0.5], "n_targets": 1,
}  # fmt: skip
_CLASSES: Final = {
    "class_treeids": _LEAVES["treeids"], "class_nodeids": _LEAVES["nodeids"], "class_ids": [0, 1, 2, 1, 0],
    "class_weights": [1.0, 2, 3, 0.5, 0.25], "classlabels_int64s": [3, 5, 7],
}  # fmt: skip
_MACHINE: Final = {
    "coefficients": [1.0, -2, 0.5, 0.75, -1, 1.5, -0.5, 2], "vectors_per_class": [2, 1, 1], "rho": [0.125, -0.25, 0.5],
    "support_vectors": [0.5, 1, 0, 2, -1, 0, 1, 0.25, 1, 1, -1, 0, 0, -2, 0.5, 1], "classlabels_ints": [3, 1, 7],
    "kernel_params": [0.5, 1.0, 3.0],
}  # fmt: skip
_TWO_CLASSES: Final = _MACHINE | {
    "coefficients": [1.0, -2, 0.5, 0.75], "vectors_per_class": [1, 3], "rho": [0.125], "classlabels_ints": [4, 2],
}  # fmt: skip
_PLANES: Final = {"coefficients": [1.0, -2, 0.5, 0, 3, 1, -1, 2], "rho": [0.25], "classlabels_ints": [4, 2]}
_VECTORS: Final = {
    "coefficients": [1.0, -2], "support_vectors": [0.5, 1, 0, 2, -1, 0, 1, 0.25], "n_supports": 2, "rho": [0.125],
    "kernel_params": [0.5, 1.0, 3.0],
}  # fmt: skip

ROWS: Final = [
    Row("Div", [_SIGNED, _DIVISORS]),
    Row("Mod", [_SIGNED, _DIVISORS], attributes={"fmod": 1}),
    Row("Mod", [np.array([5.5, -5.5, 3], "float32"), np.array([2, 2, -2], "float32")], attributes={"fmod": 1}),
    Row("Pow", [np.array([2, 3, 4], "int32"), np.array([2, 0.5, 3], "float32")]),
    Row("BitShift", [np.full(5, 200, "uint64"), _COLUMN[:5]], attributes={"direction": "RIGHT"}),
    Row("IsInf", [_RAGGED], attributes={"detect_positive": 0}),
    Row("Max", [_RAGGED, np.array([0], "float32"), np.array([[1], [2]], "float32")]),
    Row("Clip", [_MATRIX], [np.float32(-0.5).reshape(()), np.float32(0.25).reshape(())]),
    Row("Cast", [np.array([-1.7, 2.7, 0], "float32")], attributes={"to": TensorProto.INT8}),
    Row("Gelu", [_MATRIX], attributes={"approximate": "tanh"}),
    Row("Celu", [_MATRIX], attributes={"alpha": 2.0}),
    Row("Mish", [_MATRIX]),
    Row("Hardmax", [np.array([[1, 3, 3], [2, 1, 0]], "float32")]),
    Row("LogSoftmax", [_MATRIX], attributes={"axis": 0}),
    Row("Reshape", [normal(2, 3, 4)], [ints(0, -1, 2)]),
    Row("Slice", [normal(5, 6)], [ints(4, -1), ints(-100, 1), ints(0, 1), ints(-2, -1)]),
    Row("Split", [normal(7, 2)], attributes={"num_outputs": 3, "axis": 0}, outputs=3),
    Row("Expand", [normal(3, 1)], [ints(2, 1, 4)]),
    Row("Pad", [normal(3, 4)], [ints(1, 0, 0, 2), np.float32(9).reshape(())]),
    Row("Pad", [normal(4, 5)], [ints(2, 1, 1, 3)], {"mode": "reflect"}),
    Row("DepthToSpace", [normal(1, 8, 2, 3)], attributes={"blocksize": 2, "mode": "CRD"}),
    Row("OneHot", [ints(0, -1, 2)], [np.array(3, "int64"), np.array([2, 5], "float32")], {"axis": 0}),
    Row("CumSum", [_MATRIX], [np.array(1, "int64")], {"exclusive": 1, "reverse": 1}),
    Row("Trilu", [normal(2, 3, 4)], [np.array(-1, "int64")], {"upper": 0}),
    Row("TopK", [np.array([[3, 1, 3, 2], [0, 5, 5, 5]], "float32")], [ints(3)], outputs=2),
    Row("ArgMax", [np.array([[1, 4, 4], [2, 2, 0]], "float32")], attributes={"axis": 1, "select_last_index": 1}),
    Row("ReduceLogSumExp", [_MATRIX * 100], [ints(1)], {"keepdims": 0}),
    Row("ReduceMean", [np.array([[1, 2, 4], [5, 5, 7]], "float32")], [ints(-1)]),
    Row("ReduceMax", [normal(3, 0)], [ints(1)]),
    Row("GatherElements", [normal(4, 3)], [np.array([[0, -1, 1], [3, 2, 0]], "int64")]),
    Row("GatherND", [normal(2, 3, 4)], [np.array([[[1]], [[2]]], "int64")], {"batch_dims": 1}),
    Row("ScatterElements", [normal(3, 3), np.array([[0, 2, -1]], "int64"), normal(1, 3)], (), {"axis": 0}),
    Row("ScatterND", [normal(4, 2), np.array([[1], [1]], "int64"), normal(2, 2)], (), {"reduction": "add"}),
    *(
        Row(op, [*inputs, normal(*inputs[1].shape[:2], *last)], (), {"reduction": reduction, **options})
        for reduction in ("mul", "max", "min")
        for op, inputs, last, options in (
            ("ScatterElements", [normal(4, 3), RNG.integers(-3, 3, (4, 5))], [], {"axis": 1}),
            ("ScatterND", [normal(4, 3), RNG.integers(-4, 4, (2, 3, 1))], [3], {}),
        )
    ),
    Row("ScatterND", [ints(2, -1), np.array([[1], [0], [1]]), ints(2**40, 3, 5)], (), {"reduction": "mul"}),
    Row("ScatterND", [normal(2, 2), np.zeros((0, 2), "int64"), normal(0)], (), {"reduction": "max"}),
    Row("LayerNormalization", [normal(2, 3, 4), normal(3, 4), normal(3, 4)], (), {"axis": 1}, outputs=3),
    Row("GroupNormalization", [normal(2, 4, 3), normal(2), normal(2)], (), {"num_groups": 2}),
    Row("Gemm", [normal(4, 3), normal(2, 4), normal(1, 2)], (), {"transA": 1, "transB": 1, "alpha": 0.5, "beta": 2.0}),
    Row("Einsum", [normal(2, 3, 4), normal(2, 4, 5)], (), {"equation": "...ij, ...jk -> ...ik"}),
    Row("QuantizeLinear", [_MATRIX * 9, np.array(0.1, "float32"), np.array(3, "int8")]),
    Row("DynamicQuantizeLinear", [_MATRIX], outputs=3),
    Row("DynamicQuantizeLinear", [np.abs(_MATRIX) + 1], outputs=3),
    Row("QLinearMatMul", [_bytes(3, 4), np.float32(0.02), np.uint8(120), _bytes(4, 5), np.float32(0.03), np.uint8(130),
                          np.float32(0.05), np.uint8(100)]),
    Row("ConvInteger", [_bytes(1, 2, 6, 5), _bytes(4, 2, 3, 3), np.uint8(120), np.uint8(3)], attributes=_STRIDED),
    Row("QLinearConv", [_bytes(1, 2, 6, 5), np.float32(0.02), np.uint8(128), _bytes(4, 2, 3, 3),
                        np.array([0.01, 0.02, 0.03, 0.04], "float32"), np.array([120, 128, 130, 90], "uint8"),
                        np.float32(0.2), np.uint8(100), np.array([100, -200, 3000, 4], "int32")], attributes=_STRIDED),
    Row("SoftmaxCrossEntropyLoss", [normal(3, 4), ints(1, -1, 3), normal(4)], (), {"ignore_index": -1}, outputs=2),
    Row("Conv", [normal(2, 4, 7, 6), normal(6, 2, 3, 2), normal(6)], (),
        {"group": 2, "strides": [2, 1], "pads": [1, 0, 2, 1], "dilations": [1, 2]}),
    Row("Conv", [normal(1, 2, 8), normal(3, 2, 3)], (), {"auto_pad": "SAME_LOWER", "strides": [2]}),
    Row("ConvTranspose", [normal(2, 4, 5, 3), normal(4, 3, 3, 2), normal(3)], (),
        {"strides": [2, 1], "pads": [1, 0, 2, 1], "dilations": [1, 2], "output_padding": [1, 0]}),
    Row("ConvTranspose", [normal(1, 2, 4), normal(2, 3, 3)], (), {"auto_pad": "SAME_UPPER", "strides": [2]}),
    Row("Resize", [normal(2, 3, 4, 5)], [_NONE, np.array([1, 1, 0.6, 2.5], "float32")], {"mode": "cubic"}),
    Row("Resize", [normal(3, 4, 5)], [_NONE, _NONE, ints(7, 3)],
        {"mode": "linear", "coordinate_transformation_mode": "align_corners", "axes": [1, 2]}),
    Row("Resize", [normal(1, 1, 4, 6)], [_NONE, np.array([1, 1, 2, 0.5], "float32")],
        {"mode": "nearest", "nearest_mode": "ceil", "coordinate_transformation_mode": "asymmetric"}),
    Row("MaxPool", [normal(1, 2, 5, 6)], (), {"kernel_shape": [3, 2], "strides": [2, 2], "pads": [1, 0, 2, 1]}),
    Row("AveragePool", [normal(1, 2, 5, 6)], (), {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 2, 1]}),
    Row("AveragePool", [normal(1, 2, 6)], (), {"kernel_shape": [3], "pads": [1, 1], "count_include_pad": 1}),
    Row("GlobalAveragePool", [normal(2, 3, 4, 5)]),
    Row("GlobalMaxPool", [normal(2, 3, 4, 2)]),
    Row("Scan", [normal(2), normal(5, 2)], (), {"num_scan_inputs": 1, "body": STEP}, 2),
    Row("LSTM", [normal(3, 2, 4), normal(1, 12, 4), normal(1, 12, 3), normal(1, 24)], (), {"hidden_size": 3}, 3),
    Row("GRU", [normal(3, 2, 4), normal(1, 9, 4), normal(1, 9, 3)], (), {"hidden_size": 3}, 2),
    Row("LinearRegressor", [_MATRIX], (), {"coefficients": [1.0, 2, 3, 4], "intercepts": [0.5]}, domain="ai.onnx.ml"),
    Row("TreeEnsembleRegressor", [_GROWN], (), {**_TREES, **_TARGETS, "aggregate_function": "SUM"}, domain=_ML),
    Row("TreeEnsembleRegressor", [_GROWN], (), {**_TREES, **_TARGETS, "aggregate_function": "MAX"}, domain=_ML),
    Row("TreeEnsembleRegressor", [_GROWN], (), {**_TREES, **_TARGETS, "aggregate_function": "AVERAGE",
        "base_values": [0.25]}, domain=_ML),
    Row("TreeEnsembleClassifier", [_GROWN], (), {**_TREES, **_CLASSES, "post_transform": "SOFTMAX"}, 2, _ML),
    Row("SVMRegressor", [_MATRIX], (), {**_VECTORS, "kernel_type": "RBF"}, domain=_ML),
    Row("SVMRegressor", [_MATRIX], (), {**_VECTORS, "kernel_type": "POLY", "one_class": 1}, domain=_ML),
    Row("SVMClassifier", [_MATRIX], (), {**_MACHINE, "kernel_type": "RBF"}, 2, _ML),
    Row("SVMClassifier", [_MATRIX], (), {**_MACHINE, "kernel_type": "SIGMOID", "post_transform": "SOFTMAX"}, 2, _ML),
    Row("SVMClassifier", [_MATRIX], (), {**_TWO_CLASSES, "kernel_type": "POLY"}, 2, _ML),
    Row("SVMClassifier", [_MATRIX], (), {**_TWO_CLASSES, "kernel_type": "RBF", "post_transform": "LOGISTIC"}, 2, _ML),
    Row("SVMClassifier", [_MATRIX], (),
        {**_TWO_CLASSES, "kernel_type": "LINEAR", "prob_a": [-1.25], "prob_b": [0.5]}, 2, _ML),
    Row("SVMClassifier", [_MATRIX], (), _PLANES, 2, _ML),
    Row("SVMClassifier", [_MATRIX], (), _PLANES | {"coefficients": [0.25] * 8, "post_transform": "SOFTMAX"}, 2, _ML),
    Row("Scaler", [_MATRIX], (), {"offset": [1.0] * 4, "scale": [1.0, 2, 3, 4]}, domain="ai.onnx.ml"),
    Row("Imputer", [_RAGGED], (), {"imputed_value_floats": [8.0], "replaced_value_float": np.nan}, domain="ai.onnx.ml"),
]  # fmt: skip
