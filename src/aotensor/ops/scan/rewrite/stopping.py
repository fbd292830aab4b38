"""Checkpoint loops that may stop: store states between segments of steps, and recompute the rows of one segment.

    h, n = scan(f, h₀, until) of at most L steps      c, m = scan over segments(last h of k steps, until) of at most L/k
    g = reversed scan(f′, h, g₀) of n steps      →    g = reversed scan over m segments(
                                                          h, n = scan(f, c of the segment, until) of at most k steps
                                                          reversed scan(f′, h, g) of n steps )

The largest number of steps bounds the memory: buffers have a row for each step that the loop may take, L/k + k instead
of L, and the number of steps taken does not change their size.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import TensorType
from aotensor.graph.op import Apply
from aotensor.graph.passes.remarks import missed
from aotensor.graph.site import variables_at
from aotensor.graph.subgraph import Subgraph
from aotensor.graph.variable import Constant, Variable, constant
from aotensor.graph.walk import toposort
from aotensor.ops.elementwise.compare import le, or_
from aotensor.ops.scan.extents import rebuilt
from aotensor.ops.scan.layout import Results, Slots
from aotensor.ops.scan.op import Scan
from aotensor.ops.scan.rewrite.groups import is_candidate, readers_of, report_segments, stacked_outputs
from aotensor.ops.scan.rewrite.lengths import bytes_of_extents, segment_lengths
from aotensor.ops.scan.rewrite.prune import is_last_row, rest_of_last_row
from aotensor.ops.shape.axes import shape_padleft

_Readers = Mapping[Variable, Sequence[Apply | None]]


@frozen_dataclass
class _Pair:
    """A loop that may stop, and the loops that read its rows, over the same steps.

    rows: its stacked values that these read. last_rows: nodes that read the last row of a state, which is the last
    state, since such a loop has a step. limit: the largest number of steps.
    """

    loop: Apply
    readers: tuple[Apply, ...]
    rows: tuple[Variable, ...]
    last_rows: tuple[Apply, ...]
    limit: int

    @property
    def op(self) -> Scan:
        assert isinstance(self.loop.op, Scan)
        return self.loop.op

    def lengths(self, levels: int) -> list[int]:
        """The steps of a segment at each level."""
        row = sum(bytes_of_extents(x.static_shape[1:], x) for x in self.rows)
        initial = self.op.operands(self.loop.inputs).initial
        return segment_lengths(self.limit, levels, row, sum(bytes_of_extents(x.static_shape[1:], x) for x in initial))


def segment_stopping(outputs: Sequence[Variable], stop: Collection[Variable], levels: int) -> list[Variable]:
    """The graph with the rows of loops that may stop recomputed segment by segment, also in bodies of other loops."""
    found = _in_bodies(outputs, stop, levels)
    chosen = [_Segments(pair, pair.lengths(levels)) for pair in _pairs(found, stop)]
    for segments in chosen:
        if segments.lengths:
            report_segments(segments.pair.loop, segments.lengths, len(segments.pair.rows))
    return _segmented(found, stop, chosen)


def _in_bodies(outputs: Sequence[Variable], stop: Collection[Variable], levels: int) -> list[Variable]:
    known: dict[Variable, Variable] = {}
    for node in toposort(outputs, stop=stop):
        op = node.op
        if isinstance(op, Scan) and not op.is_segment:
            body = segment_stopping(op.body.outputs, op.body.inputs, levels)
            if any(new is not old for new, old in zip(body, op.body.outputs, strict=True)):
                with variables_at(node.outputs[0].site):
                    inputs = [known.get(x, x) for x in node.inputs]
                    made = replace(op, body=Subgraph(op.body.inputs, tuple(body))).apply(*inputs)
                known.update(zip(node.outputs, made.outputs, strict=True))
                continue
        known.update(rebuilt(node, known))
    return [known.get(x, x) for x in outputs]


def _pairs(outputs: Sequence[Variable], stop: Collection[Variable]) -> list[_Pair]:
    nodes = toposort(outputs, stop=stop)
    readers = readers_of(nodes, outputs)
    found = [_pair(node, readers) for node in nodes if isinstance(node.op, Scan) and node.op.has_condition]
    return [pair for pair in found if pair is not None]


def _pair(node: Apply, readers: _Readers) -> _Pair | None:
    """A loop with those that read its rows; None if no loop reads them, or other operations do."""
    op, limit, count = node.op, node.inputs[0], node.outputs[-1]
    assert isinstance(op, Scan)
    rows, loops, last_rows = [], dict[Apply, None](), list[Apply]()
    for x in stacked_outputs(node):
        for one in readers.get(x, ()):
            if one is not None and is_last_row(one) and x.index < len(op.taps) and x not in one.inputs[1:]:
                last_rows.append(one)
            elif one is not None and is_candidate(one) and one.inputs[0] is count:
                loops[one] = None
                rows.append(x)
            else:
                return None
    if op.is_segment or not loops:
        return None
    if not isinstance(limit, Constant) or op.sequences or set(op.depths) != {1}:
        missed("loop {} stores its values: it may stop, and reads sequences, or several earlier states", node)
        return None
    pair = _Pair(node, tuple(loops), tuple(dict.fromkeys(rows)), tuple(last_rows), int(limit.data))
    if not all(_is_covered(one, pair, readers) for one in loops):
        missed("loop {} stores its values: another loop reads them, and stores further values", node)
        return None
    return pair


def _is_covered(node: Apply, pair: _Pair, readers: _Readers) -> bool:
    """Does a loop read rows of the pair's loop as sequences alone, and is its last state all that is read?"""
    op = node.op
    assert isinstance(op, Scan)
    given = op.operands(node.inputs)
    others = {*given.initial, *given.constants}
    is_row = all(x in pair.rows for x in given.sequences) and not any(x in others for x in pair.rows)
    return is_row and set(op.depths) == {1} and not any(x in readers for x in stacked_outputs(node))


def _segmented(outputs: Sequence[Variable], stop: Collection[Variable], chosen: Sequence[_Segments]) -> list[Variable]:
    made = {segments.pair.loop: segments for segments in chosen if segments.lengths}
    if not made:
        return list(outputs)
    by_reader = {one: segments for segments in made.values() for one in segments.pair.readers}
    by_last_row = {one: segments for segments in made.values() for one in segments.pair.last_rows}
    known: dict[Variable, Variable] = {}
    for node in toposort(outputs, stop=stop):
        with variables_at(node.outputs[0].site):
            if node in made:
                known.update(made[node].forward(known))
            elif node in by_reader:
                known.update(by_reader[node].read(node, known))
            elif node in by_last_row:
                x, *symbols = node.inputs
                row = by_last_row[node].last[x]
                known[node.outputs[0]] = rest_of_last_row(node, row, [known.get(s, s) for s in symbols])
            else:
                known.update(rebuilt(node, known))
    return [known.get(x, x) for x in outputs]


class _Segments:
    """The loops over the segments of a pair.   lengths: steps of a segment at each level"""

    def __init__(self, pair: _Pair, lengths: Sequence[int]) -> None:
        self.pair, self.lengths, self.op = pair, lengths, _with_rest(pair.op)
        self.last: dict[Variable, Variable] = {}
        self._starts: list[Variable] = []
        self._count: Variable | None = None

    def forward(self, known: Mapping[Variable, Variable]) -> dict[Variable, Variable]:
        """The loop over segments that stores the states before each; its last states and its number of steps."""
        op, length = self.op, self.lengths[0]
        slots, made = op.slots(op.body.inputs), op.results(op.body.outputs)
        assert made.last is not None
        ended, taken = Variable(TensorType("bool")), Variable(TensorType("int64"))
        inner = Slots([], [*slots.taps, [ended]], slots.constants)
        steps = replace(
            op,
            body=Subgraph(tuple(inner.flat()), tuple(Results([*made.states, made.last], [], made.last).flat())),
            taps=(*op.taps, (-1,)),
            is_stacked=(False,) * (len(op.taps) + 1),
            mapped=0,
            keeps_rows=False,
            is_segment=True,
        )
        states, fixed = self._symbols()
        first = [*map(shape_padleft, states), shape_padleft(constant(np.bool_(False)))]
        *new, has_ended, count = steps.apply(constant(length, dtype="int64"), *first, *fixed).outputs
        body = Results([*new, taken + count], states, has_ended)
        loop = replace(
            op,
            body=Subgraph((*states, taken, *fixed), tuple(body.flat())),
            taps=(*op.taps, (-1,)),
            is_stacked=(False,) * (len(op.taps) + 1),
            mapped=len(states),
            is_frugal=True,
            keeps_rows=True,
            is_segment=True,
        )
        given = self.pair.op.operands([known.get(x, x) for x in self.pair.loop.inputs])
        initial = [*given.initial, shape_padleft(constant(self.pair.limit, dtype="int64"))]
        limit = constant(-(-self.pair.limit // length), dtype="int64")
        none = shape_padleft(constant(0, dtype="int64"))
        results = loop.results(loop.apply(limit, *initial, none, *given.constants).outputs)
        *found, _, total = results.states
        self._starts, self._count = results.mapped, results.last
        old = self.pair.loop.outputs
        self.last = dict(zip(old, found, strict=False))
        kept = {x: new for x, new, on in zip(old, found, self.pair.op.is_stacked, strict=False) if not on}
        return {**kept, old[-1]: total}

    def read(self, node: Apply, known: Mapping[Variable, Variable]) -> dict[Variable, Variable]:
        """The loop over segments in place of a loop that reads rows: it recomputes the rows of one segment."""
        op, pair = node.op, self.pair
        assert isinstance(op, Scan) and self._count is not None
        given = op.operands(node.inputs)
        states, fixed = self._symbols()
        again = replace(self.op, keeps_rows=True, is_segment=len(self.lengths) == 1)
        rows = again.apply(constant(self.lengths[0], dtype="int64"), *map(shape_padleft, states), *fixed).outputs
        own = [Variable(TensorType(x.dtype, x.tensor_type.shape[1:]), name=x.name) for x in given.initial]
        constants = [Variable(x.tensor_type, name=x.name) for x in given.constants]
        plain = replace(op, is_segment=len(self.lengths) == 1)
        sequences = [rows[x.index + (x.index >= len(pair.op.taps))] for x in given.sequences]
        inner = plain.apply(rows[-1], *sequences, *map(shape_padleft, own), *constants)
        body = list(inner.outputs[: len(own)])
        inputs = [*states, *own, *fixed, *constants]
        if len(self.lengths) > 1:
            deeper = [_Segments(one, self.lengths[1:]) for one in _pairs(body, inputs)]
            body = _segmented(body, inputs, deeper)
        loop = replace(
            op,
            body=Subgraph(tuple(inputs), tuple(body)),
            sequences=len(states),
            mapped=0,
            is_frugal=True,
            needs_step=False,
            is_segment=True,
        )
        outer = [known.get(x, x) for x in given.initial], [known.get(x, x) for x in given.constants]
        fixed_given = [known.get(x, x) for x in pair.op.operands(pair.loop.inputs).constants]
        found = loop.apply(self._count, *self._starts, *outer[0], *fixed_given, *outer[1]).outputs
        return dict(zip(node.outputs, found, strict=False))

    def _symbols(self) -> tuple[list[Variable], list[Variable]]:
        """Symbols for the states before a segment, with the number of steps left, and for the loop's non-sequences."""
        given = self.pair.op.operands(self.pair.loop.inputs)
        states = [Variable(TensorType(x.dtype, x.tensor_type.shape[1:]), name=x.name) for x in given.initial]
        states.append(Variable(TensorType("int64"), name="rest"))
        return states, [Variable(x.tensor_type, name=x.name) for x in given.constants]


def _with_rest(op: Scan) -> Scan:
    """The loop with one more state, the number of steps that it may still take, which stops it at 0."""
    slots, made = op.slots(op.body.inputs), op.results(op.body.outputs)
    assert made.last is not None
    rest = Variable(TensorType("int64"), name="rest")
    left = rest - 1
    body = Results([*made.states, left], made.mapped, or_(made.last, le(left, 0)))
    return replace(
        op,
        body=Subgraph(tuple(Slots([], [*slots.taps, [rest]], slots.constants).flat()), tuple(body.flat())),
        taps=(*op.taps, (-1,)),
        is_stacked=(*op.is_stacked, False),
    )
