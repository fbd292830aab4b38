"""Pools of ONNX with dilations, uneven pads and `ceil_mode`: one window after the other by NumPy, and gradients."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="the extra aotensor[onnx] is not installed")

from onnx import TensorProto, helper, numpy_helper
from onnx_rows import Row, made, normal
from onnx_slopes import assert_values_and_slopes, evaluated

import aotensor as aot
from aotensor.errors import AotensorError
from aotensor.importers.onnx.functions import function_of

FORMS: dict[str, tuple[str, tuple[int, ...], dict[str, Any]]] = {
    "a window behind the end": ("MaxPool", (1, 2, 6), {"kernel_shape": [3], "strides": [2], "ceil_mode": 1}),
    "no window in the right pads": (
        "MaxPool", (1, 1, 3, 4), {"kernel_shape": [1, 2], "strides": [2, 3], "pads": [0, 0, 0, 1], "ceil_mode": 1},
    ),
    "larger than the tensor": ("MaxPool", (1, 1, 2), {"kernel_shape": [3], "strides": [2], "ceil_mode": 1}),
    "dilations": ("MaxPool", (1, 2, 8, 7), {"kernel_shape": [3, 2], "dilations": [2, 3], "pads": [1, 0, 2, 1]}),
    "all at once": (
        "MaxPool", (1, 2, 8, 7),
        {"kernel_shape": [2, 3], "strides": [3, 2], "dilations": [3, 2], "pads": [1, 2, 0, 1], "ceil_mode": 1},
    ),
    "three axes": ("MaxPool", (1, 1, 4, 5, 5), {"kernel_shape": [2, 2, 3], "strides": [3, 2, 2], "ceil_mode": 1}),
    "means": ("AveragePool", (1, 2, 6, 8), {"kernel_shape": [3, 3], "strides": [2, 3], "ceil_mode": 1}),
    "means of pads": (
        "AveragePool", (1, 1, 7, 6),
        {"kernel_shape": [3, 2], "strides": [3, 3], "pads": [1, 0, 1, 1], "ceil_mode": 1, "count_include_pad": 1},
    ),
    "means with dilations": (
        "AveragePool", (1, 1, 8, 9),
        {"kernel_shape": [2, 3], "dilations": [3, 2], "strides": [2, 1], "pads": [2, 1, 0, 3], "ceil_mode": 1},
    ),
    "means with dilations, of pads": (
        "AveragePool", (1, 1, 9), {"kernel_shape": [3], "dilations": [2], "pads": [2, 1], "count_include_pad": 1},
    ),
    "norms": (
        "LpPool", (1, 2, 6, 5), {"kernel_shape": [3, 2], "strides": [2, 2], "pads": [1, 0, 1, 1], "ceil_mode": 1},
    ),
    "norms of another power": ("LpPool", (1, 1, 7), {"kernel_shape": [2], "dilations": [3], "p": 3}),
    "sums of absolute values": ("LpPool", (1, 1, 7), {"kernel_shape": [3], "strides": [3], "p": 1, "ceil_mode": 1}),
}  # fmt: skip


def one_by_one(op: str, options: dict[str, Any]) -> Callable[[Any], Any]:
    """The windows one after the other: those that begin in the right pads, or behind, are none."""
    sizes = options["kernel_shape"]
    rank = len(sizes)
    strides, dilations = (options.get(name, [1] * rank) for name in ("strides", "dilations"))
    pads = options.get("pads", [0] * 2 * rank)

    def starts(axis: int, extent: int) -> list[int]:
        room = extent + pads[axis] + pads[axis + rank] - (sizes[axis] - 1) * dilations[axis] - 1
        last = -(-room // strides[axis]) if options.get("ceil_mode") else room // strides[axis]
        found = [k * strides[axis] - pads[axis] for k in range(last + 1)]
        return [start for start in found if start < extent] if options.get("ceil_mode") else found

    def pooled(x: Any) -> Any:
        every = [starts(axis, extent) for axis, extent in enumerate(x.shape[2:])]
        result = np.zeros((*x.shape[:2], *map(len, every)))
        for place in np.ndindex(result.shape):
            values, padded = [], 0
            for offset in np.ndindex(*sizes):
                at = [e[p] + o * d for e, p, o, d in zip(every, place[2:], offset, dilations, strict=True)]
                if all(0 <= i < n for i, n in zip(at, x.shape[2:], strict=True)):
                    values.append(x[(*place[:2], *at)])
                padded += all(i < n + pads[k + rank] for k, (i, n) in enumerate(zip(at, x.shape[2:], strict=True)))
            if op == "MaxPool":
                result[place] = max(values)
            elif op == "AveragePool":
                result[place] = sum(values) / (padded if options.get("count_include_pad") else len(values))
            else:
                power = options.get("p", 2)
                result[place] = sum(abs(v) ** power for v in values) ** (1 / power)
        return result

    return pooled


@pytest.mark.parametrize("name", FORMS)
def test_values_and_gradients(name: str, tmp_path: Path) -> None:
    op, extents, options = FORMS[name]
    row = Row(op, [normal(*extents, dtype="float64")], (), options)
    assert_values_and_slopes(row, tmp_path, one_by_one(op, options), (0,) if "of" in name else (3,))


@pytest.mark.parametrize("name", ["a window behind the end", "dilations", "all at once", "means", "norms"])
def test_the_evaluator_of_the_package_agrees(name: str) -> None:
    """Where it can: it moves windows that reach far behind the end, and scales norms beside pads."""
    op, extents, options = FORMS[name]
    options = options | ({"pads": [0, 0, 0, 0], "ceil_mode": 0} if op == "LpPool" else {})
    x = normal(*extents, dtype="float64")
    np.testing.assert_allclose(one_by_one(op, options)(x), evaluated(Row(op, [x], (), options))(x), 1e-12)


PLACED: dict[str, tuple[tuple[int, ...], dict[str, Any]]] = {
    **{name: FORMS[name][1:] for name in ("a window behind the end", "dilations", "all at once", "three axes")},
    "columns first": (
        (2, 2, 5, 6),
        {"kernel_shape": [2, 3], "strides": [2, 1], "pads": [1, 1, 0, 1], "storage_order": 1},
    ),
}


@pytest.mark.parametrize("name", PLACED)
def test_places_of_maxima_are_those_of_the_first_of_equal_elements(name: str, tmp_path: Path) -> None:
    extents, options = PLACED[name]
    x = np.random.default_rng(5).integers(-2, 2, extents).astype("float64")
    x[(0,) * x.ndim] = np.inf * -1
    f = function_of(Row("MaxPool", [x], (), options, 2).model("g"), None, "f")
    library = aot.compile([f], tmp_path, name="f", opt_level=3).load()
    spatial = extents[2:]
    order = range(len(spatial)) if not options.get("storage_order") else range(len(spatial))[::-1]
    numbers = np.arange(np.prod(spatial)).reshape([spatial[d] for d in order]).transpose(list(order))
    for call in (f.reference, library.f):
        y, places = call(x).values()
        np.testing.assert_array_equal(y, one_by_one("MaxPool", options)(x))
        inverse = np.argsort(numbers.ravel())
        for place in np.ndindex(y.shape):
            plane, rest = divmod(int(places[place]), int(np.prod(spatial)))
            assert plane == place[0] * extents[1] + place[1]
            assert x[(*place[:2], *np.unravel_index(inverse[rest], spatial))] == y[place]
    assert_same_as_the_evaluator(name, x, options, places)


def assert_same_as_the_evaluator(name: str, x: Any, options: dict[str, Any], places: Any) -> None:
    """Where it has them right: it counts other axes for columns, and reads beyond the end."""
    if name in ("dilations", "three axes"):
        np.testing.assert_array_equal(evaluated(Row("MaxPool", [x], (), options, 2))(x)[1], places)


def test_elements_go_back_to_their_places(tmp_path: Path) -> None:
    x, options = normal(2, 2, 4, 6, dtype="float64"), {"kernel_shape": [2, 2], "strides": [2, 2]}
    nodes = [
        helper.make_node("MaxPool", ["x"], ["m", "i"], **options),
        helper.make_node("MaxUnpool", ["m", "i"], ["y"], **options),
        helper.make_node("MaxUnpool", ["m", "i", "larger"], ["z"], **options),
    ]
    infos = [
        helper.make_tensor_value_info(n, TensorProto.DOUBLE, s) for n, s in (("x", x.shape), ("y", None), ("z", None))
    ]
    larger = numpy_helper.from_array(np.array([2, 2, 5, 7]), "larger")
    f = function_of(made(helper.make_graph(nodes, "g", infos[:1], infos[1:], [larger])), None, "f")
    tops = x.reshape(2, 2, 2, 2, 3, 2).max((3, 5))
    wanted = np.where(x == tops.repeat(2, 2).repeat(2, 3), x, 0)
    library = aot.compile([f], tmp_path, name="f", opt_level=3).load()
    for call in (f.reference, library.f):
        found = call(x)
        np.testing.assert_array_equal(found["y"], wanted)
        np.testing.assert_array_equal(found["z"], np.pad(wanted, [(0, 0), (0, 0), (0, 1), (0, 1)]))


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool", "LpPool"])
def test_extents_that_are_known_when_it_runs(op: str, tmp_path: Path) -> None:
    options = {"kernel_shape": [3, 2], "strides": [3, 2], "pads": [1, 0, 1, 1], "ceil_mode": 1}
    node = helper.make_node(op, ["x"], ["y"], **options)
    infos = [helper.make_tensor_value_info(n, TensorProto.DOUBLE, [1, 1, "h", "w"]) for n in ("x", "y")]
    f = function_of(made(helper.make_graph([node], "g", [infos[0]], [infos[1]])), None, "f")
    library = aot.compile([f], tmp_path, name="f", opt_level=3).load()
    for h, w in ((2, 3), (5, 4), (7, 7), (3, 6)):
        x = normal(1, 1, h, w, dtype="float64")
        for call in (f.reference, library.f):
            np.testing.assert_allclose(call(x)["y"], one_by_one(op, options)(x), 1e-12)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "float16"])
def test_maxima_of_narrow_numbers(dtype: str, tmp_path: Path) -> None:
    x = np.random.default_rng(2).integers(-100, 100, (1, 1, 5, 5)).astype(dtype)
    options = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 0, 0, 1], "ceil_mode": 1}
    f = function_of(Row("MaxPool", [x], (), options).model("g"), None, "f")
    library = aot.compile([f], tmp_path, name="f", opt_level=0).load()
    for call in (f.reference, library.f):
        found = call(x)["y0"]
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, one_by_one("MaxPool", options)(x.astype("float64")))


def test_the_norm_of_zeros_has_the_derivative_0(tmp_path: Path) -> None:
    row = Row("LpPool", [np.zeros((1, 1, 4))], (), {"kernel_shape": [2]})
    assert_values_and_slopes(row, tmp_path, lambda x: x[..., :3] * 0, (0,))


@pytest.mark.parametrize(
    ("op", "options", "message"),
    [
        (
            "MaxPool",
            {"kernel_shape": [9]},
            r"its window of 9 elements is larger than its axis of 4 elements and 0 pads",
        ),
        ("MaxPool", {"kernel_shape": [2], "dilations": [0]}, r"attribute dilations is \[0\]"),
        ("LpPool", {"kernel_shape": [2], "p": 0}, "its p is 0, not a positive number"),
    ],
)
def test_what_is_no_pool_is_refused(op: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(AotensorError, match=message + ".*node 'only', number 1"):
        function_of(Row(op, [normal(1, 1, 4)], (), options).model("g"), None, "g")
