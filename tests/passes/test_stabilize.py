"""stabilize in numbers: what it makes of a formula is right for every x, where the formula itself is not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from corpus import CORPUS, EXTENTS, draw
from scipy.special import expit
from xdsl.dialects import math
from xdsl.dialects.builtin import ModuleOp

import aotensor.tensor as at
from aotensor.core.types import Array
from aotensor.gradient import grad
from aotensor.graph.variable import Variable
from aotensor.ir.build import Program, build
from aotensor.ir.interpreter.interpret import interpret
from aotensor.passes.pipeline import TENSOR_RECIPE, PassRunner
from aotensor.passes.stabilize import stabilize

POINTS = np.array(
    [-np.inf, -1e300, -800, -745.2, -40, -37, -1, -0.3, -1e-9, -1e-17, -0.0,
     0.0, 1e-17, 1e-9, 0.3, 1, 20, 37, 40, 700, 745.2, 800, 1e300, np.inf, np.nan]
)  # fmt: skip


def softplus(x: Array) -> Array:
    return np.logaddexp(0, x)


def log1mexp(x: Array) -> Array:
    """log(1 − eˣ); the switch at −ln 2 is Mächler's."""
    return np.where(x > -np.log(2), np.log(-np.expm1(x)), np.log1p(-np.exp(x)))


def derivative_of(formula: Callable[[Variable], Variable]) -> Callable[[Variable], Variable]:
    """The derivative as the chain rule gives it."""
    return lambda x: grad(at.sum(formula(x)), x)  # type: ignore[no-any-return]


Case = tuple[Callable[[Variable], Variable], Callable[[Array], Array]]
CASES: dict[str, Case] = {
    "log(1 + x)": (lambda x: at.log(1 + x), np.log1p),
    "log(x + 1)": (lambda x: at.log(x + 1), np.log1p),
    "log(1 - x)": (lambda x: at.log(1 - x), lambda x: np.log1p(-x)),
    "exp(x) - 1": (lambda x: at.exp(x) - 1, np.expm1),
    "-1 + exp(x)": (lambda x: -1 + at.exp(x), np.expm1),
    "1 - exp(x)": (lambda x: 1 - at.exp(x), lambda x: -np.expm1(x)),
    "log(1 - exp(x))": (lambda x: at.log(1 - at.exp(x)), log1mexp),
    "log(1 + exp(x))": (lambda x: at.log(1 + at.exp(x)), softplus),
    "log1p(exp(2x))": (lambda x: at.log1p(at.exp(x * 2)), lambda x: softplus(2 * x)),
    "log(exp(x))": (lambda x: at.log(at.exp(x)), lambda x: x),
    "log(sigmoid(x))": (lambda x: at.log(at.sigmoid(x)), lambda x: -softplus(-x)),
    "log(sigmoid(-x))": (lambda x: at.log(at.sigmoid(-x)), lambda x: -softplus(x)),
    "log(1 - sigmoid(x))": (lambda x: at.log(1 - at.sigmoid(x)), lambda x: -softplus(x)),
    "log(1/(1 + exp(-x)))": (lambda x: at.log(1 / (1 + at.exp(-x))), lambda x: -softplus(-x)),
    "1 - sigmoid(x)": (lambda x: 1 - at.sigmoid(x), lambda x: expit(-x)),
    "1/(1 + exp(-x))": (lambda x: 1 / (1 + at.exp(-x)), expit),
    "1 - 1/(1 + exp(-x))": (lambda x: 1 - 1 / (1 + at.exp(-x)), lambda x: expit(-x)),
    "exp(x)/(1 + exp(x))": (lambda x: at.exp(x) / (1 + at.exp(x)), expit),
    "3 exp(-x)/(1 + exp(-x))": (lambda x: 3 * at.exp(-x) / (1 + at.exp(-x)), lambda x: 3 * expit(-x)),
    "d log(1 + exp(x))": (derivative_of(lambda x: at.log(1 + at.exp(x))), expit),
    "d log(sigmoid(x))": (derivative_of(lambda x: at.log(at.sigmoid(x))), lambda x: expit(-x)),
    "d log(1 - sigmoid(x))": (derivative_of(lambda x: at.log(1 - at.sigmoid(x))), lambda x: -expit(x)),
    "d log(1/(1 + exp(-x)))": (derivative_of(lambda x: at.log(1 / (1 + at.exp(-x)))), lambda x: expit(-x)),
    "d 1/(1 + exp(-x))": (derivative_of(lambda x: 1 / (1 + at.exp(-x))), lambda x: expit(x) * expit(-x)),
}


def imported(formula: Callable[[Variable], Variable], rank: int, dtype: str = "float64") -> ModuleOp:
    x = at.tensor("x", dtype=dtype, shape=("n",) * rank)
    module, _ = build([Program("f", (("x", x),), (("y", formula(x)),))])
    return module


@pytest.mark.parametrize("name", CASES)
def test_on_vectors(name: str) -> None:
    formula, wanted = CASES[name]
    module = imported(formula, 1)
    PassRunner(verify=True).run(module, TENSOR_RECIPE)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(interpret(module, "f", POINTS)[0], wanted(POINTS), rtol=1e-14)


@pytest.mark.parametrize("name", [name for name in CASES if not name.startswith("d ")])
def test_on_scalars(name: str) -> None:
    formula, wanted = CASES[name]
    module = imported(formula, 0)
    PassRunner(verify=True).run(module, TENSOR_RECIPE)
    for x in POINTS:
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(interpret(module, "f", x)[0], wanted(x), rtol=1e-14, err_msg=str(x))


@pytest.mark.parametrize("name", CASES)
def test_in_float32(name: str) -> None:
    formula, wanted = CASES[name]
    module = imported(formula, 1, "float32")
    PassRunner(verify=True).run(module, TENSOR_RECIPE)
    x = np.clip(POINTS, -1e30, 1e30).astype("float32")
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(
            interpret(module, "f", x)[0], wanted(x.astype("float64")).astype("float32"), rtol=1e-6, atol=1e-44
        )


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_left_to_do(name: str) -> None:
    module = imported(CASES[name][0], 1)
    PassRunner().run(module, TENSOR_RECIPE)
    once = str(module)
    stabilize(module)
    assert str(module) == once


def test_log_softmax_of_large_numbers() -> None:
    """log(exp(x)/Σexp(x)) → x − log Σexp(x): what the user shifts by is the user's, but no row underflows to −inf."""
    module, _ = build([CORPUS["log_softmax"]()])
    x = np.array([[0.0, -800.0, -1000.0, 3.0, 2.0]])
    before = interpret(module, "log_softmax", x)[0]
    PassRunner(verify=True).run(module, TENSOR_RECIPE)
    after = interpret(module, "log_softmax", x)[0]
    assert np.isneginf(before[0, 1:3]).all()
    np.testing.assert_allclose(after, x - np.log(np.sum(np.exp(x))), rtol=1e-14)


@pytest.mark.parametrize("axis", [0, 1])
def test_the_logarithm_of_a_softmax_is_that_of_no_weight(axis: int) -> None:
    """A softmax is a product with the inverse of a sum; its logarithm is x − max − log Σ all the same."""
    x = at.matrix("x", shape=("n", "m"))
    module, _ = build([Program("f", (("x", x),), (("y", at.log(at.softmax(x, axis=axis))),))])
    PassRunner(verify=True).run(module, TENSOR_RECIPE)
    values = np.moveaxis(np.array([[0.0, -800.0, -1000.0, 3.0, 2.0]]), 1, axis)
    found = interpret(module, "f", values)[0]
    np.testing.assert_allclose(found, values - 3 - np.log(np.sum(np.exp(values - 3))), rtol=1e-14)


def test_a_denominator_that_may_be_negative_stays() -> None:
    module = imported(lambda x: at.log(at.exp(x) / at.sin(x)), 1)
    PassRunner().run(module, TENSOR_RECIPE)
    text = str(module)
    assert "arith.divf" in text and "math.log" in text


def test_guards_of_logarithms_disappear() -> None:
    """The derivative of log(1 + exp(x)) needs no test for a negative operand, no exponential, no quotient."""
    module = imported(derivative_of(lambda x: at.log(1 + at.exp(x))), 1)
    PassRunner(verify=True).run(module, TENSOR_RECIPE)
    names = {op.name for op in module.walk()}
    assert not names & {"arith.select", "arith.cmpf", "arith.divf", math.ExpOp.name}


def test_other_programs_keep_their_values() -> None:
    """A chain with fewer operations than before, on ordinary numbers."""
    for name in ("logistic_with_bias", "chain_gradient", "two_layers", "pairwise_distances"):
        program = CORPUS[name]()
        module, _ = build([program])
        arrays = draw([x for _, x in program.inputs], EXTENTS["usual"])
        before = interpret(module, name, *arrays)
        stabilize(module)
        module.verify()
        for x, y in zip(interpret(module, name, *arrays), before, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-12)


def test_what_a_tensor_holds_is_not_computed_again() -> None:
    """The sine and its power are per row, the logarithm is per pair of rows."""
    x = at.dvector("x")
    v = (2.0 + at.sin(x)) ** -1.5
    w = at.switch(v > 0.3, at.tanh(v), 2.0 * v)
    module, _ = build([Program("f", (("x", x),), (("y", at.log(at.sigmoid(at.outer(w, w) + w))),))])
    PassRunner().run(module, TENSOR_RECIPE)
    text = str(module)
    assert text.count("math.sin") == text.count("math.tanh") == 1
    assert "call @aot.softplus" in text and "call @aot.sigmoid" not in text
