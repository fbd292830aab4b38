"""Topics of remarks, by which readers group the decisions of passes."""

from __future__ import annotations

from typing import Final

TOPICS: Final = {
    "arithmetic": (
        "build", "expand", "stable-forms", "cse", "forward-shapes", "canonicalize", "value-numbering", "stabilize",
        "check-bounds", "expand-math",
    ),
    "products": ("lower-to-nest", "emit-loops", "small-matrices"),
    "loops": (
        "merge-loops", "dce", "licm", "sink", "join-windows", "sink-into-branches", "fuse-elementwise", "factor-sums",
        "inline-slices", "inline-producers", "scatter-to-reduction", "rematerialize", "split-by-row", "interchange",
        "fuse", "strip-mine", "coalesce", "index-set-splitting", "unroll-and-jam", "overlapped-tiling",
    ),
    "memory": ("checkpoint-loops", "eliminate-copies", "scalar-replacement", "assign-memory", "prefetch",
               "reuse-shape-results", "plan-memory"),
    "vectors": ("transpose-small-operands", "tile-columns", "vectorize-rows", "vectorize-known-trip-count", "vectorize",
                "vectorizer-hints"),
    "cores": ("tile-scan-batch", "mark-independent", "parallelize"),
    "code": ("outline-chunks", "outline", "merge-functions", "outline-math"),
}  # fmt: skip
"""Topic → passes, both in reading order."""

_OF_PASS: Final = {name: topic for topic, names in TOPICS.items() for name in names}


def topic_of(pass_name: str) -> str:
    """The topic of a pass; "other" for an unknown one, as in a library of another version."""
    return _OF_PASS.get(pass_name, "other")
