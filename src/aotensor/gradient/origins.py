"""Derivatives remember their primal functions, whose inputs count as used even if no derivative needs their values.

In y = 2*x; function([x], grad(y, x)) the derivative is 2 for every x, and x must still be accepted as an input.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from functools import wraps
from typing import Any, TypeVar, cast

from aotensor.core.types import TensorType
from aotensor.graph.variable import Variable
from aotensor.graph.walk import leaves, toposort
from aotensor.ops.elementwise.arithmetic import identity
from aotensor.sparse.construct.cleanup import sparse_copy

F = TypeVar("F", bound=Callable[..., Any])

_IS_INSIDE: ContextVar[bool] = ContextVar("is_inside", default=False)


def remembers(parameter: str) -> Callable[[F], F]:
    """Decorator: the results of a function remember the variables in its argument `parameter`.

    In nested calls the outermost function does it.
    """

    def decorate(function: F) -> F:
        signature = inspect.signature(function)

        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            if _IS_INSIDE.get():
                return function(*args, **kwargs)
            token = _IS_INSIDE.set(True)
            try:
                result = function(*args, **kwargs)
            finally:
                _IS_INSIDE.reset(token)
            origins = list(_variables(signature.bind(*args, **kwargs).arguments.get(parameter)))
            return _remembered(result, origins) if origins else result

        return cast(F, call)

    return decorate


def _variables(value: Any) -> Iterator[Variable]:
    """The variables of an argument: itself, or those in a list or tuple."""
    for x in value if isinstance(value, list | tuple) else [value]:
        if isinstance(x, Variable) and isinstance(x.type, TensorType):
            yield x


def _remembered(result: Any, origins: list[Variable]) -> Any:
    if isinstance(result, list | tuple):
        return type(result)(_remembered(x, origins) for x in result)
    if not isinstance(result, Variable) or not isinstance(result.type, TensorType):
        return result
    if set(leaves(origins)) <= set(leaves([result])):
        return result
    if _is_in(result, origins):  # a variable that existed before the call gets no origins
        result = (sparse_copy if result.is_sparse else identity)(result)
    result.origins = tuple(origins)
    return result


def _is_in(x: Variable, outputs: Iterable[Variable]) -> bool:
    outputs = list(outputs)
    return x in outputs or any(x in node.inputs for node in toposort(outputs))
