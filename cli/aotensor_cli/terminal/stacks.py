"""A profile in the formats of other tools: folded stacks (flamegraph.pl, inferno), and speedscope's JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Final

from aotensor.api.profiling.line_table import Place
from aotensor.api.profiling.measure import Profile

_SCHEMA: Final = "https://www.speedscope.app/file-format-schema.json"


def stacks(profiles: Iterable[Profile]) -> list[tuple[tuple[str, ...], int]]:
    """Stack frames (function, line, derivative or not, kernel) → nanoseconds of processor time."""
    found = []
    for profile in profiles:
        for (owner, kernel), weight in sorted(profile.charged.kernels.items(), key=lambda x: -x[1]):
            frames = [profile.function]
            if isinstance(owner, Place):
                frames += [f"{owner.file}:{owner.line}", *(["derivative"] if owner.is_derivative else [])]
            else:
                frames.append(owner)
            found.append(((*frames, *([kernel] if kernel else [])), weight))
    return found


def folded(profiles: Iterable[Profile]) -> str:
    """A line for each stack: `f;model.py:8;derivative 1234`, in microseconds."""
    rows = [(";".join(frames), weight // 1000) for frames, weight in stacks(profiles)]
    return "".join(f"{text} {weight}\n" for text, weight in rows if weight)


def speedscope(profiles: Sequence[Profile]) -> str:
    """A file that https://www.speedscope.app shows, one profile for each function."""
    numbers: dict[str, int] = {}
    made = []
    for profile in profiles:
        rows = stacks([profile])
        samples = [[numbers.setdefault(frame, len(numbers)) for frame in frames] for frames, _ in rows]
        weights = [weight for _, weight in rows]
        made.append({
            "type": "sampled", "name": profile.function, "unit": "nanoseconds", "startValue": 0,
            "endValue": sum(weights), "samples": samples, "weights": weights,
        })  # fmt: skip
    tree = {
        "$schema": _SCHEMA, "name": "aotensor profile", "exporter": "aotensor",
        "shared": {"frames": [_frame(name) for name in numbers]}, "profiles": made,
    }  # fmt: skip
    return json.dumps(tree, indent=1) + "\n"


def _frame(name: str) -> dict[str, str | int]:
    file, _, line = name.rpartition(":")
    return {"name": name, "file": file, "line": int(line)} if file and line.isdecimal() else {"name": name}
