"""Values and derivatives of formulas that overflow, underflow or cancel, where they do, against mpmath."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tools.stabilizations.__main__ import page
from tools.stabilizations.cases import CASES, LOGARITHMS, ROOTS
from tools.stabilizations.measure import derivatives, points_of, truth_of
from tools.stabilizations.others import PYTENSOR

import aotensor as aot
import aotensor.tensor as at
from aotensor.core.types import Array
from aotensor.errors import DisconnectedInputError
from aotensor.gradient import Rop, disconnected_grad, grad, grad_clip, hessian
from aotensor.graph.variable import Variable
from aotensor.ops.stable.forms import use_stable_forms

DTYPES = ("float64", "float32")
TOLERANCE = {"float64": (1e-11, 1e-9, 1e-8), "float32": (1e-5, 1e-3, 2e-2)}
"""Of value, first and second derivative; the second ones of tails are differences of what rounds."""


TINY = {"float64": 1e-100, "float32": 1e-37}


@cache
def truth(name: str, dtype: str) -> list[list[float]]:
    return truth_of(CASES[name], points_of(CASES[name], dtype))


def is_right(found: list[Array], name: str, dtype: str) -> bool:
    return all(
        np.allclose(one, wanted, rtol=bound, atol=TINY[dtype])
        for one, wanted, bound in zip(found, truth(name, dtype), TOLERANCE[dtype], strict=False)
    )


def reference(name: str, dtype: str) -> list[Array]:
    x = at.tensor("x", dtype=dtype, shape=("n",))
    with np.errstate(all="ignore"):
        found: Any = aot.function([x], derivatives(CASES[name], x)).reference(points_of(CASES[name], dtype))
    return list(found)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CASES)
def test_reference(name: str, dtype: str) -> None:
    found = reference(name, dtype)
    assert is_right(found, name, dtype), (found, truth(name, dtype))


@pytest.mark.parametrize("part", range(6))
@pytest.mark.parametrize("dtype", DTYPES)
def test_compiled(part: int, dtype: str) -> None:
    xs = {name: at.tensor(f"x{k}", dtype=dtype, shape=(f"n{k}",)) for k, name in enumerate(CASES) if k % 6 == part}
    results = {name: derivatives(CASES[name], x) for name, x in xs.items()}
    f = aot.function(list(xs.values()), [y for found in results.values() for y in found])
    computed = iter(f(*(points_of(CASES[name], dtype) for name in xs)))
    wrong = {}
    for name, found in results.items():
        values = [next(computed) for _ in found]
        if not is_right(values, name, dtype):
            wrong[name] = (values, truth(name, dtype))
    assert not wrong


@pytest.mark.parametrize("name", CASES)
def test_without_its_rule_it_is_wrong(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case = CASES[name]
    module, _, table = case.table.partition(":")
    rules = dict(getattr(importlib.import_module(module), table))
    for rule in case.rules:
        del rules[rule]
    monkeypatch.setattr(f"{module}.{table}", rules)
    assert not all(is_right(reference(name, dtype), name, dtype) for dtype in DTYPES)


def test_every_rule_has_a_case() -> None:
    for symbol in (ROOTS, LOGARITHMS):
        module, _, table = symbol.partition(":")
        rules = getattr(importlib.import_module(module), table)
        assert set(rules) == {rule for case in CASES.values() if case.table == symbol for rule in case.rules}


def test_the_page_names_what_there_is() -> None:
    """The page is made by a command, and none of its rows is about something else than a case."""
    assert {name for names in PYTENSOR.values() for name in names} <= set(CASES)
    text = (Path(__file__).parents[2] / "docs/stabilizations.md").read_text(encoding="utf-8")
    rows = [line.split(" | ")[0] for line in page(lambda case: [0.0] * (case.orders + 1)).splitlines() if "|" in line]
    assert rows == [line.split(" | ")[0] for line in text.splitlines() if "|" in line]


# --- what users rely on ----------------------------------------------------------------------------------------------


def test_the_formulas_of_the_issue() -> None:
    x, v = at.dscalar("x"), at.dvector("v")
    first = [at.log1p(-at.sigmoid(x)), at.log(at.exp(10 * x)), -at.log(1 - at.sigmoid(0.4 * x))]
    slopes = [grad(y, x) for y in first]
    found: Any = [hessian(at.sum(1 / (1 + at.exp(-v))), v), *slopes, *(grad(y, x) for y in slopes)]
    f = aot.function([x, v], found)
    for values in (f(100.0, [-800.0, 800.0]), f.reference(100.0, [-800.0, 800.0])):
        np.testing.assert_array_equal(values[0], np.zeros((2, 2)))
        np.testing.assert_allclose(values[1:], [-1, 10, 0.4, 0, 0, 0], atol=1e-17)


def test_intermediate_variables_keep_their_gradients() -> None:
    """By e = exp(x), log(e) has the derivative 1/e, whatever it is of x."""
    x = at.dscalar("x")
    e = at.exp(x)
    y = at.log(e)
    by_both = grad(y, [e, x])
    stopped = grad(y + x, x, consider_constant=[e])
    known = grad(y, x, known_grads={e: at.constant(5.0)})
    forward = Rop(y, e, 1.0)
    for found in (aot.function([x], [*by_both, stopped, known, forward]).reference(0.5),):
        np.testing.assert_allclose(found, [np.exp(-0.5), 1, 1, 5 * np.exp(0.5), np.exp(-0.5)], rtol=1e-15)


def test_controls_of_gradients_end_a_formula() -> None:
    x = at.dscalar("x")
    with pytest.raises(DisconnectedInputError):
        grad(at.log(disconnected_grad(at.exp(x))), x)
    clipped = grad(at.log(grad_clip(at.exp(x), -0.5, 0.5)), x)
    assert aot.function([x], clipped).reference(-2.0) == pytest.approx(0.5 * np.exp(-2))


def test_a_constant_derivative_is_connected() -> None:
    x = at.dscalar("x")
    slope = grad(at.log(at.exp(x)), x)
    assert aot.function([x], grad(slope, x)).reference(3.0) == 0


def test_signs_are_proved() -> None:
    """log(a·b) of two negative numbers is no sum of logarithms, and neither is that of a square."""
    x = at.dvector("x")
    y = at.log((1 - at.exp(x)) * (1 - at.exp(2 * x))) + at.log(at.sqr(1 - at.exp(x))) + at.log(x * at.exp(x) * x)
    point = np.array([-1.5, 0.5, 2.0])
    value = np.log(np.expm1(point) * np.expm1(2 * point)) + np.log(np.expm1(point) ** 2) + point + np.log(point**2)
    slope = 3 / -np.expm1(-point) + 2 / -np.expm1(-2 * point) + 1 + 2 / point
    f = aot.function([x], [y, grad(at.sum(y), x)])
    for found in (f(point), f.reference(point)):
        np.testing.assert_allclose(found, [value, slope], rtol=1e-13)


def test_sums_that_are_safe_stay() -> None:
    """Neither log(p + ε) nor what the user has shifted by its maximum costs more than before."""
    x = at.dmatrix("x")
    shifted = at.exp(x - at.max(x, axis=1, keepdims=True))
    for y in (
        at.log(at.softmax(x, axis=1) + 1e-9),
        at.log(shifted.sum(axis=1)),
        shifted / shifted.sum(axis=1)[:, None],
    ):
        assert use_stable_forms([y], [x]) == [y]


def test_in_a_loop() -> None:
    """Bodies of loops are differentiated, and compiled, by stable forms too."""
    x = at.dvector("x")
    outputs, _ = aot.scan(lambda xi, total: total + at.log(at.exp(xi) + at.exp(total)), sequences=x, outputs_info=0.0)
    f = aot.function([x], [outputs[-1], grad(outputs[-1], x)])
    point = [800.0, 1000.0]
    for found in (f(point), f.reference(point)):
        np.testing.assert_allclose(found[0], 800 + 1000)
        np.testing.assert_allclose(found[1], [1, 1], atol=1e-15)


def test_forward_mode() -> None:
    x = at.dvector("x")
    y = at.log(at.sum(at.exp(x)))
    f = aot.function([x], Rop(y, x, np.array([1.0, 2.0])))
    wanted = 1 + 1 / (1 + np.exp(-1))
    for found in (f([1000.0, 1001.0]), f.reference([1000.0, 1001.0])):
        np.testing.assert_allclose(found, wanted, rtol=1e-14)


def test_halves_are_looked_through() -> None:
    """exp(12) overflows float16, and its logarithm does not."""
    x = at.tensor("x", dtype="float16", shape=("n",))
    f = aot.function([x], [at.log(at.exp(x)), grad(at.sum(at.log(at.sum(at.exp(x)))), x)])
    for found in (f(np.array([12, 12], "float16")), f.reference(np.array([12, 12], "float16"))):
        np.testing.assert_array_equal(found[0], [12, 12])
        np.testing.assert_array_equal(found[1], [0.5, 0.5])


@pytest.mark.parametrize(("dtype", "eps"), [("float16", 1e-3), ("bfloat16", 8e-3), ("float32", 1e-6)])
def test_values_are_stable_across_roundings(dtype: str, eps: float) -> None:
    """log σ(x), log(1 − σ(x)), log(1 + eˣ), log(1 + x) and eˣ − 1, with each op rounded to a narrower dtype than that
    of the next.
    """
    pytest.importorskip("ml_dtypes", reason="bfloat16 needs ml_dtypes")
    x = at.tensor("x", dtype=dtype, shape=("n",))
    wide = (lambda y: at.cast(y, "float64")) if dtype == "float32" else lambda y: y
    s, e = wide(at.sigmoid(x)), wide(at.exp(x))
    f = aot.function([x], [at.log(s), at.log(1 - s), at.log(1 + e), at.log1p(e), at.log(1 + wide(x * 1)), e - 1])
    values = at.cast(at.constant(np.array([-60.0, -1e-5, 1e-5, 12.0, 800.0])), dtype).eval()
    v = values.astype("float64")
    softplus, minus = np.logaddexp(0, v), np.logaddexp(0, -v)
    with np.errstate(all="ignore"):
        exact = [-minus, -softplus, softplus, softplus, np.log1p(v), np.expm1(v)]
        for found in (f(values), f.reference(values)):
            for y, wanted in zip(found, exact, strict=True):
                rounded = wanted.astype(y.dtype).astype("float64")
                np.testing.assert_allclose(y.astype("float64"), rounded, eps, 1e-7 if dtype == "float16" else 0)


@pytest.mark.parametrize(
    "formula",
    [
        lambda x: at.exp(-x * x) / at.erfc(-x),
        lambda x: at.exp(x * at.neg(x)) / at.erfc(at.neg(x)),
        lambda x: at.exp(x) / at.sum(1 - at.sigmoid(x)),
        lambda x: at.exp(x) / at.sum((1 - at.erf(x)) * x * x),
        lambda x: at.exp(x) / (1 + at.erf(x))[0],
    ],
)
def test_quotients_by_tails(formula: Callable[[Variable], Variable]) -> None:
    """Derivatives agree with central differences, whichever factors have forms of their own."""
    x, at_x, step = at.dvector("x"), np.array([0.3, -0.4]), 1e-6
    f = aot.function([x], [at.sum(formula(x)), grad(at.sum(formula(x)), x)])
    shifted = [(f.reference(at_x + d)[0] - f.reference(at_x - d)[0]) / (2 * step) for d in step * np.eye(2)]
    for found in (f(at_x), f.reference(at_x)):
        np.testing.assert_allclose(found[1], shifted, rtol=1e-7)
