"""The programs behind the tables of docs/cost.md and docs/tuning.md run, and say what they found."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

PROGRAMS = Path(__file__).parents[2] / "benchmarks"


def run(program: str, *arguments: str) -> list[str]:
    line = [sys.executable, str(PROGRAMS / program), *arguments]
    done = subprocess.run(line, capture_output=True, text=True, check=False, cwd=PROGRAMS)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_estimates() -> None:
    cases = ("chain-1e3-float64", "spmv-random", "sparse-sparse-random")
    lines = run("estimates.py", "--cases", *cases, "--scale", "0.01", "--seconds", "0.02", "--threads", "1")
    rows = [line for line in lines if line.startswith("| ") and not line.startswith("| case")]
    assert [row.split(" | ")[0][2:] for row in rows] == list(cases)
    assert "> " in rows[2] and "> " not in rows[0] + rows[1], "products of sparse matrices are lower bounds"
    assert re.fullmatch(r"1 thread: wrong by [\d.]+ in the mean, [\d.]+ at most; \d of 2 within 2", lines[-1])


def test_tuning() -> None:
    lines = run("tuning.py", "--cases", "logistic", "--scale", "0.01", "--seconds", "1")
    assert re.fullmatch(r"\| logistic \| 1 \| [\d.]+ \| [\d.]+ \| [01]\.\d\d \| `.*` \|", lines[-1])
