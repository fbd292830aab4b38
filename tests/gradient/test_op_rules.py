"""The derivative rules of an op under all their names: which one holds, what it is given, what stands in for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import aotensor as aot
import aotensor.tensor as at
from aotensor.core.types import TensorType
from aotensor.errors import DisconnectedInputError, MissingRuleError, NullTypeGradError, UnsupportedError
from aotensor.gradient import Rop, disconnected_type, grad, grad_undefined, hessian, jacobian, zero_grad_
from aotensor.gradient.terms import connection_pattern
from aotensor.graph.op import FORWARD_RULES, REVERSE_RULES, Apply, Op, chosen_rule, is_disconnected, tracing
from aotensor.ops.elementwise.arithmetic import mul
from aotensor.ops.elementwise.elementary import exp
from aotensor.ops.kernel_call import KernelCall

X, Y = at.dscalars("x", "y")
ONE = np.float64(1.0)


class Cube(Op):
    """x³ with no derivative at all: the least that an author must write."""

    def infer_type(self, x: TensorType) -> TensorType:
        return x

    def reference(self, x: Any) -> Any:
        return x**3


class ByGrad(Cube):
    def grad(self, inputs: Any, output_grads: Any) -> Any:
        return [3 * inputs[0] ** 2 * output_grads[0]]


class ByLop(ByGrad):
    def L_op(self, inputs: Any, outputs: Any, output_grads: Any) -> Any:
        assert outputs[0].owner.op is self
        return [30 * inputs[0] ** 2 * output_grads[0]]


class ByPullback(ByLop):
    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> Any:
        return [300 * inputs[0] ** 2 * cotangents[0]]


class AllReverse(Cube):
    """All three in one class."""

    grad = ByGrad.grad
    L_op = ByLop.L_op
    pullback = ByPullback.pullback


class GradAndLop(Cube):
    grad = ByGrad.grad
    L_op = ByLop.L_op


class GradOfPullback(ByPullback):
    """A child that overrides by an older name."""

    def grad(self, inputs: Any, output_grads: Any) -> Any:
        return [7.0 * output_grads[0]]


class ByRop(ByGrad):
    def R_op(self, inputs: Any, eval_points: Any) -> Any:
        return [None if eval_points[0] is None else 5.0 * eval_points[0]]


class ByPushforward(ByRop):
    def pushforward(self, inputs: Any, outputs: Any, tangents: Any) -> Any:
        assert outputs[0].owner.op is self
        return [6.0 * tangents[0]]


@pytest.mark.shows("gradient/11-grad", "gradient/11-l-op", "gradient/11-pullback", "gradient/11-dispatch")
@pytest.mark.parametrize(
    ("op", "expected"),
    [(ByGrad, 12), (ByLop, 120), (ByPullback, 1200), (AllReverse, 1200), (GradAndLop, 120), (GradOfPullback, 7)],
)
def test_reverse_rule_of_the_newest_name_in_the_most_derived_class(op: type[Op], expected: float) -> None:
    assert grad(op()(X), X).eval({X: 2.0}) == expected


@pytest.mark.shows("gradient/11-r-op", "gradient/11-pushforward", "gradient/11-dispatch")
@pytest.mark.parametrize(("op", "expected"), [(ByRop, 5), (ByPushforward, 6)])
def test_forward_rule_of_the_newest_name(op: type[Op], expected: float) -> None:
    assert Rop(op()(X), X, ONE).eval({X: 2.0}) == expected


@pytest.mark.shows("gradient/11-none", "gradient/5-fallback")
def test_no_rule_is_an_error_that_names_the_op() -> None:
    with pytest.raises(NotImplementedError, match="Cube has no derivative"):
        grad(Cube()(X), X)
    with pytest.raises(MissingRuleError, match="Cube has no forward derivative"):
        Rop(Cube()(X), X, ONE)
    for call in (
        lambda: Cube().pullback([X], [X], [X]),
        lambda: Cube().L_op([X], [X], [X]),
        lambda: Cube().grad([X], [X]),
        lambda: Cube().pushforward([X], [X], [X]),
        lambda: Cube().R_op([X], [X]),
    ):
        with pytest.raises(NotImplementedError, match="Cube"):
            call()


def test_the_name_is_that_of_the_class_unless_given() -> None:
    assert (Cube.name, ByGrad.name, exp.name) == ("Cube", "ByGrad", "exp")
    assert [op.name for op in (type("Other", (type(zero_grad_),), {}),)] == ["zero_grad"]


# --- the rules of the built-in ops by their older names --------------------------------------------------------------


def test_built_in_rules_under_their_older_names() -> None:
    (derivative,) = exp.grad([X], [Y])
    assert derivative.eval({X: 0.0, Y: 3.0}) == 3.0
    assert exp.L_op([X], [exp(X)], [Y])[0].eval({X: 0.0, Y: 3.0}) == 3.0
    first, second = mul.grad([X, Y], [at.constant(1.0)])
    assert (first.eval({Y: 5.0}), second.eval({X: 2.0})) == (5.0, 2.0)
    assert zero_grad_.grad([X], [Y])[0].eval({X: 1.0, Y: 1.0}) == 0.0


@pytest.mark.shows("gradient/11-r-op")
def test_r_op_takes_none_for_what_does_not_vary_and_gives_none_for_what_is_disconnected() -> None:
    (tangent,) = mul.R_op([X, Y], [None, at.constant(1.0)])
    assert tangent is not None
    assert tangent.eval({X: 2.0}) == 2.0
    assert mul.R_op([X, Y], [None, None]) == [None]
    assert at.shape.__module__.startswith("aotensor.ops")
    assert at.shape(at.dvector("v")).owner.op.R_op([at.dvector("v")], [at.dvector("t")]) == [None]


@pytest.mark.parametrize(("build", "unused"), [(at.linalg.solve, "dot"), (at.power, "log")])
def test_terms_of_inputs_that_are_not_wanted_are_not_built(build: Any, unused: str) -> None:
    a, b = at.matrix("a", shape=(3, 3)), at.matrix("b", shape=(3, 3))
    first, second = (a, b) if unused != "log" else (b, a)
    made = {}
    for x in (first, second):
        with tracing() as nodes:
            grad(build(a, b).sum(), x)
        made[x] = {node.op.name for node in nodes}
    assert unused in made[first] and unused not in made[second]


@pytest.mark.shows("gradient/5-direct")
def test_every_built_in_op_has_its_rules() -> None:
    def below(op: type[Op]) -> set[type[Op]]:
        return {op}.union(*(below(one) for one in op.__subclasses__()))

    found = below(Op) - {Op}
    own = [op for op in found if op.__module__.startswith("aotensor.") and op.name != op.__name__]
    own = [op for op in own if op.expand is Op.expand]  # what other ops make takes the rules of these
    own.remove(KernelCall)  # made when an op that has a kernel is compiled, after its derivatives
    assert len(own) > 30
    assert [op for op in own if chosen_rule(op, REVERSE_RULES) not in REVERSE_RULES[:2]] == []
    assert [op for op in own if chosen_rule(op, FORWARD_RULES) != "pushforward"] == []
    assert {op.__name__ for op in own if op.lower is Op.lower} == {"FromParts", "OfPairs"}  # gone when all is expanded


# --- forward by two pullbacks ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pair(Op):
    """x·y and round(x), with a pullback alone."""

    name: ClassVar[str] = "pair"

    def infer_type(self, x: TensorType, y: TensorType) -> tuple[TensorType, ...]:
        return x, TensorType("int64", x.shape)

    def reference(self, x: Any, y: Any) -> Any:
        return x * y, np.rint(x)

    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> Any:
        (x, y), u = inputs, cotangents[0]
        if is_disconnected(u):
            return [at.zeros_like(x), at.zeros_like(y)]
        return [u * y, u * x]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True, True], [True, False]]


@pytest.mark.shows("gradient/5-fallback", "gradient/11-dispatch")
def test_forward_by_two_pullbacks() -> None:
    v, w = at.dvectors("v", "w")
    values = {v: np.array([1.0, 2.0]), w: np.array([3.0, 5.0])}
    product, rounded = Pair()(v, w)
    np.testing.assert_array_equal(Rop(product, v, np.ones(2)).eval(values), [3, 5])
    np.testing.assert_array_equal(Rop(product, [v, w], [np.ones(2), np.ones(2)]).eval(values), [4, 7])
    np.testing.assert_array_equal(Rop(rounded, v, np.ones(2)).eval(values), [0, 0])
    with pytest.raises(DisconnectedInputError):
        Rop(rounded, w, np.ones(2))
    assert Rop(ByGrad()(X) * X, X, ONE).eval({X: 2.0}) == 12 * 2 + 8


class Clipped(Cube):
    """A pullback that is not linear: the symbol stays in the result."""

    def grad(self, inputs: Any, output_grads: Any) -> Any:
        return [at.tanh(output_grads[0]) * inputs[0]]


def test_what_two_pullbacks_leave_of_the_symbol_becomes_zero() -> None:
    assert Rop(Clipped()(X), X, ONE).eval({X: 2.0}) == 2.0


class Undefined(Cube):
    def grad(self, inputs: Any, output_grads: Any) -> Any:
        return [grad_undefined(self, 0, inputs[0])]


class Constant(Cube):
    """Says that nothing depends on x, without a pattern."""

    def grad(self, inputs: Any, output_grads: Any) -> Any:
        return [disconnected_type()]


def test_null_and_disconnected_by_two_pullbacks() -> None:
    with pytest.raises(NullTypeGradError, match="Undefined with respect to input 0"):
        Rop(Undefined()(X), X, ONE)
    with pytest.raises(DisconnectedInputError):
        Rop(Constant()(X), X, ONE)


def test_terms_are_checked_under_the_name_of_the_rule() -> None:
    class Short(Cube):
        def L_op(self, inputs: Any, outputs: Any, output_grads: Any) -> Any:
            return []

        def R_op(self, inputs: Any, eval_points: Any) -> Any:
            return None

    with pytest.raises(ValueError, match=r"Short.L_op returned 0 terms for 1"):
        grad(Short()(X), X)
    with pytest.raises(TypeError, match=r"Short.R_op returned NoneType instead of a list"):
        Rop(Short()(X), X, ONE)


# --- by what the op is made of ---------------------------------------------------------------------------------------


class Blend(Op):
    """x·y + v, and v alone: all other rules follow from what it is made of."""

    name = "blend"

    def infer_type(self, x: TensorType, y: TensorType, v: TensorType) -> tuple[TensorType, ...]:
        return v, v

    def reference(self, x: Any, y: Any, v: Any) -> Any:
        return x * y + v, np.exp(v)

    def expand(self, inputs: Any) -> Any:
        x, y, v = inputs
        return [x * y + v, at.exp(v)]


def test_expansion_stands_in_for_the_rules() -> None:
    v = at.dvector("v")
    values = {X: 2.0, Y: 3.0, v: np.array([0.0, 1.0])}
    first, second = Blend()(X, Y, v)
    assert connection_pattern(first.owner) == [[True, False], [True, False], [True, True]]
    cost = at.sum(first**2 * second)
    plain = at.sum((X * Y + v) ** 2 * at.exp(v))
    for found, expected in zip(grad(cost, [X, Y, v]), grad(plain, [X, Y, v]), strict=True):
        np.testing.assert_allclose(found.eval(values), expected.eval(values), rtol=1e-14)
    np.testing.assert_allclose(Rop(first, [X, v], [ONE, np.ones(2)]).eval(values), [4, 4])
    with pytest.raises(DisconnectedInputError):
        Rop(second, X, ONE)
    with pytest.raises(DisconnectedInputError):
        grad(at.sum(second), X)
    np.testing.assert_allclose(jacobian(first, v).eval(values), np.eye(2))
    np.testing.assert_allclose(hessian(cost, v).eval(values), hessian(plain, v).eval(values), rtol=1e-14)
    many = at.vectorize_graph(first, {v: at.dmatrix("m"), X: at.dvector("xs")})
    assert many.ndim == 2


class BlendByGrad(Blend):
    """The author's own rule comes first, and Rop goes by it too."""

    def grad(self, inputs: Any, output_grads: Any) -> Any:
        return [at.sum(output_grads[0]) * 100, at.zeros_like(inputs[1]), output_grads[0]]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True, False], [True, False], [True, False]]


def test_own_rules_come_before_the_expansion() -> None:
    v = at.dvector("v")
    first, _ = BlendByGrad()(X, Y, v)
    assert grad(at.sum(first), X).eval({v: [1.0, 2.0], X: 1.0, Y: 1.0}) == 200.0
    np.testing.assert_array_equal(Rop(first, X, ONE).eval({v: [1.0, 2.0], X: 1.0, Y: 1.0}), [100, 100])


# --- reference, batch, compiled --------------------------------------------------------------------------------------


def test_an_op_with_a_reference_alone_is_evaluated_but_not_compiled() -> None:
    f = aot.function([X], ByGrad()(X) + grad(ByGrad()(X), X))
    assert f.reference(2.0) == 20.0
    with pytest.raises(UnsupportedError, match="ByGrad: it cannot be compiled") as caught:
        f(2.0)
    assert "expand" in (caught.value.diagnostic.hint or "")
    assert any("x: float64" in line for line in caught.value.diagnostic.lines)


def test_an_op_without_batch_rule_is_refused_by_its_name() -> None:
    v = at.dvector("v")
    with pytest.raises(UnsupportedError, match="ByGrad has no rule for batches"):
        at.vectorize_graph(ByGrad()(v), {v: at.dmatrix("m")})


@pytest.mark.parametrize(
    ("result", "text"),
    [((1.0, 2.0), "2 results instead of 1"), (np.ones(2), "rank 1 instead of float64")],
)
def test_results_of_the_reference_are_checked(result: Any, text: str) -> None:
    class Odd(Cube):
        def reference(self, x: Any) -> Any:
            return result

    with pytest.raises(ValueError, match=rf"Odd\(x\) at .*: reference gave {text}"):
        Odd()(X).eval({X: 1.0})


def test_types_and_results_may_come_in_lists() -> None:
    class Both(Op):
        def infer_type(self, x: TensorType) -> Any:
            return [x, x]

        def reference(self, x: Any) -> Any:
            return [x, 2 * x]

    assert [y.eval({X: 3.0}) for y in Both()(X)] == [3.0, 6.0]
    assert Cube()(at.constant([1.0, 2.0])).eval({}).tolist() == [1.0, 8.0]


@pytest.mark.parametrize("given", [None, "float64", (3,), at.dscalar("t")])
def test_types_are_checked(given: Any) -> None:
    class Odd(Cube):
        def infer_type(self, x: TensorType) -> TensorType:
            return given  # type: ignore[no-any-return]

    with pytest.raises(TypeError, match="Odd: infer_type gave"):
        Odd()(X)


def test_infer_type_and_reference_must_be_given() -> None:
    for missing in (Op, type("Half", (Op,), {"infer_type": Cube.infer_type})):
        with pytest.raises(TypeError, match="abstract"):
            missing()


class Scaled(Op):
    """c·x, lowered with the builder of the compiler; c is state that the text of the graph does not show."""

    def __init__(self, factor: float) -> None:
        self.factor = factor

    def infer_type(self, x: TensorType) -> TensorType:
        return x

    def reference(self, x: Any) -> Any:
        return self.factor * x

    def lower(self, b: Any, x: Any) -> Any:
        factor = b.constant(np.asarray(self.factor), "float64")
        return b.map(lambda s, y, c: s.mul(y, c), x, factor, dtype="float64")


def test_the_cache_knows_ops_from_elsewhere_by_what_they_lower_to() -> None:
    found = [aot.function([X], Scaled(factor)(X), name="scaled")(2.0) for factor in (3.0, 5.0)]
    assert found == [6.0, 10.0]
