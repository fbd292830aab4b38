"""The table of passes, written by `python docs/build.py` from their declarations.

Imports the standard library only: the command line imports this module alone (`aotensor_cli/commands/names.py`).
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

Level: TypeAlias = Literal["graph", "tensor", "nest", "loops"]
Row: TypeAlias = tuple[str, Level, str, str, str, bool, dict[str, tuple[int, int, bool]]]
"""Name, level, topic of remarks, why it is required, former name, is it free, option → least, most, is it a power."""

# fmt: off
ROWS: Final[tuple[Row, ...]] = (
    ("expand", "graph", "arithmetic", "it replaces composite ops and sparse matrices", "", False, {}),
    ("stable-forms", "graph", "arithmetic", "", "", False, {}),
    ("cse", "graph", "arithmetic", "", "", True, {}),
    ("merge-loops", "graph", "loops", "", "", True, {}),
    ("dce", "graph", "loops", "", "", True, {}),
    ("checkpoint-loops", "graph", "memory", "", "", True, {}),
    ("licm", "graph", "loops", "", "", True, {}),
    ("sink", "graph", "loops", "", "", True, {}),
    ("join-windows", "graph", "loops", "", "", True, {}),
    ("sink-into-branches", "graph", "loops", "", "", False, {}),
    ("forward-shapes", "graph", "arithmetic", "", "resolve-extents", False, {}),
    ("fuse-elementwise", "graph", "loops", "", "", False, {}),
    ("canonicalize", "tensor", "arithmetic", "", "", True, {}),
    ("value-numbering", "tensor", "arithmetic", "", "", True, {}),
    ("stabilize", "tensor", "arithmetic", "", "", True, {}),
    ("factor-sums", "tensor", "loops", "", "", True, {}),
    ("eliminate-fills", "tensor", "memory", "", "", True, {}),
    ("inline-slices", "tensor", "loops", "", "read-windows", True, {}),
    ("inline-producers", "tensor", "loops", "", "inline-reads", True, {}),
    ("scatter-to-reduction", "tensor", "loops", "", "sum-scatters", True, {}),
    ("tile-scan-batch", "nest", "cores", "", "chunk-scans", False, {}),
    ("transpose-small-operands", "nest", "vectors", "", "transpose-factors", False, {}),
    ("fold-constant-copies", "nest", "memory", "", "", False, {}),
    ("lower-to-nest", "nest", "products", "it makes the nests that all later passes rewrite", "", False, {}),
    ("eliminate-copies", "nest", "memory", "", "", False, {}),
    ("rematerialize", "nest", "loops", "", "", False, {}),
    ("split-by-row", "nest", "loops", "", "divide-slices", False, {}),
    ("interchange", "nest", "loops", "", "", False, {}),
    ("fuse", "nest", "loops", "", "", False, {"max-statements": (1, 1048576, False), "reorder": (0, 1, False)}),
    ("scalar-replacement", "nest", "memory", "", "place-values", False, {}),
    ("strip-mine", "nest", "loops", "", "block-rows", False, {"elements": (1, 1048576, False)}),
    ("tile-columns", "nest", "vectors", "", "", False, {"prefetch-distance": (0, 1048576, False)}),
    ("assign-memory", "nest", "memory", "", "", False, {}),
    ("coalesce", "nest", "loops", "", "", False, {}),
    ("vectorize-rows", "nest", "vectors", "", "row-vectors", False, {}),
    ("unroll-and-jam", "nest", "loops", "", "jam", False, {"by": (2, 16, False)}),
    ("mark-independent", "nest", "cores", "", "mark-parallel", False, {}),
    ("small-matrices", "nest", "products", "", "", False, {"largest": (0, 64, False)}),
    ("vectorize-known-trip-count", "nest", "vectors", "", "short-vectors", False, {}),
    ("vectorize", "nest", "vectors", "", "", False, {"interleave": (2, 16, True)}),
    ("overlapped-tiling", "nest", "loops", "", "tile-sweeps", False, {"together": (2, 64, False), "window": (1, 64,
     False)}),
    ("parallelize", "nest", "cores", "", "", False, {"chunk-work": (1, 1073741824, False), "most-chunks": (1, 64,
     False)}),
    ("index-set-splitting", "nest", "loops", "", "split-loops", False, {}),
    ("prefetch", "nest", "memory", "", "fetch-ahead", False, {"entries": (2, 1048576, False)}),
    ("select-by-blocks", "nest", "loops", "", "", False, {}),
    ("reuse-shape-results", "loops", "memory", "", "hand-over", False, {}),
    ("emit-loops", "loops", "products", "it makes the loops that code is generated from", "", False, {}),
    ("plan-memory", "loops", "memory", "it computes the size of the workspace, which the entries of a library need",
     "", False, {}),
    ("vectorizer-hints", "loops", "vectors", "", "hint-vectors", False, {"interleave": (1, 16, True)}),
    ("outline-chunks", "loops", "code", "", "", False, {}),
    ("outline", "loops", "code", "", "", False, {"loops-together": (0, 1048576, False)}),
    ("merge-functions", "loops", "code", "", "", False, {}),
    ("vectorize-functions", "loops", "vectors", "", "", False, {}),
    ("expand-math", "loops", "arithmetic", "it gives elementary functions their bodies", "", False, {}),
    ("outline-math", "loops", "code", "", "", False, {"operations": (0, 1073741824, False)}),
)
ORDER: Final = (
    "expand", "stable-forms", "cse", "merge-loops", "dce", "checkpoint-loops", "licm", "sink", "licm", "join-windows",
     "cse", "dce", "sink-into-branches", "forward-shapes", "fuse-elementwise",
    "canonicalize", "value-numbering", "stabilize", "canonicalize", "factor-sums", "eliminate-fills", "inline-slices",
     "inline-producers", "scatter-to-reduction", "canonicalize",
    "tile-scan-batch", "transpose-small-operands", "fold-constant-copies", "lower-to-nest", "eliminate-copies",
     "rematerialize", "split-by-row", "interchange", "fuse", "scalar-replacement", "strip-mine", "tile-columns",
     "assign-memory", "coalesce", "vectorize-rows", "unroll-and-jam", "mark-independent", "small-matrices",
     "vectorize-known-trip-count", "vectorize", "overlapped-tiling", "parallelize", "index-set-splitting", "prefetch",
     "select-by-blocks",
    "reuse-shape-results", "emit-loops", "plan-memory", "vectorizer-hints", "outline-chunks", "outline",
     "merge-functions", "vectorize-functions", "expand-math", "outline-math",
)
