"""Checkpoint loops: store states between segments of steps, and recompute what a backward loop reads of a segment.

    h = scan(f, x, h₀)                        c = scan over segments(f for each step, c of segment s)
    g = reversed scan(f′, h, g₀)      →       g = reversed scan over segments(
                                                    h = scan(f, x of the segment, c of the segment)
                                                    reversed scan(f′, h, g) )

n steps in segments of k: n/k states and k steps of values are in memory instead of n steps. With further levels, each
segment is divided in the same way. A level costs one more forward pass (Griewank and Walther, Evaluating Derivatives,
chapter 12). Loops read each other in any order of directions, as second derivatives need: all loops of a group
have the same segments, and a segment of one recomputes the segments of all loops that it reads.
Steps that are left over, fewer than k, are a loop of their own after the segments.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import TensorType
from aotensor.graph.op import Apply
from aotensor.graph.passes.remarks import missed
from aotensor.graph.passes.run import graph_pass
from aotensor.graph.site import variables_at
from aotensor.graph.subgraph import Subgraph
from aotensor.graph.variable import Variable, Variables, constant
from aotensor.graph.walk import toposort
from aotensor.ops.elementwise.arithmetic import maximum
from aotensor.ops.ranges import arange
from aotensor.ops.scan.extents import rebuilt
from aotensor.ops.scan.op import Scan
from aotensor.ops.scan.rewrite.groups import Group, groups_of, report_segments, without_conditions
from aotensor.ops.scan.rewrite.lengths import Extents, Lengths
from aotensor.ops.scan.rewrite.prune import rest_of_last_row
from aotensor.ops.scan.rewrite.stopping import segment_stopping
from aotensor.ops.scan.rows import SegmentRows
from aotensor.ops.shape.axes import shape_padleft
from aotensor.ops.shape.extents import SymbolicExtent, as_extent, extents_of
from aotensor.ops.shape.join import concatenate
from aotensor.ops.shape.reshape import reshape


@frozen_dataclass
class Checkpoints:
    """Options of the pass `checkpoint-loops`.

    levels: how often segments are divided, 0 for not at all. extents: of the inputs, where their types leave them open:
    lengths of segments are chosen for these. is_exact: sums over steps are added in the order of the steps.
    """

    levels: int = 0
    extents: Mapping[Variable, Extents] = field(default_factory=dict)
    is_exact: bool = False

    def rewrite(self, outputs: Sequence[Variable], stop: Collection[Variable]) -> list[Variable]:
        """The graph with the values of forward steps recomputed segment by segment, in all loops that others read."""
        if not self.levels:
            return list(outputs)
        segmented = segment_stopping(outputs, stop, self.levels)
        found = without_conditions(segmented, stop)
        groups = groups_of(found, stop)
        if not groups:
            return segmented
        lengths = Lengths(self.extents, stop, found, self.levels)
        chosen = {}
        for group in groups:
            segments = lengths.segments(group)
            if segments:
                report_segments(group.loops[0], segments, len(group.dropped))
                chosen[id(group)] = segments
            elif segments is None:
                missed("loop {} stores its values: its trip count depends on values", group.loops[0])
        kept = [group for group in groups if id(group) in chosen]
        return _rewritten(found, stop, [(group, chosen[id(group)]) for group in kept], self.is_exact)


@graph_pass("checkpoint-loops", topic="memory", reference="howto/memory.md", is_free=True, for_loops=True)
def checkpoint_loops(outputs: Sequence[Variable], stop: Collection[Variable]) -> list[Variable]:
    """With a bound of memory: stores states between segments of steps, and recomputes what a backward loop reads of a
    segment.

    This function has no bound, so it leaves all loops as they are; `driver/prepare.py` runs `Checkpoints.rewrite`.
    """
    return Checkpoints().rewrite(outputs, stop)


def _rewritten(
    outputs: Sequence[Variable],
    stop: Collection[Variable],
    groups: Sequence[tuple[Group, Sequence[int]]],
    is_exact: bool,
) -> list[Variable]:
    known: dict[Variable, Variable] = {}
    members: dict[Apply, _Segments] = {}
    ends: dict[Apply, _Segments] = {}
    for group, segments in groups:
        steps = _Segments(group, segments, known, is_exact)
        members.update(dict.fromkeys(group.loops, steps))
        ends.update(dict.fromkeys(group.last_rows, steps))
    for node in toposort(outputs, stop=stop):
        if node in members:
            with variables_at(node.outputs[0].site):
                members[node].add(node)
        elif node in ends:
            x, *symbols = node.inputs
            with variables_at(node.outputs[0].site):
                row = ends[node].last[x]
                known[node.outputs[0]] = rest_of_last_row(node, row, [known.get(s, s) for s in symbols])
        else:
            known.update(rebuilt(node, known))
    found = [known.get(x, x) for x in outputs]
    rests = {steps.rest_symbol: steps.lengths[1:] for steps in members.values() if steps.divides_rest}
    if not rests:
        return found
    deeper = [(one, rests.get(one.loops[0].inputs[0])) for one in groups_of(found, stop)]
    return _rewritten(found, stop, [(one, lengths) for one, lengths in deeper if lengths], is_exact)


@dataclass
class _Segments:
    """The loops of a group, rebuilt one after the other.

    lengths: steps of a segment at each level. known: variables of the graph → their replacements; those of a rebuilt
    loop are added.
    """

    group: Group
    lengths: Sequence[int]
    known: dict[Variable, Variable]
    is_exact: bool
    states: dict[Apply, list[Variable]] = field(default_factory=dict)
    """Loop → its states before each segment, (segments, …)."""
    rest_rows: dict[Variable, Variable] = field(default_factory=dict)
    """Value that is not stored → its rows of the steps after the last segment."""
    last: dict[Variable, Variable] = field(default_factory=dict)
    """State that is not stored → its value after the last step."""

    @cached_property
    def length(self) -> int:
        """The steps of a segment."""
        return self.lengths[0]

    @cached_property
    def steps(self) -> SymbolicExtent:
        """The trip count of the loops."""
        x = self.group.loops[0].inputs[0]
        return as_extent(self.known.get(x, x))

    @cached_property
    def count(self) -> SymbolicExtent:
        """The number of segments; steps remain unless it is known that none do, so that 0 steps are seen."""
        if isinstance(self.steps, int):
            return self.steps // self.length
        return maximum(self.steps - 1, constant(0, dtype="int64")) // self.length

    @cached_property
    def rest(self) -> SymbolicExtent:
        """The number of steps after the last segment."""
        return self.steps - self.count * self.length

    @property
    def has_rest(self) -> bool:
        """May there be steps after the last segment?"""
        return not isinstance(self.rest, int) or self.rest > 0

    @property
    def divides_rest(self) -> bool:
        """Are the steps after the last segment divided into segments of the next level?"""
        return len(self.lengths) > 1 and (not isinstance(self.rest, int) or self.rest > self.lengths[1])

    @cached_property
    def rest_symbol(self) -> Variable:
        """An int64 symbol for the number of steps after the last segment, the trip count of the loops that run them."""
        return _symbol(self.rest)

    def add(self, node: Apply) -> None:
        """Rebuild a loop."""
        op = node.op
        assert isinstance(op, Scan)
        plain, places = _unstacked(op)
        initial = [self._known(x) for x in op.operands(node.inputs).initial]
        states = [x if depth > 1 else x[0] for x, depth in zip(initial, op.depths, strict=True)]
        parts: list[list[Variable]] = []
        order = [self._run_segments, *([self._run_rest] if self.has_rest else [])]
        for run in order[::-1] if op.is_reversed else order:
            states, mapped = run(node, plain, states)
            parts.append(mapped)
        if op.is_reversed:
            parts.reverse()
        last = [x[-1] if depth > 1 else x for x, depth in zip(states, op.depths, strict=True)]
        first = len(op.taps)
        for position, (x, place) in enumerate(zip(node.outputs, places, strict=True)):
            if place < first:
                self.known[x] = last[position]
            elif x not in self.group.dropped:
                pieces = [mapped[place - first] for mapped in parts]
                self.known[x] = concatenate(pieces, 0) if len(pieces) > 1 else pieces[0]
            else:
                self.last.update({x: last[position]} if position < first else {})
                self.rest_rows.update({x: parts[1][place - first]} if self.has_rest else {})

    def _known(self, x: Variable) -> Variable:
        return self.known.get(x, x)

    def _run_segments(self, node: Apply, op: Scan, states: list[Variable]) -> tuple[list[Variable], list[Variable]]:
        """The states after all segments, and the rows of all mapped values, (segments * length, …)."""
        is_read = any(x in self.group.dropped for x in node.outputs)
        body = _SegmentBody(self)
        slots = [Variable(x.tensor_type, name=x.name) for x in states]
        inner = op.results(body.loop(node, slots).outputs)
        news = _next_states(op, slots, inner.states, inner.mapped)
        outputs = [*news, *(slots if is_read else []), *inner.mapped]
        inputs = [*body.rows.values(), *slots, *body.fixed.values()]
        if len(self.lengths) > 1:
            deeper = [(group, list(self.lengths[1:])) for group in groups_of(outputs, inputs)]
            outputs = _rewritten(outputs, inputs, deeper, self.is_exact)
        loop = replace(
            op,
            body=Subgraph(tuple(inputs), tuple(outputs)),
            sequences=len(body.rows),
            taps=((-1,),) * len(states),
            is_stacked=(False,) * len(states),
            mapped=len(outputs) - len(states),
            is_frugal=True,
            needs_step=False,
            is_segment=True,
        )
        found = loop.apply(
            _symbol(self.count), *body.rows, *map(shape_padleft, states), *map(self._known, body.fixed)
        ).outputs
        mapped = list(found[len(states) :])
        if is_read:
            self.states[node] = mapped[: len(states)]
            mapped = mapped[len(states) :]
        return list(found[: len(states)]), [self._merge_axes(x) for x in mapped]

    def _run_rest(self, node: Apply, op: Scan, states: list[Variable]) -> tuple[list[Variable], list[Variable]]:
        """The states after the steps that follow the last segment, and the rows of all mapped values of these steps."""
        given = op.operands(node.inputs)
        start = self.count * self.length
        rows = [
            self.rest_rows[x] if x in self.group.dropped else self._known(x)[start : self.steps]
            for x in given.sequences
        ]
        needs_step = op.needs_step or node in self.group.ends
        loop = replace(
            op,
            is_segment=not self.divides_rest,
            is_frugal=op.is_frugal or self.is_exact,
            needs_step=needs_step,
        )
        initial = [x if depth > 1 else shape_padleft(x) for x, depth in zip(states, op.depths, strict=True)]
        inputs = [self.rest_symbol, *rows, *initial, *map(self._known, given.constants)]
        found = loop.results(loop.apply(*inputs).outputs)
        return _next_states(op, states, found.states, found.mapped), found.mapped

    def chunks(self, x: Variable) -> Variable | None:
        """Reshape (steps, …) → (segments, length, …) without a copy; None where steps remain."""
        x = self._known(x)
        return None if self.has_rest else reshape(x, [self.count, self.length, *extents_of(x)[1:]])

    @cached_property
    def starts(self) -> Variable:
        """The number of the first step of each segment.   (segments,)"""
        return arange(self.count) * constant(self.length, dtype="int64")

    def _merge_axes(self, x: Variable) -> Variable:
        """Merge the axes of segments and steps: (segments, length, …) → (segments * length, …)."""
        return reshape(x, [self.count * self.length, *extents_of(x)[2:]])


class _SegmentBody:
    """The loops of one segment. rows: whole values → symbols, one row per segment. fixed: outer values → symbols."""

    def __init__(self, segments: _Segments) -> None:
        self.segments = segments
        self.rows: dict[Variable, Variable] = {}
        self.fixed: dict[Variable, Variable] = {}
        self._whole: dict[Variable, Variable] = {}
        self._loops: dict[Apply, Apply] = {}

    def loop(self, node: Apply, states: Sequence[Variable]) -> Apply:
        """A loop over the steps of the segment.   states: values before the segment"""
        op, _ = _unstacked(node.op)  # type: ignore[arg-type]
        given = op.operands(node.inputs)
        is_last = len(self.segments.lengths) == 1
        inner = replace(op, is_segment=is_last, is_frugal=op.is_frugal or self.segments.is_exact, needs_step=False)
        initial = [x if depth > 1 else shape_padleft(x) for x, depth in zip(states, op.depths, strict=True)]
        rows, fixed = map(self._sequence, given.sequences), map(self._constant, given.constants)
        return inner.apply(constant(self.segments.length, dtype="int64"), *rows, *initial, *fixed)

    def _sequence(self, x: Variable) -> Variable:
        """The rows of a sequence in the segment: read if they are stored, else recomputed."""
        if x not in self.segments.group.dropped:
            if x not in self._whole:
                chunks = self.segments.chunks(x)
                self._whole[x] = self._copied(x) if chunks is None else self._row(chunks)
            return self._whole[x]
        node = x.owner
        assert node is not None and isinstance(node.op, Scan)
        if node not in self._loops:
            states = [self._row(state) for state in self.segments.states[node]]
            self._loops[node] = self.loop(node, states)
        _, places = _unstacked(node.op)
        return self._loops[node].outputs[places[x.index]]

    def _copied(self, x: Variable) -> Variable:
        """The rows of x in the segment, copied from the rows of all steps."""
        start = self._row(self.segments.starts)
        return SegmentRows(self.segments.length)(self._constant(x), start)  # type: ignore[no-any-return]

    def _row(self, whole: Variable) -> Variable:
        slot = Variable(TensorType(whole.dtype, whole.tensor_type.shape[1:]), name=whole.name)
        return self.rows.setdefault(whole, slot)

    def _constant(self, x: Variable) -> Variable:
        return self.fixed.setdefault(x, Variable(self.segments._known(x).tensor_type, name=x.name))


def _unstacked(op: Scan) -> tuple[Scan, list[int]]:
    """A loop that keeps the last values of its states, and has the stacked ones as mapped values.

    Returns it with the position of each output of the original loop among its outputs.
    """
    made = op.results(op.body.outputs)
    wanted = [k for k, (on, depth) in enumerate(zip(op.is_stacked, op.depths, strict=True)) if on or depth > 1]
    columns = {k: len(made.states) + len(made.mapped) + place for place, k in enumerate(wanted)}
    body = replace(made, mapped=[*made.mapped, *(made.states[k] for k in wanted)])
    plain = replace(
        op,
        body=Subgraph(op.body.inputs, tuple(body.flat())),
        is_stacked=(False,) * len(made.states),
        mapped=len(body.mapped),
    )
    places = [columns[k] if on else k for k, on in enumerate(op.is_stacked)]
    return plain, [*places, *range(len(made.states), len(made.states) + len(made.mapped))]


def _next_states(op: Scan, old: Variables, last: Variables, mapped: Variables) -> list[Variable]:
    """The states after some steps: the last value, or as many rows as the loop looks back, the oldest first."""
    deep = [k for k, depth in enumerate(op.depths) if depth > 1]
    made = op.results(op.body.outputs)
    found: list[Variable] = []
    for k, (x, depth) in enumerate(zip(last, op.depths, strict=True)):
        if k not in deep:
            found.append(x)
            continue
        place = max(p for p, new in enumerate(made.mapped) if new is made.states[k])
        rows: Any = mapped[place][::-1] if op.is_reversed else mapped[place]
        found.append(concatenate([old[k], rows], 0)[-depth:])
    return found


def _symbol(count: SymbolicExtent) -> Variable:
    return count if isinstance(count, Variable) else constant(count, dtype="int64")
