"""How much a call does: floating point operations by the formula in the library, and the bytes of its arrays."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from aotensor_runtime import Library


def flops_of(library: Library, function: str, dims: Mapping[str, int]) -> tuple[float | None, bool]:
    """Operations of a call, and whether that is all of them; None if the library does not say."""
    try:
        text = str(json.loads(library.section("work"))[function])
    except (KeyError, ValueError):
        return None, False
    is_exact = not text.startswith("at least ")
    try:
        return _evaluated(ast.parse(text.removeprefix("at least "), mode="eval").body, dims), is_exact
    except (SyntaxError, KeyError, TypeError):
        return None, False


def _evaluated(node: ast.expr, dims: Mapping[str, int]) -> float:
    """A polynomial as `core.polynomial` prints it.   Raises: TypeError, KeyError"""
    match node:
        case ast.Constant(value=int() | float() as value):
            return float(value)
        case ast.Name(id=name):
            return float(dims[name])
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_evaluated(operand, dims)
        case ast.BinOp(left=left, op=op, right=right):
            x, y = _evaluated(left, dims), _evaluated(right, dims)
            operations = {ast.Add: x + y, ast.Sub: x - y, ast.Mult: x * y}
            if isinstance(op, ast.Div):
                return x / y
            return float(x**y) if isinstance(op, ast.Pow) else operations[type(op)]
    raise TypeError("this is no polynomial")


def bytes_of(values: Sequence[Any]) -> int:
    """Of arrays and matrices, each read or written once."""
    return sum(part.nbytes for x in values for part in parts_of(x))


def parts_of(x: Any) -> tuple[Any, ...]:
    """The arrays that a value is made of: the values, and for a sparse matrix also where they stand."""
    return (x.data, x.indices, x.indptr) if hasattr(x, "indptr") else (np.asarray(x),)
