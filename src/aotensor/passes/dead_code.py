"""Erasing operations whose results nothing uses."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Block, Operation
from xdsl.transforms.dead_code_elimination import would_be_trivially_dead


def erase_dead(block: Block, has_no_effect: Callable[[Operation], bool] = would_be_trivially_dead) -> None:
    """Erase operations without effect whose results nothing uses, last ones first, in regions too.

    has_no_effect: may an operation go if nothing uses its results? One way through is enough, as uses stand behind
    what they use; xDSL's own pass asks every operation again until nothing changes, which takes ten times as long.
    """
    op = block.last_op
    while op is not None:
        before = op.prev_op
        for region in op.regions:
            for inner in region.blocks:
                erase_dead(inner, has_no_effect)
        if not any(result.first_use for result in op.results) and _is_worth_a_look(op) and has_no_effect(op):
            op.detach()
            op.erase()
        op = before


def _is_worth_a_look(op: Operation) -> bool:
    """Of loops without results, only those in which nothing is left: to ask one for its effects is to ask all in it."""
    blocks = [block for region in op.regions for block in region.blocks]
    return bool(op.results) or (bool(blocks) and all(block.first_op is block.last_op for block in blocks))
