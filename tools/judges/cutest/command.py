"""Run problems, compare them with JAX, and write the page."""

from __future__ import annotations

import argparse
import importlib.util
import json
import random
import sys
from collections.abc import Set
from pathlib import Path
from typing import Any, Final

from tools.judges.cutest.page import PAGE, page
from tools.judges.origin import write_page
from tools.judges.workers import run_each

CLOSE: Final = 1e-8
"""How much numbers may differ, relative to the largest of their array: both round differently."""


def verdict(found: dict[str, Any]) -> str:
    """right, wrong, or failed; a pattern without an element that is not zero is wrong."""
    if "failed" in found:
        return "failed"
    is_complete = all(not one.get("missing") for one in found.get("patterns", {}).values())
    return "right" if is_complete and all(x <= CLOSE for x in found["errors"].values()) else "wrong"


def run(options: argparse.Namespace) -> int:
    """Run the selected problems; returns 1 if one is wrong."""
    absent = [name for name in ("jax", "sif2jax") if importlib.util.find_spec(name) is None]
    if absent:
        raise SystemExit(f"there is no {', '.join(absent)}: pip install jax sif2jax")
    kept = options.results.read_text(encoding="utf-8").splitlines() if _exists(options.results) else []
    known = {found["name"]: found for found in map(json.loads, kept)}
    chosen = list(known) if options.kept else _chosen(options)
    missing = [x for x in chosen if x not in known]
    for found in run_each("tools.judges.cutest.worker", missing, options.seconds, 600):
        known[found["name"]] = found
        sys.stdout.write(_line(found) + "\n")
        sys.stdout.flush()
        if options.results is not None:
            with options.results.open("a", encoding="utf-8") as file:
                file.write(json.dumps(found) + "\n")
    rows = [(verdict(known[name]), known[name]) for name in sorted(chosen)]
    counts = {key: sum(one == key for one, _ in rows) for key in ("right", "wrong", "failed")}
    sys.stdout.write(", ".join(f"{count} {key}" for key, count in counts.items()) + "\n")
    if options.page:
        PAGE.parent.mkdir(exist_ok=True)
        write_page(PAGE, page(rows, _description(set(chosen)), is_noisy=options.noisy))
    return 1 if counts["wrong"] else 0


def _exists(path: Path | None) -> bool:
    return path is not None and path.exists()


def _chosen(options: argparse.Namespace) -> list[str]:
    """Names of the selected problems; a smaller sample is a prefix of a larger one."""
    if options.problems:
        return list(options.problems.split(","))
    import sif2jax

    fitting = sorted(one.name for one in sif2jax.problems if one.y0.size <= options.largest)
    if options.sample is not None:
        random.Random(options.seed).shuffle(fitting)
    return fitting[: options.sample]


def _description(names: Set[str]) -> str:
    """Which problems these are: all up to a size, and some of those beyond."""
    import sif2jax

    sizes = {one.name: one.y0.size for one in sif2jax.problems}
    least = min((size for name, size in sizes.items() if name not in names), default=max(sizes.values()) + 1)
    small = sum(size < least for size in sizes.values())
    return f"the {small} with fewer than {least} variables, and {len(names) - small} of {len(sizes) - small} others"


def _line(found: dict[str, Any]) -> str:
    if "failed" in found:
        return f"{found['name']}: failed: {found['failed']}"
    errors = " ".join(f"{key} {x:.0e}" for key, x in found["errors"].items())
    ours, theirs = found["ours"], found["theirs"]
    times = ", ".join(f"{key} {ours[key]:.3g} s, JAX {theirs[key]:.3g} s" for key in theirs)
    return f"{found['name']}: {verdict(found)}: n = {found['n']}, m = {found['m']}: {errors}; {times}"
