"""ONNX's backend interface: `onnx.backend.test` unchanged, single nodes, and refusals."""

from __future__ import annotations

import subprocess
import sys
import unittest
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="the extra aotensor[onnx] is not installed")

from onnx import TensorProto, helper  # noqa: E402
from onnx.backend.test.case.test_case import TestCase  # noqa: E402
from onnx_rows import made  # noqa: E402

import aotensor.importers.onnx.backend as backend  # noqa: E402
from aotensor.errors import OptionError  # noqa: E402
from aotensor.importers.onnx.backend import AotensorBackend, Refused  # noqa: E402
from aotensor_runtime.errors import ArgumentTypeError  # noqa: E402

X = np.arange(6, dtype="float32").reshape(2, 3)


def model(*nodes: Any, inputs: dict[str, Any], output: str = "y") -> Any:
    infos = [helper.make_tensor_value_info(name, kind, shape) for name, (kind, shape) in inputs.items()]
    outputs = [helper.make_tensor_value_info(output, TensorProto.FLOAT, None)]
    return made(helper.make_graph(list(nodes), "net", infos, outputs))


def reduced() -> Any:
    """Sums over axes that an input gives."""
    inputs = {"x": (TensorProto.FLOAT, [2, 3]), "axes": (TensorProto.INT64, [1])}
    return model(helper.make_node("ReduceSum", ["x", "axes"], ["y"], keepdims=0), inputs=inputs)


def lost() -> Any:
    """Random numbers, which have no counterpart."""
    return model(helper.make_node("Bernoulli", ["x"], ["y"]), inputs={"x": (TensorProto.FLOAT, [2, 3])})


def test_onnx_runs_its_tests_unchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three tests in place of all, whose generation takes seconds: one passes, one is refused, one is wrong."""
    from tools.onnx_node_tests import score

    axes = np.array([1])
    rows = [("good", reduced(), [X, axes], X.sum(1)), ("lost", lost(), [X], X), ("bad", reduced(), [X, axes], X[:, 0])]
    cases = [
        TestCase(f"test_{name}", name, None, None, graph, [(inputs, [y])], "node", 1e-3, 1e-7)
        for name, graph, inputs, y in rows
    ]
    monkeypatch.setattr("onnx.backend.test.runner.load_model_tests", lambda kind: cases if kind == "node" else [])
    sentence, broken = score("compiled", "")
    assert sentence.startswith(
        "1 of 3 tests pass (33.3%), 1 are skipped, 1 fail; operators in models that pass: 1 of 2"
    )
    assert [text.partition(":")[0] for text in broken] == ["test_bad_cpu"]


def test_a_model_that_needs_values_runs_for_each_of_them() -> None:
    prepared = backend.prepare(reduced())
    assert prepared.function is None
    for axis in (0, 1, 0):
        [y] = prepared.run([X, np.array([axis])])
        np.testing.assert_array_equal(y, X.sum(axis))
    found = prepared.run({"axes": np.array([1]), "x": X})
    np.testing.assert_array_equal(found["y"], X.sum(1))


@pytest.mark.parametrize("evaluate", ["compiled", "reference"])
def test_single_nodes(evaluate: str) -> None:
    node = helper.make_node("Sub", ["a", "b"], ["c"])
    [c] = backend.run_node(node, [X, X[:1]], evaluate=evaluate)
    np.testing.assert_array_equal(c, X - X[:1])
    [y] = backend.run_node(helper.make_node("Clip", ["x", "", "top"], ["y"]), {"x": X, "top": np.float32(2)})
    np.testing.assert_array_equal(y, np.minimum(X, 2))
    old = helper.make_node("Clip", ["x"], ["y"], max=2.0)
    [y] = backend.run_node(old, X, opset_version=7)
    np.testing.assert_array_equal(y, np.minimum(X, 2))


def test_refusals_are_skipped_tests_with_a_reason() -> None:
    with pytest.raises(Refused, match=r"Bernoulli: it draws random numbers.*number 1 of graph 'net'") as caught:
        backend.prepare(lost())
    assert isinstance(caught.value, unittest.SkipTest)
    assert [item.name for item in caught.value.operations] == ["Bernoulli"]
    assert not backend.is_compatible(lost())
    assert backend.is_compatible(reduced())
    assert backend.supports_device("CPU")
    assert not any(map(AotensorBackend.supports_device, ["CUDA", "CUDA:1", "NPU"]))
    with pytest.raises(Refused, match="'CUDA': aotensor compiles for the CPU only"):
        backend.run_model(reduced(), [X, np.array([0])], "CUDA")
    ancient = reduced()
    ancient.opset_import[0].version = 6
    with pytest.raises(Refused, match="opset 6, and the oldest supported opset is 7"):
        backend.prepare(ancient)


def test_wrong_calls() -> None:
    with pytest.raises(OptionError, match="unknown option 'fast'"):
        backend.prepare(reduced(), fast=True)
    with pytest.raises(OptionError, match="not 'quickly'"):
        backend.prepare(reduced(), evaluate="quickly")
    prepared = backend.prepare(reduced())
    for inputs, message in (([X], "expected 2 inputs, found 1"), ({"x": X}, r"found \['x'\]")):
        with pytest.raises(ArgumentTypeError, match=message):
            prepared.run(inputs)
    with pytest.raises(ArgumentTypeError, match="expected 2 inputs, found 1"):
        backend.run_node(helper.make_node("Add", ["a", "b"], ["c"]), [X])


def test_without_onnx_the_import_says_what_to_install() -> None:
    code = "import sys; sys.modules['onnx'] = None; import aotensor.importers.onnx.backend"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert "pip install 'aotensor[onnx]'" in run.stderr.splitlines()[-1]
