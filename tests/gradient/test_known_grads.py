"""grad in detail: what `consider_constant` and `known_grads` cut and replace; compiled too."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from executions import both

import aotensor.tensor as at
from aotensor.errors import DisconnectedInputError
from aotensor.gradient import (
    grad,
    grad_sources_inputs,
)
from aotensor.graph.variable import Variable

X, Y = at.dscalars("x", "y")
V = at.dvector("v")


@pytest.mark.shows("gradient/2-consider-constant", "gradient/3.8-intermediate", "gradient/3.8-wrt", "gradient/3.8-leaf")
@pytest.mark.shows("gradient/3.8-generator")
def test_consider_constant_numbers() -> None:
    a = X * Y
    cost = a**2 + X
    found = both(
        [
            grad(cost, [X], [a])[0],
            grad(cost, X, (v for v in [a])),
            grad(cost, a, [a]),
            grad(cost, X, [X]),
            grad(cost, X, {a}),
        ],
        {X: 2.0, Y: 3.0},
    )
    assert found == [1.0, 1.0, 12.0, 37.0, 1.0]


@pytest.mark.shows("gradient/3.9-mapping", "gradient/3.9-precedence", "gradient/3.9-cost", "gradient/3.9-no-cost")
def test_known_grads_numbers() -> None:
    a, g = X * Y, at.dscalar("g")
    c = a**2
    w = at.dvector("w")
    found = both(
        [
            *grad(None, [X, Y], known_grads={a: g}),
            grad(None, X, known_grads={c: g, a: at.constant(7.0)}),
            grad(None, X, known_grads={a: at.constant(7.0), c: g}),
            grad(c, X, known_grads={c: at.constant(10.0)}),
            grad(c, X, known_grads={a: at.constant(7.0)}),
            grad(None, V, known_grads={V**2: w}),
            grad(None, X, known_grads=MappingProxyType({a: g})),
        ],
        {X: 2.0, Y: 3.0, g: 10.0, V: np.array([1.0, 2.0]), w: np.array([3.0, 4.0])},
    )
    assert [float(x) for x in found[:6]] == [30, 20, 21, 21, 360, 21]
    np.testing.assert_array_equal(found[6], [6, 16])
    assert found[7] == 30


@pytest.mark.shows("gradient/3.9-dtype")
def test_known_grads_of_an_integer_key() -> None:
    i = at.iscalar("i")
    assert grad(None, i, known_grads={i: at.constant(2.5)}).eval({}) == 2.5
    assert grad(None, X, known_grads={at.cast(X, "int32"): at.constant(2.5)}).eval({X: 1.0}) == 0.0


@pytest.mark.shows("gradient/3.9-no-variable", "gradient/3.9-dtype", "gradient/3.9-shape")
@pytest.mark.parametrize(
    ("value", "error"),
    [
        (1.0, TypeError),
        (np.zeros(3), TypeError),
        (at.constant(np.zeros(3, int)), TypeError),
        (at.constant(np.zeros(3, bool)), TypeError),
        (at.dscalar(), ValueError),
        (at.dmatrix(), ValueError),
        (at.dvector(shape=(2,)), ValueError),
    ],
)
def test_known_grads_are_checked(value: Any, error: type[Exception]) -> None:
    three = at.dvector("three", shape=(3,))
    with pytest.raises(error):
        grad(None, three, known_grads={three * 2: value})


@pytest.mark.shows("gradient/3.9-layers")
def test_layer_by_layer_is_the_whole_gradient() -> None:
    """Backwards from each cut, with what the part above has sent."""
    layers: list[Variable] = [V]
    for _ in range(4):
        layers.append(at.tanh(layers[-1] * 1.5 + 0.1))
    cost = at.sum(layers[-1] ** 2)
    known: dict[Variable, Variable] = {}
    for below in layers[-2::-1]:
        known = {below: grad(None if known else cost, below, known_grads=known or None)}
    whole, pieces = both([grad(cost, V), known[V]], {V: np.array([0.3, -0.2, 1.0])})
    np.testing.assert_allclose(pieces, whole, rtol=1e-14)


@pytest.mark.shows("gradient/3.9-sources-inputs")
def test_grad_sources_inputs_goes_to_the_leaves_or_to_what_is_named() -> None:
    a, g = X * Y, at.dscalar("g")
    found = grad_sources_inputs([(a * a, g)], [a])
    assert list(found) == [a]
    assert found[a].eval({X: 2.0, Y: 3.0, g: 1.0}) == 12.0
    assert set(grad_sources_inputs([(a, g)])) == {X, Y}
    with pytest.raises(DisconnectedInputError):
        grad_sources_inputs([(a, g)], [a, X])
