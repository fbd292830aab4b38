"""Functions under the names of methods, operators and NumPy's functions that they are registered with."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import aotensor.tensor as at
from aotensor.graph import operations
from aotensor.graph.methods.registered import RegisteredMethods
from aotensor.graph.public import METHODS, NUMPY, OPERATORS, public
from aotensor.graph.variable import Variable

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def unregistered() -> Iterator[None]:
    """Remove what a test registers."""
    methods, numpy = set(METHODS), set(NUMPY)
    yield
    for name in set(METHODS) - methods:
        del METHODS[name]
        delattr(RegisteredMethods, name)
    for name in set(NUMPY) - numpy:
        del NUMPY[name]


def test_the_stub_has_every_method(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(DOCS)
    method_stub = importlib.import_module("method_stub")
    assert method_stub.STUB.read_text(encoding="utf-8") == method_stub.text(), "run python docs/build.py"


@pytest.mark.usefixtures("unregistered")
def test_one_declaration_gives_a_method_and_a_function_of_numpy() -> None:
    @public(numpy="heaviside", method="step_to")
    def step(x: Any, at_zero: Any = 0.5) -> Variable:
        return at.switch(at.eq(x, 0), at_zero, at.gt(x, 0) * 1.0)

    x: Any = at.vector("x")
    values = np.array([-2.0, 0.0, 3.0])
    for y in (x.step_to(0.25), x.step_to(at_zero=0.25), np.heaviside(x, 0.25)):
        assert y.eval({x: values}).tolist() == np.heaviside(values, 0.25).tolist()


@pytest.mark.parametrize("symbol", OPERATORS)
def test_operators_call_what_numpy_calls(symbol: str) -> None:
    x, y = at.lvector("x"), at.lvector("y")
    a, b = np.array([7, 2, 3]), np.array([2, 2, 1])
    expected = eval(f"a {symbol} b", {}, {"a": a, "b": b}).tolist()
    assert eval(f"x {symbol} y", {}, {"x": x, "y": y}).eval({x: a, y: b}).tolist() == expected
    assert eval(f"x {symbol} y", {}, {"x": x, "y": b}).eval({x: a}).tolist() == expected
    assert eval(f"x {symbol} y", {}, {"x": a, "y": y}).eval({y: b}).tolist() == expected


def test_a_module_that_no_layer_calls_is_an_error() -> None:
    with pytest.raises(KeyError, match="unknown"):
        operations.fill(unknown=np)
