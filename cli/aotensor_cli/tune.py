"""`aotensor tune`: search for a faster schedule of a model's loops by measuring on this machine."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aotensor import Function
from aotensor.api.cost.inputs import dims_of, dims_text, hint_of_dims, make_inputs
from aotensor.codegen.files import write_files
from aotensor.codegen.machine import Machine
from aotensor.driver.build import Build
from aotensor.driver.common import package_version
from aotensor.driver.folder import compiler_identity
from aotensor.driver.recipe import Options, stage_text
from aotensor.passes.schedule.edit import described
from aotensor.passes.schedule.library_nest import replace_functions
from aotensor_cli.benching.inputs import parse_sizes
from aotensor_cli.model import load_model
from aotensor_cli.options import Exit, Refusal
from aotensor_cli.reading.library import is_library, split_name
from aotensor_cli.terminal.remarks import without_remarks
from aotensor_cli.terminal.render import progress, show, show_json, show_table, talk, time_text
from aotensor_cli.tuning.journal import Journal
from aotensor_cli.tuning.measure import Setting
from aotensor_cli.tuning.report import report, wrong
from aotensor_cli.tuning.search import BestCandidate, Search
from aotensor_runtime import Library
from aotensor_runtime.threads import default_threads


@dataclass(frozen=True)
class Tuned:
    """A function with the result of its search."""

    function: Function
    settings: list[Setting]
    found: BestCandidate
    journal: Journal


def run(
    model: str, sizes: tuple[str, ...], seconds: float, threads: int | None, out: Path | None, seed: int, restart: bool,
    as_json: bool,
) -> int:  # fmt: skip
    """Run `aotensor tune` with the parameters that `commands/tune.py` declares; returns the exit code."""
    path, chosen = split_name(model)
    if is_library(path):
        raise Refusal(f"{path}: this is a compiled library", "tune the model")
    functions = load_model(model).functions
    wanted = [parse_sizes(text) for text in sizes] or [{}]
    name = chosen or (functions[0].name if len(functions) == 1 else path.stem)
    file = out or Path(f"{name}.nest.mlir")
    if file.suffix in (".md", ".jsonl"):
        raise Refusal(
            f"-o {file}: this ending is used for the report or the trials", "write the schedule to a .mlir file"
        )
    inputs = _settings(functions, wanted, threads or default_threads(), seed)
    tuned = []
    for f in functions:
        journal = _journal(
            _sibling_path(file, f.name if len(functions) > 1 else "", "jsonl"), f, inputs[f.name], restart
        )
        tuned.append(_tuned(f, inputs[f.name], journal, seconds / len(functions)))
    parts = [_report(one) for one in tuned]
    pages = f"# Tuning of {name}\n\n{_usage(model, file)}\n{''.join(parts)}"
    write_files({file: _schedule(functions, tuned).encode(), _sibling_path(file, "", "md"): pages.encode()})
    _show(tuned, file, as_json)
    mistakes = [f"{one.function.name}: {x}" for one in tuned for x in wrong(one.journal.trials)]
    for mistake in mistakes:
        talk(f"error: {mistake} gives other values, though it was shown to compute the same: please report this")
    return Exit.WRONG if mistakes else Exit.DONE


def _settings(
    functions: Sequence[Function], wanted: Sequence[Mapping[str, int]], threads: int, seed: int
) -> dict[str, list[Setting]]:
    """Function → its settings: sizes, inputs and numbers of threads.

    Raises: Refusal for a size that no function has
    """
    build = Build(list(functions), None, Options())
    with progress(f"compiling {build.name}") as build.begin, without_remarks():
        library = Library(build.shared)
    dims = {name: set(dims_of(f.spec, {})) for name, f in library.functions.items()}
    known = set().union(*dims.values())
    for one in wanted:
        for name in one:
            if name not in known:
                raise Refusal(f"no function has a dim {name}", hint_of_dims(name, known))
    found: dict[str, list[Setting]] = {}
    for name, f in library.functions.items():
        own = [{key: n for key, n in one.items() if key in dims[name]} for one in wanted]
        extents = [dims_of(f.spec, one) for one in own]
        found[name] = [Setting(one, make_inputs(f, one, seed), threads) for one in extents]
    return found


def _journal(path: Path, f: Function, settings: Sequence[Setting], restart: bool) -> Journal:
    machine = Machine.host()
    nest = stage_text([f], "nest")
    subject = {
        "function": f.name, "settings": [{"sizes": dict(x.dims), "threads": x.threads} for x in settings],
        "machine": machine.cpu, "features": _digest(machine.features),
        "version": package_version(),
        "compiler": _digest(compiler_identity()), "nest": _digest(nest),
    }  # fmt: skip
    if restart:
        path.unlink(missing_ok=True)
    journal = Journal(path, subject)
    if journal.other:
        talk(f"{path}: trials of an earlier search are left, as these differ: {', '.join(journal.other)}")
    elif journal.trials:
        talk(f"{path}: going on after {len(journal.trials)} trials")
    journal.begin()
    return journal


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _tuned(f: Function, settings: list[Setting], journal: Journal, seconds: float) -> Tuned:
    with progress(f"tuning {f.name}") as begin, without_remarks():
        search = Search(f, settings, journal, begin, lambda text: talk(f"{f.name}: {text}"))
        return Tuned(f, settings, search.run(seconds), journal)


def _schedule(functions: Sequence[Function], tuned: Sequence[Tuned]) -> str:
    if len(functions) == 1:
        return tuned[0].found.text
    return replace_functions(stage_text(functions, "nest"), {one.function.name: one.found.text for one in tuned})


def _sibling_path(file: Path, name: str, ending: str) -> Path:
    """The path of a file next to the schedule: `f.nest.mlir` → `f.nest.md`, `f.nest.<name>.jsonl`."""
    return file.with_name(".".join(filter(None, [file.stem, name, ending])))


def _usage(model: str, file: Path) -> str:
    return f"`aotensor compile {model} --schedule {file}` compiles what was found.\n"


def _report(one: Tuned) -> str:
    loops = described(one.found.text, ())
    return report(one.function.name, one.journal.subject, one.settings, one.found, one.journal.trials, loops)


def _show(tuned: Sequence[Tuned], file: Path, as_json: bool) -> None:
    if as_json:
        show_json({"schedule": str(file), "functions": [_json(one) for one in tuned]})
        return
    rows = [
        [
            one.function.name,
            dims_text(setting.dims) or "-",
            str(setting.threads),
            time_text(own),
            time_text(best),
            f"{best / own:.2f}",
        ]
        for one in tuned
        for setting, own, best in zip(one.settings, one.found.own, one.found.best, strict=True)
    ]
    show_table(["function", "sizes", "threads", "own", "tuned", "ratio"], rows, wrap=sys.stdout.isatty())
    for one in tuned:
        show(f"{one.function.name}: {one.found.candidate}, after {len(one.journal.trials)} trials")
    for path in (file, _sibling_path(file, "", "md")):
        show(str(path))


def _json(one: Tuned) -> dict[str, Any]:
    found = one.found
    rows = [
        {"sizes": dict(setting.dims), "threads": setting.threads, "own_seconds": own, "seconds": best}
        for setting, own, best in zip(one.settings, found.own, found.best, strict=True)
    ]
    known = {"function": one.function.name, "ratio": found.ratio, "trials": len(one.journal.trials), "rows": rows}
    return known | {"choice": found.candidate.to_json(), "done": found.is_done}
