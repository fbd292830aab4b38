"""`aotensor split`: its arguments, options and help."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from aotensor_cli.commands.declaration import declare
from aotensor_cli.commands.names import KINDS
from aotensor_cli.options import Refusal, debug_option, extent_options, json_option, library_options, machine_options
from aotensor_cli.reading.completion import complete_subject

_Command = TypeVar("_Command", bound=Callable[..., Any])

_ELSEWHERE: Final = {
    "--schedule": "a schedule applies to one function, and a split function compiles to several",
    "--passes": "give the function its passes in the model",
    "--disable-pass": "give the function its passes in the model",
    "--grad": "write the gradient in the model: it is split with the value",
    "--hvp": "write the product in the model: it is split with the value",
}
"""Options of `aotensor compile` that are not about the rounds → what to do instead."""


def _refused(command: _Command) -> _Command:
    """Add the options of `aotensor compile` that do not apply here; each is refused with a reason."""

    def refuse(_: click.Context, parameter: click.Parameter, value: str | None) -> None:
        if value is not None:
            raise Refusal(f"{parameter.opts[0]} is an option of compile, not of split", _ELSEWHERE[parameter.opts[0]])

    for name in _ELSEWHERE:
        command = click.option(name, hidden=True, expose_value=False, callback=refuse)(command)
    return command


@declare("split")
@click.argument("model", metavar="MODEL:F", shell_complete=complete_subject)
@click.option("--over", metavar="DIM", required=True, help="Name of the dim of the rows.")
@click.option(
    "-o", "folder", metavar="DIR", type=click.Path(path_type=Path), help="Folder of the files. Default: here."
)
@click.option("--name", metavar="N", help="Name of the library. Default: that of the function.")
@click.option(
    "--sizes",
    metavar="n=1000,p=100",
    help="Print numbers instead of formulas, for these extents; the rows are those of a chunk.",
)
@extent_options
@machine_options
@click.option(
    "--emit", "kinds", type=click.Choice(list(KINDS)), multiple=True, metavar="FORM",
    help=f"What to write, instead of lib; may be repeated: {', '.join(KINDS)}.",
)  # fmt: skip
@library_options
@_refused
@click.option("--plan-only", is_flag=True, help="Print the rounds, write no files.")
@json_option
@debug_option
def command() -> None:
    """Split a function over its rows into rounds of map and merge.

    For data that does not fit into one machine. Prints each round with the bytes that a chunk reads, receives and
    returns, and its operations; writes one library with the functions of all rounds, and its header. The library's
    section `rounds` and the header say how to call them. A value that needs rows of several chunks at once is refused,
    with op, line and reason.
    """
