"""ScatterElements and ScatterND of ONNX with positions that repeat: values and gradients."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="the extra aotensor[onnx] is not installed")

from onnx_rows import Row, normal
from onnx_slopes import assert_values_and_slopes

from aotensor.errors import AotensorError
from aotensor.importers.onnx.functions import function_of

REPEATED = np.array([[0, -1, 0], [2, 2, 0], [-4, 2, 1]], "int64")


@pytest.mark.parametrize("reduction", ["add", "mul", "max", "min"])
@pytest.mark.parametrize("op", ["ScatterElements", "ScatterND"])
def test_gradients_where_positions_repeat(op: str, reduction: str, tmp_path: Path) -> None:
    x, updates = normal(4, 3, dtype="float64"), normal(3, 3, dtype="float64")
    indices = REPEATED if op == "ScatterElements" else REPEATED[:, :1]
    assert_values_and_slopes(Row(op, [x, indices, updates], (), {"reduction": reduction}), tmp_path)


def test_gradients_of_products_with_zeros(tmp_path: Path) -> None:
    """One zero among the factors of a position, then two."""
    x, updates = np.array([3.0, 0.0, 5.0]), np.array([0.0, 2.0, 0.0, 4.0, 7.0])
    indices = np.array([[0], [0], [1], [1], [0]], "int64")
    assert_values_and_slopes(Row("ScatterND", [x, indices, updates], (), {"reduction": "mul"}), tmp_path)


def test_of_equal_numbers_the_first_has_the_gradient() -> None:
    """As `maximum` of the number before and of each update has it."""
    found = _gradients(np.array([1.0, 2.0]), np.array([[0], [0], [1]], "int64"), np.array([1.0, 1.0, 3.0]))
    assert [x.tolist() for x in found] == [[1.0, 0.0], [0.0, 0.0, 1.0]]


def _gradients(*inputs: np.ndarray[Any, Any]) -> list[Any]:
    from onnx import helper

    model = Row("ScatterND", inputs, (), {"reduction": "max"}).model("g")
    model.graph.node.append(helper.make_node("ReduceSum", ["y0"], ["loss"], keepdims=0))
    model.graph.output.insert(0, helper.make_tensor_value_info("loss", 0, None))
    found = function_of(model, None, "g", ["x0", "x2"]).reference(*inputs)
    return [found["grad_x0"], found["grad_x2"]]


@pytest.mark.parametrize("place", [4, -5])
def test_positions_outside_are_refused_when_the_model_runs(place: int) -> None:
    inputs = [normal(4, 2), np.array([[place]], "int64"), normal(1, 2)]
    f = function_of(Row("ScatterND", inputs, (), {"reduction": "mul"}).model("g"), None, "g")
    for call in (f.reference, f):
        with pytest.raises((AotensorError, IndexError), match="out of"):
            call(*inputs)


def test_another_reduction_is_refused() -> None:
    model = Row("ScatterND", [normal(2), np.zeros((1, 1), "int64"), normal(1)], (), {"reduction": "mean"}).model("g")
    message = "its reduction is 'mean', not none, add, mul, max, min   (node 'only', number 1"
    with pytest.raises(AotensorError, match=re.escape(message)):
        function_of(model, None, "g")
