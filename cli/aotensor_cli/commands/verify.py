"""`aotensor verify`: its arguments, options and help."""

from __future__ import annotations

import click

from aotensor_cli.commands.declaration import declare
from aotensor_cli.options import debug_option, extent_options, json_option
from aotensor_cli.reading.completion import complete_subject


@declare("verify")
@click.argument("subject", metavar="MODEL|LIBRARY", shell_complete=complete_subject)
@click.option(
    "--samples", type=click.IntRange(min=1), default=8, show_default=True, help="Random arguments per comparison."
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the random arguments.")
@click.option("--rtol", type=click.FloatRange(min=0), help="Relative tolerance. Default: by dtype and condition.")
@click.option("--gradients/--no-gradients", default=True, help="Check gradients of floating outputs.")
@click.option(
    "--with", "tool", type=click.Choice(["cc"]),
    help="Also compile the C source with the system's C compiler: its bits must be those of --fp strict.",
)  # fmt: skip
@extent_options
@json_option
@debug_option
def command() -> None:
    """Check a model or a library, and say what was checked.

    A model: the IR at every stage, interpreted and compiled values against the reference over shapes and layouts,
    header, symbols, reproducible bytes; and its gradients, as the reference and as compiled code gives them, by
    duality, the order of the first-order model's error, differences and the complex step. Each gradient is right, wrong
    (then the first op with a wrong derivative is named) or too noisy to tell (then it is said why). A library: the
    recorded checksum of its code and data, its symbols, and its test vectors in a child process. Exit code 1 if a check
    fails.
    """
