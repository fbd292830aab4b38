"""Propose edits of a nest's loops to try next, those of the most time-consuming loops first.

    n.chunks     cores          block 625, 1250, …
      n.blocks                  block 16, 32, … 1024, and chunks that are made of them
        n        jam 4          jam 1, 2, 8, 16
          p.1    parallel       vectorize 8, 16

Correctness and benefit are not decided here: the edited text is proved (`schedule.accept`), compiled and measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from aotensor.ir.location import Locations
from aotensor.ir.nest.loops import ForOp, LoopOp
from aotensor.ir.upstream import walk
from aotensor.passes.report.numbers import Numbers
from aotensor.passes.report.outline import Node, outlines
from aotensor.passes.schedule.edit import Edit, Nest

_JAMS: Final = (8, 2, 4, 16, 1)
_LANES: Final = (8, 16, 4, 32, 1)
_BLOCKS: Final = (64, 256, 16, 1024, 32, 128, 512)
_CHUNKS: Final = (4, 16, 1, 2, 8)
"""Chunks per thread to try."""
_TILES: Final = (64, 512, 128)
_LEAST_SHARE: Final = 0.02
"""Smallest share of the estimated time: other loops are not edited."""


@dataclass(frozen=True)
class Move:
    """A proposal: edits to apply together, and the share of the estimated time that their loop has."""

    edits: tuple[Edit, ...]
    share: float


def propose_edits(nest: Nest, dims: Mapping[str, int], threads: int) -> list[Move]:
    """Propose edits of the loops of a nest, the most promising first.

    dims: extents for the time estimate. threads: number of threads that will execute the nest.
    """
    facts = _Facts(nest, dims, threads)
    found = []
    for name, loop in nest.loops.items():
        share = facts.share(loop)
        if share >= _LEAST_SHARE:
            found += [Move(edits, share) for edits in _edits(facts, name, loop)]
    return sorted(found, key=lambda move: -move.share)


class _Facts:
    """Estimates for the loops of a nest at given dims."""

    def __init__(self, nest: Nest, dims: Mapping[str, int], threads: int) -> None:
        self.nest, self.threads = nest, threads
        self.names = {loop: name for name, loop in nest.loops.items()}
        function = nest.function.sym_name.data
        (outline,) = outlines(nest.module, Locations(), {function: {}}, {function: [dims]})
        nodes = {(node.op, node.position): node for node in _loops(outline.nodes)}
        counts: dict[str, int] = {}
        self._nodes: dict[LoopOp, Node | None] = {}
        self._numbers = Numbers(dims)
        for op in walk(nest.module):
            self._numbers.learn(op)
            if isinstance(op, LoopOp):
                count = counts[op.name] = counts.get(op.name, -1) + 1
                self._nodes[op] = nodes.get((op.name, count))
        self._total = sum(outline.seconds) or 1.0

    def share(self, loop: LoopOp) -> float:
        """The share of the estimated time that a loop has, from 0 to 1."""
        node = self._nodes.get(loop)
        return 0.0 if node is None else sum(node.seconds) / self._total

    def trips(self, loop: LoopOp) -> int | None:
        """The trip count of a loop, if it is known."""
        node = self._nodes.get(loop)
        return None if node is None or not node.trips else node.trips[0]

    def extent(self, loop: ForOp) -> int | None:
        """The extent of a loop over chunks or blocks."""
        return self._numbers[loop.upper]

    def chunks(self, loop: ForOp, unit: int) -> list[int]:
        """Chunk sizes that keep the threads busy, each a multiple of `unit`."""
        extent = self.extent(loop)
        if extent is None:
            return []
        sizes = (-(-extent // (count * self.threads)) for count in _CHUNKS)
        return list(dict.fromkeys(max(unit, -(-size // unit) * unit) for size in sizes))


def _edits(facts: _Facts, name: str, loop: LoopOp) -> Iterator[tuple[Edit, ...]]:
    inside = [op for op in loop.body.block.ops if isinstance(op, LoopOp)]
    goes_by_step = isinstance(loop, ForOp) and loop.step is not None
    if inside and not goes_by_step:
        for by in _JAMS:
            if by != loop.schedule.jam:
                yield (("jam", (name, by)),)
    if not isinstance(loop, ForOp):
        return
    if goes_by_step:
        yield from _sizes(facts, name, loop)
    else:
        trips = facts.trips(loop)
        for size in _TILES:
            if trips is None or size < trips:
                yield (("tile", (name, size)),)
    if not inside and not goes_by_step:
        for lanes in _LANES:
            if lanes != loop.schedule.lanes:
                yield (("vectorize", (name, lanes)),)
    if len(inside) == 1 and list(loop.body.block.ops) == inside:
        yield (("interchange", (name, facts.names[inside[0]])),)
    other = _next_loop(loop)
    if other is not None:
        yield (("fuse", (name, facts.names[other])),)


def _sizes(facts: _Facts, name: str, loop: ForOp) -> Iterator[tuple[Edit, ...]]:
    """Propose other block sizes, alone and with enclosing chunks that are multiples of them; and other chunk sizes."""
    around = loop.parent_op()
    is_chunk = isinstance(around, ForOp) and around.step is not None and around.schedule.cores
    if loop.schedule.cores:
        if not any(isinstance(op, ForOp) and op.step is not None for op in loop.body.block.ops):
            for size in facts.chunks(loop, 1):
                yield (("block", (name, size)),)
        return
    for size in _BLOCKS:
        yield (("block", (name, size)),)
        if is_chunk:
            assert isinstance(around, ForOp)
            for chunk in facts.chunks(around, size)[:2]:
                yield ("block", (name, size)), ("block", (facts.names[around], chunk))


def _next_loop(loop: LoopOp) -> ForOp | None:
    """The next loop in the same block, if only declarations are between the two loops; else None."""
    op = loop.next_op
    while op is not None and op.results and not isinstance(op, LoopOp):
        op = op.next_op
    return op if isinstance(op, ForOp) and isinstance(loop, ForOp) else None


def _loops(nodes: list[Node]) -> Iterator[Node]:
    for node in nodes:
        if node.kind == "loop":
            yield node
            yield from _loops(node.body)
