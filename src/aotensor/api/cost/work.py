"""How much a call does: floating point operations by the formula in the library, and the bytes of its arrays."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from aotensor.core.polynomial import Polynomial
from aotensor_runtime import Library
from aotensor_runtime.abi import DTYPE_SIZES
from aotensor_runtime.signature import FunctionSpec


def flops_of(library: Library, function: str, dims: Mapping[str, int]) -> tuple[float | None, bool]:
    """Operations of a call, and whether that is all of them; None if the library does not say."""
    try:
        return evaluated(str(json.loads(library.section("work"))[function]), dims)
    except (KeyError, ValueError):
        return None, False


def work_of(library: Library, function: str, dims: Mapping[str, int]) -> dict[str, float]:
    """What a call does, by the kinds of `passes.estimate`; nothing of what the library does not say."""
    try:
        parts = json.loads(library.section("work.parts"))[function]
        found = {str(kind): evaluated(str(text), dims)[0] for kind, text in parts.items()}
    except (KeyError, ValueError, AttributeError):
        return {}
    return {kind: x for kind, x in found.items() if x is not None}


def evaluated(formula: str, dims: Mapping[str, int]) -> tuple[float | None, bool]:
    """The value of a formula, None if it is none, and whether it is all, not "at least" so much.

    An integer input that is not among the dims, as the number of steps of a loop, counts as 1: that is a lower bound.
    Not less than 0: windows of n - 2 in fewer elements than 2 are none.
    """
    try:
        body = ast.parse(formula.removeprefix("at least "), mode="eval").body
        names = {x.id: 1 for x in ast.walk(body) if isinstance(x, ast.Name)}
        is_exact = names.keys() <= dims.keys() and not formula.startswith("at least ")
        return max(_evaluated(body, {**names, **dims}), 0.0), is_exact
    except ZeroDivisionError:  # entries of no slices
        return 0.0, not formula.startswith("at least ")
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
    raise TypeError("this is not a polynomial")


def bytes_of(values: Sequence[Any]) -> int:
    """Of arrays and matrices, each read or written once."""
    return sum(part.nbytes for x in values for part in parts_of(x))


def parts_of(x: Any) -> tuple[Any, ...]:
    """The arrays that a value is made of: the values, and for a sparse matrix also where they stand."""
    return (x.data, x.indices, x.indptr) if hasattr(x, "indptr") else (np.asarray(x),)


def argument_bytes(spec: FunctionSpec, is_dense: bool = False) -> str:
    """Bytes of all inputs and outputs, each touched once: what a call must move at least.

    is_dense: only of those that are not parts of matrices
    """
    total, is_known = Polynomial(), True
    patterns = {group.name for group in (*spec.sparse_inputs, *spec.sparse_outputs)}
    if is_dense:
        for values, groups in ((spec.inputs, spec.sparse_inputs), (spec.outputs, spec.sparse_outputs)):
            patterns.update(x.name for group in groups for x in values[group.first : group.first + 4])
    for value in spec.values:
        if value.name in patterns:  # no memory
            continue
        size = Polynomial.of(DTYPE_SIZES[value.dtype])
        for extent in value.shape:
            is_known = is_known and extent is not None
            is_formula = isinstance(extent, str) and extent not in spec.dims
            size *= Polynomial.of(f"({extent})" if is_formula else extent or 0) if extent is not None else Polynomial()
        total += size
    return str(total) if is_known else f"at least {total}"
