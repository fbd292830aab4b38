"""The dataflow of a model at several levels, with its lines, times and remarks: the content of every export."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from aotensor import Function
from aotensor.api.cost.inputs import dims_text
from aotensor.driver.build import Build
from aotensor.driver.report import Report
from aotensor.graph.passes.remarks import Remark
from aotensor.passes.report.dataflow import SIZES, Flow, FlowNode
from aotensor.passes.report.outline import Node, Outline
from aotensor.pictures.flow import graph_flows
from aotensor.pictures.nodes import sites_of
from aotensor_cli.page.model_page import dim_sets
from aotensor_cli.page.profiles import MeasuredLine, MeasuredLines, select_profiles
from aotensor_cli.page.request import PageOptions
from aotensor_cli.page.sources import Source, read_sources
from aotensor_cli.terminal.remarks import without_remarks
from aotensor_cli.terminal.render import progress, time_text
from aotensor_runtime.notebook.html import clipped

_LABEL = 60
"""Characters of the label of a statement."""
_MOST_REMARKS = 12
"""Remarks of a line; the others are counted."""

Group = tuple[str, ...]
Place = tuple[str, int]


@dataclass
class Exported:
    """A model.   flows: its graphs, with attributes of nodes. groups: the same, attributes of the groups of each

    seconds: function → time of each line of a call; measured, or estimated for the sizes. facts: function → facts
    """

    name: str
    flows: list[Flow] = field(default_factory=list)
    groups: list[dict[Group, dict[str, str]]] = field(default_factory=list)
    seconds: dict[str, dict[Place, float]] = field(default_factory=dict)
    is_measured: bool = False
    facts: dict[str, dict[str, str]] = field(default_factory=dict)


def function_of(flow: Flow) -> str:
    """The function that a graph is of, also that of a body."""
    return flow.name.partition(" ")[0]


def collected(build: Build, page: PageOptions, stages: Sequence[str], loaded: float) -> Exported:
    """Lower a model and collect its graphs.   page: with sizes and profiles. loaded: when its files were read

    Raises: Refusal for sizes and profiles of other functions; as compiling
    """
    functions = [f for f in build.functions if isinstance(f, Function)]
    profiles = select_profiles(page.profiles, [f.name for f in functions])
    sets = dim_sets(functions, page.sizes, [(x.function, x.sizes) for x in profiles])
    build.report = report = Report({name: one[:1] for name, one in sets.items()}, stages)
    with progress(f"compiling {build.name}") as build.begin, without_remarks():
        remarks = build.lowered.remarks
    sources = {x.name: x for x in read_sources(sites_of(functions), loaded)}
    result = Exported(build.name, is_measured=bool(profiles))
    for f in functions:
        outline = next((x for x in report.outlines if x.name == f.name), None)
        profile = next((x for x in profiles if x.function == f.name), None)
        result.seconds[f.name] = _seconds(outline, profile)
        result.facts[f.name] = _facts(sets[f.name][0], outline, profile)
        own = [x for x in remarks if x.function in ("", f.name)]
        annotator = _Annotator(sources, own, outline, profile)
        graphs = [one for stage in stages if stage.startswith("graph") for one in graph_flows(f, stage)]
        for flow in [*graphs, *(x for x in report.flows if x.name == f.name)]:
            result.groups.append(annotator.annotate(flow))
            result.flows.append(flow)
    return result


def _seconds(outline: Outline | None, profile: MeasuredLines | None) -> dict[Place, float]:
    if profile is not None:
        return {(row.file, row.line): row.seconds for row in profile.rows if row.line}
    return {place: seconds[0] for place, seconds in outline.lines.items()} if outline is not None else {}


def _facts(dims: Mapping[str, int], outline: Outline | None, profile: MeasuredLines | None) -> dict[str, str]:
    facts = {"sizes": dims_text(dims) or "no dims"}
    if profile is not None:
        threads = f"{profile.threads} thread{'s' * (profile.threads > 1)}"
        facts["measured time of a call"] = f"{time_text(profile.seconds)} on {threads}, {profile.samples} samples"
    if outline is not None:
        facts["estimated time of a call"] = f"{time_text(outline.seconds[0])} on one core"
    return facts


class _Annotator:
    """Adds lines, times and remarks to the nodes and groups of graphs of one function."""

    def __init__(
        self, sources: Mapping[str, Source], remarks: Sequence[Remark], outline: Outline | None,
        profile: MeasuredLines | None,
    ) -> None:  # fmt: skip
        self.sources, self.remarks, self.outline = sources, remarks, outline
        self.measured = {(row.file, row.line): row for row in profile.rows if row.line} if profile is not None else {}
        nodes = list(_all(outline.nodes)) if outline is not None else []
        self.statements = {(x.op, x.position): x for x in nodes if x.kind != "loop"}
        self.loops = {x.name: x for x in nodes if x.kind == "loop"}

    def annotate(self, flow: Flow) -> dict[Group, dict[str, str]]:
        """Complete the nodes of a graph; returns the attributes of its groups."""
        groups: dict[Group, dict[str, str]] = {}
        for path, name in flow.groups.items():
            groups[path] = self._loop(name)
        for node in flow.nodes:
            if flow.stage == "nest":
                self._statement(node)
            if node.line and node.group == () and node.kind in ("op", "constant"):
                node.group = self._source_group(node.file, node.line)
                groups.setdefault(node.group, self._line(node.file, node.line))
            node.attributes = self._attributes(node) | node.attributes
            if SIZES in node.group:
                groups.setdefault(node.group[: node.group.index(SIZES) + 1], {"content": "arithmetic on extents"})
        return groups

    def _attributes(self, node: FlowNode) -> dict[str, str]:
        found = {"value": node.value} if node.value else {}
        if node.line:
            found["line"] = f"{node.file}:{node.line}"
            found["source"] = self._text(node.file, node.line)
        if node.is_derivative:
            found["derivative"] = "of this line"
        about = [x for x in self.remarks if node.value and x.line == node.line and x.value == node.value]
        found |= {f"remark {k}": _remark(x) for k, x in enumerate(about[:_MOST_REMARKS], 1)}
        return {key: text for key, text in found.items() if text}

    def _statement(self, node: FlowNode) -> None:
        """Show a statement of a nest by its code, with the time that it is estimated to take."""
        found = self.statements.get((node.op, node.position))
        if found is not None:
            node.label = clipped("; ".join(found.text), _LABEL)
            node.works = True
            node.attributes = {"code": "; ".join(found.text), **self._estimate(found), **node.attributes}

    def _estimate(self, node: Node) -> dict[str, str]:
        total = self.outline.seconds[0] if self.outline is not None else 0.0
        if not total or not node.seconds[0]:
            return {}
        return {"estimated time": f"{100 * node.seconds[0] / total:.1f} %, {time_text(node.seconds[0])}"}

    def _loop(self, name: str) -> dict[str, str]:
        found = self.loops.get(name)
        if found is None:
            return {}
        trips = "unknown" if found.trips[0] is None else str(found.trips[0])
        how = {"schedule": "; ".join(found.how)} if found.how else {}
        return {"loop": "; ".join(found.text), "name": name, "iterations": trips, **how, **self._estimate(found)}

    def _source_group(self, file: str, line: int) -> Group:
        """The functions of the file around a line, and the line."""
        source = self.sources.get(file)
        around = [name for first, last, name in source.functions if first <= line <= last] if source else []
        return (*around, f"{file}:{line}")

    def _text(self, file: str, line: int) -> str:
        source = self.sources.get(file)
        return source.lines[line - 1].strip() if source is not None and 0 < line <= len(source.lines) else ""

    def _line(self, file: str, line: int) -> dict[str, str]:
        """The attributes of a line: source, time and remarks."""
        found = {"source": self._text(file, line)}
        place = (file, line)
        if self.outline is not None and place in self.outline.lines and self.outline.seconds[0]:
            seconds = self.outline.lines[place][0]
            found["estimated time"] = f"{100 * seconds / self.outline.seconds[0]:.1f} %, {time_text(seconds)}"
        if place in self.measured:
            found |= _measured(self.measured[place])
        about = [x for x in self.remarks if (x.file, x.line) == place]
        found |= {f"remark {k}": _remark(x) for k, x in enumerate(about[:_MOST_REMARKS], 1)}
        if len(about) > _MOST_REMARKS:
            found["more remarks"] = f"{len(about) - _MOST_REMARKS}: aotensor inspect MODEL --remarks --line {line}"
        return {key: text for key, text in found.items() if text}


def _measured(row: MeasuredLine) -> dict[str, str]:
    found = {
        "measured time": f"{100 * row.share:.1f} %, {time_text(row.seconds)}",
        "measured forward, derivative": f"{100 * row.forward:.1f} %, {100 * row.derivative:.1f} %",
    }
    for key, rate in zip(("GB/s", "GFLOP/s"), row.rates, strict=True):
        found |= {} if rate is None else {key: f"{rate / 1e9:.2f}"}
    if row.bound:
        part = "" if row.of_limit is None else f", {100 * row.of_limit:.0f} % of a limit"
        found["bound by"] = f"{row.bound}{part}"
    return found


def _remark(x: Remark) -> str:
    hint = f"; to allow it: {x.hint}" if x.hint else ""
    return f"{x.pass_name}, {x.kind}: {x.message}{hint}"


def _all(nodes: Iterable[Node]) -> Iterable[Node]:
    for node in nodes:
        yield node
        yield from _all(node.body)
