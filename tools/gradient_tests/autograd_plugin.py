"""A pytest plugin that compares aotensor's derivatives of the functions that autograd's tests pass to `check_grads`.

The same functions run on symbols: `autograd.numpy` calls NumPy, which dispatches to aotensor by its protocols; so are
the elementwise functions of SciPy. `autograd_counterparts.py` replaces SciPy's other functions. Where a function
differentiates by itself, autograd does so on symbols. Its own comparison with finite differences is left out.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import autograd
import autograd.numpy as anp
import autograd.test_util
import numpy as np
import pytest
from autograd.builtins import dict as ag_dict
from autograd.builtins import list as ag_list
from autograd.builtins import tuple as ag_tuple
from tools.gradient_tests.autograd_counterparts import replace
from tools.gradient_tests.compare import CLOSE, Comparison, compared_orders
from tools.gradient_tests.ours import Results, differentiated, line_of
from tools.gradient_tests.record import record

import aotensor.tensor as at
from aotensor.errors import AotensorError, InternalError

LARGEST: Final = 3000
"""Numbers of all operands: beyond, a comparison would take too long."""
_MOST: Final = 100
"""Programs of a test that are compared: the rest are the same at other points."""


@dataclass(frozen=True)
class Call:
    """A recorded call of a function. places: positions of the differentiated arguments"""

    function: Callable[..., Any]
    arguments: Sequence[Any]
    options: dict[str, Any] = field(default_factory=dict)
    places: Sequence[int] = (0,)


_calls: list[Call] = []


def _check_grads(f: Callable[..., Any], argnum: Any = 0, *_: Any, **__: Any) -> Callable[..., None]:
    """Replaces autograd's `check_grads`: records the function and the point."""

    def call(*args: Any, **kwargs: Any) -> None:
        _calls.append(Call(f, args, kwargs, [argnum] if isinstance(argnum, int) else list(argnum)))

    return call


def pytest_configure(config: pytest.Config) -> None:
    """Replace autograd's functions by recording ones, before the tests are imported."""
    vars(autograd.test_util)["check_grads"] = _check_grads
    replace()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Any:
    """Compare the functions that a test passed to `check_grads`, whether or not the test passed."""
    _calls.clear()
    try:
        return (yield)
    finally:
        calls = _calls[:_MOST]
        for call in calls:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                record(item.nodeid, compared(call))


def compared(call: Call) -> Comparison:
    """Value, first, forward and second derivatives of a call, by autograd and by aotensor."""
    try:
        leaves, rebuild = _flattened([call.arguments[k] for k in call.places])
        kept = [np.asarray(x) for x in leaves]
        is_complex = [x.dtype.kind == "c" for x in kept]
        xs = [part for x in kept for part in _parts(x.astype(complex if x.dtype.kind == "c" else float))]
    except (TypeError, ValueError) as error:
        return Comparison("check_grads", "nothing", line_of(error))
    if sum(x.size for x in xs) > LARGEST:
        return Comparison("check_grads", "nothing", "large")

    def function(*numbers: Any) -> list[Any]:
        """The call as a function of real arrays: complex results are split in two."""
        rest = iter(numbers)
        arguments = list(call.arguments)
        given = [next(rest) + 1j * next(rest) if both else next(rest) for both in is_complex]
        for k, x in zip(call.places, rebuild(given), strict=True):
            arguments[k] = x
        results, _ = _flattened(call.function(*arguments, **call.options))
        return [part for y in results for part in _parts(y)]

    try:
        values = [np.asarray(y, float) for y in function(*xs)]
    except Exception as error:  # of the test's own
        return Comparison("check_grads", "nothing", f"autograd: {line_of(error)}")
    rng = np.random.default_rng(7)
    weights = [rng.uniform(0.5, 1.5, size=y.shape) for y in values]
    directions = [rng.uniform(0.5, 1.5, size=x.shape) for x in xs]
    wanted, why = _by_autograd(function, values, xs, weights, directions)
    try:
        inputs = [at.tensor(f"x{k}", shape=x.shape) for k, x in enumerate(xs)]
        results = [at.as_tensor(y) for y in function(*inputs)]
        if len(results) != len(values):
            return Comparison("check_grads", "refused", "whether the result is complex depends on values")
        found, refused = differentiated(inputs, results, xs, weights, directions, set(wanted))
    except AotensorError as error:
        return Comparison("check_grads", "wrong" if isinstance(error, InternalError) else "refused", line_of(error))
    except Exception as error:
        return Comparison("check_grads", "wrong", f"{type(error).__name__}: {line_of(error)}")
    return compared_orders("check_grads", wanted, found, why, refused, CLOSE["float64"])


def _flattened(x: Any) -> tuple[list[Any], Callable[[Sequence[Any]], Any]]:
    """Arrays of nested lists, tuples and dicts, and the function that puts others into their places."""
    if isinstance(x, dict | ag_dict):
        keys = sorted(x)
        leaves, rebuild = _flattened([x[key] for key in keys])
        return leaves, lambda given: dict(zip(keys, rebuild(given), strict=True))
    if not isinstance(x, list | tuple | ag_list | ag_tuple):
        return [x], lambda given: next(iter(given))
    parts = [_flattened(part) for part in x]

    def together(given: Sequence[Any]) -> Any:
        rest = iter(given)
        made = [rebuild([next(rest) for _ in leaves]) for leaves, rebuild in parts]
        return made if isinstance(x, list) else tuple(made)

    return [leaf for leaves, _ in parts for leaf in leaves], together


def _parts(x: Any) -> Iterator[Any]:
    """A real array, or the real and the imaginary part of a complex one."""
    dtype = getattr(x, "dtype", None)
    if (np.dtype(dtype).kind if dtype is not None else np.asarray(getattr(x, "_value", x)).dtype.kind) != "c":
        yield x
    else:
        yield anp.real(x)
        yield anp.imag(x)


def _by_autograd(
    function: Callable[..., Any], values: Sequence[Any], xs: Sequence[Any], weights: Any, directions: Any
) -> tuple[Results, str]:
    """Results by order as far as autograd computes them, and the reason why further ones are missing."""

    def cost(xs: Any) -> Any:
        return sum(anp.sum(y * w) for y, w in zip(function(*xs), weights, strict=True))

    def again(xs: Any) -> Any:
        return sum(anp.sum(g * v) for g, v in zip(autograd.grad(cost)(xs), directions, strict=True))

    point = tuple(xs)
    steps: dict[str, Callable[[], Any]] = {
        "first": lambda: autograd.grad(cost)(point),
        "forward": lambda: [
            autograd.make_jvp(lambda xs, k=k: function(*xs)[k])(point)(tuple(directions))[1] for k in range(len(values))
        ],
        "second": lambda: autograd.grad(again)(point),
    }
    found, why = {"value": list(values)}, ""
    for order, step in steps.items():
        try:
            found[order] = list(step())
        except Exception as error:  # autograd and tests raise all kinds
            why = why or f"autograd has no {order} derivative: {line_of(error)}"
    return found, why
