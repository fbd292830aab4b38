"""Measure values and times of both libraries in a child process, so that a crash is reported as a result."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from aotensor.verification.child import ending
from aotensor_cli.comparing.manifests import Pair
from aotensor_cli.comparing.sides import Side
from aotensor_cli.options import Refusal
from aotensor_runtime.errors import LibraryError
from aotensor_runtime.formats.image import SHARED
from aotensor_runtime.machine import check_architecture, check_features, check_libc
from aotensor_runtime.systems.scratch import scratch_folder

_CHILD: Final = ("-m", "aotensor_cli.comparing.child")
_PATIENCE: Final = 120.0
"""Seconds that the calls of a function may take besides the time that is to be measured."""


@dataclass(frozen=True)
class Task:
    """The calls to make.

    functions: their names in both libraries. sizes: by dim, for each call. seconds: for each time, 0 for none. threads:
    None for all
    """

    functions: list[tuple[str, str]]
    sizes: list[dict[str, int]]
    seconds: float
    seed: int
    threads: int | None
    rtol: float | None


@dataclass
class Measurements:
    """The measurements of one function.   values, work, times: rows of the child. failure: how that ended, if early"""

    values: list[dict[str, Any]] = field(default_factory=list)
    work: list[dict[str, Any]] = field(default_factory=list)
    times: list[dict[str, Any]] = field(default_factory=list)
    failure: str | None = None

    @property
    def is_same(self) -> bool:
        """Are all values that were compared within the tolerance?"""
        return self.failure is None and not any(x["problem"] for x in (*self.rows, *self.values))

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows of all outputs that were compared."""
        return [row for x in self.values for row in x["rows"]]

    @property
    def is_judged(self) -> bool:
        """Was at least one output compared?"""
        return bool(self.rows) or not self.is_same


def obstacle(side: Side) -> str | None:
    """The reason that a library cannot run on this machine, None if it can; found without executing it."""
    container, manifest = side.description.container, side.manifest
    if side.description.damages:
        return f"{side.label} is damaged"
    if container.image.kind != SHARED:
        return f"{side.label} is object code that is not linked"
    if manifest.weights is not None and side.weights is None:
        return f"the weights {manifest.weights.file} are not next to {side.label}"
    try:
        check_architecture(container.image)
        check_libc(manifest)
        check_features(manifest, container.image.machine)
    except LibraryError as error:
        return f"{side.label}: {error.diagnostic.title}"
    return None


def measured(old: Side, new: Side, pairs: Sequence[Pair], task: Task) -> dict[str, Measurements]:
    """Name of the old function → its measurements.

    Raises: Refusal for sizes that the functions do not have; ToolError if the temporary folder cannot be written
    """
    found: dict[str, Measurements] = {}
    rest = [pair for pair in pairs if pair.obstacle is None]
    with scratch_folder("aotensor-diff-") as folder:
        (folder / "old").write_bytes(old.data)
        (folder / "new").write_bytes(new.data)
        weights = old.weights, new.weights
        while rest:
            names = [(pair.old.name, pair.new.name) for pair in rest]
            (folder / "task.json").write_text(json.dumps({**asdict(task), "functions": names, "weights": weights}))
            done, ended_in = _child(folder, [x for x, _ in names], found, task)
            rest = rest[done:]
            if ended_in is not None:
                found.setdefault(names[done - 1][0], Measurements()).failure = ended_in
    return found


def _child(folder: Path, names: Sequence[str], found: dict[str, Measurements], task: Task) -> tuple[int, str | None]:
    """Run the child process; return the number of functions that it finished, and how it ended if it crashed."""
    command = [sys.executable, *_CHILD, str(folder)]
    patience = (_PATIENCE + 20 * task.seconds) * len(names) * len(task.sizes)
    try:
        done = subprocess.run(command, capture_output=True, timeout=patience, check=False)
    except subprocess.TimeoutExpired as error:
        out, said, how = error.stdout or b"", b"", f"did not end within {patience:g} seconds"
    else:
        out, said, how = done.stdout, done.stderr, f"ended with {ending(done.returncode)}"
        if done.returncode == 0:
            how = ""
    at, step = 0, "loading the libraries"
    for line in out.splitlines():
        if not line.endswith(b"}"):
            break  # it was killed while it wrote this
        row = json.loads(line)
        at = row["function"]
        if "begin" in row:
            step = row["begin"]
        elif "refusal" in row:
            raise Refusal(*row["refusal"])
        else:
            kind = {"values": "values", "work": "work", "time": "times"}[row.pop("kind")]
            getattr(found.setdefault(names[at], Measurements()), kind).append(row)
    if not how:
        return len(names), None
    last = (said.decode(errors="replace").strip().splitlines() or [""])[-1]
    return at + 1, f"their process {how} at {step}{f' ({last})' if last else ''}"
