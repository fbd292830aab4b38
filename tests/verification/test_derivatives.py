"""Verdicts on gradients: what is right passes, what is wrong is found and its op named, and noise is called noise."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from user_ops import Cube, Jittery, LogCosh

import aotensor as aot
import aotensor.tensor as at
from aotensor import OpFromGraph
from aotensor.api.function import Function
from aotensor.driver.build import Build
from aotensor.driver.recipe import Options
from aotensor.gradient import grad, grad_scale, undefined_grad
from aotensor.graph.variable import Variable
from aotensor.sampling.rounding import nearby
from aotensor.verification.answers import Answers
from aotensor.verification.derivatives import measure
from aotensor.verification.derivatives.check import GradientChecks
from aotensor.verification.derivatives.ladder import STEPS, Derivative, Ladder, judge_differences, judge_order
from aotensor.verification.derivatives.verdict import Gradient, Judgement, Verdict
from aotensor.verification.limits import Limits
from aotensor.verification.report import CheckFailed, CheckSkipped

RIGHT, WRONG, NOISY = Verdict


# --- the ladder ------------------------------------------------------------------------------------------------------


def ladder(f: Callable[[float], float], noise: float = 1e-15) -> Ladder:
    steps = np.array(STEPS)
    ahead, behind = ([f(sign * h) - f(0.0) for h in steps] for sign in (1, -1))
    return Ladder(steps, np.array(ahead), -np.array(behind), noise, abs(f(0.0)))


def both(f: Callable[[float], float], derivative: float, noise: float = 1e-15) -> tuple[Judgement, Judgement]:
    rungs, claimed = ladder(f, noise), Derivative(derivative, 1e-16 * abs(derivative), abs(derivative))
    return judge_order(rungs, claimed), judge_differences(rungs, claimed, 1e-6)


@pytest.mark.parametrize(
    ("f", "derivative"),
    [
        (lambda h: np.exp(h), 1.0),
        (lambda h: 3.0 + 2.0 * h, 2.0),
        (lambda h: 3.0, 0.0),
        (lambda h: h**3, 0.0),
        (lambda h: abs(h - 0.01), -1.0),
        (lambda h: np.floor(100 * h + 0.5), 0.0),
        (lambda h: np.sin(1e5 * h), 1e5),
    ],
)
def test_right_derivatives(f: Callable[[float], float], derivative: float) -> None:
    assert [x.verdict for x in both(f, derivative)] == [RIGHT, RIGHT]


def test_orders_are_fitted_above_the_rounding() -> None:
    assert both(np.exp, 1.0)[0].detail == "order 2.00"
    assert both(lambda h: h + h**3, 1.0)[0].detail == "order 3.00"
    assert both(lambda h: 2 + 3 * h, 3.0)[0].detail == "linear"
    assert both(lambda h: np.exp(h) + 1e-6 * np.sin(1e12 * h), 1.0, noise=1e-5)[0].verdict is RIGHT


@pytest.mark.parametrize("derivative", [1.001, 0.999, -1.0, 0.0, 1e6])
def test_wrong_derivatives(derivative: float) -> None:
    order, differences = both(np.exp, derivative)
    assert (order.verdict, differences.verdict) == (WRONG, WRONG)
    assert order.detail.startswith("order 1.0")
    assert "but the function says 1" in differences.detail


def test_curvature_at_few_steps_is_no_wrong_derivative() -> None:
    """Two steps stand above this much rounding, with errors of opposite signs."""
    rungs, derivative = ladder(lambda h: h + 0.5 * h**2 - 0.4 * h**3, noise=4e-4), Derivative(1.0, 1e-4, 1.0)
    assert judge_order(rungs, derivative).verdict is not WRONG
    assert judge_order(rungs, Derivative(1.5, 1e-4, 1.5)).verdict is WRONG


def test_wrong_derivatives_of_steep_and_flat_functions() -> None:
    assert both(lambda h: 5.0, 1.0)[0].verdict is WRONG
    assert both(lambda h: np.sin(1e5 * h), 1.1e5)[0].verdict is WRONG
    assert both(lambda h: 1 + 1e-9 * h, 2e-9)[0].verdict is WRONG


@pytest.mark.parametrize(
    ("f", "derivative", "reason"),
    [
        (abs, 1.0, "kink: derivative 1 on one side, -1 on the other"),
        (lambda h: max(h, 0.0) + h, 1.0, "kink: derivative 2 on one side, 1 on the other"),
        (np.heaviside, 0.0, "discontinuity"),
        (lambda h: np.sin(1e15 * h), 1e15, "changes faster"),
        (lambda h: abs(h) ** 1.5, 0.0, "order 1.50"),
        (lambda h: np.nan if h else 0.0, 0.0, "not finite"),
    ],
)
def test_noise_is_told_with_its_reason(f: Callable[[float], float], derivative: float, reason: str) -> None:
    if f is np.heaviside:
        f = lambda h: float(h > 0)  # noqa: E731  (np.heaviside takes two arguments)
    order, differences = both(f, derivative)
    assert order.verdict is NOISY
    assert reason in order.detail
    assert differences.verdict is not WRONG


def test_rounding_that_hides_the_derivative_is_noise() -> None:
    assert both(lambda h: 1 + 1e-9 * h, 2e-9, noise=1e-9)[0].verdict is NOISY
    assert judge_order(ladder(np.exp), Derivative(1.0, 0.5, 1.0)).detail.startswith("rounding hides the derivative")
    assert judge_order(ladder(np.exp), Derivative(np.nan, 0.0, 1.0)).detail == "the derivative is nan"


# --- functions -------------------------------------------------------------------------------------------------------


def _cubes(backward: float = 1.0, forward: float = 1.0, dtype: str = "float64") -> Function:
    x = at.vector("x", dtype=dtype)
    return aot.function([x], Cube(backward, forward)(x), name="cubes")


def _gradient(f: Function) -> Gradient:
    (gradient,) = GradientChecks(f, 0).gradients
    return gradient


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_right_derivatives_pass(dtype: str) -> None:
    checks = GradientChecks(_cubes(dtype=dtype), 0)
    assert checks.row("duality") == checks.row("Taylor order") == "2 of 2 derivatives right"
    with pytest.raises(CheckSkipped, match="not analytic"):
        checks.row("complex step")
    (gradient,) = checks.gradients
    assert gradient.verdict is RIGHT
    assert gradient.detail.split(", ")[1].startswith("order 2.0")


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_wrong_pullback_is_found_by_every_method(dtype: str) -> None:
    checks = GradientChecks(_cubes(backward=1.05, dtype=dtype), 0)
    for method in ("duality", "Taylor order", "differences"):
        with pytest.raises(CheckFailed, match=r"out by x \(reference\)"):
            checks.row(method)
    (gradient,) = checks.gradients
    assert gradient.verdict is WRONG
    assert gradient.culprit is not None
    assert gradient.culprit.startswith("pullback of cube{backward=1.05, forward=1.0}(x), made at test_derivatives.py:")


def test_wrong_pushforward_is_found_by_duality() -> None:
    checks = GradientChecks(_cubes(forward=1.05), 0)
    assert checks.row("Taylor order") == "2 of 2 derivatives right"
    with pytest.raises(CheckFailed, match="pushforward"):
        checks.row("duality")
    culprit = checks.gradients[0].culprit
    assert culprit is not None
    assert culprit.startswith("pushforward of cube")


def test_derivatives_that_are_wrong_in_both_modes_are_found_by_the_values() -> None:
    checks = GradientChecks(_cubes(backward=1.01, forward=1.01), 0)
    assert checks.row("duality") == "2 of 2 derivatives right"
    for method in ("Taylor order", "differences"):
        with pytest.raises(CheckFailed, match="the function says"):
            checks.row(method)
    culprit = checks.gradients[0].culprit
    assert culprit is not None
    assert culprit.startswith("pullback and pushforward of cube")


def test_the_first_wrong_op_of_a_graph_is_named() -> None:
    """Two wrong ones among right ones, one of them behind the other."""
    x, y = at.vector("x"), at.vector("y")
    inner = at.exp(x) + at.tanh(y)
    wrong = Cube(backward=2.0)(inner)
    f = aot.function([x, y], {"later": Cube(backward=3.0)(wrong * x).sum(), "right": (inner * y).sum()}, name="f")
    found = {(g.output, g.input): g for g in GradientChecks(f, 0).gradients}
    assert {pair: g.verdict for pair, g in found.items()} == {
        ("later", "x"): WRONG,
        ("later", "y"): WRONG,
        ("right", "x"): RIGHT,
        ("right", "y"): RIGHT,
    }
    culprit = found["later", "y"].culprit
    assert culprit is not None
    assert "cube{backward=2.0, forward=1.0}(exp(x) + tanh(y)), made at " in culprit
    assert wrong.site is not None
    assert f"made at {wrong.site}: by " in culprit


def _powers(backward: float = 1.0) -> Function:
    x = at.vector("x", dtype="float64", shape=(3,))
    states, _ = at.scan(lambda old: Cube(backward)(old) * 0.5 + 0.1, None, x, n_steps=3)
    return aot.function([x], {"cubes": states[-1], "sum": states[-1].sum()}, name="powers")


@pytest.mark.parametrize("backward", [1.0, 1.01])
def test_derivatives_of_long_loops_are_checked_by_compiled_code(backward: float) -> None:
    """Without an evaluation by the reference, differences of compiled code find what is wrong."""
    f, limits = _powers(backward), Limits(point=1)
    checks, build = GradientChecks(f, 0, limits), Build([f], None, Options(opt_level=0))
    checks.compile(build, Answers(f, 2, 0, limits), None)
    note = "; at 2 of 2 points by compiled code only: the loops of the reference need too many evaluations"
    with pytest.raises(CheckSkipped, match="the loops of the reference need too many"):
        checks.row("complex step")
    if backward == 1:
        assert checks.row("duality") == checks.row("differences") == f"4 of 4 derivatives right{note}"
    assert {x.verdict for x in checks.gradients} == ({RIGHT} if backward == 1 else {WRONG})
    assert {x.execution for gradient in checks.gradients for x in gradient.findings} == {"compiled"}


def test_derivatives_of_many_operations_are_left_out() -> None:
    f, limits = _powers(), Limits(point=1, derivatives=30)
    checks, build = GradientChecks(f, 0, limits), Build([f], None, Options(opt_level=0))
    assert "derivatives of more than 30 operations are left out (" in checks.compile(
        build, Answers(f, 1, 0, limits), None
    )
    verdicts = {x.output: (x.verdict, x.detail) for x in checks.gradients}
    assert sorted(verdict.value for verdict, _ in verdicts.values()) == ["right", "too noisy to tell"]
    assert any("operations, and the loops of the reference need too many" in text for _, text in verdicts.values())
    none = GradientChecks(f, 0, Limits(point=1, derivatives=1))
    with pytest.raises(CheckSkipped, match="more than 1 operations are left out"):
        none.compile(build, Answers(f, 1, 0, limits), None)
    with pytest.raises(CheckSkipped, match="the loops of the reference need too many"):
        none.row("duality")
    assert {x.verdict for x in none.gradients} == {NOISY}


def test_complex_step_finds_what_is_wrong_by_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative error of 1e-8 is far below what differences see."""
    monkeypatch.setattr(Cube, "is_analytic", True)
    checks = GradientChecks(_cubes(backward=1 + 1e-8, forward=1 + 1e-8), 0)
    assert checks.row("differences") == "2 of 2 derivatives right"
    with pytest.raises(CheckFailed, match="complex step gives"):
        checks.row("complex step")


def test_complex_step_looks_inside_of_composites() -> None:
    a, b, x = at.scalar("a"), at.scalar("b"), at.scalar("x")
    inner = OpFromGraph([a, b], [at.sin(a) * b])
    outer = OpFromGraph([a], [inner(a, a * 2) + 1.0])
    gradient = _gradient(aot.function([x], at.exp(outer(x)), name="f"))
    assert gradient.verdict is RIGHT
    assert "complex step" in gradient.detail


def test_a_noisy_function_is_no_wrong_one() -> None:
    x = at.vector("x")
    gradient = _gradient(aot.function([x], Jittery()(x), name="f"))
    assert gradient.verdict is NOISY
    assert gradient.detail.startswith("rounding")
    assert gradient.culprit is None


@pytest.mark.parametrize("build", [lambda x: at.sin(x * 1e16), lambda x: at.maximum(x, -9) + 1e18 - 1e18])
def test_steep_and_cancelling_functions_are_noisy(build: Callable[[Variable], Variable]) -> None:
    x = at.vector("x")
    assert _gradient(aot.function([x], build(x), name="f")).verdict is NOISY


def test_extents_that_depend_on_values_are_noise() -> None:
    """Any step away from 0 makes one more element that is not zero."""
    x = at.vector("x")
    f = aot.function([x], x[at.neq(x, 0)] * 2.0, name="f")
    assert _gradient(f).verdict is RIGHT
    checks = GradientChecks(aot.function([x], at.concatenate([x, x - x])[at.neq(at.concatenate([x, x - x]), 0)]), 0)
    assert [g.verdict for g in checks.gradients] == [RIGHT]
    judged = judge_order(Ladder(np.array(STEPS), np.ones(16), np.ones(16), np.nan, 1.0), Derivative(1.0, 0.0, 1.0))
    assert judged == Judgement(
        NOISY, "the function is not defined, or has other extents, where values are off by an ulp"
    )


def test_derivatives_that_cancel_are_not_wrong() -> None:
    """A softmax of large differences: what is left of its derivatives has lost half of its digits."""
    x = at.vector("x")
    assert _gradient(aot.function([x], at.softmax(x * 30), name="f")).verdict is RIGHT


@pytest.mark.parametrize("build", ["scan", "ifelse"])
def test_rounding_is_measured_inside_of_bodies(build: str, rng: np.random.Generator) -> None:
    """1 − tanh² at 15 moves by whole ulps of 1 if the tanh is moved, also where a loop or a branch computes it."""
    x = at.vector("x")
    lines = {
        "scan": lambda: aot.scan(lambda a: 1 - at.sqr(at.tanh(a)), x)[0],
        "ifelse": lambda: aot.ifelse(at.gt(x[0], 0), 1 - at.sqr(at.tanh(x)), x),
    }
    values = {x: np.full(4, 15.0)}
    exact = (1 - at.sqr(at.tanh(x))).eval(values)
    moved = np.stack([nearby([lines[build]()], values, rng)[0] for _ in range(3)])
    assert np.abs(moved - exact).max() > np.finfo(float).eps / 2
    np.testing.assert_array_equal(nearby([lines[build]()], values, rng, only_leaves=True)[0], exact)


def test_gradients_changed_on_purpose_are_not_wrong() -> None:
    x = at.vector("x")
    gradient = _gradient(aot.function([x], grad_scale(at.exp(x), -2.0), name="f"))
    assert gradient.verdict is NOISY
    assert gradient.detail.startswith("grad_scale, made at test_derivatives.py:")
    loop = aot.scan(lambda a, s: at.tanh(s * 0.9 + a), x, at.constant(0.0), truncate_gradient=1)[0]
    truncated = _gradient(aot.function([x], loop[-1], name="f"))
    assert truncated.verdict is NOISY
    assert truncated.detail.startswith("scan, made at test_derivatives.py:")
    both_reasons = _gradient(aot.function([x], grad_scale(Cube(backward=2.0)(x), -2.0), name="f"))
    assert both_reasons.verdict is WRONG
    assert both_reasons.culprit is not None


def test_what_has_no_gradient_is_skipped_with_the_reason() -> None:
    i, x = at.lvector("i"), at.vector("x")
    with pytest.raises(CheckSkipped, match="no floating output depends on a floating input"):
        GradientChecks(aot.function([i], i + 1), 0).row("duality")
    with pytest.raises(CheckSkipped, match=r"out: .*undefined"):
        GradientChecks(aot.function([x], undefined_grad(x)), 0).row("duality")


def test_second_derivatives_are_checked_like_first_ones() -> None:
    x = at.vector("x")
    gradient = _gradient(aot.function([x], grad(at.sum(at.exp(x) * at.sin(x)), x), name="f"))
    assert gradient.verdict is RIGHT
    assert "complex step" in gradient.detail


# --- reports ---------------------------------------------------------------------------------------------------------


def test_report_has_a_verdict_per_gradient() -> None:
    x, w = at.vector("x"), at.scalar("w")
    f = aot.function([x, w], {"y": at.exp(x * w), "z": Cube(backward=1.05)(x)}, name="f")
    report = f.verify(samples=2)
    assert not report
    assert {(g.output, g.input): g.verdict for g in report.gradients} == {
        ("y", "x"): RIGHT,
        ("y", "w"): RIGHT,
        ("z", "x"): WRONG,
    }
    checks = {x.name: x.verdict for x in report.checks}
    assert checks["gradients compiled"] == "ok"
    assert checks["gradients by complex step"] == "ok"
    assert checks["gradients by duality"] == "failed"
    rows = {name: (verdict, detail) for name, verdict, detail in report.gradient_rows()}
    assert rows["y by x, w"][0] == "right"
    assert "; compiled: duality" in rows["y by x, w"][1]
    assert rows["z by x"][0] == "wrong"
    assert "first wrong: pullback of cube" in rows["z by x"][1]
    tree = report.to_json()["gradients"]
    assert [g["verdict"] for g in tree] == ["right", "right", "wrong"]
    assert {(m["method"], m["execution"]) for m in tree[0]["methods"]} >= {
        ("Taylor order", "reference"),
        ("Taylor order", "compiled"),
        ("complex step", "compiled"),
    }


def test_noise_alone_does_not_fail_a_report() -> None:
    x = at.vector("x")
    report = aot.function([x], at.sin(x * 1e16), name="f").verify(samples=2)
    assert report, str(report)
    assert [g.verdict for g in report.gradients] == [NOISY]


def test_compiled_gradients_are_compared_too() -> None:
    """The rules are right and the code of one op is wrong: only compiled gradients are blamed."""
    x = at.vector("x")
    report = aot.function([x], LogCosh()(x), name="f").verify(samples=2)
    checks = {x.name: x for x in report.checks}
    assert checks["compiled against reference"].verdict == "ok"
    assert checks["gradients compiled"].verdict == "failed"
    assert checks["gradients by Taylor order"].verdict == "failed"
    (gradient,) = report.gradients
    assert gradient.verdict is WRONG
    assert "(compiled)" in gradient.detail
    assert gradient.culprit is None
    assert {x.execution for x in gradient.findings if x.verdict is WRONG} == {"compiled"}


def test_each_method_works_in_its_own_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """Progress moves on with the rows: none of them does the work of those after it."""
    done: list[str] = []
    for name in ("_ladders", "_complex_step"):
        original = getattr(measure, name)
        monkeypatch.setattr(measure, name, lambda *given, f=original, n=name: (done.append(n), f(*given))[1])
    x = at.vector("x")
    checks = GradientChecks(aot.function([x], at.exp(x).sum(), name="f"), seed=0)
    assert checks.row("duality").endswith("derivatives right")
    assert done == []
    assert checks.row("Taylor order").endswith("derivatives right")
    assert set(done) == {"_ladders"}
    checks.row("differences")
    assert set(done) == {"_ladders"}
    checks.row("complex step")
    assert set(done) == {"_ladders", "_complex_step"}
