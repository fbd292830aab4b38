"""Models of opsets 7 to 12, compared with NumPy and with the models that the package onnx converts them to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="the extra aotensor[onnx] is not installed")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from onnx_rows import ints, normal  # noqa: E402

import aotensor as aot  # noqa: E402
from aotensor.errors import AotensorError  # noqa: E402
from aotensor.importers.onnx import NoCounterpart, from_onnx  # noqa: E402
from aotensor.importers.onnx.functions import function_of  # noqa: E402

X = normal(3, 4, 2)
IMAGE = normal(1, 4, 2, 3)
PLACES = np.array([[[0, 2], [1, 1], [2, 0], [2, 2]]], "int64")
UPDATES = normal(1, 4, 2)
PAIRS = {"kernel_shape": [1, 2]}


@dataclass(frozen=True)
class Old:
    """A node of an old opset.   wanted: what it gives for x. constants: inputs behind x"""

    op: str
    opset: int
    wanted: Callable[[Any], Any] | None
    attributes: Mapping[str, Any] = field(default_factory=dict)
    x: np.ndarray[Any, Any] = field(default_factory=lambda: X)
    constants: Sequence[np.ndarray[Any, Any]] = ()
    outputs: int = 1

    def model(self) -> Any:
        names = [f"c{k}" for k in range(len(self.constants))]
        results = [f"y{k}" for k in range(self.outputs)]
        node = helper.make_node(self.op, ["x", *names], results, name="only", **self.attributes)
        element = helper.np_dtype_to_tensor_dtype(self.x.dtype)
        given = helper.make_tensor_value_info("x", element, self.x.shape)
        outputs = [helper.make_value_info(n, helper.make_tensor_type_proto(0, None)) for n in results]
        tensors = [numpy_helper.from_array(value, name) for name, value in zip(names, self.constants, strict=True)]
        graph = helper.make_graph([node], "g", [given], outputs, tensors)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=4)


def softmax(x: Any, axes: tuple[int, ...]) -> Any:
    e = np.exp(x - x.max(axes, keepdims=True))
    return e / e.sum(axes, keepdims=True)


def hardmax(x: Any) -> Any:
    flat = x.reshape(len(x), -1)
    return (flat == flat.max(1, keepdims=True)).astype(x.dtype).reshape(x.shape)


def depth_to_space(x: Any) -> Any:
    n, c, h, w = x.shape
    return x.reshape(n, 2, 2, c // 4, h, w).transpose(0, 3, 4, 1, 5, 2).reshape(n, c // 4, 2 * h, 2 * w)


def scattered(x: Any) -> Any:
    y = x.copy()
    np.put_along_axis(y, PLACES, UPDATES, 0)
    return y


def between(x: Any) -> Any:
    """Twice as many in the last axis, linearly from the first element on."""
    places = np.minimum(np.arange(2 * x.shape[-1]) / 2, x.shape[-1] - 1)
    low = places.astype(int)
    high = np.minimum(low + 1, x.shape[-1] - 1)
    return x[..., low] * (1 - places + low).astype("float32") + x[..., high] * (places - low).astype("float32")


def in_training(x: Any) -> Any:
    """By mean and variance of the batch, then the running ones, then those of the batch."""
    mean, variance = x.mean((0, 2, 3)), x.var((0, 2, 3))
    y = (x - mean[:, None, None]) / np.sqrt(variance[:, None, None] + np.float32(1e-5)) + 1
    return [y, mean / 4, 3 + variance / 4, mean, variance]


ROWS = {
    "softmax over all behind": Old("Softmax", 11, lambda x: softmax(x, (1, 2))),
    "softmax of an empty batch": Old("Softmax", 11, lambda x: x, x=np.ones((0, 4, 2), np.float32)),
    "softmax from the first axis": Old("Softmax", 7, lambda x: softmax(x, (0, 1, 2)), {"axis": 0}),
    "log softmax": Old("LogSoftmax", 12, lambda x: np.log(softmax(x, (1, 2)))),
    "hardmax": Old("Hardmax", 9, hardmax),
    "clip": Old("Clip", 7, lambda x: np.clip(x, -0.5, 0.25), {"min": -0.5, "max": 0.25}),
    "clip below": Old("Clip", 10, lambda x: np.maximum(x, 0), {"min": 0.0}, np.array([-np.inf, np.inf, 1], "float32")),
    "pad": Old(
        "Pad", 7, lambda x: np.pad(x, [(0, 1), (2, 0), (1, 0)], constant_values=3),
        {"pads": [0, 2, 1, 1, 0, 0], "value": 3.0},
    ),
    "pad by reflection": Old("Pad", 10, lambda x: np.pad(x, [(1, 0), (0, 2), (0, 0)], "reflect"),
        {"pads": [1, 0, 0, 0, 2, 0], "mode": "reflect"}),
    "slice": Old("Slice", 7, lambda x: x[1:3, :, -1:], {"starts": [1, -1], "ends": [3, 2**31], "axes": [0, 2]}),
    "slice of the first axes": Old("Slice", 9, lambda x: x[:2, 1:], {"starts": [0, 1], "ends": [2, 9]}),
    "split": Old("Split", 11, lambda x: [x[:, :1], x[:, 1:]], {"axis": 1, "split": [1, 3]}, outputs=2),
    "squeeze": Old("Squeeze", 7, lambda x: x[0], {"axes": [0]}, IMAGE),
    "unsqueeze": Old("Unsqueeze", 12, lambda x: x[None, :, None], {"axes": [0, 2]}),
    "sum": Old("ReduceSum", 11, lambda x: x.sum((0, 2)), {"axes": [0, 2], "keepdims": 0}),
    "largest": Old("TopK", 7, lambda x: [np.sort(x, 1)[:, :-3:-1], np.argsort(-x, 1)[:, :2]], {"k": 2, "axis": 1},
        outputs=2),
    "largest by an input": Old("TopK", 10, lambda x: [np.sort(x, 1)[:, ::-1], np.argsort(-x, 1)], {"axis": 1},
        constants=[ints(4)], outputs=2),
    "dropout": Old("Dropout", 7, lambda x: [x, np.ones_like(x)], {"ratio": 0.25}, outputs=2),
    "dropout with a mask": Old("Dropout", 10, lambda x: [x, np.ones_like(x, "bool")], outputs=2),
    "blocks of channels": Old("DepthToSpace", 7, depth_to_space, {"blocksize": 2}, IMAGE),
    "positions of extremes": Old("ArgMax", 11, lambda x: x.argmax(1)[:, None], {"axis": 1}),
    "gather": Old("GatherND", 11, lambda x: x[[0, 2], [1, 3]], constants=[np.array([[0, 1], [2, 3]])]),
    "scatter": Old("Scatter", 9, scattered, {"axis": 0}, constants=[PLACES, UPDATES]),
    "nearest": Old("Upsample", 7, lambda x: x.repeat(2, 2).repeat(3, 3), {"scales": [1.0, 1, 2, 3]}, IMAGE),
    "nearest by an input": Old("Upsample", 9, lambda x: x.repeat(2, 3), {}, IMAGE,
        [np.array([1, 1, 1, 2], "float32")]),
    "linear": Old("Resize", 10, between, {"mode": "linear"}, IMAGE, [np.array([1, 1, 1, 2], "float32")]),
    "every second": Old("Resize", 10, lambda x: x[:, ::2, ::2], {}, IMAGE, [np.array([1, 0.5, 0.5, 1], "float32")]),
    "normalised": Old("BatchNormalization", 7, lambda x: x / np.sqrt(np.float32(4 + 1e-5)) + 1, {}, IMAGE,
        [np.ones(4, "float32"), np.ones(4, "float32"), np.zeros(4, "float32"), np.full(4, 4, "float32")]),
    "in training": Old("BatchNormalization", 9, in_training, {"momentum": 0.75}, IMAGE,
        [np.ones(4, "float32"), np.ones(4, "float32"), np.zeros(4, "float32"), np.full(4, 4, "float32")], outputs=5),
    "means of windows": Old("AveragePool", 7, lambda x: (x[..., :-1] + x[..., 1:]) / 2, PAIRS, IMAGE),
    "maxima of windows": Old("MaxPool", 8, lambda x: np.maximum(x[..., :-1], x[..., 1:]), PAIRS, IMAGE),
    "product": Old("Gemm", 7, lambda x: x @ x.T + 1, {"transB": 1}, X[0],
        [X[0], np.ones((1, 1), "float32")]),
}  # fmt: skip


def listed(found: Any) -> list[Any]:
    return found if isinstance(found, list) else [found]


def test_operators_mean_what_they_meant(tmp_path: Path) -> None:
    functions = [function_of(row.model(), None, f"f{k}") for k, row in enumerate(ROWS.values())]
    library = aot.compile(functions, tmp_path, name="rows", opt_level=1).load()
    for f, (name, row) in zip(functions, ROWS.items(), strict=True):
        for call in (f.reference, library[f.name]):
            for found, wanted in zip(call(row.x).values(), listed(row.wanted(row.x)), strict=True):
                assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape), name
                np.testing.assert_allclose(found, wanted, 1e-5, 1e-6, err_msg=name)


NOT_CONVERTED = {"hardmax", "in training", "linear"}
"""Operators that the converter of the package onnx refuses, or converts to other results."""


@pytest.mark.parametrize("name", sorted(ROWS.keys() - NOT_CONVERTED))
def test_they_are_what_the_package_converts_them_to(name: str) -> None:
    row = ROWS[name]
    newer = onnx.version_converter.convert_version(row.model(), 13)
    pairs = zip(
        *(function_of(model, None, "f").reference(row.x).values() for model in (row.model(), newer)), strict=True
    )
    for x, y in pairs:
        assert x.shape == y.shape
        np.testing.assert_allclose(x, y, 1e-5, 1e-6)


def test_graphs_of_extents_pass_through_slices_with_attributes(tmp_path: Path) -> None:
    """Shape, Slice, Concat, Reshape of a named dim, read from a file."""
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Slice", ["s"], ["n"], starts=[0], ends=[1]),
        helper.make_node("Concat", ["n", "rest"], ["shape"], axis=0),
        helper.make_node("Reshape", ["x", "shape"], ["y"]),
    ]
    infos = [
        helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in (("x", ["batch", 2, 3]), ("y", ["batch", 6]))
    ]
    rest = numpy_helper.from_array(ints(-1), "rest")
    graph = helper.make_graph(nodes, "g", infos[:1], infos[1:], [rest])
    path = tmp_path / "old.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 8)], ir_version=3), path)
    f = from_onnx(path)
    assert str(f.outputs["y"].type) == "float32[batch, 6]"
    x = normal(5, 2, 3)
    np.testing.assert_array_equal(f.reference(x)["y"], x.reshape(5, 6))


_FOUR = [np.ones(4, "float32")] * 4
REFUSED = {
    "its mode is nearest and its scales": Old("Resize", 10, None, {}, IMAGE, [np.array([1, 1, 0.6, 1], "float32")]),
    "its attribute spatial is 0": Old("BatchNormalization", 7, None, {"spatial": 0}, IMAGE, _FOUR),
    "Upsample": Old("Upsample", 11, None, {}, IMAGE, [np.ones(4, "float32")]),
    "Scatter": Old("Scatter", 12, None, {}, X, [PLACES, UPDATES]),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_what_is_refused_is_named(reason: str) -> None:
    with pytest.raises(NoCounterpart, match=rf"(?s){reason}.*node 'only', number 1 of graph 'g'"):
        function_of(REFUSED[reason].model(), None, "f")


def test_a_refused_opset_comes_with_the_line_that_converts_it(tmp_path: Path) -> None:
    path = tmp_path / "old.onnx"
    onnx.save(Old("Relu", 6, None).model(), path)
    with pytest.raises(AotensorError, match="of opset 6, and the oldest supported opset is 7") as caught:
        from_onnx(path)
    line = str(caught.value.diagnostic.hint)
    exec(line.replace("'old.onnx'", repr(str(path))).replace("'new.onnx'", repr(str(tmp_path / "new.onnx"))))
    np.testing.assert_array_equal(from_onnx(tmp_path / "new.onnx").reference(X)["y0"], np.maximum(X, 0))
