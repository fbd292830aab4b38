"""Values, gradients and second derivatives of DETEST and of stiff problems against closed forms and SciPy.

Derivatives are those of variational equations, which SciPy integrates at tight tolerances: numbers with two
infinitesimal parts carry them through the right-hand side.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pytest
import scipy.integrate
import scipy.linalg
import scipy.optimize
import scipy.special
from numpy.typing import NDArray
from tools.judges.integrate.detest import DETEST
from tools.judges.integrate.problem import Problem
from tools.judges.integrate.problems import PROBLEMS

import aotensor as aot
import aotensor.tensor as at
from aotensor.gradient import Rop

END = 20.0
BY_NAME = {problem.name: problem for problem in PROBLEMS}
STIFF = [problem.name for problem in PROBLEMS if problem.is_stiff]


def heat(n: int) -> NDArray[np.float64]:
    """Σ over the modes of n cells: sin²-weighted exponentials of the eigenvalues −4·sin²(kπ/(2n+2))."""
    k = np.arange(1, n + 1)
    modes = np.sin(np.outer(k, k) * np.pi / (n + 1)) * np.sqrt(2 / (n + 1))
    return np.asarray(modes @ (np.exp(-4 * np.sin(k * np.pi / (2 * n + 2)) ** 2 * END) * modes[:, 0]))


def orbit(e: float) -> list[float]:
    """By Kepler's equation u − e·sin u = t."""
    u = scipy.optimize.brentq(lambda u: u - e * np.sin(u) - END, END - 1, END + 1, xtol=1e-15)
    rate, width = 1 / (1 - e * np.cos(u)), np.sqrt(1 - e**2)
    return [np.cos(u) - e, width * np.sin(u), -np.sin(u) * rate, width * np.cos(u) * rate]


def chain(is_rising: bool) -> list[float]:
    """Decays with equal rates: Poisson's distribution of their number; with rates 1, 2, …: a binomial series."""
    i, gone = np.arange(9), -np.expm1(-END)
    alive = np.exp(-END) * (gone**i if is_rising else END**i / scipy.special.factorial(i))
    return [*alive, 1 - alive.sum()]


def linear_reaction() -> NDArray[np.float64]:
    return np.asarray(scipy.linalg.expm(END * np.array([[-1, 1, 0], [1, -2, 1], [0, 1, -1.0]])) @ [2.0, 0.0, 1.0])


def bessel() -> list[float]:
    """The Bessel function of order 1/2 at t + 1."""
    x = END + 1
    size = np.sqrt(2 / (np.pi * x))
    return [size * np.sin(x), size * (np.cos(x) - np.sin(x) / (2 * x))]


def pursuit() -> list[float]:
    left = 25 - END
    return [12.5 * np.log(25 / left) - (625 - left**2) / 100, (25 / left - left / 25) / 2]


SPEED = np.sqrt(0.08)
CLOSED: dict[str, Callable[[], Any]] = {
    "A1": lambda: [np.exp(-END)],
    "A2": lambda: [1 / np.sqrt(1 + END)],
    "A3": lambda: [np.exp(np.sin(END))],
    "A4": lambda: [20 / (1 + 19 * np.exp(-END / 4))],
    "B2": linear_reaction,
    "C1": lambda: chain(is_rising=False),
    "C2": lambda: chain(is_rising=True),
    "C3": lambda: heat(10),
    "C4": lambda: heat(51),
    **{f"D{k}": lambda k=k: orbit(0.2 * k - 0.1) for k in range(1, 6)},
    "E1": bessel,
    "E4": lambda: [30 + np.log(np.cosh(0.4 * SPEED * END)) / 0.4, SPEED * np.tanh(0.4 * SPEED * END)],
    "E5": pursuit,
}


@pytest.mark.parametrize("problem", DETEST, ids=lambda problem: problem.name)
def test_statements(problem: Problem) -> None:
    """The problems are those of the set: SciPy integrates them to closed forms and published values."""
    y = scipy.integrate.solve_ivp(
        lambda t, y: problem.rates(t, y, problem.parameters), (0.0, END), problem.start, method="DOP853", rtol=1e-8,
        atol=1e-10,
    ).y[:, -1]  # fmt: skip
    expected = CLOSED[problem.name]() if problem.name in CLOSED else problem.exact()
    np.testing.assert_allclose(y, expected, rtol=1e-5, atol=2e-6)
    assert problem.name in CLOSED or not problem.published or len(problem.published) == len(problem.start)


@pytest.mark.shows("tensor/26-solve_ivp")
@pytest.mark.parametrize("problem", [problem for problem in DETEST if problem.name != "C5"], ids=lambda p: p.name)
def test_values(problem: Problem) -> None:
    """Uncompiled, by DOP853."""
    found = at.integrate.solve_ivp(
        lambda t, y: problem.rates(t, y, problem.parameters), (0.0, END), problem.start, t_eval=[END], method="DOP853",
        rtol=1e-8, atol=1e-10,
    )  # fmt: skip
    y, success = aot.function([], [found.y[:, 0], found.success], name=problem.name).reference()
    assert success
    exact = CLOSED[problem.name]() if problem.name in CLOSED else problem.exact()
    np.testing.assert_allclose(y, exact, rtol=1e-5, atol=2e-6)


@dataclass(frozen=True)
class Jet:
    """x + a·ε + b·δ + c·εδ with ε² = δ² = 0: ε in the direction of one parameter, δ in that of the test."""

    x: float
    a: float = 0.0
    b: float = 0.0
    c: float = 0.0

    def through(self, value: float, first: float, second: float) -> Jet:
        """f(self), from f and its derivatives at x."""
        return Jet(value, first * self.a, first * self.b, first * self.c + second * self.a * self.b)

    def __add__(self, other: Any) -> Jet:
        y = jet(other)
        return Jet(self.x + y.x, self.a + y.a, self.b + y.b, self.c + y.c)

    def __mul__(self, other: Any) -> Jet:
        y = jet(other)
        mixed = self.x * y.c + self.a * y.b + self.b * y.a + self.c * y.x
        return Jet(self.x * y.x, self.x * y.a + self.a * y.x, self.x * y.b + self.b * y.x, mixed)

    def __pow__(self, n: float) -> Jet:
        if self.x == 0:
            return self.through(0.0, 0.0, 2.0 * (n == 2))  # only squares and cubes reach 0
        return self.through(self.x**n, n * self.x ** (n - 1), n * (n - 1) * self.x ** (n - 2))

    def __neg__(self) -> Jet:
        return self * -1.0

    def __sub__(self, other: Any) -> Jet:
        return self + jet(other) * -1.0

    def __rsub__(self, other: Any) -> Jet:
        return -self + other

    def __truediv__(self, other: Any) -> Jet:
        return self * jet(other) ** -1

    def __rtruediv__(self, other: Any) -> Jet:
        return jet(other) * self**-1

    def sin(self) -> Jet:
        return self.through(np.sin(self.x), np.cos(self.x), -np.sin(self.x))

    __radd__, __rmul__ = __add__, __mul__


def jet(x: Any) -> Jet:
    return x if isinstance(x, Jet) else Jet(x)


def by_variation(problem: Problem, direction: Any) -> tuple[Any, Any]:
    """p·dF/dp for F = Σ weights·y(end), and p times the derivative of dF/dp in a direction.   (parameters,) twice"""
    columns = [_by_variation(problem, direction, k) for k in range(len(problem.parameters))]
    return np.array([first for first, _ in columns]), np.array([second for _, second in columns])


def _by_variation(problem: Problem, direction: Any, k: int) -> tuple[float, float]:
    """The same for the k-th parameter."""
    n = len(problem.start)
    p = [Jet(x, x * (i == k), direction[i]) for i, x in enumerate(problem.parameters)]

    def rates(t: float, flat: Any) -> Any:
        values = problem.rates(t, [Jet(*row) for row in flat.reshape(n, 4).tolist()], p)
        return np.array([(y.x, y.a, y.b, y.c) for y in map(jet, values)]).ravel()

    start = np.zeros((n, 4))
    start[:, 0] = problem.start
    method: Any = REFERENCE.get(problem.name, "DOP853")
    found = scipy.integrate.solve_ivp(
        rates, (0.0, problem.end), start.ravel(), method=method, rtol=1e-10, atol=1e-11 * problem.scale
    )
    totals = problem.weights() @ found.y[:, -1].reshape(n, 4)
    return totals[1], totals[3]


REFERENCE: Final = dict.fromkeys(STIFF, "LSODA") | {"van_der_pol": "Radau", "pollution": "Radau"}
"""SciPy's methods for stiff problems. LSODA takes a tenth of Radau's time on OREGO, but does not leave POLLU's start,
and is wrong by a quarter on VDPOL."""
FINER: Final = {"B4": 1e-11, "C2": 1e-11, "D5": 1e-12, "van_der_pol": 1e-12}
"""Tolerances where errors of steps at 1e-9 exceed those below: they fall with it."""
CLOSE: Final = {"van_der_pol": 1e-2}
"""Errors of derivatives, 1e-5 for others: a jump of VDPOL multiplies errors, and its second derivative is still off by
a tenth at 1e-11."""


def derivatives(problem: Problem, method: str) -> aot.Function:
    """(p, direction) → y at the end, the gradient of Σ weights·y in p, and its derivative in the direction."""
    p, direction = (at.vector(name, shape=(len(problem.parameters),)) for name in ("p", "direction"))
    rtol = FINER.get(problem.name, 1e-9)
    y = at.integrate.solve_ivp(
        lambda t, y: problem.rates(t, y, p), (0.0, problem.end), problem.start, t_eval=[problem.end], method=method,
        rtol=rtol, atol=rtol / 10 * problem.scale, max_steps=200_000,
    ).y[:, 0]  # fmt: skip
    slope = aot.grad((y * problem.weights()).sum(), p)
    return aot.function([p, direction], [y, slope, Rop(slope, p, direction)], name=problem.name)


@pytest.mark.shows("tensor/26-solve_ivp", "tensor/26-solve_ivp-derivatives")
@pytest.mark.parametrize("name", [problem.name for problem in DETEST] + STIFF)
def test_values_and_derivatives(name: str) -> None:
    """The direction changes each parameter by a share of its value, and errors count relative to the largest share."""
    problem = BY_NAME[name]
    p = np.array(problem.parameters)
    direction = p * (1 + 0.3 * np.arange(len(p)))
    y, slope, second = derivatives(problem, "Rodas5P" if problem.is_stiff else "Tsit5")(p, direction)
    exact = CLOSED[name]() if name in CLOSED else problem.exact()
    np.testing.assert_allclose(y, exact, rtol=2e-6, atol=1e-7 * problem.scale)
    close = CLOSE.get(name, 1e-5)
    for ours, theirs in zip((slope, second), by_variation(problem, direction), strict=True):
        np.testing.assert_allclose(p * ours, theirs, rtol=0, atol=close * abs(theirs).max() + 1e-8)
