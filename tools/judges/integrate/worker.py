"""Solve problems with one program: a line of JSON for each argument PROBLEM:PROGRAM."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import astuple
from pathlib import Path
from typing import Any

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
os.environ.setdefault("JAX_ENABLE_X64", "1")

from tools.judges.integrate import ours
from tools.judges.integrate.peers import Run, by_diffrax, by_scipy
from tools.judges.integrate.problem import Problem
from tools.judges.integrate.problems import PROBLEMS


def from_c(problem: Problem, folder: Path) -> Iterator[Run]:
    """The runs of this library and of CVODES, both called from C; the first one is the exact gradient."""
    slope = [float(x) for x in ours.run(folder, "reference")[0]]
    yield Run("exact", "gradient", 12, 0.0, -1, tuple(slope))
    size = repr(max(abs(g * p) for g, p in zip(slope, problem.parameters, strict=True)))
    methods = ours.METHODS[problem.is_stiff]
    names = {"first": f"aotensor {methods[0]}", "second": f"aotensor {methods[1]}"}
    names |= {"bdf": "CVODES BDF", "adams": "CVODES Adams"}
    lines = ours.run(folder, "ours", size)
    for method in ("bdf",) if problem.is_stiff else ("bdf", "adams"):
        lines += ours.run(folder, method, size, may_crash=True)  # as its adjoint does at tight tolerances on D4
    for who, kind, digits, microseconds, steps, *values in lines:
        if values:
            numbers = tuple(map(float, values))
            yield Run(names[who], kind, int(digits), 1e-6 * float(microseconds), int(steps), numbers)


def measured(problem: Problem, program: str) -> dict[str, Any]:
    """The runs of a problem by a program, as JSON.   program: aotensor, with CVODES, scipy or diffrax"""
    if program == "aotensor":
        with tempfile.TemporaryDirectory() as name:
            ours.compiled(problem, Path(name))
            runs = list(from_c(problem, Path(name)))
    else:
        runs = list((by_scipy if program == "scipy" else by_diffrax)(problem))
    return {"name": f"{problem.name}:{program}", "runs": [astuple(run) for run in runs]}


if __name__ == "__main__":
    known = {problem.name: problem for problem in PROBLEMS}
    for job in sys.argv[1:]:
        name, _, program = job.partition(":")
        try:
            result = measured(known[name], program)
        except Exception as error:
            result = {"name": job, "failed": f"{type(error).__name__}: {error}"[:200]}
        sys.stdout.write(json.dumps(result) + "\n")
        sys.stdout.flush()
