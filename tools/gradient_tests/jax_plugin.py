"""A pytest plugin that records the functions that JAX's tests differentiate, and compares derivatives after each test.

Of a test's `grad`, `value_and_grad`, `vjp`, `jvp`, `linearize`, `jacfwd`, `jacrev`, `hessian` and `check_grads` the
function and the point are kept, if no transformation is running around the call: there values are not known. So are
the functions that tests compile: of these, values are compared. JAX's own comparisons with finite differences and NumPy
are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, Final

import jax
import jax._src.api as api
import jax._src.public_test_util as checks
import jax._src.test_util as test_util
import jax.numpy as jnp
import jax.test_util
import numpy as np
import pytest
from jax._src.core import trace_state_clean
from tools.gradient_tests.compare import Comparison, compared_orders, difference, narrowest
from tools.gradient_tests.ours import differentiated, line_of, listed
from tools.gradient_tests.record import record

import aotensor as aot
from aotensor.errors import AotensorError, InternalError
from aotensor.importers.jax import from_jax

LARGEST: Final = 3000
"""Numbers of all operands: beyond, a comparison would take too long."""
_MOST: Final = 12
"""Programs of a test that are compared: the rest are the same at other points."""


@dataclass(frozen=True)
class Call:
    """A recorded call of a function. places: positions of the differentiated arguments"""

    what: str
    function: Callable[..., Any]
    arguments: Sequence[Any]
    options: dict[str, Any]
    places: Sequence[int]
    is_wide: bool = field(default_factory=lambda: bool(jax.config.jax_enable_x64))


_calls: list[Call] = []
_is_quiet = False
"""Is the call one of JAX's own, such as that of `vjp` in `grad`, or of a comparison?"""


@contextmanager
def _kept_once() -> Iterator[None]:
    """Within: nothing is recorded."""
    global _is_quiet
    before, _is_quiet = _is_quiet, True
    try:
        yield
    finally:
        _is_quiet = before


def _keep(what: str, function: Any, arguments: Sequence[Any], options: dict[str, Any], places: Any) -> None:
    leaves = jax.tree.leaves((arguments, options))
    if _is_quiet or not trace_state_clean() or any(isinstance(x, jax.core.Tracer) for x in leaves):
        return
    places = range(len(arguments)) if places is None else [places] if isinstance(places, int) else places
    _calls.append(Call(what, function, arguments, options, [k % len(arguments) for k in places]))


def _of_a_transform(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def transform(fun: Any, argnums: Any = 0, has_aux: bool = False, **options: Any) -> Any:
        made = original(fun, argnums=argnums, has_aux=has_aux, **options)

        @wraps(made)
        def call(*args: Any, **kwargs: Any) -> Any:
            with _kept_once():
                found = made(*args, **kwargs)
            _keep(name, (lambda *a, **k: fun(*a, **k)[0]) if has_aux else fun, args, kwargs, argnums)
            return found

        return call

    return transform


def _of_a_vjp(fun: Any, *primals: Any, has_aux: bool = False, **options: Any) -> Any:
    found = _VJP(fun, *primals, has_aux=has_aux, **options)
    _keep("vjp", (lambda *a: fun(*a)[0]) if has_aux else fun, primals, {}, None)
    return found


def _of_a_jvp(fun: Any, primals: Any, tangents: Any, has_aux: bool = False) -> Any:
    found = _JVP(fun, primals, tangents, has_aux=has_aux)
    _keep("jvp", (lambda *a: fun(*a)[0]) if has_aux else fun, primals, {}, None)
    return found


def _of_a_linearize(fun: Any, *primals: Any, has_aux: bool = False) -> Any:
    found = _LINEARIZE(fun, *primals, has_aux=has_aux)
    _keep("linearize", (lambda *a: fun(*a)[0]) if has_aux else fun, primals, {}, None)
    return found


def _of_check_grads(f: Any, args: Any, *_: Any, **__: Any) -> None:
    _keep("check_grads", f, tuple(args), {}, None)


_VJP, _JVP, _LINEARIZE = jax.vjp, jax.jvp, jax.linearize


def _of_a_check(_: Any, fun: Any, args_maker: Callable[[], Any], **__: Any) -> None:
    _calls.append(Call("jit", fun, tuple(args_maker()), {}, ()))


def pytest_configure(config: pytest.Config) -> None:
    """Replace JAX's functions by recording ones, before the tests are imported."""
    vars(test_util)["JaxTestCase"]._CompileAndCheck = _of_a_check
    vars(test_util)["JaxTestCase"]._CheckAgainstNumpy = lambda *_, **__: None
    for name in ("grad", "value_and_grad", "jacfwd", "jacrev", "hessian"):
        made = _of_a_transform(name, getattr(jax, name))
        for module in (jax, api):
            setattr(module, name, made)
    for name, made in (("vjp", _of_a_vjp), ("jvp", _of_a_jvp), ("linearize", _of_a_linearize)):
        for module in (jax, api):
            setattr(module, name, made)
    for module in (checks, test_util, jax.test_util):
        vars(module)["check_grads"] = _of_check_grads


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Any:
    """Compare the derivatives in a test, whether or not the test passed."""
    _calls.clear()
    try:
        return (yield)
    finally:
        wide = bool(jax.config.jax_enable_x64)
        with _kept_once():
            for call in _calls[:_MOST]:
                record(item.nodeid, compared(call))
        jax.config.update("jax_enable_x64", wide)


def compared(call: Call) -> Comparison:
    """Value, first, second and forward derivatives of a call, by JAX and by aotensor; of a compiled call the value."""
    jax.config.update("jax_enable_x64", call.is_wide)
    if call.what == "jit":
        return _compared_values(call)
    moving = call.places
    try:
        leaves, structure = jax.tree.flatten([call.arguments[k] for k in moving])
        xs = [np.asarray(x) for x in leaves]
        kinds = [jnp.result_type(x) for x in leaves]
        real = [k for k, kind in enumerate(kinds) if jnp.issubdtype(kind, jnp.inexact)]
    except (TypeError, ValueError) as error:
        return Comparison(call.what, "nothing", line_of(error))
    parts = [part for k in real for part in _parts(jnp.asarray(leaves[k], kinds[k]))]
    if not parts or sum(x.size for x in parts) > LARGEST:
        return Comparison(call.what, "nothing", "no operand has derivatives" if not parts else "large")
    is_complex = [jnp.issubdtype(kinds[k], jnp.complexfloating) for k in real]

    def function(*numbers: Any) -> list[Any]:
        """The call as a function of real arrays: integer results are dropped, complex ones are split in two."""
        given, rest = list(leaves), iter(numbers)
        for k, both in zip(real, is_complex, strict=True):
            given[k] = jax.lax.complex(next(rest), next(rest)) if both else next(rest)
        arguments = list(call.arguments)
        for k, x in zip(moving, jax.tree.unflatten(structure, given), strict=True):
            arguments[k] = x
        found = [jnp.asarray(y) for y in jax.tree.leaves(call.function(*arguments, **call.options))]
        return [part for y in found if jnp.issubdtype(y.dtype, jnp.inexact) for part in _parts(y)]

    return _compared(call.what, function, parts, [*kinds, *(x.dtype for x in xs)])


def _compared_values(call: Call) -> Comparison:
    """The results of a call whose arrays are inputs, Python's numbers constants."""
    try:
        values = [np.asarray(y) for y in jax.tree.leaves(call.function(*call.arguments))]
        leaves, structure = jax.tree.flatten(call.arguments)
        places = [k for k, x in enumerate(leaves) if isinstance(x, np.ndarray | np.generic | jax.Array)]
        xs = [np.asarray(leaves[k]) for k in places]
    except Exception as error:  # of the test's own
        return Comparison(call.what, "nothing", f"JAX: {line_of(error)}")
    if sum(x.size for x in xs) > LARGEST:
        return Comparison(call.what, "nothing", "large")

    def function(*given: Any) -> list[Any]:
        known = dict(zip(places, given, strict=True))
        arguments = jax.tree.unflatten(structure, [known.get(k, x) for k, x in enumerate(leaves)])
        return [jnp.asarray(y) for y in jax.tree.leaves(call.function(*arguments))]

    try:
        imported = from_jax(function, *xs)
        f = aot.function(list(imported.arguments.values()), listed(imported.results), on_unused_input="ignore")
        with np.errstate(all="ignore"):
            found = f.reference(*xs)
    except AotensorError as error:
        return _failed(call.what, error)
    except jax.errors.ConcretizationTypeError as error:
        return Comparison(call.what, "refused", f"JAX cannot trace it: {line_of(error)}")
    except Exception as error:
        return Comparison(call.what, "wrong", f"{type(error).__name__}: {line_of(error)}")
    close = narrowest([np.real(x).dtype for x in (*xs, *values)])
    for theirs, ours in zip(values, found, strict=True):
        if theirs.dtype != ours.dtype:
            return Comparison(call.what, "wrong", f"value: {ours.dtype} instead of {theirs.dtype}", "value")
        if np.array_equal(theirs, ours):
            continue
        for part in (np.real, np.imag):
            text, missing = difference(part(theirs), part(ours), close)
            if text or missing:
                return Comparison(call.what, "wrong", f"value: {text or 'nan in JAX alone'}", "value")
    return Comparison(call.what, "same", "", "value")


def _parts(x: Any) -> list[Any]:
    return [jnp.real(x), jnp.imag(x)] if jnp.issubdtype(x.dtype, jnp.complexfloating) else [x]


def _compared(what: str, function: Callable[..., Any], xs: Sequence[Any], kinds: Sequence[Any]) -> Comparison:
    try:
        values = function(*xs)
    except Exception as error:  # of the test's own
        return Comparison(what, "nothing", f"JAX: {line_of(error)}")
    if not values:
        return Comparison(what, "nothing", "no result has derivatives")
    rng = np.random.default_rng(7)
    weights = [rng.uniform(0.5, 1.5, size=y.shape) for y in values]
    directions = [rng.uniform(0.5, 1.5, size=x.shape) for x in xs]
    wanted, why = _by_jax(function, values, xs, weights, directions)
    try:
        imported = from_jax(lambda *a: function(*a), *xs)
        results = listed(imported.results)
        inputs = list(imported.arguments.values())
        found, refused = differentiated(inputs, results, xs, weights, directions, set(wanted))
    except AotensorError as error:
        return _failed(what, error)
    except jax.errors.ConcretizationTypeError as error:
        return Comparison(what, "refused", f"JAX cannot trace it: {line_of(error)}")
    except Exception as error:
        return Comparison(what, "wrong", f"{type(error).__name__}: {line_of(error)}")
    close = narrowest([*kinds, *(x.dtype for x in (*xs, *values))])
    return compared_orders(what, wanted, found, why, refused, close)


def _failed(what: str, error: AotensorError) -> Comparison:
    return Comparison(what, "wrong" if isinstance(error, InternalError) else "refused", _named(error))


def _named(error: AotensorError) -> str:
    operations = getattr(error, "operations", ())
    return "; ".join(sorted({one.name for one in operations})) if operations else line_of(error)


def _by_jax(
    function: Callable[..., Any], values: Sequence[Any], xs: Sequence[Any], weights: Any, directions: Any
) -> tuple[dict[str, list[Any]], str]:
    """Results by order as far as JAX computes them, and the reason why further ones are missing."""
    places = tuple(range(len(xs)))

    def cost(*xs: Any) -> Any:
        return sum(jnp.sum(y * w.astype(y.dtype)) for y, w in zip(function(*xs), weights, strict=True))

    def again(*xs: Any) -> Any:
        pairs = zip(jax.grad(cost, places)(*xs), directions, strict=True)
        return sum(jnp.sum(g * v.astype(g.dtype)) for g, v in pairs)

    tangents = [jnp.asarray(v, x.dtype) for v, x in zip(directions, xs, strict=True)]
    steps: dict[str, Callable[[], Any]] = {
        "first": lambda: jax.grad(cost, places)(*xs),
        "forward": lambda: jax.jvp(function, list(xs), tangents)[1],
        "second": lambda: jax.grad(again, places)(*xs),
    }
    found, why = {"value": list(values)}, ""
    for order, step in steps.items():
        try:
            found[order] = list(step())
        except Exception as error:  # JAX and tests raise all kinds
            why = why or f"JAX has no {order} derivative: {line_of(error)}"
    return found, why
