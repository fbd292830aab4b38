"""OpFromGraph: checks, forms of overrides, connection, numbers; reference, batch and compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import aotensor as aot
import aotensor.tensor as at
from aotensor import OpFromGraph
from aotensor.errors import DisconnectedInputError, MissingInputError, NullTypeGradError
from aotensor.gradient import Lop, NullType, Rop, disconnected_type, grad, grad_clip, hessian, jacobian
from aotensor.gradient.terms import connection_pattern
from aotensor.graph.op import is_disconnected
from aotensor.graph.variable import Variable

A, B, C = at.dscalars("a", "b", "c")
POINT = {A: 2.0, B: 3.0, C: 4.0}
ONE = np.float64(1.0)
GRID = np.array([[1.0, 2.0], [3.0, 4.0]])


def op(**options: Any) -> OpFromGraph:
    """e = a + b·c."""
    return OpFromGraph([A, B, C], [A + B * C], **options)


def derivatives(composite: OpFromGraph) -> list[float]:
    """Gradients at (2, 3, 4), which come through the inputs of the composite alone."""
    return [float(g.eval(POINT)) for g in grad(composite(A, B, C), [A, B, C])]


# --- construction ----------------------------------------------------------------------------------------------------


@pytest.mark.shows("gradient/11.1-constructor", "gradient/11.1-checks")
@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: OpFromGraph((A,), [A]), TypeError, "inputs must be a list"),
        (lambda: OpFromGraph([A], A), TypeError, "outputs must be a list of variables"),
        (lambda: OpFromGraph([A, 3], [A]), TypeError, "not a variable"),
        (lambda: OpFromGraph([A], [disconnected_type()]), TypeError, "has no value"),
        (lambda: OpFromGraph([A, B, A], [A + B]), ValueError, "a is given twice"),
        (lambda: OpFromGraph([A], [A + B]), MissingInputError, "b is needed but is not an input"),
        (lambda: OpFromGraph([A], [A], updates={}), NotImplementedError, "updates"),
        (lambda: OpFromGraph([A], [A], givens={}), NotImplementedError, "givens"),
        (lambda: op(lop_overrides=[None] * 3, pullback=[None] * 3), ValueError, "lop_overrides and pullback"),
        (lambda: op(rop_overrides=[None], pushforward=[None]), ValueError, "rop_overrides and pushforward"),
        (lambda: op(lop_overrides=[None] * 2), ValueError, "2 entries instead of 3"),
        (lambda: op(rop_overrides=[None] * 2), ValueError, "2 entries instead of 1"),
        (lambda: op(pushforward=[]), ValueError, "0 entries instead of 1"),
        (lambda: op(lop_overrides=3), TypeError, "a function, an op or a list"),
        (lambda: op(lop_overrides=[None, 3, None]), TypeError, "entry 1 is 3"),
        (lambda: op(lop_overrides=[None, A, None]), TypeError, "entry 1 is a"),
    ],
)
def test_construction_is_checked(make: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        make()


@pytest.mark.shows("gradient/11.1-checks", "gradient/11.1-unused")
def test_unused_inputs_are_fine() -> None:
    composite = OpFromGraph([A, B], [A * 2])
    assert composite(A, B).eval({A: 3.0, B: 0.0}) == 6.0
    with pytest.raises(DisconnectedInputError):
        grad(composite(A, B), B)


def test_inputs_are_counted_and_fitted() -> None:
    with pytest.raises(TypeError, match="expected 3 inputs, found 2"):
        op()(A, B)
    with pytest.raises(TypeError, match=r"op_from_graph: input b must be of float64"):
        op()(A, at.dvector("v"), C)
    assert op()(1, 2, 3).eval({}) == 7.0
    f = at.fscalar("f")
    with pytest.raises(TypeError, match="input f must be of float32"):
        OpFromGraph([f], [f * 2])(A)
    assert op()(f, B, C).dtype == "float64"


def test_dims_that_the_graph_relies_on_are_checked() -> None:
    row, v, w = at.drow("row"), at.dvector("v", shape=("n",)), at.dvector("w", shape=("n",))
    m, x, y = at.dmatrix("m"), at.dvector("x"), at.dvector("y")
    k = at.dmatrix("k")
    both = OpFromGraph([v, w], [v.sum(), w.sum()])
    for inputs, total, good, wrong in (
        ([k, m], OpFromGraph([row, m], [row + m])(k, m), [np.ones((1, 2)), GRID], [np.ones((2, 2)), GRID]),
        ([x, y], sum(both(x, y)), [np.ones(2), np.ones(2)], [np.ones(2), np.ones(3)]),
    ):
        f = aot.function(inputs, total)
        np.testing.assert_array_equal(f(*good), f.reference(*good))
        for call in (f, f.reference):
            with pytest.raises(ValueError, match="extent"):
                call(*wrong)


def test_static_dims_of_the_inputs_reach_the_outputs() -> None:
    v = at.dvector("v")
    assert OpFromGraph([v], [v * 2])(at.dvector("three", shape=(3,))).static_shape == (3,)


# --- reverse ---------------------------------------------------------------------------------------------------------


@pytest.mark.shows("gradient/11.1-numbers", "gradient/11.1-constructor")
def test_default_gradient() -> None:
    assert derivatives(op()) == [1, 4, 3]
    assert derivatives(op(inline=True)) == [1, 4, 3]


@pytest.mark.shows("gradient/11.1-lop-forms", "gradient/11.1-numbers")
def test_an_override_of_one_input_in_a_list() -> None:
    assert derivatives(op(lop_overrides=[None, lambda inputs, outputs, grads: 2 * inputs[2] * grads[0], None])) == [
        1,
        8,
        3,
    ]
    assert derivatives(op(pullback=[None, lambda inputs, outputs, grads: 2 * inputs[2] * grads[0], None])) == [1, 8, 3]


@pytest.mark.shows("gradient/11.1-lop-forms", "gradient/11.1-constructor")
def test_an_override_by_a_function() -> None:
    def rule(inputs: Any, outputs: Any, grads: Any) -> Any:
        assert [len(x) for x in (inputs, outputs, grads)] == [3, 1, 1]
        return [grads[0] * 10, outputs[0], inputs[0]]

    assert derivatives(op(lop_overrides=rule)) == [10, 14, 2]
    assert derivatives(op(pullback=rule)) == [10, 14, 2]


@pytest.mark.shows("gradient/11.1-lop-forms")
def test_an_override_by_another_composite() -> None:
    e, g = at.dscalars("e", "g")
    other = OpFromGraph([A, B, C, e, g], [g, 5 * g * C, e * g])
    assert derivatives(op(lop_overrides=other)) == [1, 20, 14]


@pytest.mark.shows("gradient/11.1-lop-checks")
@pytest.mark.parametrize(
    ("returned", "error", "text"),
    [
        (lambda i, o, g: (g[0],) * 3, TypeError, "tuple instead of a list"),
        (lambda i, o, g: g[0], TypeError, "Constant instead of a list"),
        (lambda i, o, g: [g[0]], ValueError, "1 terms instead of 3"),
        (lambda i, o, g: [g[0], g[0], None], TypeError, "term 2 is None"),
        ([lambda i, o, g: 3.0, None, None], TypeError, "not a variable"),
    ],
)
def test_what_an_override_returns_is_checked(returned: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        derivatives(op(lop_overrides=returned))


@pytest.mark.shows("gradient/11.1-lop-forms")
def test_null_entries() -> None:
    composite = op(lop_overrides=[None, Variable(NullType("b is a label")), None])
    with pytest.raises(NullTypeGradError, match="b is a label"):
        grad(composite(A, B, C), B)
    assert grad(composite(A, B, C), C).eval(POINT) == 3.0


@pytest.mark.shows("gradient/11.1-lop-forms", "gradient/11.1-disconnected-entry")
def test_disconnected_entries_agree_with_the_pattern() -> None:
    entries = [None, disconnected_type(), None]
    with pytest.raises(TypeError, match="disconnected, but connection_pattern"):
        grad(op(lop_overrides=entries)(A, B, C), A)
    composite = op(lop_overrides=entries, connection_pattern=[[True], [False], [True]])
    assert grad(composite(A, B, C), [A, C])[0].eval(POINT) == 1.0
    with pytest.raises(DisconnectedInputError):
        grad(composite(A, B, C), B)


def test_cotangents_of_unused_outputs_are_zeros_for_overrides() -> None:
    def rule(inputs: Any, outputs: Any, grads: Any) -> Any:
        return [2 * grads[0] + 3 * grads[1]]

    first, second = OpFromGraph([A], [A * 2, A * 3], lop_overrides=rule)(A)
    assert grad(first, A).eval(POINT) == 2.0
    assert grad(second, A).eval(POINT) == 3.0
    assert grad(first + second, A).eval(POINT) == 5.0


@pytest.mark.shows("gradient/11.1-pattern", "gradient/11.1-unused")
def test_derived_connection_pattern() -> None:
    composite = OpFromGraph([A, B], [2 * A, A * B])
    node = composite(A, B)[0].owner
    assert connection_pattern(node) == [[True, True], [False, True]]
    with pytest.raises(DisconnectedInputError):
        grad(composite(A, B)[0], B)
    v = at.dvector("v")
    by_shape = OpFromGraph([v], [at.zeros_like(v), v.sum()])(v)[0].owner
    assert connection_pattern(by_shape) == [[False, True]]


@pytest.mark.shows("gradient/11.1-pattern")
def test_a_given_pattern_is_checked() -> None:
    for pattern, error in (([[True]], ValueError), ((True,), TypeError), ([(True,)] * 3, TypeError)):
        with pytest.raises(error, match="connection_pattern"):
            grad(op(connection_pattern=pattern)(A, B, C), A)


def test_two_uses_of_one_variable_add_up() -> None:
    assert grad(op()(A, A, A), A).eval(POINT) == 1 + 2 + 2
    assert grad(op()(A, B, op()(A, B, C)), B).eval(POINT) == 14 + 3 * 4


def test_higher_orders_and_nesting() -> None:
    v = at.dvector("v")
    cube = OpFromGraph([v], [v**3], name="cube")
    outer = OpFromGraph([v], [at.sum(cube(v) * v)])
    values = {v: np.array([1.0, 2.0])}
    np.testing.assert_allclose(hessian(outer(v), v).eval(values), np.diag([12.0, 48.0]))
    assert "cube" in str(cube(v))


# --- forward ---------------------------------------------------------------------------------------------------------


def test_default_tangent() -> None:
    assert Rop(op()(A, B, C), [A, B], [ONE, ONE]).eval(POINT) == 5.0


@pytest.mark.shows("gradient/11.1-rop-forms", "gradient/11.1-rop-honoured")
@pytest.mark.parametrize(
    "options",
    [
        {"rop_overrides": lambda inputs, points: [100 * points[1]]},
        {"rop_overrides": [lambda inputs, points: 100 * points[1]]},
        {"rop_overrides": OpFromGraph([A, B, C, (t := at.dscalars("s", "t", "u"))[0], t[1], t[2]], [100 * t[1]])},
        {"pushforward": lambda inputs, outputs, tangents: [100 * tangents[1]]},
        {"pushforward": [lambda inputs, outputs, tangents: 100 * tangents[1]]},
    ],
)
def test_forward_overrides_are_honoured(options: Any) -> None:
    assert Rop(op(**options)(A, B, C), B, ONE).eval(POINT) == 100.0
    assert grad(op(**options)(A, B, C), B).eval(POINT) == 4.0


@pytest.mark.shows("gradient/11.1-rop-forms")
def test_a_pushforward_by_another_composite_takes_outputs_too() -> None:
    e, s, t, u = at.dscalars("e", "s", "t", "u")
    other = OpFromGraph([A, B, C, e, s, t, u], [e * t + s])
    assert Rop(op(pushforward=other)(A, B, C), B, ONE).eval(POINT) == 14.0


def test_conventions_for_what_does_not_vary() -> None:
    seen: list[Any] = []

    def older(inputs: Any, points: Any) -> Any:
        seen.append([x is None for x in points])
        return [points[1], None]

    def newer(inputs: Any, outputs: Any, tangents: Any) -> Any:
        seen.append([is_disconnected(x) for x in tangents])
        return [tangents[1], disconnected_type()]

    for options in ({"rop_overrides": older}, {"pushforward": newer}):
        outputs = OpFromGraph([A, B], [A * B, A + B], **options)(A, B)
        assert Rop(outputs[0], B, ONE).eval({}) == 1.0
        with pytest.raises(DisconnectedInputError):
            Rop(outputs[1], B, ONE)
    assert seen == [[True, False]] * 4
    outputs = OpFromGraph([A, B], [A * B, A + B], rop_overrides=[None, lambda inputs, points: None])(A, B)
    assert Rop(outputs, B, ONE, disconnected_outputs="ignore")[0].eval(POINT) == 2.0


@pytest.mark.parametrize(
    ("returned", "error", "text"),
    [
        (lambda i, p: p[1], TypeError, "instead of a list"),
        (lambda i, p: None, TypeError, "NoneType instead of a list"),
        (lambda i, p: [], ValueError, "0 terms instead of 1"),
    ],
)
def test_what_a_forward_override_returns_is_checked(returned: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        Rop(op(rop_overrides=returned)(A, B, C), B, ONE)


# --- shared variables, batch, compiled -------------------------------------------------------------------------------


def test_shared_variables_inside_are_inputs_of_their_own() -> None:
    s = aot.shared(3.0, name="s")
    composite = OpFromGraph([A], [A * s])
    y = composite(A)
    assert y.eval({A: 2.0}) == 6.0
    assert grad(y, s).eval({A: 2.0}) == 2.0
    marked = OpFromGraph([A], [A * s], lop_overrides=lambda i, o, g: [7 * g[0]])
    assert [g.eval({A: 2.0}) for g in grad(marked(A), [A, s])] == [7.0, 2.0]
    f = aot.function([A], [y, grad(y, s)], updates={s: s + 1})
    assert f(2.0) == [6.0, 2.0]
    assert f(2.0) == [8.0, 2.0]
    with pytest.raises(MissingInputError, match="s is needed"):
        OpFromGraph([A], [A * s], strict=True)


def make_layer(**options: Any) -> tuple[OpFromGraph, list[Variable], list[np.ndarray[Any, Any]]]:
    """tanh(W·x) and its sum."""
    w, x = at.dmatrix("w"), at.dvector("x")
    y = at.tanh(w @ x)
    values = [np.array([[0.5, -1.0], [2.0, 0.25], [1.0, 1.0]]), np.array([0.3, -0.7])]
    return OpFromGraph([w, x], [y, y.sum()], **options), [w, x], values


def test_compiled_values_and_derivatives() -> None:
    layer, (w, x), values = make_layer()
    y, total = layer(w, x)
    cost = total + (y**2).sum()
    expressions = [y, cost, *grad(cost, [w, x]), Rop(y, x, np.array([1.0, 2.0])), jacobian(y, x), hessian(cost, x)]
    f = aot.function([w, x], expressions)
    for found, expected in zip(f(*values), f.reference(*values), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert "op_from_graph" in f.ir("graph")
    assert "op_from_graph" not in f.ir("tensor")


def test_overrides_reach_compiled_code() -> None:
    composite = op(lop_overrides=[None, lambda inputs, outputs, grads: 2 * inputs[2] * grads[0], None])
    f = aot.function([A, B, C], grad(composite(A, B, C), [A, B, C]), on_unused_input="ignore")
    assert f(2.0, 3.0, 4.0) == [1.0, 8.0, 3.0]


def test_jacobians_with_overrides_go_backwards() -> None:
    """The forward sweep over one scalar would be shorter, but not what the author said."""
    v = at.dvector("v")
    composite = OpFromGraph([A, v], [A * v], lop_overrides=lambda i, o, g: [(g[0] * v).sum() * 10, g[0] * A])
    found = jacobian(composite(A, v), A)
    np.testing.assert_array_equal(found.eval({A: 2.0, v: np.array([1.0, 2.0])}), [10, 20])
    clipped = OpFromGraph([A, v], [5 * v * grad_clip(A, -1, 1)])
    np.testing.assert_array_equal(jacobian(clipped(A, v), A).eval({A: 2.0, v: np.array([1.0, 2.0])}), [1, 1])
    assert OpFromGraph([A], [A]).is_dual()


@pytest.mark.parametrize("batched", [(True, True), (False, True), (True, False)])
def test_batched_composites_keep_their_overrides(batched: tuple[bool, bool]) -> None:
    """Three samples at once, and their derivatives, against one after the other."""

    def pulled(inputs: Any, outputs: Any, grads: Any) -> Any:
        w, x = inputs
        inner = grads[0] + grads[1]
        return [5 * at.outer(inner, x), 7 * (w.T @ inner)]

    def pushed(inputs: Any, outputs: Any, tangents: Any) -> Any:
        total = [11 * (t.sum(axis=0) if t.ndim == 2 else t) for t in tangents if not is_disconnected(t)]
        first = total[0].sum() + sum(t.sum() for t in total[1:])
        return [first * outputs[0], first]

    layer, (w, x), (some_w, some_x) = make_layer(pullback=pulled, pushforward=pushed)
    ws, xs = (at.dtensor3("ws") if batched[0] else w), (at.dmatrix("xs") if batched[1] else x)
    many = at.vectorize_graph(list(layer(w, x)), {w: ws, x: xs})
    scale = np.array([1.0, -2.0, 0.5])
    w_values = scale[:, None, None] * some_w if batched[0] else some_w
    x_values = scale[:, None] * some_x if batched[1] else some_x
    values = {ws: w_values, xs: x_values}
    singles = [
        {w: w_values[k] if batched[0] else w_values, x: x_values[k] if batched[1] else x_values} for k in range(3)
    ]
    for new, old in zip(many, layer(w, x), strict=True):
        np.testing.assert_allclose(new.eval(values), [old.eval(one) for one in singles])
    weights = [np.arange(9.0).reshape(3, 3), np.array([1.0, 2.0, 3.0])]
    found = Lop(many, [ws, xs], weights)
    parts = [
        [g.eval(one) for g in Lop(layer(w, x), [w, x], [weights[0][k], weights[1][k]])] for k, one in enumerate(singles)
    ]
    for position, derivative in enumerate(found):
        rows = np.stack([part[position] for part in parts])
        np.testing.assert_allclose(derivative.eval(values), rows if batched[position] else rows.sum(axis=0))
    direction = [np.ones_like(w_values), np.ones_like(x_values)]
    alone = [np.ones_like(some_w), np.ones_like(some_x)]
    for new, old in zip(Rop(many, [ws, xs], direction), Rop(layer(w, x), [w, x], alone), strict=True):
        np.testing.assert_allclose(new.eval(values), [old.eval(one) for one in singles])
