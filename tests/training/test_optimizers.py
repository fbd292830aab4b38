"""Ten steps of each optimiser against its published formula in NumPy, compiled; and what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import aotensor as aot
import aotensor.tensor as at
from aotensor.errors import GraphTypeError, GraphValueError

STEPS = 10
Arrays = dict[str, Any]


def sgd(p: Any, g: Any, s: Arrays, t: int) -> Any:
    return p - 0.1 * (g + 0.01 * p)


def momentum(p: Any, g: Any, s: Arrays, t: int) -> Any:
    s["velocity"] = 0.8 * s["velocity"] + g
    return p - 0.1 * s["velocity"]


def nesterov(p: Any, g: Any, s: Arrays, t: int) -> Any:
    g = g + 0.01 * p
    s["velocity"] = 0.8 * s["velocity"] + g
    return p - 0.1 * (g + 0.8 * s["velocity"])


def adam(p: Any, g: Any, s: Arrays, t: int) -> Any:
    s["mean"] = 0.9 * s["mean"] + 0.1 * g
    s["square"] = 0.99 * s["square"] + 0.01 * g**2
    return p - 0.05 * (s["mean"] / (1 - 0.9**t)) / (np.sqrt(s["square"] / (1 - 0.99**t)) + 1e-8)


def adamw(p: Any, g: Any, s: Arrays, t: int) -> Any:
    return adam(p, g, s, t) - 0.05 * 0.1 * p


def lion(p: Any, g: Any, s: Arrays, t: int) -> Any:
    step = np.sign(0.9 * s["mean"] + 0.1 * g)
    s["mean"] = 0.95 * s["mean"] + 0.05 * g
    return p - 0.02 * (step + 0.1 * p)


RULES: dict[str, tuple[at.training.Optimizer, Callable[..., Any]]] = {
    "sgd": (at.training.sgd(0.1, weight_decay=0.01), sgd),
    "momentum": (at.training.momentum(0.1, decay=0.8), momentum),
    "nesterov": (at.training.momentum(0.1, decay=0.8, nesterov=True, weight_decay=0.01), nesterov),
    "adam": (at.training.adam(0.05, b2=0.99), adam),
    "adamw": (at.training.adamw(0.05, b2=0.99, weight_decay=0.1), adamw),
    "lion": (at.training.lion(0.02, b2=0.95, weight_decay=0.1), lion),
}


def model(dtype: str) -> tuple[dict[str, at.Variable], list[at.Variable], at.Variable]:
    """Parameters, data and loss of a small regression."""
    params = {"W": at.matrix("W", dtype=dtype, shape=("p", 3)), "b": at.vector("b", dtype=dtype, shape=(3,))}
    X, Y = at.matrix("X", dtype=dtype, shape=("n", "p")), at.matrix("Y", dtype=dtype, shape=("n", 3))
    return params, [X, Y], ((at.tanh(X @ params["W"] + params["b"]) - Y) ** 2).mean()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", RULES)
def test_ten_steps_are_those_of_the_formula(name: str, dtype: str) -> None:
    optimizer, formula = RULES[name]
    params, data, loss = model(dtype)
    grads = dict(zip(params, aot.grad(loss, list(params.values())), strict=True))
    state = optimizer.state(params)
    made, kept = optimizer.update(params, grads, state)
    f = aot.function([*params.values(), *state.values(), *data], [*made.values(), *kept.values()], name=f"step_{name}")
    gradient = aot.function([*params.values(), *data], list(grads.values()), name="gradient")
    rng = np.random.default_rng(3)
    values: Arrays = {"W": rng.standard_normal((4, 3)).astype(dtype), "b": np.zeros(3, dtype)}
    X, Y = rng.standard_normal((8, 4)).astype(dtype), rng.standard_normal((8, 3)).astype(dtype)
    now, states = dict(values), optimizer.initial(values)
    wide = {key: x.astype("float64") for key, x in values.items()}
    own: dict[str, Arrays] = {key: dict.fromkeys(optimizer.slots, 0.0 * x) for key, x in wide.items()}
    for t in range(1, STEPS + 1):
        found = f(*now.values(), *states.values(), X, Y)
        slopes = gradient.reference(*(x.astype(dtype) for x in wide.values()), X, Y)
        for (key, x), g in zip(wide.items(), slopes, strict=True):
            wide[key] = formula(x, g.astype("float64"), own[key], t)
        now = dict(zip(now, found, strict=False))
        states = dict(zip(states, found[len(now) :], strict=True))
        assert all(x.dtype == dtype for x in now.values())
    for key, x in wide.items():
        np.testing.assert_allclose(
            now[key], x, rtol=1e-12 if dtype == "float64" else 2e-4, atol=1e-5 * (dtype == "float32")
        )
    assert not optimizer.is_counting or states["step"] == STEPS


def test_shared_variables_are_trained_in_place() -> None:
    """Updates of shared variables; the rate is an input."""
    rng = np.random.default_rng(1)
    X, Y = rng.standard_normal((50, 4)), rng.standard_normal((50, 3)) * 0.1
    start = {"W": np.zeros((4, 3)), "b": np.zeros(3)}
    rate = at.scalar("rate")
    optimizer = at.training.adam(rate)
    params = {key: aot.shared(x, name=key) for key, x in start.items()}
    state = {key: aot.shared(x, name=key.replace(".", "_")) for key, x in optimizer.initial(start).items()}
    loss = ((X @ params["W"] + params["b"] - Y) ** 2).mean()
    grads = dict(zip(params, aot.grad(loss, list(params.values())), strict=True))
    made, kept = optimizer.update(params, grads, state)
    updates = [
        (old, new)
        for olds, news in ((params, made), (state, kept))
        for old, new in zip(olds.values(), news.values(), strict=True)
    ]
    f = aot.function([rate], loss, updates=updates, name="train")
    losses = [float(f(0.05)) for _ in range(200)]
    best = np.linalg.lstsq(np.column_stack([X, np.ones(50)]), Y, rcond=None)[1].sum() / Y.size
    assert losses[0] > 1.05 * best and losses[-1] < best * (1 + 1e-4)
    assert state["step"].get_value() == 200


@pytest.mark.parametrize(
    ("wrong", "error", "said"),
    [
        (lambda p, g: at.training.adam(-1.0), GraphValueError, "adam: learning_rate is -1.0"),
        (lambda p, g: at.training.adam(b1=1.0), GraphValueError, "adam: b1 is 1.0, not a number from 0 on, below 1"),
        (lambda p, g: at.training.sgd(at.vector("r")), GraphTypeError, "sgd: learning_rate is float64"),
        (lambda p, g: at.training.sgd(0.1).state({}), GraphValueError, "no parameter"),
        (lambda p, g: at.training.sgd(0.1).state({"i": at.lvector("i")}), GraphTypeError, "parameter i is int64"),
        (lambda p, g: at.training.adam().state({"h": at.vector("h", dtype="float16")}), GraphTypeError, "h is float16"),
        (lambda p, g: at.training.lion().state({"h": at.vector("h", dtype="bfloat16")}), GraphTypeError, "is bfloat16"),
        (lambda p, g: at.training.sgd(0.1).update(p, {"W": g["W"]}, {}), GraphValueError, "gradients .*: b missing"),
        (lambda p, g: at.training.lion(0.1).update(p, g, {}), GraphValueError, "W.mean, b.mean missing"),
        (lambda p, g: at.training.sgd(0.1).update(p, {**g, "b": g["W"]}, {}), GraphValueError, "of b has rank 2"),
    ],
)  # fmt: skip
def test_wrong_use_names_the_argument(wrong: Callable[..., Any], error: type[Exception], said: str) -> None:
    params, _, loss = model("float64")
    grads = dict(zip(params, aot.grad(loss, list(params.values())), strict=True))
    with pytest.raises(error, match=said):
        wrong(params, grads)
