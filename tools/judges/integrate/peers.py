"""The same problems by SciPy and by diffrax, in Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from time import process_time
from typing import Any, Final

import numpy as np
from scipy.integrate import solve_ivp
from tools.judges.integrate.ours import MAX_STEPS
from tools.judges.integrate.problem import Problem

DIGITS: Final = range(2, 13)
MOST_EVALUATIONS: Final = 500_000
"""Of a right-hand side in a call of SciPy: LSODA does not end on arenstorf at a tolerance of 1e-12."""
PATIENCE: Final = 0.5
"""Seconds of a call, after which a method is not run at smaller tolerances."""
_SCIPYS: Final = {False: ("RK45", "DOP853", "LSODA"), True: ("LSODA", "BDF", "Radau")}
_DIFFRAXS: Final = {False: ("Tsit5", "Dopri8"), True: ("Kvaerno3", "Kvaerno5")}


@dataclass(frozen=True)
class Run:
    """One solution or gradient.   who: program and method; digits: −log10 of rtol; seconds: of the processor"""

    who: str
    kind: str
    digits: int
    seconds: float
    steps: int
    values: tuple[float, ...]


def by_scipy(problem: Problem) -> Iterator[Run]:
    """Solutions by SciPy, with a right-hand side in Python."""
    for method in _SCIPYS[problem.is_stiff]:

        def call(rtol: float, method: str = method) -> tuple[bool, int, Any]:
            evaluations = count()

            def rates(t: float, y: Any) -> Any:
                if next(evaluations) == MOST_EVALUATIONS:
                    raise RuntimeError(f"{method}: {MOST_EVALUATIONS} evaluations are not enough")
                return problem.rates(t, y, problem.parameters)

            found = solve_ivp(
                rates, (0.0, problem.end), problem.start, method=method, rtol=rtol, atol=rtol * problem.scale
            )
            return found.success, len(found.t) - 1, found.y[:, -1]

        yield from _ladder(f"SciPy {method}", "solution", call)


def by_diffrax(problem: Problem) -> Iterator[Run]:
    """Solutions, and gradients of Σ weights·y in p, by diffrax, compiled by `jax.jit`."""
    import diffrax
    import jax
    import jax.numpy as jnp

    start, p, w = (jnp.asarray(x) for x in (problem.start, problem.parameters, problem.weights()))
    term = diffrax.ODETerm(lambda t, y, args: jnp.stack(problem.rates(t, y, args)))

    def solution(p: Any, rtol: Any, method: str, adjoint: Any) -> Any:
        return diffrax.diffeqsolve(
            term, getattr(diffrax, method)(), t0=0.0, t1=problem.end, dt0=None, y0=start, args=p, throw=False,
            stepsize_controller=diffrax.PIDController(rtol=rtol, atol=rtol * problem.scale), max_steps=MAX_STEPS,
            adjoint=adjoint,
        )  # fmt: skip

    for method in _DIFFRAXS[problem.is_stiff]:

        @jax.jit
        def solve(p: Any, rtol: Any, method: str = method) -> Any:
            found = solution(p, rtol, method, diffrax.RecursiveCheckpointAdjoint())
            good = found.result == diffrax.RESULTS.successful
            return good, found.stats["num_accepted_steps"], found.ys[-1]

        def call(rtol: float, solve: Any = solve) -> tuple[bool, int, Any]:
            good, steps, y = jax.block_until_ready(solve(p, rtol))
            return bool(good), int(steps), y

        yield from _ladder(f"diffrax {method}", "solution", call)
        adjoints = {"": diffrax.RecursiveCheckpointAdjoint()}
        if not problem.is_stiff:
            adjoints[" backsolve"] = diffrax.BacksolveAdjoint()
        for name, adjoint in adjoints.items():

            @jax.jit
            def slope(p: Any, rtol: Any, method: str = method, adjoint: Any = adjoint) -> Any:
                return jax.grad(lambda p: (w * solution(p, rtol, method, adjoint).ys[-1]).sum())(p)

            def call_slope(rtol: float, slope: Any = slope) -> tuple[bool, int, Any]:
                found = jax.block_until_ready(slope(p, rtol))
                return bool(jnp.isfinite(found).all()), -1, found

            yield from _ladder(f"diffrax {method}{name}", "gradient", call_slope)


def _ladder(who: str, kind: str, call: Callable[[float], tuple[bool, int, Any]]) -> Iterator[Run]:
    """Runs of a method at decreasing tolerances, until one needs too long; without those that fail."""
    for digits in DIGITS:
        rtol = 10.0**-digits
        try:
            success, steps, values = call(rtol)  # compiles, the first time
        except RuntimeError:  # a linear solver of diffrax failed, or SciPy does not end
            continue
        seconds = _shortest(lambda rtol=rtol: call(rtol))
        if success:
            yield Run(who, kind, digits, seconds, steps, tuple(np.asarray(values, "float64").tolist()))
        if seconds > PATIENCE:
            return


def _shortest(call: Callable[[], object]) -> float:
    """The shortest time of a call, in seconds of the processor, for 0.05 s and at least once."""
    best, begin = float("inf"), process_time()
    while best == float("inf") or process_time() < begin + 0.05:
        start = process_time()
        call()
        best = min(best, process_time() - start)
    return best
