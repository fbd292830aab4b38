"""`aotensor why`: its arguments, options and help."""

from __future__ import annotations

import click

from aotensor_cli.commands.declaration import declare
from aotensor_cli.options import FiniteRange, debug_option, extent_options, json_option
from aotensor_cli.reading.completion import complete_subject


@declare("why")
@click.argument("line", metavar="MODEL:LINE", shell_complete=complete_subject)
@click.argument("other", metavar="[MODEL:LINE]", required=False, shell_complete=complete_subject)
@click.option("--sizes", metavar="n=1000,p=100", help="Extents of dims that time is estimated for. Default: 1000.")
@click.option("--measure", is_flag=True, help="Compile with and without the decisions, and time both alternately.")
@click.option(
    "--seconds",
    type=FiniteRange(min=0.01),
    default=0.5,
    show_default=True,
    help="Duration of each timing of --measure.",
)
@extent_options
@json_option
@debug_option
def command() -> None:
    """Show how a line was compiled, or why two lines share no loop.

    For one line: its loops, the other lines in them, how they run, its share of the estimated time, and the decisions
    of passes about fusion, vectors, cores and memory, with the changes that would allow missed optimisations. For two
    lines: the loops that they share, or the reason why they share none. The edit of f.schedule that would fuse their
    loops is tried, with a proof whether it computes the same.

    A line is model.py:9, model.py:f:9 for one function, or model.py:layers.py:9 for a file that the model imports; the
    second line may be a number only. --measure times, for one line, the function without each optimisation that applied
    to it; for two lines, the function with the edit.
    """
