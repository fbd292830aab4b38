"""`aotensor explore`: its arguments, options and help."""

from __future__ import annotations

import click

from aotensor_cli.commands.declaration import declare
from aotensor_cli.commands.stage_option import Moment
from aotensor_cli.options import FiniteRange, debug_option, extent_options, pass_options
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
    "--seconds", type=FiniteRange(min=1), default=120.0, show_default=True,
    help="Time limit of a compilation.",
)  # fmt: skip
@extent_options
@pass_options
@debug_option
def command() -> None:
    """Look at source, stages, passes, loops and remarks in the terminal.

    Shows the source with the share of time of each line, the text of a stage or of the program after a pass, and below
    them remarks, loops, cost or passes. In every pane, Enter selects the line of the model that a row comes from, and
    marks everything from this line. ] and [ go to the next and the previous pass that changed something, d shows the
    change, / searches, ? shows all keys.

    The model is compiled in a child process, with --watch after every save; an error is shown at its line.
    `aotensor inspect MODEL --json --all` writes the same data. Needs textual: pip install 'aotensor[explore]'.
    """
