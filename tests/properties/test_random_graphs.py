"""Random programs with shared subexpressions and broadcasting: three ways to one number, two to a derivative."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import aotensor as aot
import aotensor.tensor as at
from aotensor.gradient import Lop, Rop
from aotensor.graph.variable import Variable
from aotensor.ir.build import Program, build
from aotensor.ir.interpreter.interpret import interpret
from aotensor.passes.canonicalize import canonicalize

RTOL = 1e-9  # some tens of roundings, and sums in another order
ELEMENTWISE: list[Callable[..., Variable]] = [
    at.tanh, at.sin, at.exp, at.sigmoid, at.softplus, at.sqr, at.arctan, lambda x: -x, lambda x: 1.5 * x - 0.25,
]  # fmt: skip
BINARY: list[Callable[..., Variable]] = [
    at.add, at.sub, at.mul, lambda x, y: x / (1.0 + at.sqr(y)), at.maximum, lambda x, y: at.switch(x > y, x, 2.0 * y),
]  # fmt: skip
MOVES: list[Callable[[Variable], Variable]] = [
    lambda x: x.T, lambda x: x[::-1], lambda x: x[1:], lambda x: x[:, ::-2], lambda x: x[[0, -1, 0]],
    lambda x: x[[-1, 0]].set(at.sin(x[[0, 0]])), lambda x: x[0, [0, -1, -1]], lambda x: x[:, [-1, 0]].inc(x[:, [0]]),
    lambda x: x[:, [-1, 0]], lambda x: at.cumsum(x, axis=0),
    lambda x: at.concatenate([x, 2.0 * x], axis=1), lambda x: x.reshape((x.shape[1], x.shape[0])),
    lambda x: at.softmax(x, axis=1), lambda x: x - x.mean(axis=0, keepdims=True), lambda x: at.tanh(0.3 * (x @ x.T)),
]  # fmt: skip
REDUCTIONS: list[Callable[[Variable], Variable]] = [
    lambda x: x.sum(), lambda x: x.mean(axis=0), lambda x: x.sum(axis=1), lambda x: at.logsumexp(x, axis=1),
    lambda x: x.var(axis=0), lambda x: at.sqr(x).sum(axis=0),
]  # fmt: skip


@st.composite
def programs(draw: st.DrawFn) -> tuple[list[Variable], list[Variable]]:
    """Two matrices of the same unknown shape and a scalar, grown by up to a dozen random steps."""
    x, y = at.matrix("x", shape=("n", "m")), at.matrix("y", shape=("n", "m"))
    s = at.scalar("s")
    same = [x, y, x * s]  # values of shape (n, m), which may meet
    free: list[Variable] = []
    for _ in range(draw(st.integers(1, 8))):
        value = draw(st.sampled_from(same))
        step = draw(st.integers(0, 3))
        if step == 0:
            same.append(draw(st.sampled_from(ELEMENTWISE))(value))
        elif step == 1:
            same.append(draw(st.sampled_from(BINARY))(value, draw(st.sampled_from(same))))
        elif step == 2:
            free.append(draw(st.sampled_from(MOVES))(value))
        else:
            row = draw(st.sampled_from(REDUCTIONS))(value)
            same.append(value * row.sum() if draw(st.booleans()) else value + at.tanh(row.mean()))
            free.append(row)
    outputs = [same[-1], *free[-2:], same[-1].sum() + sum((f.sum() for f in free), start=at.constant(0.0))]
    return [x, y, s], outputs


def _values(rng: np.random.Generator, shape: tuple[int, int]) -> list[np.ndarray]:
    return [rng.uniform(-1, 1, shape), rng.uniform(-1, 1, shape), np.asarray(rng.uniform(-1, 1))]


@pytest.mark.shows("tensor/0-second-order")
@settings(max_examples=8, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(program=programs(), shape=st.sampled_from([(3, 4), (5, 2), (1, 3), (4, 1)]))
def test_three_ways_agree(
    program: tuple[list[Variable], list[Variable]], shape: tuple[int, int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    inputs, outputs = program
    cost = outputs[-1]
    gradients = aot.grad(cost, inputs, disconnected_inputs="ignore")
    f = aot.function(inputs, [*outputs, *gradients], name="program", on_unused_input="ignore")
    values = _values(np.random.default_rng(3), shape)
    expected = f.reference(*values)
    folder = tmp_path_factory.mktemp("program")
    compiled = aot.compile(f, folder, opt_level=1, check=True).load()
    _agree(compiled.program(*values), expected)
    module, _ = build([Program("program", tuple(f.arguments.items()), tuple(f.results.items()))])
    _agree(interpret(module, "program", *values), expected)
    canonicalize(module)
    _agree(interpret(module, "program", *values), expected)


@pytest.mark.shows("tensor/0-second-order")
@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(program=programs())
def test_both_modes_agree(program: tuple[list[Variable], list[Variable]]) -> None:
    """⟨ȳ, J·ẋ⟩ = ⟨Jᵀ·ȳ, ẋ⟩"""
    inputs, outputs = program
    rng = np.random.default_rng(4)
    point = dict(zip(inputs, _values(rng, (3, 4)), strict=True))
    tangents = _values(rng, (3, 4))
    cotangents = [rng.uniform(-1, 1, y.eval(point).shape) for y in outputs]
    forward = Rop(outputs, inputs, tangents, disconnected_outputs="ignore")
    backward = Lop(outputs, inputs, cotangents, disconnected_inputs="ignore")
    left = sum(float(np.sum(c * t.eval(point))) for c, t in zip(cotangents, forward, strict=True))
    right = sum(float(np.sum(t * g.eval(point))) for t, g in zip(tangents, backward, strict=True))
    assert left == pytest.approx(right, rel=RTOL, abs=RTOL)


def _agree(found: Sequence[np.ndarray], expected: Sequence[np.ndarray]) -> None:
    for a, b in zip(found, expected, strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=RTOL, atol=1e-11)
