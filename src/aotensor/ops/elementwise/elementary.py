"""Elementary functions of real analysis, their logarithms and inverses.

Outside the domain of a function its value is nan, and so is its derivative.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log as real_log
from math import pi
from typing import Any

import numpy as np

from aotensor.core.builders import Scalar, ScalarBuilder
from aotensor.graph.variable import Variable
from aotensor.ops.elementwise.base import Elementwise, Row, elementwise
from aotensor.ops.elementwise.compare import and_, gt, lt, neq, or_, switch


def _unary(name: str, doc: str, derivative: Callable[..., Variable], is_analytic: bool = True) -> Elementwise:
    """A function of one real that the math dialect has under NumPy's name; NumPy knows the analytic ones on ℂ too."""
    reference = getattr(np, name)
    return elementwise(
        name, doc, reference, lambda s, x: s.math(name, x), (derivative,), analytic=reference if is_analytic else None
    )


def inside(is_outside: Variable, g: Variable, derivative: Variable) -> Variable:
    """The scaled derivative, nan outside the domain; but 0 where g is 0, as behind a switch that masks the outside."""
    return switch(and_(is_outside, neq(g, 0)), np.nan, derivative)


exp = _unary("exp", "eˣ; inf beyond 709.78 in float64.", lambda g, x, y: g * y)
exp2 = _unary("exp2", "2ˣ.", lambda g, x, y: g * y * real_log(2))
expm1 = _unary("expm1", "eˣ − 1, exact near 0.", lambda g, x, y: g * (y + 1))

log = _unary("log", "ln x; −inf at 0 with derivative inf, nan below.", lambda g, x, y: inside(lt(x, 0), g, g / x))
log2 = _unary("log2", "Logarithm to base 2.", lambda g, x, y: inside(lt(x, 0), g, g / (x * real_log(2))))
log10 = _unary("log10", "Logarithm to base 10.", lambda g, x, y: inside(lt(x, 0), g, g / (x * real_log(10))))
log1p = _unary("log1p", "ln(1 + x), exact near 0.", lambda g, x, y: inside(lt(x, -1), g, g / (1 + x)))

sqrt = _unary("sqrt", "√x; derivative inf at 0, nan below.", lambda g, x, y: 0.5 * g / y)
cbrt = _unary("cbrt", "∛x; derivative inf at 0.", lambda g, x, y: g / (3 * y * y), is_analytic=False)

sin = _unary("sin", "Sine; nan at ±inf.", lambda g, x, y: g * cos(x))
cos: Elementwise = _unary("cos", "Cosine; nan at ±inf.", lambda g, x, y: -g * sin(x))
tan = _unary("tan", "Tangent; nan at ±inf.", lambda g, x, y: g * (1 + y * y))
_gap = Elementwise(
    Row(
        "gap_to_one",
        "1 − x² without cancellation; its derivative −2x has no product of 0 and ∞ in it at ±1",
        lambda x: (1 - x) * (1 + x),
        lambda s, x: s.mul(s.sub(s.constant(1.0, x.dtype), x), s.add(s.constant(1.0, x.dtype), x)),
        (lambda g, x, y: -2 * g * x,),
        analytic=lambda x: (1 - x) * (1 + x),
    )
)
arcsin = _unary("arcsin", "Inverse sine; derivative inf at ±1, nan outside.", lambda g, x, y: g / sqrt(_gap(x)))
arccos = _unary("arccos", "Inverse cosine; derivative −inf at ±1, nan outside.", lambda g, x, y: -g / sqrt(_gap(x)))
arctan = _unary("arctan", "Inverse tangent.", lambda g, x, y: g / (1 + x * x))

sinh = _unary("sinh", "Hyperbolic sine.", lambda g, x, y: g * cosh(x))
cosh: Elementwise = _unary("cosh", "Hyperbolic cosine.", lambda g, x, y: g * sinh(x))
tanh = _unary("tanh", "Hyperbolic tangent.", lambda g, x, y: g * (1 - y * y))
arcsinh = _unary("arcsinh", "Inverse hyperbolic sine.", lambda g, x, y: g / sqrt(x * x + 1))
arccosh = _unary(
    "arccosh",
    "Inverse hyperbolic cosine; derivative inf at 1, nan below.",
    lambda g, x, y: inside(lt(x, 1), g, g / sqrt(0 - _gap(x))),
)
arctanh = _unary(
    "arctanh",
    "Inverse hyperbolic tangent; ±inf at ±1, nan outside.",
    lambda g, x, y: inside(or_(lt(x, -1), gt(x, 1)), g, g / _gap(x)),
)

arctan2 = elementwise(
    "arctan2",
    "The angle of the point (b, a), in (−π, π]; derivatives are nan at (0, 0).",
    np.arctan2,
    lambda s, a, b: s.math2("arctan2", a, b),
    (lambda g, a, b, y: g * b / (a * a + b * b), lambda g, a, b, y: -g * a / (a * a + b * b)),
)


def _scaled(factor: float) -> Callable[..., Scalar]:
    def emit(s: ScalarBuilder, x: Any) -> Scalar:
        return s.mul(x, s.constant(factor, x.dtype))

    return emit


deg2rad = elementwise("deg2rad", "x·π/180.", np.deg2rad, _scaled(pi / 180), (lambda g, x, y: g * (pi / 180),))
rad2deg = elementwise("rad2deg", "x·180/π.", np.rad2deg, _scaled(180 / pi), (lambda g, x, y: g * (180 / pi),))
