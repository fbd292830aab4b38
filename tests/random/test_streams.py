"""Streams and explicit states: what advances, what repeats, what is independent of what."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pytest
import scipy.stats as stats

import aotensor as aot
import aotensor.tensor as at
from aotensor.api.function import Function
from aotensor.ops.random.noise import Noise

R = at.random
BOTH = pytest.mark.parametrize("run", [lambda f: f, lambda f: f.reference], ids=["compiled", "reference"])
Run = Callable[[Function], Callable[..., Any]]


# --- streams ---------------------------------------------------------------------------------------------------------


@pytest.mark.shows("tensor/9-RandomStream")
@BOTH
def test_two_calls_differ_and_a_seed_repeats(run: Run) -> None:
    stream = at.RandomStream(42)
    f = run(aot.function([], stream.normal(size=3)))
    first, second = f(), f()
    assert not np.any(first == second)
    stream.seed()
    np.testing.assert_array_equal(f(), first)
    np.testing.assert_array_equal(f(), second)
    other = at.RandomStream(42)
    np.testing.assert_array_equal(run(aot.function([], other.normal(size=3)))(), first)
    stream.seed(43)
    assert not np.any(f() == first)
    stream.seed(42)
    np.testing.assert_array_equal(f(), first)
    assert not np.any(run(aot.function([], at.RandomStream(43).normal(size=3)))() == first)


def test_compiled_and_reference_go_on_from_each_other() -> None:
    stream = at.RandomStream(1)
    f = aot.function([], stream.poisson(7.0, 20))
    alternating = [f(), f.reference(), f(), f.reference()]
    stream.seed()
    for expected in alternating:
        np.testing.assert_array_equal(f(), expected)


def test_without_a_seed_streams_differ() -> None:
    one, other = (at.RandomStream().uniform(size=4).eval() for _ in range(2))
    assert not np.any(one == other)
    assert at.RandomStream().default_instance_seed is None


def test_draws_have_states_of_their_own() -> None:
    """Three draws of two streams are uncorrelated, also one call later, and so are the bits of neighbouring keys."""
    streams = at.RandomStream(5), at.RandomStream(6)
    draws = [streams[0].normal(size=5000), streams[0].normal(size=5000), streams[1].normal(size=5000)]
    f = aot.function([], draws)
    for one, other in combinations([*f(), *f()], 2):
        assert abs(np.corrcoef(one, other)[0, 1]) < 5 / np.sqrt(5000)
    keys = [R.first_state(seed, number)[0] for seed in range(20) for number in range(20)]
    assert len(set(keys)) == 400


def test_each_function_that_draws_advances_the_state() -> None:
    stream = at.RandomStream(3)
    x = stream.uniform(size=2)
    f, g = aot.function([], x), aot.function([], x * 2)
    one, two, three = f(), g() / 2, f()
    stream.seed()
    for expected in (one, two, three):
        np.testing.assert_array_equal(f(), expected)
    still = aot.function([], x, no_default_updates=True)
    np.testing.assert_array_equal(still(), still())


@pytest.mark.shows("tensor/9-RandomStream")
def test_updates_name_every_draw() -> None:
    stream = at.RandomStream(3)
    x, _ = stream.normal(), stream.gamma(2.0)
    pairs = stream.updates()
    assert pairs == stream.state_updates and pairs is not stream.state_updates
    assert [state.name for state, _ in pairs] == ["rng0", "rng1"]
    assert all(state.default_update is new for state, new in pairs)
    f = aot.function([], x, updates=pairs, no_default_updates=True)
    assert f() != f()
    assert [int(state.get_value()[1]) for state, _ in pairs] == [2, 2]


@pytest.mark.shows("tensor/9-RandomStream")
def test_gen_takes_names_and_functions() -> None:
    values = []
    for draw in ("exponential", R.exponential, lambda state, *args: R.exponential(state, *args)):
        values.append(at.RandomStream(8).gen(draw, 2.0, 3).eval())
    np.testing.assert_array_equal(values[0], values[1])
    np.testing.assert_array_equal(values[0], values[2])
    with pytest.raises(TypeError, match="there is no distribution 'zipf'"):
        at.RandomStream(8).gen("zipf", 2.0)
    with pytest.raises(AttributeError, match="no attribute 'zipf'"):
        at.RandomStream(8).zipf(2.0)
    with pytest.raises(AttributeError, match="no attribute 'zipf'"):
        R.default_rng(8).zipf(2.0)
    assert {"normal", "seed", "updates"} <= set(dir(at.RandomStream(8)))
    assert {"normal", "state"} <= set(dir(R.default_rng(8)))
    assert "standard deviation" in (at.RandomStream(8).normal.__doc__ or "")


@pytest.mark.parametrize(("seed", "error"), [(1.5, TypeError), ("a", TypeError), (True, TypeError), (-1, ValueError)])
def test_seeds_are_checked(seed: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="seed"):
        at.RandomStream(seed)
    with pytest.raises(error, match=r"seed|not a tensor|a state"):
        R.default_rng(seed)


def test_debug_mode_compares_draws() -> None:
    f = aot.function([], at.RandomStream(3).binomial(40, 0.4, 6), mode="DEBUG_MODE")
    assert not np.array_equal(f(), f())


# --- explicit states -------------------------------------------------------------------------------------------------


@pytest.mark.shows("tensor/9-default_rng")
@BOTH
def test_a_state_is_a_value(run: Run) -> None:
    """The same state gives the same draw; the next one another; nothing is hidden."""
    state = at.tensor("state", dtype="uint64", shape=(2,))
    following, x = R.default_rng(state).normal(size=4)
    _, y = R.normal(following, size=4)
    f = run(aot.function([state], [following, x, y]))
    start = R.first_state(12)
    middle, one, two = f(start)
    np.testing.assert_array_equal(f(start)[1], one)
    np.testing.assert_array_equal(middle, start + np.array([0, 1], "uint64"))
    np.testing.assert_array_equal(f(middle)[1], two)
    assert not np.any(one == two)


@pytest.mark.shows("tensor/9-default_rng")
def test_default_rng_of_a_seed_is_a_shared_state() -> None:
    rng = R.default_rng(7)
    following, x = rng.uniform(size=3)
    plain, advancing = aot.function([], x), aot.function([], x, updates={rng.state: following})
    first = plain()
    np.testing.assert_array_equal(plain(), first)
    np.testing.assert_array_equal(advancing(), first)
    assert not np.any(plain() == first)
    np.testing.assert_array_equal(R.default_rng(R.first_state(7)).uniform(size=3)[1].eval(), first)


@BOTH
def test_draws_in_a_loop(run: Run) -> None:
    """With the state as one of its states; as many steps give the same as draws one after the other."""
    rng = R.default_rng(5)

    def step(state: Any, total: Any) -> list[Any]:
        following, z = R.normal(state)
        following, k = R.poisson(following, 12.0)
        return [following, total + z * k]

    (states, totals), _ = aot.scan(step, outputs_info=[rng.state, at.constant(0.0)], n_steps=4)
    found = run(aot.function([], totals, updates={rng.state: states[-1]}))()
    assert rng.state.get_value()[1] == 8
    state, total, expected = at.constant(R.first_state(5)), at.constant(0.0), []
    for _ in range(4):
        state, total = step(state, total)
        expected.append(total)
    np.testing.assert_allclose(found, at.stack(expected).eval(), rtol=1e-12)


@BOTH
def test_a_stream_in_a_loop_hands_its_updates_on(run: Run) -> None:
    stream = at.RandomStream(9)

    def step(total: Any) -> Any:
        return [total + stream.uniform()], stream.updates()

    totals, updates = aot.scan(step, outputs_info=[at.constant(0.0)], n_steps=5)
    f = run(aot.function([], totals, updates=updates))
    steps = np.diff(np.concatenate([[0.0], f(), f()]))
    assert len({round(float(x), 9) for x in steps}) == 10
    assert stream.state_updates[0][0].get_value()[1] == 10


def test_many_states_at_once() -> None:
    """Each row is what its own state says, with parameters in common or of its own."""
    state, many = (at.tensor("state", dtype="uint64", shape=shape) for shape in ((2,), ("n", 2)))
    mean, means = at.dscalar("mean"), at.dvector("means", shape=("n",))
    following, x = R.poisson(state, mean, 3)
    _, y = R.normal(following, mean, 1.0, 2)
    states = np.stack([R.first_state(1, number) for number in range(4)])
    rows = at.vectorize_graph([following, x, y], {state: many, mean: means})
    together = aot.function([many, means], rows)(states, [1.0, 5.0, 20.0, 3.0])
    alone = aot.function([state, mean], [following, x, y])
    for number, m in enumerate([1.0, 5.0, 20.0, 3.0]):
        for found, expected in zip(together, alone(states[number], m), strict=True):
            np.testing.assert_array_equal(found[number], expected)


def test_a_batch_of_parameters_keeps_the_noise() -> None:
    """One state, several parameters: what a Jacobian needs."""
    state, mean, means = at.constant(R.first_state(1)), at.dscalar("mean"), at.dvector("means")
    rows = at.vectorize_graph(R.gamma(state, 2.5, mean, 3)[1], {mean: means})
    found = aot.function([means], rows)([1.0, 2.0])
    np.testing.assert_allclose(found[1], 2 * found[0])


def test_extents_are_the_same_for_all_samples() -> None:
    state, n, many = at.constant(R.first_state(1)), at.lscalar("n"), at.lvector("many")
    with pytest.raises(aot.errors.UnsupportedError, match="an extent or a position differs from sample to sample"):
        at.vectorize_graph(R.normal(state, size=(n,))[1], {n: many})


# --- statistics of the bits ------------------------------------------------------------------------------------------


def test_bits_are_fair() -> None:
    """Each of 64 bits is set in half of the elements; neighbours, and neighbouring draws, differ in half of them."""
    state, count = at.tensor("state", dtype="uint64", shape=(2,)), 4000
    f = aot.function([state], Noise("bits", "uint64", (count,))(state))
    one, other = f(R.first_state(1)), f(R.first_state(1) + np.array([0, 1], "uint64"))
    shifts = np.arange(64, dtype=np.uint64)
    for bits in (one, one[1:] ^ one[:-1], one ^ other):
        ones = (bits[:, None] >> shifts & np.uint64(1)).sum(axis=0)
        assert np.all(stats.binom(bits.size, 0.5).sf(np.maximum(ones, bits.size - ones)) > 1e-6)
