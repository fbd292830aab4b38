"""Build the functions of the rounds: map a chunk, merge two partials, finish the last partials.

    f_start     inputs → values for every chunk that depend on them alone         only if there are some
    f_map1      chunk, global values → partials, rows that are complete by now
    f_merge1    partials, partials of later rows → partials
    f_finish1   partials → values for the next round, outputs
    f_map2      ...

All values have names; a driver keeps an environment of them, and calls each function by the names of its inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from aotensor.api.function import Function
from aotensor.core.types import TensorType
from aotensor.driver.naming import c_name
from aotensor.driver.signature import In
from aotensor.errors import GraphValueError
from aotensor.graph.op import Apply
from aotensor.graph.site import replacement_site, variables_at
from aotensor.graph.variable import Constant, SharedVariable, Variable
from aotensor.graph.walk import leaves, replace, toposort
from aotensor.ops.create import Alloc, FullLike
from aotensor.ops.index import Subtensor
from aotensor.ops.shape.axes import DimShuffle
from aotensor.ops.shape.extents import ShapeI
from aotensor.sparse.csm import MatrixExtent
from aotensor.splitting.analysis import Analysis, analyse
from aotensor.splitting.places import Merge, Place, Rows

FIRST_ROW: Final = "first_row"
ROWS: Final = "rows"
"""Inputs that the driver adds: the number of a chunk's first row, and the number of rows of all chunks."""
_CHEAP: Final = (Alloc, DimShuffle, FullLike, Subtensor)
"""Ops that only move or repeat elements: each chunk computes them itself, so that less is transferred."""


@dataclass
class MergeNode:
    """A merge node: the variables for its partials in a chunk, and after merging."""

    node: Apply
    merge: Merge
    names: list[str]
    step: int
    chunk: list[Variable]
    whole: list[Variable]


@dataclass
class SplitFunctions:
    """The functions by role, and their description in the protocol."""

    start: Function | None
    maps: list[Function]
    merges: list[Function | None]
    finishes: list[Function | None]
    partials: list[list[str]]
    rows: list[dict[str, int]]

    def functions(self) -> list[Function]:
        """All functions, in the order of their first call."""
        rounds = zip(self.maps, self.merges, self.finishes, strict=True)
        return [f for f in (self.start, *(f for group in rounds for f in group)) if f is not None]


class Builder:
    """Builds the functions of the rounds of one split function."""

    def __init__(self, f: Function, over: str) -> None:
        if f.updates:
            raise GraphValueError(f"{f.name}: a function that updates shared variables cannot be split over {over}")
        shared = next((x for x in leaves(list(f.results.values())) if isinstance(x, SharedVariable)), None)
        if shared is not None:
            hint = "pass an input in its place: aot.function(..., givens={shared: input})"
            raise GraphValueError(
                f"{f.name}: rounds would keep the present value of the shared variable {shared.name or ''}",
                hint=hint,
            )
        from aotensor_runtime.rounds.protocol import OPTIONS

        taken = next((name for name in f.arguments if name in OPTIONS), None)
        if taken is not None:
            hint = f"give the input another name; these are taken: {', '.join(OPTIONS)}"
            raise GraphValueError(
                f"{f.name}: the name of the input {taken} is also an option of calls of the rounds", hint=hint
            )
        self.f, self.over = f, over
        self.inputs = list(f.arguments.values())
        self.found: Analysis = analyse(list(f.results.values()), self.inputs, over)
        self.taken: set[str] = {*f.arguments, *f.results}
        self.first = Variable(TensorType("int64"), name=self._free(FIRST_ROW))
        self.rows = Variable(TensorType("int64"), name=self._free(ROWS))
        self.known_names = f.written_names
        self.own_rows = _extent(next(x for x in self.inputs if self.place(x).is_local), over)
        self.on_chunk: dict[Variable, Variable] = {x: x for x in self.inputs}
        self.on_driver: dict[Variable, Variable] = {x: x for x in self.inputs}
        self.symbols: dict[Variable, Variable] = {}  # global value → its input of the map functions
        self.own_counts: dict[Variable, Variable] = {}
        self.merged: list[MergeNode] = []
        self._used: list[MergeNode] | None = None
        self._sent: list[Variable] = []
        self._walk()

    def place(self, x: Variable) -> Place:
        """The place of a variable."""
        return self.found.place(x)

    def _walk(self) -> None:
        """Compute each node in the functions of the chunks or of the driver, as its place says."""
        for node in toposort(self.found.outputs, stop=self.inputs):
            verdict = self.found.verdicts.get(node)
            with variables_at(replacement_site(node)):
                if isinstance(verdict, Rows):
                    inputs = [
                        self.own_counts.get(x, x) if k in verdict.row_counts and x in self.own_counts else self.chunk(x)
                        for k, x in enumerate(node.inputs)
                    ]
                    made = node.on(inputs).outputs if verdict.make is None else verdict.make(inputs, self.first)
                    self.on_chunk.update(zip(node.outputs, made, strict=True))
                elif verdict is not None:
                    self._merge(node, verdict)
                else:
                    self._global(node)

    def _merge(self, node: Apply, merge: Merge) -> None:
        if merge.count == self.over:  # the driver knows the number of all rows before the first round
            for found in (self.on_chunk, self.on_driver):
                found[node.outputs[0]] = self.rows
            self.own_counts[node.outputs[0]] = self.own_rows
            return
        chunk = merge.partials([self.chunk(x) for x in node.inputs], self.first)
        place = self.place(node.outputs[0])
        names = [self._name(node.outputs[0], merge.name, f"part{place.late}") for _ in chunk]
        whole = [Variable(x.type, name=name) for x, name in zip(chunk, names, strict=True)]
        self.merged.append(MergeNode(node, merge, names, place.late - 1, chunk, whole))
        outputs = merge.finish(whole, [self.on_driver.get(x, x) for x in node.inputs])
        self.on_driver.update(zip(node.outputs, outputs, strict=True))
        if merge.is_uniform:
            self.on_chunk.update(zip(node.outputs, chunk, strict=True))
        if merge.count or merge.is_uniform:
            self.own_counts[node.outputs[0]] = chunk[0]

    def _global(self, node: Apply) -> None:
        whole = node.on([self.on_driver.get(x, x) for x in node.inputs]).outputs
        self.on_driver.update(zip(node.outputs, whole, strict=True))
        places = [self.place(x) for x in node.inputs]
        if any(x.step < x.late for x in places) or all(isinstance(x, Constant) for x in node.inputs):
            made = node.on([self.chunk(x) for x in node.inputs]).outputs
            self.on_chunk.update(zip(node.outputs, made, strict=True))
        if node.op.name == "cast" and node.inputs[0] in self.own_counts:
            self.own_counts[node.outputs[0]] = node.on([self.own_counts[node.inputs[0]]]).outputs[0]

    def chunk(self, x: Variable) -> Variable:
        """The variable by which a chunk represents x; a global value becomes an input."""
        if isinstance(x, Constant):
            return x
        if x not in self.on_chunk:
            node = x.owner
            assert node is not None
            if isinstance(node.op, _CHEAP) and self.found.verdicts.get(node) is None:
                made = node.on([self.chunk(y) for y in node.inputs]).outputs
                self.on_chunk.update(zip(node.outputs, made, strict=True))
            else:
                self.symbols[x] = Variable(x.type, name=self._name(x, node.op.name, "global"))
                self.on_chunk[x] = self.symbols[x]
        return self.on_chunk[x]

    def _free(self, wanted: str) -> str:
        name = c_name(wanted, self.taken, f"{wanted}_")
        self.taken.add(name)
        return name

    def _name(self, x: Variable, op: str, prefix: str) -> str:
        said = x.name or self.known_names.get(x)
        return self._free(f"{prefix}_{said or op}")

    def parts(self) -> SplitFunctions:
        """Build the functions."""
        results = dict(zip(self.f.results, self.found.outputs, strict=True))
        last_map = max((self.place(x).step for x in results.values() if self.place(x).is_local), default=0)
        last = max([last_map, *(m.step for m in self._needed(results))])
        parts = SplitFunctions(None, [], [], [], [], [])
        emitted: dict[Variable, Variable] = {}
        parts.start = self._finish(0, results, emitted)
        for step in range(last + 1):
            merged = [m for m in self._needed(results) if m.step == step]
            rows = {n: x for n, x in results.items() if self.place(x).is_local and self.place(x).step == step}
            outputs = {name: x for m in merged for name, x in zip(m.names, m.chunk, strict=True)}
            if not (outputs or rows):
                continue  # only their number of rows is needed
            parts.partials.append(list(outputs))
            parts.rows.append({name: self.place(x).axis or 0 for name, x in rows.items()})
            outputs.update({name: self.on_chunk[x] for name, x in rows.items()})
            parts.maps.append(self._function(f"map{step + 1}", outputs))
            parts.merges.append(self._merge_function(step, merged) if merged else None)
            parts.finishes.append(self._finish(step + 1, results, emitted))
        return parts

    def _needed(self, results: dict[str, Variable]) -> list[MergeNode]:
        """The merges that an output, or a global value used by a chunk, depends on."""
        if self._used is None:
            targets = [
                self.on_driver[x] for x in results.values() if not self.place(x).is_local and x in self.on_driver
            ]
            pending = [self.on_chunk[x] for x in results.values() if self.place(x).is_local]
            used: set[Variable] = set(leaves(targets))
            by_symbol = {symbol: x for x, symbol in self.symbols.items()}
            chunks: set[Variable] = set(leaves(pending))
            while True:
                before = len(used), len(chunks)
                for m in self.merged:
                    if any(x in used for x in m.whole):
                        chunks.update(leaves(m.chunk))
                for symbol in [x for x in chunks if x in by_symbol]:
                    used.update(leaves([self.on_driver[by_symbol[symbol]]]))
                if (len(used), len(chunks)) == before:
                    break
            self._used = [m for m in self.merged if any(x in used for x in m.whole)]
            self._sent = [x for x, symbol in self.symbols.items() if symbol in chunks]
        return self._used

    def _merge_function(self, step: int, merged: Sequence[MergeNode]) -> Function:
        inputs: list[Variable | In] = []
        outputs: dict[str, Variable] = {}
        sides: list[list[list[Variable]]] = [[], []]
        for k, side in enumerate("ab"):
            for m in merged:
                own = [Variable(x.type, name=f"{side}_{x.name}") for x in m.whole]
                sides[k].append(own)
                inputs += own
        for m, a, b in zip(merged, *sides, strict=True):
            outputs.update(zip(m.names, m.merge.combine(a, b), strict=True))
        return Function(inputs, outputs, name=f"{self.f.name}_merge{step + 1}", on_unused_input="ignore")

    def _finish(self, late: int, results: dict[str, Variable], emitted: dict[Variable, Variable]) -> Function | None:
        """The function of the driver after `late` rounds: outputs, and values for later chunks."""
        self._needed(results)
        wanted = {name: x for name, x in results.items() if not self.place(x).is_local and self.place(x).late == late}
        sent = {str(self.symbols[x].name): x for x in self._sent if self.place(x).late == late}
        if not (wanted or sent):
            return None
        values = {name: self.on_driver.get(x, x) for name, x in {**sent, **wanted}.items()}
        values = dict(zip(values, replace(list(values.values()), emitted), strict=True))
        f = self._function("start" if late == 0 else f"finish{late}", values)
        for x in sent.values():
            emitted[self.on_driver[x]] = self.symbols[x]
        return f

    def _function(self, suffix: str, outputs: dict[str, Variable]) -> Function:
        used = [x for x in leaves(list(outputs.values())) if not isinstance(x, Constant | SharedVariable)]
        order = {x: k for k, x in enumerate(self.inputs)}
        used.sort(key=lambda x: (order.get(x, len(order)), x not in (self.first, self.rows)))
        inputs = [In(x, name=self.f.names.get(x) or x.name) for x in used]
        return Function(inputs, outputs, name=f"{self.f.name}_{suffix}")


def _extent(x: Variable, over: str) -> Variable:
    """The number of rows of an input that is split into chunks."""
    axis = x.tensor_type.shape.index(over)
    found: Variable = MatrixExtent(axis)(x) if x.is_sparse else ShapeI(axis)(x)
    return found
