"""The document of `aotensor inspect MODEL --json --all`, which `explore` and `lsp` read.

Identifiers hold in the whole document: a place (file and line of the model) by its number in `places`, a loop by its
name in `f.schedule`, an IR value by its name, `%12`, which is the same in all texts up to `loops`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from aotensor import Function
from aotensor.api.cost.work import argument_bytes
from aotensor.driver.build import Build
from aotensor.driver.hand import schedule_note
from aotensor.driver.report import Report
from aotensor.driver.snapshots import Snapshots
from aotensor.driver.stages import IR_STAGES, STAGES
from aotensor.graph.passes.steps import BY_NAME
from aotensor.graph.passes.topics import topic_of
from aotensor.passes.report.outline import Node, Outline
from aotensor.pictures.nodes import sites_of
from aotensor_cli.page.model_page import dim_sets
from aotensor_cli.page.sources import read_sources
from aotensor_cli.page.stage_lines import Place, StageLines, split_lines
from aotensor_cli.reading.describe import signature
from aotensor_cli.reading.version import installed
from aotensor_cli.terminal.remarks import without_remarks
from aotensor_cli.terminal.render import progress

FORMAT: Final = "aotensor.inspect/1"
"""Of the document. A reader of this one ignores keys that it does not know."""


class Writer:
    """Writes the document of a compilation.

    model: the path of the model; sizes: dims that time is estimated for; only: the one stage or pass whose text is
    written, None for all of them
    """

    def __init__(
        self, build: Build, model: str, loaded: float, sizes: Mapping[str, int], only: str | None = None
    ) -> None:
        self.build, self.model, self.loaded, self.only = build, model, loaded, only
        self.functions = [f for f in build.functions if isinstance(f, Function)]
        self.sets = dim_sets(self.functions, [sizes] if sizes else [], ())
        self.places: dict[Place, int] = {}
        build.report = self.report = Report({name: sets[:1] for name, sets in self.sets.items()})
        build.locations = True
        build.snapshots = Snapshots([*IR_STAGES, *BY_NAME] if only is None else [only, "nest"], locations=True)

    def document(self) -> dict[str, Any]:
        """The document, plain JSON values.   Raises: as the compilation"""
        build = self.build
        with progress(f"compiling {build.name}") as build.begin, without_remarks():
            lowered, manifest = build.lowered, build.library.manifest
            late = [name for name in STAGES[len(IR_STAGES) :] if self.only in (None, name)]
            texts = [self._text(name, build.content(name).decode()) for name in late]
        stages = [*self._stages(), *texts]
        specs = {spec.name: spec for spec in manifest.functions}
        outlines = {x.name: x for x in self.report.outlines}
        nest = split_lines("nest", build.snapshots.text("nest") or "")
        sources = read_sources(paths := sites_of(self.functions), self.loaded)
        return {
            "format": FORMAT,
            "aotensor": installed("aotensor") or "",
            "model": self.model,
            "target": f"{manifest.target}, {manifest.processors}, fp {manifest.fp}",
            "functions": [
                {
                    "name": f.name,
                    "signature": signature(specs[f.name]),
                    "sizes": self.sets[f.name][0],
                    "seconds": outlines[f.name].seconds[0] if f.name in outlines else None,
                    "bytes": argument_bytes(specs[f.name]),
                    "loops": [self._node(x, nest) for x in outlines[f.name].nodes] if f.name in outlines else [],
                }
                for f in self.functions
            ],
            "sources": [
                {"name": x.name, "path": paths[x.name][0], "text": "\n".join(x.lines), "problem": x.problem}
                for x in sources
            ],
            "stages": stages,
            "lines": [x for outline in outlines.values() for x in self._lines(outline)],
            "remarks": [{**x.to_json(), "topic": topic_of(x.pass_name)} for x in lowered.remarks],
            "passes": [
                {"name": x.name, "before": x.before, "after": x.after, "seconds": x.seconds} for x in lowered.records
            ],
            "notes": [] if lowered.schedule is None else [schedule_note(lowered.schedule.label)],
            "places": [{"file": file, "line": line} for file, line in self.places],
        }

    def _stages(self) -> list[dict[str, Any]]:
        """The texts of stages and passes before LLVM, in order; without text for a pass that changed nothing."""
        found: list[dict[str, Any]] = []
        former: str | None = None
        for run in self.build.snapshots.seen:
            text = self.build.snapshots.texts.get(run)
            if text is None or (self.only is not None and run.partition(".")[0] != self.only.partition(".")[0]):
                continue
            name = run.removesuffix(".1") if run.partition(".")[0] in IR_STAGES else run
            found.append(self._text(name, text) if text != former else self._head(name, is_changed=False))
            former = text
        return found

    def _head(self, name: str, is_changed: bool) -> dict[str, Any]:
        base = name.partition(".")[0]
        level = BY_NAME[base].level if base in BY_NAME else base.partition("-")[0]
        kind = "pass" if base in BY_NAME else "stage"
        return {"name": name, "kind": kind, "level": level, "changed": is_changed}

    def _text(self, name: str, text: str) -> dict[str, Any]:
        head = self._head(name, is_changed=True)
        found = split_lines("graph" if head["level"] == "graph" else name, text)
        at = [-1 if place is None else self._number(place) for place in found.places]
        return {**head, "lines": found.lines, "at": at}

    def _number(self, place: Place) -> int:
        return self.places.setdefault(place, len(self.places))

    def _lines(self, outline: Outline) -> list[dict[str, Any]]:
        """Estimated time by line of the model, the longest first."""
        total = sum(outline.seconds) or 1.0
        rows = sorted(outline.lines.items(), key=lambda row: -row[1][0])
        return [
            {
                "function": outline.name, "file": file, "line": line, "place": self._number((file, line)),
                "seconds": seconds[0], "share": seconds[0] / total,
            }
            for (file, line), seconds in rows
        ]  # fmt: skip

    def _node(self, node: Node, nest: StageLines) -> dict[str, Any]:
        """A loop or a statement.   at: where it begins in the text of stage nest, -1 where that is not known"""
        begins: Sequence[int] = nest.begins.get(node.op, [])
        return {
            "kind": node.kind,
            "name": node.name,
            "text": node.text,
            "how": node.how,
            "place": self._number((node.file, node.line)) if node.line else -1,
            "places": [self._number(place) for place in node.lines],
            "at": begins[node.position] if node.position < len(begins) else -1,
            "trips": node.trips[0] if node.trips else None,
            "seconds": node.seconds[0],
            "body": [self._node(x, nest) for x in node.body],
        }
