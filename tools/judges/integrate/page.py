"""The page docs/judges/integrate.md: times at equal errors, and the runs behind them."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from math import exp, log
from pathlib import Path
from typing import Any, Final

from tools.judges.integrate.problems import PROBLEMS

PAGE: Final = Path(__file__).parents[3] / "docs" / "judges" / "integrate.md"
PEERS: Final = {"solution": ("CVODES", "SciPy", "diffrax"), "gradient": ("CVODES", "diffrax")}
TARGETS: Final = {"solution": (1e-3, 1e-5, 1e-7), "gradient": (1e-3, 1e-5)}
"""Errors at which times are compared."""


def cheapest(runs: Sequence[Sequence[Any]], program: str, kind: str, target: float) -> tuple[float, str] | None:
    """The least seconds of a program with at most this error, and the method; None if it has none.

    Of each method, runs count from the largest tolerance on at which it and all smaller ones have at most this error,
    so that a small error by chance does not count.   runs: as the worker prints them
    """
    found = []
    for who in dict.fromkeys(run[0] for run in runs if run[0].split()[0] == program):
        ladder = sorted((run for run in runs if run[:2] == [who, kind]), key=lambda run: -run[2])
        for _, _, _, seconds, _, error in ladder:
            if not error <= target:
                break
            found.append((seconds, who.partition(" ")[2]))
    return min(found, default=None)


def ratio(runs: Sequence[Sequence[Any]], program: str, kind: str, target: float) -> float | None:
    """A program's least time with at most an error, divided by ours; None where either has no such run."""
    ours, theirs = cheapest(runs, "aotensor", kind, target), cheapest(runs, program, kind, target)
    return theirs[0] / ours[0] if ours and theirs else None


def page(rows: Sequence[tuple[str, dict[str, Any]]], is_noisy: bool) -> str:
    """The text of the page.   rows: verdict and results of the worker"""
    versions = {name: _version(name) for name in ("scipy", "diffrax", "jax")}
    text = _INTRODUCTION.format(**versions)
    if is_noisy:
        text += (
            "- Times of this page were taken on a machine with other work: they are no evidence until it is written "
        )
        text += "again.\n"
    right = sum(one == "right" for one, _ in rows)
    text += f"\n{right} of {len(rows)} problems are right.\n"
    done = [found for verdict, found in rows if verdict != "failed"]
    for kind, peers in PEERS.items():
        text += f"\n## Time of a {kind}\n\n" + "".join(_mean(done, peer, kind) for peer in peers)
        text += f"\n| problem | n | error | µs | method | {' | '.join(peers)} |\n"
        text += "|---|---:|---:|---:|---|" + "---:|" * len(peers) + "\n"
        text += "".join(_row(found, kind, target) for found in done for target in TARGETS[kind])
    text += _SOURCES + "".join(f"- {problem.name}: {problem.source}\n" for problem in PROBLEMS)
    text += _RUNS + "".join(_runs(found) for found in done)
    failed = [f"- {f['name']}, {program}: {reason}\n" for _, f in rows for program, reason in f["failed"].items()]
    return text + ("\n## Without a result\n\n" + "".join(failed) if failed else "")


_INTRODUCTION: Final = """# Differential equations, compared with CVODES, SciPy and diffrax

Written by `python -m tools.judges integrate --page`. Small initial value problems, whose end is known to 12 digits, by
[`at.integrate.solve_ivp`](../howto/integrate.md) in a library that a C program calls, by CVODES (Debian's SUNDIALS) in
the same program, by SciPy {scipy} and by diffrax {diffrax} with JAX {jax}, compiled by `jax.jit`, in Python.

- error: of a solution max |y − exact| / (|exact| + scale) at the end, where atol = scale · rtol; of a gradient by
  the parameters p max |p·(g − exact)| / (max |p·exact| + 0.001), where exact is by CVODES' forward sensitivities at
  1e-12: gradients that vanish, as of a system at rest, count by their absolute errors.
- Every method runs at tolerances rtol from 1e-2 to 1e-12. Tables have the least time of all methods of a program with
  at most the error in the third column; runs with a small error by chance do not count. The last columns are the times
  of the others divided by ours: more than 1 means that aotensor is faster. A cell is empty if the program has no run
  with this error. Where CVODES crashes, as its adjoint may do at small tolerances on D4, its runs until then count.
- Methods: aotensor Tsit5, DOP853, and for stiff problems Rodas5P, Rodas4. CVODES BDF with the dense Jacobian that
  `abi="sundials"` compiles, and Adams for problems that are not stiff; SciPy RK45, DOP853, LSODA, and LSODA, BDF,
  Radau, with the right-hand side in Python; diffrax Tsit5, Dopri8, and Kvaerno3, Kvaerno5.
- Gradients: reverse mode along the steps of Tsit5 or Rodas5P in aotensor; CVODES' continuous adjoint, with compiled
  right-hand sides; diffrax's `RecursiveCheckpointAdjoint`, and `BacksolveAdjoint` for problems that are not stiff.
- A problem is right if both methods of aotensor reach an error of 1e-8 in the solution, and the gradient one of 1e-5
  (van_der_pol: 1e-4, since terms that are 1e7 times as large cancel in its gradient).
- Times are the shortest of many calls, of one processor.
"""
_SOURCES: Final = "\n## Problems\n\n"
_RUNS: Final = "\n## Runs\n\nAccepted steps, error and microseconds of a solution.\n"


def _mean(done: Sequence[dict[str, Any]], peer: str, kind: str) -> str:
    """A line: the geometric mean of the ratios of all problems and errors."""
    ratios = [x for f in done for target in TARGETS[kind] if (x := ratio(f["runs"], peer, kind, target))]
    if not ratios:
        return ""
    mean, faster = exp(sum(map(log, ratios)) / len(ratios)), sum(x > 1 for x in ratios)
    return f"{peer}: aotensor is faster in {faster} of {len(ratios)} rows, {mean:.1f} times in the geometric mean.\n"


def _row(found: dict[str, Any], kind: str, target: float) -> str:
    problem = {problem.name: problem for problem in PROBLEMS}[found["name"]]
    ours = cheapest(found["runs"], "aotensor", kind, target)
    cells = [problem.name, str(len(problem.start)), f"{target:.0e}"]
    cells += [f"{1e6 * ours[0]:.3g}", ours[1]] if ours else ["", ""]
    ratios = [ratio(found["runs"], peer, kind, target) for peer in PEERS[kind]]
    return f"| {' | '.join([*cells, *('' if x is None else f'{x:.1f}' for x in ratios)])} |\n"


def _runs(found: dict[str, Any]) -> str:
    """A table of a problem: methods, and their runs at three tolerances."""
    shown = (4, 6, 8, 10)
    text = f"\n| {found['name']} | " + " | ".join(f"rtol 1e-{digits}" for digits in shown) + " |\n"
    text += "|---|" + "---|" * len(shown) + "\n"
    for who in dict.fromkeys(run[0] for run in found["runs"] if run[1] == "solution"):
        cells = []
        for digits in shown:
            runs = [run for run in found["runs"] if run[:3] == [who, "solution", digits]]
            cells.append("".join(f"{steps}, {error:.0e}, {1e6 * s:.3g}" for *_, s, steps, error in runs))
        text += f"| {who} | {' | '.join(cells)} |\n"
    return text


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
