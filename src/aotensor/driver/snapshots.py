"""Texts of a program between its passes, in which a value keeps its name, so that two of them can be compared.

before fuse   →   fuse   →   place-values   …   →   nest        stages, and what each pass left
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from aotensor.driver.stages import BEFORE
from aotensor.graph.variable import Variable
from aotensor.ir.text import text_of

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import SSAValue


@dataclass
class Snapshots:
    """What is to be kept, and what was.

    wanted: stages and passes; `canonicalize.1` is the first run of a pass that runs several times, without a number it
    is the last one. locations: say behind each operation where it comes from.
    """

    wanted: Collection[str]
    locations: bool = False
    texts: dict[str, str] = field(default_factory=dict)
    seen: list[str] = field(default_factory=list)
    """Everything that there was, in order; runs of passes with their numbers."""
    labels: dict[Variable, str] = field(default_factory=dict)
    """Names in texts of graphs so far."""
    _values: dict[SSAValue, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._names = {name.partition(".")[0] for name in self.wanted if not name.startswith(BEFORE)}
        self._starts = {name.removeprefix(BEFORE).partition(".")[0] for name in self.wanted if name.startswith(BEFORE)}

    def module(self, name: str, module: ModuleOp, is_before: bool = False) -> None:
        """A pass begins on a module, or has ended; or a stage is reached."""
        self.take(name, lambda: text_of(module, self.locations, self._values), is_before)

    def take(self, name: str, text: Callable[[], str], is_before: bool = False) -> None:
        """The same for a text that is made when it is needed."""
        number = 1 + sum(known.rpartition(".")[0] == name for known in self.seen)
        if is_before:
            if name in self._starts:
                self.texts[f"{BEFORE}{name}.{number}"] = text()
            return
        self.seen.append(f"{name}.{number}")
        if name in self._names:
            self.texts[f"{name}.{number}"] = text()

    def text(self, name: str) -> str | None:
        """A text that was kept, None if there was no such moment."""
        if name in self.texts:
            return self.texts[name]
        *_, found = (None, *(self.texts[f"{name}.{n}"] for n in self._numbers(name)))
        return found

    def _numbers(self, name: str) -> Iterator[int]:
        n = 1
        while f"{name}.{n}" in self.texts:
            yield n
            n += 1
