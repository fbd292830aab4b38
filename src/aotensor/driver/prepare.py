"""Graph-to-graph passes before the import into tensor IR: rewrites that are simpler on a graph than on operations.

y = composite(x)     →    y = exp(x) + 1          expand
sample(a @ b, A)     →    rows times columns      expand, by the rules of sparse/rewrites.py
two loops            →    one loop                merge-loops
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Final

from aotensor.graph.expansion import expanded_once
from aotensor.graph.op import Apply
from aotensor.graph.passes.pipeline import DEFAULT, Pipeline
from aotensor.graph.passes.run import PassRecord, Rewrite, declared, graph_pass, run_passes
from aotensor.graph.unify import unify
from aotensor.graph.variable import Variable
from aotensor.ops.elementwise.forward_shapes import forward_shapes
from aotensor.ops.elementwise.fuse import fuse_elementwise
from aotensor.ops.scan.rewrite.branches import sink_into_branches
from aotensor.ops.scan.rewrite.checkpoint import Checkpoints, checkpoint_loops
from aotensor.ops.scan.rewrite.loops import has_loops, hoist_from_loops, sink_after_loops
from aotensor.ops.scan.rewrite.merge import merge_loops
from aotensor.ops.scan.rewrite.prune import prune_loops
from aotensor.ops.scan.rewrite.simplify import tidy
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
    expanded, stop = list(outputs), dict.fromkeys(stop)  # in order, and rewrites search it for each node
    for record, expanded in run_passes(outputs, stop, [EXPAND]):
        yield record, expanded
    chosen = [_BY_NAME[one.name] for one in pipeline.at("graph") if one.name != EXPAND.name]
    if not has_loops(expanded, stop):  # a pass right after itself would find nothing
        chosen = [step for step, _ in groupby(step for step in chosen if not step.for_loops)]
    chosen = [
        replace(step, rewrite=checkpoints.rewrite) if step.rewrite is checkpoint_loops else step for step in chosen
    ]
    yield from run_passes(expanded, stop, chosen)


@graph_pass("expand", topic="arithmetic", needed="it replaces composite ops and sparse matrices")
def expand_composites(
    outputs: Sequence[Variable], stop: Collection[Variable], is_wanted: Callable[[Apply], bool] = lambda node: True
) -> list[Variable]:
    """Replaces ops that are defined by other ops, step by step; before each step it applies the sparse rewrites
    (`sparse/rewrites.py`): sampled products, no dense copies of sparse matrices.

    is_wanted: is this op replaced by its expansion (`Op.expand`)?
    """
    found, is_changed = list(outputs), True
    while is_changed:
        found, is_changed = expanded_once(rewrite_sparse(found, stop), stop, is_wanted)
    return found


GRAPH: Final[tuple[Rewrite, ...]] = (
    expand_composites, use_stable_forms, unify, merge_loops, prune_loops, checkpoint_loops, hoist_from_loops,
    sink_after_loops, hoist_from_loops, tidy, unify, prune_loops, sink_into_branches, forward_shapes, fuse_elementwise,
)  # fmt: skip
"""The passes over a graph with loops, in order."""
GRAPH_RECIPE: Final = tuple(declared(rewrite)[1] for rewrite in GRAPH)
_BY_NAME: Final = {step.name: step for step in GRAPH_RECIPE}
EXPAND: Final = _BY_NAME["expand"]
