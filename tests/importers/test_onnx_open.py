"""Extents that models leave open, and what exporters write where they do not know them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="the extra aotensor[onnx] is not installed")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402
from onnx_rows import ints, made, normal  # noqa: E402

from aotensor.errors import AotensorError  # noqa: E402
from aotensor.importers.onnx import NoCounterpart  # noqa: E402
from aotensor.importers.onnx.functions import FixedExtents, function_of  # noqa: E402

FLOAT = TensorProto.FLOAT


def model(nodes: list[Any], inputs: dict[str, Any], *tensors: Any, declared: Any = None) -> Any:
    infos = [helper.make_tensor_value_info(name, *one) for name, one in inputs.items()]
    y = helper.make_tensor_value_info("y", FLOAT, declared)
    return made(helper.make_graph(nodes, "net", infos, [y], list(tensors)))


def resized(scale: float, **options: Any) -> Any:
    scales = numpy_helper.from_array(np.array([1, 1, scale], "float32"), "s")
    return model([helper.make_node("Resize", ["x", "", "s"], ["y"], **options)], {"x": (FLOAT, ["n", 2, "m"])}, scales)


@pytest.mark.parametrize(
    ("scale", "options"),
    [
        (2.0, {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}),
        (3.0, {}),
        (2.0, {"coordinate_transformation_mode": "pytorch_half_pixel", "nearest_mode": "round_prefer_ceil"}),
    ],
)
def test_elements_are_repeated_along_open_axes(scale: float, options: dict[str, Any]) -> None:
    whole = resized(scale, **options)
    f = function_of(whole, None, "resized")
    for shape in ((1, 2, 1), (2, 2, 5)):
        x = normal(*shape)
        [wanted] = ReferenceEvaluator(whole).run(None, {"x": x})
        for call in (f, f.reference):
            np.testing.assert_array_equal(call(x)["y"], wanted)


@pytest.mark.parametrize(
    ("scale", "options"),
    [
        (1.5, {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}),
        (0.5, {}),
        (2.0, {"mode": "linear"}),
        (2.0, {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "ceil"}),
    ],
)
def test_other_sizes_of_open_axes_are_refused(scale: float, options: dict[str, Any]) -> None:
    with pytest.raises(NoCounterpart, match="known when the model is read, unless it repeats each element"):
        function_of(resized(scale, **options), None, "resized")


def test_an_open_batch_does_not_matter_to_linear_values() -> None:
    whole = resized(2.0, mode="linear")
    f = function_of(whole, None, "resized", fixed=FixedExtents({"m": 3}, {}))
    x = normal(2, 2, 3)
    np.testing.assert_allclose(f.reference(x)["y"], ReferenceEvaluator(whole).run(None, {"x": x})[0], 1e-5, 1e-6)


def test_extents_are_followed_through_int32() -> None:
    """As tf2onnx writes reshapes: Shape, Cast to int32, Slice, Concat, Cast back."""
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Cast", ["shape"], ["short"], to=TensorProto.INT32),
        helper.make_node("Slice", ["short", "zero", "one"], ["batch"]),
        helper.make_node("Concat", ["batch", "rest"], ["new"], axis=0),
        helper.make_node("Cast", ["new"], ["target"], to=TensorProto.INT64),
        helper.make_node("Reshape", ["x", "target"], ["y"]),
    ]
    rest = numpy_helper.from_array(np.array([3, 2], "int32"), "rest")
    more = [numpy_helper.from_array(ints(value), name) for name, value in (("zero", 0), ("one", 1))]
    f = function_of(model(nodes, {"x": (FLOAT, ["n", 6])}, rest, *more), None, "shaped")
    assert f.outputs["y"].type.shape == ("n", 3, 2)
    x = normal(4, 6)
    np.testing.assert_array_equal(f(x)["y"], x.reshape(4, 3, 2))


def branches(rank: int) -> Any:
    """x + 1, or what cannot be: a transposition of another rank."""

    def graph(name: str, node: Any) -> Any:
        return helper.make_graph([node], name, [], [helper.make_tensor_value_info(node.output[0], FLOAT, None)])

    good = graph("good", helper.make_node("Add", ["x", "x"], ["a"]))
    bad = graph("bad", helper.make_node("Transpose", ["x"], ["b"], perm=list(range(rank))))
    node = helper.make_node("If", ["c"], ["y"], then_branch=good, else_branch=bad)
    return model([node], {"c": (TensorProto.BOOL, []), "x": (FLOAT, ["n"])})


def test_a_branch_that_does_not_fit_is_an_error_where_it_is_chosen() -> None:
    f = function_of(branches(2), None, "chosen")
    x = normal(3)
    for call in (f, f.reference):
        np.testing.assert_array_equal(call(True, x)["y"], 2 * x)
        with pytest.raises((AotensorError, ValueError), match="else_branch: ONNX Transpose"):
            call(False, x)


def test_declared_ranks_of_outputs_are_hints() -> None:
    f = function_of(model([helper.make_node("Neg", ["x"], ["y"])], {"x": (FLOAT, [2])}, declared=[1, 2]), None, "f")
    assert f.outputs["y"].type.shape == (2,)


@pytest.mark.parametrize("name", ["?", "-1"])
def test_dims_without_a_name_may_differ(name: str) -> None:
    whole = model([helper.make_node("Neg", ["x"], ["y"])], {"x": (FLOAT, [name, name])})
    f = function_of(whole, None, "f", fixed=FixedExtents({}, {"x": (2, 3)}))
    assert f.inputs[0].type.shape == (2, 3)
    assert function_of(whole, None, "f").inputs[0].type.shape == (None, None)


@pytest.mark.parametrize(("op", "limit"), [("ReduceMax", -np.inf), ("ReduceMin", np.inf)])
def test_an_extreme_of_nothing_is_the_limit(op: str, limit: float) -> None:
    whole = model([helper.make_node(op, ["x"], ["y"], keepdims=0)], {"x": (FLOAT, ["n", "m"])})
    f = function_of(whole, None, "extreme")
    for call in (f, f.reference):
        assert call(np.zeros((0, 2), "float32"))["y"] == limit
        assert call(np.array([[1, 2]], "float32"))["y"] == (2 if limit < 0 else 1)


def test_bytes_of_nothing_and_of_zeros() -> None:
    """The scale of zeros is 1/255, as in ONNX's reference; onnxruntime gives 1. Nothing is quantized as zeros are."""
    nodes = [
        helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"]),
    ]
    whole = model(nodes, {"x": (FLOAT, ["n"])})
    whole.graph.output.extend(
        [helper.make_tensor_value_info("s", FLOAT, []), helper.make_tensor_value_info("z", 2, [])]
    )
    f = function_of(whole, None, "quantized")
    zeros = np.zeros(3, "float32")
    wanted = ReferenceEvaluator(whole).run(None, {"x": zeros})
    for call in (f, f.reference):
        for x in (zeros, zeros[:0]):
            found = call(x)
            np.testing.assert_array_equal(found["y"], x)
            assert (found["s"], found["z"]) == (wanted[1], wanted[2]) == (np.float32(1) / np.float32(255), 0)
