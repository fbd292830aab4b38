"""Work on a block of rows at a time where a fused loop mixes inner loops with elementary functions of single rows.

    for i:                              for block of rows:
      z = Σ_k X[i,k]·w[k]                 for i in block: z[i] = Σ_k X[i,k]·w[k]
      r = sigmoid(z)·y[i]         →       for i in block: r[i] = sigmoid(z[i])·y[i]      (vectorised)
      for k: g[k] += X[i,k]·r             for i in block: for k: g[k] += X[i,k]·r[i]

The rows of a block stay in cache from the first phase to the last, so memory is still read once; the elementary
functions run over whole vectors. Strip-mining and loop distribution, as in Allen & Kennedy (2001), chapter 9.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func, math

from aotensor.ir.loop_builder import LoopBuilder
from aotensor.ir.verbs import Extent
from aotensor.passes.loops.fuse_loops import Leaf, Loop, Node
from aotensor.passes.loops.storage import Storage
from aotensor.passes.target import Target


def block_rows(nodes: Sequence[Node], storage: Storage) -> list[Node]:
    """The same nodes, with top-level loops distributed over blocks where it pays and no value larger than a scalar
    per row crosses from one phase to another."""
    return [_blocked(n) if isinstance(n, Loop) and _is_mixed(n) and _crosses_scalars(n, storage) else n for n in nodes]


def _is_mixed(loop: Loop) -> bool:
    """True if innermost loops and calls of elementary functions stand side by side."""
    inner = [node for node in loop.body if isinstance(node, Loop)]
    if not inner or any(isinstance(child, Loop) for node in inner for child in node.body):
        return False
    return any(isinstance(node, Leaf) and _is_expensive(node) for node in loop.body)


def _is_expensive(leaf: Leaf) -> bool:
    cheap = (math.AbsFOp, math.FloorOp, math.CeilOp, math.CopySignOp)
    return any(
        isinstance(op, func.CallOp) or (op.name.startswith("math.") and not isinstance(op, cheap))
        for op in leaf.statement.body.ops
    )


def _crosses_scalars(loop: Loop, storage: Storage) -> bool:
    """True if no buffer holds a part of one row only: it would have to grow to a block of rows."""
    return not any(
        r.in_memory and r.shared > 0 and loop in storage.paths[s][: r.shared] and not storage.is_whole(r)
        for s in loop.dims
        for r in (storage.results[x] for x, _ in s.writes)
    )


def _blocked(loop: Loop) -> Loop:
    phases: list[Loop] = []
    for node in loop.body:
        kind = Loop if isinstance(node, Loop) else Leaf
        if not phases or not isinstance(phases[-1].body[0], kind):
            phases.append(Loop(loop.extent, {}))
        phases[-1].body.append(node)
        members = node.dims if isinstance(node, Loop) else [node.statement] if isinstance(node, Leaf) else []
        phases[-1].dims.update({s: loop.dims[s] for s in members})
    return Loop(loop.extent, loop.dims, list(phases), phases)


def block_size(b: LoopBuilder, inner: Extent, target: Target) -> Extent:
    """Rows per block, for rows of `inner` elements: a multiple of the smallest block."""
    rows = b.ifloordiv(target.block_elements, b.imax(inner, 1))
    whole = b.imul(b.ifloordiv(rows, target.smallest_block), target.smallest_block)
    return b.imax(target.smallest_block, b.imin(whole, target.largest_block))
