"""B(a, b) = Γ(a)·Γ(b)/Γ(a + b) and its derivatives in both, in float64.

With m the smaller operand and M the larger one B = (1/m + 1/M)·e^{−mH} with H = (ln Γ(1 + M + m) − ln Γ(1 + M) −
ln Γ(1 + m))/m. Mixed derivatives are those of (1/m + 1/M)·(e^{−mH} − 1) alone: for small m a product would lose them.
For larger m they are those of e^{ln B}.
"""

from __future__ import annotations

import math
from typing import Final

from aotensor.passes.scalar_math.parametric.control import branch
from aotensor.passes.scalar_math.parametric.gamma_parts import (
    expm1_quotient,
    exponential_times,
    is_gamma_negative,
    slope_of_mean_of_psi,
)
from aotensor.passes.scalar_math.parametric.jet import Index, Jet, choose, indices_up_to
from aotensor.passes.scalar_math.value import Value

_SMALL: Final = 0.1


def beta(a: Value, b: Value, order_a: int = 0, order_b: int = 0) -> Value:
    """B(a, b), or a derivative.   Bound: relative error 1e-15·(8 + |ln B|); second derivatives 1e-11."""
    p, q = Jet.parameters([a, b], (order_a, order_b))
    is_first = a < b
    least, most = choose(is_first, p, q), choose(is_first, q, p)

    def near() -> Jet:
        slope = slope_of_mean_of_psi(most, least)
        exponent = -(least * (most * slope))
        sides = 1.0 / least + 1.0 / most
        return branch(
            abs(exponent.value) <= 0.5,
            lambda: (sides - (least + most) * slope * expm1_quotient(exponent)).dense(),
            lambda: exponential_times(exponent, sides).dense(),
        )

    def regular() -> Jet:
        size = exponential_times(_logarithm(a, b, p.top), p.constant(1.0)).dense()
        is_negative = is_gamma_negative(a) ^ is_gamma_negative(b) ^ is_gamma_negative(a + b)
        return choose(is_negative, -size, size).dense()

    is_near = (least.value > 0.0) & (least.value <= _SMALL) & (most.value < math.inf)
    return branch(is_near, near, regular).derivative


def _logarithm(a: Value, b: Value, top: Index) -> Jet:
    """ln |B(a, b)|: derivatives in one operand are differences of polygamma functions, mixed ones are single."""
    parts: dict[Index, Value] = {(0, 0): a.call("betaln_apart", b)}
    for i, j in indices_up_to(top)[1:]:
        scale = 1.0 / (math.factorial(i) * math.factorial(j))
        if i and j:
            parts[i, j] = _polygamma(a + b, i + j - 1) * -scale
        else:
            x, other, n = (a, b, i) if i else (b, a, j)
            if n == 1:
                parts[i, j] = x.call("psi_growth_apart", other) * -scale
            elif n == 2:
                parts[i, j] = x.call("tri_gamma_fall_apart", other) * scale
            else:
                parts[i, j] = (_polygamma(x, n - 1) - _polygamma(x + other, n - 1)) * scale
    return Jet(top, parts)


def _polygamma(x: Value, order: int) -> Value:
    return x.call("tri_gamma_apart" if order == 1 else f"polygamma_{order}_apart")
