"""The public names of the gradient module, its option values, and the types that stand for a missing gradient."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import aotensor as aot
import aotensor.gradient as ag
import aotensor.tensor as at
from aotensor.errors import AotensorError, DisconnectedInputError, GradientError, NullTypeGradError
from aotensor.gradient import Lop, Rop, grad, hessian, jacobian
from aotensor.graph.op import Op

X, Y = at.dscalars("x", "y")
V = at.dvector("v")
ONES = np.ones(3)

FUNCTIONS = (
    "grad subgraph_grad jacobian hessian Lop Rop zero_grad disconnected_grad undefined_grad grad_clip grad_scale"
    " consider_constant grad_undefined grad_not_implemented verify_grad format_as as_list_or_tuple"
    " grad_sources_inputs pullback pushforward hessian_vector_product"
)


# --- names -----------------------------------------------------------------------------------------------------------


@pytest.mark.shows("gradient/1-grad", "gradient/1-subgraph-grad", "gradient/1-jacobian", "gradient/1-hessian")
@pytest.mark.shows("gradient/1-zero-grad", "gradient/1-disconnected-grad", "gradient/1-undefined-grad")
@pytest.mark.shows("gradient/1-grad-clip", "gradient/1-grad-scale", "gradient/1-grad-undefined")
@pytest.mark.shows("gradient/1-grad-not-implemented", "gradient/1-verify-grad", "gradient/1-as-list-or-tuple")
@pytest.mark.shows("gradient/1-pullback", "gradient/1-pushforward", "gradient/1-hessian-vector-product")
@pytest.mark.parametrize("name", FUNCTIONS.split())
def test_public_function(name: str) -> None:
    assert name in ag.__all__
    assert callable(getattr(ag, name))
    assert getattr(ag, name).__doc__


@pytest.mark.shows("gradient/1-lop", "gradient/1-rop", "gradient/1-format-as")
def test_aliases() -> None:
    assert ag.Lop is ag.pullback
    assert ag.Rop is ag.pushforward
    assert ag.format_as is ag.as_list_or_tuple


@pytest.mark.shows("gradient/1-grad", "gradient/1-subgraph-grad", "gradient/1-jacobian", "gradient/1-hessian")
def test_names_in_other_namespaces() -> None:
    assert aot.grad is ag.grad is at.grad
    assert aot.subgraph_grad is ag.subgraph_grad
    assert at.jacobian is ag.jacobian
    assert at.hessian is ag.hessian


@pytest.mark.shows("gradient/1-class-zero-grad", "gradient/1-class-disconnected-grad", "gradient/1-class-grad-clip")
@pytest.mark.shows("gradient/1-class-grad-scale", "gradient/1-class-consider-constant")
@pytest.mark.parametrize(
    ("op", "derivative", "tangent"),
    [
        (ag.ZeroGrad(), 0.0, 0.0),
        (ag.ConsiderConstant(), 0.0, 0.0),
        (ag.DisconnectedGrad(), None, None),
        (ag.GradClip(-1, 1), 1.0, 5.0),
        (ag.GradScale(3.0), 15.0, 15.0),
    ],
    ids=lambda x: str(x),
)
def test_op_class_with_its_methods(op: Op, derivative: float | None, tangent: float | None) -> None:
    """grad and R_op, called as op authors call them, for a cotangent and a tangent of 5."""
    five = at.constant(5.0)
    inputs = op.apply(X).inputs
    (term, *rest) = op.grad(inputs, [five])
    assert (None if ag.DisconnectedType() == term.type else term.eval({X: 2.0})) == derivative
    assert all(ag.DisconnectedType() == x.type for x in rest)
    (pushed,) = op.R_op(inputs, [five, *(None for _ in rest)])
    assert (None if pushed is None else pushed.eval({X: 2.0})) == tangent
    assert op(X).eval({X: 2.0}) == 2.0


@pytest.mark.shows("gradient/1-class-undefined-grad")
def test_op_class_undefined_grad() -> None:
    op = ag.UndefinedGrad()
    assert "undefined" in op.grad([X], [at.constant(5.0)])[0].type.why_null
    (tangent,) = op.R_op([X], [at.constant(5.0)])
    assert tangent is not None
    assert "undefined" in tangent.type.why_null
    assert op.R_op([X], [None]) == [None]


@pytest.mark.shows("gradient/1-class-consider-constant")
def test_consider_constant_is_a_zero_grad() -> None:
    assert issubclass(ag.ConsiderConstant, ag.ZeroGrad)


@pytest.mark.shows("gradient/1-disconnected-input-error", "gradient/1-null-type-grad-error")
@pytest.mark.shows("gradient/1-gradient-error", "gradient/9-exceptions")
def test_exceptions_have_their_builtin_parents() -> None:
    assert issubclass(DisconnectedInputError, ValueError)
    assert issubclass(NullTypeGradError, TypeError)
    assert issubclass(GradientError, AotensorError)
    assert not issubclass(GradientError, TypeError | ValueError)
    assert (ag.DisconnectedInputError, ag.NullTypeGradError, ag.GradientError) == (
        DisconnectedInputError,
        NullTypeGradError,
        GradientError,
    )


@pytest.mark.shows("gradient/1-op-instances")
def test_op_instances() -> None:
    assert [op(X).owner.op for op in (ag.zero_grad_, ag.disconnected_grad_, ag.undefined_grad_)] == [
        ag.ZeroGrad(),
        ag.DisconnectedGrad(),
        ag.UndefinedGrad(),
    ]
    assert ag.consider_constant_ == ag.ConsiderConstant() != ag.zero_grad_


@pytest.mark.shows("gradient/1-disconnected-type", "gradient/1-null-type")
def test_placeholder_instances_make_variables() -> None:
    assert ag.disconnected_type().type == ag.DisconnectedType()
    assert ag.null_type().type == ag.NullType()


# --- option values ---------------------------------------------------------------------------------------------------

BAD_DISCONNECTED = ["Raise", "WARN", "", None, True, "zero"]
CALLS_WITH_DISCONNECTED: list[Any] = [
    lambda bad: grad(X * Y, X, disconnected_inputs=bad),
    lambda bad: Lop(X * Y, X, at.constant(1.0), disconnected_inputs=bad),
    lambda bad: Rop(X * Y, X, at.constant(1.0), disconnected_outputs=bad),
    lambda bad: jacobian(V * 2, V, disconnected_inputs=bad),
    lambda bad: hessian(at.sum(V**2), V, disconnected_inputs=bad),
]


@pytest.mark.shows("gradient/2-disconnected-inputs")
@pytest.mark.parametrize("bad", BAD_DISCONNECTED)
@pytest.mark.parametrize("call", CALLS_WITH_DISCONNECTED)
def test_disconnected_option_is_checked_on_every_call(call: Any, bad: Any) -> None:
    with pytest.raises(ValueError, match="'ignore', 'warn', 'raise'"):
        call(bad)


CALLS_WITH_RETURN: list[Any] = [
    lambda kind: grad(X, Y, disconnected_inputs="ignore", return_disconnected=kind),
    lambda kind: Lop(X, Y, at.constant(1.0), disconnected_inputs="ignore", return_disconnected=kind),
    lambda kind: Rop(X, Y, at.constant(1.0), disconnected_outputs="ignore", return_disconnected=kind),
]


@pytest.mark.shows("gradient/2-return-disconnected", "gradient/3.5-handling")
@pytest.mark.parametrize("call", CALLS_WITH_RETURN)
def test_return_disconnected_in_every_spelling(call: Any) -> None:
    for spelling in ("none", "None", "NONE", None):
        assert call(spelling) is None
    for spelling in ("zero", "Zero", "ZERO"):
        assert call(spelling).eval({X: 1.0, Y: 1.0}) == 0.0
    for spelling in ("disconnected", "Disconnected"):
        assert call(spelling).type == ag.DisconnectedType()
    for bad in ("no", "", 0, False):
        with pytest.raises(ValueError, match="'zero', 'none', 'disconnected'"):
            call(bad)


@pytest.mark.shows("gradient/2-return-disconnected", "gradient/2-null-gradients")
def test_return_disconnected_is_checked_though_everything_connects() -> None:
    with pytest.raises(ValueError, match="return_disconnected"):
        grad(X, X, return_disconnected="no")
    with pytest.raises(ValueError, match="null_gradients"):
        grad(X, X, null_gradients="no")


@pytest.mark.shows("gradient/2-disconnected-effect")
@pytest.mark.parametrize(
    "call",
    [
        lambda flag: grad(X, Y, disconnected_inputs=flag),
        lambda flag: Lop(X, Y, at.constant(1.0), disconnected_inputs=flag),
        lambda flag: Rop(X, Y, at.constant(1.0), disconnected_outputs=flag),
        lambda flag: jacobian(V, Y, disconnected_inputs=flag),
        lambda flag: hessian(X, V, disconnected_inputs=flag),
    ],
)
def test_ignore_warn_once_and_raise(call: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        call("ignore")
    with pytest.warns(UserWarning) as caught:
        call("warn")
    assert len(caught) == 1
    with pytest.raises(DisconnectedInputError, match=r"made at test_inventory.py:\d+"):
        call("raise")


# --- placeholder types -----------------------------------------------------------------------------------------------


@pytest.mark.shows("gradient/1-class-disconnected-type", "gradient/9-filter", "gradient/9-filter-variable")
@pytest.mark.shows("gradient/9-value-eq", "gradient/9-str", "gradient/9-equality")
def test_disconnected_type() -> None:
    type = ag.DisconnectedType()
    for call in (lambda: type.filter(1.0), lambda: type.filter_variable(X), lambda: type.value_eq(1, 1)):
        with pytest.raises(AssertionError):
            call()
    assert str(type) == "DisconnectedType"
    assert type == ag.DisconnectedType() == ag.disconnected_type
    assert type != ag.NullType()
    assert len({type, ag.DisconnectedType(), ag.disconnected_type}) == 1


@pytest.mark.shows("gradient/1-null-type", "gradient/9-null-type")
def test_null_type() -> None:
    type = ag.NullType("for a reason")
    for call in (lambda: type.filter(1.0), lambda: type.filter_variable(X), lambda: type.values_eq(1, 1)):
        with pytest.raises(ValueError, match=r"null variable"):
            call()
    assert (str(type), type.why_null, ag.NullType().why_null) == (
        "NullType",
        "for a reason",
        "(no explanation given)",
    )
    assert type == ag.NullType() == ag.null_type
    assert len({type, ag.NullType(), ag.null_type}) == 1


@pytest.mark.shows("gradient/9-arithmetic", "gradient/9-output")
@pytest.mark.parametrize("make", [ag.disconnected_type, ag.null_type])
def test_placeholders_have_no_arithmetic_and_no_value(make: Any) -> None:
    x = make()
    for use in (lambda: x + 1, lambda: -x, lambda: at.exp(x), lambda: x * X, lambda: x[0], lambda: x.sum()):
        with pytest.raises(TypeError):
            use()
    with pytest.raises(TypeError, match="has no value"):
        aot.function([], x)
    with pytest.raises(TypeError, match="has no value"):
        aot.function([X], [X, x])


@pytest.mark.shows("gradient/9-null-compile", "gradient/9-errors")
def test_a_null_gradient_cannot_be_compiled_and_says_why() -> None:
    found = grad(ag.undefined_grad(X), X, null_gradients="return")
    with pytest.raises(TypeError, match="the gradient of undefined_grad with respect to input 0"):
        aot.function([X], found, on_unused_input="ignore")


@pytest.mark.shows("gradient/9-grad-undefined", "gradient/9-grad-not-implemented", "gradient/9-errors")
@pytest.mark.parametrize(
    ("make", "what"), [(ag.grad_undefined, "undefined"), (ag.grad_not_implemented, "not implemented")]
)
def test_null_terms_for_op_authors(make: Any, what: str) -> None:
    reason = make(ag.zero_grad_, 2, X, "it is a label").type.why_null
    assert reason == f"the gradient of zero_grad with respect to input 2 (x) is {what}: it is a label"
    assert make(ag.zero_grad_, 2, X).type.why_null.endswith(what)
    with pytest.raises(NullTypeGradError, match=what):
        grad(None, X, known_grads={X: make(ag.zero_grad_, 2, X)})


# --- as_list_or_tuple ------------------------------------------------------------------------------------------------


@pytest.mark.shows("gradient/10-list", "gradient/10-tuple", "gradient/10-single", "gradient/10-itself")
@pytest.mark.shows("gradient/10-strings")
@pytest.mark.parametrize(
    ("use_list", "use_tuple", "outputs", "expected"),
    [
        (True, False, (1, 2), [1, 2]),
        (True, False, [1], [1]),
        (True, False, 1, [1]),
        (False, True, [1, 2], (1, 2)),
        (False, True, 1, (1,)),
        (False, False, [1], 1),
        (False, False, (1,), 1),
        (False, False, 1, 1),
        (True, False, "ab", ["ab"]),
        (False, False, "ab", "ab"),
    ],
)
def test_as_list_or_tuple(use_list: bool, use_tuple: bool, outputs: Any, expected: Any) -> None:
    found = ag.as_list_or_tuple(use_list, use_tuple, outputs)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.shows("gradient/10-both", "gradient/10-several")
@pytest.mark.parametrize(
    ("use_list", "use_tuple", "outputs"),
    [(True, True, 1), (True, True, [1]), (False, False, [1, 2]), (False, False, [])],
)
def test_as_list_or_tuple_refuses(use_list: bool, use_tuple: bool, outputs: Any) -> None:
    with pytest.raises(ValueError, match=r"not both|expected one output"):
        ag.as_list_or_tuple(use_list, use_tuple, outputs)
