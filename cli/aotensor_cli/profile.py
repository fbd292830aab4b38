"""`aotensor profile`: which lines of a model take the time, and what bounds them."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from aotensor import Function
from aotensor.api.cost.clock import timed
from aotensor.api.cost.limits import Limits, measured_limits, streams_over
from aotensor.api.cost.work import evaluated
from aotensor.driver.build import Build
from aotensor.driver.recipe import Options
from aotensor.driver.report import Report
from aotensor.passes.report.line_work import Work
from aotensor.passes.report.outline import Outline
from aotensor_cli.benching.inputs import dims_of, dims_text, known_dims, parse_sizes
from aotensor_cli.model import load_model
from aotensor_cli.options import Exit, Refusal, similar, thread_count, what_there_is
from aotensor_cli.page.model_page import dim_sets
from aotensor_cli.profiling.attribution import Code
from aotensor_cli.profiling.formats import folded, speedscope
from aotensor_cli.profiling.measure import Profile, Task, profile_of, sampled
from aotensor_cli.profiling.rows import Row
from aotensor_cli.profiling.sampler import compiled_sampler
from aotensor_cli.reading.derivatives import with_gradients
from aotensor_cli.reading.describe import Description, describe
from aotensor_cli.reading.library import is_library, naming, read_library, split_name
from aotensor_cli.terminal.output import printed_to
from aotensor_cli.terminal.remarks import without_remarks
from aotensor_cli.terminal.render import progress, show, show_json, show_table, time_text
from aotensor_cli.terminal.report import Sources
from aotensor_runtime.formats.image import SHARED
from aotensor_runtime.machine import check_architecture, check_features, check_libc
from aotensor_runtime.notebook.html import clipped
from aotensor_runtime.systems.scratch import scratch_folder

_FEWEST: Final = 50
"""Samples by which shares mean something."""
_LONGEST_SIZES: Final = 60
"""Characters of the sizes, in the text."""
_LEAST: Final = 0.003
"""Share of the time of a row that is shown."""


@dataclass
class _Subject:
    """What is profiled.   model: that it was compiled from, with its functions by name; none for a library"""

    data: bytes
    description: Description
    names: list[str]
    sources: Sources
    functions: dict[str, Function]
    outlines: dict[str, tuple[dict[str, int], Outline]]

    def work(self, name: str, dims: dict[str, int]) -> Mapping[tuple[str, int], Work]:
        """What the lines of a function do at these sizes; nothing of a library."""
        if name not in self.functions:
            return {}
        if self.outlines.get(name, (None,))[0] != dims:  # as stored entries, whose number follows from other sizes
            _lowered([self.functions[name]], {name: dims}, self.outlines)
        return {line: sets[0] for line, sets in self.outlines[name][1].work.items()}


def run(
    subject: str, sizes: str | None, threads: str | None, seconds: float, seed: int, limits: bool, grad: str | None,
    form: str, out: Path | None, as_json: bool,
) -> int:  # fmt: skip
    """Run `aotensor profile` with the parameters that `commands/profile.py` declares; returns the exit code."""
    if not sys.platform.startswith("linux"):
        raise Refusal("profile samples by timers of Linux", "see what is estimated: aotensor why MODEL:LINE", Exit.TOOL)
    count, given = thread_count(threads), parse_sizes(sizes)
    found = _read(subject) if is_library(split_name(subject)[0]) else _compiled(subject, given, grad)
    known_dims([found.description.manifest.function(name) for name in found.names], [given])
    code = Code(found.description.container.image)
    if code.lines.is_empty:
        hint = "compile it with line tables, aotensor compile MODEL -g, or profile the model"
        raise Refusal(f"{subject}: the library has no line tables", hint)
    profiles = []
    with scratch_folder() as folder:
        sampler = compiled_sampler(folder)
        with progress("measuring the machine"), without_remarks():
            reachable = measured_limits([count], 0.2)[count] if limits else None
        for name in found.names:
            with progress(f"profiling {name}"):
                task = Task(name, _own(found, name, given), count, seconds, seed)
                profiles.append(_profile(found, code, sampler, task, reachable))
    with printed_to(out):
        _show(profiles, "json" if as_json else form, found.sources)
    return Exit.DONE


def _own(found: _Subject, name: str, sizes: Mapping[str, int]) -> dict[str, int]:
    """The sizes that a function has."""
    known = dims_of(found.description.manifest.function(name), {})
    return {key: n for key, n in sizes.items() if key in known}


def _profile(found: _Subject, code: Code, sampler: Path, task: Task, limits: Limits | None) -> Profile:
    raw, samples = sampled(found.data, sampler, task)
    formulas = found.description.work.get(task.function, {})
    flops, total = (evaluated(formulas.get(what, ""), raw["dims"])[0] for what in ("flops", "bytes"))
    if limits is not None and total:  # arrays that stay in caches are streamed over faster than memory is
        streams = streams_over(int(total), task.threads)
        times = timed({name: call for name, (call, _) in streams.items()}, 0.05)
        fastest = max(size / times[name].best for name, (_, size) in streams.items())
        limits = replace(limits, bandwidth=max(limits.bandwidth, fastest))
    return profile_of(raw, samples, code, task, found.work(task.function, raw["dims"]), flops, limits)


def _read(subject: str) -> _Subject:
    """A library, whose own line tables are used; what its lines do is not known."""
    path, name = split_name(subject)
    with naming(path):
        data = read_library(path)
        description = describe(data)
        if description.damages:
            raise Refusal(f"{path}: {description.damages[0]}")
        image = description.container.image
        if image.kind != SHARED:
            raise Refusal(f"{path}: this is object code that is not linked", "profile the library, or the model")
        check_architecture(image)
        check_libc(description.manifest)
        check_features(description.manifest, image.machine)
    names = [spec.name for spec in description.manifest.functions]
    if name is not None and name not in names:
        raise Refusal(f"{path}: there is no function {name}", similar(name, names) or what_there_is(names))
    return _Subject(data, description, [name] if name else names, Sources([]), {}, {})


def _compiled(subject: str, sizes: Mapping[str, int], grad: str | None) -> _Subject:
    """A model, compiled with lines of what was differentiated."""
    model = load_model(subject)
    functions = [f for f in model.functions if isinstance(f, Function)]
    if grad:
        functions += with_gradients(functions, [name.strip() for name in grad.split(",") if name.strip()])
    outlines: dict[str, tuple[dict[str, int], Outline]] = {}
    dims = {name: sets[0] for name, sets in dim_sets(functions, [dict(sizes)], ()).items()}
    build = _lowered(functions, dims, outlines)
    with progress(f"compiling {build.name}") as build.begin, without_remarks():
        data = build.shared
    named = {f.name: f for f in functions}
    return _Subject(data, describe(data), list(named), Sources([model.path, *model.opened]), named, outlines)


def _lowered(
    functions: Sequence[Function], dims: Mapping[str, dict[str, int]],
    outlines: dict[str, tuple[dict[str, int], Outline]],
) -> Build:  # fmt: skip
    """Lower functions, and keep the outlines of their loops at these sizes."""
    build = Build(functions, None, Options(debug_info=True, by_origin=True))
    build.report = report = Report({name: [one] for name, one in dims.items()})
    with progress(f"compiling {build.name}") as build.begin, without_remarks():
        _ = build.lowered
    outlines.update({x.name: (dims[x.name], x) for x in report.outlines})
    return build


# --- output ----------------------------------------------------------------------------------------------------------


def _show(profiles: Sequence[Profile], form: str, sources: Sources) -> None:
    if form == "json":
        show_json({"profiles": [x.to_json() for x in profiles]})
    elif form == "folded":
        show(folded(profiles), nl=False)
    elif form == "speedscope":
        show(speedscope(profiles), nl=False)
    else:
        for position, profile in enumerate(profiles):
            show("\n" if position else "", nl=False)
            _show_one(profile, sources)


def _show_one(profile: Profile, sources: Sources) -> None:
    at = f" at {clipped(dims_text(profile.dims), _LONGEST_SIZES)}" if profile.dims else ""
    threads = f"{profile.threads} thread{'s' * (profile.threads > 1)}"
    show(f"{profile.function}{at} on {threads}: {time_text(profile.seconds)} per call, {profile.samples} samples")
    if profile.samples < _FEWEST:
        show("  too few samples to tell: give more --seconds, or larger --sizes")
    elif any(row.bound == "overhead" and row.share > 0.5 for row in profile.rows):
        show("  most of the time is the call itself: larger --sizes tell more about the lines")
    headers = ("  line", "time", "forward", "derivative", "GB/s", "GFLOP/s", "bound by", "")
    rows = [_cells(row, sources) for row in profile.rows if row.share >= _LEAST]
    show_table(headers, rows, wrap=sys.stdout.isatty())
    _, low, high = profile.overhead
    least = f"{100 * low:.1f} to " if low > 0 else "at most "
    show(f"  samples slow a call down by {least}{max(100 * high, 0.0):.1f} %")


def _cells(row: Row, sources: Sources) -> tuple[str, ...]:
    percents = [f"{100 * x:.1f} %" if x else "" for x in (row.share, row.forward, row.derivative)]
    rates = ["" if x is None else f"{x / 1e9:.2f}" for x in row.rates]
    bound = row.bound if row.of_limit is None else f"{row.bound}, {100 * row.of_limit:.0f} % of a limit"
    kernels = ", ".join(f"{name} {100 * share:.0f} %" for name, share in row.kernels.items() if share >= _LEAST)
    text = sources.line(row.file, row.line) if row.line else ""
    return (f"  {row.where}", *percents, *rates, bound, f"{text}{f'   in {kernels}' if kernels else ''}")
