"""Convert extents of JAX: numbers, names, and expressions of names."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

import aotensor.tensor as at
from aotensor.errors import GraphValueError
from aotensor.importers.lax.table import Extent

_OPERATORS: Final[Mapping[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: lambda x, y: x + y, ast.Sub: lambda x, y: x - y, ast.Mult: lambda x, y: x * y, ast.Pow: lambda x, y: x**y,
}  # fmt: skip

_FUNCTIONS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "floordiv": lambda x, y: x // y,
    "mod": lambda x, y: x % y,
    "max": lambda x, y: at.maximum(x, y),
    "min": lambda x, y: at.minimum(x, y),
}


def dim_of(dim: Any) -> int | str | None:
    """Convert an extent of JAX to a dim of a type: a number, a name, or None for an expression."""
    if isinstance(dim, int | np.integer):
        return int(dim)
    text = str(dim)
    return text if text.isidentifier() else None


def extent_of(dim: Any, known: Mapping[str, at.Variable]) -> Extent:
    """Convert a symbolic dim to an int64 scalar.   known: the extents that have names

    Raises: GraphValueError for a name that no input has as an extent of its own.
    """
    if isinstance(dim, int | np.integer):
        return int(dim)
    found: Extent = _value(ast.parse(str(dim), mode="eval").body, str(dim), known)
    return found


def _value(node: ast.expr, text: str, known: Mapping[str, at.Variable]) -> Any:
    match node:
        case ast.Constant(value=int(number)):
            return number
        case ast.Name(id=name):
            if name not in known:
                title = f"the symbolic dim {name}, used in {text}, is not the extent of an axis of any input"
                raise GraphValueError(title, hint=f"add an input with an axis of extent {name}")
            return known[name]
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -_value(inner, text, known)
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _OPERATORS:
            return _OPERATORS[type(operator)](_value(left, text, known), _value(right, text, known))
        case ast.Call(func=ast.Name(id=name), args=[left, right]) if name in _FUNCTIONS:
            return _FUNCTIONS[name](_value(left, text, known), _value(right, text, known))
    raise GraphValueError(
        f"the symbolic dim {text} has operations other than sums, products, floordiv, mod, max and min"
    )
