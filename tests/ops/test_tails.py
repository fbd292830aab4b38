"""First and second derivatives to the last digits, in tails and at extreme magnitudes, against mpmath."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from tails import TAILS, fits

import aotensor as aot
import aotensor.tensor as at
from aotensor.gradient import Rop

DTYPES = pytest.mark.parametrize("dtype", ["float64", "float32"])
UNITS = {"erfcx": 1000}
"""Largest errors in units of the last place of the dtype, where they are not 40."""


def off(found: Any, exact: Any) -> float:
    """Units in the last place between a number and the exact one; 0 where that is beyond the normal numbers."""
    limits = np.finfo(found.dtype)
    if not limits.tiny < abs(exact) < limits.max:
        return 0.0
    if not np.isfinite(found):
        return np.inf
    return float(abs(mp.mpf(float(found)) - exact) / abs(exact)) / float(limits.eps)


def derivatives(names: list[str], dtype: str) -> tuple[aot.Function, list[Any]]:
    """First and second derivatives of all functions, and their points."""
    inputs, outputs, values = [], [], []
    for name in names:
        x = at.vector(dtype=dtype)
        first = aot.grad(TAILS[name].build(x).sum(), x)
        inputs.append(x)
        outputs += [first, aot.grad(first.sum(), x)]
        values.append(np.array([p for p in TAILS[name].points if fits(p, dtype)], dtype))
    return aot.function(inputs, outputs, name="tails"), values


@DTYPES
def test_derivatives_keep_their_digits(dtype: str, tmp_path: Path) -> None:
    names = list(TAILS)
    f, values = derivatives(names, dtype)
    found = {"reference": f.reference(*values)}
    for level in (0, 3):
        library = aot.compile(f, tmp_path / str(level), name="tails", opt_level=level).load()
        found[f"-O {level}"] = library.tails(*values)
    wrong = []
    with mp.workdps(60):
        for position, name in enumerate(names):
            for order, formula in enumerate((TAILS[name].first, TAILS[name].second)):
                exact = [formula(mp.mpf(float(x))) for x in values[position]]
                for how, results in found.items():
                    errors = [off(y, e) for y, e in zip(results[2 * position + order], exact, strict=True)]
                    worst = int(np.argmax(errors))
                    if errors[worst] > UNITS.get(name, 40):
                        wrong.append(
                            f"{name} order {order + 1} {how}: {errors[worst]:.3g} at {values[position][worst]}"
                        )
    assert not wrong, "\n".join(wrong)


def check(f: aot.Function, values: list[Any], exact: list[Any], tmp_path: Path, units: float = 20) -> None:
    """All results in units of the last place of what they should be, compiled at two levels and by the reference."""
    ways = {"reference": f.reference(*values)}
    for level in (0, 3):
        ways[f"-O {level}"] = getattr(aot.compile(f, tmp_path / str(level), opt_level=level).load(), f.name)(*values)
    for how, results in ways.items():
        for number, (found, wanted) in enumerate(zip(results, exact, strict=True)):
            errors = [off(y, e) for y, e in zip(np.ravel(found), wanted, strict=True)]
            assert max(errors) <= units, f"{how}, result {number}: {errors}"


@DTYPES
def test_points_of_the_plane(dtype: str, tmp_path: Path) -> None:
    """arctan2 and hypot where squares overflow and vanish, and where one side is far longer."""
    sizes = [1.0, 1e19, 1e-19, 1e30, 1e-30] + ([1e200, 1e-200] if dtype == "float64" else [])
    pairs = [(s * u, s * v) for s in sizes for u, v in ((1.0, 2.0), (-3.0, 1e-4), (1e-4, -3.0), (1.5, 1.5))]
    a, b = (np.array(side, dtype) for side in zip(*pairs, strict=True))
    x, y = at.vector(dtype=dtype), at.vector(dtype=dtype)
    outputs = []
    for fn in (at.arctan2, at.hypot):
        first = aot.grad(fn(x, y).sum(), [x, y])
        outputs += [*first, *aot.grad(first[0].sum(), [x, y])]
    exact: list[list[Any]] = [[] for _ in outputs]
    for u, v in zip(map(float, a), map(float, b), strict=True):
        u, v = mp.mpf(u), mp.mpf(v)
        square = u * u + v * v
        length = mp.sqrt(square)
        for values, formula in zip(
            exact,
            (
                v / square, -u / square, -2 * u * v / square**2, (u - v) * (u + v) / square**2,
                u / length, v / length, v * v / length**3, -u * v / length**3,
            ),
            strict=True,
        ):  # fmt: skip
            values.append(formula)
    check(aot.function([x, y], outputs, name="points"), [a, b], exact, tmp_path)


@DTYPES
def test_lengths(dtype: str, tmp_path: Path) -> None:
    """Norms and standard deviations, with derivatives, where squares overflow and vanish."""
    rows = np.array([[1.0, -2.0, 0.5, 3.0], [0.1, 1e-3, 0.7, -0.3]])
    scales = [1.0, 1e20, 1e37, 1e-30] + ([1e200, 3e307, 1e-200, 1e-300] if dtype == "float64" else [])
    values = np.concatenate([rows * scale for scale in scales]).astype(dtype)
    x = at.matrix(dtype=dtype, shape=("n", 4))
    norm, deviation = at.linalg.norm(x, axis=1), at.std(x, axis=1)
    outputs = [norm, deviation, aot.grad(norm.sum(), x), aot.grad(deviation.sum(), x)]
    exact: list[list[Any]] = [[] for _ in outputs]
    for row in values:
        found = [mp.mpf(float(value)) for value in row]
        centred = [value - mp.fsum(found) / 4 for value in found]
        length, spread = (mp.sqrt(mp.fsum(value * value for value in of)) for of in (found, centred))
        exact[0].append(length)
        exact[1].append(spread / 2)
        exact[2] += [value / length for value in found]
        exact[3] += [value / spread / 2 for value in centred]
    check(aot.function([x], outputs, name="lengths"), [values], exact, tmp_path)


@DTYPES
def test_shares_that_round_to_one(dtype: str, tmp_path: Path) -> None:
    """Derivatives of softmax and log_softmax by an element whose share is 1 but for small ones."""
    values = np.array([[0.0, 50.0, 1.0], [30.0, 1.0, 2.0], [1.0, 1.0, 1.0], [0.1, 0.7, -5.0]], dtype)
    x = at.matrix(dtype=dtype, shape=("n", 3))
    outputs, exact = [], []
    for fn in (at.softmax, at.log_softmax):
        for k in range(2):
            y = fn(x, axis=1)[:, k]
            first = aot.grad(y.sum(), x)
            outputs += [first, aot.grad(first[:, k].sum(), x)]
            of_first, of_second = [], []
            for row in values:
                powers = [mp.exp(mp.mpf(float(value))) for value in row]
                p = [power / mp.fsum(powers) for power in powers]
                rest = mp.fsum(p[:k] + p[k + 1 :])
                for j in range(3):
                    slope = p[k] * (rest if j == k else -p[j])  # of p[k] by x[j]
                    if fn is at.softmax:
                        of_first.append(slope)
                        of_second.append(slope * (rest - p[k]))
                    else:
                        of_first.append(rest if j == k else -p[j])
                        of_second.append(-slope)
            exact += [of_first, of_second]
    check(aot.function([x], outputs, name="shares"), [values], exact, tmp_path, units=100)


def test_functions_of_each_other_share_no_exponential() -> None:
    """The argument of one is what another one gave: nothing to share there, but with its own derivative."""
    x = at.vector("x", dtype="float64")
    sigmoids, tangents = at.sigmoid(at.sigmoid(x)), at.tanh(at.tanh(x))
    f = aot.function([x], [sigmoids, aot.grad(sigmoids.sum(), x), tangents, aot.grad(tangents.sum(), x)], name="f")
    values = np.linspace(-3.0, 3.0, 7)
    for found, expected in zip(f(values), f.reference(values), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-13)


@pytest.mark.parametrize("height, width", [(np.inf, -2.0), (-np.inf, 0.0), (1.0, np.inf), (0.0, -np.inf)])
def test_angles_of_points_at_infinity_do_not_change(height: float, width: float) -> None:
    a, b = at.vector("a", dtype="float64"), at.vector("b", dtype="float64")
    slopes = aot.grad(at.arctan2(a, b).sum(), [a, b])
    f = aot.function([a, b], [*slopes, *(z for slope in slopes for z in aot.grad(slope.sum(), [a, b]))], name="f")
    for run in (f, f.reference):
        np.testing.assert_array_equal(run(np.array([height]), np.array([width])), np.zeros((6, 1)))


@pytest.mark.parametrize("exponent", [900, 500, -500, -900])
def test_second_derivatives_of_angles_and_lengths_do_not_depend_on_the_unit(exponent: int) -> None:
    """The second derivative by the point itself is beyond all numbers; along a direction of its length it is not."""
    x, v, unit = at.dvector("x"), at.dvector("v"), 2.0**exponent
    found = []
    for scale in (unit, 1.0):
        y = at.arctan2(x * scale, (1.5 + x * x) * scale) + at.hypot(x * scale, x * x * scale) / scale
        first = aot.grad(y.sum(), x)
        found += [Rop(first, x, v), aot.grad((first * v).sum(), x)]
    f = aot.function([x, v], found, name="f")
    given = np.array([-2.0, -0.4, 0.3, 1.7]), np.array([1.0, 0.5, -2.0, 3.0])
    for run in (f, f.reference):
        scaled, backward, plain, other = run(*given)
        for value in (scaled, backward, other):
            np.testing.assert_allclose(value, plain, rtol=1e-13)


def test_bessel_functions_far_out_and_at_their_zeros() -> None:
    """J₀, J₁ and J_v by the reference, where SciPy's have no digits; the page on accuracy has the compiled ones."""
    x, v = at.dvector("x"), at.dvector("v")
    points = np.array([2.404825557695773, -3.8317059702075125, 5.3, 7.015586669815619, 1e3, -1e20, 1e100])
    with mp.workdps(130):
        wanted = [[float(mp.besselj(k, float(one))) for one in points] for k in (0, 1)]
    size = np.where(np.abs(points) > 8, np.sqrt(2 / np.pi / np.abs(points)), 0)
    for found, truth in zip(aot.function([x], [at.j0(x), at.j1(x)]).reference(points), wanted, strict=True):
        np.testing.assert_array_less(np.abs(found - truth), 24 * 2.0**-52 * np.maximum(np.abs(truth), size))
    orders, far = np.array([0.5, -0.5, -2.0, 3.0, 1.5]), np.array([1e20, 1e300, -1e20, -1e20, 1e7])
    sine, cosine, zero, one = np.sin(far), np.cos(far), wanted[0][-2], wanted[1][-2]
    closed = [sine[0], cosine[1], 0, 0, sine[4] / far[4] - cosine[4]] * np.sqrt(2 / np.pi / np.abs(far))
    closed[2:4] = 2 / far[2] * one - zero, 4 / far[3] * (2 / far[3] * one - zero) - one  # DLMF 10.6.1
    found = aot.function([v, x], at.jv(v, x)).reference(orders, far)
    np.testing.assert_array_less(np.abs(found - closed), 1e-14 * np.sqrt(2 / np.pi / np.abs(far)))
