"""Stiff systems with sparse Jacobians: against SciPy, published values, closed forms and differences."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.linalg
import scipy.sparse

import aotensor as aot
import aotensor.tensor as at
from aotensor.gradient import Rop

POINTS = 6
FEED = at.dscalar("feed")


def brusselator(t: Any, y: Any, feed: Any, xp: Any) -> Any:
    """Two species with diffusion at 6 points of a line: Hairer & Wanner (1996), section IV.10."""
    u, v, share = y[:POINTS], y[POINTS:], 0.02 * (POINTS + 1) ** 2
    around, beside = (xp.concatenate([x * xp.ones(1), z, x * xp.ones(1)]) for x, z in ((1.0, u), (3.0, v)))
    first = feed + u * u * v - 4 * u + share * (around[:-2] - 2 * u + around[2:])
    second = 3 * u - u * u * v + share * (beside[:-2] - 2 * v + beside[2:])
    return xp.concatenate([first, second])


def start() -> np.ndarray:
    places = np.arange(1, POINTS + 1) / (POINTS + 1)
    return np.concatenate([1 + np.sin(2 * np.pi * places), np.full(POINTS, 3.0)])


@pytest.mark.shows("tensor/26-solve_ivp-sparse")
def test_a_reaction_with_diffusion() -> None:
    """Values by SciPy's Radau with jac_sparsity, gradients in both modes by its differences."""
    one = scipy.sparse.diags_array([1.0, 1.0, 1.0], offsets=[-1, 0, 1], shape=(POINTS, POINTS))
    eye = scipy.sparse.eye_array(POINTS)
    pattern = scipy.sparse.block_array([[one, eye], [eye, one]])

    def exact(feed: float) -> np.ndarray:
        found = scipy.integrate.solve_ivp(
            brusselator, (0, 4), start(), "Radau", [1.0, 4.0], args=(feed, np), rtol=1e-12, atol=1e-13,
            jac_sparsity=pattern,
        )  # fmt: skip
        return np.asarray(found.y)

    def of(method: str, **options: Any) -> Any:
        return at.integrate.solve_ivp(
            lambda t, y: brusselator(t, y, FEED, at), (0.0, 4.0), start(), t_eval=[1.0, 4.0], method=method,
            rtol=1e-9, atol=1e-11, **options,
        ).y  # fmt: skip

    y = of("Rodas5P", jacobian="sparse")
    outputs = [y, aot.grad((y**2).sum(), FEED), Rop((y**2).sum(), FEED, at.constant(1.0))]
    found, reverse, forward = aot.function([FEED], outputs, name="mixed")(1.0)
    others = aot.function([FEED], [of("Rodas5P"), of("Rodas5P", jac_sparsity=pattern), of("Rodas4", jacobian="sparse")])
    np.testing.assert_allclose(found, exact(1.0), rtol=0, atol=2e-8)
    step = 1e-4
    slope = ((exact(1 + step) ** 2).sum() - (exact(1 - step) ** 2).sum()) / (2 * step)
    np.testing.assert_allclose([reverse, forward], slope, rtol=2e-6)
    dense, given, fourth = others(1.0)
    np.testing.assert_allclose(dense, found, rtol=1e-9)
    np.testing.assert_allclose(given, found, rtol=1e-9)
    np.testing.assert_allclose(fourth, found, rtol=0, atol=5e-8)


def heat(n: int, rate: Any, rtol: float) -> Any:
    """y(1) of y' = rate·A·y with the second differences A, y(0) = 1, 2, …"""

    def slope(t: Any, y: Any) -> Any:
        around = at.concatenate([at.zeros(1), y, at.zeros(1)])
        return rate * (around[:-2] - 2 * y + around[2:])

    found = at.integrate.solve_ivp(
        slope, (0.0, 1.0), 1 + np.arange(float(n)), t_eval=[1.0], method="Rodas5P", jacobian="sparse", rtol=rtol,
        atol=1e-2 * rtol,
    )  # fmt: skip
    return found.y[:, 0]


@pytest.mark.shows("tensor/26-solve_ivp-sparse")
@pytest.mark.parametrize("level", [0, 3])
def test_derivatives_of_a_linear_system_in_closed_form(level: int, tmp_path: Path) -> None:
    """y(1) = exp(k·A)·y0, whose derivatives in k are A·y and A²·y."""
    k, n = at.dscalar("k"), 5
    y = heat(n, k, 1e-10)
    slope = aot.grad(y.sum(), k)
    f = aot.function([k], [y, slope, Rop(y.sum(), k, at.constant(1.0)), aot.grad(slope, k)], name="heat")
    matrix = np.diag(np.full(n, -2.0)) + np.diag(np.ones(n - 1), 1) + np.diag(np.ones(n - 1), -1)
    last = scipy.linalg.expm(3.0 * matrix) @ (1 + np.arange(n))
    expected = [last, *2 * [(matrix @ last).sum()], (matrix @ matrix @ last).sum()]
    for found, value in zip(aot.compile([f], tmp_path, opt_level=level).load().heat(3.0), expected, strict=True):
        np.testing.assert_allclose(found, value, rtol=2e-8, atol=1e-10)


@pytest.mark.shows("tensor/26-solve_ivp-sparse")
def test_systems_of_few_equations() -> None:
    """Of none, one and two."""
    k = at.dscalar("k")
    f = aot.function([k], [heat(n, k, 1e-5) for n in (0, 1, 2)], name="few")
    for run in (f, f.reference):
        none, one, two = run(0.5)
        assert none.shape == (0,)
        np.testing.assert_allclose(one, [np.exp(-1)], rtol=1e-4)
        np.testing.assert_allclose(
            two, [1.5 * np.exp(-0.5) - 0.5 * np.exp(-1.5), 1.5 * np.exp(-0.5) + 0.5 * np.exp(-1.5)], rtol=1e-4
        )


def pollution(t: Any, y: Any, xp: Any) -> Any:
    """Verwer's model of air pollution: 25 reactions of 20 species."""
    k = [
        0.35, 26.6, 12300.0, 8.6e-4, 8.2e-4, 15000.0, 1.3e-4, 24000.0, 16500.0, 9000.0, 0.022, 12000.0, 1.88, 16300.0,
        4.8e6, 3.5e-4, 0.0175, 1e8, 4.44e11, 1240.0, 2.1, 5.78, 0.0474, 1780.0, 3.12,
    ]  # fmt: skip
    pairs = [
        (0,), (1, 3), (4, 1), (6,), (6,), (6, 5), (8,), (8, 5), (10, 1), (10, 0), (12,), (9, 1), (13,), (0, 5), (2,),
        (3,), (3,), (15,), (15,), (16, 5), (18,), (18,), (0, 3), (18, 0), (19,),
    ]  # fmt: skip
    r = [rate * y[pair[0]] * (y[pair[1]] if pair[1:] else 1) for rate, pair in zip(k, pairs, strict=True)]
    return xp.stack([
        -r[0] - r[9] - r[13] - r[22] - r[23] + r[1] + r[2] + r[8] + r[10] + r[11] + r[21] + r[24],
        -r[1] - r[2] - r[8] - r[11] + r[0] + r[20],
        -r[14] + r[0] + r[16] + r[18] + r[21],
        -r[1] - r[15] - r[16] - r[22] + r[14],
        -r[2] + r[3] + r[3] + r[5] + r[6] + r[12] + r[19],
        -r[5] - r[7] - r[13] - r[19] + r[2] + 2 * r[17],
        -r[3] - r[4] - r[5] + r[12],
        r[3] + r[4] + r[5] + r[6],
        -r[6] - r[7],
        -r[11] + r[6] + r[8],
        -r[8] - r[9] + r[7] + r[10],
        r[8],
        -r[10] + r[9],
        -r[12] + r[11],
        r[13],
        -r[17] - r[18] + r[15],
        -r[19],
        r[19],
        -r[20] - r[21] - r[23] + r[22] + r[24],
        -r[24] + r[23],
    ])  # fmt: skip


@pytest.mark.shows("tensor/26-solve_ivp-sparse")
@pytest.mark.unlimited("the one stiff system of 20 species", "ci")
def test_air_pollution() -> None:
    """Source of the values at t = 60: the test set of Mazzia & Magherini (2008), POLLU."""
    y0 = np.zeros(20)
    y0[[1, 3, 6, 7, 8, 16]] = 0.2, 0.04, 0.1, 0.3, 0.01, 0.007
    found = at.integrate.solve_ivp(
        lambda t, y: pollution(t, y, at), (0.0, 60.0), y0, t_eval=[1.0, 60.0], method="Rodas5P", jacobian="sparse",
        rtol=1e-9, atol=1e-13,
    )  # fmt: skip
    y, success = aot.function([], [found.y, found.success], name="pollution")()
    assert success
    published = [
        0.5646255480022769e-1, 0.1342484130422339, 0.4139734331099427e-8, 0.5523140207484359e-2, 0.2018977262302196e-6,
        0.1464541863493966e-6, 0.7784249118997964e-1, 0.3245075353396018, 0.7494013383880406e-2, 0.1622293157301561e-7,
        0.1135863833257075e-7, 0.2230505975721359e-2, 0.2087162882798630e-3, 0.1396921016840158e-4,
        0.8964884856898295e-2, 0.4352846369330103e-17, 0.6899219696263405e-2, 0.1007803037365946e-3,
        0.1772146513969984e-5, 0.5682943292316392e-4,
    ]  # fmt: skip
    np.testing.assert_allclose(y[:, 1], published, rtol=1e-6, atol=1e-14)
    exact = scipy.integrate.solve_ivp(
        pollution, (0, 1), y0, "Radau", [1.0], args=(np,), rtol=1e-11, atol=1e-15
    ).y[:, 0]  # fmt: skip
    np.testing.assert_allclose(y[:, 0], exact, rtol=1e-6, atol=1e-12)


@pytest.mark.shows("tensor/26-solve_ivp-sparse")
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_a_singular_matrix_of_a_step_makes_it_shorter(kind: str) -> None:
    """1/γ = h·λ for the first step of Rodas4: the matrix is exactly 0 there."""
    found = at.integrate.solve_ivp(
        lambda t, y: 4 * y, (0.0, 2.0), [1.0, 2.0], t_eval=[2.0], method="Rodas4", jacobian=kind, first_step=1.0,
        rtol=1e-8, atol=1e-10,
    )  # fmt: skip
    f = aot.function([], [found.y, found.success], name=f"singular_step_{kind}")
    for run in (f, f.reference):
        y, success = run()
        assert success
        np.testing.assert_allclose(y[:, 0], [np.exp(8), 2 * np.exp(8)], rtol=1e-6)
