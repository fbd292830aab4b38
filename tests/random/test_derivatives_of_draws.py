"""Derivatives of draws: those of the draw for fixed noise, or none and why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import aotensor as aot
import aotensor.tensor as at
from aotensor.errors import NullTypeGradError
from aotensor.gradient import DisconnectedInputError, Rop, grad, hessian, jacobian, verify_grad

R = at.random
STATE = at.constant(R.first_state(77))


def second(pair: tuple[Any, Any]) -> Any:
    return pair[1]


@pytest.mark.shows("tensor/9-derivatives")
def test_the_derivative_of_a_normal_is_its_noise() -> None:
    m, s = at.dvector("m"), at.dvector("s")
    x = second(R.normal(STATE, m, s))
    f = aot.function([m, s], [x, jacobian(x, m), jacobian(x, s)])
    values, by_mean, by_scale = f([1.0, 2.0, 3.0], [0.5, 1.0, 2.0])
    np.testing.assert_array_equal(by_mean, np.eye(3))
    np.testing.assert_allclose(np.diag(by_scale), (values - [1, 2, 3]) / [0.5, 1, 2])


@pytest.mark.shows("tensor/9-derivatives")
def test_second_derivatives() -> None:
    m = at.dvector("m")
    cost = at.exp(second(R.normal(STATE, m, 0.5))).sum()
    f = aot.function([m], [hessian(cost, m), grad(cost, m)])
    whole, derivative = f([0.1, 0.2])
    np.testing.assert_allclose(whole, np.diag(derivative), rtol=1e-12)


@pytest.mark.shows("tensor/9-derivatives")
def test_derivatives_agree_with_differences() -> None:
    points = [np.array([0.4, 1.3]), np.array([0.9, 2.0])]
    for draw in (R.normal, R.laplace, R.gumbel, R.logistic, R.lognormal, R.cauchy):
        verify_grad(lambda a, b, draw=draw: second(draw(STATE, a, b)), points, rng=np.random.default_rng(0))
    verify_grad(lambda a: second(R.exponential(STATE, a, (3, 2))), points[:1], rng=np.random.default_rng(0))
    verify_grad(lambda a, b: second(R.uniform(STATE, -a, b)), points, rng=np.random.default_rng(0))


def test_a_scale_fits_data_by_its_own_draws() -> None:
    """What reparameterised derivatives are for: E f(μ + σz) falls along its own estimate."""
    mu, log_sigma = aot.shared(3.0, name="mu"), aot.shared(0.0, name="log_sigma")
    x = at.RandomStream(4).normal(size=64)
    cost = at.sqr(mu + at.exp(log_sigma) * x - 1.0).mean()
    steps = {p: p - 0.1 * grad(cost, p) for p in (mu, log_sigma)}
    f = aot.function([], cost, updates=steps)
    costs = [f() for _ in range(150)]
    assert costs[-1] < 0.05 < costs[0]
    assert abs(mu.get_value() - 1) < 0.05


UNDEFINED: list[tuple[str, Callable[[Any], Any], str]] = [
    ("poisson", lambda p: R.poisson(STATE, 3 * p), "poisson: a draw is a jump function of it"),
    ("bernoulli", lambda p: R.bernoulli(STATE, p), "bernoulli: a draw is a jump function of it"),
    ("binomial", lambda p: R.binomial(STATE, 9, p), "binomial: a draw is a jump function of it"),
    ("geometric", lambda p: R.geometric(STATE, p), "geometric: a draw is a jump function of it"),
    ("negative_binomial", lambda p: R.negative_binomial(STATE, 3, p), "a draw is a jump function of it"),
    ("categorical", lambda p: R.categorical(STATE, p, 3), "is undefined"),
    ("multinomial", lambda p: R.multinomial(STATE, 9, p), "is undefined"),
    ("choice", lambda p: R.choice(STATE, 2, 3, p=p), "is undefined"),
    ("gamma", lambda p: R.gamma(STATE, p), "gamma: a rejected proposal makes the draw jump in it"),
    ("beta", lambda p: R.beta(STATE, p, 1.0), "only location and scale have derivatives"),
    ("dirichlet", lambda p: R.dirichlet(STATE, p), "only location and scale have derivatives"),
]


@pytest.mark.parametrize(("name", "build", "why"), UNDEFINED, ids=[row[0] for row in UNDEFINED])
def test_what_jumps_has_no_derivative(name: str, build: Callable[[Any], Any], why: str) -> None:
    p = at.dvector("p")
    x = second(build(p)) * 1.0
    with pytest.raises(NullTypeGradError, match=why):
        grad(x.sum(), p)
    if name not in ("multinomial",):
        with pytest.raises(NullTypeGradError, match=why):
            Rop(x, p, p)
    assert grad((x * p.sum()).sum(), p, consider_constant=[x]).ndim == 1


def test_the_state_is_disconnected() -> None:
    state = at.tensor("state", dtype="uint64", shape=(2,))
    following, x = R.normal(state, size=3)
    with pytest.raises(DisconnectedInputError):
        grad(x.sum(), state)
    with pytest.raises(DisconnectedInputError):
        grad((second(R.poisson(state, 3.0, 3)) * 1.0).sum(), state)
    zeros = grad(x.sum(), state, disconnected_inputs="ignore")
    assert aot.function([state], [zeros, following])(R.first_state(1))[0].tolist() == [0, 0]


# --- refusals ---------------------------------------------------------------------------------------------------------

REFUSED: list[tuple[str, Callable[[], Any], type[Exception], str]] = [
    (
        "mean",
        lambda: R.poisson(STATE, -1.0),
        ValueError,
        "poisson: lam has an element that is not at least 0 and at most 9.0",
    ),
    ("nan", lambda: R.poisson(STATE, np.nan), ValueError, "poisson: lam has an element"),
    ("huge", lambda: R.poisson(STATE, 1e17), ValueError, "poisson: lam has an element"),
    (
        "chance",
        lambda: R.binomial(STATE, 3, 1.5),
        ValueError,
        "binomial: p has an element that is not at least 0 and at most 1",
    ),
    ("trials", lambda: R.binomial(STATE, -3, 0.5), ValueError, "binomial: n has an element"),
    ("fraction", lambda: R.binomial(STATE, 3.5, 0.5), TypeError, "binomial: n must be an integer, not float64"),
    ("scale", lambda: R.normal(STATE, 0.0, [-1.0]), ValueError, "normal: scale has an element that is not at least 0"),
    (
        "open",
        lambda: R.geometric(STATE, 0.0),
        ValueError,
        "geometric: p has an element that is not above 0 and at most 1",
    ),
    ("shape", lambda: R.gamma(STATE, -1.0), ValueError, "gamma: shape has an element"),
    (
        "dtype",
        lambda: R.normal(STATE, dtype="int32"),
        TypeError,
        "draws of real numbers need a floating dtype, not int32",
    ),
    ("bool", lambda: R.poisson(STATE, 3.0, dtype="bool"), TypeError, "draws of counts need a number dtype, not bool"),
    ("extent", lambda: R.normal(STATE, size=(3, -1)), ValueError, "extent -1 is negative"),
    ("size", lambda: R.normal(STATE, np.zeros(3), size=2), ValueError, r"does not broadcast to size=\(2\)"),
    ("rank", lambda: R.normal(STATE, np.zeros((3, 1)), size=3), ValueError, "does not broadcast to size"),
    ("wide", lambda: R.poisson(STATE, np.zeros(3), size=(3, 1)), ValueError, "does not broadcast to size"),
    ("taken", lambda: R.hypergeometric(STATE, 3, 4, [1, 8]), ValueError, r"nsample is more than ngood \+ nbad"),
    ("order", lambda: R.integers(STATE, 5, 5), ValueError, "there are no integers from 5 to 4"),
    ("fit", lambda: R.integers(STATE, 300, dtype="int8"), ValueError, "high = 300 does not fit int8"),
    ("low", lambda: R.integers(STATE, -1, 3, dtype="uint8"), ValueError, "low = -1 does not fit uint8"),
    ("real", lambda: R.integers(STATE, 0.5), TypeError, "integers: high must be an integer within int64, not float64"),
    ("whole", lambda: R.integers(STATE, 5, dtype="float32"), TypeError, "dtype must be an integer dtype, not float32"),
    ("weights", lambda: R.categorical(STATE, [0.5, -0.5]), ValueError, "categorical: p has an element"),
    ("scalar", lambda: R.categorical(STATE, 0.5), TypeError, "expected probabilities with an axis of categories"),
    (
        "few",
        lambda: R.choice(STATE, 3, 4, replace=False),
        ValueError,
        "choice: cannot draw 4 of 3 elements without replacement",
    ),
    (
        "count",
        lambda: R.permutation(STATE, 2.5),
        TypeError,
        "a scalar must be an integer, the number of elements, not float64",
    ),
    (
        "vector",
        lambda: R.multivariate_normal(STATE, 0.0, np.eye(2)),
        TypeError,
        "mean must be a vector and cov a matrix",
    ),
    ("alpha", lambda: R.dirichlet(STATE, 0.5), TypeError, "alpha must have an axis of categories"),
]


@pytest.mark.shows("tensor/9-parameters")
@pytest.mark.parametrize(("build", "error", "text"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_wrong_parameters_are_refused(build: Callable[[], Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        build()


LATE: list[tuple[str, Callable[[Any], Any], list[float], str]] = [
    ("poisson", lambda x: R.poisson(STATE, x), [1.0, -1.0], "poisson: lam has an element that is not at least 0 and"),
    ("nan", lambda x: R.binomial(STATE, 3, x), [0.5, np.nan], "binomial: p has an element that is not at least 0 and"),
    ("scale", lambda x: R.normal(STATE, 0.0, x), [-1.0], "normal: scale has an element that is not at least 0"),
    ("sum", lambda x: R.categorical(STATE, x), [0.0, 0.0], "categorical: the sum of p has an element that is not"),
    ("taken", lambda x: R.hypergeometric(STATE, 3, 4, at.iround(x)), [7.0, 8.0], "nsample is more than ngood"),
    ("order", lambda x: R.integers(STATE, 3, at.iround(x)), [4.0, 3.0], "there is none between some low and its high"),
    ("fit", lambda x: R.integers(STATE, at.iround(x), 9, dtype="int8"), [-200.0], "integers: low has an element"),
    ("size", lambda x: R.normal(STATE, x, size=(x.shape[0] + 1,)), [1.0, 2.0], "differ"),
    ("few", lambda x: R.choice(STATE, x, (4,), replace=False), [1.0, 2.0], "elements|extents|reshape"),
]  # fmt: skip


@pytest.mark.shows("tensor/9-parameters")
@pytest.mark.parametrize(("build", "values", "text"), [row[1:] for row in LATE], ids=[row[0] for row in LATE])
def test_wrong_values_are_refused_at_run_time(build: Callable[[Any], Any], values: list[float], text: str) -> None:
    x = at.dvector("x")
    f = aot.function([x], second(build(x)), name="late")
    with pytest.raises(ValueError, match=text):
        f.reference(values)
    with pytest.raises(ValueError, match=text):
        f(values)
