"""Texts of a program between passes. Values keep their names, so that texts can be compared.

before fuse   →   fuse   →   scalar-replacement   …   →   nest        stages, and the result of each pass
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from aotensor.driver.definition import Definition
from aotensor.driver.stages import BEFORE
from aotensor.graph.text import graph_text
from aotensor.graph.variable import Variable
from aotensor.ir.text import OWN, USUAL, text_of
from aotensor_runtime.container import MAX_SECTION_BYTES

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import SSAValue


@dataclass
class Snapshots:
    """Intermediate texts of a compilation: which stages to keep, and their texts so far.

    wanted: stages and passes; `canonicalize.1` is the first run of a pass that runs several times, without a number it
    is the last one. locations: each operation is followed by its source location. generic: nests are in generic form.
    """

    wanted: Collection[str]
    locations: bool = False
    generic: bool = False
    texts: dict[str, str] = field(default_factory=dict)
    seen: list[str] = field(default_factory=list)
    """All stages and passes so far, in order; runs of passes with their numbers."""
    labels: dict[Variable, str] = field(default_factory=dict)
    """Value names in texts of graphs so far."""
    _values: dict[SSAValue, str] = field(default_factory=dict)
    _runs: dict[str, int] = field(default_factory=dict)
    """Number of runs of each stage and pass so far."""

    def __post_init__(self) -> None:
        self._names = {name.partition(".")[0] for name in self.wanted if not name.startswith(BEFORE)}
        self._starts = {name.removeprefix(BEFORE).partition(".")[0] for name in self.wanted if name.startswith(BEFORE)}

    def module(self, name: str, module: ModuleOp, is_before: bool = False) -> None:
        """Record a module: before a pass, after it, or at a stage."""
        dialects, brief = OWN if self.generic else USUAL, not self.generic
        self.take(name, lambda: text_of(module, self.locations, dialects, self._values, brief), is_before)

    def take(self, name: str, text: Callable[[], str], is_before: bool = False) -> None:
        """Record a text that is computed only if it is wanted."""
        number = 1 + self._runs.get(name, 0)
        if is_before:
            if name in self._starts:
                self.texts[f"{BEFORE}{name}.{number}"] = text()
            return
        self._runs[name] = number
        self.seen.append(f"{name}.{number}")
        if name in self._names:
            self.texts[f"{name}.{number}"] = text()

    def graphs(self, functions: Sequence[Definition]) -> None:
        """Record the texts around the graph passes, and of each pass, by running the passes again."""
        if not self.wanted:
            return
        self.take("graph", lambda: "\n".join(f.graph_text("graph", self.labels) for f in functions))
        steps = [f.graph_passes() for f in functions]
        former = [list(f.results.values()) for f in functions]
        for position in range(max(map(len, steps))):
            names = dict.fromkeys(passes[position][0].name for passes in steps if position < len(passes))
            found = [
                passes[position][1] if position < len(passes) else old
                for passes, old in zip(steps, former, strict=True)
            ]
            for name in names:
                self.take(name, partial(self._graph_texts, functions, former), is_before=True)
                self.take(name, partial(self._graph_texts, functions, found))
            former = found
        self.take("graph-opt", lambda: "\n".join(f.graph_text("graph-opt", self.labels) for f in functions))

    def _graph_texts(self, functions: Sequence[Definition], results: Sequence[Sequence[Variable]]) -> str:
        return "\n".join(
            graph_text(f.name, list(f.arguments.values()), dict(zip(f.results, found, strict=True)), self.labels)
            for f, found in zip(functions, results, strict=True)
        )

    def text(self, name: str) -> str | None:
        """A recorded text, None if there is none of this name."""
        if name in self.texts:
            return self.texts[name]
        *_, found = (None, *(self.texts[f"{name}.{n}"] for n in self._numbers(name)))
        return found

    def _numbers(self, name: str) -> Iterator[int]:
        n = 1
        while f"{name}.{n}" in self.texts:
            yield n
            n += 1


def kept_text(stage: str, text: bytes) -> bytes:
    """The text of a stage as stored in a library; a line that says so if it is too long."""
    if len(text) <= MAX_SECTION_BYTES:
        return text
    limit = f"{len(text)} bytes of text are more than the {MAX_SECTION_BYTES} that a library keeps of a stage"
    return f"// {stage} is left out: {limit}; `aotensor compile --emit {stage}` writes it to a file\n".encode()
