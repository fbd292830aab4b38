"""`aotensor why`: its arguments, options and help."""

from __future__ import annotations

import click

from aotensor_cli.commands.declaration import declare
from aotensor_cli.options import debug_option, extent_options, json_option
from aotensor_cli.reading.completion import complete_subject


@declare("why")
@click.argument("line", metavar="MODEL:LINE", shell_complete=complete_subject)
@click.argument("other", metavar="[MODEL:LINE]", required=False, shell_complete=complete_subject)
@click.option("--sizes", metavar="n=1000,p=100", help="Extents of dims that time is estimated for. Default: 1000.")
@click.option("--measure", is_flag=True, help="Compile with and without what was decided, and time both in turns.")
@click.option(
    "--seconds", type=click.FloatRange(min=0.01), default=0.5, show_default=True, help="For each time of --measure."
)
@extent_options
@json_option
@debug_option
def command() -> None:
    """Tell what became of a line, or why two lines share no loop.

    One line: the loops that it is in, what else is in them, how they run, its share of the time as estimated, and what
    passes decided about it: fused or not, vectors, cores, memory, with what would change that. Two lines: the loops
    that they share, or the reason why they share none; the edit of f.schedule that fuses their loops is tried, and it
    is said whether it computes the same.

    A line is model.py:9, model.py:f:9 for one function, or model.py:layers.py:9 for a file that the model imports; the
    second one may be its number alone. With --measure, one line: the function without each optimisation that did
    something about it; two: with the edit.
    """
