"""grad in detail: how often pullbacks are called and with what, dtypes, kinds of zero, names, cuts; compiled too."""

from __future__ import annotations

from collections import UserList, deque
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pytest
from executions import both

import aotensor as aot
import aotensor.tensor as at
from aotensor.core.types import TensorType
from aotensor.errors import DisconnectedInputError, NullTypeGradError
from aotensor.gradient import (
    DisconnectedType,
    consider_constant,
    disconnected_grad,
    disconnected_type,
    grad,
    grad_not_implemented,
    null_type,
    undefined_grad,
    zero_grad,
)
from aotensor.graph.op import Op, is_disconnected
from aotensor.graph.variable import Variable

X, Y = at.dscalars("x", "y")
V = at.dvector("v")


@dataclass(frozen=True)
class Spy(Op):
    """x and 2·x, with a pullback that notes what it is given."""

    name: ClassVar[str] = "spy"
    seen: list[Any] = field(default_factory=list, compare=False, repr=False)

    def infer_type(self, x: TensorType) -> tuple[TensorType, ...]:
        return x, x

    def reference(self, x: Any) -> Any:
        return x, 2 * x

    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> Any:
        self.seen.append([x.type for x in cotangents])
        first, second = (at.zeros_like(inputs[0]) if is_disconnected(x) else x for x in cotangents)
        return [first + 2 * second]


# --- entry and containers --------------------------------------------------------------------------------------------


@pytest.mark.shows("gradient/3.1-rank", "gradient/3.1-no-variable")
def test_cost_is_a_scalar_also_if_a_vector_has_one_element() -> None:
    with pytest.raises(TypeError, match="scalar"):
        grad(at.dvector("one", shape=(1,)), X)
    for cost in (np.zeros(()), 3.0, None):
        with pytest.raises((TypeError, ValueError)):
            grad(cost, X)  # type: ignore[arg-type]


@pytest.mark.shows("gradient/3.2-other")
def test_wrt_in_other_sequences_gives_a_list() -> None:
    for wrt in (deque([X, Y]), UserList([X, Y])):
        found = grad(X * Y, wrt)
        assert isinstance(found, list)
        assert len(found) == 2


@pytest.mark.shows("gradient/3.1-not-a-sequence")
def test_wrt_as_an_array_is_refused() -> None:
    with pytest.raises(TypeError, match="ndarray"):
        grad(X, np.zeros(2))


# --- the sweep -------------------------------------------------------------------------------------------------------


@pytest.mark.shows("gradient/3.3-once", "gradient/11-unused-output")
def test_a_pullback_is_called_once_with_disconnected_types_for_unused_outputs() -> None:
    spy = Spy()
    first, second = spy(X)
    assert grad(first * first + first, X).eval({X: 3.0}) == 7.0
    assert spy.seen == [[TensorType("float64"), DisconnectedType()]]
    assert grad(first + second, [X, first, second])[0].eval({X: 3.0}) == 3.0
    assert len(spy.seen) == 2


@pytest.mark.shows("gradient/3.3-connected", "gradient/3.3-once")
def test_a_pullback_is_not_called_where_nothing_arrives() -> None:
    spy = Spy()
    first, _ = spy(X)
    grad(disconnected_grad(first) + X, X)
    grad(X * Y, Y)
    grad(first * Y, Y)
    grad(first * Y, Y, consider_constant=[first])
    with pytest.raises(NullTypeGradError):
        grad(undefined_grad(first), X)
    assert spy.seen == []


@pytest.mark.shows("gradient/3.4-cotangent")
def test_cotangents_are_cast_to_the_dtype_of_a_floating_output() -> None:
    spy, f = Spy(), at.fscalar("f")
    first, _ = spy(f)
    found = grad(first * X, f)
    assert spy.seen == [[TensorType("float32"), DisconnectedType()]]
    assert found.dtype == "float32"


@pytest.mark.shows("gradient/3.4-cotangent")
def test_cotangents_of_discrete_outputs_stay_floating() -> None:
    spy, i = Spy(), at.iscalar("i")
    first, _ = spy(i)
    assert grad(first * X, i).eval({X: 3.0, i: 1}) == 3.0
    assert spy.seen == [[TensorType("float64"), DisconnectedType()]]


@pytest.mark.shows("gradient/3.3-sum")
def test_terms_add_up_over_all_uses_in_a_fixed_order() -> None:
    u = X * Y
    cost = u * u + u * X + at.sin(u) + u
    first, second = (aot.function([X, Y], grad(cost, [X, Y])).ir("graph") for _ in range(2))
    lines = [[line.split("#")[0] for line in text.splitlines()] for text in (first, second)]
    assert lines[0] == lines[1]


# --- dtypes ----------------------------------------------------------------------------------------------------------


@pytest.mark.shows("gradient/3.4-discrete-cost", "gradient/3.4-discrete-input", "gradient/3.4-discrete-output")
@pytest.mark.shows("gradient/3.4-comparison")
def test_dtypes_and_values_of_gradients_with_discrete_parts() -> None:
    i, flag, vector = at.iscalar("i"), at.scalar("flag", dtype="bool"), at.ivector("vector")
    truncated = at.cast(X, "int32")
    expressions = {
        "int cost wrt itself": grad(i, i),
        "i·x wrt i": grad(i * X, i),
        "i·x wrt x": grad(i * X, X),
        "flag·x wrt flag": grad(flag * X, flag),
        "i·i wrt i": grad(i * i, i),
        "Σ int vector": grad(at.sum(vector), vector),
        "through a cast to int": grad(at.cast(truncated, "float64") * 0.5, X),
        "from the int on": grad(at.cast(truncated, "float64") * 0.5, truncated),
        "eq(x, 1)·x": grad(at.eq(X, 1.0) * X, X),
        "eq(x, 1)": grad(at.eq(X, 1), X),
        "floor, sign, round": grad(at.floor(X) + at.sign(X) + at.round(X) + at.ceil(X), X),
    }
    values = {X: 1.0, i: 3, flag: True, vector: np.array([1, 2], "int32")}
    found = dict(zip(expressions, both(list(expressions.values()), values), strict=True))
    expected: dict[str, Any] = {
        "int cost wrt itself": 1.0,
        "i·x wrt i": 1.0,
        "i·x wrt x": 3.0,
        "flag·x wrt flag": 1.0,
        "i·i wrt i": 0.0,
        "Σ int vector": [0.0, 0.0],
        "through a cast to int": 0.0,
        "from the int on": 0.5,
        "eq(x, 1)·x": 1.0,
        "eq(x, 1)": 0.0,
        "floor, sign, round": 0.0,
    }
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)
        assert found[name].dtype == "float64", name


@pytest.mark.shows("gradient/3.4-extents")
def test_what_only_lends_extents_is_disconnected() -> None:
    i = at.lscalar("i")
    for cost in (
        at.cast(V.shape[0], "float64"),
        at.sum(at.zeros_like(V)) + X * 0,
        at.sum(at.alloc(X, V.shape[0])),
        at.cast(V.size, "float64"),
    ):
        with pytest.raises(DisconnectedInputError):
            grad(cost, V)
    with pytest.raises(DisconnectedInputError):
        grad(at.sum(at.arange(0.5, i, 1.0)), i)


@pytest.mark.shows("gradient/3.4-result")
def test_a_gradient_is_cast_to_the_dtype_of_a_floating_wrt_and_left_floating_otherwise() -> None:
    f, i = at.fscalar("f"), at.iscalar("i")
    assert [x.dtype for x in grad(f * X, [f, X])] == ["float32", "float64"]
    assert grad(f * 2 + at.lscalar("n"), f).dtype == "float32"
    assert grad(i * f, i).dtype in ("float32", "float64")


@pytest.mark.shows("gradient/3.4-zero")
@pytest.mark.parametrize(("dtype", "expected"), [("float32", "float32"), ("float64", "float64"), ("int32", "float64")])
def test_zero_of_a_disconnected_wrt(dtype: str, expected: str) -> None:
    w = at.matrix("w", dtype=dtype)
    zero = grad(X, w, disconnected_inputs="ignore")
    assert zero.dtype == expected
    (found,) = both([zero], {w: np.ones((2, 3), dtype)})
    np.testing.assert_array_equal(found, np.zeros((2, 3)))


@pytest.mark.shows("gradient/3.4-literals")
def test_literals_keep_their_digits() -> None:
    (found,) = both([grad(2.0**X, X)], {X: 0.0})
    assert found == np.log(2.0)


@pytest.mark.shows("gradient/3.4-complex-cost", "gradient/3.4-complex-wrt")
def test_complex_costs_are_refused_and_complex_variables_differentiated() -> None:
    z = at.zscalar("z")
    with pytest.raises(TypeError, match="cost must be real"):
        grad(z * z, z)
    assert grad((z * z).real, z).eval({z: 3 + 4j}) == 6 + 8j  # ∂/∂x − i·∂/∂y of x² − y²


# --- disconnected, zero, null ----------------------------------------------------------------------------------------


@pytest.mark.shows("gradient/3.5-not-an-ancestor", "gradient/3.5-pattern", "gradient/3.5-cut", "gradient/3.5-zero")
@pytest.mark.shows("gradient/3.5-null", "gradient/3.5-null-zero", "gradient/3.5-null-cut")
@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lambda x, y: y, "disconnected"),
        (lambda x, y: y + at.cast(at.shape(x * at.ones(3))[0], "float64"), "disconnected"),
        (lambda x, y: y + disconnected_grad(x), "disconnected"),
        (lambda x, y: y + zero_grad(x), "zero"),
        (lambda x, y: y + consider_constant(x), "zero"),
        (lambda x, y: y + at.cast(x, "int64"), "zero"),
        (lambda x, y: y + at.floor(x), "zero"),
        (lambda x, y: y + at.sign(x), "zero"),
        (lambda x, y: y * at.gt(x, 0), "zero"),
        (lambda x, y: y + undefined_grad(x), "null"),
        (lambda x, y: undefined_grad(x) ** 2 + x, "null"),
        (lambda x, y: zero_grad(undefined_grad(x)) + x, "null"),
        (lambda x, y: zero_grad(undefined_grad(x)), "null"),
        (lambda x, y: disconnected_grad(undefined_grad(x)) + x, "one"),
    ],
)
@pytest.mark.filterwarnings("ignore:consider_constant")
def test_disconnected_zero_and_null_are_three_things(make: Any, kind: str) -> None:
    cost = make(X, Y)
    options: dict[str, Any] = {"disconnected_inputs": "ignore", "return_disconnected": "disconnected"}
    found = grad(cost, X, null_gradients="return", **options)
    if kind == "disconnected":
        assert found.type == disconnected_type
        with pytest.raises(DisconnectedInputError):
            grad(cost, X)
    elif kind == "null":
        assert found.type == null_type
        with pytest.raises(NullTypeGradError, match="undefined_grad"):
            grad(cost, X)
    else:
        assert grad(cost, X).eval({X: 1.5, Y: 2.0}) == (1.0 if kind == "one" else 0.0)


@pytest.mark.shows("gradient/3.5-null-cut")
def test_a_null_node_may_be_considered_constant() -> None:
    null = undefined_grad(X)
    assert grad(null + X, X, consider_constant=[null]).eval({X: 2.0}) == 1.0


class NotYet(Op):
    """x, with a derivative that nobody has written."""

    def infer_type(self, x: TensorType) -> TensorType:
        return x

    def reference(self, x: Any) -> Any:
        return x

    def grad(self, inputs: Any, output_grads: Any) -> Any:
        return [grad_not_implemented(self, 0, inputs[0], "later")]


@pytest.mark.shows("gradient/3.5-null", "gradient/11-choose-unwritten")
def test_not_implemented_is_null() -> None:
    with pytest.raises(NullTypeGradError, match=r"NotYet with respect to input 0 \(x\) is not implemented: later"):
        grad(NotYet()(X), X)


@pytest.mark.shows("gradient/3.5-order")
def test_an_absent_wrt_is_told_before_any_pullback_runs() -> None:
    with pytest.raises(DisconnectedInputError):
        grad(undefined_grad(X), [X, Y])
    spy = Spy()
    with pytest.raises(DisconnectedInputError):
        grad(spy(X)[0], [X, Y])
    assert spy.seen == []


@pytest.mark.shows("gradient/3.7-zero")
def test_a_zero_for_what_is_not_differentiable_needs_ignore() -> None:
    cost = at.cast(V.shape[0], "float64")
    with pytest.raises(DisconnectedInputError):
        grad(cost, V)
    np.testing.assert_array_equal(grad(cost, V, disconnected_inputs="ignore").eval({V: [1.0, 2.0]}), [0, 0])
    with pytest.warns(UserWarning, match="does not depend"):
        grad(cost, V, disconnected_inputs="warn")


# --- names -----------------------------------------------------------------------------------------------------------


def named(cost: Variable, name: str = "c") -> Variable:
    cost.name = name
    return cost


@pytest.mark.shows("gradient/3.6-shared")
def test_a_gradient_that_is_shared_keeps_its_first_name() -> None:
    first, second = grad(named(X + Y), [X, Y])
    assert first is second
    assert first.name == "(dc/dx)"


@pytest.mark.shows("gradient/3.6-named")
def test_the_gradient_of_the_cost_itself_is_named() -> None:
    cost = named(X * 2)
    assert grad(cost, cost).name == "(dc/dc)"


@pytest.mark.shows("gradient/3.6-user")
def test_an_op_that_returns_its_input_does_not_rename_it() -> None:
    class Odd(NotYet):
        def grad(self, inputs: Any, output_grads: Any) -> Any:
            return [unnamed]

    unnamed = at.dscalar()
    assert grad(named(Odd()(X)), X) is unnamed
    assert unnamed.name is None


@pytest.mark.shows("gradient/3.6-known-only")
def test_known_grads_alone_name_nothing() -> None:
    u = named(X * Y, "u")
    assert grad(None, X, known_grads={u: at.dscalar("g")}).name is None
