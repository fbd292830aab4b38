"""Where a function has no derivative, or a formula for it divides by zero: what is given there.

`tests/gradient/test_special_points.py` runs every row by the reference and compiled, in all modes, and keeps
docs/special_points.md equal to `page()`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, log, nan, pi
from typing import Any

import mpmath as mp

import aotensor.tensor as at
from aotensor.graph.variable import Variable

Matrix = Sequence[Sequence[float]]


@dataclass(frozen=True)
class Point:
    """y = build(*xs) at a point: its value, derivatives and second derivatives.

    text: as it is written. exact: y in mpmath, where these are limits of derivatives; `inward` says from where, as
    steps of the operands. why: for a convention, what it is.
    """

    text: str
    build: Callable[..., Variable]
    at: Sequence[float]
    value: float
    first: Sequence[float]
    second: Matrix
    why: str = ""
    exact: Callable[..., Any] | None = None
    inward: Sequence[float] = ()


def _one(
    text: str, build: Any, at: float, value: float, first: float, second: float, why: str = "", exact: Any = None,
    inward: float = 0.0,
) -> Point:  # fmt: skip
    return Point(text, build, [at], value, [first], [[second]], why, exact, [inward])


def _stacked(function: Callable[[Variable], Variable]) -> Callable[..., Variable]:
    return lambda *xs: function(at.stack(xs))


def _zeros(n: int) -> Matrix:
    return [[0.0] * n for _ in range(n)]


EULER = 0.5772156649015329
ZETA_2 = pi**2 / 6
KINK = "a kink: the derivative is this one of both sides"
JUMP = "a jump: derivative 0"
TIE_FIRST = "a tie goes to the first operand"
EDGE = "the edge of the domain"

ELEMENTS = [
    _one("abs(x)", at.abs, 0, 0, 0, 0, KINK),
    _one("relu(x)", at.relu, 0, 0, 1, 0, KINK),
    _one("sign(x)", at.sign, 0, 0, 0, 0, JUMP),
    _one("floor(x), ceil, trunc, rint", at.floor, 2, 2, 0, 0, JUMP),
    _one("sqrt(x)", at.sqrt, 0, 0, inf, -inf, EDGE, mp.sqrt, 1),
    _one("x**0.5", lambda x: x**0.5, 0, 0, inf, -inf, EDGE, mp.sqrt, 1),
    _one("cbrt(x)", at.cbrt, 0, 0, inf, nan, "the second derivative is ∞ on the left and −∞ on the right"),
    _one("1/x", at.reciprocal, 0, inf, -inf, inf, "the limit from the right", lambda x: 1 / x, 1),
    _one("log(x), log2, log10", at.log, 0, -inf, inf, -inf, EDGE, mp.log, 1),
    _one("log1p(x)", at.log1p, -1, -inf, inf, -inf, EDGE, mp.log1p, 1),
    _one("xlogx(x)", at.xlogx, 0, 0, -inf, inf, EDGE, lambda x: x * mp.log(x), 1),
    _one("log1mexp(x)", at.log1mexp, 0, -inf, -inf, -inf, EDGE, lambda x: mp.log(-mp.expm1(x)), -1),
    _one("logit(x)", at.logit, 0, -inf, inf, -inf, EDGE, lambda x: mp.log(x / (1 - x)), 1),
    _one("logit(x)", at.logit, 1, inf, inf, inf, EDGE, lambda x: mp.log(x / (1 - x)), -1),
    _one("arcsin(x)", at.arcsin, 1, pi / 2, inf, inf, EDGE, mp.asin, -1),
    _one("arcsin(x)", at.arcsin, -1, -pi / 2, inf, -inf, EDGE, mp.asin, 1),
    _one("arccos(x)", at.arccos, 1, 0, -inf, -inf, EDGE, mp.acos, -1),
    _one("arccos(x)", at.arccos, -1, pi, -inf, inf, EDGE, mp.acos, 1),
    _one("arccosh(x)", at.arccosh, 1, 0, inf, -inf, EDGE, mp.acosh, 1),
    _one("arctanh(x)", at.arctanh, 1, inf, inf, inf, EDGE, mp.atanh, -1),
    _one("arctanh(x)", at.arctanh, -1, -inf, inf, -inf, EDGE, mp.atanh, 1),
    _one("erfinv(x)", at.erfinv, 1, inf, inf, inf, EDGE, mp.erfinv, -1),
    _one("erfcinv(x)", at.erfcinv, 0, inf, -inf, inf, EDGE, lambda x: mp.erfinv(1 - x), 1),
    _one("ndtri(p)", at.ndtri, 0, -inf, inf, -inf, EDGE),
    _one("log_ndtr(x)", at.log_ndtr, 0, -log(2), (2 / pi) ** 0.5, -2 / pi, exact=lambda x: mp.log(mp.ncdf(x))),
    _one("gammaln(x)", at.gammaln, 1, 0, -EULER, ZETA_2, exact=mp.loggamma),
    _one("gammaln(x)", at.gammaln, 2, 0, 1 - EULER, ZETA_2 - 1, exact=mp.loggamma),
    _one("gammaln(x)", at.gammaln, 0, inf, -inf, inf, EDGE, mp.loggamma, 1),
    _one("gammaln(x)", at.gammaln, -1, inf, nan, inf, "a pole: the derivative is −∞ on the left and ∞ on the right"),
    _one("psi(x)", at.psi, 0, -inf, inf, -inf, "the limit from the right", mp.digamma, 1),
    _one("polygamma(1, x)", at.tri_gamma, 1, ZETA_2, -2.4041138063191886, 6.493939402266829,
         exact=lambda x: mp.psi(1, x)),
    _one("sigmoid(x)", at.sigmoid, 800, 1, 0, 0, exact=lambda x: 1 / (1 + mp.exp(-x))),
    _one("softplus(x)", at.softplus, -800, 0, 0, 0, exact=lambda x: mp.log1p(mp.exp(x))),
    _one("softplus(x)", at.softplus, 0, log(2), 0.5, 0.25, exact=lambda x: mp.log1p(mp.exp(x))),
    _one("x**0", lambda x: x**0, 0, 1, 0, 0, exact=lambda x: x * 0 + 1),
    _one("x**1", lambda x: x**1, 0, 0, 1, 0, exact=lambda x: x),
    _one("x**2", lambda x: x**2, 0, 0, 0, 2, exact=lambda x: x * x),
]  # fmt: skip

HELD = "at base 0 the exponent is held where it is not negative: derivatives with respect to it are 0"
FLAT = "the product is 0 whatever the argument is: flat"
SAME_INFINITY = "halves, held"
PAIRS = [
    Point("maximum(a, b)", at.maximum, [1, 1], 1, [1, 0], _zeros(2), TIE_FIRST),
    Point("minimum(a, b)", at.minimum, [1, 1], 1, [1, 0], _zeros(2), TIE_FIRST),
    Point("clip(x, low, high)", at.clip, [0, 0, 1], 0, [1, 0, 0], _zeros(3), "at a bound the derivative goes to x"),
    Point("clip(x, low, high)", at.clip, [1, 0, 1], 1, [1, 0, 0], _zeros(3), "at a bound the derivative goes to x"),
    Point("clip(x, low, high)", at.clip, [2, 3, 1], 1, [0, 0, 1], _zeros(3), "bounds that cross give the upper one"),
    Point("hypot(a, b)", at.hypot, [0, 0], 0, [0, 0], _zeros(2), "the tip of a cone: derivative 0"),
    Point("hypot(a, b)", at.hypot, [3, 0], 3, [1, 0], [[0, 0], [0, 1 / 3]], exact=mp.hypot),
    Point("arctan2(a, b)", at.arctan2, [0, 0], 0, [nan, nan], [[nan, nan], [nan, nan]], "no angle: nan"),
    Point("arctan2(a, b)", at.arctan2, [1, 0], pi / 2, [0, -1], [[0, 1], [1, 0]], exact=mp.atan2),
    Point("arctan2(a, b)", at.arctan2, [0, 1], 0, [1, 0], [[0, -1], [-1, 0]], exact=mp.atan2),
    Point("logaddexp(a, b)", at.logaddexp, [0.5, 0.5], 0.5 + log(2), [0.5, 0.5], [[0.25, -0.25], [-0.25, 0.25]],
          exact=lambda a, b: mp.log(mp.exp(a) + mp.exp(b))),
    Point("logaddexp(a, b)", at.logaddexp, [-inf, 0], 0, [0, 1], _zeros(2), "the limit"),
    Point("logaddexp(a, b)", at.logaddexp, [-inf, -inf], -inf, [0.5, 0.5], _zeros(2), SAME_INFINITY),
    Point("logaddexp(a, b)", at.logaddexp, [inf, inf], inf, [0.5, 0.5], _zeros(2), SAME_INFINITY),
    Point("xlogy(a, b)", at.xlogy, [0, 2], 0, [log(2), 0], [[0, 0.5], [0.5, 0]], exact=lambda a, b: a * mp.log(b)),
    Point("xlogy(a, b)", at.xlogy, [0, 0], 0, [0, 0], _zeros(2), FLAT),
    Point("xlogy(a, b)", at.xlogy, [1, 0], -inf, [-inf, inf], [[0, inf], [inf, -inf]], EDGE,
          lambda a, b: a * mp.log(b), [0, 1]),
    Point("xlog1py(a, b)", at.xlog1py, [0, 1], 0, [log(2), 0], [[0, 0.5], [0.5, 0]],
          exact=lambda a, b: a * mp.log1p(b)),
    Point("xlog1py(a, b)", at.xlog1py, [0, -1], 0, [0, 0], _zeros(2), FLAT),
    Point("a**b", at.pow, [2, 0], 1, [0, log(2)], [[0, 0.5], [0.5, log(2) ** 2]], exact=mp.power),
    Point("a**b", at.pow, [1, 0], 1, [0, 0], [[0, 1], [1, 0]], exact=mp.power),
    Point("a**b", at.pow, [2, 1], 2, [1, 2 * log(2)], [[0, 1 + log(2)], [1 + log(2), 2 * log(2) ** 2]], exact=mp.power),
    Point("a**b", at.pow, [0, 0], 1, [0, 0], _zeros(2), HELD),
    Point("a**b", at.pow, [0, 0.5], 0, [inf, 0], [[-inf, 0], [0, 0]], HELD),
    Point("a**b", at.pow, [0, 1], 0, [1, 0], _zeros(2), HELD),
    Point("a**b", at.pow, [0, 2], 0, [0, 0], [[2, 0], [0, 0]], HELD),
    Point("a**b", at.pow, [0, 3], 0, [0, 0], _zeros(2), HELD, mp.power, [1, 0]),
    Point("a**b", at.pow, [-2, 2], 4, [-4, nan], [[2, nan], [nan, nan]], "ln a is nan for a negative base"),
    Point("a*b*c", lambda a, b, c: a * b * c, [0, 0, 2], 0, [0, 0, 0], [[0, 2, 0], [2, 0, 0], [0, 0, 0]],
          exact=lambda a, b, c: a * b * c),
    Point("a/b", at.true_div, [1, 0], inf, [inf, -inf], [[0, -inf], [-inf, inf]], "the limit from the right",
          lambda a, b: a / b, [0, 1]),
    Point("gammainc(a, x)", at.gammainc, [1, 0], 0, [0, 1], [[0, -inf], [-inf, -1]], EDGE),
    Point("gammainc(a, x)", at.gammainc, [2, 0], 0, [0, 0], [[0, 0], [0, 1]], EDGE),
    Point("gammainc(a, x)", at.gammainc, [0.5, 0], 0, [0, inf], [[0, -inf], [-inf, -inf]], EDGE),
    Point("betainc(a, b, x)", at.betainc, [1, 2, 0], 0, [0, 0, 2], [[0, 0, -inf], [0, 0, 1], [-inf, 1, -2]], EDGE),
    Point("betainc(a, b, x)", at.betainc, [2, 2, 1], 1, [0, 0, 0], [[0, 0, 0], [0, 0, 0], [0, 0, -6]], EDGE),
    Point("owens_t(h, a)", at.owens_t, [0, 1], 0.125, [0, 1 / (4 * pi)],
          [[-1 / (2 * pi), 0], [0, -1 / (4 * pi)]]),
    Point("a % b", at.mod, [4, 2], 0, [1, -2], _zeros(2), "the derivative of the side that begins at the jump"),
]  # fmt: skip

FULL = "every one of a tie has the full derivative"
SUMS = [
    Point("max([a, b])", _stacked(at.max), [1, 1], 1, [1, 1], _zeros(2), FULL),
    Point("min([a, b])", _stacked(at.min), [1, 1], 1, [1, 1], _zeros(2), FULL),
    Point("sort([a, b])[0]", _stacked(lambda v: at.sort(v)[0]), [1, 1], 1, [1, 0], _zeros(2), "a tie by position"),
    Point("median([a, b, c])", _stacked(at.median), [1, 1, 1], 1, [0, 1, 0], _zeros(3), "a tie by position"),
    Point("prod([a, b, c])", _stacked(at.prod), [0, 3, 2], 0, [6, 0, 0], [[0, 2, 3], [2, 0, 0], [3, 0, 0]],
          exact=lambda a, b, c: a * b * c),
    Point("prod([a, b, c])", _stacked(at.prod), [0, 0, 2], 0, [0, 0, 0], [[0, 2, 0], [2, 0, 0], [0, 0, 0]],
          exact=lambda a, b, c: a * b * c),
    Point("cumprod([a, b, c]).sum()", _stacked(lambda v: at.cumprod(v).sum()), [0, 0, 2], 0, [1, 0, 0],
          [[0, 3, 0], [3, 0, 0], [0, 0, 0]], exact=lambda a, b, c: a + a * b + a * b * c),
    Point("logsumexp([a, b])", _stacked(at.logsumexp), [0, 0], log(2), [0.5, 0.5], [[0.25, -0.25], [-0.25, 0.25]],
          exact=lambda a, b: mp.log(mp.exp(a) + mp.exp(b))),
    Point("logsumexp([a, b])", _stacked(at.logsumexp), [-inf, 0], 0, [0, 1], _zeros(2), "the limit"),
    Point("logsumexp([a, b])", _stacked(at.logsumexp), [-inf, -inf], -inf, [0, 0], _zeros(2), "no mass: derivative 0"),
    Point("softmax([a, b])[0]", _stacked(lambda v: at.softmax(v)[0]), [-inf, 0], 0, [0, 0], _zeros(2), "the limit"),
    Point("log_softmax([a, b])[1]", _stacked(lambda v: at.log_softmax(v)[1]), [-inf, 0], 0, [0, 0], _zeros(2),
          "the limit"),
    Point("var([a, b])", _stacked(at.var), [1, 1], 0, [0, 0], [[0.5, -0.5], [-0.5, 0.5]],
          exact=lambda a, b: (a - b) ** 2 / 4),
    Point("std([a, b])", _stacked(at.std), [1, 1], 0, [0, 0], _zeros(2), "the tip of a cone: derivative 0"),
    Point("norm([a, b])", _stacked(at.linalg.norm), [0, 0], 0, [0, 0], _zeros(2), "the tip of a cone: derivative 0"),
    Point("norm([a, b])", _stacked(at.linalg.norm), [3, 4], 5, [0.6, 0.8], [[0.128, -0.096], [-0.096, 0.072]],
          exact=mp.hypot),
    Point("norm([a, b], 1)", _stacked(lambda v: at.linalg.norm(v, 1)), [0, 2], 2, [0, 1], _zeros(2), KINK),
    Point("norm([a, b], inf)", _stacked(lambda v: at.linalg.norm(v, inf)), [1, -1], 1, [1, -1], _zeros(2), FULL),
    Point("norm([a, b], 3)", _stacked(lambda v: at.linalg.norm(v, 3)), [0, 0], 0, [0, 0], _zeros(2),
          "the tip of a cone: derivative 0"),
    Point("sqrt(x**2)", lambda x: at.sqrt(x**2), [0], 0, [nan], [[nan]], "the formula: ∞·0; `abs` has derivative 0"),
]  # fmt: skip

TABLE = [
    ("Functions of one number", ELEMENTS),
    ("Functions of several numbers", PAIRS),
    ("Sums, products, order", SUMS),
]

HEAD = """\
# Special points

Values and first and second derivatives at points where a function has no derivative, or where a formula would divide by
zero. They are the same in reverse, forward and mixed mode, in the reference and in compiled code. If the last column is
empty, the number is the true derivative; at the edge of a domain it is the limit from inside. This page is generated
from `tests/gradient/special_points.py`.
"""

MATRICES = """\
## Matrices

| operation | at | result |
|---|---|---|
| `det` | singular | cofactors; second derivatives are exact too; third ones are nan |
| `slogdet` | singular | (0, −∞); derivatives are nan |
| `inv`, `solve`, `lu_solve` | singular | LinAlgError, at the value |
| `cholesky` | not positive definite | LinAlgError, at the value; nan where `on_error="nan"` |
| `pinv` | rank below full | the derivative along directions that keep the rank, first and second ones |
| `qr` | rank below full | not differentiable; an exact zero on the diagonal of R gives nan |
| `eigh`, `eigvalsh` | equal eigenvalues | derivatives of eigenvalues are vᵢᵀ·dA·vᵢ for the computed \
vectors; rotations of vectors within the space of one eigenvalue count as 0, also in second derivatives of eigenvalues |
| `svd` | equal singular values | the same; rotations of U against V, as in U·Vᵀ and the nuclear norm, are exact |
| `svd` | a singular value 0 | terms that divide by it count as 0 |
| `norm` | 0 | derivative 0: Frobenius, spectral, nuclear |
"""
"""What tests/gradient/test_special_points.py checks in functions of their own."""


def page() -> str:
    """docs/special_points.md"""
    lines = [HEAD]
    for title, points in TABLE:
        lines += [f"## {title}", "", "| function | at | value | derivatives | second derivatives | why |"]
        lines += ["|---|---|---|---|---|---|", *map(_line, points), ""]
    return "\n".join(lines) + "\n" + MATRICES


def _line(point: Point) -> str:
    second = "; ".join(", ".join(map(_text, row)) for row in point.second)
    numbers = [", ".join(map(_text, xs)) for xs in (point.at, [point.value], point.first)]
    return "| " + " | ".join([f"`{point.text}`", *numbers, second, point.why]) + " |"


def _text(x: float) -> str:
    if x != x:
        return "nan"
    if abs(x) == inf:
        return "∞" if x > 0 else "−∞"
    return f"{x:.6g}".replace("-", "−")
