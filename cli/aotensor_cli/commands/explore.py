"""`aotensor explore`: its arguments, options and help."""

from __future__ import annotations

import click

from aotensor_cli.commands.declaration import declare
from aotensor_cli.commands.moment import Moment
from aotensor_cli.options import debug_option, extent_options, pass_options
from aotensor_cli.reading.completion import complete_subject, completes, functions_of_subject


@declare("explore")
@click.argument("subject", metavar="MODEL", shell_complete=complete_subject)
@click.option(
    "--function", "name", metavar="F", shell_complete=completes(functions_of_subject), help="Only this function."
)
@click.option(
    "--stage", type=Moment(), metavar="STAGE|PASS", default="nest", show_default=True,
    help="The text that is shown first.",
)  # fmt: skip
@click.option("--sizes", metavar="n=1000,p=100", help="Extents of dims that time is estimated for. Default: 1000.")
@click.option("--watch", is_flag=True, help="Compile again when a file of the model is saved.")
@click.option(
    "--seconds", type=click.FloatRange(min=1), default=120.0, show_default=True,
    help="After which a compilation that does not end is stopped.",
)  # fmt: skip
@extent_options
@pass_options
@debug_option
def command() -> None:
    """Look at source, stages, passes, loops and remarks in the terminal.

    The source with the share of time of each line, the text of a stage or of what a pass left, and below remarks,
    loops, cost or passes. Enter chooses the line of the model that a row comes from, in whatever pane: all that comes
    from it is marked everywhere. ] and [ go to the next and the former pass that changed something, d shows what it
    changed, / searches, ? shows all keys.

    The model is compiled in a process of its own; --watch does that at every save, and an error is shown at its line.
    What is shown is what `aotensor inspect MODEL --json --all` writes. Needs textual: pip install 'aotensor[explore]'.
    """
