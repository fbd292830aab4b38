"""Run problems with all contenders, judge the errors, and write the page."""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from tools.judges.integrate.ours import METHODS
from tools.judges.integrate.page import PAGE, PEERS, cheapest, page, ratio
from tools.judges.integrate.problem import Problem
from tools.judges.integrate.problems import PROBLEMS
from tools.judges.origin import write_page
from tools.judges.workers import run_each

CLOSE: Final = 1e-8
"""The error of a solution that each of our methods must reach at its smallest tolerance."""
FLOOR: Final = 1e-3
"""Counts with the largest |p·exact| of a gradient: those of B2 and B4 nearly vanish, at 1e-8 and below."""


def judged(problem: Problem, results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The runs of all programs with errors in place of values, and what failed.   results: as the worker prints them

    The error of a solution is max |y − exact| / (|exact| + scale), that of a gradient g max |p·(g − exact)| / (max
    |p·exact| + FLOOR), where exact is by forward sensitivities of CVODES.
    """
    y, p = problem.exact(), np.array(problem.parameters)
    runs = [run for result in results for run in result.get("runs", ())]
    slopes = [np.array(run[5]) for run in runs if run[0] == "exact"]
    rows = []
    for who, kind, digits, seconds, steps, values in runs:
        if who != "exact":
            found = np.array(values)
            if kind == "solution":
                error = (abs(found - y) / (abs(y) + problem.scale)).max()
            else:
                error = abs(p * (found - slopes[0])).max() / (abs(p * slopes[0]).max() + FLOOR) if slopes else np.nan
            rows.append([who, kind, digits, seconds, steps, float(error)])
    failed = {result["name"].partition(":")[2]: result["failed"] for result in results if "failed" in result}
    return {"name": problem.name, "runs": rows, "failed": failed}


def verdict(found: dict[str, Any]) -> str:
    """right, wrong, or failed."""
    best: dict[tuple[str, str], float] = {}
    for who, kind, *_, error in found["runs"]:
        if who.startswith("aotensor "):
            best[who, kind] = min(best.get((who, kind), np.inf), error)
    if not best:
        return "failed"
    problem = {problem.name: problem for problem in PROBLEMS}[found["name"]]
    methods = METHODS[problem.is_stiff]
    allowed = {(f"aotensor {method}", "solution"): CLOSE for method in methods}
    allowed[f"aotensor {methods[0]}", "gradient"] = problem.close
    return "right" if all(best.get(key, np.inf) <= close for key, close in allowed.items()) else "wrong"


def run(options: argparse.Namespace) -> int:
    """Run the selected problems; returns 1 if one is wrong."""
    peers = [peer for peer in options.peers.split(",") if peer]
    if unknown := sorted(set(peers) - {"scipy", "diffrax"}):
        raise SystemExit(f"there is no peer {', '.join(unknown)}: known are scipy, diffrax")
    if "diffrax" in peers and importlib.util.find_spec("diffrax") is None:
        raise SystemExit("there is no diffrax: pip install diffrax, or --peers scipy")
    if not Path("/usr/include/cvodes/cvodes.h").exists():
        raise SystemExit("there is no CVODES: install Debian's libsundials-dev")
    names = [problem.name for problem in PROBLEMS]
    chosen = options.only.split(",") if options.only else names
    if unknown := sorted(set(chosen) - set(names)):
        raise SystemExit(f"there is no problem {', '.join(unknown)}: known are {', '.join(names)}")
    kept: Sequence[str] = ()
    if options.results is not None and options.results.exists():
        kept = options.results.read_text(encoding="utf-8").splitlines()
    known = {found["name"]: found for found in map(json.loads, kept)}
    jobs = [f"{name}:{program}" for program in ("aotensor", *peers) for name in chosen]
    for found in run_each("tools.judges.integrate.worker", [x for x in jobs if x not in known], options.seconds, 600):
        known[found["name"]] = found
        sys.stdout.write(f"{found['name']} {found.get('failed', 'done')}\n")
        sys.stdout.flush()
        if options.results is not None:
            with options.results.open("a", encoding="utf-8") as file:
                file.write(json.dumps(found) + "\n")
    all_judged = [
        judged(problem, [known[f"{problem.name}:{program}"] for program in ("aotensor", *peers)])
        for problem in PROBLEMS
        if problem.name in chosen
    ]
    rows = [(verdict(found), found) for found in all_judged]
    sys.stdout.write("".join(_lines(*row) for row in rows))
    counts = {key: sum(one == key for one, _ in rows) for key in ("right", "wrong", "failed")}
    sys.stdout.write(", ".join(f"{count} {key}" for key, count in counts.items()) + "\n")
    if options.page:
        write_page(PAGE, page(rows, options.noisy))
    return 1 if counts["wrong"] else 0


def _lines(verdict: str, found: dict[str, Any]) -> str:
    text = f"{found['name']}: {verdict}\n" + "".join(f"  {key}: {x}\n" for key, x in found["failed"].items())
    for kind, target in (("solution", 1e-5), ("gradient", 1e-3)):
        ours = cheapest(found["runs"], "aotensor", kind, target)
        ratios = {program: ratio(found["runs"], program, kind, target) for program in PEERS[kind]}
        others = ", ".join(f"{program} {'-' if x is None else f'{x:.1f}'}" for program, x in ratios.items())
        time = f"{1e6 * ours[0]:.3g} µs ({ours[1]})" if ours else "not reached"
        text += f"  {kind} with error {target:g}: {time}; times of others by ours: {others}\n"
    return text
