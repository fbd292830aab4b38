"""Pochhammer's symbol (z)ₘ = Γ(z + m)/Γ(z) and its derivatives in z and m, in float64.

Steps of one in m are factors, up to 40 of them, so that integer m give polynomials in z, at the poles of Γ too; the
remaining quotient is e^{ln Γ(z + m) − ln Γ(z)}, by Stirling's formula where z and z + m are large, with the sign of
both Γ. Source: DLMF 5.2.4; the order of cases is that of Cephes.
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
    mean_of_psi,
    psi_series,
    stirling_rest,
)
from aotensor.passes.scalar_math.parametric.jet import Jet, choose
from aotensor.passes.scalar_math.value import Value, where

_FACTORS: Final = 40.0
_LITTLE: Final = 0.1
"""Largest |m| for which ln Γ(z + m) − ln Γ(z) is computed as m times a mean of ψ: it vanishes with m, like its
derivatives in z."""
_FAR: Final = 8.0
"""Smallest z for which Stirling's formula gives the logarithm of the quotient without cancellation."""


def poch(z: Value, m: Value, order_z: int = 0, order_m: int = 0) -> Value:
    """(z)ₘ, or a derivative; ∞ where only Γ(z + m) has a pole, and 0 where only Γ(z) has one.

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
    return _with_rest(top, m, rest, product)


def _with_rest(z: Jet, m: Value, rest: Jet, product: Jet) -> Value:
    is_whole = rest.value.eq(0.0)
    total = z + rest

    def far() -> Jet:
        ratio = rest / z
        logarithm = ratio.log1p()
        # z·(ln(1 + r) − r), whose derivative cancels for large r
        less = choose(ratio.value > 1.0, z * logarithm - rest, z * log1p_less(ratio, (total / z).value))
        main = less - 0.5 * logarithm + rest * total.log()
        return exponential_times(main + (stirling_rest(total) - stirling_rest(z)), product).dense()

    def near() -> Jet:
        """The symbol near the pole of Γ at z = 0, by 1/Γ(z) = z/Γ(1 + z)."""

        def log_gamma(v: Value) -> Iterable[Value]:
            yield v.call("gammaln_apart")
            yield from psi_series(v, z.order)

        is_about_0 = abs(z.value) < 0.5
        below = z + where(is_about_0, z.value.like(1.0), 0.0)
        factor = choose(is_about_0, product * z, product)
        size = exponential_times(total.compose(log_gamma) - below.compose(log_gamma), factor)
        is_odd = is_gamma_negative(total.value) ^ is_gamma_negative(below.value)
        return choose(is_odd, -size, size).dense()

    def little() -> Jet:
        growth = rest * mean_of_psi(z, rest) - (rest / z).log1p()
        return exponential_times(growth, product).dense()

    def quotient() -> Jet:
        is_little = (abs(rest.value) <= _LITTLE) & (z.value > 0.0) & (total.value > 0.0)
        return branch(is_little, little, lambda: branch((z.value >= _FAR) & (total.value >= _FAR), far, near).dense())

    # integer m leaves only the dependence on m: Γ(z + m)/Γ(z) as a function of m near 0
    regular = (branch(is_whole, product.dense, quotient) if not z.top[1] else quotient()).derivative
    if z.order:  # beyond the largest number, where coefficients are 0·∞
        return where(regular.ne(regular) & (z.value > 0.0) & (m >= 1.0), regular.like(math.inf), regular)
    above, below = _is_pole(total.value) & ~is_whole, _is_pole(z.value) & ~is_whole
    infinite = where(above & ~below, z.value.like(math.inf), regular)
    return where(below & ~above, z.value.like(0.0), infinite)


def _is_pole(x: Value) -> Value:
    return (x <= 0.0) & floor(x).eq(x)
