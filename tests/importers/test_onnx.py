"""ONNX models as Functions: operators, shapes with names, gradients, and the node tests of the package `onnx`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="the extra aotensor[onnx] is not installed")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402
from onnx_rows import ROWS, STEP, Row, body, made, normal  # noqa: E402

import aotensor as aot  # noqa: E402
import aotensor.tensor as at  # noqa: E402
from aotensor.errors import GraphTypeError, OptionError  # noqa: E402
from aotensor.importers.onnx import from_onnx  # noqa: E402
from aotensor.importers.onnx.functions import function_of  # noqa: E402

FLOAT = TensorProto.FLOAT


def saved(folder: Path, nodes: list[Any], inputs: dict[str, Any], outputs: dict[str, Any], *tensors: Any) -> Path:
    """A file with a model of float32.   inputs, outputs: name → extents"""
    infos = [[helper.make_tensor_value_info(n, FLOAT, s) for n, s in x.items()] for x in (inputs, outputs)]
    path = folder / "model.onnx"
    onnx.save(made(helper.make_graph(nodes, "net/work", *infos, list(tensors))), path)
    return path


def test_operators_compiled_are_what_onnx_evaluates(tmp_path: Path) -> None:
    models = {f"{row.op.lower()}_{i}": row.model(f"{row.op.lower()}_{i}") for i, row in enumerate(ROWS)}
    functions = [function_of(model, None, name) for name, model in models.items()]
    library = aot.compile(functions, tmp_path, name="rows", opt_level=1).load()
    wrong = []
    for row, f, (name, model) in zip(ROWS, functions, models.items(), strict=True):
        feeds = {f"x{i}": x for i, x in enumerate(row.inputs)}
        with np.errstate(all="ignore"):
            wanted = ReferenceEvaluator(model).run(None, feeds)
            both = [list(call(*row.inputs).values()) for call in (f.reference, library[name])]
        for found in both:
            for x, y in zip(found, wanted, strict=True):
                y = np.asarray(y)
                if x.dtype != y.dtype or x.shape != y.shape or not np.allclose(x, y, 2e-5, 1e-6, equal_nan=True):
                    wrong.append((name, x, y))
    assert wrong == []


def _open(folder: Path) -> Path:
    nodes = [helper.make_node("Add", ["x", "y"], ["z"]), helper.make_node("ReduceSum", ["w"], ["s"], keepdims=0)]
    inputs = {"x": ["batch", 3], "y": ["batch", "width"], "w": [-1, "any one"]}
    return saved(folder, nodes, inputs, {"z": ["batch", 3], "s": []})


def test_extents_that_the_caller_fixes(tmp_path: Path) -> None:
    """By the name of a dim, or by the shape of an input; -1 is an extent that is not known."""
    path = _open(tmp_path)
    shapes = [x.type.shape for x in from_onnx(path).inputs]
    assert shapes == [("batch", 3), ("batch", "width"), (None, "any_one")]
    f = from_onnx(path, dims={"batch": 2, "any one": 5}, shapes={"y": (2, 3), "w": (None, 5)})
    assert [x.type.shape for x in f.inputs] == [(2, 3), (2, 3), (None, 5)]
    by_shape = from_onnx(path, shapes={"x": (4, 3)})
    assert [x.type.shape for x in by_shape.inputs][1] == (4, "width")
    x, y, w = normal(2, 3), normal(2, 3), normal(7, 5)
    for run in (f.reference, f):
        found = run(x, y, w)
        np.testing.assert_array_equal(found["z"], x + y)
        np.testing.assert_allclose(found["s"], w.sum(), rtol=1e-4, atol=1e-5)
    for options, message in (
        ({"dims": {"batsh": 2}}, "no input of the model has a dim 'batsh'"),
        ({"dims": {"batch": -1}}, "dim 'batch' is -1, not a whole number"),
        ({"shapes": {"X": (2, 3)}}, "the model has no input 'X'"),
        ({"shapes": {"x": (2, 4)}}, "input 'x' has extent 3 along axis 1, not 4"),
        ({"shapes": {"x": (2,)}}, "input 'x' has 2 axes, but the shape"),
        ({"shapes": {"x": (3, 3)}, "dims": {"batch": 2}}, "input 'x' has extent 2 along axis 0, not 3"),
    ):
        with pytest.raises(ValueError, match=message):
            from_onnx(path, **options)


def test_extents_of_other_types(tmp_path: Path) -> None:
    path = _open(tmp_path)
    assert from_onnx(path, dims={"batch": np.int64(2)}).inputs[0].type.shape[0] == 2
    assert from_onnx(path, shapes={"x": np.array([2, 3])}).inputs[0].type.shape == (2, 3)
    wrong: list[tuple[Any, Any]] = [([("batch", 2)], None), ("batch=2", None), (None, [(2, 3)]), (None, {"x": 5})]
    for dims, shapes in [*wrong, (None, {"x": "2,3"}), (None, {"x": None})]:
        with pytest.raises((GraphTypeError, OptionError), match=r"expected a dict, found|input 'x' has the shape"):
            from_onnx(path, dims=dims, shapes=shapes)


def test_names_that_are_the_same_in_c(tmp_path: Path) -> None:
    """a-b, a.b and a_b are three inputs, and outputs, of a file."""
    names, kind = ["a-b", "a.b", "a_b"], onnx.TensorProto.FLOAT
    nodes = [helper.make_node("Mul", [a, b], [f"{a}!"]) for a, b in zip(names, names[1:] + names[:1], strict=True)]
    ins, outs = ([helper.make_tensor_value_info(f"{x}{end}", kind, [2]) for x in names] for end in ("", "!"))
    opsets = [helper.make_opsetid("", 17)]
    path = tmp_path / "m.onnx"
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", ins, outs), opset_imports=opsets, ir_version=8), path)
    f = from_onnx(path)
    found = f.reference(*(np.full(2, x, "float32") for x in (2, 3, 5)))
    assert [float(x[0]) for x in found.values()] == [6.0, 15.0, 10.0] and len(found) == 3


def test_extents_on_the_command_line(tmp_path: Path) -> None:
    """Two files of one exporter give two libraries, each with the name of its file."""
    path = _open(tmp_path)
    other = path.rename(tmp_path / "other.onnx")
    _open(tmp_path)

    def call(*arguments: object) -> subprocess.CompletedProcess[str]:
        line = [sys.executable, "-m", "aotensor_cli", *map(str, arguments)]
        return subprocess.run(line, capture_output=True, text=True, check=False, cwd=tmp_path)

    found = call("inspect", path, "--dim", "batch=1", "--shape", "w=?,2")
    assert "x: float32[1, 3]" in found.stdout and "2]" in found.stdout, found
    made = call("compile", other, path, "--emit", "header", "--dim", "batch=1")
    assert "other(" in made.stdout and "model(" in made.stdout, made
    wrong = call("compile", path, "--dim", "batsh=1")
    assert wrong.returncode == 2 and "no input of the model has a dim 'batsh'" in wrong.stderr
    assert call("compile", path, "--dim", "batch").returncode == 2


@pytest.mark.filterwarnings("ignore:.* was deprecated in .*:FutureWarning")
def test_probabilities_of_support_vectors_are_what_scikit_learn_says(tmp_path: Path) -> None:
    """Three classes: the package onnx multiplies rows of pairs where LIBSVM multiplies pairs, and is no judge here."""
    svm = pytest.importorskip("sklearn.svm", reason="scikit-learn is not installed")
    skl2onnx = pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")
    labels = np.arange(90) % 3
    x = (normal(90, 2) + np.array([[0, 0], [2, 0], [0, 2]])[labels]).astype("float32")
    model = svm.SVC(probability=True, random_state=0).fit(x, labels)
    made = skl2onnx.to_onnx(model, x[:1], options={"zipmap": False}, target_opset={"": 20, "ai.onnx.ml": 3})
    f = function_of(made, None, "svc")
    library = aot.compile([f], tmp_path, name="svc", opt_level=1).load()
    for call in (f.reference, library.svc):
        label, share = call(x).values()
        np.testing.assert_array_equal(label, model.predict(x))
        np.testing.assert_allclose(share, model.predict_proba(x), atol=2e-5)


def test_dims_have_the_names_of_the_model_and_pass_through_shape_arithmetic(tmp_path: Path) -> None:
    """(batch, time, 6) → heads → back, as exporters write it: Shape, Gather, Unsqueeze, Concat, Reshape with -1."""
    constants = [
        numpy_helper.from_array(np.array(value, "int64"), name)
        for name, value in {"zero": 0, "one": 1, "axis": [0], "heads": [2], "rest": [-1], "width": [6]}.items()
    ]
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Gather", ["s", "zero"], ["n"]),
        helper.make_node("Gather", ["s", "one"], ["t"]),
        helper.make_node("Unsqueeze", ["n", "axis"], ["n1"]),
        helper.make_node("Unsqueeze", ["t", "axis"], ["t1"]),
        helper.make_node("Concat", ["n1", "rest", "heads", "three"], ["split"], axis=0),
        helper.make_node("Reshape", ["x", "split"], ["heads4"]),
        helper.make_node("Transpose", ["heads4"], ["turned"], perm=[0, 2, 1, 3]),
        helper.make_node("ReduceSum", ["turned", "three1"], ["sums"], keepdims=1),
        helper.make_node("Sub", ["turned", "sums"], ["centred"]),
        helper.make_node("Transpose", ["centred"], ["back"], perm=[0, 2, 1, 3]),
        helper.make_node("Concat", ["n1", "t1", "width"], ["whole"], axis=0),
        helper.make_node("Reshape", ["back", "whole"], ["flat"]),
        helper.make_node("Add", ["flat", "x"], ["y"]),
    ]
    more = [numpy_helper.from_array(np.array([3], "int64"), name) for name in ("three", "three1")]
    path = saved(tmp_path, nodes, {"x": ["batch", "time", 6]}, {"y": None}, *constants, *more)
    f = from_onnx(path)
    assert f.name == "model"  # of the file: an exporter gives all graphs one name
    assert str(f.inputs[0].type) == str(f.outputs["y"].type) == "float32[batch, time, 6]"
    x = normal(2, 5, 6)
    parts = x.reshape(2, 5, 2, 3)
    wanted = (parts - parts.sum(3, keepdims=True)).reshape(x.shape) + x
    np.testing.assert_allclose(f.reference(x)["y"], wanted, 1e-5, 1e-6)


def test_gradients_in_inputs_and_initializers(tmp_path: Path) -> None:
    """mean((x·W − t)²): closed form"""
    w = normal(3, 2)
    nodes = [
        helper.make_node("MatMul", ["x", "W"], ["z"]),
        helper.make_node("Sub", ["z", "t"], ["r"]),
        helper.make_node("ReduceSumSquare", ["r"], ["loss"], keepdims=0),
    ]
    tensor = numpy_helper.from_array(w, "W")
    path = saved(tmp_path, nodes, {"x": ["n", 3], "t": ["n", 2]}, {"loss": [], "z": ["n", 2]}, tensor)
    f = from_onnx(path, name="loss", grad=["W", "x"])
    x, t = normal(4, 3), normal(4, 2)
    r = 2 * (x @ w - t)
    found = f.reference(x, t)
    for name, wanted in {"grad_W": x.T @ r, "grad_x": r @ w.T, "z": x @ w}.items():
        np.testing.assert_allclose(found[name], wanted, 1e-4, 1e-5)


def test_branches_and_loops(tmp_path: Path) -> None:
    """x·2³ by a loop, negated where its sum is negative."""
    step = helper.make_graph(
        [helper.make_node("Identity", ["going"], ["on"]), helper.make_node("Add", ["v", "v"], ["w"])],
        "double",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("going", TensorProto.BOOL, []),
            helper.make_tensor_value_info("v", FLOAT, [2]),
        ],
        [helper.make_tensor_value_info("on", TensorProto.BOOL, []), helper.make_tensor_value_info("w", FLOAT, [2])],
    )
    kept = body("kept", [helper.make_node("Identity", ["z"], ["a"])], [], ["a"])
    turned = body("turned", [helper.make_node("Neg", ["z"], ["b"])], [], ["b"])
    nodes = [
        helper.make_node("Loop", ["three", "", "x"], ["z"], body=step),
        helper.make_node("ReduceSum", ["z"], ["total"], keepdims=0),
        helper.make_node("Less", ["total", "nothing"], ["is_below"]),
        helper.make_node("If", ["is_below"], ["y"], then_branch=turned, else_branch=kept),
    ]
    tensors = [
        numpy_helper.from_array(np.array(3, "int64"), "three"),
        numpy_helper.from_array(np.float32(0), "nothing"),
    ]
    f = from_onnx(saved(tmp_path, nodes, {"x": [2]}, {"y": [2]}, *tensors))
    for x in (np.array([1, 2], "float32"), np.array([1, -2], "float32")):
        np.testing.assert_array_equal(f(x)["y"], 8 * x * np.sign(x.sum()))


def test_functions_of_the_model_are_taken_apart() -> None:
    """y = twice(x, by=3), a function of the model with an attribute."""
    inner = helper.make_node("Constant", [], ["k"])
    attribute = inner.attribute.add()
    attribute.name, attribute.ref_attr_name, attribute.type = "value_float", "by", onnx.AttributeProto.FLOAT
    function = helper.make_function(
        "own", "Scale", ["v"], ["w"], [inner, helper.make_node("Mul", ["v", "k"], ["w"])],
        [helper.make_opsetid("", 20)], ["by"],
    )  # fmt: skip
    infos = [[helper.make_tensor_value_info(name, FLOAT, ["n"])] for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Scale", ["x"], ["y"], domain="own", by=3.0)], "g", *infos)
    model = made(graph, functions=[function])
    f = function_of(model, None, "scaled")
    np.testing.assert_array_equal(f.reference(np.array([1, 2], "float32"))["y"], [3, 6])


def test_a_scan_in_reverse_is_one_of_what_is_turned() -> None:
    start, steps = normal(2), normal(5, 2)
    turned = {"num_scan_inputs": 1, "scan_input_directions": [1], "scan_output_directions": [1], "body": STEP}
    model = Row("Scan", [start, steps], (), turned, 2).model("turned")
    plain = Row("Scan", [start, steps], (), {"num_scan_inputs": 1, "body": STEP}, 2).model("plain")
    last, every = ReferenceEvaluator(plain).run(None, {"x0": start, "x1": steps[::-1].copy()})
    found = function_of(model, None, "turned").reference(start, steps)
    np.testing.assert_allclose(found["y0"], last, 1e-6)
    np.testing.assert_allclose(found["y1"], every[::-1], 1e-6)


def test_negative_pads_take_away(tmp_path: Path) -> None:
    pads = numpy_helper.from_array(np.array([1, -1, -1, 2], "int64"), "pads")
    f = from_onnx(saved(tmp_path, [helper.make_node("Pad", ["x", "pads"], ["y"])], {"x": ["n", 4]}, {"y": None}, pads))
    x = normal(3, 4)
    np.testing.assert_array_equal(f.reference(x)["y"], np.pad(x[:-1, 1:], [(1, 0), (0, 2)]))


def test_node_tests_by_the_reference() -> None:
    """No test gives a wrong value: each passes, or is refused by name."""
    from tools.onnx_node_tests import by_reference, load_cases

    outcomes = [by_reference(case)[0] for case in load_cases()]
    assert [x for x in outcomes if x.verdict == "wrong"] == []
    assert sum(x.verdict == "passes" for x in outcomes) > 1200


def test_a_transposed_convolution_in_groups_is_the_gradient_of_a_convolution() -> None:
    """The evaluator of the package has no groups here."""
    options = {"group": 2, "strides": [2, 1], "pads": [1, 0, 1, 0], "dilations": [1, 2]}
    y, w = normal(2, 4, 5, 3), normal(4, 3, 3, 2)
    found = function_of(Row("ConvTranspose", [y, w], (), options).model("g"), None, "g").reference(y, w)["y0"]
    image = at.tensor("image", dtype="float32", shape=found.shape)
    made = at.conv2d(image, w, stride=(2, 1), padding=(1, 0), dilation=(1, 2), groups=2)
    slope = aot.function([image], aot.grad(at.sum(made * y), image)).reference(np.zeros(found.shape, "float32"))
    np.testing.assert_allclose(found, slope, 1e-5, 1e-5)
