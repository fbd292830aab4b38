"""Topics of remarks, by which readers group the decisions of passes."""

from __future__ import annotations

from typing import Final

TOPICS: Final = {
    "arithmetic": (
        "build", "expand", "stable-forms", "cse", "resolve-extents", "canonicalize", "value-numbering", "stabilize",
        "check-bounds", "expand-math",
    ),
    "products": ("lower-to-nest", "emit-loops", "small-matrices"),
    "loops": (
        "merge-loops", "dce", "licm", "sink", "join-windows", "sink-into-branches", "fuse-elementwise", "factor-sums",
        "read-windows", "inline-reads", "sum-scatters", "rematerialize", "divide-slices", "interchange", "fuse",
        "block-rows", "coalesce", "split-loops", "jam", "tile-sweeps",
    ),
    "memory": ("eliminate-copies", "place-values", "assign-memory", "fetch-ahead", "hand-over", "plan-memory"),
    "vectors": ("transpose-factors", "tile-columns", "row-vectors", "short-vectors", "vectorize", "hint-vectors"),
    "cores": ("chunk-scans", "mark-parallel", "parallelize"),
    "code": ("outline-chunks", "outline", "outline-math"),
}  # fmt: skip
"""Topic → passes, both in reading order."""

_OF_PASS: Final = {name: topic for topic, names in TOPICS.items() for name in names}


def topic_of(pass_name: str) -> str:
    """The topic of a pass; "other" for an unknown one, as in a library of another version."""
    return _OF_PASS.get(pass_name, "other")
