"""Elementwise operations."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

import numpy as np

from aotensor.importers.base import Unsuited
from aotensor.importers.stablehlo.structure import Operation
from aotensor.importers.stablehlo.table import NOTES, TABLE, Step, is_bool, may_be, operands, translates

PLAIN: Final[Mapping[str, tuple[str, int]]] = {
    "abs": ("abs", 1), "atan2": ("atan2", 2), "cbrt": ("cbrt", 1), "ceil": ("ceil", 1), "complex": ("complex", 2),
    "cosine": ("cos", 1), "count_leading_zeros": ("clz", 1), "divide": ("div", 2), "exponential": ("exp", 1),
    "exponential_minus_one": ("expm1", 1), "floor": ("floor", 1), "imag": ("imag", 1), "is_finite": ("is_finite", 1),
    "log": ("log", 1), "log_plus_one": ("log1p", 1), "logistic": ("logistic", 1), "negate": ("neg", 1),
    "not": ("not", 1), "or": ("or", 2), "and": ("and", 2), "popcnt": ("population_count", 1), "power": ("pow", 2),
    "real": ("real", 1), "remainder": ("rem", 2), "rsqrt": ("rsqrt", 1), "shift_left": ("shift_left", 2),
    "shift_right_arithmetic": ("shift_right_arithmetic", 2), "shift_right_logical": ("shift_right_logical", 2),
    "sign": ("sign", 1), "sine": ("sin", 1), "sqrt": ("sqrt", 1), "subtract": ("sub", 2), "tan": ("tan", 1),
    "tanh": ("tanh", 1), "xor": ("xor", 2),
}  # fmt: skip
"""Operations that are primitives of lax under another name, or the same, and how many operands they have."""

CHLO: Final[Mapping[str, tuple[str, int]]] = {
    "acos": ("acos", 1), "acosh": ("acosh", 1), "asin": ("asin", 1), "asinh": ("asinh", 1), "atan": ("atan", 1),
    "atanh": ("atanh", 1), "bessel_i1e": ("bessel_i1e", 1), "conj": ("conj", 1), "cosh": ("cosh", 1),
    "digamma": ("digamma", 1), "erf": ("erf", 1), "erf_inv": ("erf_inv", 1), "erfc": ("erfc", 1),
    "lgamma": ("lgamma", 1), "mulhi": ("mulhi", 2), "next_after": ("nextafter", 2), "sinh": ("sinh", 1),
    "square": ("square", 1), "tan": ("tan", 1),
}  # fmt: skip
"""Operations of the dialect chlo, by themselves or with their decomposition beside, that are primitives of lax."""

_SYMBOLS: Final = {"EQ": "eq", "NE": "ne", "GE": "ge", "GT": "gt", "LE": "le", "LT": "lt"}
_TOTAL: Final = {"EQ": ("eq_to", False), "LE": ("le_to", False), "LT": ("lt_to", False), "GE": ("le_to", True),
                 "GT": ("lt_to", True)}  # fmt: skip
_BITS: Final = ("exponent_bits", "mantissa_bits")


def _entered(table: Mapping[str, tuple[str, int]], dialect: str) -> None:
    for name, (primitive, count) in table.items():
        TABLE[f"{dialect}.{name}"] = partial(plain, primitive=primitive, count=count)


def plain(found: Operation, primitive: str, count: int) -> Step:
    """An elementwise primitive of operands with equal types.   Raises: Unsuited for others"""
    given = operands(found, count)
    shape = found.results[0].aval.shape
    if not all(may_be(x.aval.shape, shape) for x in given):
        shown = ", ".join(str(x.aval) for x in given)
        raise Unsuited(f"its operands {shown} do not have the shape of its result {found.results[0].aval}")
    if len({str(x.aval.dtype) for x in given}) > 1:
        raise Unsuited(f"its operands have different dtypes: {', '.join(str(x.aval.dtype) for x in given)}")
    return Step(primitive, given)


_entered(PLAIN, "stablehlo")
_entered(CHLO, "chlo")


def _or_logical(primitive: str, logical: str) -> None:
    """A translation to a primitive, or for bool operands to a logical one."""
    name = {"add": "add", "mul": "multiply", "max": "maximum", "min": "minimum"}[primitive]
    TABLE[f"stablehlo.{name}"] = lambda found: plain(
        found, logical if found.results and is_bool(found.results[0]) else primitive, 2
    )


for _primitive, _logical in (("add", "or"), ("mul", "and"), ("max", "or"), ("min", "and")):
    _or_logical(_primitive, _logical)


@translates("compare")
def _compare(found: Operation) -> Step:
    x, y = plain(found, "", 2).invars
    name, is_total = comparison(found)
    is_float = isinstance(x.aval.dtype, np.dtype) and x.aval.dtype.kind not in "biuc"
    if is_float and is_total:
        if name == "NE":
            raise Unsuited("its comparison NE in the total order is not supported")
        total, is_transposed = _TOTAL[name]
        return Step(total, [y, x] if is_transposed else [x, y])
    return Step(_SYMBOLS[name], [x, y])


def comparison(found: Operation) -> tuple[str, bool]:
    """The direction of a comparison (EQ, NE, GE, GT, LE or LT), and whether it uses the total order.

    Raises: Unsuited
    """
    words = [str(w).split()[-1].rstrip(">") for w in (*found.words, *found.attributes.values()) if str(w).split()]
    name = next((word for word in words if word in _SYMBOLS), "")
    if not name:
        raise Unsuited(f"its comparison direction is {', '.join(words) or 'missing'}, not EQ, NE, GE, GT, LE or LT")
    return name, "TOTALORDER" in words


@translates("select")
def _select(found: Operation) -> Step:
    which, x, y = operands(found, 3)
    shape = found.results[0].aval.shape
    if x.aval.dtype != y.aval.dtype or not is_bool(which):
        raise Unsuited(
            f"its operands are {which.aval}, {x.aval} and {y.aval}, not a bool and two operands of one dtype"
        )
    if not all(may_be(v.aval.shape, shape) for v in (x, y)) or not (
        which.aval.ndim == 0 or may_be(which.aval.shape, shape)
    ):
        raise Unsuited(
            f"its operands {which.aval}, {x.aval} and {y.aval} do not have the shape of its result "
            f"{found.results[0].aval}"
        )
    return Step("select_n", [which, y, x])


@translates("clamp")
def _clamp(found: Operation) -> Step:
    low, x, high = operands(found, 3)
    if not all(v.aval.ndim == 0 or may_be(v.aval.shape, x.aval.shape) for v in (low, high)):
        raise Unsuited(f"its bounds {low.aval} and {high.aval} are neither scalars nor of the shape of {x.aval}")
    return Step("clamp", [low, x, high])


@translates("convert", note="floats to integers saturate, as XLA's on a CPU")
def _convert(found: Operation) -> Step:
    (x,) = plain(found, "", 1).invars
    return Step("convert_element_type", [x], {"new_dtype": found.results[0].aval.dtype})


@translates("bitcast_convert", note="between dtypes of one width")
def _bitcast(found: Operation) -> Step:
    (x,) = operands(found, 1)
    if x.aval.ndim != found.results[0].aval.ndim or not isinstance(found.results[0].aval.dtype, np.dtype):
        raise Unsuited("a bitcast to a dtype of another width is not supported")
    return Step("bitcast_convert_type", [x], {"new_dtype": found.results[0].aval.dtype})


@translates("round_nearest_even", "round_nearest_afz")
def _round(found: Operation) -> Step:
    return Step("round", plain(found, "", 1).invars, {"rounding_method": int(found.name.endswith("even"))})


@translates("reduce_precision", note="where it asks for the precision of the operand")
def _reduce_precision(found: Operation) -> Step:
    text = str(found.attributes.get("format", ""))
    bits = text[1:].split("m") if text.startswith("e") else [str(found.attributes.get(k)) for k in _BITS]
    if len(bits) != 2 or not all(b.isdigit() for b in bits):
        raise Unsuited(f"its format {text!r} does not give the numbers of exponent and mantissa bits")
    return Step("reduce_precision", operands(found, 1), dict(zip(_BITS, map(int, bits), strict=True)))


NOTES["chlo.mulhi"] = "of up to 32 bits"
