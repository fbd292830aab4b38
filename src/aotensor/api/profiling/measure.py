"""Profile functions: a child process calls and samples each; this process attributes the samples to lines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from aotensor.api.cost.limits import Limits
from aotensor.api.profiling.attribution import Charged, Code
from aotensor.api.profiling.rows import Row, rows_of
from aotensor.api.profiling.sampler import Sample
from aotensor.errors import ArgumentValueError, ToolError
from aotensor.passes.report.line_work import Work
from aotensor.verification.child import ending
from aotensor_runtime.systems.scratch import scratch_folder

_PATIENCE: Final = 120.0
"""Seconds beside those that are asked for."""


_BLAS_THREADS: Final = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")
"""Threads of BLAS are not ours, and wait by running."""


@dataclass(frozen=True)
class Task:
    """The function to profile, its sizes and the duration.   sizes: of dims. threads: that calls may use"""

    function: str
    sizes: Mapping[str, int]
    threads: int
    seconds: float
    seed: int


@dataclass(frozen=True)
class Profile:
    """The profile of one function.   dims: of the inputs. seconds: of a call without samples. samples: how many

    overhead: by how much samples slow a call down, with the interval of 95 %, as parts of the time.
    """

    function: str
    dims: dict[str, int]
    threads: int
    seconds: float
    samples: int
    overhead: tuple[float, float, float]
    charged: Charged
    rows: list[Row]

    def to_json(self) -> dict[str, Any]:
        """The profile as JSON values, in the schema of docs/profile.md."""
        ratio, low, high = self.overhead
        return {
            "function": self.function,
            "sizes": self.dims,
            "threads": self.threads,
            "seconds": self.seconds,
            "samples": self.samples,
            "overhead": {"ratio": ratio, "low": low, "high": high},
            "rows": [row.to_json() for row in self.rows],
        }


def sampled(data: bytes, weights: Path | None, sampler: Path, task: Task) -> tuple[dict[str, Any], list[Sample]]:
    """Call and sample one function in a process of its own.

    data: the library. weights: its file of weights, if it has one. sampler: compiled

    Raises: ArgumentValueError for sizes that do not fit, and if the process ends early
    """
    with scratch_folder() as folder:
        (folder / "library").write_bytes(data)
        (folder / "libsampler.so").write_bytes(sampler.read_bytes())
        told = {**vars(task), "sizes": dict(task.sizes), "weights": None if weights is None else str(weights)}
        (folder / "task.json").write_text(json.dumps(told), encoding="utf-8")
        command = [sys.executable, "-m", "aotensor.api.profiling.child", str(folder)]
        environment = {**{name: str(task.threads) for name in _BLAS_THREADS}, **os.environ}
        try:
            done = subprocess.run(
                command, capture_output=True, timeout=_PATIENCE + 10 * task.seconds, check=False, env=environment
            )
        except subprocess.TimeoutExpired as error:
            title = f"{task.function} did not end within {error.timeout:g} seconds"
            raise ArgumentValueError(title, hint="give smaller sizes") from error
    if done.returncode != 0 or not done.stdout:
        last = (done.stderr.decode(errors="replace").strip().splitlines() or ["no message"])[-1]
        raise ToolError(f"the process that calls {task.function} ended with {ending(done.returncode)} ({last})")
    found = json.loads(done.stdout)
    if "refusal" in found:
        title, hint = found["refusal"]
        raise ArgumentValueError(title, hint=hint)
    return found, [Sample(**x) for x in found.pop("samples")]


def profile_of(
    found: Mapping[str, Any], samples: list[Sample], code: Code, task: Task,
    work: Mapping[tuple[str, int], Work], flops: float | None, limits: Limits | None,
) -> Profile:  # fmt: skip
    """Build the profile from the results of the child process.   work: of lines. flops: of a call"""
    charged = code.charge(samples)
    rows = rows_of(charged, found["seconds"], work, flops, limits)
    ratio, low, high = found["overhead"]
    count = sum(x.count for x in samples)
    return Profile(
        task.function, found["dims"], task.threads, found["seconds"], count, (ratio, low, high), charged, rows
    )
