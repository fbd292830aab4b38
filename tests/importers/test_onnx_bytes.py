"""Products of bytes in ONNX models: sums that are known to be small are made in float32, others in float64."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="the extra aotensor[onnx] is not installed")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from onnx_rows import made  # noqa: E402

import aotensor as aot  # noqa: E402
from aotensor.importers.onnx.functions import function_of  # noqa: E402

TERMS: Final = 299
"""255²·299 is odd and above 2^24: float32 does not have it."""

RNG: Final = np.random.default_rng(0)
LARGE: Final = np.full((TERMS, 4), 255, "uint8")
SMALL: Final = RNG.integers(-3, 4, (TERMS, 4)).astype("int8")


def _product(
    name: str, op: str, weights: Any, zero: Any, shape: tuple[int, ...], is_known: bool = True
) -> aot.Function:
    """A product of bytes `x` with weights minus their zero point, which are an input if they are not known."""
    kind = helper.np_dtype_to_tensor_dtype(weights.dtype)
    inputs = [helper.make_tensor_value_info("x", TensorProto.UINT8, shape)]
    tensors = {"x0": np.uint8(0), "w0": zero}
    if is_known:
        tensors["w"] = weights
    else:
        inputs.append(helper.make_tensor_value_info("w", kind, weights.shape))
    node = helper.make_node(op, ["x", "w", "x0", "w0"], ["y"])
    output = helper.make_tensor_value_info("y", TensorProto.INT32, None)
    known = [numpy_helper.from_array(value, key) for key, value in tensors.items()]
    return function_of(made(helper.make_graph([node], name, inputs, [output], known)), None, name)


def _wanted(x: Any, weights: Any, zero: Any) -> Any:
    return (x.astype("int64") @ (weights.astype("int64") - zero.astype("int64"))).astype("int32")


def test_products_are_exact_in_the_dtype_that_their_weights_need(tmp_path: Path) -> None:
    x = np.concatenate([np.full((1, TERMS), 255, "uint8"), RNG.integers(0, 256, (2, TERMS)).astype("uint8")])
    none, some = np.uint8(0), np.arange(4).astype("int8") - 100
    cases = {
        "small": (SMALL, np.int8(0), True, "float32"),
        "large": (LARGE, none, True, "float64"),
        "moved": (SMALL, some, True, "float32"),
        "far": (np.full((TERMS, 4), -128, "int8"), np.array([127, 0, 0, 0], "int8"), True, "float64"),
        "unknown": (SMALL, np.int8(0), False, "float64"),
    }
    functions = [
        _product(name, "MatMulInteger", w, zero, x.shape, known) for name, (w, zero, known, _) in cases.items()
    ]
    library = aot.compile(functions, tmp_path, name="bytes", opt_level=1).load()
    for f, (name, (weights, zero, is_known, dtype)) in zip(functions, cases.items(), strict=True):
        wanted = _wanted(x, weights, zero)
        for run in (f.reference, library[name]):
            [found] = run(*([x] if is_known else [x, weights])).values()
            np.testing.assert_array_equal(found, wanted, err_msg=name)
            assert found.dtype == np.int32
        assert ("float64" in f.ir("graph")) == (dtype == "float64"), name
    assert int(np.float32(255**2 * TERMS)) != 255**2 * TERMS == int(_wanted(x, LARGE, none)[0, 0])


def test_convolutions_are_exact_in_the_dtype_that_their_filters_need(tmp_path: Path) -> None:
    """Zero points are those of filters; the sum over channels and windows decides."""
    x = RNG.integers(0, 256, (1, TERMS, 2, 3)).astype("uint8")
    x[0, :, 0, 0] = 255
    zeros = np.array([0, 1, 0, 2], "uint8")
    wide = {"small": (SMALL + 3).astype("uint8"), "large": LARGE}
    functions = [
        _product(name, "ConvInteger", np.ascontiguousarray(w.T)[:, :, None, None], zeros, x.shape)
        for name, w in wide.items()
    ]
    library = aot.compile(functions, tmp_path, name="filters", opt_level=1).load()
    for f, (name, weights) in zip(functions, wide.items(), strict=True):
        wanted = _wanted(np.moveaxis(x[0], 0, -1), weights, zeros)
        for run in (f.reference, library[name]):
            [found] = run(x).values()
            np.testing.assert_array_equal(np.moveaxis(found[0], 0, -1), wanted, err_msg=name)
        assert ("float64" in f.ir("graph")) == (name == "large"), name
