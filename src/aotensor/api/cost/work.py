"""The work of a call: floating point operations by the library's formula, and the bytes of its arrays."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from aotensor.core.polynomial import Polynomial
from aotensor.errors import LibraryError
from aotensor_runtime import Library
from aotensor_runtime.abi import DTYPE_SIZES
from aotensor_runtime.container import Container
from aotensor_runtime.signature import FunctionSpec


def formulas(container: Container) -> dict[str, str]:
    """Function → formula of its floating point operations; empty if the library has none, or they are damaged."""
    try:
        found = json.loads(container.extra("work"))
        return {str(name): str(text) for name, text in found.items()}
    except (KeyError, ValueError, AttributeError, LibraryError):
        return {}


def flops_of(library: Library, function: str, dims: Mapping[str, int]) -> tuple[float | None, bool]:
    """(operations of a call, whether this number is exact); None if the library has no formula."""
    try:
        return evaluated(str(json.loads(library.section("work"))[function]), dims)
    except (KeyError, ValueError):
        return None, False


def work_of(library: Library, function: str, dims: Mapping[str, int]) -> dict[str, float]:
    """The work of a call by the kinds of `passes.estimate`; empty if the library has no formulas."""
    try:
        parts = json.loads(library.section("work.parts"))[function]
        found = {str(kind): evaluated(str(text), dims)[0] for kind, text in parts.items()}
    except (KeyError, ValueError, AttributeError):
        return {}
    return {kind: x for kind, x in found.items() if x is not None}


def evaluated(formula: str, dims: Mapping[str, int]) -> tuple[float | None, bool]:
    """(value of a formula or None, whether it is exact instead of "at least").

    An integer input that is not a dim, such as the number of steps of a loop, counts as 1, for a lower bound.
    Values are at least 0: an extent n - 2 is 0 for n below 2.
    """
    try:
        body = ast.parse(formula.removeprefix("at least "), mode="eval").body
        names = {x.id: 1 for x in ast.walk(body) if isinstance(x, ast.Name)}
        is_exact = names.keys() <= dims.keys() and not formula.startswith("at least ")
        return max(_evaluated(body, {**names, **dims}), 0.0), is_exact
    except ZeroDivisionError:  # a matrix without rows has no entries
        return 0.0, not formula.startswith("at least ")
    except (SyntaxError, KeyError, TypeError):
        return None, False


def _evaluated(node: ast.expr, dims: Mapping[str, int]) -> float:
    """The value of a polynomial as printed by `core.polynomial`.   Raises: TypeError, KeyError"""
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
    raise TypeError("this formula is not a polynomial of the dims")


def bytes_of(values: Sequence[Any]) -> int:
    """Bytes of arrays and matrices, each read or written once."""
    return sum(part.nbytes for x in values for part in parts_of(x))


def parts_of(x: Any) -> tuple[Any, ...]:
    """The arrays of a value; for a sparse matrix its values and its pattern."""
    return (x.data, x.indices, x.indptr) if hasattr(x, "indptr") else (np.asarray(x),)


def argument_bytes(spec: FunctionSpec, is_dense: bool = False) -> str:
    """Bytes of all inputs and outputs, each touched once: a lower bound on the traffic of a call.

    is_dense: only arrays that are not parts of matrices
    """
    total, is_known = Polynomial(), True
    patterns = {group.name for group in (*spec.sparse_inputs, *spec.sparse_outputs)}
    if is_dense:
        for values, groups in ((spec.inputs, spec.sparse_inputs), (spec.outputs, spec.sparse_outputs)):
            patterns.update(x.name for group in groups for x in values[group.first : group.first + 4])
    for value in spec.values:
        if value.name in patterns:  # no memory
            continue
        size = Polynomial.from_value(DTYPE_SIZES[value.dtype])
        for extent in value.shape:
            is_known = is_known and extent is not None
            is_formula = isinstance(extent, str) and extent not in spec.dims
            size *= (
                Polynomial.from_value(f"({extent})" if is_formula else extent or 0)
                if extent is not None
                else Polynomial()
            )
        total += size
    return str(total) if is_known else f"at least {total}"
