"""Graph-to-graph passes before the import into tensor IR: rewrites that are simpler on a graph than on operations.

y = composite(x)     →    y = exp(x) + 1          expand
sample(a @ b, A)     →    rows times columns      expand, by the rules of sparse/rewrites.py
two loops            →    one loop                merge-loops
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import groupby
from typing import Final

from aotensor.graph.expansion import expanded_once
from aotensor.graph.op import Apply
from aotensor.graph.passes.pipeline import DEFAULT, Pipeline
from aotensor.graph.passes.run import GraphPass, PassRecord, run_passes
from aotensor.graph.unify import unify
from aotensor.graph.variable import Variable
from aotensor.ops.elementwise.forward_shapes import forward_shapes
from aotensor.ops.elementwise.fuse import fuse_elementwise
from aotensor.ops.scan.rewrite.branches import sink_into_branches
from aotensor.ops.scan.rewrite.checkpoint import Checkpoints
from aotensor.ops.scan.rewrite.loops import has_loops, hoist_from_loops, sink_behind_loops
from aotensor.ops.scan.rewrite.merge import merge_loops
from aotensor.ops.scan.rewrite.prune import prune_loops
from aotensor.ops.scan.rewrite.tidy import tidy
from aotensor.ops.stable.forms import use_stable_forms
from aotensor.sparse.rewrites import rewrite_sparse


def prepare(outputs: Sequence[Variable], stop: Collection[Variable]) -> list[Variable]:
    """`outputs` after every graph pass, ready to be imported into tensor IR.

    stop: the inputs; the graph that computes them is not changed.

    Raises: GraphError from typing rules of the ops that rewrites introduce.
    """
    *_, (_, found) = passes_over(outputs, stop)
    return found


def passes_over(
    outputs: Sequence[Variable],
    stop: Collection[Variable],
    pipeline: Pipeline = DEFAULT,
    checkpoints: Checkpoints = Checkpoints(),  # noqa: B008 (frozen)
) -> Iterator[tuple[PassRecord, list[Variable]]]:
    """Run the graph passes: (their records, the outputs); loop passes run only on graphs with loops.

    checkpoints: how `checkpoint-loops` divides loops.
    """
    expanded = list(outputs)
    for record, expanded in run_passes(outputs, stop, [EXPAND]):
        yield record, expanded
    chosen = [_BY_NAME[one.name] for one in pipeline.at("graph") if one.name != EXPAND.name]
    if not has_loops(expanded, stop):  # a pass right after itself would find nothing
        chosen = [step for step, _ in groupby(step for step in chosen if step not in LOOP_PASSES)]
    chosen = [GraphPass(step.name, checkpoints.rewrite) if step is CHECKPOINT else step for step in chosen]
    yield from run_passes(expanded, stop, chosen)


def expand_composites(
    outputs: Sequence[Variable], stop: Collection[Variable], is_wanted: Callable[[Apply], bool] = lambda node: True
) -> list[Variable]:
    """Replace composite ops that `is_wanted` selects by their expansions (`Op.expand`), repeatedly.

    Before each expansion `rewrite_sparse` runs, while ops on sparse matrices are still whole.
    """
    found, is_changed = list(outputs), True
    while is_changed:
        found, is_changed = expanded_once(rewrite_sparse(found, stop), stop, is_wanted)
    return found


EXPAND: Final = GraphPass("expand", expand_composites)
CHECKPOINT: Final = GraphPass("checkpoint-loops", Checkpoints().rewrite)
"""It leaves all loops as they are without a bound of memory."""
LOOP_PASSES: Final = (
    CHECKPOINT,
    GraphPass("merge-loops", merge_loops),
    GraphPass("dce", prune_loops),
    GraphPass("licm", hoist_from_loops),
    GraphPass("sink", sink_behind_loops),
    GraphPass("join-windows", tidy),
    GraphPass("sink-into-branches", sink_into_branches),
)
"""Passes about loops and branches."""
_BY_NAME: Final = {
    step.name: step
    for step in (
        EXPAND,
        *LOOP_PASSES,
        GraphPass("stable-forms", use_stable_forms),
        GraphPass("cse", unify),
        GraphPass("forward-shapes", forward_shapes),
        GraphPass("fuse-elementwise", fuse_elementwise, bodies_first=True),
    )
}
GRAPH_RECIPE: Final = tuple(_BY_NAME[one.name] for one in DEFAULT.at("graph"))
"""Passes over a graph with loops, in order."""
