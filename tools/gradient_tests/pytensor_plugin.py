"""A pytest plugin that compares aotensor's derivatives of the functions that PyTensor's tests pass to `verify_grad`.
PyTensor's own comparison with finite differences is skipped.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import pytensor
import pytensor.gradient
import pytensor.tensor as pt
import pytest
from pytensor.compile.mode import Mode
from tools.gradient_tests.compare import Comparison, difference, narrowest
from tools.gradient_tests.record import record

import aotensor as aot
import aotensor.tensor as at
from aotensor.errors import AotensorError, InternalError
from aotensor.importers.pytensor import from_pytensor

PLAIN: Final = Mode("py", None)
LARGEST: Final = 3000
"""Numbers of all operands: beyond, a comparison would take too long."""
_MOST: Final = 12
"""Programs of a test that are compared: the rest are the same at other points."""
_OPTIONS: Final = {"disconnected_inputs": "ignore", "null_gradients": "return"}

_calls: list[tuple[Callable[..., Any], list[Any]]] = []


def _verify_grad(fun: Any, pt: Any, *_: Any, **__: Any) -> None:
    """Replaces PyTensor's `verify_grad`: records the function and the point."""
    _calls.append((fun, [np.array(p) for p in pt]))


def pytest_configure(config: pytest.Config) -> None:
    """Replace PyTensor's function by the recording one, before the tests are imported."""
    vars(pytensor.gradient)["verify_grad"] = _verify_grad


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Any:
    """Compare the functions that a test passed to `verify_grad`, whether or not the test passed."""
    _calls.clear()
    try:
        return (yield)
    finally:
        for fun, values in _calls[:_MOST]:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                record(item.nodeid, compared(fun, values))


def compared(fun: Callable[..., Any], values: Sequence[Any]) -> Comparison:
    """Value, first and second derivatives of a PyTensor function at a point, by PyTensor and by aotensor."""
    if sum(x.size for x in values) > LARGEST:
        return Comparison("verify_grad", "nothing", "large")
    try:
        inputs = [pt.as_tensor_variable(x).type(name=f"x{k}") for k, x in enumerate(values)]
        y = fun(*inputs)
        wanted, why = _by_pytensor(inputs, y, values)
    except Exception as error:  # of the test's own
        return Comparison("verify_grad", "nothing", f"PyTensor: {_line(error)}")
    try:
        found, refused = _by_us(inputs, y, values, wanted)
    except InternalError as error:
        return Comparison("verify_grad", "wrong", _line(error))
    except AotensorError as error:
        return Comparison("verify_grad", "refused", _named(error))
    except Exception as error:
        return Comparison("verify_grad", "wrong", f"{type(error).__name__}: {_line(error)}")
    close = narrowest([*(x.dtype for x in values), y.dtype])
    undefined, orders = 0, []
    for order, theirs in wanted.items():
        if order not in found:
            break
        orders.append(order)
        for one, other in zip(theirs, found[order], strict=True):
            if one is None:
                continue
            text, missing = ("no derivative", 0) if other is None else difference(one, other, close)
            undefined += missing
            if text:
                return Comparison("verify_grad", "wrong", f"{order}: {text}", ", ".join(orders), undefined)
    if len(found) < len(wanted):
        return Comparison("verify_grad", "refused", refused, ", ".join(orders), undefined)
    return Comparison("verify_grad", "same", why, ", ".join(orders), undefined)


Results = dict[str, list[Any]]


def _by_pytensor(inputs: Sequence[Any], y: Any, values: Sequence[Any]) -> tuple[Results, str]:
    """Results by order as far as PyTensor computes them, and the reason why further ones are missing."""

    def slopes(cost: Any) -> list[Any]:
        return list(pytensor.grad(cost, inputs, **_OPTIONS))

    def run(terms: Sequence[Any]) -> list[Any]:
        return list(pytensor.function(inputs, list(terms), mode=PLAIN, on_unused_input="ignore")(*values))

    return _orders(y, values, slopes, run, pt.constant, (Exception,))


def _by_us(inputs: Sequence[Any], y: Any, values: Sequence[Any], wanted: Results) -> tuple[Results, str]:
    """Results by order, differentiated by aotensor.   Raises: AotensorError where the program is refused"""
    known, ours = from_pytensor(inputs, y)

    def slopes(cost: Any) -> list[Any]:
        return list(aot.grad(cost, known, **_OPTIONS))

    def run(terms: Sequence[Any]) -> list[Any]:
        f = aot.function(known, list(terms), on_unused_input="ignore")
        with np.errstate(all="ignore"):
            return list((f if "AOTENSOR_GRADIENTS_COMPILED" in os.environ else f.reference)(*values))

    return _orders(ours, values, slopes, run, at.constant, (AotensorError,), len(wanted))


def _orders(
    y: Any, values: Sequence[Any], slopes: Any, run: Any, constant: Any, errors: Any, most: int = 3
) -> tuple[Results, str]:
    (value,) = run([y])
    found: Results = {"value": [value]}
    rng = np.random.default_rng(7)
    weights = rng.uniform(0.5, 1.5, size=np.shape(value)).astype(y.dtype)
    directions = [rng.uniform(0.5, 1.5, size=x.shape).astype(x.dtype) for x in values]
    cost = (y * constant(weights)).sum()
    try:
        if most > 1:
            first = slopes(cost)
            found["first"] = _known(first, run)
        if most > 2:
            pairs = zip(first, directions, strict=True)
            terms = [(g * constant(v)).sum() for g, v in pairs if g is not None and hasattr(g.type, "dtype")]
            if terms:
                found["second"] = _known(slopes(sum(terms[1:], terms[0])), run)
    except errors as error:
        if isinstance(error, InternalError):
            raise
        return found, f"no {('first', 'second')[len(found) - 1]} derivative: {_line(error)}"
    return found, ""


def _known(terms: Sequence[Any], run: Any) -> list[Any]:
    """The values of terms; None for a term without value."""
    real = [x for x in terms if x is not None and hasattr(x.type, "dtype")]
    values = iter(run(real))
    return [next(values) if x is not None and hasattr(x.type, "dtype") else None for x in terms]


def _named(error: AotensorError) -> str:
    operations = getattr(error, "operations", ())
    return "; ".join(sorted({one.name for one in operations})) if operations else _line(error)


def _line(error: BaseException) -> str:
    return str(error).partition("\n")[0][:160]
