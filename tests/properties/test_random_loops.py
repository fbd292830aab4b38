"""Random loops: derivatives of both modes agree, and what the compiler makes of a loop computes the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import aotensor as aot
import aotensor.tensor as at
from aotensor.core.types import Array
from aotensor.driver.prepare import prepare
from aotensor.gradient import Lop, Rop
from aotensor.graph.variable import Variable
from aotensor.graph.walk import evaluate_all

ROWS = 3  # of the initial values: the oldest tap is −3
UNARY: list[Callable[[Variable], Variable]] = [
    at.tanh, at.sin, at.sigmoid, lambda x: at.sqr(x) * 0.3, lambda x: -x, lambda x: at.maximum(x, 0.1 * x),
    lambda x: x[::-1], lambda x: x - x.mean(), lambda x: at.concatenate([x[1:], x[:1]]), at.zeros_like,
    lambda x: at.set_subtensor(x[1:2], 0.5), lambda x: aot.ifelse(x[0] > 0.0, at.sin(x), x * 0.5),
]  # fmt: skip
BINARY: list[Callable[[Variable, Variable], Variable]] = [
    at.add, at.sub, at.mul, lambda x, y: at.switch(x > y, x, 2.0 * y), lambda x, y: x * y.sum(), at.minimum,
]  # fmt: skip


@dataclass(frozen=True)
class Recipe:
    """What a step does: per new value a function of one or two earlier ones; then what is fed back and what is not."""

    taps: tuple[tuple[int, ...], ...]
    steps: tuple[tuple[int, int, int, int], ...]
    results: tuple[int, ...]
    mapped: tuple[int, ...]
    options: dict[str, Any]

    def step(self, *arguments: Variable) -> list[Variable]:
        *values, w = arguments
        given = len(values)
        for kind, function, one, other in self.steps:
            x, y = values[one % len(values)], values[other % len(values)]
            if kind == 0:
                values.append(UNARY[function % len(UNARY)](x))
            elif kind == 1:
                values.append(BINARY[function % len(BINARY)](x, y))
            else:
                values.append(at.tanh((w if function % 2 else w.T) @ x))
        chosen = [k % len(values) for k in self.results]  # what the step was given may be passed on as it is
        fed = [values[k] if k < given else at.tanh(values[k]) + 0.1 * values[-1] for k in chosen]
        return [*fed, *(values[k % len(values)] for k in self.mapped)]


SMALL = st.integers(0, 30)
LAGS = st.sets(st.integers(1, ROWS), min_size=1, max_size=2).map(lambda found: tuple(sorted(-lag for lag in found)))


@st.composite
def recipes(draw: st.DrawFn) -> Recipe:
    states = draw(st.integers(0, 2))
    mapped = draw(st.integers(0 if states else 1, 2))
    options: dict[str, Any] = {"go_backwards": draw(st.booleans())}
    if draw(st.integers(0, 3)) == 0:
        options["truncate_gradient"] = draw(st.integers(5, 9))  # more than the steps: nothing is cut
    return Recipe(
        tuple(draw(LAGS) for _ in range(states)),
        tuple(draw(st.lists(st.tuples(st.integers(0, 2), SMALL, SMALL, SMALL), min_size=1, max_size=7))),
        tuple(draw(SMALL) for _ in range(states)),
        tuple(draw(SMALL) for _ in range(mapped)),
        options,
    )


def program(recipe: Recipe) -> tuple[dict[Variable, Array], list[Variable]]:
    """The loop over x and y with the initial values h and the matrix w; and values for all of these."""
    rng = np.random.default_rng(5)
    x, y, w = at.matrix("x"), at.matrix("y", shape=("n", "k")), at.matrix("w")
    h = [at.matrix(f"h{k}") for k in range(len(recipe.taps))]
    infos = [{"initial": one[ROWS + min(taps) :], "taps": list(taps)} for one, taps in zip(h, recipe.taps, strict=True)]
    one_row = [
        {"initial": one[0], "taps": [-1]} if taps == (-1,) else info
        for one, taps, info in zip(h, recipe.taps, infos, strict=True)
    ]
    outputs = aot.scan(
        recipe.step, [x, y], [*one_row, *(None for _ in recipe.mapped)], w, return_updates=False, return_list=True,
        **recipe.options,
    )  # fmt: skip
    values = {x: rng.normal(size=(4, 3)), y: rng.normal(size=(5, 3)), w: 0.6 * rng.normal(size=(3, 3))}
    return values | {one: rng.normal(size=(ROWS, 3)) for one in h}, outputs


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(recipe=recipes())
def test_modes_agree_and_rewrites_keep_values(recipe: Recipe) -> None:
    values, outputs = program(recipe)
    wrt = list(values)
    rng = np.random.default_rng(6)
    weights = [rng.normal(size=value.shape) for value in evaluate_all(outputs, values)]
    directions = [rng.normal(size=value.shape) for value in values.values()]
    pulled = Lop(outputs, wrt, weights, disconnected_inputs="ignore")
    pushed = Rop(outputs, wrt, directions, disconnected_outputs="ignore")
    found, tangents = evaluate_all(pulled, values), evaluate_all(pushed, values)
    forward = sum(float(np.sum(one * other)) for one, other in zip(weights, tangents, strict=True))
    reverse = sum(float(np.sum(one * other)) for one, other in zip(found, directions, strict=True))
    size = 1.0 + sum(float(np.sum(np.abs(one * other))) for one, other in zip(found, directions, strict=True))
    assert abs(forward - reverse) <= 1e-10 * size
    cost = sum((at.sqr(one).sum() for one in pulled), start=at.constant(0.0))
    twice = aot.grad(cost, wrt, disconnected_inputs="ignore")
    curvature = Rop(cost, wrt, directions, disconnected_outputs="ignore")
    along = sum(float(np.sum(one * d)) for one, d in zip(evaluate_all(twice, values), directions, strict=True))
    assert along == pytest.approx(float(evaluate_all([curvature], values)[0]), rel=1e-8, abs=1e-8)
    everything = [*outputs, *pulled, *pushed, *twice]
    prepared = prepare(everything, wrt)
    for one, other in zip(evaluate_all(everything, values), evaluate_all(prepared, values), strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-8, atol=1e-9)


@settings(max_examples=8, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(recipe=recipes())
@pytest.mark.unlimited("the one test that compiles random loops", "ci")
def test_compiled_is_reference(recipe: Recipe, tmp_path_factory: pytest.TempPathFactory) -> None:
    values, outputs = program(recipe)
    cost = sum((at.sqr(one).sum() for one in outputs), start=at.constant(0.0))
    gradients = aot.grad(cost, list(values), disconnected_inputs="ignore")
    f = aot.function(list(values), [*outputs, *gradients], name="loop", on_unused_input="ignore")
    library = aot.compile([f], tmp_path_factory.mktemp("loop") / "loop", name="loop", opt_level=0).load()
    arrays = list(values.values())
    for one, other in zip(library.loop(*arrays), f.reference(*arrays), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11)
