"""What the rules of an op may return: every broken promise is told, with the op's name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pytest

import aotensor.tensor as at
from aotensor.core.types import TensorType
from aotensor.gradient import Rop, disconnected_type, grad
from aotensor.graph.op import Apply, Op, disconnected
from aotensor.graph.variable import Constant, Variable
from aotensor.ops.elementwise import base


@dataclass(frozen=True)
class Scripted(Op):
    """x, y → x in a dtype, with rules that return what the test says."""

    name: ClassVar[str] = "scripted"
    pulled: Any = field(compare=False)
    dtype: str = "float64"

    def infer_type(self, x: TensorType, y: TensorType) -> TensorType:
        return x.with_dtype(self.dtype)

    def reference(self, x: Any, y: Any) -> Any:
        return x

    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> Any:
        return self.pulled(*inputs, *cotangents)

    def pushforward(self, inputs: Any, outputs: Any, tangents: Any) -> Any:
        return self.pulled(*inputs, *tangents)

    def lower(self, b: Any, *inputs: Any) -> Any:
        raise AssertionError("never compiled")


@dataclass(frozen=True)
class Patterned(Scripted):
    """Scripted, with a connection pattern."""

    pattern: Any = field(default=None, compare=False)

    def connection_pattern(self, node: Apply) -> Any:
        return self.pattern


@pytest.mark.shows("gradient/11-returns-none", "gradient/11-term-none", "gradient/11-term-count")
@pytest.mark.shows("gradient/11-term-no-variable", "gradient/11-term-rank", "gradient/11-term-dtype")
@pytest.mark.shows("gradient/3.4-floating")
@pytest.mark.parametrize(
    ("returned", "error", "text"),
    [
        (lambda x, y, g: None, TypeError, "NoneType instead of a list"),
        (lambda x, y, g: [g, None], TypeError, "term 1 is None"),
        (lambda x, y, g: [g], ValueError, "1 terms for 2"),
        (lambda x, y, g: [g, 3.0], TypeError, "not a variable"),
        (lambda x, y, g: [g.dimshuffle("x"), g], ValueError, "rank 1 instead of 0"),
        (lambda x, y, g: [at.cast(g, "int32"), g], TypeError, "floating"),
        (lambda x, y, g: [g * 1j, g], TypeError, "but derivatives of real variables are real"),
    ],
)
def test_terms_are_checked(returned: Any, error: type[Exception], text: str) -> None:
    x, y = at.dscalars("x", "y")
    with pytest.raises(error, match=f"scripted.pullback.*{text}"):
        grad(Scripted(returned)(x, y), [x, y])


@pytest.mark.shows("gradient/11-term-rank")
def test_static_extents_of_terms_are_checked() -> None:
    x, y = at.dvector("x", shape=(3,)), at.dscalar("y")
    op = Scripted(lambda x, y, g: [at.zeros((2,)), at.sum(g)])
    with pytest.raises(ValueError, match="extent 2 instead of 3"):
        grad(at.sum(op(x, y)), x)


@pytest.mark.shows("gradient/11-tuple")
def test_a_tuple_is_accepted() -> None:
    x, y = at.dscalars("x", "y")
    assert grad(Scripted(lambda x, y, g: (g, 2 * g))(x, y), y).eval({}) == 2.0


def test_tangents_are_checked() -> None:
    x, y = at.dscalars("x", "y")
    with pytest.raises(ValueError, match=r"scripted.pushforward returned 2 terms for 1"):
        Rop(Scripted(lambda x, y, s, t: [s, s])(x, y), x, np.float64(1.0))


@pytest.mark.shows("gradient/11-term-disconnected")
def test_a_disconnected_term_without_pattern_warns() -> None:
    x, y = at.dscalars("x", "y")
    cost = Scripted(lambda x, y, g: [g, disconnected()])(x, y)
    with pytest.warns(UserWarning, match="connection_pattern"):
        grad(cost, x)


@pytest.mark.shows("gradient/11-term-missing", "gradient/11-term-too-much", "gradient/11-pattern-type")
@pytest.mark.shows("gradient/11-pattern-rows")
@pytest.mark.parametrize(
    ("pattern", "returned", "error", "text"),
    [
        (((True,), (True,)), lambda x, y, g: [g, g], TypeError, "list of lists"),
        ([(True,), (True,)], lambda x, y, g: [g, g], TypeError, "list of lists"),
        ([[True]], lambda x, y, g: [g, g], ValueError, "2 rows of 1"),
        ([[True, True], [True]], lambda x, y, g: [g, g], ValueError, "2 rows of 1"),
        ([[True], [True]], lambda x, y, g: [g, disconnected_type()], TypeError, "disconnected, but"),
        ([[True], [False]], lambda x, y, g: [g, g], TypeError, "is given, but"),
    ],
)
def test_patterns_are_checked(pattern: Any, returned: Any, error: type[Exception], text: str) -> None:
    x, y = at.dscalars("x", "y")
    with pytest.raises(error, match=text):
        grad(Patterned(returned, pattern=pattern)(x, y), x)


@pytest.mark.shows("gradient/11-discrete-nonzero")
def test_a_discrete_output_may_not_send_what_is_surely_not_zero() -> None:
    x, y = at.dscalars("x", "y")
    one: Variable = at.constant(1.0)
    with pytest.raises(ValueError, match="only discrete outputs"):
        grad(Scripted(lambda x, y, g: [one, at.zeros_like(y)], "int64")(x, y) * 2.0, x)
    assert grad(Scripted(lambda x, y, g: [g * 0, g * 0], "int64")(x, y) * 2.0, x).eval({}) == 0.0


def test_constants_get_no_cotangents(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their terms were built and dropped: of a chain of products with constants, half the time of `grad`."""
    calls: list[Variable] = []
    finish = base.unbroadcast

    def counted(term: Variable, x: Variable) -> Variable:
        calls.append(x)
        return finish(term, x)

    monkeypatch.setattr(base, "unbroadcast", counted)
    x, other = at.dvectors("x", "other")
    y = x
    for k in range(5):
        y = y * (k + 1.5) + other
    np.testing.assert_allclose(grad(y.sum(), x).eval({x: [2.0], other: [3.0]}), [1.5 * 2.5 * 3.5 * 4.5 * 5.5])
    assert len(calls) == 10
    assert not any(isinstance(x, Constant) for x in calls)
    assert other not in calls
    factor = at.constant(2.0)
    assert grad((x * factor).sum(), factor).eval({x: [2.0, 3.0]}) == 5.0  # a constant that is asked for
