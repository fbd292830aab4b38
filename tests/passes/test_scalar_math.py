"""The scalar functions on arrays, through the whole road: errors in ulp over the whole range, and special values."""

from __future__ import annotations

from itertools import product

import mpmath as mp
import numpy as np
import pytest
import scipy.special
from scalar_math_cases import CASES, NO_LONG_DOUBLE, power_corners, power_operands
from scalar_math_harness import DTYPES, WIDE, Array, Library, around, corners, library, multiprecision, ulps

from aotensor.passes.scalar_math.polygamma import ORDERS
from aotensor.passes.scalar_math.table import FUNCTIONS

HAS_LONG_DOUBLE = np.finfo(np.longdouble).nmant > 60
CPUS = pytest.mark.parametrize("cpu", ["host", "generic"])
EACH = pytest.mark.parametrize("dtype", DTYPES)
SPECIAL_FUNCTIONS = {
    "gammaln": scipy.special.gammaln,
    "psi": scipy.special.psi,
    "tri_gamma": lambda x: scipy.special.polygamma(1, x),
}
LOGARITHMS_OF_GAMMA = {
    "betaln": lambda p, q: mp.loggamma(p) + mp.loggamma(q) - mp.loggamma(p + q),
    "psi_growth": lambda p, q: mp.psi(0, p + q) - mp.psi(0, p),
    "tri_gamma_fall": lambda p, q: mp.psi(1, p) - mp.psi(1, p + q),
}


def check_errors(name: str, dtype: str, x: Array, cpu: str) -> None:
    """All results at x are within the bound of the case."""
    case = CASES[name]
    with np.errstate(all="ignore"):
        expected = case.reference(x.astype(WIDE[dtype]))
    errors = ulps(library(cpu)(name, x), expected)
    worst = int(np.argmax(errors))
    assert errors[worst] <= case.bound, f"{name} {dtype} {cpu}: {errors[worst]:.2f} ulp at {x[worst]!r}"


def skip_without_reference(name: str, dtype: str) -> None:
    if dtype == "float64" and (name in NO_LONG_DOUBLE or not HAS_LONG_DOUBLE):
        pytest.skip("no reference beyond float64; the test against mpmath covers it")


@EACH
@pytest.mark.parametrize("name", CASES)
def test_error_over_the_whole_range(name: str, dtype: str, rng: np.random.Generator) -> None:
    skip_without_reference(name, dtype)
    check_errors(name, dtype, CASES[name].points(dtype, 4000, rng), "host")


@CPUS
@EACH
@pytest.mark.parametrize("name", CASES)
def test_error_at_many_points(name: str, dtype: str, cpu: str, rng: np.random.Generator) -> None:
    skip_without_reference(name, dtype)
    check_errors(name, dtype, CASES[name].points(dtype, 400_000, rng), cpu)


def check_against_mpmath(name: str, count: int, cpu: str, rng: np.random.Generator) -> None:
    """float64 where mpmath is quick: not at integers beyond all exponents."""
    case = CASES[name]
    assert case.exact is not None
    x = np.concatenate([rng.uniform(low, high, count) for low, high in ((-4.0, 4.0), (0.0, 1.0), *case.ranges)])
    x = np.concatenate([x, np.exp2(rng.uniform(-80, 8, count)) * rng.choice([-1.0, 1.0], count)])
    found = library(cpu)(name, x)
    defined = np.isfinite(found) & (found != 0)
    errors = ulps(found[defined], multiprecision(case.exact, x[defined]))
    worst = int(np.argmax(errors))
    assert errors[worst] <= case.bound, f"{name} {cpu}: {errors[worst]:.2f} ulp at {x[defined][worst]!r}"


@pytest.mark.parametrize("name", CASES)
def test_error_against_mpmath(name: str, rng: np.random.Generator) -> None:
    check_against_mpmath(name, 60, "host", rng)


@CPUS
@pytest.mark.parametrize("name", CASES)
def test_error_against_mpmath_at_many_points(name: str, cpu: str, rng: np.random.Generator) -> None:
    check_against_mpmath(name, 2000, cpu, rng)


def check_power(dtype: str, cpu: str, count: int, rng: np.random.Generator) -> None:
    x, y = power_operands(dtype, count, rng)
    with np.errstate(all="ignore"):
        expected = np.power(x.astype(WIDE[dtype]), y.astype(WIDE[dtype]))
    errors = ulps(library(cpu)("pow", x, y), expected)
    worst = int(np.argmax(errors))
    assert errors[worst] <= 2, f"{errors[worst]:.2f} ulp at {x[worst]!r}, {y[worst]!r}"


@EACH
def test_error_of_power(dtype: str, rng: np.random.Generator) -> None:
    check_power(dtype, "host", 5000, rng)


@CPUS
@EACH
def test_error_of_power_at_many_points(dtype: str, cpu: str, rng: np.random.Generator) -> None:
    check_power(dtype, cpu, 300_000, rng)


@CPUS
@EACH
def test_power_at_the_corners(dtype: str, cpu: str) -> None:
    """Signs, zeros, infinities and nan are those of C's pow."""
    x, y = power_corners(dtype)
    found = library(cpu)("pow", x, y)
    with np.errstate(all="ignore"):
        expected = np.power(x, y)
    np.testing.assert_allclose(found, expected, rtol=4 * np.finfo(dtype).eps, atol=np.finfo(dtype).smallest_subnormal)
    signed = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found[signed]), np.signbit(expected[signed]))


@EACH
def test_small_powers_of_integers_are_exact(dtype: str) -> None:
    x, y = (a.ravel().astype(dtype) for a in np.meshgrid(np.arange(-12.0, 13.0), np.arange(0.0, 6.0)))
    np.testing.assert_array_equal(
        library("host")("pow", x, y), np.array([float(int(a) ** int(b)) for a, b in zip(x, y, strict=True)], dtype)
    )


@CPUS
@EACH
def test_arctan2(dtype: str, cpu: str, rng: np.random.Generator) -> None:
    sizes = np.exp2(rng.uniform(-140, 120, (2, 20_000)) * rng.choice([0.02, 1.0], (2, 20_000)))
    y, x = (sizes * rng.choice([-1, 1], sizes.shape)).astype(dtype)
    grid = np.meshgrid(*[np.append(corners(dtype), np.array([1, -1, 2], dtype))] * 2)
    y, x = np.append(y, grid[0]), np.append(x, grid[1])
    with np.errstate(all="ignore"):
        expected = np.arctan2(y.astype(WIDE[dtype]), x.astype(WIDE[dtype]))
    found = library(cpu)("arctan2", y, x)
    assert ulps(found, expected).max() <= 3
    signed = ~np.isnan(found)
    np.testing.assert_array_equal(np.signbit(found[signed]), np.signbit(expected[signed]))


@CPUS
@EACH
@pytest.mark.parametrize("name", [name for name in CASES if name != "log1mexp"])
def test_corners_are_exact(name: str, dtype: str, cpu: str) -> None:
    """nan, ±∞, ±0 and what they give, with the sign of zeros; the other corners are covered by the errors above."""
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan], dtype)
    with np.errstate(all="ignore"):
        expected = CASES[name].reference(x.astype(WIDE["float32"])).astype(dtype)
    found = library(cpu)(name, x)
    np.testing.assert_allclose(found, expected, rtol=2 * np.finfo(dtype).eps)
    zeros = expected == 0
    np.testing.assert_array_equal(np.signbit(found[zeros]), np.signbit(expected[zeros]))


@EACH
def test_values_that_people_expect_exactly(dtype: str) -> None:
    ones = np.ones(1, dtype)
    for name, x, value in (
        ("exp", 0.0, 1.0), ("exp2", 10.0, 1024.0), ("log2", 8.0, 3.0), ("log10", 1000.0, 3.0), ("log", 1.0, 0.0),
        ("cos", 0.0, 1.0), ("cosh", 0.0, 1.0), ("sigmoid", 0.0, 0.5), ("cbrt", 27.0, 3.0), ("erfc", 0.0, 1.0),
        ("arccos", 1.0, 0.0), ("tanh", 30.0, 1.0), ("erf", -7.0, -1.0), ("sigmoid", 50.0, 1.0),
    ):  # fmt: skip
        assert library("host")(name, ones * np.array(x, dtype))[0] == value, name


@EACH
@pytest.mark.parametrize("name", SPECIAL_FUNCTIONS)
def test_gamma_functions(name: str, dtype: str, rng: np.random.Generator) -> None:
    """1e-14 of the larger of 1 and the result (float32: half an ulp more), and the poles of SciPy."""
    x = np.concatenate([rng.uniform(-20, 30, 4000), np.exp2(rng.uniform(-60, 100, 2000)), rng.uniform(0.9, 2.1, 500)])
    poles = np.array([0.0, -0.0, -1.0, -2.0, -(2.0**60), np.inf, -np.inf, np.nan])
    x = np.append(x, poles).astype(dtype)
    with np.errstate(all="ignore"):
        expected = SPECIAL_FUNCTIONS[name](x.astype(np.float64))
    found = library("host")(name, x).astype(np.float64)
    tolerance = 2e-14 if dtype == "float64" else 1.2e-7
    # at random negative numbers the reference itself loses digits next to the poles
    kept = (x > 0) | (np.abs(np.nan_to_num(x) - np.round(np.nan_to_num(x))) > 1e-2) | ~np.isfinite(expected)
    np.testing.assert_allclose(found[kept], expected[kept], rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", ["float64"])
@pytest.mark.parametrize("name", SPECIAL_FUNCTIONS)
def test_gamma_functions_against_mpmath(name: str, dtype: str, rng: np.random.Generator) -> None:
    exact = {"gammaln": lambda x: mp.re(mp.loggamma(x)), "psi": mp.digamma, "tri_gamma": lambda x: mp.psi(1, x)}[name]
    x = np.concatenate(
        [rng.uniform(-20, 30, 150), np.exp2(rng.uniform(-100, 8, 50)), rng.uniform(0.9, 2.1, 50)]
    ).astype(dtype)
    np.testing.assert_allclose(library("host")(name, x), multiprecision(exact, x).astype(dtype), rtol=2e-15, atol=2e-15)
    positive = np.concatenate([x[x > 0], *around(np.array([0.5, 1.0, 1.4616321449683622, 2.0, 3.0, 4.0, 8.0]))])
    errors = ulps(library("host")(name, positive), multiprecision(exact, positive))
    assert errors.max() <= 4, f"{errors.max():.2f} ulp at {positive[errors.argmax()]!r}"


@pytest.mark.parametrize("order", ORDERS)
def test_derivatives_of_psi_against_mpmath(order: int, rng: np.random.Generator) -> None:
    x = np.concatenate([rng.uniform(0, 3, 40), rng.uniform(3, 60, 40), np.exp2(rng.uniform(-40, 60, 20))])
    found = library("host")(f"polygamma_{order}", x)
    assert ulps(found, multiprecision(lambda v: mp.psi(order, v), x)).max() <= 10


@pytest.mark.parametrize("order", [0, 1])
def test_bessel_functions_against_mpmath(order: int, rng: np.random.Generator) -> None:
    """Relative errors up to 8, at the first two zeros too; beyond of the envelope √(2/(πx))."""
    zeros = np.array([2.404825557695773, 5.520078110286311, 3.8317059702075125, 7.015586669815619])
    x = np.concatenate([rng.uniform(-12, 12, 200), 10 ** rng.uniform(-300, 3, 100), zeros, rng.uniform(8, 40, 100)])
    found = library("host")(f"j{order}", x)
    with mp.workdps(40):
        for point, y in zip(x, found, strict=True):
            exact = mp.besselj(order, mp.mpf(float(point)))
            size = max(abs(exact), mp.sqrt(2 / (mp.pi * abs(point))) if abs(point) > 8 else mp.mpf(0))
            assert abs(mp.mpf(float(y)) - exact) <= 24 * 2.0**-53 * size, (point, y)
    single = library("host")(f"j{order}", x.astype("float32"))
    wide = library("host")(f"j{order}", x.astype("float32").astype("float64"))
    np.testing.assert_array_equal(single, wide.astype("float32"))
    corners = np.array([0.0, -0.0, np.inf, -np.inf, np.nan])
    exact = (scipy.special.j0, scipy.special.j1)[order](corners)
    np.testing.assert_array_equal(library("host")(f"j{order}", corners), exact)


def test_every_function_is_checked() -> None:
    checked = {
        *CASES,
        "j0",
        "j1",
        *(f"polygamma_{order}" for order in ORDERS),
        *SPECIAL_FUNCTIONS,
        "pow",
        "arctan2",
        "far_angle",
        *LOGARITHMS_OF_GAMMA,
    }
    assert checked == {name for name, function in FUNCTIONS.items() if not function.is_called}


def test_differences_of_logarithms_of_gamma() -> None:
    """ln B, and how far ψ and ψ′ change, where one operand is much smaller than the other: values of mpmath."""
    sizes = [1e-30, 1e-8, 0.1, 2.0, 7.9, 8.1, 50.0, 1e4, 1e30]
    functions = Library(list(LOGARITHMS_OF_GAMMA))
    a, b = map(np.array, zip(*product(sizes, sizes), strict=True))
    for name, formula in LOGARITHMS_OF_GAMMA.items():
        found = functions(name, a, b)
        for p, q, y in zip(a, b, found, strict=True):
            with mp.workdps(50 + 2 * int(abs(np.log10(p)) + abs(np.log10(q)))):
                wanted = formula(mp.mpf(float(p)), mp.mpf(float(q)))
                if 1e-300 < abs(wanted) < 1e300:
                    error = abs(float((mp.mpf(float(y)) - wanted) / wanted))
                    assert error < 2e-14 * (1 + abs(float(mp.log(abs(wanted))))), (name, p, q)
