"""Erase operations without side effects whose results are unused."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Block, Operation
from xdsl.transforms.dead_code_elimination import would_be_trivially_dead


def erase_dead(block: Block, has_no_effect: Callable[[Operation], bool] = would_be_trivially_dead) -> None:
    """Erase operations without side effects whose results are unused, also in regions, from the last one to the first.

    has_no_effect: may an operation be erased if its results are unused? One backward sweep is enough, as uses come
    after definitions; xDSL's own pass visits every operation again until nothing changes, which takes ten times as
    long.
    """
    op = block.last_op
    while op is not None:
        before = op.prev_op
        for region in op.regions:
            for inner in region.blocks:
                erase_dead(inner, has_no_effect)
        if not any(result.first_use for result in op.results) and _may_be_dead(op) and has_no_effect(op):
            op.detach()
            op.erase()
        op = before


def _may_be_dead(op: Operation) -> bool:
    """False for loops without results unless their body is empty: a query of a loop's effects visits its whole body."""
    blocks = [block for region in op.regions for block in region.blocks]
    return bool(op.results) or (bool(blocks) and all(block.first_op is block.last_op for block in blocks))
