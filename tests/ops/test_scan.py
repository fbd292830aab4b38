"""scan, its relatives and ifelse: arguments, options, states, gradients, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import aotensor as aot
import aotensor.tensor as at
from aotensor.errors import DisconnectedInputError, GraphTypeError, GraphValueError, NullTypeGradError, UnsupportedError
from aotensor.gradient import Rop, disconnected_grad, hessian, jacobian, undefined_grad, zero_grad
from aotensor.graph.variable import Variable

X = np.arange(1.0, 6)


def scan(*args: Any, **options: Any) -> Any:
    """The outputs alone."""
    return aot.scan(*args, return_updates=False, **options)


# --- arguments and results -------------------------------------------------------------------------------------------


def test_arguments_come_in_order() -> None:
    """Taps of sequences, then taps of outputs as they are listed, then non-sequences."""
    seen: list[str] = []

    def step(*arguments: Variable) -> list[Variable]:
        seen.extend(str(x) for x in arguments)
        return [arguments[0], arguments[0]]

    x, y, h, g, w = at.vector("x"), at.vector("y"), at.scalar("h"), at.vector("g"), at.scalar("w")
    scan(step, [{"input": x, "taps": [-1, 1]}, y], [h, {"initial": g, "taps": [-1, -3]}], [w])
    assert seen == ["x[t-1]", "x[t+1]", "y[t]", "h[t-1]", "g[t-1]", "g[t-3]", "w"]


@pytest.mark.shows("tensor/8-scan-results")
def test_results_have_the_asked_form() -> None:
    x = at.vector("x")
    single, updates = aot.scan(lambda row: row, x)
    assert isinstance(single, Variable)
    assert updates == {}
    assert isinstance(scan(lambda row: row, x, return_list=True), list)
    assert isinstance(scan(lambda row: [row], x), Variable)
    assert len(scan(lambda row: (row, row * 2), x)) == 2
    assert scan(lambda row: [], x) == []


@pytest.mark.parametrize(
    "returned",
    [
        lambda x, c, s: (x, {s: x}, aot.until(c)),
        lambda x, c, s: ([x], {s: x}, aot.until(c)),
        lambda x, c, s: ([x], [(s, x)], aot.until(c)),
        lambda x, c, s: ({s: x}, aot.until(c), x),
    ],
)
def test_a_step_may_return_in_any_order(returned: Callable[..., Any]) -> None:
    s = aot.shared(0.0, "s")
    output, updates = aot.scan(lambda row: returned(row, row > 2.0, s), at.constant(X))
    np.testing.assert_array_equal(output.eval(), [1, 2, 3])
    assert float(updates[s].eval()) == 3.0


@pytest.mark.shows("tensor/8-scan-results")
def test_shared_variables_are_read_and_updated() -> None:
    """Each step reads what the step before wrote; a closure over one that is not updated is a non-sequence."""
    count, factor = aot.shared(np.int64(2), "count"), aot.shared(10.0, "factor")
    output, updates = aot.scan(lambda row: (row * factor + count, {count: count + 1}), at.constant(X))
    f = aot.function([], output, updates=updates, name="counted")
    np.testing.assert_array_equal(f.reference(), 10 * X + np.arange(2, 7))
    assert count.get_value() == 7
    np.testing.assert_array_equal(f.reference(), 10 * X + np.arange(7, 12))


def test_a_number_as_initial_value_takes_the_dtype_of_what_it_becomes() -> None:
    assert scan(lambda row, old: row * 2 + at.cast(old, "float32"), at.fvector("x"), 0.0).dtype == "float32"
    assert scan(lambda row, old: old + row, at.lvector("x"), 0).dtype == "int64"


def test_extents_that_are_known_are_in_the_types() -> None:
    x = at.tensor("x", shape=("n", 3))
    assert scan(lambda row: row.sum(), x).type.shape == ("n",)
    assert scan(lambda row: row, at.tensor("x", shape=(4, 3))).type.shape == (4, 3)
    assert scan(lambda old: old * 2, None, at.vector("h", shape=(2,)), n_steps=5).type.shape == (5, 2)


@pytest.mark.shows("tensor/8-scan-checks")
def test_the_shortest_sequence_decides() -> None:
    x, y = at.vector("x"), at.vector("y")
    both = scan(lambda a, b: a + b, [x, y])
    np.testing.assert_array_equal(both.eval({x: X, y: X[:2]}), [2, 4])
    np.testing.assert_array_equal(both.eval({x: X[:1], y: X}), [2])


@pytest.mark.shows("tensor/8-numbers")
def test_power_and_polynomial() -> None:
    """The examples that everybody starts with."""
    a, k = at.vector("a"), at.iscalar("k")
    power = scan(lambda prior, a: prior * a, None, at.ones_like(a), a, n_steps=k)[-1]
    np.testing.assert_array_equal(power.eval({a: X, k: 3}), X**3)
    coefficients, x = at.vector("c"), at.scalar("x")
    terms = scan(lambda c, i, x: c * x**i, [coefficients, at.arange(10)], None, x)
    assert float(terms.sum().eval({coefficients: np.array([1.0, 0, 2]), x: 3.0})) == 19.0


# --- gradients -------------------------------------------------------------------------------------------------------


@pytest.mark.shows("tensor/8-numbers")
def test_gradient_of_a_running_product() -> None:
    x, s = at.vector("x"), at.scalar("s")
    last = scan(lambda row, old: row * old, x, s)[-1]
    for derivative, expected in zip(aot.grad(last, [x, s]), ([240, 120, 80, 60, 48], 120), strict=True):
        np.testing.assert_allclose(derivative.eval({x: X, s: 2.0}), expected)


@pytest.mark.shows("tensor/8-truncate_gradient")
def test_a_truncated_gradient_sees_the_last_steps() -> None:
    """Of s·x₀·x₁·x₂·x₃·x₄, the derivatives of the last two factors; none of what came before."""
    x, s = at.vector("x"), at.scalar("s")
    last = scan(lambda row, old: row * old, x, s, truncate_gradient=2)[-1]
    derivatives = aot.grad(last, [x, s])
    np.testing.assert_allclose(derivatives[0].eval({x: X, s: 2.0}), [0, 0, 0, 60, 48])
    assert float(derivatives[1].eval({x: X, s: 2.0})) == 0.0
    np.testing.assert_allclose(derivatives[0].eval({x: X[:2], s: 2.0}), [4, 2])
    assert float(derivatives[1].eval({x: X[:2], s: 2.0})) == 2.0


def test_rows_that_no_step_reads_have_derivative_zero() -> None:
    x = at.vector("x")
    total = scan(lambda row: at.sqr(row), x, n_steps=2).sum()
    np.testing.assert_allclose(aot.grad(total, x).eval({x: X}), [2, 4, 0, 0, 0])


def test_gradient_after_no_steps() -> None:
    x, s = at.vector("x"), at.scalar("s")
    total = aot.reduce(lambda row, old: row * old, x, s, return_updates=False)
    derivatives = aot.grad(at.sqr(total), [x, s])
    assert derivatives[0].eval({x: np.zeros(0), s: 3.0}).shape == (0,)
    assert float(derivatives[1].eval({x: np.zeros(0), s: 3.0})) == 6.0


def test_disconnected_zero_and_null_are_told_apart() -> None:
    x, s = at.vector("x"), at.scalar("s")
    cut = scan(lambda row, s: row * disconnected_grad(s), x, None, s).sum()
    with pytest.raises(DisconnectedInputError):
        aot.grad(cut, s)
    flat = scan(lambda row, s: row * zero_grad(s), x, None, s).sum()
    assert float(aot.grad(flat, s).eval({x: X, s: 2.0})) == 0.0
    null = scan(lambda row, old, s: [old * s + row, undefined_grad(s)], x, [at.constant(1.0), None], s)
    with pytest.raises(NullTypeGradError):
        aot.grad(null[1].sum(), s)
    np.testing.assert_allclose(aot.grad(null[0][-1], x).eval({x: X[:2], s: 3.0}), [3, 1])


def test_a_null_gradient_poisons_earlier_steps_only() -> None:
    h = at.scalar("h")
    last = scan(lambda row, old, s: undefined_grad(old) * s + row, x, h, s)[-1]
    with pytest.raises(NullTypeGradError):
        aot.grad(last, h)
    with pytest.raises(NullTypeGradError):
        Rop(last, h, np.float64(1.0))


def test_a_step_counter_has_no_influence() -> None:
    x, n = at.scalar("x"), at.lscalar("n")
    last = scan(lambda old: old * 2.0, None, x, n_steps=n)[-1]
    with pytest.raises(DisconnectedInputError):
        aot.grad(last, n)
    assert float(aot.grad(last, x).eval({x: 1.0, n: 5})) == 32.0


@pytest.mark.shows("tensor/8-scan_checkpoints")
def test_checkpoints_give_the_same_gradient() -> None:
    x, h, w = at.matrix("x"), at.vector("h"), at.matrix("w")
    step: Callable[..., Variable] = lambda row, old, w: at.tanh(w @ old + row)  # noqa: E731
    rng = np.random.default_rng(0)
    values = {x: rng.normal(size=(7, 2)), h: rng.normal(size=2), w: rng.normal(size=(2, 2))}
    whole = scan(step, x, h, w)
    for size in (1, 3, 7, 10):
        some = aot.scan_checkpoints(step, x, h, w, save_every_N=size, return_updates=False)
        kept = [min(k + size, 7) - 1 for k in range(0, 7, size)]
        np.testing.assert_allclose(some.eval(values), whole.eval(values)[kept])
        expected = aot.grad(at.sqr(whole[kept]).sum(), [x, h, w])
        for one, other in zip(aot.grad(at.sqr(some).sum(), [x, h, w]), expected, strict=True):
            np.testing.assert_allclose(one.eval(values), other.eval(values), rtol=1e-12, atol=1e-14)


def test_checkpoints_without_padding_divide_the_steps() -> None:
    x = at.vector("x")
    total = aot.scan_checkpoints(
        lambda row, old: row + old, x, at.constant(0.0), save_every_N=2, padding=False, return_updates=False
    )
    np.testing.assert_array_equal(total.eval({x: X[:4]}), [3, 10])
    with pytest.raises(ValueError, match="reshape"):
        total.eval({x: X})


@pytest.mark.shows("gradient/6-vectorize", "gradient/6-agree")
@pytest.mark.parametrize("wrt", ["x", "w"])
def test_jacobians_by_a_loop_are_the_same(wrt: str) -> None:
    variables = {"x": at.vector("x"), "w": at.matrix("w")}
    x, w = variables.values()
    values = {x: np.array([0.3, -0.7]), w: np.arange(6.0).reshape(3, 2) / 5}
    y = at.tanh(w @ x)
    looped = jacobian(y, variables[wrt], vectorize=False)
    np.testing.assert_allclose(looped.eval(values), jacobian(y, variables[wrt]).eval(values))


@pytest.mark.shows("gradient/6-vectorize", "gradient/6-agree")
def test_hessians_by_a_loop_are_the_same() -> None:
    x = at.vector("x")
    cost = at.exp(x).prod() + scan(lambda row, old: at.sin(row * old), x, 1.0)[-1]
    looped, values = hessian(cost, x, vectorize=False), {x: np.array([0.3, -0.7, 0.2])}
    np.testing.assert_allclose(looped.eval(values), hessian(cost, x).eval(values), rtol=1e-12)


# --- errors ----------------------------------------------------------------------------------------------------------

x, s, v, m = at.vector("x"), at.scalar("s"), at.vector("v", shape=(2,)), at.matrix("m")
Refused = tuple[Callable[[], Any], type[Exception], str]
REFUSED: list[Refused] = [
    (lambda: aot.scan(3, x), GraphTypeError, "fn must be a function"),
    (lambda: aot.scan(lambda a: a, s), GraphTypeError, "sequence 0 is a scalar"),
    (lambda: aot.scan(lambda a: a, {"output": x}), GraphValueError, "a dict with the keys input and taps"),
    (lambda: aot.scan(lambda a: a, {"input": x, "taps": [0.5]}), GraphTypeError, "taps of sequence 0 must be ints"),
    (lambda: aot.scan(lambda a, b: a, {"input": x, "taps": [1, 1]}), GraphValueError, "distinct"),
    (lambda: aot.scan(lambda a: a, None, s), GraphValueError, "n_steps is needed"),
    (lambda: aot.scan(lambda a: a, None, s, n_steps=-1), GraphValueError, "n_steps must not be negative, found -1"),
    (lambda: aot.scan(lambda a: a, None, s, n_steps=1.5), GraphTypeError, "n_steps must be an integer"),
    (lambda: aot.scan(lambda a: a, v, n_steps=3), GraphValueError, "sequence 0 has rows for 2 steps, but n_steps is 3"),
    (lambda: aot.scan(lambda a, b: a, x, {"initial": x, "taps": [0]}), GraphValueError, "steps in the past"),
    (lambda: aot.scan(lambda a, b: a, x, {"taps": [-1]}), GraphValueError, "taps but no initial value"),
    (lambda: aot.scan(lambda a, b: a, x, {"initial": s, "tap": -1}), GraphValueError, "with the keys initial and taps"),
    (lambda: aot.scan(lambda a, b: a, x, {"initial": v, "taps": [-3]}), GraphValueError, "but its taps need 3"),
    (lambda: aot.scan(lambda a, b: a, x, {"initial": s, "taps": [-2]}), GraphValueError, "needs 2 rows"),
    (lambda: aot.scan(lambda a, b, c: a, x, [s, s]), GraphValueError, "returns 1 outputs, outputs_info has 2"),
    (lambda: aot.scan(lambda a, b: a, x, at.fscalar("h")), GraphValueError, "starts as float32 and becomes float64"),
    (lambda: aot.scan(lambda a, b: x, x, s), GraphValueError, "initial value of rank 0"),
    (lambda: aot.scan(lambda a, b: at.concatenate([v, v]), x, v), GraphValueError, "extents 2 and 4 along axis 0"),
    (lambda: aot.scan(lambda a: "a", x), GraphTypeError, "a step must return variables"),
    (lambda: aot.scan(lambda a: ([a], [a]), x), GraphTypeError, "in one list"),
    (lambda: aot.scan(lambda a: (a, {s: a}), x), GraphTypeError, "only shared variables"),
    (lambda: aot.scan(lambda a: (a, aot.until(x > 0)), x), GraphTypeError, "until must be a scalar"),
    (lambda: aot.scan(lambda a: a * s, x, strict=True), GraphValueError, "uses s, which is not among its arguments"),
    (lambda: aot.scan(lambda a: a, x, truncate_gradient=0.5), GraphTypeError, "truncate_gradient"),
    (lambda: aot.reduce(lambda a: a, x, None), GraphValueError, "an initial value for every output"),
    (lambda: aot.scan_checkpoints(lambda a: a, x, save_every_N=0), GraphValueError, "save_every_N"),
    (lambda: aot.scan_checkpoints(lambda a: a, {"input": x, "taps": [1]}), GraphValueError, "taps"),
    (lambda: aot.ifelse(x, s, s), GraphTypeError, "the condition must be a scalar"),
    (lambda: aot.ifelse(s, [s], s), GraphTypeError, "must be values, or both lists"),
    (lambda: aot.ifelse(s, [s], [s, s]), GraphValueError, "1 values in one branch, 2"),
    (lambda: aot.ifelse(s, s, x), GraphTypeError, "must have one dtype and one rank"),
]  # fmt: skip


@pytest.mark.shows("tensor/8-scan-checks")
@pytest.mark.parametrize("refused", REFUSED, ids=lambda refused: str(refused[2]).replace(" ", "-"))
def test_what_does_not_fit_is_refused(refused: Refused) -> None:
    make, kind, text = refused
    with pytest.raises(kind, match=text):
        make()


def test_strict_accepts_what_is_given() -> None:
    w = aot.shared(2.0, "w")
    found = scan(lambda a, w, s: a * w + s, x, None, [w, s], strict=True)
    np.testing.assert_array_equal(found.eval({x: X, s: 1.0}), 2 * X + 1)


@pytest.mark.shows("tensor/8-scan-checks")
def test_lengths_are_checked_at_run_time() -> None:
    n = at.lscalar("n")
    found = scan(lambda a: a, x, n_steps=n)
    with pytest.raises(ValueError, match="sequence 0 has 5 rows for 6 steps"):
        found.eval({x: X, n: 6})
    with pytest.raises(ValueError, match="n_steps must not be negative, found -1"):
        found.eval({x: X, n: -1})
    h = at.vector("h")
    growing = scan(lambda a, old: at.concatenate([old, old]), x, h)
    with pytest.raises(ValueError, match="the shape of state 0 changes"):
        growing.eval({x: X, h: X})


# --- samples of loops that end by a condition ------------------------------------------------------------------------


def test_samples_leave_a_loop_one_by_one() -> None:
    """Heron's square roots of a batch: each sample keeps its value once it is done, as if it were alone."""
    a, many = at.scalar("a"), at.vector("many", shape=("m",))

    def step(k: Variable, x: Variable, count: Variable) -> Any:
        new = 0.5 * (x + a / x)
        return [new, count + 1], aot.until(at.abs(new - x) < 1e-3)

    x, count = aot.reduce(step, at.arange(50), [at.constant(1.0), at.constant(0)], return_updates=False)
    wide = at.vectorize_graph([x, count], {a: many})
    f = aot.function([many], [*wide, aot.grad(wide[0].sum(), many)])
    single = aot.function([a], [x, count, aot.grad(x, a)])
    points = np.array([2.0, 1.0, 1e6, 0.01])
    alone = [np.array(row) for row in zip(*(single(point) for point in points), strict=True)]
    assert len(set(alone[1])) == 4
    for found in (f(points), f.reference(points)):
        for one, other in zip(found, alone, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-13)
    assert f(np.zeros(0))[0].shape == (0,)


def test_samples_do_not_leave_a_loop_that_stacks_one_by_one() -> None:
    a, many = at.scalar("a"), at.vector("many")
    rows = scan(lambda x: (x / 2, aot.until(x < a)), outputs_info=[at.constant(1.0)], n_steps=9)
    with pytest.raises(UnsupportedError, match="differs from sample to sample of the batch, in a loop that stacks"):
        at.vectorize_graph(rows, {a: many})
