"""Elementwise ops that become one, and the extents that do not keep them apart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import aotensor as aot
import aotensor.tensor as at
from aotensor.driver.prepare import prepare
from aotensor.errors import ArgumentValueError
from aotensor.graph.variable import Variable
from aotensor.graph.walk import evaluate_all, toposort
from aotensor.ops.elementwise.fusion_group import Fused

X = at.tensor("x", dtype="float64", shape=("n",))
Y = at.tensor("y", dtype="float64", shape=("n",))
M = at.tensor("m", dtype="float64", shape=("n", "n"))


def nodes(outputs: Sequence[Variable], inputs: Sequence[Variable]) -> list[str]:
    """What is left, in order: the name of an op, or of those that are one now."""
    found = toposort(prepare(outputs, inputs), inputs)
    return [
        "+".join(inner.op.name for inner in x.op.body.nodes) if isinstance(x.op, Fused) else x.op.name for x in found
    ]


def test_a_value_that_a_sum_needs_is_a_second_result() -> None:
    e = at.exp(X)
    p = e * Y
    total = p.sum()
    found = prepare([p + e, total * X], [X, Y])
    assert nodes([p + e, total * X], [X, Y]) == ["exp+mul+add", "sum", "mul"]
    assert len(found[0].owner.outputs) == 2  # type: ignore[union-attr]


def test_what_is_read_elsewhere_is_complete_first() -> None:
    square = M * M
    assert nodes([square + square.T], [M]) == ["mul", "dimshuffle", "add"]
    outer = at.exp(X)[:, None] + at.exp(Y)
    assert sorted(name for name in nodes([outer * outer], [X, Y]) if name != "dimshuffle") == [
        "add+mul", "exp", "exp", "subtensor",
    ]  # fmt: skip
    assert nodes([X[::-1] + at.exp(X)[::-1]], [X]) == ["subtensor", "exp", "subtensor", "add"]


def test_groups_that_need_each_other_are_one() -> None:
    first = at.exp(X)
    second = first * 2.0
    between = second + 1.0
    last = between * first
    assert nodes([second, between, last], [X]) == ["exp+mul+add+mul"]


def test_numbers_and_checked_ops_stay_alone() -> None:
    s = at.dscalar("s")
    assert nodes([at.exp(s) * 2.0 + s], [s]) == ["exp", "mul", "add"]
    k = at.lvector("k")
    assert "pow" in nodes([(k + 1) ** (k * 2) - k], [k])


def test_a_body_means_what_its_ops_mean() -> None:
    outputs = [at.tanh(at.exp(X) * Y) + X]
    (node,) = toposort(prepare(outputs, [X, Y]), [X, Y])
    assert isinstance(node.op, Fused)
    values = {X: np.linspace(-1.0, 1.0, 5), Y: np.linspace(0.5, 2.0, 5)}
    for found in (node.outputs, node.op.expand(node.inputs)):
        for one, other in zip(evaluate_all(found, values), evaluate_all(outputs, values), strict=True):
            np.testing.assert_array_equal(one, other)
    derivatives = [aot.grad(x.sum(), Y).eval(values) for x in (node.outputs[0], outputs[0])]
    np.testing.assert_array_equal(*derivatives)


def test_gradients_do_not_wait_for_what_they_begin_with() -> None:
    cost = at.tanh(at.exp(X) * 2.0).sum()
    assert sum("+" in name for name in nodes([cost, aot.grad(cost, X)], [X])) == 1
    outer = at.exp(X)[:, None] * Y[None, :]
    assert "full_like" not in nodes([at.ones_like(outer) + outer, outer.shape[1]], [X, Y])


def test_operands_are_checked_though_only_their_extents_are_read() -> None:
    a, b = at.dvector("a"), at.dvector("b")
    f = aot.function([a, b], aot.grad((a + b).sum(), a), name="f")
    with pytest.raises(ArgumentValueError, match=r"a \+ b at test_elementwise_fusion.py"):
        f(np.ones(3), np.ones(4))
    np.testing.assert_array_equal(f(np.ones(3), np.ones(3)), np.ones(3))


def test_messages_name_the_op_and_not_the_group() -> None:
    a, b = at.dvector("a"), at.dvector("b")
    f = aot.function([a, b], at.exp(at.sin(a) + b * 2.0), name="f")
    with pytest.raises(ArgumentValueError, match=r"sin\(a\) \+ b \* 2\.0 at test_\w+.py:\d+: extents") as caught:
        f(np.ones(3), np.ones(4))
    assert "fused" not in str(caught.value)
