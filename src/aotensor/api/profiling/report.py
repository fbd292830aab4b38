"""Measured time of a function by line, as text and as HTML for notebooks."""

from __future__ import annotations

from collections.abc import Mapping
from linecache import getline
from typing import Any, Final

from aotensor.api.cost.inputs import checked_threads, dim_names, dims_of, dims_text, hint_of_dims
from aotensor.api.cost.limits import measured_limits
from aotensor.api.profiling.line_profile import lined_library
from aotensor.api.profiling.measure import Profile, Task
from aotensor.api.profiling.rows import Row
from aotensor.api.profiling.sampler import check_system, compiled_sampler
from aotensor.api.profiling.table import COLUMNS, cells, kernels_text, shown_rows
from aotensor.driver.definition import Definition
from aotensor.errors import GraphValueError
from aotensor.pictures.lines import Bar, time_picture
from aotensor.pictures.nodes import sites_of
from aotensor_runtime.notebook.html import card, table
from aotensor_runtime.systems.scratch import scratch_folder

_SECONDS: Final = 0.2
"""Of each measurement of the machine."""
_SHORTEST, _LONGEST = 0.1, 3600
"""Seconds of samples."""


class TimeByLine:
    """Measured time of a function by line of the program that made it.

    profile: rows, sizes and seconds of a call, with the keys of docs/profile.md in `to_json()`.
    """

    def __init__(self, profile: Profile, files: Mapping[str, list[str]]) -> None:
        self.profile, self._files = profile, files

    @property
    def rows(self) -> list[Row]:
        """The rows, the largest first."""
        return self.profile.rows

    def to_json(self) -> dict[str, Any]:
        """As JSON values, with the keys of `aotensor profile --json`."""
        return self.profile.to_json()

    def __str__(self) -> str:
        rows = [("line", *COLUMNS, ""), *((row.where, *cells(row), self._text(row)) for row in shown_rows(self.rows))]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(x.ljust(n) for x, n in zip(row, widths, strict=True)).rstrip() for row in rows]
        return "\n".join([self._summary(), *lines])

    def _repr_html_(self) -> str:
        """HTML for notebooks: a bar for each line, and a table of rates and bounds."""
        shown = shown_rows(self.rows)
        bars = [Bar(f"{row.where}  {self._text(row)}", row.share, row.forward, row.derivative) for row in shown]
        rows = [(row.where, *cells(row), self._text(row)) for row in shown]
        drawn = f'<div style="overflow:auto">{time_picture(bars[:40], look="notebook")}</div>'
        return card(f"time of {self.profile.function} by line", self._summary(), drawn, table(["", *COLUMNS, ""], rows))

    def _summary(self) -> str:
        profile = self.profile
        at = f" at {dims_text(profile.dims)}" if profile.dims else ""
        threads = f"{profile.threads} thread{'s' * (profile.threads > 1)}"
        return (
            f"{profile.function}{at} on {threads}: {profile.seconds * 1e6:.4g} us per call, {profile.samples} samples"
        )

    def _text(self, row: Row) -> str:
        """The text of a line as far as its file is known, and the kernels that it calls."""
        paths = self._files.get(row.file, [])
        source = getline(paths[0], row.line).strip() if row.line and len(paths) == 1 else ""
        kernels = kernels_text(row)
        return f"{source}{'   in ' if source and kernels else 'in ' if kernels else ''}{kernels}"


def time_by_line(
    f: Definition, sizes: Mapping[str, int], threads: int, seconds: float, seed: int, has_limits: bool
) -> TimeByLine:
    """Compile a function with line tables, call it on random inputs in a process of its own, and sample it.

    Raises: GraphValueError for an unknown dim, or options out of range; ArgumentValueError for sizes that do not fit;
    ToolError without timers of Linux or a C compiler; as compiling
    """
    checked_threads(f.name, threads)
    if not _SHORTEST <= seconds <= _LONGEST or seed < 0:
        raise GraphValueError(f"{f.name}: seconds must be from {_SHORTEST} to {_LONGEST}, and the seed at least 0")
    check_system()
    known = dim_names(f, has_parts=False)
    for name, n in sizes.items():
        if name not in known:
            raise GraphValueError(f"{f.name} has no dim {name}", hint=hint_of_dims(name, known))
        if not isinstance(n, int) or isinstance(n, bool) or n < 0:
            raise GraphValueError(f"{f.name}: the size {name} must be a whole number, not {n!r:.50}")
    with scratch_folder() as folder:
        sampler = compiled_sampler(folder)
        library = lined_library([f], sizes)
        dims = dims_of(library.manifest.function(f.name), sizes)
        limits = measured_limits([threads], _SECONDS)[threads] if has_limits else None
        given = {name: dims[name] for name in sizes}
        return TimeByLine(library.profile(sampler, Task(f.name, given, threads, seconds, seed), limits), sites_of([f]))
