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
from aotensor.core.types import Array
from aotensor.graph.variable import Variable
from aotensor.ops.elementwise.base import Elementwise, Row, elementwise
from aotensor.ops.elementwise.compare import and_, eq, gt, lt, neq, or_, switch


def _unary(
    name: str, doc: str, derivative: Callable[..., Variable], is_analytic: bool = True, scipy: str = ""
) -> Elementwise:
    """A row for a unary real function with NumPy's name in the math dialect, which is a method, too.

    is_analytic: NumPy accepts complex values. scipy: its name in scipy.special
    """
    reference = getattr(np, name)
    return elementwise(
        name,
        doc,
        reference,
        lambda s, x: s.math(name, x),
        (derivative,),
        analytic=reference if is_analytic else None,
        numpy=name,
        scipy=scipy or (),
        method=name,
    )


def inside(is_outside: Variable, g: Variable, derivative: Variable) -> Variable:
    """g·derivative, nan outside of the domain; but 0 where g is 0, as after a switch that masks the outside."""
    return switch(and_(is_outside, neq(g, 0)), np.nan, derivative)


exp = _unary("exp", "eˣ; inf beyond 709.78 in float64.", lambda g, x, y: g * y)
exp2 = _unary("exp2", "2ˣ.", lambda g, x, y: g * y * real_log(2), scipy="exp2")
expm1 = _unary("expm1", "eˣ − 1, exact near 0.", lambda g, x, y: g * exp(x), scipy="expm1")

log = _unary("log", "ln x; −inf at 0 with derivative inf, nan below.", lambda g, x, y: inside(lt(x, 0), g, g / x))
log2 = _unary("log2", "Logarithm to base 2.", lambda g, x, y: inside(lt(x, 0), g, g / (x * real_log(2))))
log10 = _unary("log10", "Logarithm to base 10.", lambda g, x, y: inside(lt(x, 0), g, g / (x * real_log(10))))
log1p = _unary("log1p", "ln(1 + x), exact near 0.", lambda g, x, y: inside(lt(x, -1), g, g / (1 + x)), scipy="log1p")

sqrt = _unary("sqrt", "√x; derivative inf at 0, nan below.", lambda g, x, y: 0.5 * g / y)
cbrt = _unary("cbrt", "∛x; derivative inf at 0.", lambda g, x, y: g / (3 * y * y), is_analytic=False, scipy="cbrt")

sin = _unary("sin", "Sine; nan at ±inf.", lambda g, x, y: g * cos(x))
cos: Elementwise = _unary("cos", "Cosine; nan at ±inf.", lambda g, x, y: -g * sin(x))
tan = _unary("tan", "Tangent; nan at ±inf.", lambda g, x, y: g * (1 + y * y))
softsign = Elementwise(
    Row(
        "softsign",
        "x/(1 + |x|), whose derivative 1/(1 + |x|)² does not cancel",
        lambda x: x / (1 + np.abs(x)),
        lambda s, x: x / (s.constant(1.0, x.dtype) + s.abs(x)),
        (lambda g, x, y: g * _softsign_root(x) * _softsign_root(x),),
        notation="(({0}) / (1 + abs({0})))",
    )
)
_softsign_root: Elementwise = Elementwise(
    Row(
        "softsign_root",
        "w = 1/(1 + |x|), whose derivative is −w² with the sign of x",
        lambda x: 1 / (1 + np.abs(x)),
        lambda s, x: s.constant(1.0, x.dtype) / (s.constant(1.0, x.dtype) + s.abs(x)),
        (lambda g, x, y: switch(eq(x, 0), 0, switch(lt(x, 0), g, -g) * y * y),),
        notation="(1 / (1 + abs({0})))",
    )
)
_gap = Elementwise(
    Row(
        "gap_to_one",
        "1 − x² without cancellation; its derivative −2x has no product of 0 and ∞ in it at ±1",
        lambda x: (1 - x) * (1 + x),
        lambda s, x: (1.0 - x) * (1.0 + x),
        (lambda g, x, y: -2 * g * x,),
        analytic=lambda x: (1 - x) * (1 + x),
        notation="(1 - ({0})**2)",
    )
)
arcsin = _unary("arcsin", "Inverse sine; derivative inf at ±1, nan outside.", lambda g, x, y: g / sqrt(_gap(x)))
arccos = _unary("arccos", "Inverse cosine; derivative −inf at ±1, nan outside.", lambda g, x, y: -g / sqrt(_gap(x)))
arctan_slope = Elementwise(
    Row(
        "arctan_slope",
        "1/(1 + x²); its derivative is taken in an order in which x⁴ does not overflow",
        lambda x: 1 / (1 + x * x),
        lambda s, x: s.constant(1.0, x.dtype) / (s.constant(1.0, x.dtype) + x * x),
        (lambda g, x, y: -2 * g * ((x * y) * y),),
        analytic=lambda x: 1 / (1 + x * x),
        notation="grad(arctan({0}))",
    )
)
arctan = _unary("arctan", "Inverse tangent.", lambda g, x, y: g * arctan_slope(x))

sinh = _unary("sinh", "Hyperbolic sine.", lambda g, x, y: g * cosh(x))
cosh: Elementwise = _unary("cosh", "Hyperbolic cosine.", lambda g, x, y: g * sinh(x))


def _reference_sech_squared(x: Array) -> Array:
    t = np.exp(-2 * np.abs(x))
    return np.asarray(4 * t / np.square(1 + t))


sech_squared = Elementwise(
    Row(
        "sech_squared",
        "1/cosh²(x), the derivative of tanh, which 1 − tanh² loses where tanh rounds to 1",
        _reference_sech_squared,
        lambda s, x: s.special("sech_squared", x),
        (lambda g, x, y: -2 * g * y * tanh(x),),
        analytic=lambda x: 1 / np.square(np.cosh(x)),
        notation="grad(tanh({0}))",
    )
)
tanh: Elementwise = _unary("tanh", "Hyperbolic tangent.", lambda g, x, y: g * sech_squared(x))


def _reciprocal_root(inverse: str, doc: str, inner: Callable[[Any], Any], emit: Callable[..., Scalar]) -> Elementwise:
    """A row for y = 1/√inner(x), or 1/|x| where x² may overflow, the derivative of an inverse function.

    Its own derivative is −x·y³.
    """
    large = 2.0**60

    def reference(x: Array) -> Array:
        size = np.abs(x)
        return np.asarray(1 / np.where(size > large, size, np.sqrt(inner(np.where(size > large, 1, x)))))

    def emit_slope(s: ScalarBuilder, x: Scalar) -> Scalar:
        size = s.abs(x)
        is_large = size > large
        root = s.select(is_large, size, s.math("sqrt", emit(s, x, s.constant(1.0, x.dtype))))
        return 1.0 / root

    def derivative(g: Variable, x: Variable, y: Variable) -> Variable:
        return -g * ((x * y) * y * y)

    return Elementwise(
        Row(
            f"{inverse}_slope",
            doc,
            reference,
            emit_slope,
            (derivative,),
            analytic=lambda x: 1 / np.sqrt(inner(x)),
            notation=f"grad({inverse}({{0}}))",
        )
    )


arcsinh_slope = _reciprocal_root("arcsinh", "1/√(x² + 1)", lambda x: x * x + 1, lambda s, x, one: x * x + one)
_arccosh_slope = _reciprocal_root(
    "arccosh",
    "1/√(x² − 1)",
    lambda x: (x - 1) * (x + 1),
    lambda s, x, one: (x - one) * (x + one),
)
arcsinh = _unary("arcsinh", "Inverse hyperbolic sine.", lambda g, x, y: g * arcsinh_slope(x))
arccosh = _unary(
    "arccosh",
    "Inverse hyperbolic cosine; derivative inf at 1, nan below.",
    lambda g, x, y: inside(lt(x, 1), g, g * _arccosh_slope(x)),
)
arctanh = _unary(
    "arctanh",
    "Inverse hyperbolic tangent; ±inf at ±1, nan outside.",
    lambda g, x, y: inside(or_(lt(x, -1), gt(x, 1)), g, g / _gap(x)),
)


def _scaled(factor: float) -> Callable[..., Scalar]:
    def emit(s: ScalarBuilder, x: Scalar) -> Scalar:
        return x * factor

    return emit


deg2rad = elementwise(
    "deg2rad",
    "x·π/180.",
    np.deg2rad,
    _scaled(pi / 180),
    (lambda g, x, y: g * (pi / 180),),
    numpy=("deg2rad", "radians"),
    method="deg2rad",
)
rad2deg = elementwise(
    "rad2deg",
    "x·180/π.",
    np.rad2deg,
    _scaled(180 / pi),
    (lambda g, x, y: g * (180 / pi),),
    numpy=("degrees", "rad2deg"),
    method="rad2deg",
)
