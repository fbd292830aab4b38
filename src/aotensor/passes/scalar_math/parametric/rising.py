"""Pochhammer's symbol (z)ₘ = Γ(z + m)/Γ(z) and its derivatives in z and m, in float64.

Steps of one in m are factors, up to 40 of them, so that whole m give polynomials in z, at the poles of Γ too; what is
left is e^{ln Γ(z + m) − ln Γ(z)}, by Stirling's formula where z and z + m are large, with the sign that the two have.
Source: DLMF 5.2.4; the order of cases is that of Cephes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

from aotensor.passes.scalar_math.parametric.control import branch, repeat
from aotensor.passes.scalar_math.parametric.gamma_parts import (
    exponential_times,
    floor,
    is_gamma_negative,
    log1p_less,
    psi_series,
    stirling_rest,
)
from aotensor.passes.scalar_math.parametric.jet import Jet, choose
from aotensor.passes.scalar_math.value import Value, where

_FACTORS: Final = 40.0
_FAR: Final = 8.0
"""From there on Stirling's formula has the logarithm of the quotient without a difference of large numbers."""


def poch(z: Value, m: Value, order_z: int = 0, order_m: int = 0) -> Value:
    """(z)ₘ, or a derivative; ∞ where Γ(z + m) alone has a pole and 0 where Γ(z) alone has one.

    Bound: relative error 2⁻⁵²·(40 + 2·|ln|).
    """
    top, bottom = Jet.parameters([z, m], (order_z, order_m))
    one = top.constant(1.0)

    def up(rest: Jet, product: Jet) -> tuple[Jet, Jet]:
        return (rest - 1.0).dense(), (product * (top + (rest - 1.0))).dense()

    def down(rest: Jet, product: Jet) -> tuple[Jet, Jet]:
        return (rest + 1.0).dense(), (product / (top + rest)).dense()

    is_near = abs(m) <= _FACTORS
    rest, product = repeat(
        (bottom.dense(), one.dense()),
        lambda rest, product: is_near & (rest.value >= 1.0),
        up,
    )
    rest, product = repeat(
        (rest, product),
        lambda rest, product: is_near & (rest.value <= -1.0) & (z + rest.value).ne(0.0),
        down,
    )
    assert isinstance(rest, Jet)
    assert isinstance(product, Jet)
    return _with_rest(top, rest, product)


def _with_rest(z: Jet, rest: Jet, product: Jet) -> Value:
    is_whole = rest.value.eq(0.0)
    total = z + rest

    def far() -> Jet:
        ratio = rest / z
        main = z * log1p_less(ratio, (total / z).value) - 0.5 * ratio.log1p() + rest * total.log()
        return exponential_times(main + (stirling_rest(total) - stirling_rest(z)), product).dense()

    def near() -> Jet:
        def log_gamma(v: Value) -> Iterable[Value]:
            yield v.call("gammaln_apart")
            yield from psi_series(v, z.order)

        size = exponential_times(total.compose(log_gamma) - z.compose(log_gamma), product)
        is_odd = is_gamma_negative(total.value) ^ is_gamma_negative(z.value)
        return choose(is_odd, -size, size).dense()

    def quotient() -> Jet:
        return branch((z.value >= _FAR) & (total.value >= _FAR), far, near)

    # of a whole m nothing is left, but what m changes: Γ(z + m)/Γ(z) as a function of m near 0
    regular = (branch(is_whole, product.dense, quotient) if not z.top[1] else quotient()).derivative
    above, below = _is_pole(total.value) & ~is_whole, _is_pole(z.value) & ~is_whole
    infinite = where(above & ~below, z.value.like(math.inf), regular)
    return where(below & ~above, z.value.like(0.0), infinite) if not z.order else regular


def _is_pole(x: Value) -> Value:
    return (x <= 0.0) & floor(x).eq(x)
