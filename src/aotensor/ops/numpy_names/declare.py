"""Declaration of functions with NumPy's signature."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from aotensor.graph.coercion import coerced
from aotensor.graph.public import Names, register

F = TypeVar("F", bound=Callable[..., Any])


def numpys(*names: str, method: Names = ()) -> Callable[[F], F]:
    """Decorator: register a function as the counterpart of functions of NumPy; its errors name the first.

    method: names of methods of a tensor variable
    """
    return lambda function: register(coerced(function, name=f"numpy.{names[0]}"), numpy=names, method=method)
