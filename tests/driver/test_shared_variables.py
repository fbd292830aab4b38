"""Shared variables, updates and givens: types, when values change, what is checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import aotensor as aot
import aotensor.tensor as at
from aotensor.api.function import Function

X, Y = at.dscalars("x", "y")
V, F = at.dvector("v"), at.fscalar("f")
BOTH = pytest.mark.parametrize("run", [lambda f: f, lambda f: f.reference], ids=["compiled", "reference"])
Run = Callable[[Function], Callable[..., Any]]


# --- shared variables ------------------------------------------------------------------------------------------------


@pytest.mark.shows("tensor/1-shared")
def test_shared_types_come_from_the_value() -> None:
    assert str(aot.shared(1.0).type) == "float64"
    assert str(aot.shared(1).type) == "int64"
    assert str(aot.shared(np.zeros((2, 3), "float32")).type) == "float32[?, ?]"
    assert str(aot.shared(np.zeros(2), shape=(2,)).type) == "float64[2]"


@pytest.mark.shows("tensor/10-shared")
def test_get_value_and_set_value() -> None:
    mine = np.array([1.0, 2.0])
    s = aot.shared(mine)
    mine[0] = 9.0
    s.get_value()[1] = 9.0
    np.testing.assert_array_equal(s.get_value(), [1, 2])
    assert s.get_value(borrow=True) is s.get_value(borrow=True)
    s.set_value(mine)
    mine[0] = 0.0
    np.testing.assert_array_equal(s.get_value(), [9, 2])
    s.set_value(mine, borrow=True)
    assert s.get_value(borrow=True) is mine
    s.set_value([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(s.eval(), [1, 2, 3])


@pytest.mark.shows("tensor/10-shared")
@pytest.mark.parametrize("value", [np.zeros(2), np.zeros((2, 2), "float32"), "text", np.zeros(2, complex)])
def test_set_value_refuses_other_types(value: Any) -> None:
    with pytest.raises(TypeError):
        aot.shared(np.zeros(2, "float32")).set_value(value)


@pytest.mark.shows("tensor/10-shared")
def test_a_borrowed_value_may_be_changed_outside() -> None:
    mine = np.array([1.0, 2.0])
    s = aot.shared(mine, borrow=True)
    f = aot.function([], s.sum())
    assert f() == 3.0
    mine[0] = 10.0
    assert f() == f.reference() == 12.0


# --- updates ---------------------------------------------------------------------------------------------------------


@pytest.mark.shows("tensor/10-updates")
@BOTH
@pytest.mark.parametrize("form", [dict, list, lambda pairs: (pair for pair in pairs)])
def test_updates_use_old_values_and_results_come_before(run: Run, form: Any) -> None:
    a, b = aot.shared(1.0, name="a"), aot.shared(10.0, name="b")
    f = run(aot.function([X], a + b, updates=form([(a, b + X), (b, a)])))
    assert f(0.5) == 11.0
    assert (a.get_value(), b.get_value()) == (10.5, 1.0)
    assert f(0.0) == 11.5
    assert (a.get_value(), b.get_value()) == (1.0, 10.5)


@BOTH
def test_updates_without_outputs(run: Run) -> None:
    n = aot.shared(0, name="n")
    f = run(aot.function([], updates=[(n, n + 1)]))
    assert [f(), f()] == [[], []]
    assert n.get_value() == 2


@BOTH
def test_updates_with_numbers_and_arrays(run: Run) -> None:
    s, v = aot.shared(1.5), aot.shared(np.ones(3, "float32"))
    f = run(aot.function([], [s, v], updates=[(s, 0), (v, np.zeros(2, "float32"))]))
    f()
    assert s.get_value() == 0.0
    np.testing.assert_array_equal(v.get_value(), np.zeros(2))


@pytest.mark.shows("tensor/10-updates")
@pytest.mark.parametrize(
    ("update", "error", "text"),
    [
        (lambda n, s: {n: n + 0.5}, TypeError, "another type"),
        (lambda n, s: {n: 0.5}, TypeError, "float 0.5 does not fit int64"),
        (lambda n, s: {s: V}, TypeError, "not an input"),
        (lambda n, s: {s: np.zeros(2)}, TypeError, "expected extent 3"),
        (lambda n, s: {s: at.dvector("u", shape=(2,))}, TypeError, "extent 2 instead of 3"),
        (lambda n, s: {X: Y}, TypeError, "only shared variables"),
        (lambda n, s: [(n, n), (n, n)], ValueError, "n is updated twice"),
        (lambda n, s: [n], TypeError, "pairs"),
        (lambda n, s: 3, TypeError, "updates must be a mapping"),
    ],
)
def test_updates_are_checked(update: Any, error: type[Exception], text: str) -> None:
    n, s = aot.shared(0, name="n"), aot.shared(np.zeros(3), name="s", shape=(3,))
    with pytest.raises(error, match=text):
        aot.function([X], X, updates=update(n, s), on_unused_input="ignore")


@pytest.mark.shows("tensor/10-default_updates")
@BOTH
def test_default_updates(run: Run) -> None:
    def make() -> tuple[Any, Any]:
        a, b = aot.shared(1.0, name="a"), aot.shared(10.0, name="b")
        a.default_update = a + b
        b.default_update = b * 2
        return a, b

    a, b = make()
    assert run(aot.function([], a))() == 1.0
    assert (a.get_value(), b.get_value()) == (11.0, 20.0)
    for excluded, expected in ((None, (1.0, 10.0)), (0, (1.0, 10.0)), (1, (11.0, 10.0))):
        a, b = make()
        run(aot.function([], a, no_default_updates=True if excluded is None else [(a, b)[excluded]]))()
        assert (a.get_value(), b.get_value()) == expected
    a, b = make()
    run(aot.function([], a, updates={a: a - 1}))()
    assert (a.get_value(), b.get_value()) == (0.0, 10.0)


def _behind_an_input(x: Any) -> Function:
    return aot.function([X, x], X * x)


@BOTH
@pytest.mark.parametrize(
    ("write", "runs"),
    [
        (lambda s, t: aot.function([X], [X]), False),
        (lambda s, t: aot.function([X], [X, s * 0]), True),
        (lambda s, t: aot.function([X], [X, s.astype("int64")]), True),
        (lambda s, t: aot.function([X], [X], updates={t: t + s}), True),
        (lambda s, t: aot.function([X], [X], updates={t: t + s}, givens={s: X}), False),
        (lambda s, t: aot.function([X], [X * s], givens={s: X}), False),
        (lambda s, t: aot.function([X], [X * Y], givens={Y: s}), True),
        (lambda s, t: aot.function([X], [X * t.default_update], updates={t: t + X}), True),
        (lambda s, t: _behind_an_input(s * 2), False),
    ],
)
def test_a_default_update_runs_if_its_variable_is_read(run: Run, write: Any, runs: bool) -> None:
    """What replaces the variable, or stands in front of it as an input, is what is read."""
    s, t = aot.shared(1.0, name="s"), aot.shared(0.0, name="t")
    s.default_update = s + 1
    t.default_update = t + s  # a chain of its own, which nothing reads unless it says so
    f = write(s, t)
    run(f)(*(1.0 for _ in f.inputs))
    assert s.get_value() == (2.0 if runs else 1.0)


@BOTH
def test_givens_hold_in_default_updates_too(run: Run) -> None:
    s = aot.shared(1.0, name="s")
    s.default_update = s + Y
    assert run(aot.function([X], s, givens={Y: X + 0}))(5.0) == 1.0
    assert s.get_value() == 6.0
    twice = aot.shared(1.0, name="twice")
    twice.default_update = twice + X
    run(aot.function([X], twice, givens={X: X + 1}))(1.0)  # once, not searched again
    assert twice.get_value() == 3.0


@pytest.mark.shows("tensor/10-default_updates")
@pytest.mark.parametrize("excluded", ["canard", X, 3, [X], None, ["s"]])
def test_no_default_updates_takes_a_bool_or_shared_variables(excluded: Any) -> None:
    with pytest.raises(TypeError, match="no_default_updates must be a bool or a list of shared variables"):
        aot.function([X], X, no_default_updates=excluded)


# --- givens ----------------------------------------------------------------------------------------------------------


@pytest.mark.shows("tensor/10-givens")
@BOTH
@pytest.mark.parametrize("form", [dict, list])
def test_givens_replace_before_compiling(run: Run, form: Any) -> None:
    s = aot.shared(5.0)
    assert run(aot.function([Y], X * 2, givens=form([(X, Y + 1)])))(2.0) == 6.0
    assert run(aot.function([], X * 2, givens=form([(X, s)])))() == 10.0
    assert run(aot.function([], X * 2, givens=form([(X, 4)])))() == 8.0
    assert run(aot.function([Y], s * 2, givens=form([(s, Y)])))(1.0) == 2.0
    assert run(aot.function([X, Y], X - Y, givens=form([(X, Y), (Y, X)])))(1.0, 3.0) == 2.0
    run(aot.function([Y], updates={s: X}, givens=form([(X, Y)])))(7.0)
    assert s.get_value() == 7.0


@pytest.mark.shows("tensor/10-givens")
def test_givens_keep_types_unless_told() -> None:
    with pytest.raises(TypeError, match="the replacement of x has another type"):
        aot.function([F], X * 2, givens={X: F})
    with pytest.raises(TypeError, match="the replacement of x has another type"):
        aot.function([V], X * 2, givens={X: V})
    with pytest.raises(TypeError, match="extent 1 along axis 0"):
        aot.function([V], at.drow("r") * 2, givens={at.drow("r"): V.dimshuffle(0, "x")}, on_unused_input="ignore")
    f = aot.function([F], at.exp(X), givens={X: F}, rebuild_strict=False)
    assert f(0.0).dtype == "float32"
    with pytest.raises(TypeError, match="symbolic variable"):
        aot.function([X], X, givens={"x": X})  # type: ignore[dict-item]
