"""Initial value problems of the judges: published values, gradients against diffrax; verdicts and the page."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tools.judges.integrate.command import FLOOR, judged, verdict
from tools.judges.integrate.page import cheapest, page, ratio
from tools.judges.integrate.problem import Problem
from tools.judges.integrate.problems import PROBLEMS

import aotensor as aot
import aotensor.tensor as at

STIFF = [problem for problem in PROBLEMS if problem.is_stiff]


def named(problem: Problem) -> str:
    return problem.name


def test_all_problems_are_stated_whole() -> None:
    """Numbers are Python's, which C programs can contain; rates are finite near the start, one for each component."""
    for problem in PROBLEMS:
        numbers = (*problem.start, *problem.parameters, *problem.published)
        assert all(type(number) is float for number in numbers), problem.name
        rates = problem.rates(0.5, problem.start, problem.parameters)
        assert len(rates) == len(problem.start) == len(problem.published or rates), problem.name
        assert np.isfinite(rates).all() and any(rates), problem.name


@pytest.mark.parametrize("problem", STIFF, ids=named)
def test_published_values(problem: Problem) -> None:
    found = at.integrate.solve_ivp(
        lambda t, y: problem.rates(t, y, problem.parameters), (0.0, problem.end), problem.start, t_eval=[problem.end],
        method="Rodas5P", rtol=1e-8, atol=1e-8 * problem.scale,
    )  # fmt: skip
    y, steps = aot.function([], [found.y[:, 0], found.steps], name=problem.name)()
    np.testing.assert_allclose(y, problem.published, rtol=1e-6, atol=1e-7 * problem.scale)
    assert steps < 3000


@pytest.mark.needs("diffrax")
@pytest.mark.unlimited("few environments have diffrax")
@pytest.mark.parametrize(
    ("name", "ours", "theirs", "close"),
    [
        ("lotka_volterra", "Tsit5", "Tsit5", 1e-7),
        ("arenstorf", "DOP853", "Dopri8", 1e-6),
    ],
)
def test_gradients_are_those_of_diffrax(name: str, ours: str, theirs: str, close: float) -> None:
    """Of Σ weights·y(end), with respect to start and parameters, by diffrax's discrete adjoint."""
    import diffrax
    import jax
    import jax.numpy as jnp

    (problem,) = (one for one in PROBLEMS if one.name == name)
    start, values = np.array(problem.start), np.array(problem.parameters)
    rtol, atol = 1e-9, 1e-9 * problem.scale
    y0, p = at.vector("y0", shape=start.shape), at.vector("p", shape=values.shape)
    found = at.integrate.solve_ivp(
        lambda t, y: problem.rates(t, y, p), (0.0, problem.end), y0, t_eval=[problem.end], method=ours,
        rtol=rtol, atol=atol,
    )  # fmt: skip
    y = found.y[:, 0]
    end = aot.function([y0, p], y, name="end")(start, values)
    weights = 1 / (abs(end) + problem.scale)
    slopes = aot.function([y0, p], aot.grad((y * weights).sum(), [y0, p]), name="slopes")(start, values)

    def loss(y0: Any, p: Any) -> Any:
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(lambda t, y, args: jnp.stack(problem.rates(t, y, args))), getattr(diffrax, theirs)(),
            t0=0.0, t1=problem.end, dt0=None, y0=y0, args=p, max_steps=10_000,
            stepsize_controller=diffrax.PIDController(rtol=rtol, atol=atol),
        )  # fmt: skip
        return (weights * solution.ys[-1]).sum()

    with jax.enable_x64(True):
        wanted = jax.jit(jax.grad(loss, argnums=(0, 1)))(jnp.asarray(start), jnp.asarray(values))
    for slope, theirs_, x in zip(slopes, wanted, (start, values), strict=True):
        scale = np.where(x == 0, 1, abs(x))  # derivatives relative to the size of each variable
        size = abs(scale * np.asarray(theirs_)).max()
        np.testing.assert_allclose(scale * slope, scale * np.asarray(theirs_), rtol=0, atol=close * size)


def runs(who: str, kind: str, *points: tuple[int, float, float]) -> list[list[Any]]:
    """Lines of the worker from (digits, seconds, error)."""
    return [[who, kind, digits, seconds, 10, error] for digits, seconds, error in points]


def test_times_at_equal_errors() -> None:
    """The run at 1e-2 is good by chance: that at 1e-3 is worse. A method that fails at the end counts before."""
    found = runs("aotensor Tsit5", "solution", (2, 1.0, 1e-9), (3, 2.0, 1e-2), (4, 3.0, 1e-4), (5, 5.0, 1e-6))
    found += runs("aotensor DOP853", "solution", (2, 4.0, 1e-5), (3, 6.0, 1e-7))
    found += runs("CVODES BDF", "solution", (2, 8.0, 1e-3), (3, 12.0, float("nan")))
    assert cheapest(found, "aotensor", "solution", 1e-3) == (3.0, "Tsit5")
    assert cheapest(found, "aotensor", "solution", 1e-5) == (4.0, "DOP853")
    assert cheapest(found, "aotensor", "gradient", 1e-5) is None
    assert ratio(found, "CVODES", "solution", 1e-2) is None
    found[-1][-1] = 1e-4
    assert ratio(found, "CVODES", "solution", 1e-3) == 8 / 3


def test_verdicts_and_page() -> None:
    found: dict[str, Any] = {"name": "hires", "runs": [], "failed": {}}
    for method in ("Rodas5P", "Rodas4"):
        found["runs"] += runs(f"aotensor {method}", "solution", (8, 1e-6, 1e-9), (10, 3e-6, 1e-11))
    found["runs"] += runs("aotensor Rodas5P", "gradient", (8, 2e-6, 1e-6))
    found["runs"] += runs("diffrax Kvaerno5", "gradient", (8, 1e-4, 1e-6))
    failed = {"name": "orego", "runs": [], "failed": {"aotensor": "no cc"}}
    assert verdict(found) == "right" and verdict(failed) == "failed"
    text = page([("right", found), ("failed", failed)], is_noisy=True)
    assert "1 of 2 problems are right" in text and "- orego, aotensor: no cc" in text and "other work" in text
    assert "| hires | 8 | 1e-05 | 2 | Rodas5P |  | 50.0 |" in text
    found["runs"][0][-1] = found["runs"][1][-1] = 1e-6
    assert verdict(found) == "wrong"


def test_errors_are_relative() -> None:
    """Of a solution to |exact| + scale, of a gradient to the largest of p·exact; a failure of a peer is reported."""
    (problem,) = (one for one in PROBLEMS if one.name == "van_der_pol")
    near = (problem.published[0] + 1e-3, problem.published[1])
    results: list[dict[str, Any]] = [
        {"name": "van_der_pol:aotensor", "runs": [
            ["exact", "gradient", 12, 0.0, -1, [2e-6]],
            ["aotensor Rodas4", "solution", 3, 1e-5, 9, near],
            ["CVODES BDF", "gradient", 3, 1e-5, 9, [1e-6]],
        ]},
        {"name": "van_der_pol:diffrax", "failed": "no memory"},
    ]  # fmt: skip
    found = judged(problem, results)
    assert found["failed"] == {"diffrax": "no memory"} and [run[0] for run in found["runs"]] == [
        "aotensor Rodas4", "CVODES BDF",
    ]  # fmt: skip
    np.testing.assert_allclose([run[-1] for run in found["runs"]], [1e-3 / (1 + problem.published[0]), 1 / (2 + FLOOR)])
