"""What remarks call values: as users write them, in all examples and benchmarks; no op has a name of its own there."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cases import CASES, SPARSE_CASES

import aotensor as aot
from aotensor.driver.recipe import Options, lower
from aotensor.graph.op import Op
from aotensor.graph.passes.remarks import Remark
from aotensor.graph.public import OPERATORS

ALL = CASES | SPARSE_CASES
SMALL = 0.01
DOORS = {"from_jax": "jax", "from_onnx": "onnx", "eight_schools": "pymc"}
"""Examples that need another framework."""
WITHOUT = ("out_of_core", "logistic_with_mpi", "posteriors", "pymc_models")
"""Examples that have no function at the top level."""
EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))
EXAMPLES = [path for path in EXAMPLES if path.stem not in WITHOUT]
PACKAGES = (
    "aotensor",
    "aotensor.gradient",
    "aotensor.tensor",
    "aotensor.sparse",
    "aotensor.tensor.integrate",
    "aotensor.tensor.linalg",
    "aotensor.tensor.optimize",
    "aotensor.tensor.random",
)
NUMPY = {"add", "nan", "inf", "searchsorted", "union1d"}
"""Words of NumPy that the package has under no name of its own."""


def public() -> set[str]:
    return NUMPY.union(*(dir(importlib.import_module(name)) for name in PACKAGES))


def remarks_of(f: aot.Function) -> list[Remark]:
    return lower([f], Options(), texts=()).remarks


def wrong_words(text: str) -> Iterator[str]:
    """What in an expression is no Python, or calls what users cannot call."""
    text = re.sub(r"\b\d+\.(?=[a-z])", "layer.", text)  # parameters as torch names them: 3.bias
    try:
        tree = ast.parse(text, mode="eval")
    except SyntaxError:
        yield text
        return
    known = public()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id not in known:
            yield node.func.id


def check(remarks: list[Remark]) -> None:
    assert remarks
    for x in remarks:
        assert not re.search(r"[{}]|<\w", x.message), x
        assert not re.search(r"[a-z]\.\d|%\w|dimshuffle|_name_", x.message), x
        for text in [*re.findall(r"`([^`]*)`", x.message), *([x.value] if x.value not in _NOTHING else [])]:
            assert text != "..." and list(wrong_words(text)) == [], x


_NOTHING = ("", "a value", "what is made")


@pytest.mark.parametrize("name", ALL)
def test_benchmarks(name: str) -> None:
    for package in PACKAGES:
        importlib.import_module(package)
    check(remarks_of(ALL[name].make(SMALL).aotensor(aot)))


@pytest.mark.parametrize("path", EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_examples(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if path.stem in DOORS:
        pytest.importorskip(DOORS[path.stem], reason=f"{DOORS[path.stem]} is not installed")
    name = f"example_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)  # where data classes look for it
    spec.loader.exec_module(module)
    functions = [x for x in vars(module).values() if isinstance(x, aot.Function)]
    assert functions
    for f in functions:
        check(remarks_of(f))


_PARAMETERS = {"cast": ("float64",), "bitcast": ("int64",), "hyp2f1": (0, 0, 0, 1)}
_PARAMETERS |= dict.fromkeys(("beta", "betainc", "beta_density", "poch"), (0, 1))
"""Of ops with parameters; the others take an order."""


def notations() -> dict[str, str]:
    """The notation of every op by its name, but of those that have a name for each value of their parameters."""
    from aotensor.ops.elementwise.base import _KNOWN, MAKERS

    kinds, pending = set[type[Any]](), [Op]
    while pending:
        for kind in pending.pop().__subclasses__():
            if kind not in kinds and kind.__module__.startswith("aotensor.") and "sampling" not in kind.__module__:
                kinds.add(kind)
                pending.append(kind)
    assert len(kinds) > 100
    named = [kind for kind in kinds if isinstance(kind.name, str) and isinstance(kind.notation, str)]
    concrete = [kind for kind in named if not kind.__subclasses__()]
    scalar = [op for op in _KNOWN.values() if op.row.emit.__module__.startswith("aotensor.")]
    scalar += [make(*_PARAMETERS.get(name, (2,))) for name, make in MAKERS.items()]
    return {op.name: op.notation for op in [*concrete, *scalar]}


def test_every_op_that_users_cannot_call_has_a_notation() -> None:
    """Also those that no example has."""
    from aotensor.graph.expression import _Writer

    known = public() | {"fused", "sqr", "int_pow", "kernel"}
    missing = {
        name
        for name, text in notations().items()
        if not text and name not in known and not hasattr(_Writer, f"_{name}")
    }
    assert sorted(missing) == []


def test_notations_are_what_users_can_call() -> None:
    known = public()
    for text in notations().values():
        if text and text not in OPERATORS and text != "~":
            filled = text.format(*"xyzuvw") if "{" in text else f"{text}(x)"
            assert list(wrong_words(filled)) == [], text
            assert "{" in text or text in known


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_whole_powers_are_written_as_powers(dtype: str) -> None:
    from aotensor.graph.expression import expression_of
    from aotensor.ops.elementwise.base import known_elementwise

    x = aot.tensor.tensor("x", dtype, (3,))
    cube = known_elementwise("int_pow", (("exponent", 3),))
    assert expression_of(cube(x)) == "x**3"
    assert expression_of(cube(-x)) == "(-x)**3"
    assert expression_of(aot.tensor.sqr(x) + 1) == "x**2 + 1.0"
