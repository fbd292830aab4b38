"""Graph to graph, before the import into tensor IR: what is easier said on a graph than on operations.

    y = composite(x)     →    y = exp(x) + 1          expand_composites
    sample(a @ b, A)     →    rows times columns      rewrite_sparse
    two loops            →    one loop                rewrite_loops

A rewrite takes outputs and the variables to stop at (the inputs), and gives outputs of the same types in the same
order. It walks without recursion, and asks `made_at` that new nodes belong to the line of the node they replace.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Final, TypeAlias

from aotensor.graph.expansion import expanded_once
from aotensor.graph.subgraph import with_bodies
from aotensor.graph.variable import Variable
from aotensor.ops.scan.rewrite.loops import rewrite_loops
from aotensor.sparse.rewrites import rewrite_sparse

Rewrite: TypeAlias = Callable[[Sequence[Variable], Collection[Variable]], list[Variable]]


def prepare(outputs: Sequence[Variable], stop: Collection[Variable]) -> list[Variable]:
    """`outputs` as they are compiled: every rewrite, in order.

    stop: the inputs; what is behind them stays as it is.

    Raises: GraphError from typing rules of the ops that come in.
    """
    found = list(outputs)
    for rewrite in REWRITES:
        found = rewrite(found, stop)
    return found


def expand_composites(outputs: Sequence[Variable], stop: Collection[Variable]) -> list[Variable]:
    """Ops that are made of other ops (`Op.expand`) give way to these, and so do the composites among these.

    Before each step down sparse matrices are seen as such, and `rewrite_sparse` has its turn. The same inside of the
    bodies of loops.
    """
    found, is_changed = list(outputs), True
    while is_changed:
        found, is_changed = expanded_once(rewrite_sparse(found, stop), stop)
    return with_bodies(found, stop, lambda body: expand_composites(body.outputs, body.inputs))


REWRITES: Final[tuple[Rewrite, ...]] = (expand_composites, rewrite_loops)
"""In the order in which they run."""
