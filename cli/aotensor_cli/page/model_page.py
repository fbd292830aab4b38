"""The page and the pictures of a model, which is compiled for them."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from aotensor import Function
from aotensor.api.cost.inputs import DEFAULT_EXTENT, dim_names, dims_text, hint_of_dims
from aotensor.driver.build import Build
from aotensor.driver.hand import schedule_note
from aotensor.driver.report import Report
from aotensor.driver.stages import STAGES
from aotensor.errors import ToolError
from aotensor.pictures.graph import graph_picture
from aotensor.pictures.memory import memory_picture
from aotensor.pictures.nest import nest_picture
from aotensor.pictures.nodes import graph_of, sites_of
from aotensor_cli.options import Refusal
from aotensor_cli.page.content import Content
from aotensor_cli.page.facts import functions_of, parts_of
from aotensor_cli.page.html import page_html
from aotensor_cli.page.profiles import select_profiles
from aotensor_cli.page.request import PageOptions
from aotensor_cli.page.roofline import roofline_picture
from aotensor_cli.page.sources import read_sources
from aotensor_cli.page.stage_lines import StageLines, split_lines
from aotensor_cli.reading.describe import describe
from aotensor_cli.terminal.remarks import without_remarks
from aotensor_cli.terminal.render import progress
from aotensor_runtime.notebook.html import plain

_ENTRIES = 16
"""Stored entries for each of them, of a sparse matrix."""
_DEFAULT = (1000, 100, 10_000)
"""Extents of the sets of dims, if none is asked for."""


class ModelPage:
    """The pictures and the page of some functions.   page: the options; loaded: the time when files were read"""

    def __init__(self, build: Build, page: PageOptions, loaded: float) -> None:
        self.build, self.rows, self.loaded = build, page.rows, loaded
        self.functions: list[Function] = [f for f in build.functions if isinstance(f, Function)]
        self.profiles = select_profiles(page.profiles, [f.name for f in self.functions])
        measured = [(x.function, x.sizes) for x in page.rows] + [(x.function, x.sizes) for x in self.profiles]
        self.sets = dim_sets(self.functions, page.sizes, measured)
        build.report = self.report = Report(self.sets)
        build.locations = True

    def graph_svg(self, stage: str) -> str:
        """The graphs as a picture."""
        return graph_picture([(f.name, graph_of(f, stage)) for f in self.functions])

    def nest_svg(self) -> str:
        """The loops as a picture, for the first set of dims."""
        self._lower()
        return nest_picture(self.report.outlines, self._label(0))

    def memory_svg(self) -> str:
        """The memory plan as a picture, for the first set of dims."""
        self._lower()
        return memory_picture(self.report.plans, self._label(0))

    def html(self) -> str:
        """The text of the HTML page."""
        build = self.build
        with progress(f"compiling {build.name}") as build.begin, without_remarks():
            texts = {stage: build.content(stage).decode() for stage in STAGES}
            data, problem = self._library()
        description = describe(data, _passes(build))
        content = Content(build.name, "model")
        content.stages = {stage: split_lines(stage, text) for stage, text in texts.items()}
        content.facts = description.rows()
        content.functions = functions_of(description)
        content.sources = read_sources(sites_of(self.functions), self.loaded)
        content.remarks = build.lowered.remarks
        content.sizes = [self._label(k) for k in range(len(next(iter(self.sets.values()), [{}])))]
        content.graphs = {
            stage: {f.name: [n.to_json() for n in graph_of(f, stage)] for f in self.functions}
            for stage in ("graph", "graph-opt")
        }
        content.loops = {
            x.name: {
                "seconds": x.seconds,
                "measured": self._measured(x.name),
                "nodes": [_node(n, content) for n in x.nodes],
            }
            for x in self.report.outlines
        }
        content.heat = {x.name: x.lines for x in self.report.outlines}
        numbers = range(len(content.sizes))
        content.pictures = {
            "memory": [memory_picture(self.report.plans, self._label(k), k, look="page") for k in numbers],
            **({"roofline": [roofline_picture(self.rows, look="page")]} if self.rows else {}),
        }
        content.parts = parts_of(description)
        content.passes = description.passes
        content.profiles = self.profiles
        schedule = build.lowered.schedule
        told = [] if schedule is None else [schedule_note(schedule.label)]
        content.notes = [
            *told,
            *problem,
            *(x.problem for x in content.sources if x.problem),
            *_unlinked(content.stages),
        ]
        if not self.rows:
            content.absent["roofline"] = NO_BENCH
        return page_html(content)

    def _measured(self, name: str) -> list[float | None]:
        """Seconds of a call on one core for each set of dims, None where it was not measured."""
        times = {(row.function, *sorted(row.sizes.items())): row.seconds for row in self.rows if row.threads == 1}
        return [times.get((name, *sorted(dims.items()))) for dims in self.sets.get(name, [])]

    def _lower(self) -> None:
        with progress(f"compiling {self.build.name}") as self.build.begin, without_remarks():
            _ = self.build.lowered

    def _library(self) -> tuple[bytes, list[str]]:
        try:
            return self.build.shared, []
        except ToolError as error:
            return self.build.library.object_code, [f"{error.diagnostic.title}: sizes are those of the object file"]

    def _label(self, number: int) -> str:
        """The label of a set of dims over all functions: `n=1000, p=100`."""
        together: dict[str, int] = {}
        for sets in self.sets.values():
            together |= sets[number]
        return dims_text(together) or "no dims"


NO_BENCH = (
    "No measurement was given. Write one by aotensor bench MODEL --json > bench.json, and add --bench bench.json."
)


def _unlinked(stages: Mapping[str, StageLines]) -> list[str]:
    """A note on the stages that cannot be linked to lines."""
    names = [name for name, text in stages.items() if not text.has_places]
    return [f"{', '.join(names)}: without line tables, so these are not linked to lines"] if names else []


def _node(node: Any, content: Content) -> dict[str, Any]:
    """A loop or statement as JSON values, with the line at which its text begins."""
    tree: dict[str, Any] = {
        key: getattr(node, key) for key in ("kind", "text", "how", "value", "file", "line", "trips", "seconds")
    }
    begins = content.stages["nest"].begins.get(node.op, [])
    tree["at"] = begins[node.position] if node.position < len(begins) else -1
    tree["body"] = [_node(x, content) for x in node.body]
    return tree


def _passes(build: Build) -> list[dict[str, Any]]:
    return [{"name": x.name, "before": x.before, "after": x.after, "seconds": x.seconds} for x in build.lowered.records]


def dim_sets(
    functions: Sequence[Function], sizes: Sequence[Mapping[str, int]], measured: Sequence[tuple[str, dict[str, int]]]
) -> dict[str, list[dict[str, int]]]:
    """The sets of dims that estimates are for: those asked for, those measured, or powers of ten.

    measured: function and its sizes

    Raises: Refusal for a size that no function has, and for measurements of other functions
    """
    dims = {f.name: dim_names(f) for f in functions}
    known = list(dict.fromkeys(n for names in dims.values() for n in names))
    for one in sizes:
        for name in one:
            if name not in known:
                shown = {n for f in functions for n in dim_names(f, has_parts=False)}
                raise Refusal(f"no function has a dim {plain(name)}", hint_of_dims(name, shown))
    if measured and not any(name in dims for name, _ in measured):
        raise Refusal(f"the measurements were made for {measured[0][0]}, not for {', '.join(dims)}")
    given = [dict(one) for one in sizes] or list(
        {tuple(one.items()): one for name, one in measured if name in dims}.values()
    )
    if given:
        return {
            f: [{n: one.get(n, _default(n, DEFAULT_EXTENT)) for n in names} for one in given]
            for f, names in dims.items()
        }
    if not known:
        return {f: [{}] for f in dims}
    return {f: [{n: _default(n, extent) for n in names} for extent in _DEFAULT] for f, names in dims.items()}


def _default(name: str, extent: int) -> int:
    return _ENTRIES * extent if name.endswith("nnz") else extent


def started() -> float:
    """The current time by the clock of the file system."""
    return time.time()
