"""If, Loop and Scan of ONNX with extents, conditions and numbers of steps that are known when the model runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="the extra aotensor[onnx] is not installed")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from onnx_rows import STEP, Row, ints, made, normal  # noqa: E402
from onnx_slopes import assert_values_and_slopes  # noqa: E402

import aotensor as aot  # noqa: E402
from aotensor.errors import AotensorError  # noqa: E402
from aotensor.importers.onnx import NoCounterpart  # noqa: E402
from aotensor.importers.onnx.functions import function_of  # noqa: E402

DOUBLE = TensorProto.DOUBLE
FIFTY = numpy_helper.from_array(np.float64(50), "fifty")


NOTHING = [np.array(0, "int64"), np.array(True), np.array([1.0, 2.0])]


def step_graph(is_live: bool, *more: Any, state: Sequence[Any] = (2,)) -> Any:
    """v → v·(i + 1.5), which is also what each step gives, minus v; on while the sum is below 50, if that is asked."""
    half = numpy_helper.from_array(np.float64(1.5), "half")
    nodes = [
        helper.make_node("Cast", ["i"], ["number"], to=DOUBLE),
        helper.make_node("Add", ["number", "half"], ["factor"]),
        helper.make_node("Mul", ["v", "factor"], ["w"]),
        helper.make_node("Sub", ["w", "v"], ["u"]),
        helper.make_node("ReduceSum", ["w"], ["total"], keepdims=0),
        helper.make_node("Less", ["total", "fifty"], ["on"])
        if is_live
        else helper.make_node("Identity", ["go"], ["on"]),
        *more,
    ]
    given = [("i", TensorProto.INT64, []), ("go", TensorProto.BOOL, []), ("v", DOUBLE, state)]
    gives = [("on", TensorProto.BOOL, []), ("grown" if more else "w", DOUBLE, None), ("u", DOUBLE, None)]
    infos = [[helper.make_tensor_value_info(*one) for one in part] for part in (given, gives)]
    return helper.make_graph(nodes, "body", *infos, [half, FIFTY])


def looped(is_live: bool) -> Callable[..., list[Any]]:
    def run(count: Any, condition: Any, v: Any) -> list[Any]:
        rows, i, on = [], 0, bool(condition)
        while on and i < count:
            w = v * (i + 1.5)
            rows.append(w - v)
            v, i, on = w, i + 1, not is_live or w.sum() < 50
        return [v, np.array(rows).reshape(-1, 2)]

    return run


@pytest.mark.parametrize("condition", [True, False])
@pytest.mark.parametrize(("count", "is_live"), [(0, False), (1, True), (3, False), (4, True), (9, True)])
def test_loops_whose_steps_are_computed(count: int, is_live: bool, condition: bool, tmp_path: Path) -> None:
    """Final states, results of steps and gradients of a loop whose number of steps is an input."""
    inputs = [np.array(count, "int64"), np.array(condition), np.array([1.0, 2.0])]
    row = Row("Loop", inputs, (), {"body": step_graph(is_live)}, 2)
    assert_values_and_slopes(row, tmp_path, looped(is_live), (3,) if condition else (0,))


@pytest.mark.parametrize("is_live", [False, True])
def test_loops_of_no_steps_without_gradients(is_live: bool, tmp_path: Path) -> None:
    """Which keep no more of the states than the last ones."""
    f = function_of(Row("Loop", NOTHING, (), {"body": step_graph(is_live)}, 2).model("g"), None, "f")
    library = aot.compile([f], tmp_path, name="f", opt_level=3).load()
    for count, condition in ((0, True), (3, False), (2, True)):
        inputs = [np.array(count, "int64"), np.array(condition), NOTHING[2]]
        for call in (f.reference, library.f):
            for found, wanted in zip(call(*inputs).values(), looped(is_live)(*inputs), strict=True):
                np.testing.assert_allclose(found, wanted, 1e-12)


@pytest.mark.parametrize("count", ["", "count"])
def test_loops_that_only_their_condition_ends(count: str, tmp_path: Path) -> None:
    """No number of steps, or the largest int64, as exporters write `while`."""
    nodes = [helper.make_node("Loop", [count, "", "x"], ["last", "rows"], name="only", body=step_graph(True))]
    infos = [helper.make_tensor_value_info(n, DOUBLE, None if n != "x" else [2]) for n in ("x", "last", "rows")]
    largest = numpy_helper.from_array(np.array(2**63 - 1), "count")
    f = function_of(made(helper.make_graph(nodes, "g", infos[:1], infos[1:], [largest] if count else [])), None, "f")
    library = aot.compile([f], tmp_path, name="f", opt_level=3).load()
    for x in (np.array([1.0, 2.0]), np.array([40.0, 20.0])):
        for call in (f.reference, library.f):
            for found, wanted in zip(call(x).values(), looped(True)(99, True, x), strict=True):
                np.testing.assert_allclose(found, wanted, 1e-12)


def test_a_scan_without_rows(tmp_path: Path) -> None:
    """The first states, and nothing beside."""
    node = helper.make_node("Scan", ["s", "a"], ["last", "rows"], num_scan_inputs=1, body=STEP)
    shapes = {"s": [2], "a": ["n", 2], "last": [2], "rows": ["n", 2]}
    infos = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in shapes.items()]
    f = function_of(made(helper.make_graph([node], "g", infos[:2], infos[2:])), None, "f")
    library = aot.compile([f], tmp_path, name="f", opt_level=0).load()
    start = normal(2)
    for rows in (normal(0, 2), normal(3, 2)):
        wanted = [start]
        for row in rows:
            wanted.append(wanted[-1] + row)
        for call in (f.reference, library.f):
            found = call(start, rows)
            np.testing.assert_allclose(found["last"], wanted[-1], 1e-5, 1e-6)
            np.testing.assert_allclose(found["rows"], np.array(wanted[1:]).reshape(-1, 2) * rows, 1e-5, 1e-6)


def branch(name: str, *nodes: Any, tensors: Sequence[Any] = ()) -> Any:
    """A graph with the output y_<name>."""
    return helper.make_graph(
        list(nodes), name, [], [helper.make_tensor_value_info(f"y_{name}", 0, None)], list(tensors)
    )


def chosen(then: Any, otherwise: Any, x: Sequence[Any]) -> Any:
    """y = If(Σ x < 50, …)."""
    nodes = [
        helper.make_node("ReduceSum", ["x"], ["total"], keepdims=0),
        helper.make_node("Less", ["total", "fifty"], ["is_small"]),
        helper.make_node("If", ["is_small"], ["z"], name="my_If", then_branch=then, else_branch=otherwise),
        helper.make_node("Mul", ["z", "z"], ["y"]),
        helper.make_node("ReduceSum", ["y"], ["loss"], keepdims=0),
    ]
    infos = [helper.make_tensor_value_info(n, DOUBLE, s) for n, s in (("x", x), ("loss", []), ("y", None))]
    return made(helper.make_graph(nodes, "g", infos[:1], infos[1:], [FIFTY]))


BOUNDS = [numpy_helper.from_array(ints(1), "one"), numpy_helper.from_array(ints(3), "three")]
CUT = branch("cut", helper.make_node("Slice", ["x", "one", "three"], ["y_cut"]), tensors=BOUNDS)
TWICE = branch("twice", helper.make_node("Concat", ["x", "x"], ["y_twice"], axis=0))


@pytest.mark.parametrize("extent", [4, "n"])
def test_branches_of_different_extents(extent: Any, tmp_path: Path) -> None:
    f = function_of(chosen(CUT, TWICE, [extent]), None, "f", "x")
    for level in (0, 3):
        library = aot.compile([f], tmp_path / str(level), name="f", opt_level=level).load()
        for x in (np.array([1.0, 2.0, 3.0, 4.0]), np.array([10.0, 20.0, 30.0, 40.0])):
            z, slope = (x[1:3], np.array([0, 1, 1, 0]) * 2 * x) if x.sum() < 50 else (np.tile(x, 2), 4 * x)
            for call in (f.reference, library.f):
                found = call(x)
                np.testing.assert_array_equal(found["y"], z * z)
                np.testing.assert_allclose(found["grad_x"], slope)


def test_branches_of_different_ranks_are_refused_unless_the_condition_is_known() -> None:
    """As exporters write `squeeze`: by an axis that has one element, or as it is."""
    axis = numpy_helper.from_array(ints(0), "axis")
    squeezed = branch("squeezed", helper.make_node("Squeeze", ["x", "axis"], ["y_squeezed"]), tensors=[axis])
    kept = branch("kept", helper.make_node("Identity", ["x"], ["y_kept"]))
    with pytest.raises(NoCounterpart) as caught:
        function_of(chosen(squeezed, kept, ["n", 3]), None, "f")
    (found,) = caught.value.operations
    assert "'z' has type float64[3] in then_branch and float64[n, 3] in else_branch; ranks and dtypes" in found.reason
    assert found.place == "node 'my_If', number 3 of graph 'g'"
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Gather", ["s", "zero"], ["n"]),
        helper.make_node("Equal", ["n", "unit"], ["is_one"]),
        helper.make_node("If", ["is_one"], ["y"], then_branch=squeezed, else_branch=kept),
    ]
    tensors = [numpy_helper.from_array(np.array(k), name) for k, name in ((0, "zero"), (1, "unit"))]
    infos = [helper.make_tensor_value_info(n, DOUBLE, s) for n, s in (("x", [1, 3]), ("y", None))]
    f = function_of(made(helper.make_graph(nodes, "g", infos[:1], infos[1:], tensors)), None, "f")
    assert f.outputs["y"].type.shape == (3,)


def growing(count: Any, extent: Any) -> Any:
    body = step_graph(False, helper.make_node("Concat", ["w", "v"], ["grown"], axis=0), state=[extent])
    node = helper.make_node("Loop", ["count", "", "x"], ["y"], body=body, name="my_Loop")
    infos = [helper.make_tensor_value_info(n, DOUBLE, s) for n, s in (("x", [extent]), ("y", None))]
    more = [helper.make_tensor_value_info("count", TensorProto.INT64, [])] if count is None else []
    tensors = [] if count is None else [numpy_helper.from_array(np.array(count), "count")]
    return made(helper.make_graph([node], "g", [*infos[:1], *more], infos[1:], tensors))


@pytest.mark.parametrize("extent", [2, "n"])
def test_states_grow_in_steps_that_are_known_when_the_model_is_read(extent: Any, tmp_path: Path) -> None:
    for count in (0, 1, 3):
        f = function_of(growing(count, extent), None, "f")
        library = aot.compile([f], tmp_path / str(count), name="f", opt_level=3).load()
        v = x = np.array([1.0, -2.0])
        for i in range(count):
            v = np.concatenate([v * (i + 1.5), v])
        for call in (f.reference, library.f):
            np.testing.assert_allclose(call(x)["y"], v, 1e-12)


@pytest.mark.parametrize(("count", "extent"), [(None, 2), (65, 2), (None, "n")])
def test_states_that_grow_are_refused(count: int | None, extent: Any) -> None:
    """Where extents are known when the model is read, else when it runs."""
    model = growing(count, extent)
    if extent == 2:
        reason = (
            r"its state 'v' has type float64\[2\] before a step of body, and float64\[4\] after it; extents may change "
            r"only in a Loop of at most 64 steps, whose number is known.*node 'my_Loop', number 1"
        )
        with pytest.raises(NoCounterpart, match=reason):
            function_of(model, None, "f")
        return
    f = function_of(model, None, "f")
    for call in (f.reference, f):
        with pytest.raises(AotensorError, match="state"):
            call(np.ones(2), np.array(3))


@pytest.mark.parametrize("case", ["whole", "lengths", "backwards"])
def test_scans_of_batches(case: str, tmp_path: Path) -> None:
    """Opset 8: s → s + x·s, and each step gives s·x."""
    nodes = [helper.make_node(*one) for one in (("Mul", ["s", "r"], ["p"]), ("Add", ["s", "p"], ["t"]))]
    body = helper.make_graph(
        nodes, "body", [helper.make_tensor_value_info(n, DOUBLE, [2]) for n in ("s", "r")],
        [helper.make_tensor_value_info(n, DOUBLE, None) for n in ("t", "p")],
    )  # fmt: skip
    options = {"directions": [1]} if case == "backwards" else {}
    node = helper.make_node(
        "Scan", ["k" if case == "lengths" else "", "s0", "x"], ["y", "z"], body=body, num_scan_inputs=1, **options
    )
    shapes = {"s0": ["b", 2], "x": ["b", "n", 2]} | ({"k": ["b"]} if case == "lengths" else {})
    kinds = {"k": TensorProto.INT64}
    infos = [helper.make_tensor_value_info(n, kinds.get(n, DOUBLE), s) for n, s in shapes.items()]
    outputs = [helper.make_tensor_value_info(n, DOUBLE, None) for n in ("y", "z")]
    f = function_of(made(helper.make_graph([node], "g", infos, outputs), 8), None, "f")
    s0, x, lengths = normal(3, 2, dtype="float64"), normal(3, 4, 2, dtype="float64"), np.array([4, 1, 2])
    last, steps = s0.copy(), np.zeros_like(x)
    for b in range(3):
        for i in range(lengths[b] if case == "lengths" else 4):
            steps[b, i] = last[b] * x[b, 3 - i if case == "backwards" else i]
            last[b] += steps[b, i]
    library = aot.compile([f], tmp_path, name="f", opt_level=3).load()
    for call in (f.reference, library.f):
        found = call(s0, x, *([lengths] if case == "lengths" else []))
        np.testing.assert_allclose(found["y"], last, 1e-12)
        np.testing.assert_allclose(found["z"], steps, 1e-12)


@pytest.mark.parametrize(("extent", "is_counted"), [(6, False), ("n", True)])
def test_slices_by_computed_starts(extent: Any, is_counted: bool, tmp_path: Path) -> None:
    """In a loop: the sum of x[2i : 2i + 2] after each step."""
    nodes = [
        helper.make_node("Mul", ["i", "two"], ["start"]),
        helper.make_node("Add", ["start", "two"], ["end"]),
        helper.make_node("Slice", ["x", "start", "end", "zero"], ["part"]),
        helper.make_node("ReduceSum", ["part"], ["total"], keepdims=0),
        helper.make_node("Add", ["v", "total"], ["w"]),
        helper.make_node("Identity", ["go"], ["on"]),
    ]
    given = [("i", TensorProto.INT64, []), ("go", TensorProto.BOOL, []), ("v", DOUBLE, [])]
    gives = [("on", TensorProto.BOOL, []), ("w", DOUBLE, None)]
    infos = [[helper.make_tensor_value_info(*one) for one in part] for part in (given, gives)]
    loop = helper.make_node("Loop", ["count", "", "first"], ["y"], body=helper.make_graph(nodes, "body", *infos))
    inputs = [helper.make_tensor_value_info("x", DOUBLE, [extent])]
    inputs += [helper.make_tensor_value_info("count", TensorProto.INT64, [])] if is_counted else []
    outputs = [helper.make_tensor_value_info("y", DOUBLE, None)]
    tensors = [numpy_helper.from_array(np.array(v), n) for n, v in (("two", [2]), ("zero", [0]), ("first", 0.0))]
    tensors += [] if is_counted else [numpy_helper.from_array(np.array(3), "count")]
    f = function_of(made(helper.make_graph([loop], "g", inputs, outputs, tensors)), None, "f")
    library = aot.compile([f], tmp_path, name="f", opt_level=3).load()
    x = normal(6, dtype="float64")
    for call in (f.reference, library.f):
        found = call(x, *([np.array(3)] if is_counted else []))
        np.testing.assert_allclose(found["y"], x.sum(), 1e-12)


def test_loops_without_an_end_are_refused() -> None:
    node = helper.make_node("Loop", ["", "", "x"], ["y", "rows"], name="my_Loop", body=step_graph(False))
    infos = [helper.make_tensor_value_info(n, DOUBLE, s) for n, s in (("x", [2]), ("y", None))]
    with pytest.raises(NoCounterpart, match=r"it never ends: it has no number of steps.*node 'my_Loop', number 1"):
        function_of(made(helper.make_graph([node], "g", infos[:1], infos[1:])), None, "f")
