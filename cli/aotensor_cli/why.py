"""`aotensor why`: explain the loops of a line of a model, or why two lines do or do not share a loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from aotensor import Function
from aotensor.api.cost.inputs import dims_text
from aotensor.driver.build import Build
from aotensor.driver.recipe import Lowered, Options
from aotensor.driver.report import Report
from aotensor.graph.passes.remarks import Remark
from aotensor.passes.remark_texts import render_remarks
from aotensor.passes.report.outline import Outline
from aotensor_cli.benching.inputs import parse_sizes
from aotensor_cli.explaining.answers import About, about
from aotensor_cli.explaining.measuring import MeasuredChange, with_directive, without_passes
from aotensor_cli.explaining.pairs import LoopSharing, together
from aotensor_cli.explaining.places import Line, known_lines, other_line, split_line
from aotensor_cli.explaining.report import show_about, show_together
from aotensor_cli.model import load_model
from aotensor_cli.options import Exit, Refusal
from aotensor_cli.page.model_page import dim_sets
from aotensor_cli.reading.library import is_library
from aotensor_cli.terminal.remarks import without_remarks
from aotensor_cli.terminal.render import progress, show, show_json
from aotensor_cli.terminal.report import Sources

_NEAREST = 8
"""Lines that a refusal names."""


def run(line: str, other: str | None, sizes: str | None, measure: bool, seconds: float, as_json: bool) -> int:
    """Run `aotensor why` with the parameters that `commands/why.py` declares; returns the exit code."""
    subject, name, file, number = split_line(line)
    if is_library(Path(subject)):
        hint = f"ask about the model, or: aotensor inspect {subject} --remarks --line {number}"
        raise Refusal(f"{subject}: a library does not store the lines of its loops", hint)
    model = load_model(f"{subject}:{name}" if name else subject)
    first = Line(file or model.path.name, number)
    second = None if other is None else other_line(other, first.file)
    functions = [f for f in model.functions if isinstance(f, Function)]
    given = parse_sizes(sizes)
    report = Report(dim_sets(functions, [given] if given else [], ()))
    build = Build(functions, None, Options())
    build.report = report
    with progress(f"compiling {build.name}") as build.begin, without_remarks():
        lowered = build.lowered
    outlines = {x.name: x for x in report.outlines}
    pairs = [(f, outlines[f.name]) for f in functions if f.name in outlines]
    sources = Sources([model.path, *model.opened])
    answers: list[tuple[Function, About | LoopSharing]] = []
    if second is None:
        found = [(f, about(f, outline, first, lowered.remarks)) for f, outline in pairs]
        answers += [(f, x) for f, x in found if x is not None]
    else:
        each = _decisions(lowered)
        for f, outline in pairs:
            known = known_lines(f, outline)
            if first in known and second in known:
                answers.append((f, together(f, outline, (first, second), each)))
    if not answers:
        raise _refusal(pairs, [first] if second is None else [first, second])
    times = [_measured(f, x, given, seconds) if measure else [] for f, x in answers]
    if as_json:
        both = zip(answers, times, strict=True)
        show_json({"answers": [{**x.to_json(), "measured": [t.to_json() for t in ts]} for (_, x), ts in both]})
        return Exit.DONE
    for position, ((f, x), ts) in enumerate(zip(answers, times, strict=True)):
        show("\n" if position else "", nl=False)
        if isinstance(x, LoopSharing):
            show_together(x, sources, ts)
        else:
            show_about(x, sources, dims_text(report.dims[f.name][0]) or "known sizes", ts)
    return Exit.DONE


def _decisions(lowered: Lowered) -> list[Remark]:
    """All remarks of the passes, without merging equal ones of a line, since each may name other lines."""
    names = {f.name: f.written_names for f in lowered.functions}
    notes = [*(note for f in lowered.functions for note in f.graph_notes), *lowered.runner.notes.found]
    found = [x for note in notes for x in render_remarks([note], lowered.sites, names)]
    return list(dict.fromkeys(found))


def _measured(
    f: Function, answer: About | LoopSharing, sizes: Mapping[str, int], seconds: float
) -> list[MeasuredChange]:
    """Measure the effect of the decisions in an answer; empty if no edit of the schedule applies."""
    if isinstance(answer, About):
        return without_passes(f, answer.remarks, sizes, seconds)
    if answer.directive is not None and not answer.directive.problem:
        return with_directive(f, answer.directive, sizes, seconds)
    if answer.shared:
        return without_passes(f, [x for x in answer.decisions if x.pass_name.startswith("fuse")], sizes, seconds)
    return []


def _refusal(pairs: Sequence[tuple[Function, Outline]], lines: Sequence[Line]) -> Refusal:
    """The error for lines without operations; its hint names the nearest lines with operations."""
    known = sorted({x for f, outline in pairs for x in known_lines(f, outline)})
    empty = [x for x in lines if x not in known]
    if not empty:
        return Refusal(f"no function computes something of both {lines[0]} and {lines[-1]}", "ask about each")
    of_file = [x for x in known if x.file == empty[0].file] or known
    nearest = sorted(of_file, key=lambda x: abs(x.number - empty[0].number))[:_NEAREST]
    return Refusal(
        f"{empty[0]} holds nothing that a function computes",
        f"lines that do: {', '.join(map(str, sorted(nearest))) or 'none'}",
    )
