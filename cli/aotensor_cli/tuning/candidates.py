"""Candidates of a search: a pass pipeline and the edits of the nest that it produces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from aotensor import Function
from aotensor.driver.recipe import Options, stage_text
from aotensor.graph.passes.pipeline import DEFAULT, pipeline_of
from aotensor.ir.context import parse_module
from aotensor.passes.schedule.edit import Edit, Nest, apply_edits
from aotensor.passes.schedule.proposals import propose_edits

_KNOBS: Final = (
    ("unroll-and-jam", "by", (8, 2, 16)), ("strip-mine", "elements", (1024, 16384, 65536)),
    ("parallelize", "chunk-work", (1 << 14, 1 << 20)), ("fuse", "max-statements", (1, 4)),
)  # fmt: skip
"""Options of passes, and what else than their usual values is tried."""
_SWITCHES: Final = (
    "interchange", "fuse", "strip-mine", "tile-columns", "rematerialize", "vectorize-rows", "unroll-and-jam",
    "coalesce", "vectorize-known-trip-count", "vectorize", "split-by-row",
)  # fmt: skip
"""Passes without which it is tried."""


@dataclass(frozen=True)
class Candidate:
    """A pass pipeline and edits that produce the nest of a function.

    passes: the pipeline as text, "" for the usual one. edits: of the nest that it gives
    """

    passes: str = ""
    edits: tuple[Edit, ...] = ()

    def text(self, f: Function) -> str:
        """The nest, in short form.   Raises: ScheduleError for an edit that does not fit, AotensorError"""
        pipeline = pipeline_of(self.passes) if self.passes else None
        text = stage_text([f], "nest", Options(pipeline=pipeline))
        return apply_edits(text, self.edits) if self.edits else text

    def next(self, text: str, dims: Mapping[str, int], threads: int) -> Iterator[Candidate]:
        """The neighbours of this candidate in the search.   text: of this one"""
        for move in propose_edits(Nest(parse_module(text)), dims, threads):
            yield Candidate(self.passes, (*self.edits, *move.edits))

    def __str__(self) -> str:
        """The differences from the default pipeline and the edits, as text."""
        calls = "".join(f".{name}({', '.join(map(repr, told))})" for name, told in self.edits)
        return " ".join(filter(None, [unusual(self.passes), calls])) or "the compiler's own"

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {"passes": self.passes, "edits": [[name, list(told)] for name, told in self.edits]}

    @staticmethod
    def from_json(tree: Mapping[str, Any]) -> Candidate:
        """Parse JSON values.   Raises: KeyError, TypeError, ValueError for an invalid candidate"""
        return Candidate(str(tree["passes"]), tuple((str(name), tuple(told)) for name, told in tree["edits"]))


def roots(f: Function) -> Iterator[Candidate]:
    """Candidates that change one pass of the function's pipeline each."""
    usual = str(f.pipeline).split(",")
    for name, option, values in _KNOBS:
        for value in values:
            yield Candidate(",".join(f"{x}{{{option}={value}}}" if x == name else x for x in usual))
    for name in _SWITCHES:
        if name in usual:
            yield Candidate(str(pipeline_of(",".join(usual), [name])))


def unusual(passes: str) -> str:
    """The differences of a pipeline from the default one: `unroll-and-jam{by=8}`, `-fuse`."""
    if not passes:
        return ""
    usual, found = str(DEFAULT).split(","), passes.split(",")
    words = [x for x in found if x not in usual]
    changed = {x.partition("{")[0] for x in words}
    return " ".join([*words, *(f"-{x}" for x in dict.fromkeys(usual) if x not in found and x not in changed)])
