"""ONNX files that are damaged, made up, or of what has no counterpart: one error with the node's name."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="the extra aotensor[onnx] is not installed")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from onnx_rows import ROWS, made  # noqa: E402

from aotensor.errors import AotensorError  # noqa: E402
from aotensor.importers.onnx import NoCounterpart, from_onnx  # noqa: E402
from aotensor_cli.main import run  # noqa: E402

FLOAT = TensorProto.FLOAT


def net(*nodes: Any, tensors: Any = (), x: Any = ("n",), dtype: int = FLOAT, opset: int = 17) -> Any:
    """A model of x with the output y."""
    given, wanted = helper.make_tensor_value_info("x", dtype, x), helper.make_tensor_value_info("y", 0, None)
    return made(helper.make_graph(list(nodes), "g", [given], [wanted], list(tensors)), opset)


def node(op: str, inputs: str, outputs: str = "y", **options: Any) -> Any:
    return helper.make_node(op, inputs.split(), outputs.split(), name=f"my_{op}", **options)


def external(location: str, **entries: int) -> Any:
    """A tensor of two numbers with its data in a file."""
    tensor = TensorProto(name="w", dims=[2], data_type=FLOAT, data_location=TensorProto.EXTERNAL)
    for key, value in {"location": location, **entries}.items():
        tensor.external_data.add(key=key, value=str(value))
    return net(node("Add", "x w"), tensors=[tensor], x=[2])


def huge() -> Any:
    tensor = TensorProto(name="w", dims=[1 << 40, 1 << 20], data_type=FLOAT, raw_data=b"\0" * 8)
    return net(node("Add", "x w"), tensors=[tensor])


def reaching() -> Any:
    """Sixty-five functions that call each other in a circle."""
    call = [helper.make_node("F", ["v"], ["w"], domain="own")]
    model = net(helper.make_node("F", ["x"], ["y"], domain="own", name="my_F"))
    model.functions.append(helper.make_function("own", "F", ["v"], ["w"], call, [helper.make_opsetid("own", 1)]))
    return model


def forest(**changes: Any) -> Any:
    """A tree with two leaves."""
    given = {
        "nodes_treeids": [0, 0, 0], "nodes_nodeids": [0, 1, 2], "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
        "nodes_featureids": [0, 0, 0], "nodes_values": [1.0, 0, 0], "nodes_truenodeids": [1, 0, 0],
        "nodes_falsenodeids": [2, 0, 0], "target_treeids": [0, 0], "target_nodeids": [1, 2], "target_ids": [0, 0],
        "target_weights": [1.0, 2.0], "n_targets": 1, **changes,
    }  # fmt: skip
    node_ = helper.make_node("TreeEnsembleRegressor", ["x"], ["y"], name="my_forest", domain="ai.onnx.ml", **given)
    return net(node_, x=["n", 2])


def resized(scales: list[float], **options: Any) -> Any:
    """Two elements in another number of them."""
    empty, factors = (numpy_helper.from_array(np.array(x, "float32"), n) for x, n in (([], "r"), (scales, "s")))
    return net(node("Resize", "x r s", **options), tensors=[empty, factors], x=[2], opset=19)


def round_tree() -> Any:
    """Below the root, two nodes that lead to each other."""
    return forest(
        nodes_treeids=[0] * 4, nodes_nodeids=[0, 1, 2, 3], nodes_values=[1.0] * 4, nodes_truenodeids=[1, 3, 0, 1],
        nodes_modes=["BRANCH_LEQ", "BRANCH_LEQ", "LEAF", "BRANCH_LT"], nodes_featureids=[0] * 4,
        nodes_falsenodeids=[2, 2, 0, 2],
    )  # fmt: skip


BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "undefined": (lambda: net(node("Add", "x z")), "no node computes its input 'z'   (node 'my_Add', number 1 of"),
    "cycle": (
        lambda: net(node("Add", "x b", "a"), node("Neg", "a", "b"), node("Abs", "b")),
        "its input 'b' is computed by the later node number 2",
    ),
    "itself": (lambda: net(node("Add", "x y")), "its input 'y' is its own output"),
    "twice": (lambda: net(node("Abs", "x"), node("Neg", "x")), "another node computes the same output"),
    "no output": (lambda: net(node("Abs", "x", "z")), "graph 'g': no node computes its output 'y'"),
    "counts": (lambda: net(node("Add", "x")), "it has 1 inputs, not 2"),
    "kind": (lambda: net(node("Softmax", "x", axis=1.5)), "attribute axis is of kind FLOAT, not INT"),
    "axis": (lambda: net(node("Softmax", "x", axis=3)), "axis 3 is out of range for a tensor of rank 1"),
    "missing": (lambda: net(node("Cast", "x")), "attribute to is missing"),
    "dtype": (lambda: net(node("Abs", "x"), dtype=TensorProto.FLOAT8E4M3FN), "input 'x' has dtype FLOAT8E4M3FN"),
    "text": (lambda: net(node("Abs", "x"), dtype=TensorProto.STRING), "input 'x' has dtype STRING"),
    "number": (lambda: net(node("Abs", "x"), dtype=99), "the data type number 99"),
    "rank": (lambda: net(node("Abs", "x"), x=None), "input 'x' has no shape and no rank"),
    "old": (lambda: net(node("Abs", "x"), opset=6), "of opset 6, and the oldest supported opset is 7"),
    "new": (lambda: net(node("Abs", "x"), opset=999), "its operators are of opset 999"),
    "shapes": (
        lambda: net(node("MatMul", "x w"), tensors=[numpy_helper.from_array(np.ones((3, 2)), "w")], x=[2, 4]),
        "(node 'my_MatMul'",
    ),
    "huge": (huge, "initializer 'w' of graph 'g' has 8 bytes of data for extents [1099511627776, 1048576]"),
    "absolute": (lambda: external("/etc/passwd"), "which is not in the folder of the model"),
    "above": (lambda: external("../up.bin"), "which is not in the folder of the model"),
    "link": (lambda: external("link.bin"), "which is not in the folder of the model"),
    "absent": (lambda: external("none.bin"), "cannot be read (no such file or directory)"),
    "short": (lambda: external("data.bin", offset=8), "'data.bin' ends before byte 16"),
    "before": (lambda: external("data.bin", offset=-8), "8 bytes from byte -8 of 'data.bin'"),
    "scales": (lambda: resized(scales=[0.0]), "extents [0], which are not from 1 to 1048576   (node"),
    "counts of scales": (lambda: resized(scales=[2.0, 1.0]), "2 sizes or scales for 1 axes"),
    "enormous": (lambda: resized(scales=[1e9]), "give the extents [2000000000]"),
    "antialias": (lambda: resized(scales=[2.0], antialias=1), "Resize: its antialias is set"),
    "root": (lambda: forest(nodes_modes=["BRANCH_LEQ"] * 3), "so the tree has no root"),
    "round": (round_tree, "a tree has a cycle"),
    "leaf": (lambda: forest(nodes_falsenodeids=[9, 0, 0]), "name a node that does not exist"),
    "feature": (
        lambda: forest(nodes_featureids=[7, 0, 0]),
        "its trees read feature 7 of an input with 2 features   (node 'my_forest'",
    ),
    "lengths": (lambda: forest(nodes_values=[1.0]), "its attributes nodes_* are missing, have different lengths"),
    "target": (lambda: forest(target_ids=[0, 4]), "name a node or a target that does not exist"),
    "circle": (reaching, "calls of functions are nested more than 64 deep"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_models(name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    build, message = BAD[name]
    folder = tmp_path / "models"
    folder.mkdir()
    (tmp_path / "up.bin").write_bytes(np.ones(2, "float32").tobytes())
    (folder / "data.bin").write_bytes(np.ones(2, "float32").tobytes())
    (folder / "link.bin").symlink_to(tmp_path / "up.bin")
    path = folder / "model.onnx"
    path.write_bytes(build().SerializeToString())
    with pytest.raises(AotensorError) as caught:
        from_onnx(path)
    assert message in str(caught.value)
    assert run(["inspect", str(path), "--stage", "graph"]) == 3
    first = capfd.readouterr().err.splitlines()[0]
    assert first.startswith("error: ") and message in first


@pytest.mark.parametrize("content", [b"", b"hello", b"\x08\x08\x3a\xff\xff\xff\xff\x0f", b"cut", b"text"])
def test_files_that_are_no_models(content: bytes, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "model.onnx"
    whole = net(node("Abs", "x")).SerializeToString()
    other = {b"cut": whole[: len(whole) // 2], b"text": whole.replace(b"my_Abs", b"my_\xff\xfe_")}
    path.write_bytes(other.get(content, content))
    assert run(["compile", str(path)]) == 2
    assert str(path) in capfd.readouterr().err


def test_all_without_counterpart_are_in_one_error(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    nodes = [
        node("Bernoulli", "x", "a"),
        node("Abs", "a", "b"),
        node("Own", "b", "c"),
        node("Unique", "x", sorted=0),
    ]
    path = tmp_path / "model.onnx"
    onnx.save(net(*nodes, x=[2]), path)
    with pytest.raises(NoCounterpart) as caught:
        from_onnx(path)
    assert [item.name for item in caught.value.operations] == ["Bernoulli", "Own", "Unique"]
    assert caught.value.operations[1].place == "node 'my_Own', number 3 of graph 'g'"
    assert run(["compile", str(path)]) == 3
    assert "Unique: its attribute sorted is 0, which is not supported at node 'my_Unique'" in capfd.readouterr().err


def test_data_beside_the_model_are_read(tmp_path: Path) -> None:
    (tmp_path / "data.bin").write_bytes(np.array([7, 1, 2], "float32").tobytes())
    path = tmp_path / "model.onnx"
    path.write_bytes(external("data.bin", offset=4).SerializeToString())
    np.testing.assert_array_equal(from_onnx(path).reference(np.zeros(2, "float32"))["y"], [1, 2])


def test_the_command_line_compiles_a_model(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(net(node("Softplus", "x")), path)
    assert run(["compile", str(path), "-o", str(tmp_path / "out"), "-O", "0"]) == 0
    assert capfd.readouterr().out.splitlines() == [str(tmp_path / "out" / name) for name in ("libmodel.so", "model.h")]
    assert run(["inspect", str(path) + ":model", "--stage", "graph"]) == 0
    assert "softplus(%x)   # my_Softplus:1" in capfd.readouterr().out
    assert run(["inspect", str(path) + ":h", "--stage", "graph"]) == 2
    with pytest.raises(AotensorError, match="first output 'y' is float32"):
        from_onnx(path, grad=["x"])


def test_damaged_bytes_are_refused_or_read(tmp_path: Path) -> None:
    """No exception of Python, of NumPy or of protobuf comes out of a file."""
    rng = np.random.default_rng(5)
    path = tmp_path / "model.onnx"
    for row in ROWS * 4:
        content = bytearray(row.model("g").SerializeToString())
        for place in rng.integers(len(content), size=2):
            content[place] = rng.integers(256)
        path.write_bytes(content)
        with contextlib.suppress(AotensorError):
            from_onnx(path)
