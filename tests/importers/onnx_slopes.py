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
    """The outputs of a row as a function of its inputs, by the evaluator of the package; one alone as it is."""
    evaluator = ReferenceEvaluator(row.model("g"))

    def call(*xs: Any) -> Any:
        found = [np.asarray(y) for y in evaluator.run(None, {f"x{i}": x for i, x in enumerate(xs)})]
        return found[0] if row.outputs == 1 else found

    return call


def assert_values_and_slopes(
    row: Row, folder: Path, wanted: Callable[..., Any] | None = None, levels: Sequence[int] = (0, 3)
) -> None:
    """By the reference and compiled; gradients of inputs of float64.   wanted: the outputs, by default `evaluated`"""
    compute = evaluated(row) if wanted is None else wanted
    values = _listed(compute(*row.inputs))
    weights = [np.arange(1.0, 1 + y.size).reshape(y.shape) / 8 for y in values]
    moving = [k for k, x in enumerate(row.inputs) if x.dtype == np.float64]

    def loss(*xs: Any) -> Any:
        return sum(np.sum(y * w) for y, w in zip(_listed(compute(*xs)), weights, strict=True))

    slopes = {f"grad_x{k}": _differences(loss, row.inputs, k) for k in moving}
    f = function_of(_weighted(row, weights), None, "weighted", [f"x{k}" for k in moving])
    calls: list[Any] = [f.reference]
    for level in levels:
        calls.append(aot.compile([f], folder / str(level), name="weighted", opt_level=level).load().weighted)
    for call in calls:
        found = call(*row.inputs)
        for k, value in enumerate(values):
            assert found[f"y{k}"].shape == value.shape
            np.testing.assert_allclose(found[f"y{k}"], value, 1e-12, 1e-12)
        for name, slope in slopes.items():
            np.testing.assert_allclose(found[name], slope, 1e-6, 1e-6, err_msg=name)


def _listed(found: Any) -> list[Any]:
    return found if isinstance(found, list) else [found]


def _weighted(row: Row, weights: Sequence[np.ndarray[Any, Any]]) -> Any:
    """The model of a row whose first output is the weighted sum of all its outputs."""
    model = row.model("weighted")
    graph, terms = model.graph, [f"term{k}" for k in range(len(weights))]
    for k, weight in enumerate(weights):
        graph.initializer.append(numpy_helper.from_array(weight, f"weight{k}"))
        graph.node.append(helper.make_node("Mul", [f"y{k}", f"weight{k}"], [f"product{k}"]))
        graph.node.append(helper.make_node("ReduceSum", [f"product{k}"], [f"term{k}"], keepdims=0))
    graph.node.append(helper.make_node("Sum", terms, ["loss"]))
    graph.output.insert(0, helper.make_tensor_value_info("loss", 0, None))
    return model


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
