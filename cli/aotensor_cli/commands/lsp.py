"""`aotensor lsp`: its options and help."""

from __future__ import annotations

import click

from aotensor_cli.commands.declaration import declare
from aotensor_cli.options import debug_option


@declare("lsp")
@click.option(
    "--seconds", type=click.FloatRange(min=1), default=60.0, show_default=True,
    help="After which a compilation that does not end is stopped.",
)  # fmt: skip
@click.option("--on-save", is_flag=True, help="Do not run a model when it is opened, only when it is saved.")
@debug_option
def command() -> None:
    """Serve editors: remarks and errors on the lines of models.

    A language server on stdin and stdout: the editor starts it, docs/howto/editors.md says how. A Python file that
    imports aotensor is compiled when it is opened and saved. Each line says what became of it: its share of the time
    as estimated, its loop and the lines that share it, how that runs, and what was not done; pointing at the line shows
    the loops and all remarks. Errors of Python and of the compiler are diagnostics at their line. A code action shows
    the loops that a line became.

    Compiling a model runs it, in a process of its own: one that hangs or crashes becomes a diagnostic. Needs pygls:
    pip install 'aotensor[lsp]'.
    """
