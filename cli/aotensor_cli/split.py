"""`aotensor split`: the rounds of map and merge of a function, printed and compiled."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from aotensor import split
from aotensor.codegen.files import made_folder
from aotensor_cli.benching.inputs import parse_sizes
from aotensor_cli.model import load_model
from aotensor_cli.options import Refusal
from aotensor_cli.terminal.render import progress, show, show_json, talk


def run(
    model: str,
    over: str,
    folder: Path | None,
    name: str | None,
    sizes: str | None,
    kinds: tuple[str, ...],
    plan_only: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Run `aotensor split` with the parameters that `commands/split.py` declares."""
    if plan_only:
        _need_files()
    functions = load_model(model).functions
    if len(functions) > 1:
        names = ", ".join(f.name for f in functions)
        raise Refusal(
            f"{model}: the model has {len(functions)} functions, and split accepts one",
            f"choose one: {names}",
        )
    rounds = split(functions[0], over)
    with progress(f"compile {functions[0].name}"):
        plan = rounds.plan(**(parse_sizes(sizes) if sizes else {}))
    tree = plan.to_json()
    if not as_json:
        show(str(plan))
    if not plan_only:
        target_folder = folder or Path()
        with made_folder(target_folder), progress(f"write {name or functions[0].name}"):
            made = rounds.compile(target_folder, name=name, emit=kinds or _usual(options), **options)
        tree["files"] = [str(path) for path in made.files]
        if not as_json:
            for path in tree["files"]:
                talk(path)
    if as_json:
        show_json({**tree, "protocol": rounds.protocol.to_json()})


def _usual(options: Mapping[str, Any]) -> str:
    """The kind of library by default: an archive for a target without an operating system."""
    return "static" if options["freestanding"] else "lib"


def _need_files() -> None:
    """Refuse options about written files if none are written.   Raises: Refusal"""
    context = click.get_current_context()
    about_plan = ("model", "over", "sizes", "plan_only", "as_json", "debug")
    given = [
        parameter.opts[-1]
        for parameter in context.command.params
        if parameter.name not in about_plan
        and context.get_parameter_source(parameter.name) is click.core.ParameterSource.COMMANDLINE
    ]
    if given:
        raise Refusal(
            f"{given[0]}: --plan-only writes no files, and the plan is the same for every machine",
            f"leave {given[0]} out",
        )
