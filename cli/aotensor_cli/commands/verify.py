"""`aotensor verify`: its arguments, options and help."""

from __future__ import annotations

import click

from aotensor_cli.commands.declaration import declare
from aotensor_cli.commands.names import MOST_SAMPLES
from aotensor_cli.options import FiniteRange, debug_option, extent_options, json_option, training_options
from aotensor_cli.reading.completion import complete_subject


@declare("verify")
@click.argument("subject", metavar="MODEL|LIBRARY", shell_complete=complete_subject)
@click.option(
    "--samples", type=click.IntRange(1, MOST_SAMPLES), default=8, show_default=True,
    help="Random arguments per comparison.",
)  # fmt: skip
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the random arguments.")
@click.option("--rtol", type=FiniteRange(min=0), help="Relative tolerance. Default: by dtype and condition.")
@click.option("--gradients/--no-gradients", default=True, help="Check gradients of floating outputs.")
@click.option(
    "--limits/--no-limits", default=True, show_default=True,
    help="Leave out samples and derivatives that take minutes, such as long loops in the reference, and say which.",
)  # fmt: skip
@click.option(
    "--with", "tool", type=click.Choice(["cc"]),
    help="Also compile the C source with the system's C compiler: its bits must be those of --fp strict.",
)  # fmt: skip
@training_options
@extent_options
@json_option
@debug_option
def command() -> None:
    """Check a model or a library, and say what was checked.

    For a model, checks the IR at every stage, interpreted and compiled values against the reference over shapes and
    layouts, header, symbols and reproducible bytes; and gradients of the reference and of compiled code, by duality,
    Taylor order, differences and the complex step. Each gradient is right, wrong (with the name of the first op whose
    derivative is wrong) or too noisy to tell (with the reason). For a library, checks the recorded checksum of its code
    and data, its symbols, and its test vectors in a child process. Exit code 1 if a check fails.
    """
