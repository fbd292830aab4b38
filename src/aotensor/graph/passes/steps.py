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
    value. is_free: it may run several times, and before or after any other free pass of its level.
    """

    name: str
    level: Level
    needed: str = ""
    options: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    is_free: bool = False


STEPS: Final = (
    Step("expand", "graph", needed="ops that are made of others, and sparse matrices, end there"),
    Step("stable-forms", "graph"),
    Step("cse", "graph", is_free=True),
    Step("merge-loops", "graph", is_free=True),
    Step("dce", "graph", is_free=True),
    Step("licm", "graph", is_free=True),
    Step("sink", "graph", is_free=True),
    Step("join-windows", "graph", is_free=True),
    Step("sink-into-branches", "graph"),
    Step("resolve-extents", "graph"),
    Step("fuse-elementwise", "graph"),
    Step("canonicalize", "tensor", is_free=True),
    Step("value-numbering", "tensor", is_free=True),
    Step("stabilize", "tensor", is_free=True),
    Step("factor-sums", "tensor", is_free=True),
    Step("read-windows", "tensor", is_free=True),
    Step("inline-reads", "tensor", is_free=True),
    Step("sum-scatters", "tensor", is_free=True),
    Step("chunk-scans", "nest"),
    Step("transpose-factors", "nest"),
    Step("lower-to-nest", "nest", needed="loops are made of nests"),
    Step("eliminate-copies", "nest"),
    Step("rematerialize", "nest"),
    Step("divide-slices", "nest"),
    Step("interchange", "nest"),
    Step("fuse", "nest", options={"max-statements": (1, 1 << 20), "reorder": (0, 1)}),
    Step("place-values", "nest"),
    Step("block-rows", "nest", options={"elements": (1, 1 << 20)}),
    Step("tile-columns", "nest", options={"prefetch-distance": (0, 1 << 20)}),
    Step("assign-memory", "nest"),
    Step("coalesce", "nest"),
    Step("row-vectors", "nest"),
    Step("jam", "nest", options={"by": (2, 16)}),
    Step("mark-parallel", "nest"),
    Step("small-matrices", "nest", options={"largest": (0, 64)}),
    Step("short-vectors", "nest"),
    Step("vectorize", "nest", options={"interleave": (2, 16)}),
    Step("tile-sweeps", "nest", options={"together": (2, 64), "window": (1, 64)}),
    Step("parallelize", "nest", options={"chunk-work": (1, 1 << 30), "most-chunks": (1, 64)}),
    Step("split-loops", "nest"),
    Step("fetch-ahead", "nest", options={"entries": (2, 1 << 20)}),
    Step("hand-over", "loops"),
    Step("emit-loops", "loops", needed="code is made of loops"),
    Step("plan-memory", "loops", needed="the entries of a library ask it for the size of the workspace"),
    Step("hint-vectors", "loops", options={"interleave": (1, 16)}),
    Step("outline-chunks", "loops"),
    Step("outline", "loops", options={"loops-together": (0, 1 << 20)}),
    Step("expand-math", "loops", needed="elementary functions get their bodies there"),
    Step("outline-math", "loops", options={"operations": (0, 1 << 30)}),
)
"""All passes; those that are not free are in the order in which they run."""

BY_NAME: Final = {step.name: step for step in STEPS}
OPTIMISATIONS: Final = tuple(step.name for step in STEPS if not step.needed)
"""Passes that may be left out."""
