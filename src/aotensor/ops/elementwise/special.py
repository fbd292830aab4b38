"""Special functions: of logistic models, of probabilities in log space, of the normal and the gamma distribution."""

from __future__ import annotations

from collections.abc import Callable
from math import log as real_log
from math import pi, sqrt
from typing import Any, Final

import numpy as np

from aotensor.core.builders import Scalar, ScalarBuilder
from aotensor.core.types import Array
from aotensor.graph.operations import dense
from aotensor.graph.variable import Variable
from aotensor.ops.elementwise.base import Elementwise, Partial, Row, elementwise
from aotensor.ops.elementwise.compare import and_, eq, gt, isinf, le, lt, or_, switch
from aotensor.ops.elementwise.elementary import inside, log, log1p
from aotensor.ops.elementwise.scipy_reference import scipy_special

# --- logistic --------------------------------------------------------------------------------------------------------


def _continued_softplus(x: Any) -> Any:
    """ln(1 + eˣ) of complex x, without overflow for large Re x."""
    is_right = x.real > 0
    return np.log1p(np.exp(np.where(is_right, -x, x))) + np.where(is_right, x, 0)


def _reference_logistic_density(x: Array) -> Array:
    t = np.exp(-np.abs(x))
    return np.asarray(t / np.square(1 + t))


logistic_density: Final = Elementwise(
    Row(
        "logistic_density",
        "sigmoid(x)·sigmoid(−x), the derivative of the sigmoid, which y·(1 − y) loses where the sigmoid rounds to 1",
        _reference_logistic_density,
        lambda s, x: s.special("logistic_density", x),
        (lambda g, x, y: -g * y * _tanh_half(x),),
        analytic=lambda x: 1 / np.square(2 * np.cosh(x / 2)),
        notation="grad(sigmoid({0}))",
    )
)
_tanh_half: Elementwise = Elementwise(
    Row(
        "tanh_half",
        "tanh(x/2) = sigmoid(x) − sigmoid(−x), exact near 0",
        lambda x: np.tanh(x / 2),
        lambda s, x: s.special("tanh_half", x),
        (lambda g, x, y: 2 * g * logistic_density(x),),
        analytic=lambda x: np.tanh(x / 2),
        notation="(2 * sigmoid({0}) - 1)",
    )
)


def _reference_sigmoid(x: Array) -> Array:
    """NumPy reference of the sigmoid by e^{−|x|}, so that nothing overflows; without SciPy, which loads in 0.2 s."""
    wide = x.astype(np.result_type(x.dtype, np.float32))
    small = np.exp(-np.abs(wide))
    return np.asarray(np.where(wide < 0, small, np.ones((), wide.dtype)) / (1 + small), x.dtype)


sigmoid = elementwise(
    "sigmoid",
    "1/(1 + e⁻ˣ); exactly 0 and 1 with derivative 0 far out. Also `expit`.",
    _reference_sigmoid,
    lambda s, x: s.special("sigmoid", x),
    (lambda g, x, y: g * logistic_density(x),),
    analytic=lambda x: np.exp(-_continued_softplus(-x)),
    scipy="expit",
)
expit = sigmoid


def _emit_logit(s: ScalarBuilder, x: Any) -> Scalar:
    """Emit ln(x/(1 − x)); around x = ½ as 2·artanh(2x − 1), where 2x − 1 is exact."""
    one, two = s.constant(1.0, x.dtype), s.constant(2.0, x.dtype)
    middle = two * s.math("arctanh", two * x - one)
    outer = s.math("log", x / (one - x))
    is_middle = (x > 0.3) & (x < 0.65)
    return s.select(is_middle, middle, outer)


_times_rest = Elementwise(
    Row(
        "times_rest",
        "x·(1 − x), whose derivative 1 − 2x has no product of 0 and ∞ in it at the ends",
        lambda x: x * (1 - x),
        lambda s, x: x * (1.0 - x),
        (lambda g, x, y: g * (1 - 2 * x),),
        analytic=lambda x: x * (1 - x),
        notation="(({0}) * (1 - ({0})))",
    )
)
logit = elementwise(
    "logit",
    "ln(x/(1 − x)); ∓inf at 0 and 1, nan outside.",
    scipy_special("logit"),
    _emit_logit,
    (lambda g, x, y: inside(or_(lt(x, 0), gt(x, 1)), g, g / _times_rest(x)),),
    analytic=lambda x: np.log(x / (1 - x)),
    scipy="logit",
)


def _reference_softplus(x: Array) -> Array:
    return np.asarray(np.logaddexp(x, np.zeros((), x.dtype)))


softplus = elementwise(
    "softplus",
    "ln(1 + eˣ) without overflow: 800 → 800, −800 → 0. Also `log1pexp`.",
    _reference_softplus,
    lambda s, x: s.special("softplus", x),
    (lambda g, x, y: g * sigmoid(x),),
    analytic=_continued_softplus,
)
log1pexp = softplus


# --- log space -------------------------------------------------------------------------------------------------------


def _reference_log1mexp(x: Array) -> Array:
    """NumPy reference of log(1 − e^{−|x|}). Source: Mächler (2012), with the switch at ln 2."""
    return np.where(x > -real_log(2), np.log(-np.expm1(x)), np.log1p(-np.exp(x)))


bose: Elementwise = Elementwise(
    Row(
        "bose",
        "1/(e⁻ˣ − 1); its derivative is made of itself, since the square of e⁻ˣ overflows",
        lambda x: 1 / np.expm1(0 - x),
        lambda s, x: s.constant(1.0, x.dtype) / s.math("expm1", 0.0 - x),
        (lambda g, x, y: g * (y * switch(gt(x, 0), -bose(-x), 1 + y)),),
        analytic=lambda x: 1 / np.expm1(-x),
        notation="grad(log1mexp({0}))",
    )
)
log1mexp = elementwise(
    "log1mexp",
    "ln(1 − eˣ) for x ≤ 0, exact near 0 and far out; −inf at 0, nan above.",
    _reference_log1mexp,
    lambda s, x: s.special("log1mexp", x),
    (lambda g, x, y: inside(gt(x, 0), g, -g * bose(x)),),
    analytic=lambda x: np.log(-np.expm1(x)),
)


def _emit_logaddexp(s: ScalarBuilder, x: Any, y: Any) -> Scalar:
    """Emit ln(eˣ + eʸ) = m + ln(1 + e^{−|x − y|}) with m = max(x, y); m + ln 2 for x = y, where infinities cancel to
    nan.
    """
    top = s.maximum(x, y)
    rest = s.math("log1p", s.math("exp", -s.abs(x - y)))
    return top + s.select(s.compare("eq", x, y), s.constant(real_log(2), x.dtype), rest)


def _share(g: Variable, a: Variable, b: Variable) -> Variable:
    """The derivative eᵃ/(eᵃ + eᵇ) of logaddexp in a, times g; ½·g if both are the same infinity."""
    return g * sigmoid(switch(and_(eq(a, b), isinf(a)), 0, a - b))


logaddexp = elementwise(
    "logaddexp",
    "ln(eˣ + eʸ) without overflow; the derivatives are 1/2 each for x = y, infinities included.",
    np.logaddexp,
    _emit_logaddexp,
    (lambda g, a, b, y: _share(g, a, b), lambda g, a, b, y: _share(g, b, a)),
    analytic=lambda x, y: x + _continued_softplus(y - x),
    numpy="logaddexp",
)


def _product_with_log(s: ScalarBuilder, name: str, x: Any, y: Any) -> Scalar:
    """Emit x·f(y) for the logarithm f with this name, and 0 for x = 0 unless y is nan."""
    zero = s.constant(0.0, x.dtype)
    is_zero = s.compare("eq", x, zero) & ~s.is_nan(y)
    return s.select(is_zero, zero, x * s.math(name, y))


def _derivatives_of_product(log_of: Elementwise, shift: float) -> tuple[Partial, Partial]:
    """Derivatives of a·f(b) for a logarithm f: f(b), and a/(shift + b); 0 for a = 0 where the product is 0."""

    def is_flat(a: Variable, b: Variable) -> Variable:
        return and_(eq(a, 0), le(b, -shift))

    def of_factor(g: Variable, a: Variable, b: Variable, y: Variable) -> Variable:
        return switch(is_flat(a, b), 0, g * log_of(b))

    def of_argument(g: Variable, a: Variable, b: Variable, y: Variable) -> Variable:
        derivative = inside(lt(b, -shift), g, g * a / (b + shift if shift else b))
        return switch(is_flat(a, b), 0, derivative)

    return of_factor, of_argument


def _or_zero(product: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    """A reference of a product x·f(y) that returns 0 if x is 0, unless y is nan."""

    def reference(x: Array, y: Array) -> Array:
        return np.asarray(np.where((x == 0) & ~np.isnan(y), np.zeros((), x.dtype), product(x, y)))

    return reference


_reference_xlogy = _or_zero(lambda x, y: x * np.log(y))
xlogy = elementwise(
    "xlogy",
    "x·ln y, and 0 for x = 0. The derivatives are ln y and x/y, also for x = 0 where y > 0; both are 0 "
    "for x = 0, y ≤ 0.",
    _reference_xlogy,
    lambda s, x, y: _product_with_log(s, "log", x, y),
    _derivatives_of_product(log, 0.0),
    analytic=lambda x, y: x * np.log(y),
    scipy="xlogy",
)
xlog1py = elementwise(
    "xlog1py",
    "x·ln(1 + y), and 0 for x = 0. The derivatives are ln(1 + y) and x/(1 + y), also for x = 0 where y > −1; both are "
    "0 for x = 0, y ≤ −1.",
    _or_zero(lambda x, y: x * np.log1p(y)),
    lambda s, x, y: _product_with_log(s, "log1p", x, y),
    _derivatives_of_product(log1p, 1.0),
    analytic=lambda x, y: x * np.log1p(y),
    scipy="xlog1py",
)
xlogx = elementwise(
    "xlogx",
    "x·ln x, and 0 for x = 0 with derivative −inf.",
    lambda x: _reference_xlogy(x, x),
    lambda s, x: _product_with_log(s, "log", x, x),
    (lambda g, x, y: g * (log(x) + 1),),
    analytic=lambda x: x * np.log(x),
)


# --- normal and gamma distribution -----------------------------------------------------------------------------------

_NORMAL_DERIVATIVE = 2 / sqrt(pi)


def _reference_gauss(factor: float) -> Callable[[Array], Array]:
    """NumPy reference with x² as a sum of two parts: rounding it once would cost as many ulp as its size."""

    def reference(x: Array) -> Array:
        size = np.minimum(np.abs(x).astype(np.float64), 60.0)
        head = size.astype(np.float32).astype(np.float64)
        rest = (size - head) * (size + head)
        return np.asarray((np.exp(-factor * head * head) * np.exp(-factor * rest)).astype(x.dtype))

    return reference


def _times_argument(factor: float) -> Partial:
    return lambda g, x, y: switch(eq(y, 0), 0, -factor * g * (x * y))


def _gauss(name: str, factor: float, doc: str) -> Elementwise:
    return Elementwise(
        Row(
            name,
            doc,
            _reference_gauss(factor),
            lambda s, x: s.special(name, x),
            (_times_argument(2.0 * factor),),
            analytic=lambda x: np.exp(-factor * x * x),
            notation="grad(erf({0}))",
        )
    )


gauss: Final = _gauss(
    "gauss", 1.0, "e^(−x²), accurate also where x² is large; its derivative is 0 where it underflows."
)
half_gauss: Final = _gauss("half_gauss", 0.5, "e^(−x²/2), accurate also where x² is large.")

erf = elementwise(
    "erf",
    "2/√π ∫₀ˣ e^{−t²} dt.",
    scipy_special("erf"),
    lambda s, x: s.math("erf", x),
    (lambda g, x, y: g * gauss(x) * _NORMAL_DERIVATIVE,),
    analytic=scipy_special("erf"),
    scipy="erf",
)
erfc = elementwise(
    "erfc",
    "1 − erf x without cancellation for large x.",
    scipy_special("erfc"),
    lambda s, x: s.special("erfc", x),
    (lambda g, x, y: -g * gauss(x) * _NORMAL_DERIVATIVE,),
    analytic=scipy_special("erfc"),
    scipy="erfc",
)


def _reference_gammaln(x: Array) -> Array:
    """NumPy reference of ln |Γ(x)|: SciPy; near the zeros 1 and 2 SciPy's complex branch, which is accurate there."""
    near = np.abs(np.abs(x - 1.5) - 0.5) <= 0.2
    principal = scipy_special("loggamma")(np.where(near, x, 1).astype(np.complex128)).real
    return np.where(near, principal, scipy_special("gammaln")(x)).astype(x.dtype)


def reflected_polygamma(order: int, x: Array) -> Array:
    """ψ⁽ⁿ⁾(x) by SciPy; between the poles, where SciPy loses digits, by the reflection formula at 1 − x."""
    wide = np.asarray(x, np.float64)
    polygamma = scipy_special("polygamma")
    with np.errstate(all="ignore"):
        fraction = np.round(wide) - wide  # of 1 − x, up to a whole number
        is_reflected = (wide < 0) & (fraction != 0)
        slope = np.polynomial.Polynomial([0.0, 1.0])  # in the cotangent
        for _ in range(order):
            slope = slope.deriv() * np.polynomial.Polynomial([-1.0, 0.0, -1.0])
        size = np.abs(np.where(is_reflected, fraction, 0.25))
        cotangent = np.sign(fraction) * np.sin(pi * (0.5 - size)) / np.sin(pi * size)  # exactly 0 at ½
        point = np.where(is_reflected, 1 - wide, 1.0)
        reflected = (-1.0) ** order * (polygamma(order, point) + pi ** (order + 1) * slope(cotangent))
        return np.where(is_reflected, reflected, polygamma(order, wide) if order else scipy_special("psi")(wide))


gammaln = elementwise(
    "gammaln",
    "ln |Γ(x)|; +inf at 0, −1, −2, …",
    _reference_gammaln,
    lambda s, x: s.special("gammaln", x),
    (lambda g, x, y: g * psi(x),),
    scipy="gammaln",
)
psi: Elementwise = elementwise(
    "psi",
    "ψ(x), the derivative of ln Γ; nan at −1, −2, … and ∓inf at ±0. Also `digamma`.",
    lambda x: reflected_polygamma(0, x).astype(x.dtype),
    lambda s, x: s.special("psi", x),
    (lambda g, x, y: g * tri_gamma(x),),
    analytic=scipy_special("psi"),
    scipy="psi",
)
digamma = psi


def _psi_second(x: Variable) -> Variable:
    """ψ₂(x)"""
    return dense.polygamma(2, x)


tri_gamma: Elementwise = elementwise(
    "tri_gamma",
    "ψ₁(x), the derivative of ψ; +inf at 0, −1, −2, …",
    lambda x: scipy_special("zeta")(np.full((), 2.0, x.dtype), x),
    lambda s, x: s.special("tri_gamma", x),
    (lambda g, x, y: g * _psi_second(x),),
)
