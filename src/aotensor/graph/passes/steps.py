"""The table of passes: level, options, and for required passes the reason.

Imports the standard library only: the command line imports this module alone (`aotensor_cli/commands/names.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

Level: TypeAlias = Literal["graph", "tensor", "nest", "loops"]
LEVELS: Final[tuple[Level, ...]] = ("graph", "tensor", "nest", "loops")


@dataclass(frozen=True)
class Step:
    """A pass in the table of passes.

    needed: why it is required, "" for an optimisation. options: names with their least and largest
    value. powers: options that are powers of two. is_free: it may run several times, and before or
    after any other free pass of its level.
    """

    name: str
    level: Level
    needed: str = ""
    options: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    powers: frozenset[str] = frozenset()
    is_free: bool = False


STEPS: Final = (
    Step("expand", "graph", needed="ops that are made of others, and sparse matrices, end there"),
    Step("stable-forms", "graph"),
    Step("cse", "graph", is_free=True),
    Step("merge-loops", "graph", is_free=True),
    Step("dce", "graph", is_free=True),
    Step("checkpoint-loops", "graph", is_free=True),
    Step("licm", "graph", is_free=True),
    Step("sink", "graph", is_free=True),
    Step("join-windows", "graph", is_free=True),
    Step("sink-into-branches", "graph"),
    Step("forward-shapes", "graph"),
    Step("fuse-elementwise", "graph"),
    Step("canonicalize", "tensor", is_free=True),
    Step("value-numbering", "tensor", is_free=True),
    Step("stabilize", "tensor", is_free=True),
    Step("factor-sums", "tensor", is_free=True),
    Step("inline-slices", "tensor", is_free=True),
    Step("inline-producers", "tensor", is_free=True),
    Step("scatter-to-reduction", "tensor", is_free=True),
    Step("tile-scan-batch", "nest"),
    Step("transpose-small-operands", "nest"),
    Step("lower-to-nest", "nest", needed="loops are made of nests"),
    Step("eliminate-copies", "nest"),
    Step("rematerialize", "nest"),
    Step("split-by-row", "nest"),
    Step("interchange", "nest"),
    Step("fuse", "nest", options={"max-statements": (1, 1 << 20), "reorder": (0, 1)}),
    Step("scalar-replacement", "nest"),
    Step("strip-mine", "nest", options={"elements": (1, 1 << 20)}),
    Step("tile-columns", "nest", options={"prefetch-distance": (0, 1 << 20)}),
    Step("assign-memory", "nest"),
    Step("coalesce", "nest"),
    Step("vectorize-rows", "nest"),
    Step("unroll-and-jam", "nest", options={"by": (2, 16)}),
    Step("mark-independent", "nest"),
    Step("small-matrices", "nest", options={"largest": (0, 64)}),
    Step("vectorize-known-trip-count", "nest"),
    Step("vectorize", "nest", options={"interleave": (2, 16)}, powers=frozenset({"interleave"})),
    Step("overlapped-tiling", "nest", options={"together": (2, 64), "window": (1, 64)}),
    Step("parallelize", "nest", options={"chunk-work": (1, 1 << 30), "most-chunks": (1, 64)}),
    Step("index-set-splitting", "nest"),
    Step("prefetch", "nest", options={"entries": (2, 1 << 20)}),
    Step("reuse-shape-results", "loops"),
    Step("emit-loops", "loops", needed="code is made of loops"),
    Step("plan-memory", "loops", needed="the entries of a library ask it for the size of the workspace"),
    Step("vectorizer-hints", "loops", options={"interleave": (1, 16)}, powers=frozenset({"interleave"})),
    Step("outline-chunks", "loops"),
    Step("outline", "loops", options={"loops-together": (0, 1 << 20)}),
    Step("merge-functions", "loops"),
    Step("expand-math", "loops", needed="elementary functions get their bodies there"),
    Step("outline-math", "loops", options={"operations": (0, 1 << 30)}),
)
"""All passes; those that are not free are in the order in which they run."""

BY_NAME: Final = {step.name: step for step in STEPS}
OPTIMISATIONS: Final = tuple(step.name for step in STEPS if not step.needed)
"""Passes that may be left out."""

OTHERS: Final = ("build", "check-bounds")
"""What gives remarks and is not in a pipeline."""

RENAMED: Final = {
    "block-rows": "strip-mine",
    "chunk-scans": "tile-scan-batch",
    "divide-slices": "split-by-row",
    "fetch-ahead": "prefetch",
    "hand-over": "reuse-shape-results",
    "hint-vectors": "vectorizer-hints",
    "inline-reads": "inline-producers",
    "jam": "unroll-and-jam",
    "mark-parallel": "mark-independent",
    "place-values": "scalar-replacement",
    "read-windows": "inline-slices",
    "resolve-extents": "forward-shapes",
    "row-vectors": "vectorize-rows",
    "short-vectors": "vectorize-known-trip-count",
    "split-loops": "index-set-splitting",
    "sum-scatters": "scatter-to-reduction",
    "tile-sweeps": "overlapped-tiling",
    "transpose-factors": "transpose-small-operands",
}
"""Names of passes in version 0.1 → those since 0.2, for the error that an old name gives."""


def unknown_pass(name: str) -> tuple[str, str | None]:
    """(error message for an unknown name of a pass, hint with the new name if the pass was renamed)."""
    new = RENAMED.get(name)
    return f"there is no pass {name[:60]!r}", f"since version 0.2 it is called {new}" if new else None
