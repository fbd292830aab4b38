"""Derivatives in parameters far from 1, compiled and by the reference: values of mpmath with at least 60 digits."""

from __future__ import annotations

from functools import cache
from typing import Final

import numpy as np
import pytest
import scipy.special
from scalar_math_harness import Library

import aotensor as aot
import aotensor.tensor as at
from aotensor.ops.elementwise.base import MAKERS

BOUND: Final = 4e-14
"""Relative error of the compiled functions at all of these points; three times that for second derivatives."""

POINTS: Final = [
    # name, orders, operands, value, relative error of the reference
    ("betainc", (1, 0), (1e-12, 2.5, 0.3), -0.35610884388817091, 1e-13),
    ("betainc", (1, 0), (1e-300, 0.7, 0.5), -1.15235842989103, 1e-13),
    ("betainc", (1, 0), (1e-20, 50.0, 0.8), -2.8010828017932239e-37, 1e-13),
    ("betainc", (1, 0), (2.0, 3.0, 1e-12), -1.6228612669535623e-22, 1e-13),
    ("betainc", (1, 0), (0.7, 50.0, 1e-30), -1.1100841754629321e-18, 1e-13),
    ("betainc", (0, 1), (1e-100, 1e-300, 1e-30), 9.9999999999999998e99, 1e-13),
    ("betainc", (0, 1), (0.001, 0.11, 1 - 2**-53), 0.0072457412660090472, 1e-13),
    ("betainc", (0, 1), (1e-8, 3.0, 0.2), 2.2400951327318779e-9, 1e-13),
    ("betainc", (2, 0), (1e-8, 0.7, 1e-300), 478057.19877452982, 1e-13),
    ("betainc", (2, 0), (1e-20, 50.0, 0.8), -2.387036726517074e-36, 1e-12),
    ("betainc", (2, 0), (0.001, 3.0, 0.4), -0.22961904119450804, 1e-13),
    ("betainc", (1, 1), (1e-300, 2.0, 0.5), 0.21611995010324128, 1e-12),
    ("betainc", (1, 1), (0.001, 50.0, 1e-300), 0.0031902444858179354, 1e-9),
    ("betainc", (0, 2), (0.001, 3.0, 1e-8), -0.00015131619379375891, 1e-11),
    ("betainc", (0, 0), (1e-100, 0.11, 0.001), 1.0, 1e-15),
    ("betainc", (0, 0), (0.05, 0.1, 1e-30), 0.021238845427110167, 1e-15),
    ("beta_density", (0, 0), (2.0, 3.0, 1e-200), 1.2e-199, 1e-13),
    ("gamma_density", (1,), (1.0, 1e308), 0.0, 0.0),
    ("gamma_density", (2,), (50.0, 1e-4), 2.8259235990709084e-257, 1e-12),
    ("gamma_density", (1,), (10.0, 1e-20), -1.3311137138709108e-184, 1e-12),
    ("gammainc", (2,), (9.0, 1e-20), 6.4294492542049058e-183, 1e-12),
    ("gammainc", (2,), (1e-100, 0.5), -0.58675958376872604, 1e-13),
    ("gamma_density", (0,), (2.0, 1e-200), 1e-200, 1e-13),
    ("iv", (0, 0), (1.0, 1e-300), 5e-301, 1e-12),
    ("iv", (1, 0), (0.5, 1e-300), -5.5174129491102813e-148, 1e-12),
    ("iv", (1, 0), (2.0, 1e300), -np.inf, 0.0),
    ("ive", (0, 0), (2.0, 1e200), 3.9894228040143268e-101, 1e-13),
    ("jv", (1,), (0.5, 1e-300), -5.5174129491102813e-148, 1e-15),
    ("kv", (1, 0), (2.0, 1e300), 0.0, 0.0),
    ("kv", (0, 0), (1e-300, 1.0301600456524176e-300), 690.86174523957288, 1e-13),
    ("kv", (1, 0), (1e-16, 1e-30), 1.1053978163727224e-11, 1e-13),
    ("kv", (1, 0), (1e-16, 5.0), 6.7669375678755187e-20, 1e-13),
    ("jv", (1,), (1e20, 0.01), 0.0, 0.0),
    ("jv", (2,), (1e-16, 1e-30), 4786.0933362657961, 1e-12),
    ("iv", (1, 0), (1e300, 1e-100), 0.0, 0.0),
    ("iv", (0, 2), (2.0, 1e-200), 0.25, 1e-12),
    ("iv", (1, 1), (1e-8, 100.0), -1.0629233867727794e32, 1e-13),
    ("iv", (1, 1), (-3.0, 1e-100), -np.inf, 0.0),
    ("iv", (0, 2), (1e-200, 1.0172274873110988e-200), -9.6641536429023313e199, 1e-12),
    ("iv", (0, 1), (5.0, 1e300), np.inf, 0.0),
    ("ive", (0, 1), (0.1, 1e20), -1.9947114020071634e-31, 1e-13),
    ("ive", (1, 1), (1e-8, 1e20), 5.9841342060214899e-59, 1e-13),
    ("ive", (0, 2), (0.1, 1e20), 2.9920671030107448e-51, 1e-13),
    ("kv", (0, 0), (1.0, 700.0), 4.6731107967079664e-306, 1e-13),
    ("kv", (1, 1), (1e-100, 1.5053039041043995e-100), -35132.939698984432, 1e-13),
    ("kv", (1, 1), (-3.0, 1e-100), np.inf, 0.0),
    ("kv", (2, 0), (5.0, 1e300), 0.0, 0.0),
    ("kve", (0, 1), (0.1, 1e20), -6.2665706865775011e-31, 1e-13),
    ("kve", (1, 1), (1e-8, 1e20), -1.8799712059732504e-58, 1e-13),
    ("beta", (1, 1), (1e-100, 1.5), 0.9880917038289645, 1e-12),
    ("beta", (1, 1), (1e-8, 1e-8), 2.4041137522030276, 1e-12),
    ("gammal", (0,), (300.0, 2.0), 9.2508944029218546e86, 1e-13),
    ("gammal", (2,), (1000.0, 1e-200), 0.0, 0.0),
    ("gammau", (1,), (300.0, 2.0), np.inf, 0.0),
    ("gammau", (1,), (1e-100, 1.5), 0.07563361352708417, 1e-13),
    ("gammau", (2,), (1e-16, 9.6003476e-17), 16721.691351480180, 1e-13),
    ("gamma_power", (1,), (1e-300, 50.0), 1.5090627553901771e-23, 1e-13),
    ("poch", (0, 1), (100.0, 1000.0), np.inf, 0.0),
    ("poch", (1, 0), (1e20, 30.0), np.inf, 0.0),
    ("poch", (2, 0), (1e20, 30.0), np.inf, 0.0),
    ("poch", (1, 0), (0.3, 1e-16), 1.2245364546107723e-15, 1e-13),
    ("poch", (1, 0), (1e-8, 1e-200), 1.0000000000000001e-184, 1e-13),
    ("poch", (1, 0), (1e20, 1e300), np.inf, 0.0),
    ("poch", (2, 0), (1e-8, 0.9), -0.37981474986810859, 1e-13),
    ("poch", (1, 1), (0.0, 2.5), 0.93473452162608519, 1e-13),
]


@cache
def library() -> Library:
    return Library(sorted({member(name, orders) for name, orders, *_ in POINTS}))


def member(name: str, orders: tuple[int, ...]) -> str:
    """`gammainc_2`; the function itself without orders."""
    return "_".join([name, *map(str, orders)]) if any(orders) else name


@pytest.mark.parametrize(("name", "orders", "operands", "exact", "reference_error"), POINTS)
def test_parameters_far_from_1(
    name: str, orders: tuple[int, ...], operands: tuple[float, ...], exact: float, reference_error: float
) -> None:
    arrays = [np.array([x]) for x in operands]
    bound = BOUND if sum(orders) < 2 else 3 * BOUND
    assert library()(member(name, orders), *arrays)[0] == pytest.approx(exact, rel=bound, abs=0)
    assert by_reference(name, orders, *operands) == pytest.approx(exact, rel=reference_error, abs=0)


def by_reference(name: str, orders: tuple[int, ...], *operands: float) -> float:
    op = MAKERS[name](*orders) if any(orders) or name.endswith("density") else getattr(at, name)
    with np.errstate(all="ignore"):  # as `Elementwise.evaluate` has it
        return float(op.reference(*(np.array([x]) for x in operands))[0])


REFERENCES: Final = [
    # name, orders, operands, value: where differences of SciPy's values and plain integrals have no digits
    ("jv", (1,), (100.0, 1000.0), -0.032998395101858079),
    ("jv", (1,), (100.0, 101.0), -0.018056546355259456),
    ("jv", (1,), (700.0, 1034.37), -0.015429818773805551),
    ("jv", (1,), (300.0, 250.0), -1.6612353975036706e-11),
    ("jv", (1,), (-3.0, 1e-10), 1.6e31),
    ("jv", (1,), (-20.7, 300.0), -0.040480986476376734),
    ("jv", (1,), (0.5, 0.796), -0.56443885925709236),
    ("jv", (1,), (2.0, 3.47), 0.077069110952948149),
    ("jv", (2,), (100.0, 1000.0), -0.025233331098727496),
    ("jv", (2,), (100.0, 100.5), -0.00098943985488720867),
    ("jv", (2,), (-2.5, 3.0), -2.6031205746487995),
    ("jv", (2,), (60.0, 90.0), 0.068451504797213288),
    ("jv", (2,), (3.0, 1e6), -0.0017912453440600679),
    ("betainc", (1, 0), (1e-100, 3.2, 1e-300), -689.19947334202557),
    ("betainc", (1, 0), (1e-16, 1e-100, 1 - 2**-53), -1e-68),
    ("betainc", (1, 0), (0.3, 1e20, 1e-30), -0.025467862220657006),
    ("betainc", (0, 1), (0.3, 1e20, 1e-30), 3.3427275253076336e-24),
    ("betainc", (0, 1), (1e-100, 3.2, 1e-300), 3.6632119073140078e-101),
    ("betainc", (2, 0), (1e-30, 5.0, 0.9), -8.7117313485709087e-6),
    ("betainc", (2, 0), (1e-16, 0.2, 0.7), 39.793672371446379),
    ("betainc", (1, 1), (1e-100, 3.2, 1e-300), 0.36632119073140077),
    ("betainc", (1, 1), (1e-16, 1e-17, 0.6), -6.7618332081141998e31),
    ("betainc", (0, 2), (1e-16, 1e-100, 1 - 2**-53), -2.0000000000000074e32),
    ("betainc", (0, 2), (15.0, 1e-16, 1e-8), 4.3354164635609679e-121),
    ("hyp2f1", (0, 0, 0, 0), (3.2, 0.01, 15.0, -3.0), 0.99523555712039363),
    ("hyp2f1", (1, 0, 0, 0), (0.9, 0.9, 0.3, 1 - 2**-53), 7.4478836923037165e25),
    ("hyp2f1", (1, 0, 0, 0), (1e-16, 0.5, 0.3, 1 - 1e-8), 300.93508398296168),
    ("hyp2f1", (1, 0, 0, 0), (3.2, 0.01, 15.0, -3.0), -0.0012118523060051992),
    ("hyp2f1", (0, 1, 0, 0), (0.01, 0.9, 0.3, -1e4), -0.017279096791687114),
    ("hyp2f1", (0, 0, 1, 0), (5.0, 3.2, 0.1, 0.01), -18.125022131773078),
    ("hyp2f1", (0, 0, 1, 0), (0.5, 3.2, 0.1, -1e4), 0.18537218041562101),
    ("hyp2f1", (2, 0, 0, 0), (0.5, 3.2, 0.1, -1e3), -1.8567707990233078),
    ("hyp2f1", (1, 1, 0, 0), (2.0, 3.0, 5.0, -1e4), 5.9274840247672576e-7),
    ("hyp2f1", (0, 1, 1, 0), (0.3, 2.0, 3.2, 0.999), -1.083602012705215),
    ("hyp2f1", (0, 0, 2, 0), (1.0, 1.0, 2.0, 0.9), 3.4248907719901226),
    ("hyp2f1", (1, 0, 0, 1), (1.5, 0.5, 2.5, -0.7), 0.075161690412056798),
]


@pytest.mark.parametrize(("name", "orders", "operands", "exact"), REFERENCES)
def test_references_where_simple_formulas_lose_digits(
    name: str, orders: tuple[int, ...], operands: tuple[float, ...], exact: float
) -> None:
    assert by_reference(name, orders, *operands) == pytest.approx(exact, rel=2e-12, abs=0)


def test_bessel_functions_by_order_at_0() -> None:
    """∂J_v(x)/∂v = π/2·Y₀(x) at v = 0. Source: DLMF 10.15.3"""
    x = np.array([1e-300, 1e-9, 0.3, 1.9, 2.1, 9.0, 59.0, 61.0, 99.0, 101.0, 1e4])
    found = MAKERS["jv"](1).reference(np.zeros_like(x), x)
    np.testing.assert_allclose(found, np.pi / 2 * scipy.special.y0(x), rtol=1e-12, atol=1e-15)


DERIVATIVES: Final = [
    # a function, the order of the derivative, operand, value
    (lambda x: at.gammainc(1.0, x), 2, np.inf, 0.0),
    (lambda x: at.gammaincc(2.5, x), 3, np.inf, 0.0),
    (at.i1, 2, 1e-300, 3.75e-301),
    (at.i1, 2, -1e-300, -3.75e-301),
    (at.i0, 2, 1e300, np.inf),
    (at.erfcx, 1, 1e8, -5.641895835477562e-17),
    (at.erfcx, 2, 1e3, 1.1283757819707055e-9),
    (at.erfcx, 2, 3.9, 0.015985668442344725),
    (at.erfcx, 2, -3.0, 615834.34672698686),
    (lambda x: at.polygamma(3, x), 0, -1e-300, np.inf),
    (at.psi, 2, -1e-160, np.inf),
    (lambda x: at.jv(1e-16, x), 1, 1.6328676425775427e-16, 0.61241950904327969),
    (lambda x: at.iv(1e-16, x), 2, 1.6328676425775427e-16, -3750576550568131.5),
    (lambda x: at.kve(30.0, x), 1, 1e-200, -np.inf),
    (lambda x: at.betaincinv(5.0, 3.2, x), 1, 1 - 2.0**-53, 9138900128.6753902),
    (lambda x: at.betaincinv(0.1, 300.0, x), 0, 0.01, 2.0273896079332983e-23),
    (at.psi, 0, -0.999999999, -1000000027.8591479),
    (lambda x: at.beta(5.0, x), 1, 1e20, -1.2e-118),
    (lambda x: at.betaln(x, 1e6), 0, 1e-4, 9.2089011076281615),
    (lambda x: at.betaln(1e10, x), 1, 700.0, -16.475485120629328),
    (lambda a: at.gammainc(a, 99900.0), 1, 1e5, -0.001200600318033423),
    (lambda x: at.gammaincc(1e5, x), 1, 99900.0, -0.0012011991168927537),
    (lambda x: at.betaln(x, 2.5e-178), 1, 1.25e-178, -5.3333333333333333e177),
    (lambda x: at.poch(x, 1.0), 1, -0.99999999, 1.0),
    (lambda x: at.poch(x, 2.0), 1, -2.9999999, -4.9999998),
    (lambda x: at.poch(x, -2.0), 1, -1.5, 96 / 1225),
    (lambda x: at.gammal(300.0, x), 0, 2.0, 9.2508944029218546e86),
    (lambda x: at.gammau(0.0, x), 0, 1.5, 0.10001958240663265),
]


@cache
def derivatives() -> aot.Function:
    inputs, outputs = [], {}
    for k, (function, order, *_) in enumerate(DERIVATIVES):
        x = at.scalar(f"x{k}")
        y = function(x)
        for _ in range(order):
            y = aot.grad(y, x)
        inputs.append(x)
        outputs[f"y{k}"] = y
    return aot.function(inputs, outputs, name="extremes")


@pytest.mark.parametrize("by", ["compiled", "reference"])
def test_derivatives_of_large_and_small_operands(by: str) -> None:
    f = derivatives()
    operands = [operand for _, _, operand, _ in DERIVATIVES]
    found = (f if by == "compiled" else f.reference)(*operands)
    for k, (*_, exact) in enumerate(DERIVATIVES):
        assert found[f"y{k}"] == pytest.approx(exact, rel=4e-13, abs=0), k


QUANTILES: Final = [  # a, b, p, x; near 0 by (p·a·B(a, b))^(1/a), near 1 by the same of the other tail
    (1e-5, 4e4, 0.9, 0.0),
    (3e-4, 4e4, 0.9, 4.1918184441341076583e-158),
    (4e-5, 4.5e-4, 0.9133, 8.4193035606742911346e-61),
    (0.002, 0.026, 0.308, 2.2361293684436540721e-240),
    (0.002, 3e-5, 0.308, 1.0),
    (3e-5, 3e-4, 0.97, 1.0),
    (4e5, 2.5e-5, 0.13, 1.0),
]


def test_quantiles_at_the_ends() -> None:
    """Where x or 1 − x is below the least normal number, or nearly is: the error is that of some ulp of p."""
    a, b, p = (at.vector(name, shape=("n",)) for name in "abp")
    found = aot.function([a, b, p], at.betaincinv(a, b, p), name="quantiles")(*np.array(QUANTILES)[:, :3].T.copy())
    for x, (shape, *_, exact) in zip(found, QUANTILES, strict=True):
        assert x == pytest.approx(exact, rel=4e-15 / shape, abs=0), shape
