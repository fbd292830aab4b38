"""`aotensor split`: the rounds of map and merge of a function, printed and compiled."""

from __future__ import annotations

from pathlib import Path

import click

from aotensor import split
from aotensor.codegen.files import made_folder
from aotensor_cli.benching.inputs import parse_sizes
from aotensor_cli.main import COMMANDS
from aotensor_cli.model import load_model
from aotensor_cli.options import CONTEXT, Refusal, debug_option, json_option, machine_options
from aotensor_cli.terminal.render import progress, show, show_json, talk


@click.command(context_settings=CONTEXT, short_help=COMMANDS["split"])
@click.argument("model", metavar="MODEL:F")
@click.option("--over", metavar="DIM", required=True, help="Name of the dim of the rows.")
@click.option(
    "-o", "folder", metavar="DIR", type=click.Path(path_type=Path), help="Folder of the files. Default: here."
)
@click.option("--name", metavar="N", help="Name of the library. Default: that of the function.")
@click.option("--sizes", metavar="n=1000,p=100", help="Numbers instead of formulas; rows are those of a chunk.")
@machine_options
@click.option("--threads/--no-threads", default=True, help="Let loops run on several cores. Default: yes.")
@click.option("--prefix", metavar="P", default="", help="Before every exported symbol.")
@click.option("--plan-only", is_flag=True, help="Print the rounds, write no files.")
@json_option
@debug_option
def command(
    model: str,
    over: str,
    folder: Path | None,
    name: str | None,
    sizes: str | None,
    target: str | None,
    cpu: str | None,
    features: str | None,
    opt_level: int,
    fp: str,
    threads: bool,
    prefix: str,
    plan_only: bool,
    as_json: bool,
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
            made = rounds.compile(
                target_folder, name=name, target=target, cpu=cpu, features=features, opt_level=opt_level, fp=fp,
                threads=threads, prefix=prefix,
            )  # fmt: skip
        tree["files"] = [str(path) for path in made.files]
        if not as_json:
            for path in tree["files"]:
                talk(path)
    if as_json:
        show_json({**tree, "protocol": rounds.protocol.to_json()})


def _need_files() -> None:
    """Raises: Refusal for an option that says how files are written, where none are"""
    context = click.get_current_context()
    about_files = ("folder", "name", "target", "cpu", "features", "opt_level", "fp", "threads", "prefix")
    given = [
        parameter.opts[-1]
        for parameter in context.command.params
        if parameter.name in about_files
        and context.get_parameter_source(parameter.name) is click.core.ParameterSource.COMMANDLINE
    ]
    if given:
        raise Refusal(
            f"{given[0]}: --plan-only writes no files, and the plan is the same for every machine",
            f"leave {given[0]} out",
        )
