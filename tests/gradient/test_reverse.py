"""grad and Lop: checks on entry, containers, dtypes, connection, names, options."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import aotensor.tensor as at
from aotensor.config import config
from aotensor.errors import DisconnectedInputError, NullTypeGradError
from aotensor.gradient import (
    DisconnectedType,
    Lop,
    NullType,
    disconnected_type,
    grad,
    grad_sources_inputs,
    null_type,
    subgraph_grad,
)
from aotensor.graph.variable import Constant, Variable
from aotensor.graph.walk import leaves
from aotensor.ops.gradient_control import disconnected_grad, undefined_grad, zero_grad


def value(target: Variable, /, **named: Any) -> Any:
    """Evaluate, with leaves found by name."""
    symbols = [leaf for leaf in leaves([target]) if not isinstance(leaf, Constant)]
    return target.eval({leaf: named[str(leaf.name)] for leaf in symbols})


# --- entry -----------------------------------------------------------------------------------------------------------


@pytest.mark.shows("gradient/3.1-nothing", "gradient/3.1-null-cost", "gradient/3.1-rank", "gradient/3.1-no-variable")
@pytest.mark.shows("gradient/3.1-set", "gradient/3.1-not-a-sequence", "gradient/3.8-not-iterable")
@pytest.mark.shows("gradient/3.8-no-variable", "gradient/3.8-bare", "gradient/3.9-mapping", "gradient/3.9-no-variable")
@pytest.mark.shows("gradient/3.9-dtype", "gradient/3.9-shape")
@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x, v: grad(None, x), ValueError, "cost, known_grads"),
        (lambda x, v: grad(v, v), TypeError, "scalar"),
        (lambda x, v: grad(at.row("r", shape=(1, 1)), v), TypeError, "scalar"),
        (lambda x, v: grad(np.float64(3.0), x), TypeError, "float64"),
        (lambda x, v: grad(x, {x}), TypeError, "no defined order"),
        (lambda x, v: grad(x, (y for y in [x])), TypeError, "generator"),
        (lambda x, v: grad(x, 3), TypeError, "int"),
        (lambda x, v: grad(x, [3]), TypeError, "not a variable"),
        (lambda x, v: grad(null_type(), x), ValueError, "no explanation"),
        (lambda x, v: grad(x, x, disconnected_inputs="Raise"), ValueError, "'ignore', 'warn', 'raise'"),
        (lambda x, v: grad(x, x, return_disconnected="nothing"), ValueError, "'zero', 'none', 'disconnected'"),
        (lambda x, v: grad(x, x, null_gradients="ignore"), ValueError, "'raise', 'return'"),
        (lambda x, v: grad(x, x, consider_constant=x), TypeError, "iterable"),
        (lambda x, v: grad(v.sum(), v, consider_constant=v), TypeError, "iterable"),
        (lambda x, v: grad(x, x, consider_constant=3), TypeError, "iterable"),
        (lambda x, v: grad(x, x, consider_constant=[[x]]), TypeError, "not a variable"),
        (lambda x, v: grad(None, x, known_grads=[(x, x)]), TypeError, "known_grads must be a mapping"),
        (lambda x, v: grad(None, x, known_grads={x: 1.0}), TypeError, "not a variable"),
        (lambda x, v: grad(None, x, known_grads={x: at.constant(1)}), TypeError, "must have a floating dtype"),
        (lambda x, v: grad(None, x, known_grads={x: v}), ValueError, "shape of its variable"),
    ],
)
def test_entry_is_checked(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call(at.dscalar("x"), at.dvector("v"))


@pytest.mark.shows("gradient/3.1-empty", "gradient/3.2-single", "gradient/3.2-list", "gradient/3.2-tuple")
def test_result_is_in_the_container_of_wrt() -> None:
    x, y = at.dscalars("x", "y")
    cost = x * y
    assert isinstance(grad(cost, x), Variable)
    assert isinstance(grad(cost, [x, y]), list)
    assert isinstance(grad(cost, (x, y)), tuple)
    assert grad(cost, []) == []
    assert grad(cost, ()) == ()


@pytest.mark.shows("gradient/3.1-duplicates")
def test_a_repeated_wrt_gets_its_gradient_in_each_slot() -> None:
    x = at.dscalar("x")
    assert [value(g, x=3.0) for g in grad(x**2, [x, x])] == [6.0, 6.0]


@pytest.mark.shows("gradient/3.1-constant", "gradient/3.1-intermediate")
def test_constants_and_intermediates_may_be_differentiated() -> None:
    x = at.dscalar("x")
    k = at.constant(2.0)
    assert value(grad(x * k, k), x=3.0) == 3.0
    u = 3 * x
    assert value(grad(u * u * x, u), x=2.0) == 24.0


@pytest.mark.shows("gradient/3.1-itself", "gradient/3.3-seed", "gradient/3.4-discrete-cost")
def test_the_cost_itself_has_derivative_1() -> None:
    x, i = at.dscalar("x"), at.iscalar("i")
    assert grad(x, x).eval({}) == 1.0
    assert grad(i, i).eval({}) == 1.0
    assert grad(i, i).dtype == config.floatX


@pytest.mark.shows("gradient/3.1-no-sources")
def test_no_known_grads_connect_nothing() -> None:
    x = at.dscalar("x")
    with pytest.raises(DisconnectedInputError):
        grad(None, x, known_grads={})


# --- values ----------------------------------------------------------------------------------------------------------


@pytest.mark.shows("gradient/13-cube")
def test_higher_orders() -> None:
    x = at.dscalar("x")
    first = grad(x**3, x)
    second = grad(first, x)
    assert value(second, x=2.0) == 12.0
    assert value(grad(second, x), x=2.0) == 6.0


def test_a_deep_chain_is_no_danger() -> None:
    x = at.dscalar("x")
    y = x
    for _ in range(5000):
        y = y * 1.0001
    assert value(grad(y, x), x=1.0) == pytest.approx(1.0001**5000)


def test_a_ladder_of_reuse_stays_linear() -> None:
    x = at.dscalar("x")
    y = x
    for _ in range(60):
        y = y + y
    assert value(grad(y, x), x=1.0) == 2.0**60


# --- dtypes ----------------------------------------------------------------------------------------------------------


@pytest.mark.shows("gradient/3.4-result")
def test_a_gradient_has_the_dtype_of_its_wrt() -> None:
    a, b = at.fscalar("a"), at.dscalar("b")
    assert grad(a * b, a).dtype == "float32"
    assert grad(a * 2, a).dtype == "float32"
    assert grad(at.sum(at.fvector("v")), a, disconnected_inputs="ignore").dtype == "float32"


@pytest.mark.shows("gradient/3.4-discrete-input")
def test_a_discrete_input_of_a_float_op_is_differentiated_as_if_real() -> None:
    i, x, flag = at.iscalar("i"), at.dscalar("x"), at.scalar("flag", dtype="bool")
    assert [value(g, i=3, x=2.0) for g in grad(i * x, [i, x])] == [2.0, 3.0]
    assert value(grad(flag * x, flag), flag=True, x=2.0) == 2.0


@pytest.mark.shows("gradient/3.4-discrete-output", "gradient/3.4-comparison")
def test_discrete_outputs_send_exact_zeros() -> None:
    i, x, v = at.iscalar("i"), at.dscalar("x"), at.ivector("v")
    assert value(grad(i * i, i), i=3) == 0.0
    np.testing.assert_array_equal(value(grad(at.sum(v), v), v=np.array([1, 2], "int32")), [0.0, 0.0])
    truncated = at.cast(x, "int32")
    cost = at.cast(truncated, "float64") * 0.5
    assert value(grad(cost, x), x=3.7) == 0.0
    assert value(grad(cost, truncated), x=3.7) == 0.5
    assert value(grad(at.eq(x, 1.0) * x, x), x=1.0) == 1.0
    assert value(grad(at.eq(x, 1), x), x=1.0) == 0.0


@pytest.mark.shows("gradient/3.4-extents")
def test_what_only_lends_its_extents_is_disconnected() -> None:
    x = at.dvector("x")
    with pytest.raises(DisconnectedInputError, match=r"x: float64\[\?\]   made at"):
        grad(at.cast(x.shape[0], "float64"), x)
    assert grad(at.cast(x.shape[0], "float64"), x, disconnected_inputs="ignore").dtype == "float64"


# --- disconnected and null -------------------------------------------------------------------------------------------


@pytest.mark.shows("gradient/2-disconnected-effect", "gradient/3.3-unconnected", "gradient/3.5-not-an-ancestor")
@pytest.mark.shows("gradient/3.5-handling")
def test_disconnection_raises_warns_or_is_ignored() -> None:
    x, y = at.dscalar("x"), at.iscalar("y")
    with pytest.raises(DisconnectedInputError, match="does not depend on the input y"):
        grad(x, y)
    with pytest.warns(UserWarning, match="does not depend") as caught:
        grad(x, [x, y], disconnected_inputs="warn")
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        zero = grad(x, y, disconnected_inputs="ignore")
    assert zero.dtype == config.floatX
    assert value(zero, y=3) == 0.0


@pytest.mark.shows("gradient/3.5-handling")
@pytest.mark.parametrize("spelling", ["none", "None", "NONE", None])
def test_a_disconnected_gradient_may_be_none(spelling: Any) -> None:
    x, y = at.dscalars("x", "y")
    assert grad(x, [y], disconnected_inputs="ignore", return_disconnected=spelling) == [None]


@pytest.mark.shows("gradient/3.5-handling", "gradient/9-arithmetic")
def test_a_disconnected_gradient_may_be_a_variable_that_says_so() -> None:
    x, y = at.dscalars("x", "y")
    found = grad(x, y, disconnected_inputs="ignore", return_disconnected="Disconnected")
    assert found.type == disconnected_type == DisconnectedType()
    assert str(found.type) == "DisconnectedType"
    with pytest.raises(TypeError):
        found + 1
    with pytest.raises(AssertionError):
        found.type.filter(1.0)


@pytest.mark.shows("gradient/3.5-null", "gradient/3.5-null-handling")
def test_null_poisons_the_total() -> None:
    x = at.dscalar("x")
    cost = undefined_grad(x) ** 2 + x
    with pytest.raises(NullTypeGradError, match="undefined"):
        grad(cost, x)
    found = grad(cost, x, null_gradients="return")
    assert found.type == null_type == NullType()
    assert "undefined_grad" in found.type.why_null


@pytest.mark.shows("gradient/3.5-null-zero", "gradient/3.5-null-cut")
def test_null_and_the_ops_that_cut() -> None:
    x = at.dscalar("x")
    with pytest.raises(NullTypeGradError):
        grad(zero_grad(undefined_grad(x)) + x, x)
    assert value(grad(disconnected_grad(undefined_grad(x)) * x, x), x=2.0) == 2.0
    null = undefined_grad(x)
    assert value(grad(null * x, x, consider_constant=[null]), x=2.0) == 2.0


# --- names -----------------------------------------------------------------------------------------------------------


@pytest.mark.shows("gradient/3.6-named")
def test_gradients_are_named() -> None:
    x = at.dscalar("x")
    cost = x**2
    assert grad(cost, x).name is None
    cost.name = "c"
    assert grad(cost, x).name == "(dc/dx)"
    assert grad(cost, x, add_names=False).name is None


@pytest.mark.shows("gradient/3.6-named")
def test_intermediate_gradients_are_named_too() -> None:
    x = at.dscalar("x")
    u = x * x
    u.name = "u"
    cost = u * u
    cost.name = "c"
    g = grad(cost, x)
    names = set()
    stack = [g]
    while stack:
        y = stack.pop()
        names.add(y.name)
        if y.owner:
            stack.extend(y.owner.inputs)
    assert "(dc/du)" in names


@pytest.mark.shows("gradient/3.6-user")
def test_variables_of_the_user_keep_their_names() -> None:
    x, y = at.dscalars("x", "y")
    cost = x * y
    cost.name = "c"
    grad(cost, [x, y])
    assert (x.name, y.name, cost.name) == ("x", "y", "c")
    unnamed = at.dscalar()
    cost = x * unnamed
    cost.name = "c"
    grad(cost, x)
    assert unnamed.name is None


# --- consider_constant, known_grads ----------------------------------------------------------------------------------


@pytest.mark.shows("gradient/3.8-intermediate", "gradient/3.8-wrt", "gradient/3.8-leaf", "gradient/3.8-all-cut")
@pytest.mark.shows("gradient/3.8-cost", "gradient/3.8-generator")
def test_consider_constant_cuts_behind_a_variable() -> None:
    x, y = at.dscalars("x", "y")
    a = x * y
    cost = a**2 + x
    assert value(grad(cost, [x], [a])[0], x=2.0, y=3.0) == 1.0
    assert value(grad(cost, x, (v for v in [a])), x=2.0, y=3.0) == 1.0
    assert value(grad(cost, a, [a]), x=2.0, y=3.0) == 12.0
    assert value(grad(cost, x, [x]), x=2.0, y=3.0) == 37.0
    with pytest.raises(DisconnectedInputError):
        grad(a**2, x, [a])
    with pytest.raises(DisconnectedInputError):
        grad(cost, x, [cost])


@pytest.mark.shows("gradient/3.9-precedence", "gradient/3.9-cost", "gradient/3.9-no-cost", "gradient/13-known")
@pytest.mark.shows("gradient/13-known-cost")
def test_known_grads_replace_what_would_be_computed() -> None:
    x, y, g = at.dscalars("x", "y", "g")
    a = x * y
    found = grad(None, [x, y], known_grads={a: g})
    assert [value(z, x=2.0, y=3.0, g=10.0) for z in found] == [30.0, 20.0]
    c = a**2
    assert value(grad(None, x, known_grads={c: g, a: at.constant(7.0)}), x=2.0, y=3.0) == 21.0
    assert grad(None, x, known_grads={x: g}) is g
    assert value(grad(c, x, known_grads={c: at.constant(10.0)}), x=2.0, y=3.0) == 360.0


@pytest.mark.shows("gradient/3.9-cast", "gradient/13-known-vector")
def test_known_grads_of_another_dtype_are_cast() -> None:
    v, w = at.dvector("v"), at.fvector("w")
    found = grad(None, v, known_grads={v**2: w})
    assert found.dtype == "float64"
    np.testing.assert_array_equal(value(found, v=np.array([1.0, 2]), w=np.array([3, 4], "float32")), [6, 16])


@pytest.mark.shows("gradient/3.9-null", "gradient/3.9-disconnected")
def test_known_grads_may_be_null_or_disconnected() -> None:
    x = at.dscalar("x")
    a = x * x
    with pytest.raises(NullTypeGradError):
        grad(a + x, x, known_grads={a: null_type()})
    with pytest.raises(DisconnectedInputError):
        grad(a, x, known_grads={a: disconnected_type()})
    with pytest.raises(DisconnectedInputError):
        grad(a * 2, x, known_grads={a: disconnected_type()})


@pytest.mark.shows("gradient/1-grad-sources-inputs", "gradient/3.9-sources-inputs")
def test_grad_sources_inputs() -> None:
    x, y, g = at.dscalars("x", "y", "g")
    found = grad_sources_inputs([(x * y, g)], None)
    assert set(found) == {x, y}
    assert value(found[x], y=3.0, g=2.0) == 6.0


@pytest.mark.shows("gradient/7-purpose", "gradient/7-numbers")
def test_subgraph_grad_continues_layer_by_layer() -> None:
    x, w1, w2 = at.dscalars("x", "w1", "w2")
    h = w1 * x
    cost = (w2 * h) ** 2
    at_point = {"x": 2.0, "w1": 3.0, "w2": 5.0}
    (for_w2,), (for_h,) = subgraph_grad([w2], [h], cost=cost)
    assert [value(g, **at_point) for g in (for_w2, for_h)] == [360.0, 300.0]
    (for_w1,), (for_x,) = subgraph_grad([w1], [x], start={h: for_h})
    assert [value(g, **at_point) for g in (for_w1, for_x)] == [600.0, 900.0]
    total, _, from_start, from_cost = subgraph_grad([w1], [x], start={h: for_h}, cost=w1**2, details=True)
    assert [value(g[0], **at_point) for g in (total, from_start, from_cost)] == [606.0, 600.0, 6.0]
    with pytest.raises(ValueError, match="cost, start"):
        subgraph_grad([w1], [x])
    with pytest.raises(TypeError, match="list"):
        subgraph_grad((w1,), [x], cost=cost)  # type: ignore[arg-type]


# --- Lop -------------------------------------------------------------------------------------------------------------

ONES = np.array([1.0, 2.0, 3.0])


@pytest.mark.shows("gradient/5-lop-formula", "gradient/5-repeated-f", "gradient/5-adds", "gradient/5-identical")
def test_lop_adds_the_contributions_of_all_outputs() -> None:
    v = at.dvector("v")
    f = v**2
    for outputs, points, expected in [
        (f, ONES, [2, 8, 18]),
        ([f, 3 * v], [ONES, ONES], [5, 14, 27]),
        ([f, f], [ONES, ONES], [4, 16, 36]),
        ([f, 2 * f], [ONES, ONES], [6, 24, 54]),
        (v, ONES, ONES),
    ]:
        np.testing.assert_array_equal(Lop(outputs, v, points).eval({v: ONES}), expected)


@pytest.mark.shows("gradient/5-container", "gradient/5-length", "gradient/5-rank", "gradient/5-empty")
def test_lop_takes_its_container_from_wrt_and_checks_shapes() -> None:
    v = at.dvector("v")
    assert isinstance(Lop([v**2], v, [ONES]), Variable)
    assert isinstance(Lop(v**2, [v], ONES), list)
    with pytest.raises(ValueError, match="2 eval_points for 1"):
        Lop(v**2, v, [ONES, ONES])
    with pytest.raises(ValueError, match=r"eval_points\[0\]"):
        Lop(v**2, v, np.float64(1.0))
    with pytest.raises(DisconnectedInputError):
        Lop([], v, [])
    np.testing.assert_array_equal(Lop(v**2, v, np.array([1, 2, 3])).eval({v: ONES}), [2, 8, 18])
