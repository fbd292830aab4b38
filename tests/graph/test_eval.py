"""eval: values of leaves by variable and by name; what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import aotensor as aot
import aotensor.tensor as at
from aotensor.errors import MissingInputError
from aotensor.graph.op import Op

X, Y = at.dscalars("x", "y")


@pytest.mark.shows("tensor/10-eval")
def test_values_by_variable_and_by_name() -> None:
    z = X - 2 * Y
    assert z.eval({X: 5.0, Y: 1.0}) == 3.0
    assert z.eval({"x": 5.0, "y": 1.0}) == 3.0
    assert z.eval({"x": 5.0, Y: 1.0}) == 3.0
    assert X.eval({X: 2.0}) == X.eval({"x": 2.0}) == 2.0
    assert at.constant(3.0).eval() == 3.0
    assert (aot.shared(4.0) * 2).eval() == 8.0


@pytest.mark.shows("tensor/10-eval")
def test_intermediate_variables_may_be_given() -> None:
    u = X * 2
    assert (u + Y).eval({u: 1.0, Y: 1.0}) == 2.0


def test_each_node_is_computed_once() -> None:
    calls: list[float] = []

    class Note(Op):
        def infer_type(self, x: at.TensorType) -> at.TensorType:
            return x

        def reference(self, x: float) -> float:
            calls.append(x)
            return x

    y = Note()(X)
    assert (y * y + y).eval({X: 2.0}) == 6.0
    assert len(calls) == 1


def test_what_is_refused() -> None:
    with pytest.raises(MissingInputError, match="no value is given for y"):
        (X + Y).eval({X: 1.0})
    with pytest.raises(ValueError, match=r"0 inputs of x \+ y have the name z"):
        (X + Y).eval({"z": 1.0})
    with pytest.raises(ValueError, match=r"2 inputs of x \+ x have the name x"):
        (X + at.dscalar("x")).eval({"x": 1.0})
    with pytest.raises(TypeError, match="x: expected rank 0"):
        X.eval({X: np.zeros(2)})
