"""Shared parts of the benchmark programs: processes on given cores, formatting of numbers."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Collection
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

HERE = Path(__file__).parent
RESULTS = HERE / "results"
LONGEST: Final = 900.0
"""Seconds that a process may take."""
PACKAGES: Final = (
    "numpy",
    "scipy",
    "jax",
    "torch",
    "pytensor",
    "numba",
    "casadi",
    "mkl",
    "sparse_dot_mkl",
    "onnxruntime",
)


class Failed(RuntimeError):
    """A process that ended with an error, or not at all."""


def run_program(*command: str, cores: Collection[int], **variables: str) -> str:
    """The last line that one of our programs prints; it and its libraries have these cores and as many threads.

    Raises: Failed
    """
    try:
        done = subprocess.run(
            [sys.executable, str(HERE / command[0]), *command[1:]],
            env=os.environ | thread_variables(len(cores)) | variables, stdout=subprocess.PIPE, text=True,
            preexec_fn=lambda: os.sched_setaffinity(0, cores), timeout=LONGEST,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise Failed(f"{' '.join(command)} takes more than {LONGEST:.0f} s") from error
    if done.returncode:
        raise Failed(f"{' '.join(command)} failed")
    return done.stdout.splitlines()[-1]


def thread_variables(threads: int) -> dict[str, str]:
    """Environment variables for this number of threads per contender, with the cores released between turns."""
    names = ("OMP", "OPENBLAS", "MKL", "NUMBA", "AOTENSOR")
    variables = {f"{name}_NUM_THREADS": str(threads) for name in names} | _mkl_variables()
    variables |= {"JAX_PLATFORMS": "cpu", "PYTHONWARNINGS": "ignore"}
    if threads == 1:
        return variables | {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"}
    return variables | {"GOMP_SPINCOUNT": "20000", "KMP_BLOCKTIME": "100us"}


def _mkl_variables() -> dict[str, str]:
    """Environment variables with pip's folder of MKL, which sparse_dot_mkl and PyTensor's C backend do not search."""
    found = sorted(Path(sys.prefix, "lib").glob("libmkl_rt.so*"))
    if not found:
        return {}
    flags = f"blas__ldflags=-L{found[0].parent} -l:{found[0].name}"
    ours = {"MKL_RT": str(found[0]), "PYTENSOR_FLAGS": flags}
    return {name: value for name, value in ours.items() if name not in os.environ}


def microseconds(seconds: float) -> str:
    """Format seconds as microseconds, with three significant digits below 100."""
    return f"{1e6 * seconds:.0f}" if seconds > 1e-4 else f"{1e6 * seconds:.3g}"


def machine() -> str:
    """Processor name, as Linux tells it."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())


def versions() -> dict[str, str]:
    """Versions of the compared libraries that are installed."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def revision() -> str:
    """The commit that is measured, or "" without git."""
    try:
        done = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=HERE, capture_output=True, text=True)
    except OSError:
        return ""
    return done.stdout.strip()
