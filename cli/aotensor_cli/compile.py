"""`aotensor compile`: compile models to a library and its header, or print an intermediate form."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from aotensor.codegen.files import made_folder, write_file, write_files
from aotensor.codegen.targets.systems import system_of
from aotensor.codegen.weights.file import WeightsOption
from aotensor.driver.build import Build
from aotensor.driver.definition import Definition
from aotensor.driver.memory import bytes_of, wanted_weights, within
from aotensor.driver.recipe import Options
from aotensor.driver.stages import CODE, TEXTS, WEIGHTS
from aotensor.errors import GraphValueError
from aotensor_cli.benching.inputs import parse_sizes
from aotensor_cli.model import Model, load_model
from aotensor_cli.options import Refusal, Session
from aotensor_cli.reading.derivatives import with_gradients, with_hessian_products
from aotensor_cli.reading.library import is_library, split_name
from aotensor_cli.reading.opened_files import opened_files
from aotensor_cli.reading.pipeline import chosen_pipeline
from aotensor_cli.reading.schedule import naming_options, read_schedule
from aotensor_cli.reading.standard_input import is_standard_input
from aotensor_cli.reading.training import wanted_training, with_steps
from aotensor_cli.reproducer.record import Recording, leave_reproducer
from aotensor_cli.terminal.remarks import without_remarks
from aotensor_cli.terminal.render import progress, show, show_json, show_table, talk


@click.pass_obj
def run(session: Session, /, models: tuple[str, ...], reproducer: Path | None, **flags: Any) -> None:
    """Run `aotensor compile` with the parameters that `commands/compile.py` declares."""
    recording = Recording(session.arguments, models)
    try:
        with opened_files() as recording.opened:
            _compile(models, flags)
    except Exception as error:
        leave_reproducer(recording, reproducer, error)
        raise
    if reproducer is not None:
        write_file(reproducer, recording.content(None))


def _compile(models: Sequence[str], flags: dict[str, Any]) -> None:
    forms, folder = flags["forms"], flags["folder"]
    for model in models:
        if is_library(split_name(model)[0]):
            raise Refusal(f"{model}: this is a compiled library", "give a model, such as model.py")
    start = time.perf_counter()
    training = wanted_training(flags["train"], flags["optimizer"], flags["wrt"])
    sources = [load_model(model, training.wrt if training is not None else ()) for model in models]
    functions = [f for source in sources for f in source.functions]
    grad, hvp = ((_names(f"--{name}", flags[name]) if flags[name] is not None else None) for name in ("grad", "hvp"))
    if flags["generic"] and "nest" not in forms:
        raise Refusal("--generic needs the text of stage nest", "add --emit nest")
    derived = with_gradients(functions, grad) if grad is not None else []
    derived += with_hessian_products(functions, hvp) if hvp is not None else []
    derived += with_steps(functions, training) if training is not None else []
    if flags["dump_ir"] is not None:
        os.environ["AOTENSOR_DUMP"] = str(flags["dump_ir"])
    functions, options, name = [*functions, *derived], _options(flags), _library_name(flags["name"])
    if flags["sizes"] is not None and flags["memory"] is None:
        raise Refusal("--sizes needs --memory, whose bound must hold at these sizes", "add --memory 64M")
    if flags["interfaces"]:
        from aotensor.api.interfaces.registry import with_interfaces

        chosen = list(dict.fromkeys(flags["interfaces"]))
        functions, layers = with_interfaces(chosen, functions, name or functions[0].library_name)
        options = replace(options, layers=layers)
    name = name or functions[0].library_name
    definitions: Sequence[Definition] = functions
    if flags["memory"] is not None:
        definitions = within(functions, bytes_of(flags["memory"], "--memory"), options, parse_sizes(flags["sizes"]))
    build = Build(definitions, name, options)
    build.generic = flags["generic"]
    build.seconds["load the model"] = time.perf_counter() - start
    is_quiet = flags["quiet"]
    with (
        progress(f"compiling {build.name}", is_quiet=is_quiet) as build.begin,
        without_remarks(),
        naming_options(flags),
    ):
        wanted = list(dict.fromkeys(forms)) or build.usual_forms
        contents = {form: build.content(form) for form in wanted}
        if options.weights is not None and CODE & set(wanted):
            contents |= dict(zip((WEIGHTS,), build.library.weights_files().values(), strict=False))
    printed = [] if folder is not None else [form for form in wanted if form in TEXTS and forms]
    kept = {form: x for form, x in contents.items() if form not in printed}
    written = _write(
        build, folder or Path(), kept, flags["depfile"], sources, [flags["schedule"]] if flags["schedule"] else []
    )
    if flags["as_json"]:
        texts = {form: contents[form].decode() for form in printed}
        show_json({"files": [str(path) for path in written], "texts": texts, "steps": _steps(build)})
    else:
        show("".join(contents[form].decode() for form in printed), nl=False)
        if not flags["quiet"]:
            _say_where_it_runs(build, flags["cpu"], kept)
            show("".join(f"{path}\n" for path in written), nl=False)
    if flags["verbose"]:
        for source in sources:
            talk(f"read {source.path}: {', '.join(f.name for f in source.functions)}")
            for path in source.opened:
                talk(f"read {path}")
        talk(f"target {build.lowered.machine.triple}, {build.lowered.machine.cpu}")
    if flags["time_passes"] or flags["verbose"]:
        show_table(("step", "seconds", "operations"), _step_rows(build), err=True)


def _say_where_it_runs(build: Build, cpu: str | None, forms: Collection[str]) -> None:
    """Warn that code for this machine's CPU may not run elsewhere, and if loops run on one core only."""
    machine = build.lowered.machine
    if not CODE & set(forms):
        return
    if build.options.weights is not None and WEIGHTS not in forms:
        most = build.options.weights.least
        talk(f"note: there is no file of weights, as no constant has more than {most} bytes")
    system = system_of(machine.triple)
    if build.options.has_threads and not system.has_threads:
        talk(f"note: loops run on one core: there are no threads of ours on {system.name}")
    if machine.is_host(cpu):
        others = "--cpu v2,v3,v4 chooses at run time, " if machine.triple.startswith("x86_64") else ""
        talk(f"note: for CPUs that have all that this {machine.cpu} has; {others}--cpu generic runs anywhere")


def _options(flags: dict[str, Any]) -> Options:
    return Options(
        target=flags["target"],
        cpu=flags["cpu"],
        features=flags["features"],
        opt_level=flags["opt_level"],
        fp=flags["fp"],
        prefix=_prefix(flags["prefix"]),
        verify=flags["check"],
        check=flags["check"],
        threads=flags["threads"],
        pipeline=chosen_pipeline(flags["passes"], flags["disabled"]),
        schedule=read_schedule(flags["schedule"]),
        debug_info=flags["debug_info"],
        opt_size=flags["opt_size"],
        malloc=flags["malloc"],
        freestanding=flags["freestanding"],
        weights=_weights(flags["weights"], flags["weights_from"]),
    )


def _weights(file: str | None, least: str | None) -> WeightsOption | None:
    if file is None and least is not None:
        raise Refusal("--weights-from needs a file of weights", "add --weights")
    try:
        return wanted_weights(
            False if file is None else file or True, None if least is None else bytes_of(least, "--weights-from")
        )
    except GraphValueError as error:
        raise Refusal(error.diagnostic.title, error.diagnostic.hint) from error


def _prefix(text: str) -> str:
    if text and not (text.isidentifier() and text.isascii()):
        raise Refusal(f"--prefix {text!r} cannot begin a C identifier")
    return text


def _library_name(name: str | None) -> str | None:
    if name is not None and not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*", name):
        raise Refusal(f"--name {name!r} is not a file name", "use letters, digits, _ and -")
    return name


def _names(option: str, text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise Refusal(f"{option} {text!r} is not understood", "write names of inputs, such as w,b")
    return list(dict.fromkeys(names))


def _write(
    build: Build,
    folder: Path,
    contents: dict[str, bytes],
    depfile: Path | None,
    models: Sequence[Model],
    read: Sequence[Path] = (),
) -> list[Path]:
    """Write the files, all of them or none."""
    files = {folder / build.file_name(form): content for form, content in contents.items()}
    targets = list(files)
    if depfile is not None:
        if not targets:
            raise Refusal("--depfile needs output files, which depend on the model", "give -o")
        named = [model for model in models if not is_standard_input(model.path)]
        sources = [*(model.path for model in named), *(path for model in models for path in model.opened), *read]
        files[depfile] = dependency_rule(targets, list(dict.fromkeys(sources)), len(named)).encode()
    with made_folder(folder) if targets else contextlib.nullcontext():
        write_files(files)
    return targets


def dependency_rule(targets: Sequence[Path], sources: Sequence[Path], models: int = 1) -> str:
    """A make rule `targets: sources`, and an empty rule per source that is not a model, since it may be deleted.

    models: how many of the sources are, at the beginning.
    """
    left, right = (" ".join(map(_escaped, paths)) for paths in (targets, sources))
    return f"{left}: {right}\n" + "".join(f"\n{_escaped(path)}:\n" for path in sources[models:])


def _escaped(path: Path) -> str:
    return str(path).replace("\\", "\\\\").replace(" ", "\\ ").replace("#", "\\#").replace("$", "$$")


def _steps(build: Build) -> list[dict[str, object]]:
    """Rows of `--time-passes`: passes with operation counts before and after, then the other steps."""
    passes: list[dict[str, object]] = [
        {"name": record.name, "seconds": record.seconds, "before": record.before, "after": record.after}
        for record in build.lowered.records
    ]
    return [*passes, *({"name": name, "seconds": seconds} for name, seconds in build.seconds.items())]


def _step_rows(build: Build) -> list[tuple[str, str, str]]:
    return [
        (
            str(step["name"]),
            f"{step['seconds']:.4f}",
            f"{step['before']} -> {step['after']}" if "before" in step else "",
        )
        for step in _steps(build)
    ]
