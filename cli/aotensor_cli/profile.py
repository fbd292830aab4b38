"""`aotensor profile`: measure the time of each line of a model, and what bounds it."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from aotensor import Function
from aotensor.api.cost.inputs import dims_of, dims_text
from aotensor.api.cost.limits import measured_limits
from aotensor.api.profiling.line_profile import LinedLibrary, lined_library
from aotensor.api.profiling.measure import Profile, Task
from aotensor.api.profiling.rows import Row
from aotensor.api.profiling.sampler import check_system, compiled_sampler
from aotensor.api.profiling.table import COLUMNS, cells, kernels_text, shown_rows
from aotensor_cli.benching.inputs import known_dims, parse_sizes
from aotensor_cli.model import load_model
from aotensor_cli.options import Exit, Refusal, known_names_hint, similar, thread_count
from aotensor_cli.reading.derivatives import with_gradients
from aotensor_cli.reading.describe import describe
from aotensor_cli.reading.library import is_library, naming, read_library, split_name
from aotensor_cli.terminal.output import printed_to
from aotensor_cli.terminal.remarks import without_remarks
from aotensor_cli.terminal.render import progress, show, show_json, show_table, time_text
from aotensor_cli.terminal.report import Sources
from aotensor_cli.terminal.stacks import folded, speedscope
from aotensor_runtime.formats.image import SHARED
from aotensor_runtime.machine import check_architecture, check_features, check_libc
from aotensor_runtime.notebook.html import clipped
from aotensor_runtime.systems.scratch import scratch_folder
from aotensor_runtime.weights.file import find_weights

_FEWEST: Final = 50
"""Samples by which shares mean something."""
_LONGEST_SIZES: Final = 60
"""Characters of the sizes, in the text."""


@dataclass
class _Subject:
    """The library to profile.   names: of its functions. sources: files of a model, none of a library"""

    library: LinedLibrary
    names: list[str]
    sources: Sources


def run(
    subject: str, sizes: str | None, threads: str | None, seconds: float, seed: int, limits: bool, grad: str | None,
    form: str, out: Path | None, as_json: bool,
) -> int:  # fmt: skip
    """Run `aotensor profile` with the parameters that `commands/profile.py` declares; returns the exit code."""
    check_system()
    count, given = thread_count(threads), parse_sizes(sizes)
    found = _read(subject) if is_library(split_name(subject)[0]) else _compiled(subject, given, grad)
    known_dims([found.library.manifest.function(name) for name in found.names], [given])
    if found.library.code.lines.is_empty:
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
                profiles.append(found.library.profile(sampler, task, reachable))
    with printed_to(out):
        _show(profiles, "json" if as_json else form, found.sources)
    return Exit.DONE


def _own(found: _Subject, name: str, sizes: Mapping[str, int]) -> dict[str, int]:
    """The sizes that a function has."""
    known = dims_of(found.library.manifest.function(name), {})
    return {key: n for key, n in sizes.items() if key in known}


def _read(subject: str) -> _Subject:
    """Read a library with line tables; the operations of its lines are not known."""
    path, name = split_name(subject)
    with naming(path):
        data = read_library(path)
        description = describe(data)
        if description.damages:
            raise Refusal(f"{path}: {description.damages[0]}")
        image = description.container.image
        if image.kind != SHARED:
            raise Refusal(f"{path}: this object code is not linked", "profile the library, or the model")
        check_architecture(image)
        check_libc(description.manifest)
        check_features(description.manifest, image.machine)
        spec = description.manifest.weights
        weights = None if spec is None else find_weights(spec, path).resolve()
    names = [spec.name for spec in description.manifest.functions]
    if name is not None and name not in names:
        raise Refusal(f"{path}: there is no function {name}", similar(name, names) or known_names_hint(names))
    return _Subject(LinedLibrary(data, weights=weights), [name] if name else names, Sources([]))


def _compiled(subject: str, sizes: Mapping[str, int], grad: str | None) -> _Subject:
    """Compile a model with line tables in which derivatives belong to the differentiated line."""
    model = load_model(subject)
    functions = [f for f in model.functions if isinstance(f, Function)]
    if grad:
        functions += with_gradients(functions, [name.strip() for name in grad.split(",") if name.strip()])
    with progress(f"compiling {functions[0].library_name}") as begin, without_remarks():
        library = lined_library(functions, sizes, begin)
    return _Subject(library, [f.name for f in functions], Sources([model.path, *model.opened]))


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
    headers = ("  line", *COLUMNS, "")
    rows = [_cells(row, sources) for row in shown_rows(profile.rows)]
    show_table(headers, rows, wrap=sys.stdout.isatty())
    _, low, high = profile.overhead
    least = f"{100 * low:.1f} to " if low > 0 else "at most "
    show(f"  samples slow a call down by {least}{max(100 * high, 0.0):.1f} %")


def _cells(row: Row, sources: Sources) -> tuple[str, ...]:
    kernels, text = kernels_text(row), sources.line(row.file, row.line) if row.line else ""
    return (f"  {row.where}", *cells(row), f"{text}{f'   in {kernels}' if kernels else ''}")
