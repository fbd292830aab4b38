"""Run models, compare them with CmdStan's recorded numbers and with stanli, and write the page."""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from tools.judges.origin import write_page
from tools.judges.posteriordb.data import Recorded, recorded
from tools.judges.posteriordb.models import CLOSE, KINDS, LOOSE
from tools.judges.posteriordb.page import PAGE, page
from tools.judges.workers import run as run_worker

CLOSE_BACKEND: Final = 1e-6
"""How much the gradient of another program may differ: where more, it computes something else."""


@dataclass(frozen=True)
class Row:
    """A model. ours, theirs: what the workers found of us and of stanli, {} where nothing was measured; backends: of
    PyTensor's, by name. error: of the gradient at the recorded point, against CmdStan; drift: of the gradient at
    another point, and change: of the difference of both values, against stanli. All errors are relative to the largest
    element.
    """

    kind: str
    name: str
    size: int
    ours: dict[str, Any]
    theirs: dict[str, Any] = field(default_factory=dict)
    error: float | None = None
    drift: float | None = None
    change: float | None = None
    backends: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def close(self) -> float:
        """The tolerance of the model."""
        return LOOSE[self.name].close if self.name in LOOSE else CLOSE

    @property
    def is_wrong(self) -> bool:
        """Does a number exceed its tolerance, or is it nan?"""
        found = [x for x in (self.error, self.drift, self.change) if x is not None]
        return any(not x <= self.close for x in found)

    @property
    def failed(self) -> str:
        """The reason why aotensor has no result; "" if it has one."""
        return str(self.ours.get("failed", ""))


def run(options: argparse.Namespace) -> int:
    """Run the selected models; returns 1 if one is wrong or fails."""
    known = recorded(options.data)
    chosen = [name for name in options.models.split(",") if name] or [name for kind in KINDS.values() for name in kind]
    missing = [name for name in chosen if name not in known or not any(name in kind for kind in KINDS.values())]
    if missing:
        raise SystemExit(f"there is no model {', '.join(missing)}; see tools/judges/posteriordb")
    stan = options.stan
    if stan is not None and importlib.util.find_spec("stanli") is None:
        sys.stdout.write("skipped: values, random points and times of stanli: pip install stanli\n")
        stan = None
    kept = options.results.read_text(encoding="utf-8").splitlines() if _exists(options.results) else []
    found = {one["name"]: one for one in map(json.loads, kept)}
    contenders = ["aotensor", *(["stanli"] if stan else []), *(x for x in options.backends.split(",") if x)]
    rows = []
    for kind, models in KINDS.items():
        for name in models:
            if name not in chosen:
                continue
            if name not in found:
                arguments = [name, str(options.data), *([str(stan)] if stan else [])]
                found[name] = {"name": name} | {
                    x: run_worker("tools.judges.posteriordb.worker", [x, *arguments], options.seconds)
                    for x in contenders
                }
                if options.results is not None:
                    with options.results.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(found[name]) + "\n")
            rows.append(_row(kind, known[name], found[name]))
            sys.stdout.write(_line(rows[-1]) + "\n")
            sys.stdout.flush()
    wrong = [row for row in rows if row.is_wrong or row.failed]
    sys.stdout.write(f"{len(rows) - len(wrong)} of {len(rows)} right\n")
    if options.page:
        PAGE.parent.mkdir(exist_ok=True)
        write_page(PAGE, page(rows, sorted(set(known) - {row.name for row in rows})))
    return 1 if wrong else 0


def _exists(path: Path | None) -> bool:
    return path is not None and path.exists()


def _row(kind: str, one: Recorded, found: dict[str, Any]) -> Row:
    ours, theirs = found["aotensor"], found.get("stanli", {})
    backends = {str(key): _checked(found[key], one) for key in ("numba", "jax") if key in found}
    row = Row(kind, one.model, len(one.point), ours, theirs, backends=backends)
    if "failed" in ours:
        return row
    row = replace(row, error=relative(ours["gradients"][0], one.gradient))
    if not theirs or "failed" in theirs:
        return row
    drift = relative(ours["gradients"][1], theirs["gradients"][1])
    (a, b), (c, d) = ours["values"], theirs["values"]
    if not np.isfinite([b, d]).all():
        change = 0.0 if b == d else float("inf")
    else:  # rounding of a difference is that of the larger value
        change = abs((b - a) - (d - c)) / max(abs(d - c), 1e-6 * max(abs(a), abs(c)), 1e-300)
    return replace(row, drift=drift, change=change)


def _checked(found: dict[str, Any], one: Recorded) -> dict[str, Any]:
    """A backend's facts, or the reason why its times do not count: it computes another gradient."""
    if "failed" in found:
        return found
    error = relative(found["gradients"][0], one.gradient)
    allowed = max(CLOSE_BACKEND, LOOSE[one.model].close if one.model in LOOSE else 0.0)
    return found if error <= allowed else {"failed": f"its gradient differs from CmdStan's by {error:.0e}"}


def relative(found: Any, wanted: Any) -> float:
    """The largest difference, relative to the largest element."""
    found, wanted = np.asarray(found), np.asarray(wanted)
    return float(np.abs(found - wanted).max() / max(np.abs(wanted).max(), 1e-300))


def _line(row: Row) -> str:
    if row.failed:
        return f"{row.name}: failed: {row.failed}"
    found = f"{row.name}: gradient {row.error:.1e}"
    if row.drift is not None and row.change is not None:
        found += f", elsewhere {row.drift:.1e}, values {row.change:.1e}"
        found += f", {1e6 * row.ours['call']:.2f} us, stanli {1e6 * row.theirs['call']:.2f} us"
    elif "failed" in row.theirs:
        found += f", stanli failed: {row.theirs['failed']}"
    for name, one in row.backends.items():
        found += f", {name} {1e6 * one['call']:.2f} us" if "call" in one else f", {name} failed: {one['failed']}"
    return found + (" WRONG" if row.is_wrong else "")
