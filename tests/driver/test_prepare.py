"""What happens to a graph before the import: composites give way to what they are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import aotensor as aot
import aotensor.tensor as at
from aotensor.core.types import TensorType
from aotensor.driver.prepare import prepare
from aotensor.gradient import grad, grad_clip, jacobian
from aotensor.graph.op import Op
from aotensor.graph.subgraph import all_nodes, is_dual
from aotensor.graph.variable import Variable
from aotensor.graph.walk import toposort


@dataclass(frozen=True)
class Softsign(Op):
    """x / (1 + |x|), said by other ops."""

    name: ClassVar[str] = "softsign"

    def infer_type(self, x: TensorType) -> TensorType:
        return x

    def reference(self, x: Any) -> Any:
        return x / (1 + np.abs(x))

    def expand(self, inputs: Any) -> Any:
        return [inputs[0] / (1 + at.abs(inputs[0]))]


@dataclass(frozen=True)
class Twice(Op):
    """softsign of softsign, and x."""

    name: ClassVar[str] = "twice"

    def infer_type(self, x: TensorType) -> tuple[TensorType, ...]:
        return x, x

    def reference(self, x: Any) -> Any:
        once = x / (1 + np.abs(x))
        return once / (1 + np.abs(once)), x

    def expand(self, inputs: Any) -> Any:
        return [Softsign()(Softsign()(inputs[0])), inputs[0]]


@dataclass(frozen=True)
class Wrong(Softsign):
    """Says another type than it expands to."""

    def infer_type(self, x: TensorType) -> TensorType:
        return TensorType("float32", x.shape)


X, S, T = at.dvector("x"), at.dscalar("s"), at.dscalar("t")
VALUES = np.array([-3.0, 0.0, 0.5])


def names(*outputs: Variable) -> set[str]:
    return {node.op.name for node in toposort(outputs)}


def test_composites_are_expanded_also_inside_each_other() -> None:
    first, second = Twice()(X)
    found = prepare([first + 1, second, X], [X])
    assert not {"softsign", "twice"} & names(*found)
    assert found[1:] == [X, X]
    np.testing.assert_array_equal(found[0].eval({X: VALUES}), (first + 1).eval({X: VALUES}))


def test_nothing_is_touched_behind_an_input() -> None:
    y = Softsign()(X)
    (found,) = prepare([y * 2], [y])
    assert names(found) == {"mul", "softsign"}


def test_a_graph_without_composites_is_the_same() -> None:
    y = at.exp(X)
    assert prepare([y], [X]) == [y]


def test_new_nodes_keep_the_line_of_what_they_replace() -> None:
    y = Softsign()(X)
    z = y.sum()
    (found,) = prepare([z], [X])
    assert {str(node.outputs[0].site) for node in toposort([found])} == {str(y.site), str(z.site)}


def test_an_expansion_has_the_type_that_the_op_says() -> None:
    with pytest.raises(ValueError, match=r"softsign: expand returned float64\[\?\] instead of float32\[\?\]"):
        prepare([Wrong()(X)], [X])


def test_composites_in_loops_are_expanded() -> None:
    marked = aot.OpFromGraph([S, T], [at.tanh(S * T)], name="cell", pullback=lambda i, o, g: [10 * g[0], g[0]])
    rows = aot.scan(lambda x, state: Softsign()(marked(x, state)), sequences=[X], outputs_info=[at.constant(1.0)])[0]
    expressions = [rows, grad(rows[-1], X)]
    for y in prepare(expressions, [X]):
        kinds = {type(node.op) for node in all_nodes([y])}
        assert not kinds & {Softsign, Twice, aot.OpFromGraph}
    f = aot.function([X], expressions)
    for found, expected in zip(f(VALUES), f.reference(VALUES), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_rules_that_differ_are_seen_in_bodies() -> None:
    rows = aot.scan(lambda x, scale: x * grad_clip(scale, -1, 1), sequences=[X], non_sequences=[T])[0]
    np.testing.assert_array_equal(jacobian(5 * rows, T).eval({X: np.ones(2), T: 1.0}), [1, 1])
    assert not is_dual([rows], [T])
    assert is_dual([aot.scan(lambda x: x * 2, sequences=[X])[0]], [X])


def test_composites_compile() -> None:
    f = aot.function([X], [*Twice()(X), Softsign()(X)])
    for found, expected in zip(f(VALUES), f.reference(VALUES), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-15)
    assert "twice(" in f.ir("graph")
