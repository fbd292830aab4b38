"""Differences that cancel: of 1 and a function that is near 1, and of two exponentials.

1 − cos u, cosh u − 1          →  2·sin²(u/2), 2·sinh²(u/2)      1 − cos² u, 1 − sin² u  →  sin² u, cos² u
√(1 + u²) − 1, √(1 + v) − 1    →  u²/(1 + √(1 + u²)), …          cosh² u − 1             →  sinh² u
1 − sigmoid u, exp u − 1       →  sigmoid(−u), expm1(u)          exp u − exp(−u)         →  2·sinh u
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from aotensor.core.builders import Scalar, ScalarBuilder
from aotensor.core.types import Array
from aotensor.graph.op import Apply
from aotensor.graph.variable import Variable
from aotensor.ops.elementwise.arithmetic import sqr
from aotensor.ops.elementwise.base import Elementwise, Row
from aotensor.ops.elementwise.elementary import cos, expm1, sin, sinh
from aotensor.ops.elementwise.special import sigmoid
from aotensor.ops.stable.match import Look, is_same, kind_of
from aotensor.ops.stable.roots import root_difference


def _twice_square(
    name: str, doc: str, notation: str, function: str, whole: Elementwise, analytic: Callable[[Any], Any]
) -> Elementwise:
    """2·f²(x/2), whose derivative is `whole`."""

    def reference(x: Array) -> Array:
        return np.asarray(2 * np.square(getattr(np, function)(x / 2)), x.dtype)

    def emit(s: ScalarBuilder, x: Any) -> Scalar:
        half = s.math(function, 0.5 * x)
        return (half + half) * half

    partials = (lambda g, x, y: g * whole(x),)
    return Elementwise(Row(name, doc, reference, emit, partials, analytic=analytic, notation=notation))


versine: Final = _twice_square(
    "versine", "1 − cos x, exact near 0", "(1 - cos({0}))", "sin", sin, lambda x: 1 - np.cos(x)
)
cosh_less_one: Final = _twice_square(
    "cosh_less_one", "cosh x − 1, exact near 0", "(cosh({0}) - 1)", "sinh", sinh, lambda x: np.cosh(x) - 1
)


def is_difference(look: Look, node: Apply) -> bool:
    """Has a sum or difference an operand 1 or −1, so that a rule for differences from 1 may apply?"""
    pair = node.inputs
    return len(pair) == 2 and any(look.number(x) in (1, -1) for x in pair)


def difference_form(look: Look, node: Apply) -> Variable | None:
    """The stable form of a sum or difference that matches one of the patterns of this module; else None."""
    y = node.outputs[0]
    if (u := look.one_minus(y)) is not None:
        return _one_less(look, u)
    u = look.less_one(y)
    if u is not None:
        found = _one_less(look, u)
        return _minus_one_form(look, u) if found is None else -found
    return _exponential_difference(look, node) if kind_of(node) == "sub" else None


def _one_less(look: Look, u: Variable) -> Variable | None:
    """A stable form of 1 − u, or None."""
    if (x := look.argument(u, "cos")) is not None:
        return versine(x)
    if not look.is_value and (x := look.argument(u, "sigmoid")) is not None:
        return sigmoid(-x)
    v = look.square_base(u)
    if v is None:
        return None
    if (x := look.argument(v, "cos")) is not None:
        return sqr(sin(x))
    return sqr(cos(x)) if (x := look.argument(v, "sin")) is not None else None


def _minus_one_form(look: Look, u: Variable) -> Variable | None:
    """A stable form of u − 1, or None."""
    if not look.is_value and (x := look.argument(u, "exp")) is not None:
        return expm1(x)
    if (x := look.argument(u, "cosh")) is not None:
        return cosh_less_one(x)
    v = look.square_base(u)
    if v is not None and (x := look.argument(v, "cosh")) is not None:
        return sqr(sinh(x))
    return root_difference(look, u)


def _exponential_difference(look: Look, node: Apply) -> Variable | None:
    """2·sinh u for exp u − exp(−u), unless the exponentials have other readers; else None."""
    first, second = node.inputs
    if look.is_value and max(look.readers.get(x, 0) for x in (first, second)) > 1:
        return None
    a, b = look.argument(first, "exp"), look.argument(second, "exp")
    if a is None or b is None:
        return None
    for u, other, sign in ((a, b, 2), (b, a, -2)):
        opposite = look.opposite(other)
        if opposite is not None and is_same(opposite, u):
            return sign * sinh(u)
    return None
