"""Lengths and angles of points of the plane, and their derivatives, without overflow or underflow of squares."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from aotensor.core.builders import Scalar, ScalarBuilder
from aotensor.core.types import Array
from aotensor.graph.variable import Variable
from aotensor.ops.elementwise.base import Elementwise, Row, elementwise
from aotensor.ops.elementwise.compare import eq, switch


def _emit_hypot(s: ScalarBuilder, x: Any, y: Any) -> Scalar:
    """Emit m·√(1 + (n/m)²), m the larger and n the smaller of |x|, |y|; inf if one is infinite, even if the other is
    nan.
    """
    one, zero = s.constant(1.0, x.dtype), s.constant(0.0, x.dtype)
    wide, narrow = s.maximum(s.abs(x), s.abs(y)), s.minimum(s.abs(x), s.abs(y))
    ratio = narrow / wide
    length = wide * s.math("sqrt", one + ratio * ratio)
    length = s.select(s.compare("eq", wide, zero), zero, length)
    infinite = s.is_inf(x) | s.is_inf(y)
    return s.select(infinite, s.constant(np.inf, x.dtype), length)


def _times_square_over(u: Variable, length: Variable) -> Variable:
    return switch(eq(length, 0), 0, u * u / switch(eq(length, 0), 1, length))


hypot_slope: Final[Elementwise] = Elementwise(
    Row(
        "hypot_slope",
        "a/length of the point (a, b), 0 at (0, 0). Its own derivatives (b/length)²/length and −a·b/length³ do not "
        "cancel; the length is given, and no derivative is taken of it",
        lambda a, b, length: np.where(length == 0, 0, a / np.where(length == 0, 1, length)).astype(length.dtype),
        lambda s, a, b, length: s.select(
            s.compare("eq", length, s.constant(0.0, a.dtype)), s.constant(0.0, a.dtype), a / length
        ),
        (
            lambda g, a, b, length, y: g * _times_square_over(hypot_slope(b, a, length), length),
            lambda g, a, b, length, y: _negative_over(g * y * hypot_slope(b, a, length), length),
            None,
        ),
        notation="grad(hypot({0}, {1}))",
    )
)


def _negative_over(x: Variable, length: Variable) -> Variable:
    return switch(eq(length, 0), 0, -x / switch(eq(length, 0), 1, length))


hypot = elementwise(
    "hypot",
    "√(x² + y²) without overflow on the way; the derivatives at (0, 0) are 0.",
    np.hypot,
    _emit_hypot,
    (lambda g, a, b, y: g * hypot_slope(a, b, y), lambda g, a, b, y: g * hypot_slope(b, a, y)),
    numpy="hypot",
)


def _reference_angle_slope(a: Array, b: Array) -> Array:
    wide, narrow = np.maximum(abs(a), abs(b)), np.minimum(abs(a), abs(b))
    ratio = narrow / wide
    return np.asarray(np.copysign(np.where(abs(b) >= abs(a), 1, ratio), b) / (wide * (1 + ratio * ratio)))


def _emit_angle_slope(s: ScalarBuilder, a: Any, b: Any) -> Scalar:
    """Emit a derivative of an angle, ±r/(m·(1 + r²)), or ±1/(m·(1 + r²)) if |b| is larger; m and r as for hypot."""
    one, height, width = s.constant(1.0, a.dtype), s.abs(a), s.abs(b)
    wide, narrow = s.maximum(height, width), s.minimum(height, width)
    ratio = narrow / wide
    unit = one / (wide * (one + ratio * ratio))
    return s.math2("copysign", s.select(width >= height, one, ratio) * unit, b)


def _angle_slope_in_height(g: Variable, a: Variable, b: Variable, y: Variable) -> Variable:
    return -2 * g * y * _angle_slope(b, a)


def _angle_slope_in_width(g: Variable, a: Variable, b: Variable, y: Variable) -> Variable:
    length, other = hypot(a, b), _angle_slope(b, a)
    far_out = g * (other - y) * (other + y)  # cancels for a near b, but has no quotient of infinities
    # 1/length² may overflow or underflow where g/length, for a tangent as long as the point, does not
    return switch(eq(length, np.inf), far_out, g / length * ((a - b) / length) * ((a + b) / length) / length)


_angle_slope: Final = Elementwise(
    Row(
        "angle_slope",
        "b/(a² + b²), where the squares may overflow or vanish; nan at (0, 0)",
        _reference_angle_slope,
        _emit_angle_slope,
        (_angle_slope_in_height, _angle_slope_in_width),
        notation="grad(arctan2({0}, {1}))",
    )
)
arctan2 = elementwise(
    "arctan2",
    "The angle of the point (b, a), in (−π, π]; derivatives are nan at (0, 0).",
    np.arctan2,
    lambda s, a, b: s.math2("arctan2", a, b),
    (lambda g, a, b, y: g * _angle_slope(a, b), lambda g, a, b, y: -g * _angle_slope(b, a)),
    numpy="arctan2",
)
