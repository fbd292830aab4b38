"""Derivatives remember their primal functions, whose inputs count as used even if no derivative needs their values.

In y = 2*x; function([x], grad(y, x)) the derivative is 2 for every x, and x must still be accepted as an input.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
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
    lacking = _lacking(list(_tensors(result)), leaves(origins))
    earlier = _read_by(origins) if lacking else set()

    def changed(x: Any) -> Any:
        if isinstance(x, list | tuple):
            return type(x)(map(changed, x))
        if not isinstance(x, Variable) or x not in lacking:
            return x
        if x in earlier:  # a variable that existed before the call gets no origins
            x = (sparse_copy if x.is_sparse else identity)(x)
        x.origins = tuple(origins)
        return x

    return changed(result) if lacking else result


def _tensors(result: Any) -> Iterator[Variable]:
    """The variables in nested lists and tuples."""
    if isinstance(result, list | tuple):
        for x in result:
            yield from _tensors(x)
    else:
        yield from _variables(result)


def _lacking(outputs: Sequence[Variable], needed: Sequence[Variable]) -> set[Variable]:
    """The outputs that do not depend on all of the given leaves; one walk for all outputs."""
    found = {x: 1 << number for number, x in enumerate(needed)}  # sets of leaves as bits
    for node in toposort(outputs):
        below = 0
        for x in node.inputs:
            below |= found.get(x, 0)
        found.update(dict.fromkeys(node.outputs, below))
    return {x for x in outputs if found.get(x, 0) != (1 << len(needed)) - 1}


def _read_by(outputs: Sequence[Variable]) -> set[Variable]:
    """The outputs, and all variables that their graph reads."""
    return {*outputs, *(x for node in toposort(outputs) for x in node.inputs)}
