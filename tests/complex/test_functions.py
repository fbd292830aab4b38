"""Elementary functions of complex numbers: values to a few ulp, and on which side of a cut a signed zero lies."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import mpmath
import numpy as np
import pytest

import aotensor as aot
import aotensor.tensor as at

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "exp": mpmath.exp,
    "exp2": lambda z: mpmath.power(2, z),
    "expm1": mpmath.expm1,
    "log": mpmath.log,
    "log2": lambda z: mpmath.log(z, 2),
    "log10": mpmath.log10,
    "log1p": lambda z: mpmath.log(1 + z),
    "sqrt": mpmath.sqrt,
    "sin": mpmath.sin,
    "cos": mpmath.cos,
    "tan": mpmath.tan,
    "sinh": mpmath.sinh,
    "cosh": mpmath.cosh,
    "tanh": mpmath.tanh,
    "arcsin": mpmath.asin,
    "arccos": mpmath.acos,
    "arctan": mpmath.atan,
    "arcsinh": mpmath.asinh,
    "arccosh": mpmath.acosh,
    "arctanh": mpmath.atanh,
    "reciprocal": lambda z: 1 / z,
    "sqr": lambda z: z * z,
    "abs": abs,
    "sign": mpmath.sign,
}
CUT = ("log", "log2", "log10", "log1p", "sqrt", "arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh")


@cache
def compiled(dtype: str) -> Any:
    """All functions of one complex vector, in one library."""
    z = at.vector("z", dtype=dtype)
    return aot.function([z], {name: getattr(at, name)(z) for name in FUNCTIONS}, name=f"elementary_{dtype}")


def points() -> np.ndarray[Any, Any]:
    """Sizes from 10⁻³ to 15 in all directions, and points beside the unit circle, whose logarithm cancels."""
    rng = np.random.default_rng(3)
    sizes = np.exp(rng.uniform(np.log(1e-3), np.log(15), 60))
    beside = np.exp(1j * rng.uniform(-3, 3, 12)) * (1 + rng.normal(size=12) * 1e-3)
    return np.concatenate([sizes * np.exp(2j * np.pi * rng.uniform(size=60)), beside])


@pytest.mark.shows("tensor/12-functions")
@pytest.mark.parametrize("dtype", ["complex128", "complex64"])
def test_values_are_right_to_four_ulp(dtype: str) -> None:
    z = points().astype(dtype)
    found = compiled(dtype)(z)
    eps = float(np.finfo(dtype).eps)
    with mpmath.workdps(40):
        for name, exact in FUNCTIONS.items():
            for x, y in zip(z.tolist(), found[name].tolist(), strict=True):
                wanted = exact(mpmath.mpc(x))
                error = float(abs(mpmath.mpc(y) - wanted) / abs(wanted)) / eps
                assert error <= 4, f"{name}({x}) = {y}: {error:.1f} ulp"


@pytest.mark.shows("tensor/12-cuts")
def test_cuts_are_where_numpy_has_them() -> None:
    signed = [complex(x, y) for x in (-3.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 3.0) for y in (-0.0, 0.0)]
    z = np.array([*signed, *(complex(v.imag, v.real) for v in signed)])
    found = compiled("complex128")(z)
    for name in CUT:
        with np.errstate(all="ignore"):
            wanted = getattr(np, name)(z)
        fine = np.isfinite(wanted)
        np.testing.assert_allclose(found[name][fine], wanted[fine], rtol=1e-15, atol=1e-15, err_msg=name)
        at_poles = found[name][~fine]
        assert not np.isfinite(at_poles).any(), name


def test_large_and_small_values_do_not_overflow_on_the_way() -> None:
    z = np.array([1e300 + 1e300j, -1e-300 + 1e-308j, 3e-320 + 0j, 709.9 + 1j, -800 + 3j, 400 + 1j])
    found = compiled("complex128")(z)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(found["reciprocal"][:2], 1 / z[:2], rtol=1e-15)
        for name in ("log", "sqrt", "abs", "tanh"):
            np.testing.assert_allclose(found[name], getattr(np, name)(z), rtol=1e-15, err_msg=name)
        np.testing.assert_allclose(found["exp"][3:], np.exp(z[3:]), rtol=1e-13)


def test_arithmetic_of_complex_and_real_operands() -> None:
    z, w, x, k = at.zvector("z"), at.zvector("w"), at.vector("x"), at.ivector("k")
    rng = np.random.default_rng(0)
    a, b = (rng.normal(size=7) + 1j * rng.normal(size=7) for _ in range(2))
    c, d = rng.normal(size=7), rng.integers(1, 5, 7).astype("int32")
    rows: dict[str, tuple[Any, Any]] = {
        "sum": (z + w + x, a + b + c),
        "difference": (x - z, c - a),
        "product": (z * w * k, a * b * d),
        "quotient": (z / w, a / b),
        "of real": (x / z, c / a),
        "by real": (z / x, a / c),
        "negative": (-z, -a),
        "power": (z**w, a**b),
        "real power": (z**x, a**c),
        "of a real": (at.abs(x) ** w, np.abs(c) ** b),
        "integer power": (z**3, a**3),
        "negative power": (z**-2, a**-2.0),
        "zeroth": (z**0, a**0),
        "literal": (2j * z + 1, 2j * a + 1),
        "equal": (at.eq(z, w), a == b),
        "real": (z.real, a.real),
        "imag": (z.imag, a.imag),
        "angle": (at.angle(z), np.angle(a)),
        "conj": (z.conj(), a.conj()),
        "complex": (at.complex(x, k), c + 1j * d),
        "polar": (at.polar(x, 2.0), c * np.exp(2j)),
        "cast": (z.astype("complex64"), a.astype("complex64")),
        "switch": (at.switch(x > 0, z, 1j), np.where(c > 0, a, 1j)),
        "finite": (at.isfinite(z), np.isfinite(a)),
        "numpy": (np.exp(z) + np.real(w), np.exp(a) + b.real),
    }
    f = aot.function([z, w, x, k], {key.replace(" ", "_"): row for key, (row, _) in rows.items()}, name="arithmetic")
    with np.errstate(all="ignore"):
        found, reference = f(a, b, c, d), f.reference(a, b, c, d)
    for key, (_, wanted) in rows.items():
        for y in (found[key.replace(" ", "_")], reference[key.replace(" ", "_")]):
            assert y.dtype == wanted.dtype, key
            np.testing.assert_allclose(y, wanted, rtol=1e-6 if key == "cast" else 3e-15, err_msg=key)


def test_the_real_part_of_the_reference_of_log1p_does_not_cancel() -> None:
    z = at.zvector("z")
    f = aot.function([z], at.log1p(z), name="f")
    points = np.array([1e-37 - 2e-26j, -1e-3 + 0.0447j, -0.5 + 0.86602540378j, -2.0 + 1e-9j, 5.0j])
    with mpmath.workdps(80):
        exact = [float(mpmath.log(1 + mpmath.mpc(x)).real) for x in points.tolist()]
    np.testing.assert_allclose(np.real(f.reference(points)), exact, rtol=1e-14)
