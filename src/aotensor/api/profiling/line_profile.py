"""Profile a library with line tables: sample its functions, and compute rates and bounds by line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from aotensor.api.cost.clock import time_calls
from aotensor.api.cost.inputs import DEFAULT_EXTENT, dim_names
from aotensor.api.cost.limits import Limits, streams_over
from aotensor.api.cost.work import argument_bytes, evaluated, formulas
from aotensor.api.profiling.attribution import Code
from aotensor.api.profiling.measure import Profile, Task, profile_of, sampled
from aotensor.driver.build import Build
from aotensor.driver.definition import Definition
from aotensor.driver.recipe import Options
from aotensor.driver.report import Report
from aotensor.passes.report.line_work import Work
from aotensor.passes.report.outline import Outline
from aotensor_runtime.container import Container

_STREAMED: float = 0.05
"""Seconds of the measurement of a stream over as many bytes as the arrays of a call have."""


class LinedLibrary:
    """A library with line tables.

    functions: that it was compiled from, by name; none if these are not known. weights: its file of weights, if it has
    one

    Raises: LibraryError for what is not a library, or is damaged.
    """

    def __init__(
        self, data: bytes, functions: Mapping[str, Definition] | None = None, weights: Path | None = None
    ) -> None:
        self.data, self.functions, self.weights = data, functions or {}, weights
        self.container = Container(data)
        self.manifest = self.container.manifest()
        self.code = Code(self.container.image)
        self.outlines: dict[str, tuple[dict[str, int], Outline]] = {}

    def work(self, name: str, dims: dict[str, int]) -> Mapping[tuple[str, int], Work]:
        """The work of each line of a function at these sizes; nothing where the function is not known."""
        if name not in self.functions:
            return {}
        if self.outlines.get(name, (None,))[0] != dims:  # as stored entries, whose number follows from other sizes
            self.outlines |= lowered([self.functions[name]], {name: dims})[1]
        return {line: sets[0] for line, sets in self.outlines[name][1].work.items()}

    def profile(self, sampler: Path, task: Task, limits: Limits | None) -> Profile:
        """Sample one function.   sampler: compiled. limits: of the machine, None if bounds are not asked for

        Raises: ArgumentValueError for sizes that do not fit; ToolError if the process ends early
        """
        raw, samples = sampled(self.data, self.weights, sampler, task)
        flops = evaluated(formulas(self.container).get(task.function, ""), raw["dims"])[0]
        total = evaluated(argument_bytes(self.manifest.function(task.function)), raw["dims"])[0]
        if limits is not None and total:  # arrays that stay in caches are streamed over faster than memory is
            streams = streams_over(int(total), task.threads)
            times = time_calls({name: call for name, (call, _) in streams.items()}, _STREAMED)
            fastest = max(size / times[name].best for name, (_, size) in streams.items())
            limits = replace(limits, bandwidth=max(limits.bandwidth, fastest))
        return profile_of(raw, samples, self.code, task, self.work(task.function, raw["dims"]), flops, limits)


def lined_library(
    functions: Sequence[Definition], sizes: Mapping[str, int], begin: Callable[[str], None] = lambda step: None
) -> LinedLibrary:
    """Compile functions with line tables in which a derivative belongs to the line that is differentiated.

    sizes: extents of dims that the work of lines is computed for. begin: called with the name of each step.

    Raises: as compiling
    """
    dims = {f.name: {n: sizes.get(n, DEFAULT_EXTENT) for n in dim_names(f)} for f in functions}
    build, outlines = lowered(functions, dims, begin)
    library = LinedLibrary(build.shared, {f.name: f for f in functions})
    library.outlines = outlines
    return library


def lowered(
    functions: Sequence[Definition], dims: dict[str, dict[str, int]], begin: Callable[[str], None] = lambda step: None
) -> tuple[Build, dict[str, tuple[dict[str, int], Outline]]]:
    """Lower functions with line tables; with the outlines of their loops at these sizes.   Raises: as compiling"""
    build = Build(functions, None, Options(debug_info=True, by_origin=True))
    build.begin = begin
    build.report = report = Report({name: [one] for name, one in dims.items()})
    _ = build.lowered
    return build, {x.name: (dims[x.name], x) for x in report.outlines}
