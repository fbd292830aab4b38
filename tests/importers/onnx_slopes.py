"""Values and gradients of one ONNX operator: by the package's evaluator and its differences, and by us."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx_rows import Row

import aotensor as aot
from aotensor.importers.onnx.functions import function_of


def evaluated(row: Row) -> Callable[..., Any]:
    """The first output of a row as a function of its inputs, by the evaluator of the package."""
    evaluator = ReferenceEvaluator(row.model("g"))
    return lambda *xs: np.asarray(evaluator.run(None, {f"x{i}": x for i, x in enumerate(xs)})[0])


def assert_values_and_slopes(
    row: Row, folder: Path, wanted: Callable[..., Any] | None = None, levels: Sequence[int] = (0, 3)
) -> None:
    """By the reference and compiled, of float64.   wanted: the first output, by default what the evaluator gives"""
    wanted = evaluated(row) if wanted is None else wanted
    value = wanted(*row.inputs)
    weights = np.arange(1.0, 1 + value.size).reshape(value.shape)
    model = row.model("weighted")
    graph = model.graph
    graph.initializer.append(numpy_helper.from_array(weights, "weights"))
    graph.node.append(helper.make_node("Mul", ["y0", "weights"], ["product"]))
    graph.node.append(helper.make_node("ReduceSum", ["product"], ["loss"], keepdims=0))
    graph.output.insert(0, helper.make_tensor_value_info("loss", 0, None))
    moving = [k for k, x in enumerate(row.inputs) if x.dtype == np.float64]
    f = function_of(model, None, "weighted", [f"x{k}" for k in moving])
    slopes = {f"grad_x{k}": _differences(lambda *xs: np.sum(wanted(*xs) * weights), row.inputs, k) for k in moving}
    calls: list[Any] = [f.reference]
    for level in levels:
        calls.append(aot.compile([f], folder / str(level), name="weighted", opt_level=level).load().weighted)
    for call in calls:
        found = call(*row.inputs)
        assert found["y0"].shape == value.shape
        np.testing.assert_allclose(found["y0"], value, 1e-12, 1e-12)
        for name, slope in slopes.items():
            np.testing.assert_allclose(found[name], slope, 1e-6, 1e-6, err_msg=name)


def _differences(loss: Callable[..., Any], xs: Sequence[np.ndarray[Any, Any]], place: int) -> np.ndarray[Any, Any]:
    found = np.zeros(xs[place].shape)
    for index in np.ndindex(found.shape):
        sides = []
        for step in (1e-5, -1e-5):
            moved = [x.copy() for x in xs]
            moved[place][index] += step
            sides.append(loss(*moved))
        found[index] = (sides[0] - sides[1]) / 2e-5
    return found
