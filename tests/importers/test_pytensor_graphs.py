"""Graphs of PyTensor by our door and in our mode, beside PyTensor's own evaluation, node by node in Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pytest

pytensor = pytest.importorskip("pytensor", reason="no PyTensor: pip install 'aotensor[pytensor]'")

import pytensor_graphs as cases  # noqa: E402
from pytensor.compile.mode import Mode  # noqa: E402

import aotensor as aot  # noqa: E402
from aotensor.importers.pytensor import from_pytensor, function  # noqa: E402

pytensor.config.mode = "FAST_COMPILE"  # that of inner functions, which PyTensor would compile with a C compiler
pytestmark = pytest.mark.filterwarnings("default")
ROUGH: Final = {"gammainc by k": 1e-6}
"""Relative tolerance where PyTensor's graph has float32 in it."""
SIZES: Final = {"elementwise": (5, 1, 0), "special_functions": (5, 1, 0), "shapes": (4, 1, 0)}


def references(inputs: Sequence[Any], outputs: Sequence[Any]) -> Any:
    """PyTensor's function, nothing rewritten, nothing compiled."""
    return pytensor.function(inputs, outputs, mode=Mode("py", None), on_unused_input="ignore")


def compare(family: str, outputs: dict[str, Any], found: Sequence[Any], expected: Sequence[Any], dtype: str) -> None:
    """Shapes, dtypes, and values to the precision of the dtype."""
    wrong = []
    for name, ours, theirs in zip(outputs, found, expected, strict=True):
        theirs = np.asarray(theirs)
        tolerance = ROUGH.get(name, 1e-12 if dtype == "float64" else 1e-5) * 8
        same = ours.shape == theirs.shape and ours.dtype == theirs.dtype
        if not same or not np.allclose(ours, theirs, rtol=tolerance, atol=tolerance, equal_nan=True):
            wrong.append((name, ours, theirs))
    assert wrong == [], family


def sizes_of(family: str) -> tuple[int, ...]:
    return SIZES.get(family, (4, 2))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("family", cases.FAMILIES)
def test_graphs_that_users_write(family: str, dtype: str) -> None:
    """As they are, without PyTensor's rewrites; one library serves all sizes."""
    rng = np.random.default_rng(1)
    inputs = cases.symbols(cases.values(family, 3, dtype, rng))
    outputs = cases.FAMILIES[family](*inputs)
    f = function(inputs, list(outputs.values()), on_unused_input="ignore")
    reference = references(inputs, list(outputs.values()))
    for n in sizes_of(family):
        arguments = cases.values(family, n, dtype, rng)
        with np.errstate(all="ignore"):
            compare(family, outputs, f(*arguments), reference(*arguments), dtype)


@pytest.mark.parametrize("family", cases.FAMILIES)
def test_the_mode(family: str) -> None:
    """Behind PyTensor's rewrites."""
    rng = np.random.default_rng(2)
    inputs = cases.symbols(cases.values(family, 3, "float64", rng))
    outputs = cases.FAMILIES[family](*inputs)
    f = pytensor.function(inputs, list(outputs.values()), mode="AOTENSOR", on_unused_input="ignore")
    reference = references(inputs, list(outputs.values()))
    for n in sizes_of(family):
        arguments = cases.values(family, n, "float64", rng)
        with np.errstate(all="ignore"):
            compare(family, outputs, f(*arguments), reference(*arguments), "float64")


def test_reductions_that_pytensor_has_fused() -> None:
    """`CAReduce` of a Composite, as in the graph of a compiled function."""
    from pytensor.graph.fg import FunctionGraph
    from pytensor.graph.rewriting.basic import out2in
    from pytensor.tensor.rewriting.elemwise import local_careduce_fusion

    x, k = pytensor.tensor.matrix("x"), pytensor.tensor.imatrix("k")
    outputs = [pytensor.tensor.exp(x).sum(axis=1), pytensor.tensor.sqr(k).sum(axis=0), (-x).max(axis=0)]
    graph = FunctionGraph([x, k], outputs, clone=True)
    out2in(local_careduce_fusion).rewrite(graph)
    assert "Composite" in str(graph.outputs[0].owner.op)
    inputs, (first, *rest) = from_pytensor(graph.inputs, graph.outputs)
    f = aot.function(inputs, [first, *rest, aot.grad(first.sum(), inputs[0])], name="f")
    v, n = np.arange(6.0).reshape(2, 3), np.arange(6, dtype="int32").reshape(2, 3)
    expected = [np.exp(v).sum(1), (n**2).sum(0), (-v).max(0), np.exp(v)]
    for found, wanted in zip(f(v, n), expected, strict=True):
        np.testing.assert_allclose(found, wanted)
