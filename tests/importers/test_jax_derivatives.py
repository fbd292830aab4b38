"""Rules of the user's own hold in imported programs; what has none is refused."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed")

import jax.numpy as jnp  # noqa: E402  (they need JAX)
from jax import export, lax  # noqa: E402
from jax_derivatives import assert_same  # noqa: E402

import aotensor as aot  # noqa: E402
import aotensor.tensor as at  # noqa: E402
from aotensor.errors import MissingRuleError  # noqa: E402
from aotensor.gradient import pushforward  # noqa: E402
from aotensor.graph.walk import toposort  # noqa: E402
from aotensor.importers.jax import from_jax  # noqa: E402

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_disable_most_optimizations", True)  # XLA compiles for one call only

X = np.array([0.0, 1.0, -1.0, 2.5])


@jax.custom_vjp
def clipped(x: Any) -> Any:
    """The identity, whose cotangents are clipped."""
    return x


clipped.defvjp(lambda x: (clipped(x), None), lambda _, g: (jnp.clip(g, -1.0, 1.0),))


@jax.custom_jvp
def rounded(x: Any) -> Any:
    """Rounded values with the derivative of the identity: no element of x reaches the result by the program."""
    return jnp.round(x).astype("int32").astype(x.dtype)


rounded.defjvps(lambda t, ans, x: t)


@jax.custom_jvp
def odd(x: Any) -> Any:
    """A rule that is wrong on purpose, in all orders: d odd = 3 odd."""
    return jnp.sin(x)


@odd.defjvp
def _(primals: Any, tangents: Any) -> Any:
    return odd(*primals), 3.0 * odd(*primals) * tangents[0]


@partial(jax.custom_jvp, nondiff_argnums=(0, 2))
def applied(function: Any, x: Any, power: int) -> Any:
    return function(x) ** power


@applied.defjvp
def _(function: Any, power: int, primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    return applied(function, x, power), 7.0 * function(x) * power * t


@partial(jax.custom_vjp, nondiff_argnums=(1,))
def scaled(x: Any, count: int) -> Any:
    return x["a"] * count + jnp.sum(x["b"])


def _scaled_backward(count: int, kept: Any, g: Any) -> Any:
    return ({"a": 2.0 * g * kept, "b": jnp.full(3, 5.0) * jnp.sum(g) * count},)


scaled.defvjp(lambda x, count: (scaled(x, count), x["a"]), _scaled_backward)


@jax.custom_vjp
def chosen(x: Any, n: Any) -> Any:
    """Of a float and an integer."""
    return x * n


chosen.defvjp(lambda x, n: (chosen(x, n), (x, n)), lambda kept, g: (g * kept[0] ** 2, None))


@jax.custom_jvp
def sparing(x: Any, y: Any) -> Any:
    return x * jnp.exp(y)


@partial(sparing.defjvp, symbolic_zeros=True)
def _(primals: Any, tangents: Any) -> Any:
    """Twice the derivative, where it is not known to be zero."""
    (x, y), (tx, ty) = primals, tangents
    found = sparing(x, y)
    is_zero = [type(t) is jax.custom_derivatives.SymbolicZero for t in (tx, ty)]
    terms = [0.0 if is_zero[0] else 2.0 * tx * jnp.exp(y), 0.0 if is_zero[1] else 2.0 * found * ty]
    return found, terms[0] + terms[1] + jnp.zeros_like(found)


def of_constants(x: Any) -> Any:
    """A rule that reads an array from around it."""
    table = np.array([1.0, -2.0, 3.0, 0.5])

    @jax.custom_jvp
    def f(x: Any) -> Any:
        return table * x

    @f.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        return f(*primals), 10.0 * table * primals[0] * tangents[0]

    return jnp.sum(f(x))


def row_by_row(x: Any, scan: Callable[..., Any]) -> Any:
    def step(carry: Any, row: Any) -> Any:
        return clipped(carry * row) + jax.nn.softplus(row), jax.nn.relu(row)

    last, rows = scan(step, x[0], x)
    return last + jnp.sum(rows * x)


def in_a_scan(x: Any) -> Any:
    return row_by_row(x, lax.scan)


def unrolled(step: Any, carry: Any, rows: Any) -> Any:
    """What `scan` gives, one step after the other: in loops JAX itself drops rules from the second order on."""
    found = []
    for k in range(rows.shape[0]):
        carry, one = step(carry, rows[k])
        found.append(one)
    return carry, jnp.stack(found)


ONE_BY_ONE: dict[Any, Callable[..., Any]] = {in_a_scan: lambda x: row_by_row(x, unrolled)}


def in_a_loop(x: Any) -> Any:
    return jnp.sum(lax.fori_loop(0, 3, lambda i, c: clipped(c) * x, x))


def in_a_branch(x: Any) -> Any:
    return jnp.sum(lax.cond(x[1] > 0, odd, lambda x: rounded(x) * x, x))


PROGRAMS: dict[str, Callable[..., Any]] = {
    "a reverse rule": lambda x: jnp.sum(clipped(x) * x * 3),
    "a forward rule": lambda x: jnp.sum(odd(x) * x),
    "a rule where the program has no derivative": lambda x: jnp.sum(rounded(x) * x),
    "arguments that are functions": lambda x: jnp.sum(applied(jnp.sin, x, 2)),
    "a tree": lambda x: jnp.sum(scaled({"a": x**2, "b": x[:3]}, 3)),
    "an integer": lambda x: jnp.sum(chosen(x, jnp.arange(4))),
    "symbolic zeros": lambda x: jnp.sum(sparing(x, 2.0) + sparing(3.0, x)),
    "constants of the program": of_constants,
    "the same operand twice": lambda x: jnp.sum(sparing(x, x)),
    "nested": lambda x: jnp.sum(applied(lambda y: odd(clipped(y)), x, 2)),
    "in a scan": in_a_scan,
    "in a loop": in_a_loop,
    "in a branch": in_a_branch,
    "in a batch": lambda x: jnp.sum(jax.vmap(lambda y: scaled({"a": odd(y), "b": y * x[:3]}, 2) * y)(x)),
    "compiled inside": lambda x: jnp.sum(jax.jit(lambda y: odd(clipped(y)))(x)),
    "stored again": lambda x: jnp.sum(jax.checkpoint(lambda y: odd(y) * odd(y))(x)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_rules_of_the_users_own_hold(name: str) -> None:
    loss = PROGRAMS[name]
    assert_same(loss, X, is_compiled=name in ("a reverse rule", "in a scan"), like=ONE_BY_ONE.get(loss))


@pytest.mark.parametrize("name", ["in a scan", "symbolic zeros"])
def test_batches_and_jacobians(name: str) -> None:
    """Derivatives of derivatives by one sweep over a batch."""
    loss = PROGRAMS[name]
    imported = from_jax(loss, X)
    (x,), (cost,) = imported.arguments.values(), imported.results.values()
    f = aot.function([x], aot.gradient.hessian(cost, x))
    wanted = jax.jacrev(jax.grad(ONE_BY_ONE.get(loss, loss)))(X)
    np.testing.assert_allclose(f.reference(X), wanted, 1e-12)


@pytest.mark.parametrize("name", ["a forward rule", "symbolic zeros", "in a branch", "arguments that are functions"])
def test_forward_mode(name: str) -> None:
    loss = PROGRAMS[name]
    imported = from_jax(loss, X)
    (x,), (cost,) = imported.arguments.values(), imported.results.values()
    t = np.arange(1.0, 5.0)
    found = aot.function([x], pushforward(cost, x, at.constant(t))).reference(X)
    np.testing.assert_allclose(found, jax.jvp(loss, [jnp.asarray(X)], [jnp.asarray(t)])[1], 1e-12)


@pytest.mark.skipif(not hasattr(jax.config, "jax_custom_vjp3"), reason="this JAX has one kind of custom_vjp")
def test_rules_of_the_newer_custom_vjp() -> None:
    """It is a primitive of another name, which is lowered like any that has no rule here."""
    jax.config.update("jax_custom_vjp3", True)
    try:

        @jax.custom_vjp
        def f(x: Any) -> Any:
            return jnp.sin(x)

        f.defvjp(lambda x: (f(x), jnp.cos(x)), lambda kept, g: (2 * kept * g,))
        assert_same(lambda x: jnp.sum(f(x) * x), X)
        assert_same(lambda x: jnp.sum(jax.vmap(f)(x) * x), X)
        imported = from_jax(lambda x: jnp.sum(f(x)), X)
        (x,), (cost,) = imported.arguments.values(), imported.results.values()
        with pytest.raises(MissingRuleError, match="no derivative of f: a custom_vjp rule has reverse mode only"):
            pushforward(cost, x, at.constant(X))
    finally:
        jax.config.update("jax_custom_vjp3", False)


def test_rules_of_primitives_of_the_users_own() -> None:
    from jax.extend.core import Primitive
    from jax.interpreters import ad, mlir

    own = Primitive("own_sine")
    own.def_impl(np.sin)
    own.def_abstract_eval(lambda x: x)
    mlir.register_lowering(own, mlir.lower_fun(jnp.sin, multiple_results=False))
    ad.primitive_jvps[own] = lambda primals, tangents: (own.bind(*primals), 5.0 * primals[0] * tangents[0])
    assert_same(lambda x: jnp.sum(own.bind(x) * x), X)
    (cost,) = from_jax(lambda x: jnp.sum(own.bind(x)), X).results.values()
    assert not all(node.op.is_faithful() for node in toposort([cost]))


def test_cotangents_that_are_zero_are_symbolic_zeros_to_a_rule() -> None:
    kinds = []

    @jax.custom_vjp
    def both(x: Any) -> Any:
        return x * 2, x * 3

    def backward(kept: Any, cotangents: Any) -> Any:
        kinds.append([type(g) is jax.custom_derivatives.SymbolicZero for g in cotangents])
        return (7.0 * cotangents[1],)

    both.defvjp(lambda x: (both(x.value), None), backward, symbolic_zeros=True)
    assert_same(lambda x: jnp.sum(both(x)[1] * x), X)
    assert kinds and all(kind == [True, False] for kind in kinds)


def test_rules_that_read_values_of_the_program_around_them_are_refused() -> None:
    """As by JAX, of programs that it compiles."""

    def loss(x: Any) -> Any:
        size = jnp.sum(x)

        @jax.custom_jvp
        def f(x: Any) -> Any:
            return x * size

        f.defjvp(lambda primals, tangents: (f(*primals), size * tangents[0]))
        return jnp.sum(f(x))

    np.testing.assert_allclose(from_jax(loss, X).reference(X), X.sum() ** 2)
    line = loss.__code__.co_firstlineno + 8
    with pytest.raises(MissingRuleError, match=rf"(?s)its rule reads a variable of the function.*py:{line}"):
        from_jax(loss, X, grad="x")


def test_rules_hold_in_all_orders_inside_of_loops() -> None:
    once = from_jax(lambda x: jnp.sum(lax.fori_loop(0, 3, lambda i, c: odd(c) * x, x)), X)
    (x,), (cost,) = once.arguments.values(), once.results.values()
    second = aot.grad(at.sum(aot.grad(cost, x)), x)

    def one_by_one(x: Any) -> Any:
        return jnp.sum(odd(odd(odd(x) * x) * x) * x)

    wanted = jax.grad(lambda x: jnp.sum(jax.grad(one_by_one)(x)))(X)
    np.testing.assert_allclose(aot.function([x], second).reference(X), wanted, 1e-12)


def test_symbolic_extents() -> None:
    """One library for all: rules read extents of the program around them, also in loops."""
    (n,) = export.symbolic_shape("n")

    @jax.custom_vjp
    def mean(x: Any) -> Any:
        return jnp.sum(x) / x.shape[0]

    mean.defvjp(lambda x: (mean(x), x), lambda x, g: (jnp.full(x.shape, g * x.shape[0]) + g * jnp.flip(x),))

    def loss(x: Any) -> Any:
        last = lax.scan(lambda c, row: (odd(c) + row * mean(x), None), 0.5, jnp.maximum(x, 0.0))[0]
        return last + mean(x) + jnp.max(x)

    f = from_jax(loss, jax.ShapeDtypeStruct((n,), "float64"), grad="x")
    for x in (X, np.array([1.0, 1.0]), np.array([3.0])):
        for call in (f, f.reference):
            np.testing.assert_allclose(call(x)["grad_x"], jax.grad(loss)(x), 1e-12)


def test_linear_solves_use_the_transposed_solve() -> None:
    def loss(a: Any, b: Any) -> Any:
        def solve(_: Any, b: Any) -> Any:
            return jnp.linalg.solve(a, b)

        def wrong(_: Any, b: Any) -> Any:
            return 10.0 * jnp.linalg.solve(a.T, b)  # which nobody but the derivative calls

        x = lax.custom_linear_solve(lambda v: a @ v, b, solve, wrong)
        return jnp.sum(x**2)

    a = np.array([[3.0, 1.0], [0.5, 2.0]])
    assert_same(loss, a, np.array([1.0, -2.0]))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "complex64"])
def test_gradients_stop_in_every_dtype(dtype: str) -> None:
    x = jnp.array([1.0, 2.0], dtype)
    imported = from_jax(lambda x: jnp.sum(jnp.real(lax.stop_gradient(x) * x)).astype("float32"), x)
    (known,), (cost,) = imported.arguments.values(), imported.results.values()
    found = aot.function([known], aot.grad(cost, known)).reference(np.asarray(x))
    np.testing.assert_array_equal(np.asarray(found, "complex64"), [1.0, 2.0])


def test_draws_in_single_precision_stay_so() -> None:
    """Rules are traced when a derivative is asked for, with the options of the import."""
    jax.config.update("jax_enable_x64", False)
    try:
        imported = from_jax(lambda x: jnp.sum(jax.nn.softplus(x)), X.astype("float32"))
    finally:
        jax.config.update("jax_enable_x64", True)
    (x,), (cost,) = imported.arguments.values(), imported.results.values()
    slope = aot.grad(cost, x)
    assert slope.dtype == "float32"
    assert aot.function([x], slope).reference(np.zeros(4, "float32")).tolist() == [0.5] * 4


def test_programs_without_derivatives_are_the_same_code() -> None:
    def plain(x: Any) -> Any:
        return jnp.exp(jnp.sin(x)) * 2

    ruled = jax.custom_vjp(plain)
    ruled.defvjp(lambda x: (plain(x), x), lambda x, g: (g,))
    texts = [from_jax(f, X, name="f").ir("tensor") for f in (plain, ruled)]
    assert texts[0] == texts[1]


def test_rules_that_may_differ_on_purpose_are_known_to_be() -> None:
    """`verify` measures derivatives of the rules of JAX, and passes over those of the user."""
    for function, expected in ((clipped, False), (odd, False), (jax.nn.relu, True), (jnp.abs, True)):
        (cost,) = from_jax(lambda x, f=function: jnp.sum(f(x)), X).results.values()
        assert all(node.op.is_faithful() for node in toposort([cost])) == expected


def test_what_jax_refuses_is_refused_with_the_function_and_its_line() -> None:
    def loss(x: Any) -> Any:
        return jnp.sum(clipped(x))

    imported = from_jax(loss, X)
    (x,), (cost,) = imported.arguments.values(), imported.results.values()
    with pytest.raises(MissingRuleError) as caught:
        pushforward(cost, x, at.constant(X))
    line = f"test_jax_derivatives.py:{loss.__code__.co_firstlineno + 1}"
    assert "no derivative of clipped: a custom_vjp rule has reverse mode only" in str(caught.value)
    assert line in str(caught.value)


def test_a_rule_that_fails_says_whose_it_is() -> None:
    @jax.custom_jvp
    def broken(x: Any) -> Any:
        return x

    @broken.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        raise ValueError("not today")

    f = from_jax(lambda x: jnp.sum(broken(x)), X)  # the program itself is no concern of the rule
    np.testing.assert_array_equal(f.reference(X), X.sum())
    with pytest.raises(MissingRuleError, match="no derivative of broken: ValueError: not today"):
        from_jax(lambda x: jnp.sum(broken(x)), X, grad="x")
