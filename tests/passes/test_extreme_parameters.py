"""Derivatives in parameters far from 1, compiled and by the reference: values of mpmath with at least 60 digits."""

from __future__ import annotations

from functools import cache
from typing import Final

import numpy as np
import pytest
from scalar_math_harness import Library

import aotensor.tensor as at
from aotensor.ops.elementwise.base import MAKERS

BOUND: Final = 2e-14
"""Relative error of the compiled functions at all of these points."""

POINTS: Final = [
    # name, orders, operands, value, relative error of the reference; None where it has no digits
    ("betainc", (1, 0), (1e-12, 2.5, 0.3), -0.35610884388817091, 1e-13),
    ("betainc", (1, 0), (1e-300, 0.7, 0.5), -1.15235842989103, 1e-13),
    ("betainc", (1, 0), (1e-20, 50.0, 0.8), -2.8010828017932239e-37, 1e-13),
    ("betainc", (1, 0), (2.0, 3.0, 1e-12), -1.6228612669535623e-22, 1e-13),
    ("betainc", (1, 0), (0.7, 50.0, 1e-30), -1.1100841754629321e-18, 1e-13),
    ("betainc", (0, 1), (1e-100, 1e-300, 1e-30), 9.9999999999999998e99, None),
    ("betainc", (0, 1), (0.001, 0.11, 1 - 2**-53), 0.0072457412660090472, 1e-13),
    ("betainc", (0, 1), (1e-8, 3.0, 0.2), 2.2400951327318779e-9, 1e-13),
    ("betainc", (2, 0), (1e-8, 0.7, 1e-300), 478057.19877452982, None),
    ("betainc", (2, 0), (1e-20, 50.0, 0.8), -2.387036726517074e-36, None),
    ("betainc", (2, 0), (0.001, 3.0, 0.4), -0.22961904119450804, 1e-13),
    ("betainc", (1, 1), (1e-300, 2.0, 0.5), 0.21611995010324128, 1e-12),
    ("betainc", (1, 1), (0.001, 50.0, 1e-300), 0.0031902444858179354, 1e-9),
    ("betainc", (0, 2), (0.001, 3.0, 1e-8), -0.00015131619379375891, 1e-11),
    ("betainc", (0, 0), (1e-100, 0.11, 0.001), 1.0, 1e-15),
    ("betainc", (0, 0), (0.05, 0.1, 1e-30), 0.021238845427110167, 1e-15),
    ("beta_density", (0, 0), (2.0, 3.0, 1e-200), 1.2e-199, 1e-13),
]


@cache
def library() -> Library:
    return Library(sorted({member(name, orders) for name, orders, *_ in POINTS}))


def member(name: str, orders: tuple[int, ...]) -> str:
    """`gammainc_2`; the function itself without orders."""
    return "_".join([name, *map(str, orders)]) if any(orders) else name


@pytest.mark.parametrize(("name", "orders", "operands", "exact", "reference_error"), POINTS)
def test_parameters_far_from_1(
    name: str, orders: tuple[int, ...], operands: tuple[float, ...], exact: float, reference_error: float | None
) -> None:
    arrays = [np.array([x]) for x in operands]
    assert library()(member(name, orders), *arrays)[0] == pytest.approx(exact, rel=BOUND, abs=0)
    if reference_error is not None:
        op = MAKERS[name](*orders) if any(orders) or name == "beta_density" else getattr(at, name)
        assert op.reference(*arrays)[0] == pytest.approx(exact, rel=reference_error, abs=0)
