"""function: what is checked, what is given, and how calls run."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import aotensor as aot
import aotensor.tensor as at
from aotensor import In, Out
from aotensor.api.function import Function
from aotensor.errors import DisagreementError, MissingInputError, UnusedInputError
from aotensor.gradient import disconnected_type, null_type
from aotensor.graph.op import Op

X, Y = at.dscalars("x", "y")
V = at.dvector("v")
BOTH = pytest.mark.parametrize("run", [lambda f: f, lambda f: f.reference], ids=["compiled", "reference"])
Run = Callable[[Function], Callable[..., Any]]


# --- containers ------------------------------------------------------------------------------------------------------


@pytest.mark.shows("tensor/10-containers")
@BOTH
def test_outputs_give_the_container_of_the_result(run: Run) -> None:
    assert run(aot.function([X], X * 2))(3.0) == 6.0
    assert run(aot.function([X], [X, X * 2]))(3.0) == [3.0, 6.0]
    assert run(aot.function([X], (X, X * 2)))(3.0) == [3.0, 6.0]
    assert run(aot.function([X], {"a": X, "b c": X * 2}))(3.0) == {"a": 3.0, "b c": 6.0}
    assert run(aot.function([X], [], on_unused_input="ignore"))(3.0) == []
    assert run(aot.function([X], None, on_unused_input="ignore"))(3.0) == []
    assert run(aot.function([X], on_unused_input="ignore"))(3.0) == []
    with pytest.raises(TypeError, match="key 1 is not a str"):
        aot.function([X], {1: X})  # type: ignore[dict-item]


@pytest.mark.shows("tensor/10-results")
@BOTH
def test_results_are_arrays(run: Run) -> None:
    found = run(aot.function([X, V], [X, V, X > 0]))(1.0, [1.0, 2.0])
    assert [(type(x), x.shape, x.dtype.name) for x in found] == [
        (np.ndarray, (), "float64"),
        (np.ndarray, (2,), "float64"),
        (np.ndarray, (), "bool"),
    ]


# --- checks of inputs ------------------------------------------------------------------------------------------------


@pytest.mark.shows("tensor/10-inputs")
def test_unused_input() -> None:
    with pytest.raises(UnusedInputError, match="input y is not needed"):
        aot.function([X, Y], X)
    with pytest.warns(UserWarning, match="input y is not needed"):
        aot.function([X, Y], X, on_unused_input="warn")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert aot.function([X, Y], X, on_unused_input="ignore")(1.0, 2.0) == 1.0
    with pytest.raises(UnusedInputError):
        aot.function([X, Y], X, on_unused_input=None)
    with pytest.raises(ValueError, match="'raise', 'warn' or 'ignore'"):
        aot.function([X], X, on_unused_input="no")


@pytest.mark.shows("tensor/10-inputs")
def test_missing_input() -> None:
    with pytest.raises(MissingInputError, match="y is needed but is not an input"):
        aot.function([X], X * Y)


@pytest.mark.shows("tensor/10-inputs")
def test_duplicate_input() -> None:
    with pytest.raises(UnusedInputError, match="x is given twice"):
        aot.function([X, X], X)
    with pytest.raises(UnusedInputError, match="x is given twice"):
        aot.function([X, In(X)], X)


@pytest.mark.shows("tensor/10-inputs")
def test_shared_and_constant_inputs() -> None:
    s = aot.shared(1.0, name="s")
    for wrong, text in ((s, "shared variable s cannot be an input"), (at.constant(1.0), "constant"), (3, "symbolic")):
        with pytest.raises(TypeError, match=text):
            aot.function([wrong], X)  # type: ignore[list-item]
    with pytest.raises(TypeError, match="list of variables"):
        aot.function(X, X)  # type: ignore[arg-type]


@pytest.mark.shows("tensor/10-inputs")
@BOTH
def test_number_and_names_of_arguments(run: Run) -> None:
    f = run(aot.function([X, Y], X - Y))
    for args, kwargs in (((1.0, 2.0, 3.0), {}), ((1.0,), {}), ((1.0, 2.0), {"y": 1.0}), ((1.0,), {"z": 1.0})):
        with pytest.raises(TypeError):
            f(*args, **kwargs)
    assert f(y=1.0, x=3.0) == f(3.0, y=1.0) == 2.0


def test_intermediate_variables_may_be_inputs() -> None:
    u = X * 2
    assert aot.function([u], u + 1)(5.0) == 6.0


# --- checks of values ------------------------------------------------------------------------------------------------

F, W = at.fscalar("f"), at.fvector("w")


@cache
def identity(dtype: str, rank: int, downcast: bool | None) -> Function:
    """x → x."""
    x = at.tensor("x", dtype=dtype, shape=(None,) * rank)
    return aot.function([x], x, allow_input_downcast=downcast)


@pytest.mark.shows("tensor/10-values")
@BOTH
@pytest.mark.parametrize(
    ("x", "value", "downcast", "is_fit"),
    [
        (V, np.array([1, 2]), None, True),
        (V, np.array([1, 2], "float32"), None, True),
        (V, np.array([True, False]), None, True),
        (V, [1, 2.5], None, True),
        (V, np.array([1j, 2]), None, False),
        (V, np.zeros((2, 2)), None, False),
        (V, 1.0, None, False),
        (V, "text", None, False),
        (W, np.array([1.0, 2.0]), None, False),
        (W, np.array([1.0, 2.0]), False, False),
        (W, np.array([1.1, 2.0]), True, True),
        (W, np.array([1, 2]), None, False),
        (W, np.array([1, 2], "int16"), None, True),
        (F, 0.5, None, True),
        (F, 1.1, None, False),
        (F, 1.1, True, True),
        (F, 3, None, True),
        (F, float("nan"), None, True),
        (at.lvector("i"), np.array([1.0, 2.0]), None, False),
        (at.lvector("i"), np.array([1.0, 2.0]), True, False),
        (at.bvector("i"), np.array([1, 2]), None, False),
        (at.bscalar("i"), 100, None, True),
        (at.bscalar("i"), 200, None, False),
        (at.scalar("u", dtype="uint8"), 3, None, True),
        (at.scalar("u", dtype="uint8"), -3, None, False),
        (at.scalar("u", dtype="bool"), 1, None, False),
        (F, np.float64(0.5), None, False),
        (W, [0.5, 0.25], None, True),
        (W, [], None, True),
        (W, np.array([1, 2]), True, True),
        (at.lscalar("i"), 1.0, None, False),
    ],
)
def test_values_are_checked(run: Run, x: Any, value: Any, downcast: bool | None, is_fit: bool) -> None:
    f = run(identity(x.dtype, x.ndim, downcast))
    if is_fit:
        np.testing.assert_array_equal(f(value), np.asarray(value).astype(x.dtype))
    else:
        with pytest.raises(TypeError):
            f(value)


# --- In, Out, aliasing -----------------------------------------------------------------------------------------------


@pytest.mark.shows("tensor/10-In")
def test_default_values_are_refused() -> None:
    for wrong in ({"value": 3.0}, {"value": 0.0}, {"update": X + 1}):
        with pytest.raises(ValueError, match="is not supported"):
            In(X, **wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"In: variable must be a Variable, not 3\.0"):
        In(3.0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="borrow=False"):
        In(X, mutable=True, borrow=False)


@BOTH
def test_named_inputs(run: Run) -> None:
    f = run(aot.function([In(X, name="left"), In(Y)], X - Y))
    assert f(left=3.0, y=1.0) == f(3.0, 1.0) == 2.0


@pytest.mark.shows("tensor/10-values")
@BOTH
def test_strict_and_downcast_of_single_inputs(run: Run) -> None:
    f = run(aot.function([In(V, strict=True), In(W, allow_downcast=True)], V + W))
    np.testing.assert_allclose(f(np.ones(2), np.array([0.1, 0.2])), [1.1, 1.2], rtol=1e-6)
    with pytest.raises(TypeError, match="v: expected an array of float64"):
        f(np.ones(2, "float32"), np.ones(2, "float32"))
    with pytest.raises(TypeError, match="v: expected an array"):
        f([1.0], np.ones(2, "float32"))
    g = run(aot.function([In(W, allow_downcast=False)], W, allow_input_downcast=True))
    with pytest.raises(TypeError, match="does not fit"):
        g(np.array([0.1]))


@pytest.mark.shows("tensor/10-In")
@BOTH
@pytest.mark.parametrize("options", [{}, {"borrow": True}, {"mutable": True}])
def test_arguments_are_never_changed_or_shared(run: Run, options: Any) -> None:
    mine = np.array([1.0, 2.0])
    same, total = run(aot.function([In(V, **options)], [Out(V, borrow=True), Out(at.cumsum(V))]))(mine)
    assert not np.shares_memory(same, mine)
    same[:] = total[:] = 0.0
    np.testing.assert_array_equal(mine, [1, 2])


@pytest.mark.shows("tensor/10-results")
@BOTH
def test_results_do_not_alias_what_the_function_keeps(run: Run) -> None:
    s = aot.shared(np.array([1.0, 2.0]))
    k = at.constant(np.array([3.0, 4.0]))
    f = run(aot.function([], [Out(s, borrow=True), s, k], updates={s: s + 1}))
    first = f()
    kept = [x.copy() for x in first]
    second = f()
    for x, y in zip(first, kept, strict=True):
        np.testing.assert_array_equal(x, y)
    for x in [*first, *second]:
        x[:] = -1.0
    np.testing.assert_array_equal(s.get_value(), [3, 4])
    np.testing.assert_array_equal(f()[2], [3, 4])


# --- outputs without a value -----------------------------------------------------------------------------------------


@pytest.mark.shows("tensor/10-null")
def test_null_and_disconnected_outputs() -> None:
    with pytest.raises(TypeError, match=r"output out has no value: \(no explanation given\)"):
        aot.function([X], null_type(), on_unused_input="ignore")
    with pytest.raises(TypeError, match="output out1 has no value: it is a disconnected gradient"):
        aot.function([X], [X, disconnected_type()])


# --- modes -----------------------------------------------------------------------------------------------------------


class Halved(Op):
    """x / 2, which is lowered to what the test says."""

    name = "halved"

    def __init__(self, rule: Any = None) -> None:
        self.rule = rule

    def infer_type(self, x: Any) -> Any:
        return x

    def reference(self, x: Any) -> Any:
        return x / 2

    def expand(self, inputs: Any) -> Any:
        return None if self.rule is None else [self.rule(inputs[0])]


@pytest.mark.shows("tensor/10-modes")
def test_fast_compile_runs_the_reference_and_compiles_nothing() -> None:
    s = aot.shared(1.0)
    f = aot.function([X], Halved()(X), "FAST_COMPILE", updates={s: s + X})
    assert f(3.0) == 1.5
    assert s.get_value() == 4.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert aot.function([X], at.log(X), mode="FAST_COMPILE")(0.0) == -np.inf


@pytest.mark.shows("tensor/10-modes")
@pytest.mark.parametrize("mode", [None, "FAST_RUN"])
def test_fast_run_compiles(mode: str | None) -> None:
    assert aot.function([X], Halved(lambda x: x * 0.5)(X), mode=mode)(3.0) == 1.5


@pytest.mark.shows("tensor/10-modes")
@pytest.mark.parametrize("mode", ["DEBUG_MODE", "DebugMode"])
def test_debug_mode_compares(mode: str) -> None:
    s = aot.shared(1.0, name="s")
    good = aot.function([X], [Halved(lambda x: x * 0.5)(X), X * 2], mode=mode, updates={s: s + X})
    assert good(3.0) == [1.5, 6.0]
    assert good(x=3.0) == [1.5, 6.0]
    assert s.get_value() == 7.0
    assert aot.function([X], {"a": X}, mode=mode)(3.0) == {"a": 3.0}
    assert aot.function([X], X, mode=mode)(3.0) == 3.0
    with pytest.raises(DisagreementError, match=r"out1: 0.75 instead of 1.5"):
        aot.function([X], [X, Halved(lambda x: x * 0.25)(X)], mode=mode)(3.0)
    with pytest.raises(DisagreementError, match="new_s: "):
        aot.function([X], updates={s: Halved(lambda x: x * 0.25)(X)}, mode=mode)(3.0)


def test_debug_mode_compares_refusals() -> None:
    class Positive(Halved):
        def reference(self, x: Any) -> Any:
            if x < 0:
                raise ValueError("x is negative")
            return x / 2

    with pytest.raises(DisagreementError, match="compiled code accepts what the reference refuses: x is negative"):
        aot.function([X], Positive(lambda x: x * 0.5)(X), mode="DEBUG_MODE")(-1.0)
    with pytest.raises(ValueError, match="extent"):
        aot.function([V, W], V + W, mode="DEBUG_MODE")(np.ones(2), np.ones(3, "float32"))


@pytest.mark.shows("tensor/10-modes")
def test_unknown_modes_are_refused() -> None:
    with pytest.raises(ValueError, match=r"mode must be one of .*, not 'FAST'"):
        aot.function([X], X, mode="FAST")


def test_profile_counts_calls() -> None:
    f = aot.function([X], X, profile=True)
    assert f.profile is not None
    f(1.0)
    f(2.0)
    assert f.profile.calls == 2
    assert f.profile.seconds >= f.profile.first_seconds > 0
    assert str(f.profile).startswith("2 calls, first ")
    assert aot.function([X], X).profile is None


def test_options_without_effect_are_accepted() -> None:
    assert aot.function([X], X, accept_inplace=True, trust_input=True, profile=False)(1.0) == 1.0


def test_an_input_has_a_name_that_is_a_keyword(tmp_path: Path) -> None:
    x = at.vector("lambda", dtype="float64", shape=("n",))
    f = aot.function([x], 2 * x, name="twice")
    assert str(inspect.signature(f)) == "(*args, **kwargs)"
    library = aot.compile(f, tmp_path).load()
    for call in (f, library.twice):
        assert call([1.0]).tolist() == call(**{"lambda": [1.0]}).tolist() == [2]
