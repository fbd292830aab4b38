"""Derivatives of imported programs beside PyTensor's own: ops that control them, overrides, truncation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

pytensor = pytest.importorskip("pytensor", reason="no PyTensor: pip install 'aotensor[pytensor]'")

import pytensor.tensor as pt  # noqa: E402
from pytensor import gradient as control  # noqa: E402
from pytensor.compile.builders import OpFromGraph  # noqa: E402
from pytensor.compile.mode import Mode  # noqa: E402
from pytensor.gradient import DisconnectedType, disconnected_grad, grad_clip, grad_scale, zero_grad  # noqa: E402
from pytensor.ifelse import ifelse  # noqa: E402

import aotensor as aot  # noqa: E402
import aotensor.tensor as at  # noqa: E402
from aotensor.errors import DisconnectedInputError, NullTypeGradError, UnsupportedError  # noqa: E402
from aotensor.importers.pytensor import NoCounterpart, from_pytensor  # noqa: E402
from aotensor.importers.pytensor.functions import functions_of  # noqa: E402

pytestmark = pytest.mark.filterwarnings("default")
PLAIN = Mode("py", None)
FORWARD = "pushforward" if hasattr(control, "pushforward") else "rop_overrides"
REVERSE = "pullback" if hasattr(control, "pullback") else "lop_overrides"

Rule = Callable[[Any, Any, Any], Any]


def product(rule: Rule | list[Rule | None] | Any) -> Any:
    """a·b with a rule of its own in reverse."""
    a, b = pt.dscalars("ab")
    return OpFromGraph([a, b], [a * b], **{REVERSE: rule})


SEVENFOLD = product(lambda i, o, g: [7 * g[0] * i[0] ** 2, g[0] * i[1] * o[0]])
SECOND_ONLY = product([None, lambda i, o, g: 100 * g[0] * i[0]])


def square(**rules: Any) -> Any:
    a = pt.dscalar("a")
    return OpFromGraph([a], [a**2], **rules)


def by_op() -> Any:
    a, b, c = pt.dscalars("abc")
    return square(**{REVERSE: OpFromGraph([a, b, c], [100 * c * a], on_unused_input="ignore")})


def cut_twice(a: Any, b: Any) -> Any:
    """Two outputs, one of which alone is used; a shared variable is an input of its own."""
    x, y, s = pt.dscalar("x"), pt.dscalar("y"), pytensor.shared(3.0, name="s")
    rule = [None, lambda i, o, g: sum(g) * i[1], lambda i, o, g: g[0] * i[0]]
    op = OpFromGraph([x, y], [x * y * s, x + y * s], **{REVERSE: rule})
    return op(a, b)[0] * op(b, a)[1]


def cut_by_pattern(a: Any, b: Any) -> Any:
    """The first input has influence, but is said to have none."""
    x, y = pt.dscalars("xy")
    rule = {REVERSE: lambda i, o, g: [DisconnectedType()(), 3 * g[0]]}
    op = OpFromGraph([x, y], [x * y], connection_pattern=[[False], [True]], **rule)
    return op(a, b) * a


def steps(*, truncate: int = -1) -> Callable[..., Any]:
    """A loop whose body holds an op with a rule of its own, and a cut."""

    def build(v: Any, a: Any) -> Any:
        def step(x: Any, last: Any, a: Any) -> Any:
            return SEVENFOLD(x, last) * a + disconnected_grad(last)

        options = {"truncate_gradient": truncate, "return_updates": False}
        return pytensor.scan(step, [v], [pt.as_tensor(np.float64(1.0))], [a], **options)[-1]

    return build


V, A, B = np.array([1.0, 2.0, 3.0]), np.float64(3.0), np.float64(-2.0)
CASES: dict[str, tuple[Callable[..., Any], Sequence[Any]]] = {
    "disconnected_grad": (lambda a: disconnected_grad(a) * a**2, [A]),
    "zero_grad": (lambda a: zero_grad(a) * a**2, [A]),
    "grad_clip": (lambda a: grad_clip(a, -1.0, 1.0) ** 3, [np.float64(0.4)]),
    "grad_clip-beyond": (lambda v: (grad_clip(v, -1.0, 5.0) ** 3).sum(), [V]),
    "grad_scale": (lambda v: (grad_scale(v, -2.0) ** 3).sum(), [V]),
    "rule": (lambda a, b: SEVENFOLD(a, b) * a, [A, B]),
    "rule-of-one-input": (lambda a, b: SECOND_ONLY(a, b) * SECOND_ONLY(b, a), [A, B]),
    "rule-by-op": (lambda a: by_op()(a) * a, [A]),
    "rule-in-a-graph": (lambda a: OpFromGraph([x := pt.dscalar("x")], [by_op()(x) * x])(a) * 2, [A]),
    "two-outputs": (cut_twice, [A, B]),
    "pattern": (cut_by_pattern, [A, B]),
    "branch": (lambda a, b: ifelse(a > 0, SEVENFOLD(a, b), grad_clip(a * b, -0.1, 0.1)), [A, B]),
    "other-branch": (lambda a, b: ifelse(a < 0, SEVENFOLD(a, b), grad_clip(a * b, -0.1, 0.1)), [A, B]),
    "loop": (steps(), [V, A]),
    "loop-cut-short": (steps(truncate=2), [V, A]),
    "batch": (lambda v: pt.vectorize(SEVENFOLD, "(),()->()")(v, 2 * v).sum(), [V]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_derivatives_are_those_of_the_program(name: str) -> None:
    """First and second ones, compiled and by the reference."""
    build, values = CASES[name]
    inputs = [pt.dvector(f"x{k}") if value.ndim else pt.dscalar(f"x{k}") for k, value in enumerate(values)]
    cost = build(*inputs)
    known, ours = from_pytensor(inputs, cost)
    slopes, wanted = aot.grad(ours, known), pytensor.grad(cost, inputs)
    if name != "loop-cut-short":  # PyTensor's second derivatives there do not fit its first ones
        total, whole = sum(aot.tensor.sum(x) for x in slopes), sum(x.sum() for x in wanted)
        slopes += aot.grad(total, known, disconnected_inputs="ignore")
        wanted += pytensor.grad(whole, inputs, disconnected_inputs="ignore")
    expected = pytensor.function(inputs, [cost, *wanted], mode=PLAIN, on_unused_input="ignore")(*values)
    f = aot.function(known, [ours, *slopes], on_unused_input="ignore")
    for found in (f(*values), f.reference(*values)):
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-13, atol=0)


def test_truncated_loops_give_what_the_last_steps_give() -> None:
    """x₃ = ((s·w + v₁)·w + v₂)·w + v₃, differentiated through the last two steps."""
    v, s, w = pt.dvector("v"), pt.dscalar("s"), pt.dscalar("w")
    options = {"truncate_gradient": 2, "return_updates": False}
    last = pytensor.scan(lambda x, y, w: y * w + x, [v], [s], [w], **options)[-1]
    known, ours = from_pytensor([v, s, w], last)
    found = aot.function(known, aot.grad(ours, known))(V, 0.5, 2.0)
    assert [x.tolist() for x in found] == [[0.0, 2.0, 1.0], 0.0, 6.0 + 2.0 * 2.0]


def test_tangents_follow_the_rule_that_the_program_gives() -> None:
    """Its own forward rule, else its reverse rule turned round."""
    a, b = pt.dscalars("ab")
    if FORWARD == "pushforward":
        forward = square(pushforward=lambda i, o, t: [100 * t[0]])
    else:
        forward = square(rop_overrides=lambda i, t: [100 * t[0]])
    one = aot.tensor.constant(1.0)
    (x, y), (first, second) = from_pytensor([a, b], [forward(a) * b, SEVENFOLD(a, b)])
    tangents = aot.gradient.Rop([first, second], [x, y], [one, one])
    found = aot.function([x, y], tangents)(3.0, -2.0)
    assert [float(value) for value in found] == [100 * -2.0 + 9.0, 7 * 9.0 + -2.0 * -6.0]
    jacobian = aot.gradient.jacobian(aot.tensor.stack([second, first]), [x, y])
    rows = aot.function([x, y], jacobian)(3.0, -2.0)
    assert [row.tolist() for row in rows] == [[63.0, -12.0], [12.0, 9.0]]


def test_rules_of_later_versions_have_other_names() -> None:
    """An op of a user's own kind of graph, with the methods of either version."""

    class Doubled(OpFromGraph):  # type: ignore[misc]
        def L_op(self, inputs: Any, outputs: Any, cotangents: Any) -> Any:
            return [2 * cotangents[0]]

        pullback = L_op

    a = pt.dscalar("a")
    (x,), y = from_pytensor([a], Doubled([a], [pt.exp(a)])(a))
    assert float(aot.function([x], aot.grad(y, x))(1.0)) == 2.0


def test_derivatives_that_have_no_counterpart_are_refused_with_their_lines() -> None:
    """Values are imported; who asks for the derivative is told what it lacks, and where that was made."""
    a = pt.dscalar("a")

    class Strange(pytensor.graph.op.Op):  # type: ignore[misc]
        itypes, otypes = [pt.dscalar], [pt.dscalar]

        def perform(self, node: Any, inputs: Any, outputs: Any) -> None:
            outputs[0][0] = inputs[0]

    op = square(**{REVERSE: lambda i, o, g: [Strange()(g[0])]})
    (x,), y = from_pytensor([a], op(a))
    assert float(aot.function([x], y)(3.0)) == 9.0
    with pytest.raises(NoCounterpart, match="Strange") as caught:
        aot.grad(y, x)
    assert "test_pytensor_derivatives.py:" in str(caught.value)
    (x,), y = from_pytensor([a], control.undefined_grad(a) * 2)
    with pytest.raises(NullTypeGradError, match="undefined"):
        aot.grad(y, x)
    (x,), y = from_pytensor([a], disconnected_grad(a) * 2)
    with pytest.raises(DisconnectedInputError):
        aot.grad(y, x)


def test_functions_that_pytensor_has_rewritten_have_no_derivatives() -> None:
    """Those that it has compiled without rewrites keep all that the program says."""
    x = pt.dscalar("x")
    cost = disconnected_grad(x) * x
    modes = {"plain": PLAIN, "fast": Mode("py", "fast_run")}
    made = {name: pytensor.function([x], cost, mode=mode) for name, mode in modes.items()}
    found = functions_of(made)
    assert [float(f(3.0)) for f in found.values()] == [9.0, 9.0]
    plain, fast = ((f.inputs, next(iter(f.results.values()))) for f in found.values())
    assert [float(value) for value in aot.function(plain[0], aot.grad(plain[1], plain[0]))(3.0)] == [3.0]
    for derivative in (lambda: aot.grad(fast[1], fast[0]), lambda: aot.gradient.Rop(fast[1], fast[0], fast[0])):
        with pytest.raises(UnsupportedError, match="fast cannot be differentiated: PyTensor's rewrites") as caught:
            derivative()
        assert "test_pytensor_derivatives.py:" in str(caught.value)


def test_ties_and_kinks_are_pytensors() -> None:
    """At bounds, at bounds the wrong way round, at equal elements, at zeros; the table of docs has all ops."""
    x, low, high = pt.dvectors("x", "low", "high")
    terms = [
        pt.clip(x, low, high), pt.clip(x, 1.0, -1.0), pt.clip(x, -1.0, 1.0), pt.maximum(x, low), pt.minimum(low, x),
        abs(x), pt.sqrt(abs(x)), pt.max(x) * x, pt.min(low) * x, pt.kve(2.0, abs(x)), pt.switch(x > 0, x**2, low),
        pt.arctan2(x, low), pt.mod(x, high), pt.floor(x) * x, pt.sign(x) * x,
    ]  # fmt: skip
    inputs, weights = [x, low, high], np.array([0.7, 1.1, 1.3, 1.7, 1.9])
    wanted = [pytensor.grad((y * weights).sum(), inputs, disconnected_inputs="ignore") for y in terms]
    wanted += [pytensor.grad((g**2).sum(), inputs, disconnected_inputs="ignore") for g in (wanted[0][0], wanted[9][0])]
    known, ours = from_pytensor(inputs, terms)
    found = [aot.grad((y * weights).sum(), known, disconnected_inputs="ignore") for y in ours]
    found += [aot.grad((g**2).sum(), known, disconnected_inputs="ignore") for g in (found[0][0], found[9][0])]
    values = (
        np.array([-1.0, 0.0, 1.0, 1.0, 2.0]),
        np.array([-1.0, 0.5, 1.0, 1.0, 3.0]),
        np.array([1.0, -1.0, 1.0, 2.0, 2.0]),
    )
    expected = pytensor.function(
        inputs, [g for of_term in wanted for g in of_term], mode=PLAIN, on_unused_input="ignore"
    )(*values)
    f = aot.function(known, [g for of_term in found for g in of_term], on_unused_input="ignore")
    for results in (f(*values), f.reference(*values)):
        for k, (one, other) in enumerate(zip(results, expected, strict=True)):
            np.testing.assert_allclose(one, other, rtol=1e-11, atol=0, err_msg=str(terms[min(k // 3, len(terms) - 1)]))


def test_the_table_finds_what_differs() -> None:
    """A case that agrees, one with a reason, and one that is made wrong."""
    from tools.derivatives import pytensor as table

    by_name = {case.name: case for case in table.cases()}
    agrees, explained = table.compared(by_name["Abs"]), table.compared(by_name["Maximum"])
    assert not agrees.is_wrong and agrees.points == (14, 14, 14) and not any(x.count for x in agrees.different)
    assert not explained.is_wrong and explained.different[1].count and explained.reason
    other = by_name["Abs"]
    wrong = table.Row(other, (1, 1, 1), (table.Differences(1, 0, "at 0"),) * 3, ())
    assert wrong.is_wrong and table.page([agrees, wrong]).count("| Abs |") == 2


@pytest.mark.parametrize("is_structured", [True, False])
def test_gradients_of_sparse_matrices_are_regular_where_pytensor_asks_for_it(is_structured: bool) -> None:
    """DenseFromSparse(structured=False) hands on what belongs to elements that are not stored."""
    from pytensor.sparse import csr_from_dense
    from pytensor.sparse.basic import DenseFromSparse

    x = pt.dmatrix("x")
    y = DenseFromSparse(structured=is_structured)(csr_from_dense(x))
    (known,), ours = from_pytensor([x], y)
    weights, value = np.arange(1.0, 5.0).reshape(2, 2), np.array([[0.0, 2.0], [3.0, 0.0]])
    found = aot.function([known], aot.grad(at.sum(ours * weights), known)).reference(value)
    np.testing.assert_array_equal(found, np.where((value != 0) | (not is_structured), weights, 0))
