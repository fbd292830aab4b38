"""The error function and its complement."""

from __future__ import annotations

from typing import Final

from aotensor.passes.scalar_math.exponential import nearest_half, power_of_two, reduce
from aotensor.passes.scalar_math.value import Value, at_most, fma, polynomial, where

# erf(x)/x − 1 in powers of x² for |x| ≤ 1, errors 2**-29 and 2**-56 of erf(x)/x
_ERF_CENTRE: Final = {
    "float32": (
        0.12837916612625122, -0.3761262595653534, 0.11283578723669052, -0.026853347197175026, 0.005187162198126316,
        -0.0007997852517291903, 7.806896610418335e-05,
    ),
    "float64": (
        0.12837916709551256, -0.37612638903183343, 0.11283791670936949, -0.02686617064195855, 0.0052239775967265764,
        -0.0008548325484293906, 0.00012055280466995604, -1.4924464900788095e-05, 1.6444139309193334e-06,
        -1.618388852566098e-07, 1.3616185360060096e-08, -7.606725866724181e-10,
    ),
}  # fmt: skip
# log(erfc(x)) from 1 to where erf(x) rounds to 1, so that erf has relative errors below 2**-29 and 2**-57
_LOG_ERFC: Final = {
    "float32": (
        -0.00034154433524236083, -1.1270891427993774, -0.638144850730896, -0.1031067818403244, 0.02183808945119381,
        -0.0029476648196578026, 0.0001863794750533998,
    ),
    "float64": (
        -5.028804283433876e-07, -1.1283740892008416, -0.636643629232485, -0.10270343659293676, 0.018990173696688654,
        0.00041063458829100245, -0.001915949978448886, 0.0007706483906835729, -0.00013505358186315726,
        -2.0265077536194672e-05, 2.2821886590959306e-05, -8.666976256994151e-06, 2.1356328752711554e-06,
        -3.7329478338780807e-07, 4.642179945628891e-08, -3.934159020893189e-09, 2.044905766502833e-10,
        -4.928474674409319e-12,
    ),
}  # fmt: skip
_ERF_IS_ONE: Final = {"float32": 3.95, "float64": 5.95}
# (x + 2)·exp(x²)·erfc(x) for x ≥ 0.9 in powers of 1/(x + 2), relative errors 2**-28 and 2**-55
_SCALED_ERFC: Final = {
    "float32": (
        0.5641665118988435, 1.1296403887723276, 1.9451436275240115, 3.207963655374826, -0.4321738248292685,
        15.407097465493012, -55.035305445340676, 61.18878285289137, -22.671534070206523,
    ),
    "float64": (
        0.5641895835538276, 1.1283791659174074, 1.9746636470973635, 2.8209422538439366, 2.680109876797613,
        -0.2877166754621809, -7.150089766879942, -15.462719074774041, 19.922721952099007, -161.64888306397768,
        1752.4154821149416, -10106.095507714752, 48011.82346795915, -183681.59698767966, 518487.5724027012,
        -1040644.2447555715, 1450567.5010080375, -1343847.271951387, 748479.2179657512, -190560.77310463283,
    ),
}  # fmt: skip
_OFFSET: Final = 2.0
_ERFC_IS_ZERO: Final = {"float32": 10.2, "float64": 27.3}


def erf(x: Value) -> Value:
    """Error function: x + x·P(x²) for |x| ≤ 1, then 1 − e**Q(|x|) with the sign of x. Bound: 2 ulp."""
    size = abs(x)
    reduced = reduce(polynomial(at_most(_ERF_IS_ONE[x.dtype], size), _LOG_ERFC[x.dtype]))
    outer = 1.0 - (reduced.expm1() + 1.0) * power_of_two(reduced.n_bits, x)
    inner = fma(x, polynomial(x * x, _ERF_CENTRE[x.dtype]), x)
    return where(size > 1.0, outer.with_sign_of(x), inner)


def erfc(x: Value) -> Value:
    """1 − erf(x) for |x| < 0.9; e**(−x²)·u·P(u) with u = 1/(x + 2) above; 2 − erfc(−x) below. Bound: 4 ulp.

    x² is split in two parts, which keeps the relative error small down to the smallest results. u and P are truncated
    to 26 bits for the product, and their remainders are added together with e**r − 1. float32 uses float64.
    """
    wide = x.cast("float64")
    size = at_most(_ERFC_IS_ZERO[x.dtype], abs(wide))
    head = size.truncated()
    rest, square = size - head, head * head
    reduced, half = reduce(-square), nearest_half(-square)
    growth = reduced.less(rest * (size + head)).expm1()
    u = 1.0 / (size + _OFFSET)
    factor = u.truncated()
    lacking = (1.0 - factor * (head + _OFFSET)) - factor * rest
    lacking = fma(lacking, lacking, lacking)  # of the quotient now
    growth = growth + fma(lacking, growth, lacking)
    series, scale = polynomial(u, _SCALED_ERFC[x.dtype]), power_of_two(half, wide)
    main, minor = factor * series.truncated(), factor * (series - series.truncated())
    tail = scale * (main + fma(factor * series, growth, minor)) * power_of_two(reduced.n_bits - half, wide)
    centre = fma(wide, -polynomial(wide * wide, _ERF_CENTRE[x.dtype]), 1.0 - wide)
    result = where(abs(wide) < 0.9, centre, where(wide < 0.0, 2.0 - tail, tail))
    return result.cast(x.dtype)
