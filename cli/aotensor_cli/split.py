"""`aotensor split`: the rounds of map and merge of a function, printed and compiled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from aotensor import split
from aotensor.codegen.files import made_folder
from aotensor.codegen.library import KINDS
from aotensor_cli.benching.inputs import parse_sizes
from aotensor_cli.main import COMMANDS
from aotensor_cli.model import load_model
from aotensor_cli.options import (
    CONTEXT,
    Refusal,
    debug_option,
    extent_options,
    json_option,
    library_options,
    machine_options,
)
from aotensor_cli.reading.completion import complete_subject
from aotensor_cli.terminal.render import progress, show, show_json, talk

_Command = TypeVar("_Command", bound=Callable[..., Any])

_ELSEWHERE: Final = {
    "--schedule": "loops by hand are of one function, and the rounds are several",
    "--passes": "give the function its passes in the model",
    "--disable-pass": "give the function its passes in the model",
    "--grad": "write the gradient in the model: it is split with the value",
    "--hvp": "write the product in the model: it is split with the value",
}
"""Options of `aotensor compile` that are not about the rounds → what to do instead."""


def _refused(command: _Command) -> _Command:
    """Let options of `aotensor compile` that make no sense here be refused with a reason."""

    def refuse(_: click.Context, parameter: click.Parameter, value: str | None) -> None:
        if value is not None:
            raise Refusal(f"{parameter.opts[0]}: rounds have no such option", _ELSEWHERE[parameter.opts[0]])

    for name in _ELSEWHERE:
        command = click.option(name, hidden=True, expose_value=False, callback=refuse)(command)
    return command


@click.command(context_settings=CONTEXT, short_help=COMMANDS["split"])
@click.argument("model", metavar="MODEL:F", shell_complete=complete_subject)
@click.option("--over", metavar="DIM", required=True, help="Name of the dim of the rows.")
@click.option(
    "-o", "folder", metavar="DIR", type=click.Path(path_type=Path), help="Folder of the files. Default: here."
)
@click.option("--name", metavar="N", help="Name of the library. Default: that of the function.")
@click.option("--sizes", metavar="n=1000,p=100", help="Numbers instead of formulas; rows are those of a chunk.")
@extent_options
@machine_options
@click.option(
    "--emit", "kinds", type=click.Choice(list(KINDS)), multiple=True, metavar="FORM",
    help=f"What to make, instead of lib; may be repeated: {', '.join(KINDS)}.",
)  # fmt: skip
@library_options
@_refused
@click.option("--plan-only", is_flag=True, help="Print the rounds, write no files.")
@json_option
@debug_option
def command(
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
    """Split a function over its rows into rounds of map and merge.

    For data that no machine holds. Prints each round with the bytes that a chunk reads, gets and gives back, and its
    operations; writes one library with the functions of all rounds, and its header. How they play together is in the
    library's section `rounds` and in the header. A value that needs rows of several chunks at once is refused, with op,
    line and reason.
    """
    if plan_only:
        _need_files()
    functions = load_model(model).functions
    if len(functions) > 1:
        names = ", ".join(f.name for f in functions)
        raise Refusal(
            f"{model}: there are {len(functions)} functions, split takes one",
            f"say which: {names}",
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
    """What is made if nothing is asked for: a library without a system is an archive."""
    return "static" if options["freestanding"] else "lib"


def _need_files() -> None:
    """Raises: Refusal for an option that says how files are written, where none are"""
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
