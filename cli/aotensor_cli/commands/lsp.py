"""`aotensor lsp`: its options and help."""

from __future__ import annotations

import click

from aotensor_cli.commands.declaration import declare
from aotensor_cli.options import FiniteRange, debug_option


@declare("lsp")
@click.option(
    "--seconds", type=FiniteRange(min=1), default=60.0, show_default=True,
    help="Time limit of a compilation.",
)  # fmt: skip
@click.option("--on-save", is_flag=True, help="Do not run a model when it is opened, only when it is saved.")
@debug_option
def command() -> None:
    """Serve editors: remarks and errors on the lines of models.

    A language server on stdin and stdout, which the editor starts (docs/howto/editors.md). A Python file that imports
    aotensor is compiled when it is opened and saved. A hint at each line shows its share of the estimated time, its
    loop, the other lines in this loop, how the loop runs, and missed optimisations; hovering shows the loops and all
    remarks. Errors of Python and of the compiler are diagnostics at their line. A code action shows the loops of a
    line.

    Compiling a model runs it, in a child process; if it hangs or crashes, this is a diagnostic. Needs pygls:
    pip install 'aotensor[lsp]'.
    """
