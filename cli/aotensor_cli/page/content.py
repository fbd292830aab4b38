"""The content of a page: a tree of JSON values, and pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from aotensor.graph.passes.remarks import Remark
from aotensor_cli.page.profiles import MeasuredLines
from aotensor_cli.page.sources import Source
from aotensor_cli.page.stage_lines import Place, StageLines


@dataclass
class Content:
    """A page. Unknown parts stay empty, and `notes` give the reason.

    facts: of the whole. functions: name, signature and facts of each. stages: name → its lines. sizes: the sets of dims
    that estimates are for, in words. graphs: stage → function → nodes. loops: function → tree. heat: function → for
    each place, its seconds at each set of dims. pictures: kind → its SVG for each set of dims, or one. parts: name →
    bytes. profiles: measured time by line.
    """

    title: str
    kind: str
    facts: list[tuple[str, str]] = field(default_factory=list)
    functions: list[dict[str, Any]] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    stages: dict[str, StageLines] = field(default_factory=dict)
    remarks: Sequence[Remark] = ()
    sizes: list[str] = field(default_factory=list)
    graphs: dict[str, dict[str, list[dict[str, Any]]]] = field(default_factory=dict)
    loops: dict[str, dict[str, Any]] = field(default_factory=dict)
    heat: dict[str, dict[Place, list[float]]] = field(default_factory=dict)
    pictures: dict[str, list[str]] = field(default_factory=dict)
    parts: list[tuple[str, int]] = field(default_factory=list)
    passes: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    profiles: Sequence[MeasuredLines] = ()
    absent: dict[str, str] = field(default_factory=dict)
    """View → why there is nothing in it."""

    def tree(self) -> dict[str, Any]:
        """The content without pictures as JSON values, for the script of the page."""
        numbers: dict[Place, int] = {}
        heat = {
            name: [[numbers.setdefault(place, len(numbers)), seconds] for place, seconds in table.items()]
            for name, table in self.heat.items()
        }
        stages = [{"name": name, **text.to_json(numbers)} for name, text in self.stages.items()]
        return {
            "title": self.title,
            "kind": self.kind,
            "facts": self.facts,
            "functions": self.functions,
            "sources": [x.to_json() for x in self.sources],
            "stages": stages,
            "remarks": [x.to_json() for x in self.remarks],
            "sizes": self.sizes,
            "graphs": self.graphs,
            "loops": self.loops,
            "heat": heat,
            "parts": self.parts,
            "passes": self.passes,
            "notes": self.notes,
            "profiles": [x.to_json() for x in self.profiles],
            "absent": self.absent,
            "places": list(numbers),
        }
