"""J₀, J₁, I₀ and I₁ as straight-line arithmetic in float64, so that loops can be vectorized; float32 uses float64.

    I, x < 8     the power series in (x/2)², all terms positive
    I, x ≥ 8     eˣ/√x times a polynomial in 1/x
    J, x < 8     a polynomial in x² times (x² − r₁²)·(x² − r₂²), the zeros r in two parts: errors are relative there
    J, x ≥ 8     √(2/(πx))·(P·cos χ − Q·sin χ), χ = x − π/4 or x − 3π/4, with P and x·Q polynomials in 1/x²

Source: NIST Digital Library of Mathematical Functions, 10.17 and 10.25; polynomials by Chebyshev interpolation with
mpmath: in y from −1 to 1, which is 16/x − 1, x²/32 − 1 or 128/x² − 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from aotensor.passes.scalar_math import exponential, trigonometric
from aotensor.passes.scalar_math.value import Value, polynomial, where

_END: Final = 8.0
_SERIES: Final = 24
_I_NEAR: Final = tuple(
    tuple(1.0 / (math.factorial(k) * math.factorial(k + order)) for k in range(_SERIES)) for order in (0, 1)
)
_I0_FAR: Final = (
    0.4021765094450081, 0.0033605519836678844, 0.00013621607439240856, 1.1143033788559087e-05, 1.4838475391383468e-06,
    2.9735993216471474e-07, 8.872278303607728e-08, 3.9324793517123454e-08, 2.1541699603632043e-08,
    7.563107589679047e-09, -6.7023325619894366e-09, -1.3450608319883882e-08, -5.6022211783247e-09,
    7.687473295440412e-09, 8.006764881281122e-09, -3.799241020140616e-09, -7.1046429701883025e-09,
    1.9518431205146255e-09, 5.2159872385826355e-09, -9.961827005971165e-10, -3.0791787996480336e-09,
    4.1991218209463363e-10, 1.3291938884143105e-09, -1.1746991110551324e-10, -3.6353603909526465e-10,
    1.556423962829591e-11, 4.655655751294525e-11,
)  # fmt: skip
_I1_FAR: Final = (
    0.38939845902587233, -0.009749577193235758, -0.00021923576383438729, -1.5038547198351201e-05,
    -1.8349101048965518e-06, -3.483856445811428e-07, -1.000134929730233e-07, -4.312819645562664e-08,
    -2.336697227282623e-08, -8.435630024967513e-09, 6.687257309165881e-09, 1.4073201407347145e-08,
    6.180080050252965e-09, -7.768471997806944e-09, -8.488549054437278e-09, 3.7003762012994875e-09,
    7.441519822394391e-09, -1.842354234931444e-09, -5.438072168110142e-09, 9.265252428334351e-10,
    3.2055586346236238e-09, -3.8986710944632543e-10, -1.3834389708637022e-09, 1.0940884042721056e-10,
    3.784510012514866e-10, -1.4553819054184817e-11, -4.848238653363404e-11,
)  # fmt: skip
_J0_NEAR: Final = (
    0.0011434937743762545, -0.002119794289479692, 0.0015636431645931661, -0.0006415390646406127,
    0.00016977200713997844, -3.157342540223125e-05, 4.3669323246406834e-06, -4.677128021500413e-07,
    3.99883934547248e-08, -2.7948629190252563e-09, 1.6276489491802434e-10, -8.023536495592505e-12,
    3.3923298939988384e-13, -1.244037126995673e-14, 4.0068947189799594e-16, -1.1358872733053948e-17,
)  # fmt: skip
_J0_ZEROS: Final = ((2.404825557695773, -1.176691651530894e-16), (5.520078110286311, 8.088597146146722e-17))
_J0_P: Final = (
    0.9994572757882519, -0.0005363673192129684, 6.137416080147722e-06, -2.0527448258799454e-07,
    1.2803760990761632e-08, -1.2121099519052884e-09, 1.5500758850965851e-10, -2.4911156906092825e-11,
    4.7832464504070676e-12, -1.0160586409351026e-12, 2.486651879170221e-13, -1.0240462527458219e-13,
    3.2274659236696375e-14,
)  # fmt: skip
_J0_Q: Final = (
    -0.12444091103610815, 0.0005466519279472145, -1.1817110661060929e-05, 5.684971970025582e-07,
    -4.534973207071527e-08, 5.14616046007418e-09, -7.576039459098778e-10, 1.3648031992020618e-10,
    -2.8806407842213743e-11, 6.540951694630104e-12, -1.7086888259958598e-12, 7.904491537683217e-13,
    -2.632409683663596e-13,
)  # fmt: skip
_J1_NEAR: Final = (
    0.00019498936985895625, -0.0002697522746716368, 0.00015860016799369874, -5.408003239085507e-05,
    1.224217365301561e-05, -1.98909351591414e-06, 2.442522260752042e-07, -2.3521922546334314e-08,
    1.826854769532134e-09, -1.1696932385923217e-10, 6.284733827928662e-12, -2.8755486539015503e-13,
    1.1343125417561167e-14, -3.8985659874911057e-16, 1.1811464430757053e-17, -3.1618386969569665e-19,
)  # fmt: skip
_J1_ZEROS: Final = ((3.8317059702075125, -1.5269184090088067e-16), (7.015586669815619, -9.414165653410389e-17))
_J1_P: Final = (
    1.0009070262780821, 0.0008988049416705195, -7.959694698478657e-06, 2.45367663311693e-07, -1.470851251614582e-08,
    1.360297066536911e-09, -1.713127898085761e-10, 2.7234187811287063e-11, -5.1871998149145174e-12,
    1.0958092927251801e-12, -2.668914316041983e-13, 1.0911783467601572e-13, -3.4273425511664546e-14,
)  # fmt: skip
_J1_Q: Final = (
    0.3742149922195918, -0.0007697167057640408, 1.456961480970388e-05, -6.633568654309039e-07, 5.1361063866241454e-08,
    -5.720815729915534e-09, 8.315770668743603e-10, -1.4842507670096497e-10, 3.110817879111466e-11,
    -7.031097818821853e-12, 1.828906065466445e-12, -8.401208738069145e-13, 2.789203537560468e-13,
)  # fmt: skip


def i0(x: Value) -> Value:
    """I₀(x).   Bound: 6 ulp."""
    wide = abs(x.cast("float64"))
    series = polynomial(_square_of_half(wide), _I_NEAR[0])
    return where(wide < _END, series, _growing(wide, _I0_FAR)).cast(x.dtype)


def i1(x: Value) -> Value:
    """I₁(x).   Bound: 5 ulp."""
    wide = x.cast("float64")
    size = abs(wide)
    series = size * 0.5 * polynomial(_square_of_half(size), _I_NEAR[1])
    return where(size < _END, series, _growing(size, _I1_FAR)).with_sign_of(wide).cast(x.dtype)


def j0(x: Value) -> Value:
    """J₀(x); nan at ±∞.   Bound: 24 ulp of the larger of the result and, beyond x = 8, √(2/(πx))."""
    size = abs(x.cast("float64"))
    near = _by_zeros(size, _J0_NEAR, _J0_ZEROS)
    sine, cosine = trigonometric.sin(size), trigonometric.cos(size)
    far = _oscillating(size, _J0_P, _J0_Q, cosine + sine, sine - cosine)
    near = where(size < 1e-8, 1.0, near)  # exactly, where the product of polynomials is rounded
    return where(size < _END, near, far).cast(x.dtype)


def j1(x: Value) -> Value:
    """J₁(x); nan at ±∞.   Bound: 16 ulp of the larger of the result and, beyond x = 8, √(2/(πx))."""
    wide = x.cast("float64")
    size = abs(wide)
    near = size * _by_zeros(size, _J1_NEAR, _J1_ZEROS)
    sine, cosine = trigonometric.sin(size), trigonometric.cos(size)
    far = _oscillating(size, _J1_P, _J1_Q, sine - cosine, -(sine + cosine))
    found = where(size < _END, near, far)
    return (found * wide.like(1.0).with_sign_of(wide)).cast(x.dtype)


def _square_of_half(size: Value) -> Value:
    half = where(size < _END, size, 0.0) * 0.5
    return half * half


def _growing(size: Value, coefficients: Sequence[float]) -> Value:
    """eˣ/√x·P(16/x − 1), the exponential in two factors."""
    far = where(size < _END, _END, size)
    root = exponential.exp(far * 0.5)
    return root * (polynomial(2.0 * _END / far - 1.0, coefficients) / far.sqrt()) * root


def _by_zeros(size: Value, coefficients: Sequence[float], zeros: Sequence[tuple[float, float]]) -> Value:
    near = where(size < _END, size, 0.0)
    result = polynomial(near * near * (2.0 / _END**2) - 1.0, coefficients)
    for high, low in zeros:
        result = result * (((near - high) - low) * (near + high))
    return result


def _oscillating(size: Value, p: Sequence[float], q: Sequence[float], cosine: Value, sine: Value) -> Value:
    """(P·√2·cos χ − Q·√2·sin χ)/√(πx)."""
    far = where(size < _END, _END, size)
    inverse = 1.0 / far
    y = inverse * inverse * (2.0 * _END**2) - 1.0
    wave = polynomial(y, p) * cosine - polynomial(y, q) * inverse * sine
    return wave / (far * math.pi).sqrt() + (size - size)
