"""Operators of ONNX that sum or square, on float16 and bfloat16: as `onnx` evaluates them on float32."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="the extra aotensor[onnx] is not installed")

from onnx.reference import ReferenceEvaluator
from onnx_rows import Row, ints

import aotensor as aot
from aotensor.importers.onnx.functions import function_of

RNG = np.random.default_rng(11)


def hundreds(*shape: int, size: float = 300.0) -> np.ndarray[Any, Any]:
    """Numbers whose squares are beyond float16."""
    return (size * (1.5 + RNG.normal(size=shape))).astype("float16")


def small(*shape: int) -> np.ndarray[Any, Any]:
    return RNG.normal(size=shape).astype("float16")


X = hundreds(3, 4, 6)
IMAGE = hundreds(2, 4, 5, 5)
ROWS = [
    Row("LayerNormalization", [X, small(6), small(6)], attributes={"axis": -1}, outputs=1),
    Row("LayerNormalization", [X, small(4, 6)], attributes={"axis": 1}),
    Row("InstanceNormalization", [IMAGE, small(4), small(4)]),
    Row("GroupNormalization", [IMAGE, small(2), small(2)], attributes={"num_groups": 2}),
    Row("BatchNormalization", [IMAGE, small(4), small(4), hundreds(4), abs(hundreds(4))]),
    Row(
        "BatchNormalization",
        [IMAGE, small(4), small(4), hundreds(4), abs(hundreds(4))],
        attributes={"training_mode": 1},
        outputs=2,
    ),
    Row("LpNormalization", [X], attributes={"axis": 2, "p": 2}),
    Row("LpNormalization", [abs(hundreds(2, 300))], attributes={"axis": 1, "p": 1}),
    Row("MeanVarianceNormalization", [IMAGE]),
    Row("LRN", [hundreds(4, 4, 3, 3)], attributes={"size": 3}),
    *(Row(name, [X], [ints(2)]) for name in ("ReduceL1", "ReduceL2", "ReduceSum", "ReduceMean", "ReduceLogSumExp")),
    Row("ReduceL2", [X]),
    Row("ReduceLogSum", [abs(hundreds(2, 300))], [ints(1)]),
    Row("ReduceSumSquare", [hundreds(2, 4, size=60)], [ints(1)]),
    Row("AveragePool", [hundreds(1, 2, 6, 6, size=9000)], attributes={"kernel_shape": [3, 3], "pads": [1, 0, 1, 1]}),
    Row("GlobalAveragePool", [hundreds(1, 2, 9, 9, size=9000)]),
    Row("Softmax", [hundreds(3, 4, size=10)], attributes={"axis": 1}),
    Row("LogSoftmax", [hundreds(3, 4, size=10)], attributes={"axis": 1}),
    Row("SoftmaxCrossEntropyLoss", [hundreds(5, 4, size=10), RNG.integers(0, 4, 5)], attributes={"reduction": "mean"}),
]

FLOAT16_ONLY = ("InstanceNormalization", "GroupNormalization", "LpNormalization", "AveragePool", "GlobalAveragePool")
"""Operators that do not accept bfloat16 in this version of the standard."""


def wide(x: Any) -> Any:
    return x.astype("float32") if x.dtype.itemsize == 2 else x


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_sums_are_taken_in_float32(dtype: str, tmp_path: Path) -> None:
    is_half = dtype == "float16"
    kind = np.dtype(dtype if is_half else pytest.importorskip("ml_dtypes").bfloat16)
    chosen = [row for row in ROWS if is_half or row.op not in FLOAT16_ONLY]
    rows = [replace(row, inputs=[x.astype(kind) if x.dtype.itemsize == 2 else x for x in row.inputs]) for row in chosen]
    functions = [function_of(row.model(f"f{i}"), None, f"f{i}") for i, row in enumerate(rows)]
    library = aot.compile(functions, tmp_path, name="rows", opt_level=1).load()
    unit = 2.0**-10 if is_half else 2.0**-7
    wrong = []
    for i, (row, f) in enumerate(zip(rows, functions, strict=True)):
        values = list(map(wide, row.inputs))
        model = replace(row, inputs=values).model("wide")
        with np.errstate(all="ignore"):
            wanted = ReferenceEvaluator(model).run(None, {f"x{k}": x for k, x in enumerate(values)})
        for call in (f.reference, library[f"f{i}"]):
            for found, exact in zip(call(*row.inputs).values(), wanted, strict=True):
                assert found.dtype == kind
                if not np.allclose(wide(found), exact, rtol=2 * unit, atol=unit * 1e-2):
                    worst = np.argmax(abs(wide(found) - exact))
                    wrong.append((row.op, float(np.ravel(wide(found))[worst]), float(np.ravel(exact)[worst])))
    assert not wrong, "\n".join(map(str, wrong))
