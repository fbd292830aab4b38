"""The loops of a nest as a tree of plain data: range, schedule, statements and estimated share of time.

    for i in block b, 4 at a time          38 %       model.py:8
      for k in p                           100 times
        ⟨X @ w⟩ += X[i, k] * w[k]

Time is the work estimate that parallelization uses (`nest.work`), times the trip counts at given dims. It is for one
core, and ignores caches: good enough to find hot loops, not to predict microseconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from xdsl.dialects import arith, func, tensor
from xdsl.dialects.builtin import ArrayAttr, FileLineColLoc, ModuleOp, StringAttr, TensorType
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import BlockArgument, Operation, SSAValue

from aotensor.ir.dialect import LapackOp
from aotensor.ir.location import Locations
from aotensor.ir.nest.loops import EntriesOp, ForOp, LoopOp
from aotensor.ir.nest.names import loop_names
from aotensor.ir.nest.ops import DoOp, PrefetchOp, ProductOp, ValueOp, YieldOp
from aotensor.ir.upstream import walk
from aotensor.passes.nest.work import UNIT, work_of
from aotensor.passes.remark_texts import Expressions
from aotensor.passes.report.formula import Formulas
from aotensor.passes.report.line_work import LineWork, Work
from aotensor.passes.report.numbers import Numbers

TYPICAL: Final = 16
"""Assumed trip count of a loop whose trip count is not known before it begins."""
_LETTERS: Final = "ijklmnopqrstuv"
_SILENT: Final = (arith.ConstantOp, tensor.DimOp, YieldOp, func.ReturnOp, PrefetchOp, ValueOp, tensor.EmptyOp)


@dataclass
class Node:
    """A loop, a statement, or another operation that costs time.

    kind: "loop", "statement", "product" or "other". text: its code, one line for each scalar that it writes. how: words
    that describe the schedule. value: its result as source text. position: its index among the operations of its name
    in the module, in textual order. op: name of the operation. name: name of a loop, as in `f.schedule`. lines: all
    source lines of a statement. For each set of dims: trips, the trip count of a loop, None if unknown; seconds, its
    total time in one call.
    """

    kind: str
    text: list[str]
    op: str
    position: int
    how: list[str] = field(default_factory=list)
    value: str = ""
    file: str = ""
    line: int = 0
    trips: list[int | None] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    body: list[Node] = field(default_factory=list)
    name: str = ""
    lines: list[tuple[str, int]] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """The node as JSON values."""
        return asdict(self)


@dataclass
class Outline:
    """The loop tree of a function. seconds: total time for each set of dims.

    lines: (file, line) → seconds for each set of dims. work: (file, line) → work for each set of dims.
    """

    name: str
    nodes: list[Node]
    seconds: list[float]
    lines: dict[tuple[str, int], list[float]]
    work: dict[tuple[str, int], list[Work]]


def outlines(
    module: ModuleOp,
    sites: Locations,
    names: Mapping[str, Mapping[Any, str]],
    dims: Mapping[str, Sequence[Mapping[str, int]]],
) -> list[Outline]:
    """The outlines of a nest-level module. names: function → its arguments; dims: function → sets of dims."""
    writer, positions = Expressions(sites), _positions(module)
    found = []
    for op in module.body.block.ops:
        name = op.sym_name.data if isinstance(op, func.FuncOp) else ""
        if isinstance(op, func.FuncOp) and not op.is_declaration and name in names:
            sets = [Numbers(one) for one in dims.get(name, ({},))]
            found.append(_Reader(writer, positions, names[name], sets).function(op))
    return found


def _positions(module: ModuleOp) -> dict[Operation, int]:
    """For each operation, its index among the operations of the same name, in program order."""
    counts: dict[str, int] = {}
    found = {}
    for op in walk(module):
        found[op] = counts.get(op.name, 0)
        counts[op.name] = found[op] + 1
    return found


class _Reader:
    def __init__(
        self, writer: Expressions, positions: Mapping[Operation, int], names: Mapping[Any, str], sets: Sequence[Numbers]
    ) -> None:
        self.writer, self.positions, self.names, self.sets = writer, positions, names, sets
        self.formulas = Formulas(self._name)
        self.lines: dict[tuple[str, int], list[float]] = {}
        self.outputs: list[str] = []
        self.made: dict[SSAValue, str] = {}
        """Values that statements complete → their source text."""
        self.loops: dict[LoopOp, str] = {}
        self.work = LineWork(len(sets))
        self._counters = 0
        self._chunks = 0

    def function(self, op: func.FuncOp) -> Outline:
        """The outline of one function."""
        table = op.attributes.get("results")
        self.outputs = [x.data for x in table.data if isinstance(x, StringAttr)] if isinstance(table, ArrayAttr) else []
        self._name_what_is_made(op)
        self.loops = loop_names(op)
        nodes = self._block(op.body.block.ops, [1.0] * len(self.sets))
        return Outline(op.sym_name.data, nodes, _sum(nodes, len(self.sets)), self.lines, self.work.lines)

    def _name_what_is_made(self, function: func.FuncOp) -> None:
        """Record the source text of each value of a fused statement, from the operation that yields it."""
        for op in walk(function):
            last = op.body.block.last_op if isinstance(op, DoOp) else None
            if not isinstance(op, DoOp) or not isinstance(last, YieldOp):
                continue
            arguments: dict[SSAValue, SSAValue] = dict(zip(op.body.block.args, (*op.inputs, *op.outputs), strict=True))
            for x, new in zip(op.outputs, last.values, strict=True):
                if isinstance(x.owner, ValueOp) and x.owner.init is None:
                    source = arguments.get(new)
                    text = self.made.get(source, "") if source is not None else self._expression_of(new)
                    if text:
                        self.made.setdefault(x, text)

    def _expression_of(self, x: SSAValue) -> str:
        return self._expression(x.owner) if isinstance(x.owner, Operation) else ""

    def _name(self, x: SSAValue) -> str:
        """The name of a tensor: an argument's name, or the source text of its content."""
        if isinstance(x, BlockArgument):
            return x.name_hint or "…"
        if isinstance(x.owner, ValueOp) and (x.owner.output is not None or x.owner.first is not None):
            return self._name(x.owner.first) if x.owner.first is not None else self._output(x.owner)
        text = self.made.get(x) or (self._expression(x.owner) if isinstance(x.owner, Operation) else "")
        return text if text.isidentifier() else f"⟨{text}⟩" if text else f"⟨{x.name_hint or '…'}⟩"

    def _output(self, op: ValueOp) -> str:
        assert op.output is not None
        number = op.output.value.data
        return self.outputs[number] if number < len(self.outputs) else f"output {number}"

    def _expression(self, op: Operation) -> str:
        return self.writer.at(op.location, self.names)

    def _block(self, ops: Iterable[Operation], times: Sequence[float]) -> list[Node]:
        """The nodes of operations that are executed `times` times, for each set of dims."""
        nodes: list[Node] = []
        for op in ops:
            for numbers in self.sets:
                numbers.learn(op)
            if isinstance(op, LoopOp):
                nodes.append(self._loop(op, times))
            elif not isinstance(op, _SILENT):
                node = self._leaf(op, times)
                if node is not None:
                    nodes.append(node)
        return nodes

    def _node(self, op: Operation, kind: str, text: list[str], times: Sequence[float], work: Sequence[float]) -> Node:
        file, line = "", 0
        if isinstance(op.location, FileLineColLoc):
            file, line = op.location.filename.data, op.location.line.data
        seconds = [UNIT * one * count for one, count in zip(work, times, strict=True)]
        self._charge(op, seconds)
        node = Node(kind, text, op.name, self.positions[op], [], self._expression(op), file, line, [], seconds)
        if kind != "loop":
            places = [x.location for x in walk(op) if isinstance(x.location, FileLineColLoc)]
            node.lines = sorted({(x.filename.data, x.line.data) for x in places})
        return node

    def _charge(self, op: Operation, seconds: Sequence[float]) -> None:
        """Add an operation's time to its source line; a statement's arithmetic to the line of each inner operation."""
        total = work_of(op)
        inner = list(op.body.block.ops) if isinstance(op, DoOp) and total else []
        parts = [(one.location, work_of(one)) for one in inner if isinstance(one.location, FileLineColLoc)]
        rest = total - sum(work for _, work in parts)
        for location, work in [*parts, (op.location, rest)]:
            if isinstance(location, FileLineColLoc):
                key, share = (location.filename.data, location.line.data), work / total if parts else 1.0
                known = self.lines.setdefault(key, [0.0] * len(seconds))
                self.lines[key] = [x + share * y for x, y in zip(known, seconds, strict=True)]

    # --- leaves ------------------------------------------------------------------------------------------------------

    def _leaf(self, op: Operation, times: Sequence[float]) -> Node | None:
        if isinstance(op, DoOp):
            self.work.statement(op, times, self.sets)
            return self._node(op, "statement", self.formulas.statement(op), times, self._same(work_of(op)))
        if isinstance(op, ProductOp):
            text = f"{self._name(op.result)} = {self._name(op.a)}{'.T' if op.transpose_a else ''} @ {self._name(op.b)}"
            text += ".T" if op.transpose_b else ""
            products = [self._product(op, numbers) for numbers in self.sets]
            self.work.product(op, [n * x for n, x in zip(times, products, strict=True)], times, self.sets)
            node = self._node(op, "product", [text], times, products)
            node.how = ["BLAS, or our kernel"]
            return node
        if op.regions or isinstance(op, LapackOp) or any(isinstance(x.type, TensorType) for x in op.results):
            work = [self._other(op, numbers) for numbers in self.sets]
            self.work.leave_out(op)
            self.work.guesses += 1
            inner = [
                self._block(region.block.ops, [TYPICAL * n for n in times]) for region in op.regions if region.blocks
            ]
            self.work.guesses -= 1
            if isinstance(op, linalg.GenericOp):
                inner = []
            text = f"{op.name} {self._expression(op)}".strip()
            node = self._node(op, "other", [text], times, work)
            node.body = [one for nodes in inner for one in nodes]
            node.seconds = [x + y for x, y in zip(node.seconds, _sum(node.body, len(times)), strict=True)]
            return node
        return None  # a scalar: negligible

    def _same(self, work: float) -> list[float]:
        return [float(work)] * len(self.sets)

    def _product(self, op: ProductOp, numbers: Numbers) -> float:
        """The work of a matrix product of m·n·k multiply-adds, which are executed two at a time."""
        inner = numbers.extent(op.a, 0 if op.transpose_a else 1)
        return _times([*(numbers[x] for x in op.sizes[:2]), inner])

    def _other(self, op: Operation, numbers: Numbers) -> float:
        """The work of any other operation: elements of its largest tensor; for linear algebra, times an extent."""
        most = 1.0
        for x in (*op.operands, *op.results):
            if isinstance(x.type, TensorType):
                extents = [numbers.extent(x, axis) for axis in range(len(x.type.get_shape()))]
                longest = [max((n for n in extents if n is not None), default=1)] if isinstance(op, LapackOp) else []
                most = max(most, _times([*extents, *longest]))
        return most

    # --- loops -------------------------------------------------------------------------------------------------------

    def _loop(self, op: LoopOp, times: Sequence[float]) -> Node:
        text, depths = self._header(op), (self._counters, self._chunks)
        trips = [self._trips(op, numbers) for numbers in self.sets]
        self.work.trips[op] = [float(TYPICAL if n is None else n) for n in trips]
        counts = [(TYPICAL if n is None else n) * x for n, x in zip(trips, times, strict=True)]
        node = self._node(op, "loop", [text], times, self._same(0))
        is_step = isinstance(op, ForOp) and op.step is not None
        self._counters, self._chunks = depths[0] + (not is_step), depths[1] + is_step
        self.work.guesses += None in trips
        node.body = self._block(op.body.block.ops, counts)
        self.work.guesses -= None in trips
        self._counters, self._chunks = depths
        node.trips, node.how, node.name = trips, op.schedule.phrases, self.loops.get(op, "")
        node.seconds = _sum(node.body, len(times))
        return node

    def _header(self, op: LoopOp) -> str:
        names = self.formulas.names
        if isinstance(op, EntriesOp):
            names[op.counter] = letter = _LETTERS[self._counters % len(_LETTERS)]
            return f"for entries {letter} of slice {self.formulas.value(op.slice)} in {self._name(op.indptr)}"
        assert isinstance(op, ForOp)
        upper = op.upper
        if op.step is not None:
            what = "chunks" if op.schedule.cores else "blocks"
            names[op.counter] = letter = "c" if op.schedule.cores else "bdefgh"[max(self._chunks - 1, 0) % 6]
            return f"for {what} {letter} of {self._within(op)}"
        names[op.counter] = letter = _LETTERS[self._counters % len(_LETTERS)]
        return (
            f"for {letter} in {self._within(op)}" if op.lower is not None else f"for {letter} in {self._bound(upper)}"
        )

    def _bound(self, x: SSAValue) -> str:
        text = self.formulas.value(x)
        return text if len(text) <= 60 else "…"

    def _within(self, op: ForOp) -> str:
        """The range of a loop as text, such as `chunk c` or `0 … n`."""
        if op.lower is None:
            return self._bound(op.upper)
        lower = op.lower
        owner = lower.owner.parent_op() if isinstance(lower, BlockArgument) else None
        if isinstance(owner, ForOp) and owner.step is not None:
            return f"{'chunk' if owner.schedule.cores else 'block'} {self.formulas.value(lower)}"
        return f"{self._bound(lower)} … {self._bound(op.upper)}"

    def _trips(self, op: LoopOp, numbers: Numbers) -> int | None:
        """The trip count of a loop, or None if unknown; binds the loop's counter to its first value."""
        if isinstance(op, EntriesOp):
            numbers.bind(op.counter, 0)
            return self._mean_length(op, numbers)
        assert isinstance(op, ForOp)
        lower = 0 if op.lower is None else numbers[op.lower]
        upper, step = numbers[op.upper], 1 if op.step is None else numbers[op.step]
        numbers.bind(op.counter, lower)
        if lower is None or upper is None or not step or step < 0:
            return None
        return max(-(-(upper - lower) // step), 0)

    def _mean_length(self, op: EntriesOp, numbers: Numbers) -> int | None:
        slices = numbers.extent(op.indptr, 0)
        entries = [
            numbers.extent(x, 0)
            for one in walk(op) if isinstance(one, DoOp)
            for x, subscripts in one.reads if subscripts and subscripts[0] is op.counter
        ]  # fmt: skip
        if slices is None or slices < 2 or not entries or entries[0] is None:
            return None
        return -(-entries[0] // (slices - 1))


def _times(factors: Iterable[int | None]) -> float:
    total = 1.0
    for n in factors:
        total *= TYPICAL if n is None else n
    return total


def _sum(nodes: Iterable[Node], count: int) -> list[float]:
    return [sum(column) for column in zip(*(node.seconds for node in nodes), strict=True)] or [0.0] * count
