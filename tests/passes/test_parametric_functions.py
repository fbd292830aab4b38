"""Functions with parameters through the whole road: values and derivatives in parameters against mpmath."""

from __future__ import annotations

from functools import cache

import mpmath as mp
import numpy as np
import pytest
from parametric_cases import PARAMETRIC
from scalar_math_harness import Library

from aotensor.passes.scalar_math.parametric.families import FAMILIES
from aotensor.passes.scalar_math.table import define, is_called, is_straight

MEMBERS = [(name, orders) for name, case in PARAMETRIC.items() for orders in case.bounds]


def member(name: str, orders: tuple[int, ...]) -> str:
    """`gammainc_2`."""
    return "_".join([name, *map(str, orders)])


@cache
def library(name: str) -> Library:
    """A function and its derivatives."""
    return Library([member(name, orders) for orders in PARAMETRIC[name].bounds])


def check(name: str, orders: tuple[int, ...], count: int, rng: np.random.Generator) -> None:
    """All errors at random points are within the bound."""
    case = PARAMETRIC[name]
    operands = case.draw(rng, count)
    found = library(name)(member(name, orders), *operands)
    worst, where = 0.0, ""
    with mp.workdps(case.digits):
        for y, *xs in zip(found, *operands, strict=True):
            exact = case.derivative(orders, xs) if orders else case.exact(*(mp.mpf(float(x)) for x in xs))
            if abs(exact) < 1e-280 or abs(exact) > 1e290:
                assert not 1e-270 < abs(y) < 1e280
                continue
            size = case.size(exact, *(mp.mpf(float(x)) for x in xs))
            error = float(abs(mp.mpf(float(y)) - exact) / size / case.scale(exact))
            if not error <= worst:
                worst, where = error, f"{y!r} for {mp.nstr(exact, 20)} at {xs}"
    assert worst <= case.bounds[orders], f"{member(name, orders)}: {worst:.3g}, {where}"


@pytest.mark.shows("tensor/3-bessel", "tensor/3-mpmath")
@pytest.mark.parametrize(("name", "orders"), MEMBERS)
def test_errors_against_mpmath(name: str, orders: tuple[int, ...], rng: np.random.Generator) -> None:
    check(name, orders, 16, rng)


@pytest.mark.parametrize(("name", "orders"), MEMBERS)
def test_errors_against_mpmath_at_many_points(name: str, orders: tuple[int, ...], rng: np.random.Generator) -> None:
    check(name, orders, 200, rng)


@pytest.mark.parametrize("name", PARAMETRIC)
def test_float32_is_float64_rounded(name: str, rng: np.random.Generator) -> None:
    single = [x.astype("float32") for x in PARAMETRIC[name].draw(rng, 200)]
    wide = library(name)(name, *(x.astype("float64") for x in single))
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(library(name)(name, *single), wide.astype("float32"))


def test_every_family_is_checked() -> None:
    assert set(PARAMETRIC) == set(FAMILIES)


def test_members_are_functions_of_their_own() -> None:
    """Called and not inlined, on scalars, and a function that they call can be such a one too."""
    assert is_called("aot.gammainc_1.f64")
    assert not is_straight("aot.gammainc.f64")
    assert not is_called("aot.psi.f64")
    assert is_called("aot.psi_apart.f64")
    assert "func.call @aot.gammainc_1.f64" in str(define("aot.gammainc_1.f32"))
    assert library("gammainc").assembly.count('"aot.gammainc_1.f64":') <= 1
