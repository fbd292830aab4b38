"""Signatures of elementwise ops: the dtype of the computation and of the result, as functions.

A signature maps the dtypes of the operands to (the dtypes they are cast to, the dtype of the result).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from aotensor.core import dtypes
from aotensor.errors import GraphTypeError

Signature: TypeAlias = Callable[..., tuple[tuple[str, ...], str]]


def numeric(*operands: str) -> tuple[tuple[str, ...], str]:
    """add, mul, maximum, ...: the promoted dtype; bool stays bool."""
    common = dtypes.promote(*operands)
    return (common,) * len(operands), common


def signed(*operands: str) -> tuple[tuple[str, ...], str]:
    """neg, sign, sub: as `numeric`, but not for bool alone.   Raises: GraphTypeError"""
    common = dtypes.promote(*operands)
    if common == "bool":
        raise GraphTypeError("it is not defined for bool", hint="use invert or xor, or cast to an integer dtype")
    return (common,) * len(operands), common


def counting(*operands: str) -> tuple[tuple[str, ...], str]:
    """int_div, mod, pow: as `numeric`, but bool counts as int8."""
    common = dtypes.promote("int8", *operands) if set(operands) == {"bool"} else dtypes.promote(*operands)
    return (common,) * len(operands), common


def floating(*operands: str) -> tuple[tuple[str, ...], str]:
    """exp, sqrt, sigmoid, ...: floats keep their dtype, bool and integers up to 16 bits give float32, else float64."""
    common = dtypes.float_of(dtypes.promote(*operands))
    return (common,) * len(operands), common


def quotient(*operands: str) -> tuple[tuple[str, ...], str]:
    """true_div: floats keep their dtype, others give float64."""
    common = dtypes.mean_of(dtypes.promote(*operands))
    return (common,) * len(operands), common


def comparison(*operands: str) -> tuple[tuple[str, ...], str]:
    """eq, lt, isnan, ...: compared in the promoted dtype, gives bool."""
    return (dtypes.promote(*operands),) * len(operands), "bool"


def bitwise(*operands: str) -> tuple[tuple[str, ...], str]:
    """and_, or_, xor, invert: bool and integers only.   Raises: GraphTypeError for a float."""
    common = dtypes.promote(*operands)
    if dtypes.is_float(common):
        raise GraphTypeError(f"it is not defined for {common}", hint="compare first, or cast to an integer dtype")
    return (common,) * len(operands), common


def choice(condition: str, *branches: str) -> tuple[tuple[str, ...], str]:
    """switch: the condition is read as bool, the branches have their promoted dtype."""
    common = dtypes.promote(*branches)
    return ("bool", *(common for _ in branches)), common


def last(*operands: str) -> tuple[tuple[str, ...], str]:
    """second: the dtype of the last operand; no operand is cast."""
    return operands, operands[-1]
