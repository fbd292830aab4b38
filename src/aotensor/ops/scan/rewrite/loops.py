"""All rewrites of loops, in order."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from aotensor.graph.subgraph import has_subgraphs
from aotensor.graph.unify import unify
from aotensor.graph.variable import Variable
from aotensor.ops.scan.rewrite.merge import merge_loops
from aotensor.ops.scan.rewrite.prune import prune_loops


def rewrite_loops(outputs: Sequence[Variable], stop: Collection[Variable]) -> list[Variable]:
    """The graph with its loops merged, and reduced to what is read. A graph without loops stays as it is."""
    if not has_subgraphs(outputs, stop):
        return list(outputs)
    found = merge_loops(unify(outputs, stop), stop)
    return prune_loops(found, stop)
