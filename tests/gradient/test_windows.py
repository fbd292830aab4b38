"""Gradients of several windows of one tensor are put into one tensor of zeros where the windows do not meet."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import aotensor as aot
import aotensor.gradient
import aotensor.tensor as at
from aotensor.graph.variable import Variable
from aotensor.graph.walk import toposort


@pytest.mark.parametrize(
    ("uses", "additions"),
    [
        (lambda x: [x[0], x[1], x[2]], 0),
        (lambda x: [x[:2], x[2:4], x[4]], 0),
        (lambda x: [x[0], x[1], x[0] * x[1]], 2),  # four windows, two of them of one element and two of another
        (lambda x: [x[:3], x[2:]], 1),  # both have x[2]
        (lambda x: [x[-1], x[4]], 1),  # the same, or not: the extent decides
        (lambda x: [x[::2], x[1::2]], 1),
        (lambda x: [x[1], x, x[3:]], 1),
        (lambda x: [x[0], x[0:1], x[1]], 1),
    ],
)
def test_windows_that_do_not_meet_take_no_addition(uses: Callable[[Variable], list[Variable]], additions: int) -> None:
    x = at.vector("x", shape=("n",))
    cost = sum(((k + 2) * part**3).sum() for k, part in enumerate(uses(x)))
    derivative = aot.grad(cost, x)
    assert derivative.owner is not None
    point = np.linspace(0.5, 1.5, 5)
    step = 1e-6
    expected = [
        (cost.eval({x: point + step * row}) - cost.eval({x: point - step * row})) / (2 * step) for row in np.eye(5)
    ]
    assert np.allclose(derivative.eval({x: point}), expected, rtol=1e-7)
    assert np.allclose(aot.function([x], derivative)(point), expected, rtol=1e-7)
    vectors = [node for node in toposort([derivative]) if node.op.name == "add" and node.outputs[0].ndim == 1]
    assert len([node for node in vectors if all(y.owner is None or _is_term(y) for y in node.inputs)]) == additions


def _is_term(x: Variable) -> bool:
    """Was it made for a gradient of x: a window, a sum of windows, or what flows back through the use of x itself?"""
    return x.owner is not None and x.owner.op.name in ("inc_subtensor", "mul", "add")


def test_second_derivatives() -> None:
    x = at.vector("x", shape=("n",))
    y = x[0] * x[1] ** 2 + x[1] * x[2:].sum() ** 2
    point = np.array([0.3, 0.7, 1.1, -0.4])
    hessian = aot.gradient.hessian(y, x)
    s = point[2] + point[3]
    expected = np.zeros((4, 4))
    expected[0, 1] = expected[1, 0] = 2 * point[1]
    expected[1, 1] = 2 * point[0]
    expected[1, 2:] = expected[2:, 1] = 2 * s
    expected[2:, 2:] = 2 * point[1]
    assert np.allclose(hessian.eval({x: point}), expected)
