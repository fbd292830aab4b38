"""Initializers of ONNX models in a file of weights next to the library."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="the extra aotensor[onnx] is not installed")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

import aotensor_runtime as art  # noqa: E402

FLOAT = TensorProto.FLOAT


def test_a_network(tmp_path: Path, rng: np.random.Generator) -> None:
    shapes = {"kernel": (16, 3, 3, 3), "w": (16, 420), "v": (420, 10), "b": (10,)}
    tensors = {name: rng.normal(size=shape).astype("float32") / 8 for name, shape in shapes.items()}
    nodes = [
        helper.make_node("Conv", ["x", "kernel"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("GlobalAveragePool", ["r"], ["p"]),
        helper.make_node("Flatten", ["p"], ["f"]),
        helper.make_node("MatMul", ["f", "w"], ["h"]),
        helper.make_node("Tanh", ["h"], ["t"]),
        helper.make_node("Gemm", ["t", "v", "b"], ["y"]),
    ]
    infos = [helper.make_tensor_value_info(*x) for x in (("x", FLOAT, ["n", 3, 8, 8]), ("y", FLOAT, ["n", 10]))]
    initializers = [numpy_helper.from_array(x, name) for name, x in tensors.items()]
    graph = helper.make_graph(nodes, "net", infos[:1], infos[1:], initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, tmp_path / "net.onnx")
    command = [sys.executable, "-m", "aotensor_cli", "compile", "net.onnx", "-O", "1", "--weights"]
    said = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    assert "net.safetensors" in said.split()
    content = (tmp_path / "net.safetensors").read_bytes()
    names = set(json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")]))
    assert names - {"__metadata__", "padding"} <= {"w", "v", "w.T", "v.T"}
    assert all(x.tobytes() in content or x.T.tobytes() in content for x in (tensors["w"], tensors["v"]))
    library = art.load(tmp_path / "libnet.so")
    assert len(library.data) < len(content) + 150_000 and tensors["b"].tobytes() in library.data
    x = rng.normal(size=(5, 3, 8, 8)).astype("float32")
    (expected,) = ReferenceEvaluator(model).run(None, {"x": x})
    (found,) = library.net(x).values()
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
