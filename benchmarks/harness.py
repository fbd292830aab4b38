"""What the programs that compare libraries have in common: processes on given cores, numbers in tables."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path

HERE = Path(__file__).parent
RESULTS = HERE / "results"


def run_program(*command: str, cores: Collection[int], **variables: str) -> str:
    """The last line that one of our programs prints; it and its libraries have these cores and as many threads."""
    done = subprocess.run(
        [sys.executable, str(HERE / command[0]), *command[1:]],
        env=os.environ | thread_variables(len(cores)) | variables, stdout=subprocess.PIPE, text=True,
        preexec_fn=lambda: os.sched_setaffinity(0, cores),
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed")
    return done.stdout.splitlines()[-1]


def thread_variables(threads: int) -> dict[str, str]:
    """Environment in which every contender uses so many threads, and lets the others have the cores in their turns."""
    names = ("OMP", "OPENBLAS", "MKL", "NUMBA", "AOTENSOR")
    variables = {f"{name}_NUM_THREADS": str(threads) for name in names} | {"JAX_PLATFORMS": "cpu"}
    if threads == 1:
        return variables | {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"}
    return variables | {"GOMP_SPINCOUNT": "20000", "KMP_BLOCKTIME": "100us"}


def microseconds(seconds: float) -> str:
    """Three digits where there are fewer than three before the point."""
    return f"{1e6 * seconds:.0f}" if seconds > 1e-4 else f"{1e6 * seconds:.3g}"


def machine() -> str:
    """Processor name, as Linux tells it."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())
